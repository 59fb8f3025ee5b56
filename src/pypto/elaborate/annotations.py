"""Annotations of a kernel's parameters, as the compiler reads and refuses them."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping

from pypto.elaborate.advice import sizes_request, value_request
from pypto.elaborate.names import normal
from pypto.elaborate.parse import ParsedFunction, parse
from pypto.elaborate.source import KernelSource
from pypto.error import (
    Diagnostic,
    FeTypeError,
    FeValueError,
    PyptoError,
    Span,
    raise_diagnostics,
)
from pypto.ir.dtype import DataType
from pypto.ir.signature import (
    CallSignature,
    ConstantSignature,
    ParameterSignature,
    ScalarSignature,
    TensorSignature,
    plain_kinds,
    scalar_signature,
)
from pypto.language.annotation import NamedAxis, TensorAnnotation
from pypto.language.builtin import annotation_of
from pypto.language.enums import StatusType

__all__ = ["check_annotations", "evaluate_annotation", "parameter_span", "signature_of"]


def evaluate_annotation(function: types.FunctionType, name: str) -> object:
    """The annotation of parameter ``name``, strings evaluated where Python would have; None: none.

    Raises FeTypeError when the string cannot be evaluated, a PyptoError when it says no tensor.
    """
    annotation = inspect.get_annotations(function).get(name)
    if not isinstance(annotation, str):
        return annotation
    cells = {}
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[free] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            continue
    try:
        # The user's own annotation, evaluated where Python itself would have evaluated it.
        return eval(annotation, function.__globals__, cells)
    except PyptoError:
        raise
    except Exception as error:
        message = f"the annotation of '{name}' cannot be evaluated: {type(error).__name__}: {error}"
        help = "an annotation may use globals, and names of the enclosing function the body uses"
        raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, help=help)]) from error


def parameter_span(parsed: ParsedFunction, name: str) -> Span:
    """Where the parameter ``name`` stands, with its annotation."""
    parameters = parsed.node.params
    for param in (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params):
        if normal(param.name.value) == name:
            last = param.name if param.annotation is None else param.annotation
            return parsed.between(param.name, last)
    return parsed.head


def check_annotations(parsed: ParsedFunction, signature: CallSignature) -> list[Diagnostic]:
    """What is wrong with annotations of parameters for which a tensor is passed."""
    found = []
    for name, given in zip(signature.names, signature.parameters, strict=True):
        span = parameter_span(parsed, name)
        try:
            annotation = evaluate_annotation(parsed.function, name)
        except PyptoError as error:
            found += [_at(diagnostic, span) for diagnostic in error.diagnostics]
            continue
        is_tensor = isinstance(given, TensorSignature)
        if annotation is None or annotation_of(annotation) is not None or not is_tensor:
            continue
        message = f"the annotation of '{name}' says no tensor"
        help = "annotate it with pypto.Tensor(shape, dtype), or pypto.Tensor for any tensor"
        got = _shown(annotation)
        if _holds_tensor(annotation):
            message = f"the annotation of '{name}' must be the tensor annotation itself"
            help = "a tensor parameter is given at every call: write pypto.Tensor(shape, dtype)"
        found.append(
            Diagnostic(FeTypeError, "F00001", message, span, "a pypto.Tensor annotation", got, help)
        )
    returns = getattr(parsed.node, "returns", None)
    if returns is not None and inspect.get_annotations(parsed.function).get("return") not in (
        None, "None",
    ):  # fmt: skip
        message = "a kernel returns nothing"
        help = "add a parameter for the result, and leave the return annotation out"
        found.append(Diagnostic(FeTypeError, "F00001", message, parsed.span(returns), help=help))
    return found


def _at(diagnostic: Diagnostic, span: Span) -> Diagnostic:
    from dataclasses import replace

    return replace(diagnostic, span=diagnostic.span or span)


def _shown(annotation: object) -> str:
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}"
    return str(annotation)


def _holds_tensor(annotation: object) -> bool:
    parts = typing.get_args(annotation)
    return any(annotation_of(part) is not None or _holds_tensor(part) for part in parts)


def signature_of(
    function: types.FunctionType,
    values: Mapping[str, object] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    source: KernelSource | None = None,
) -> CallSignature:
    """The signature that the annotations alone describe, for compiling without a call.

    ``values`` gives values of parameters that are no tensors; defaults stand in for the rest.
    ``shapes`` gives sizes where an annotation leaves rank or static sizes open. ``source`` is where
    the text of ``function`` is, for messages.
    ``int`` and ``float`` parameters stay run-time scalars, as in a call. Raises an error of the
    front end with all parameters of which too little is known.
    """
    values, shapes = values or {}, shapes or {}
    names = []
    parameters: list[ParameterSignature] = []
    problems: list[tuple[str, Diagnostic]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        names.append(name)
        try:
            annotation = evaluate_annotation(function, name)
            tensor = annotation_of(annotation)
            if tensor is not None:
                parameters.append(_tensor(name, tensor, shapes.get(name), _written(annotation)))
            elif (scalar := _scalar(annotation, parameter.default)) and name not in values:
                parameters.append(scalar)
            elif name in values or parameter.default is not inspect.Parameter.empty:
                parameters.append(ConstantSignature(values.get(name, parameter.default)))
            else:
                _refuse_missing(name, annotation)
        except PyptoError as error:
            problems += [(name, diagnostic) for diagnostic in error.diagnostics]
    raise_diagnostics(_placed(problems, source or KernelSource.of(function)))
    tensors = sum(isinstance(p, TensorSignature) for p in parameters)
    return CallSignature(tuple(names), tuple(parameters), tuple(range(tensors)))


def _scalar(annotation: object, default: object) -> ScalarSignature | None:
    """What a number given for a parameter is, where its annotation says so; None where the default
    or the annotation leaves it open."""
    kinds = plain_kinds(annotation)
    numbers = [kind for kind in (int, float) if kind in kinds]
    if default is not inspect.Parameter.empty:
        numbers = [kind for kind in numbers if kind is type(default)] or numbers
        if annotation not in (int, float) and type(default) not in (int, float):
            return None
    return scalar_signature(kinds, numbers[0]) if len(numbers) == 1 else None


def _placed(problems: list[tuple[str, Diagnostic]], source: KernelSource) -> list[Diagnostic]:
    """``problems``, each of a parameter, with the places of these where there is a text."""
    if not problems:
        return []
    try:
        parsed = parse(source)
    except PyptoError:
        return [diagnostic for _, diagnostic in problems]
    return [_at(diagnostic, parameter_span(parsed, name)) for name, diagnostic in problems]


def _refuse_missing(name: str, annotation: object) -> typing.NoReturn:
    help = f"name it: {value_request([name])}, or give it a default"
    if annotation is None:
        _refuse(
            f"the value of '{name}', which has no annotation, is needed to compile without a call",
            f"{help}; annotate it with pypto.Tensor(shape, dtype) if it is a tensor",
        )
    if _means_tensor(annotation):
        help = "annotate it with pypto.Tensor(shape, dtype) if it is a tensor"
    _refuse(f"the value of '{name}' is needed to compile without a call", help)


def _means_tensor(annotation: object) -> bool:
    """Whether ``annotation`` is one that people write for a tensor, and is none of a value."""
    if isinstance(annotation, (list, tuple, DataType)):
        return True
    return isinstance(annotation, type) and annotation.__name__ in ("Tensor", "ndarray")


def _written(annotation: object) -> str:
    """``pypto.Tensor`` of the bare class, ``pypto.Tensor(...)`` of what was called."""
    return "pypto.Tensor" if isinstance(annotation, type) else str(annotation)


def _tensor(
    name: str, annotation: TensorAnnotation, given: tuple[int, ...] | None, written: str
) -> TensorSignature:
    dtype = annotation.dtype
    if dtype is None:
        _refuse(
            f"the annotation of '{name}' does not say its dtype",
            f"annotate it fully, {written} is too little, or call the kernel with tensors",
        )
    axes: tuple[object, ...] = annotation.shape or ()
    if annotation.shape is None or annotation.open:
        if given is None or len(given) < len(axes):
            _refuse(
                f"the annotation of '{name}' does not say its shape",
                f"give its sizes: {sizes_request(name, (*axes, 8))}, annotate them, or call the "
                "kernel with tensors",
            )
        axes = (*axes, *given[len(axes) :])
    if given is not None and len(given) != len(axes):
        _refuse(
            f"the shape given for '{name}' has {len(given)} sizes, its annotation {len(axes)}",
            f"give {len(axes)} sizes",
        )
    sizes = tuple(_size(name, axes, given, at) for at in range(len(axes)))
    axis_names = tuple(str(axis) if isinstance(axis, NamedAxis) else None for axis in axes)
    return TensorSignature(dtype, sizes, axis_names)


def _size(
    name: str, axes: tuple[object, ...], given: tuple[int, ...] | None, at: int
) -> int | None:
    """The size that a binary may rely on in axis ``at``; None for a dynamic one."""
    axis = axes[at]
    wanted = None if given is None else given[at]
    if isinstance(axis, int) and not isinstance(axis, StatusType):
        if wanted is not None and wanted != axis:
            _refuse(
                f"the shape given for '{name}' has {wanted} in axis {at}, its annotation {axis}",
                "give the annotated size",
            )
        return int(axis)
    if axis is StatusType.STATIC:
        if wanted is None:
            _refuse(
                f"the annotation of '{name}' leaves a static size open",
                f"give its sizes: {sizes_request(name, axes)}, write the size as a number, or call "
                "the kernel with tensors",
            )
        return wanted
    return None


def _refuse(message: str, help: str) -> typing.NoReturn:
    raise FeValueError([Diagnostic(FeValueError, "F00002", message, help=help)])
