"""What the front end is told about the arguments of a call: one record for each parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pypto.ir.dtype import DataType

__all__ = ["Argument", "ConstantArg", "ScalarArg", "Signature", "TensorArg"]


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor. ``sizes``: elements per axis; None for a dynamic axis, a name for a named one.

    Named axes of one kernel that share a name have the same size.
    """

    dtype: DataType
    sizes: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A number that may be passed at each call. ``value``: of this call, when there is one."""

    kind: Literal["int", "float"]
    value: int | float | None = None


@dataclass(frozen=True, slots=True)
class ConstantArg:
    """A value that is part of the specialisation."""

    value: object


Argument: TypeAlias = TensorArg | ScalarArg | ConstantArg


@dataclass(frozen=True, slots=True)
class Signature:
    """Arguments in the order of the kernel's parameters.

    ``alias`` gives each parameter's memory class: tensors with equal numbers are exactly the same
    memory. Empty: all are distinct.
    """

    arguments: tuple[Argument, ...]
    alias: tuple[int, ...] = field(default=())
