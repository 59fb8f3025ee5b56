"""From the values of a call to its signature: what the launcher leaves to Python.

``bind`` (in :mod:`pypto.runtime.parameters`) gives each parameter its value, :func:`classify`
checks the values and makes the :class:`CallSignature` that a binary is looked up by,
``normalise`` (in :mod:`pypto.runtime.memory`) copies what cannot be used as it stands, and
:func:`variant_params` puts a signature into the launcher's words.
"""

from __future__ import annotations

import enum
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from pypto.error import Diagnostic, RtTypeError, RtValueError, raise_diagnostics
from pypto.ir.signature import (
    CallSignature,
    ConstantSignature,
    ParameterSignature,
    ScalarSignature,
    TensorSignature,
    plain_kinds,
    scalar_signature,
)
from pypto.language.builtin import annotation_of
from pypto.runtime.memory import Prepared, alias_classes, normalise
from pypto.runtime.parameters import NO_DEFAULT, Parameter, as_written, bind, parameters_of
from pypto.runtime.tensor_checks import Staging, check_tensor, describe, is_tensor
from pypto.runtime.torch_bridge import DLPACK_DTYPES

__all__ = [
    "NO_DEFAULT",
    "Parameter",
    "Prepared",
    "Staging",
    "bind",
    "check_values",
    "classify",
    "normalise",
    "parameters_of",
    "plain_scalars",
    "variant_params",
]

_INT64 = range(-(2**63), 2**63)


def classify(
    parameters: tuple[Parameter, ...],
    values: tuple[object, ...],
    staging: Staging | None = None,
) -> CallSignature:
    """The signature of a call that gives ``values``, one for each parameter.

    Raises RtTypeError or RtValueError, with everything that is wrong with the arguments.
    """
    problems: list[Diagnostic] = []
    found: list[ParameterSignature] = []
    for parameter, value in zip(parameters, values, strict=True):
        checked = _classify(parameter, value, staging)
        if isinstance(checked, Diagnostic):
            problems.append(checked)
        else:
            found.append(checked)
    if not problems:
        problems = _named_axis_problems(parameters, values, found)
    raise_diagnostics(problems)
    tensors = [
        value
        for value, signature in zip(values, found, strict=True)
        if isinstance(signature, TensorSignature) and is_tensor(value)
    ]
    names = tuple(parameter.name for parameter in parameters)
    return CallSignature(names, tuple(found), alias_classes(tensors))


def check_values(
    parameters: tuple[Parameter, ...], values: Mapping[str, object]
) -> dict[str, ParameterSignature]:
    """The signatures of scalars and constants, by name, that ``values`` are given to.

    Raises RtTypeError or RtValueError with all values that no call could give.
    """
    checked = {p.name: _classify(p, values[p.name], None) for p in parameters if p.name in values}
    raise_diagnostics([found for found in checked.values() if isinstance(found, Diagnostic)])
    return {n: found for n, found in checked.items() if not isinstance(found, Diagnostic)}


def _classify(
    parameter: Parameter, value: object, staging: Staging | None
) -> ParameterSignature | Diagnostic:
    if parameter.tensor is not None:
        return check_tensor(parameter, value, staging)
    kinds = plain_kinds(parameter.annotation)
    if parameter.default is None and kinds:
        kinds += (type(None),)
    if is_tensor(value):
        if parameter.annotated:
            return _tensor_for_scalar(parameter, value, kinds)
        return check_tensor(parameter, value, staging)
    if kinds:
        return _classify_plain(parameter, value, kinds)
    if isinstance(value, enum.Enum | bool):
        return ConstantSignature(value)
    if not parameter.annotated:
        if _is_numpy_bool(value):
            return ConstantSignature(bool(value))
        if _is_index(value):
            return _classify_int(parameter, value, annotated=False)
        if isinstance(value, float) or _is_float_like(value):
            return _classify_float(parameter, value, annotated=False)
    return ConstantSignature(value)


def _classify_plain(
    parameter: Parameter, value: object, kinds: tuple[type, ...]
) -> ScalarSignature | ConstantSignature | Diagnostic:
    """``value`` for a parameter that takes ``kinds``, some of bool, int, float, str and None."""
    if value is None and type(None) in kinds:
        return ConstantSignature(None)
    some = tuple(dict.fromkeys(kind for kind in kinds if kind is not type(None)))
    kind = next((kind for kind in _kinds_of(value) if kind in some), None)
    number: ScalarSignature | Diagnostic
    if kind is int:
        number = _classify_int(parameter, value, annotated=True)
        return number if isinstance(number, Diagnostic) else scalar_signature(some, int)
    if kind is float:
        number = _classify_float(parameter, value, annotated=True)
        return number if isinstance(number, Diagnostic) else scalar_signature(some, float)
    if kind is not None:
        return ConstantSignature(bool(value) if kind is bool else value)
    words = {int: "integer", float: "number", bool: "bool", str: "string"}
    message = f"is no {' and no '.join(words[kind] for kind in some)}"
    help = None
    if _is_index(value) or _is_float_like(value):
        helps = {bool: "bool({}) is its truth", int: "int({}) cuts the fraction off"}
        help = next((helps[k].format(parameter.name) for k in some if k in helps), None)
    return _refuse(RtTypeError, parameter, value, message, _expected(kinds), help)


def _kinds_of(value: object) -> tuple[type, ...]:
    """The kinds of parameters that take ``value``, the nearest first."""
    if isinstance(value, str):
        return (str,)
    if isinstance(value, bool):
        return (bool, int, float)
    if _is_numpy_bool(value):
        return (bool, float)
    if _is_index(value):
        return (int, float)
    return (float,) if _is_float_like(value) else ()


def _expected(kinds: tuple[type, ...]) -> str:
    words = {bool: "True or False", int: "an int", float: "a float", str: "a str"}
    parts = [words.get(kind, "None") for kind in dict.fromkeys(kinds)]
    return " or ".join(parts)


def _has_length(value: object) -> bool:
    # By type, as the launcher does: a 0-d array has a length that cannot be taken.
    return hasattr(type(value), "__len__")


def _is_numpy_bool(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def _is_index(value: object) -> bool:
    """Whether the value is an integer: an int, or convertible like NumPy's integer scalars."""
    if isinstance(value, int):
        return True
    return hasattr(type(value), "__index__") and not _has_length(value)


def _is_float_like(value: object) -> bool:
    convertible = hasattr(type(value), "__float__") and not isinstance(value, type)
    return convertible and not _has_length(value)


def _refuse(
    cls: type[RtTypeError] | type[RtValueError],
    parameter: Parameter,
    value: object,
    message: str,
    expected: str,
    help: str | None = None,
) -> Diagnostic:
    return Diagnostic(
        cls,
        cls.default_code,
        f"argument {parameter.name!r} {message}",
        expected=expected,
        got=describe(value),
        help=help,
        notes=parameter.notes,
    )


def _tensor_for_scalar(parameter: Parameter, value: object, kinds: tuple[type, ...]) -> Diagnostic:
    name = parameter.name
    if any(kind in (bool, int, float) for kind in kinds):
        return _refuse(
            RtTypeError,
            parameter,
            value,
            "is a tensor where a Python value belongs",
            _expected(kinds),
            f"{name}.item() is the number in a tensor of one element",
        )
    shown = as_written(inspect.formatannotation(parameter.annotation))
    inner = _tensor_in(parameter.annotation)
    help = f"write `{name}: {inner or 'pypto.Tensor'}`"
    return _refuse(
        RtTypeError,
        parameter,
        value,
        f"is a tensor, and its annotation {shown} is none of a tensor",
        "pypto.Tensor(shape, dtype) or pypto.Tensor in the annotation",
        help if inner else f"{help}, or leave the annotation out",
    )


def _tensor_in(annotation: object) -> str | None:
    """The tensor annotation inside ``Optional[...]``, ``Annotated[...]`` and the like."""
    parts = [*typing.get_args(annotation), *getattr(annotation, "__metadata__", ())]
    found = [tensor for part in parts if (tensor := annotation_of(part)) is not None]
    return str(found[0]).removesuffix("()") if found else None


def _classify_int(
    parameter: Parameter, value: object, *, annotated: bool
) -> ScalarSignature | Diagnostic:
    try:
        if not _is_index(value):
            raise TypeError
        number = _to_int(value)
    except TypeError:
        help = f"int({parameter.name}) cuts the fraction off" if _is_float_like(value) else None
        return _refuse(RtTypeError, parameter, value, "is no integer", "an int", help)
    if number not in _INT64:
        return _refuse(
            RtValueError,
            parameter,
            value,
            "does not fit 64 bits",
            "an int from -2**63 to 2**63 - 1",
        )
    return ScalarSignature("int", annotated)


def _classify_float(
    parameter: Parameter, value: object, *, annotated: bool
) -> ScalarSignature | Diagnostic:
    try:
        if not (_is_index(value) or _is_float_like(value)):
            raise TypeError
        _to_float(value)
    except TypeError:
        return _refuse(RtTypeError, parameter, value, "is no number", "a float")
    except OverflowError:
        return _refuse(
            RtValueError, parameter, value, "is too large for a float", "a number below 1.8e308"
        )
    return ScalarSignature("float", annotated)


def _to_int(value: Any) -> int:
    return operator.index(value) if not isinstance(value, int) else int.__index__(value)


def _to_float(value: Any) -> float:
    if isinstance(value, float):
        return float.__float__(value)
    return float(_to_int(value)) if _is_index(value) else float(value)


def _named_axis_problems(
    parameters: tuple[Parameter, ...],
    values: tuple[object, ...],
    found: list[ParameterSignature],
) -> list[Diagnostic]:
    """Axes of one name must have one size."""
    first: dict[str, tuple[str, int, int]] = {}
    problems = []
    for parameter, value, signature in zip(parameters, values, found, strict=True):
        if not (isinstance(signature, TensorSignature) and is_tensor(value)):
            continue
        sizes = tuple(value.shape) or (1,)
        for axis, name in enumerate(signature.axis_names):
            if name is None:
                continue
            size = int(sizes[axis])
            other, other_axis, wanted = first.setdefault(name, (parameter.name, axis, size))
            if size != wanted:
                message = f"has size {size} in axis {axis}, and axes named {name!r} must be equal"
                expected = f"{wanted}, as axis {other_axis} of {other!r}"
                problems.append(_refuse(RtValueError, parameter, value, message, expected))
    return problems


def plain_scalars(signature: CallSignature, values: tuple[object, ...]) -> tuple[object, ...]:
    """``values`` with each run-time scalar as a plain int or float."""

    def plain(parameter: ParameterSignature, value: object) -> object:
        if not isinstance(parameter, ScalarSignature):
            return value
        return _to_int(value) if parameter.kind == "int" else _to_float(value)

    return tuple(map(plain, signature.parameters, values))


def variant_params(signature: CallSignature) -> tuple[tuple[Any, ...], ...]:
    """``params`` of the launcher's Variant for calls of this signature."""
    return tuple(map(_variant_param, signature.parameters))


def _variant_param(parameter: ParameterSignature) -> tuple[Any, ...]:
    if isinstance(parameter, TensorSignature):
        sizes = tuple(-1 if size is None else size for size in parameter.sizes)
        return ("tensor", DLPACK_DTYPES[parameter.dtype], sizes)
    if isinstance(parameter, ScalarSignature):
        return (parameter.kind, parameter.annotated)
    if _is_plain(parameter.value):
        return ("constant", parameter.value)
    return ("constant", parameter.value, _comparison(parameter.value))


#: Types of values that never change and whose objects are theirs alone.
_SINGLETONS = (enum.Enum, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def _is_plain(value: object) -> bool:
    """Whether the launcher can compare the value: plain values, containers of them, singletons."""
    if type(value) in _PLAIN or isinstance(value, _SINGLETONS):
        return True
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    return (type(value).__module__, type(value).__name__) == ("torch", "dtype")


def _comparison(expected: object) -> Callable[[object], bool]:
    """A function that tells whether a value has the content that ``expected`` has now: by the
    digest that keys are made of, so that launcher and cache agree."""
    from pypto.elaborate.digests import Undigestible, digest

    wanted = digest(expected)

    def same(value: object) -> bool:
        try:
            return digest(value) == wanted
        except Undigestible:
            return False  # the lookup says what is wrong with the value

    return same
