"""All operations by name, operator and Tensor method."""

from __future__ import annotations

import inspect
from functools import cache
from typing import NoReturn

from pypto.error import Diagnostic, FeError
from pypto.ops import (
    activation,
    arithmetic,
    bits,
    comparison,
    creation,
    division,
    exponential,
    functions,
    gaussian,
    indexing,
    movement,
    normalization,
    positions,
    quantization,
    reduction,
    rounding,
    scan,
    selection,
    trigonometry,
    variance,
)
from pypto.ops.spec import REQUIRED, OpSpec

__all__ = ["Operation", "get", "method", "names", "operations", "operator"]

_FAMILIES = (
    arithmetic, functions, rounding, exponential, trigonometry, gaussian, comparison, selection,
    bits, division, activation, normalization, reduction, positions, variance, scan, movement,
    creation, quantization, indexing,
)  # fmt: skip
_SPECS: dict[str, OpSpec] = {spec.name: spec for family in _FAMILIES for spec in family.SPECS}


class Operation:
    """``pypto.<name>`` as a user sees it. The front end knows it by identity; it never runs."""

    def __init__(self, spec: OpSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.__name__ = self.__qualname__ = spec.name
        self.__module__ = "pypto"
        self.__doc__ = f"{spec.doc}\n\nMeaning: ``{spec.torch}``."
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if p.default is REQUIRED else p.default,
                )
                for p in spec.params
            ]
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        message = f"pypto.{self.name} may only be used inside a kernel"
        help = "decorate the function with @pypto.frontend.jit and call that"
        raise FeError([Diagnostic(FeError, "F00007", message, help=help)])

    def __repr__(self) -> str:
        return f"<pypto operation {self.name}>"


@cache
def operations() -> dict[str, Operation]:
    """Every operation by name; one object each for the life of the process."""
    return {name: Operation(spec) for name, spec in _SPECS.items()}


def names() -> tuple[str, ...]:
    """Names of all operations, in the order of their families."""
    return tuple(_SPECS)


def get(name: str) -> OpSpec:
    """The operation ``name``; KeyError when there is none."""
    return _SPECS[name]


@cache
def _operators() -> dict[str, OpSpec]:
    return {spec.operator: spec for spec in _SPECS.values() if spec.operator is not None}


def operator(symbol: str) -> OpSpec | None:
    """The operation that a Python operator stands for (``+``, ``unary -``), else None."""
    return _operators().get(symbol)


def method(name: str) -> OpSpec | None:
    """The operation behind ``tensor.<name>(…)``, else None. Every operation is a method, too."""
    spec = _SPECS.get(name)
    if spec is None or name == "arange":  # of numbers alone
        return None
    return spec if spec.params[0].kind in ("tensor", "operand") else None
