"""The parameters of a kernel: names, annotations, defaults, and the values of one call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pypto._record import Record
from pypto._spelling import nearest
from pypto.error import (
    Diagnostic,
    FeNotImplementedError,
    FeTypeError,
    ParserError,
    RtTypeError,
    raise_diagnostics,
    shown_file,
)
from pypto.language.annotation import Tensor, TensorAnnotation
from pypto.language.status import TileOpFormat

if TYPE_CHECKING:
    from pypto.elaborate.source import KernelSource

__all__ = ["NO_DEFAULT", "Parameter", "as_written", "bind", "parameters_of", "place_of"]


class _NoDefault:
    """The type of :data:`NO_DEFAULT`."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


#: Stands for a default that is not there.
NO_DEFAULT = _NoDefault()

_BARE = TensorAnnotation()
_SILENT = (inspect.Parameter.empty, Any, object)


class Parameter(Record):
    """One parameter of a kernel.

    ``annotation`` is the evaluated annotation, ``inspect.Parameter.empty`` without one. ``where``
    says where it stands (``file:line:col``), for messages: the text, or a function that finds it
    by the parameter's name; None when that is not known.
    """

    name: str
    annotation: object = inspect.Parameter.empty
    default: object = NO_DEFAULT
    where: str | Callable[[str], str] | None = None

    @property
    def tensor(self) -> TensorAnnotation | None:
        """The annotation as that of a tensor; None when it is none."""
        if isinstance(self.annotation, TensorAnnotation):
            return self.annotation
        if isinstance(self.annotation, type) and issubclass(self.annotation, TensorAnnotation):
            return _BARE
        return None

    @property
    def annotated(self) -> bool:
        """Whether the annotation says something: ``Any`` and ``object`` do not."""
        return not any(self.annotation is silent for silent in _SILENT)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for a message about this parameter."""
        if self.where is None:
            return ()
        place = self.where if isinstance(self.where, str) else self.where(self.name)
        return (f"annotated at {place}" if self.annotated else f"defined at {place}",)


def place_of(source: KernelSource, name: str) -> str:
    """``file:line:col`` of the annotation of a kernel's parameter, or of its name without one."""
    import ast  # only for a message

    try:
        text = source.text()
        nested = text.lines[0][:1].isspace()  # `if True:` takes the indentation
        lines = ("if True:", *text.lines) if nested else text.lines
        tree = ast.parse("\n".join(lines))
    except (ParserError, SyntaxError):
        return f"{shown_file(source.filename)}:{source.function.__code__.co_firstlineno}"
    define = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    given = define.args
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    argument = next(a for a in every if a is not None and a.arg == name)
    node = argument.annotation or argument
    column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode()) + 1
    return f"{shown_file(text.filename)}:{text.first_line + node.lineno - 1 - nested}:{column}"


def parameters_of(
    function: Callable[..., Any], where: str | Callable[[str], str] | None = None
) -> tuple[Parameter, ...]:
    """The parameters of a kernel's function, with annotations given as strings evaluated.

    ``where`` is the position that messages name, or what finds it. Strings are evaluated in the
    globals of the function and its closure. Raises FeTypeError for ``*args``, ``**kwargs``,
    keyword-only and positional-only parameters, and for an annotation that cannot be evaluated;
    FeNotImplementedError for formats other than ``TILEOP_ND``.
    """
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise FeTypeError(
                [
                    Diagnostic(
                        FeTypeError,
                        FeTypeError.default_code,
                        f"the kernel {function.__name__}() has the {parameter.kind.description} "
                        f"parameter {parameter.name!r}",
                        expected="parameters that can be given by position and by name",
                        got=as_written(str(parameter)),
                        help=f"write one plain parameter for each argument{_wrapper(function)}",
                        notes=Parameter(parameter.name, where=where).notes,
                    )
                ]
            )
        annotation = parameter.annotation
        if isinstance(annotation, str):
            annotation = _evaluate(function, Parameter(parameter.name, annotation, where=where))
        default = parameter.default
        found.append(
            Parameter(
                parameter.name,
                annotation,
                NO_DEFAULT if default is inspect.Parameter.empty else default,
                where,
            )
        )
    raise_diagnostics(_format_problems(function.__name__, found))
    return tuple(found)


def _format_problems(kernel: str, parameters: list[Parameter]) -> list[Diagnostic]:
    """Formats of tensors that this version cannot read."""
    return [
        Diagnostic(
            FeNotImplementedError,
            FeNotImplementedError.default_code,
            f"the format {p.tensor.format.name} of parameter {p.name!r} of {kernel}() is not "
            "available in this version",
            help="leave the format out, and pass the tensor row by row (TILEOP_ND), as torch has "
            "it",
            notes=p.notes,
        )
        for p in parameters
        if p.tensor is not None and p.tensor.format not in (None, TileOpFormat.TILEOP_ND)
    ]


def _wrapper(function: Callable[..., Any]) -> str:
    """More help for a function that looks like the inside of a decorator."""
    if "<locals>" not in function.__qualname__:
        return ""
    return (
        f"; if a decorator below jit made {function.__name__}(), give it functools.wraps, or put "
        "it above jit"
    )


def _evaluate(function: Callable[..., Any], parameter: Parameter) -> object:
    """The value of an annotation that is text."""
    text = str(parameter.annotation)
    closure = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars
    cells: dict[str, object] = {}
    for free, cell in zip(names, closure, strict=True):
        try:
            cells[free] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    try:
        # The user's own annotation, evaluated where Python itself would have evaluated it.
        found = eval(text, function.__globals__, cells)
        # A quoted annotation under `from __future__ import annotations` is quoted twice.
        return eval(found, function.__globals__, cells) if isinstance(found, str) else found
    except Exception as error:
        raise FeTypeError(
            [
                Diagnostic(
                    FeTypeError,
                    FeTypeError.default_code,
                    f"the annotation of parameter {parameter.name!r} of {function.__name__}() "
                    "cannot be evaluated",
                    got=f"{text!r}: {type(error).__name__}: {error}",
                    help="names in an annotation must be globals or variables of an enclosing "
                    "function that the kernel uses",
                    notes=parameter.notes,
                )
            ]
        ) from error


def bind(
    kernel: str,
    parameters: tuple[Parameter, ...],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> tuple[object, ...]:
    """The value of each parameter in a call ``kernel(*args, **kwargs)``, defaults filled in.

    Raises RtTypeError, with everything that is wrong: too many positional arguments, an unknown
    keyword, an argument given twice, an argument missing.
    """
    names = [parameter.name for parameter in parameters]
    problems = []
    if len(args) > len(parameters):
        problems.append(
            _refused(
                f"{kernel}() got too many arguments",
                expected=_wanted(parameters),
                got=_count(len(args)) + (" by position" if kwargs else ""),
            )
        )
    values: dict[str, object] = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            free = [n for n in names[len(args) :] if n not in kwargs]
            problems.append(_unknown(kernel, name, names, free))
        elif name in values:
            problems.append(
                _refused(
                    f"{kernel}() got two values for {name!r}",
                    expected="one value for each parameter",
                    got=f"one by position {names.index(name) + 1} and one by keyword",
                )
            )
        else:
            values[name] = value
    missing = [p.name for p in parameters if p.name not in values and p.default is NO_DEFAULT]
    if missing:
        given = [name for name in names if name in values]
        plural = "s" if len(missing) > 1 else ""
        problems.append(
            _refused(
                f"{kernel}() misses the argument{plural} {_listed(list(map(repr, missing)))}",
                expected=_wanted(parameters),
                got=f"{_count(len(given))} ({', '.join(given)})" if given else "no arguments",
            )
        )
    if problems:
        raise RtTypeError(problems)
    return tuple(values.get(p.name, p.default) for p in parameters)


def _wanted(parameters: tuple[Parameter, ...]) -> str:
    """How many arguments a call has and for which parameters, those with defaults apart."""
    needed = [p.name for p in parameters if p.default is NO_DEFAULT]
    optional = [p.name for p in parameters if p.default is not NO_DEFAULT]
    if not optional:
        return f"{_count(len(needed))} ({', '.join(needed)})" if needed else "no arguments"
    counted = _count(len(parameters))
    names = f"optionally {', '.join(optional)}"
    if not needed:
        return f"at most {counted} ({names})"
    return f"{len(needed)} to {counted} ({', '.join(needed)}, and {names})"


def _listed(names: list[str]) -> str:
    """As Python lists what is missing: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


def as_written(annotation: str) -> str:
    """The text of an annotation, with the tensor class named as programs name it."""
    return annotation.replace(f"{Tensor.__module__}.{Tensor.__qualname__}", "pypto.Tensor")


def _refused(message: str, *, expected: str, got: str, help: str | None = None) -> Diagnostic:
    return Diagnostic(
        RtTypeError, RtTypeError.default_code, message, expected=expected, got=got, help=help
    )


def _unknown(kernel: str, name: str, names: list[str], free: list[str]) -> Diagnostic:
    """``free`` are the parameters that the call gives no value."""
    near = nearest(name, free)
    return _refused(
        f"{kernel}() has no parameter {name!r}",
        expected=f"one of {', '.join(names)}" if names else "no arguments",
        got=f"{name}=...",
        help=f"did you mean {near!r}?" if near else None,
    )
