"""What one call of a kernel looks like: the part of its arguments that a binary depends on.

The runtime makes a :class:`CallSignature` of the arguments, the key is made of it, and elaboration
reads it. It holds plain values only, so it can be hashed, compared and encoded. Comparing two
signatures with ``==`` follows Python, where ``1 == True == 1.0``; keys tell such constants apart.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import replace

from pypto._record import Record
from pypto.ir.dtype import DataType

__all__ = [
    "CallSignature",
    "ConstantSignature",
    "ParameterSignature",
    "ScalarSignature",
    "TensorSignature",
    "plain_kinds",
    "scalar_signature",
]


class TensorSignature(Record):
    """A tensor argument.

    ``sizes`` has one entry an axis: a number that the binary may rely on, or None for a dynamic
    axis. A 0-d tensor counts as shape ``(1,)``. ``axis_names`` has the name of each named dynamic
    axis, else None; axes of equal names have equal sizes at the call.
    """

    dtype: DataType
    sizes: tuple[int | None, ...]
    axis_names: tuple[str | None, ...]
    device: str = "cpu"


class ScalarSignature(Record):
    """A run-time scalar: ``kind`` is ``"int"`` (int64) or ``"float"`` (double).

    ``annotated`` tells that the kind comes from the annotation. Then a bool is taken for an int,
    and an int for a float; a kind that comes from the value passed takes that kind alone.
    """

    kind: str
    annotated: bool


def plain_kinds(annotation: object) -> tuple[type, ...]:
    """What a parameter annotated so takes: ``(int,)``, ``Optional[int]`` is ``(int, NoneType)``.

    Empty unless the annotation names nothing but ``bool``, ``int``, ``float``, ``str`` and None.
    """
    union = typing.get_origin(annotation) in (types.UnionType, typing.Union)
    kinds = typing.get_args(annotation) if union else (annotation,)
    if annotation is type(None):
        return ()
    plain = (bool, int, float, str, type(None))
    return kinds if all(any(k is p for p in plain) for k in kinds) else ()


def scalar_signature(kinds: tuple[type, ...], kind: type) -> ScalarSignature:
    """The signature of a number that a parameter takes as ``kind``, one of its ``kinds``. Beside
    another kind of number it takes that kind alone."""
    others = [k for k in (bool, int, float) if k in kinds and k is not kind]
    return ScalarSignature(kind.__name__, not others)


class ConstantSignature(Record):
    """An argument whose Python value is part of the specialisation."""

    value: object


ParameterSignature = TensorSignature | ScalarSignature | ConstantSignature


class CallSignature(Record):
    """All parameters of a call, in the order of the function's parameters.

    ``names[i]`` is the name of ``parameters[i]``. ``alias`` has one class number for each *tensor*
    parameter, in order: tensors of one class are exactly the same memory (address, shape, dtype);
    classes are numbered by first occurrence, so ``(0, 1, 0)`` means that the third is the first.
    """

    names: tuple[str, ...]
    parameters: tuple[ParameterSignature, ...]
    alias: tuple[int, ...]

    def get(self, name: str) -> ParameterSignature:
        """The signature of the parameter ``name``; KeyError when there is none."""
        try:
            return self.parameters[self.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def with_constants(self, values: Mapping[str, object]) -> CallSignature:
        """A copy in which every constant is the one of that name in ``values``."""
        changed = tuple(
            ConstantSignature(values[name])
            if isinstance(parameter, ConstantSignature)
            else parameter
            for name, parameter in zip(self.names, self.parameters, strict=True)
        )
        return replace(self, parameters=changed)

    def specialised(self, values: dict[str, object]) -> CallSignature:
        """A copy in which the scalar parameters of ``values`` are constants of these values."""
        changed = tuple(
            ConstantSignature(values[name])
            if name in values and isinstance(parameter, ScalarSignature)
            else parameter
            for name, parameter in zip(self.names, self.parameters, strict=True)
        )
        return replace(self, parameters=changed)
