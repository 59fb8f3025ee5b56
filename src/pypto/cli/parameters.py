"""What ``pypto compile`` is told of parameters: ``--shape NAME=4,8`` and ``--value NAME=VALUE``."""

from __future__ import annotations

import ast
import enum
import functools
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pypto.cli.program import NotPossible
from pypto.elaborate.names import normal
from pypto.error import (
    Diagnostic,
    FeError,
    FeValueError,
    PyptoError,
    raise_diagnostics,
)

if typing.TYPE_CHECKING:
    from pypto.runtime.parameters import Parameter

__all__ = ["Given", "advised", "read_given"]

_WORDS = {"true": True, "false": False}
_FORMS = {bool: "true or false", int: "an int, such as 4", float: "a number, such as 0.5"}
_EXAMPLES = {bool: "true", int: "4", float: "0.5", str: "text"}


class Given:
    """Sizes and values as one kernel takes them, by name of the parameter."""

    __slots__ = ("shapes", "values")

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, object]) -> None:
        self.shapes = shapes
        self.values = values


def read_given(
    shapes: Iterable[str], values: Iterable[str], kernels: Mapping[str, Any]
) -> dict[str, Given]:
    """What each of ``kernels`` takes of the command line's ``shapes`` and ``values``.

    Raises NotPossible for a wrong form or name, FeValueError with all values that are not of the
    type that an annotation names.
    """
    sizes = _once("--shape", map(_shape, shapes))
    texts = _once("--value", map(_value, values))
    parameters = {name: _parameters(kernel) for name, kernel in kernels.items()}
    every = [p for found in parameters.values() for p in found]
    for p in every:
        # Nothing is the shape of a tensor without axes, and else a slip.
        if p.tensor is not None and p.tensor.shape and sizes.get(p.name) == ():
            raise _no_shape(f"{p.name}=")
    tensors = {p.name for p in every if p.tensor is not None}
    others = {p.name for p in every if p.tensor is None}
    _check_names("--shape", sizes, "tensor", tensors, others, "no tensor; give its value: --value")
    _check_names("--value", texts, "scalar", others, tensors, "a tensor; give its sizes: --shape")
    given, problems = {}, []
    for kernel, found in parameters.items():
        own: dict[str, object] = {}
        for parameter in found:
            if parameter.tensor is not None or parameter.name not in texts:
                continue
            text = texts[parameter.name]
            try:
                own[parameter.name] = _parsed(text, parameter.annotation)
            except ValueError as error:
                problems.append(_unfit(kernel, parameter, text, str(error)))
        chosen = {p.name: sizes[p.name] for p in found if p.tensor and p.name in sizes}
        given[kernel] = Given(chosen, own)
    raise_diagnostics(problems)
    return given


def _parameters(kernel: Any) -> tuple[Parameter, ...]:
    """The parameters of a kernel; () where compiling it says what is wrong with them."""
    from pypto.elaborate.source import KernelSource
    from pypto.runtime.parameters import parameters_of, place_of

    function = kernel.__wrapped__
    try:
        return parameters_of(function, functools.partial(place_of, KernelSource.of(function)))
    except FeError:
        return ()


def _once(option: str, given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """``given`` by name. Raises NotPossible for a name that is given twice."""
    found: dict[str, Any] = {}
    for name, what in given:
        if name in found:
            raise NotPossible(f"{option} names {name} twice")
        found[name] = what
    return found


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.partition("=")
    try:
        if not equals or not name.isidentifier():
            raise ValueError
        shape = tuple(int(size) for size in sizes.split(",")) if sizes else ()
        if any(size < 0 for size in shape):
            raise ValueError
    except ValueError:
        raise _no_shape(text) from None
    return normal(name), shape


def _no_shape(text: str) -> NotPossible:
    return NotPossible(
        f"--shape takes NAME=SIZE,SIZE,... with sizes of 0 or more, such as x=4,8, got '{text}'"
    )


def _value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise NotPossible(f"--value takes NAME=VALUE, got '{text}'")
    return normal(name), value


def _check_names(
    option: str, given: Iterable[str], kind: str, known: set[str], others: set[str], advice: str
) -> None:
    for name in given:
        if name in known:
            continue
        if name in others:
            raise NotPossible(f"{option} names {name}, which is {advice} {name}=...")
        there = f"there are {', '.join(sorted(known))}" if known else "there are none"
        raise NotPossible(
            f"{option} names {name}, which is a {kind} parameter of no kernel here; {there}"
        )


def _parsed(text: str, annotation: Any) -> object:
    """``text`` as a value of the type that ``annotation`` names.

    Raises ValueError, which says what is expected.
    """
    parts = [annotation]
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        parts = list(typing.get_args(annotation))
    kinds = [kind for kind in parts if kind is not type(None)]
    if len(kinds) < len(parts) and text == "None":
        return None
    kind = kinds[0] if len(kinds) == 1 else None
    if kind is str:
        return text
    form = _FORMS.get(kind) if isinstance(kind, type) else None
    try:
        return _object(text, kind) if form is None else _number(text, kind)
    except ValueError as error:
        expected = form or str(error)
        raise ValueError(f"{expected}, or None" if kinds != parts else expected) from None


def _number(text: str, kind: Any) -> object:
    if kind is bool:
        if text.lower() not in _WORDS:
            raise ValueError
        return _WORDS[text.lower()]
    return int(text, 0) if kind is int else float(text)


def _object(text: str, kind: Any) -> object:
    """A member of an enumeration by its name, one of a Literal, else what Python makes of it."""
    if typing.get_origin(kind) is typing.Literal:
        allowed = {str(one): one for one in typing.get_args(kind)}
        if text not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return allowed[text]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        member = kind.__members__.get(text.rpartition(".")[2])
        if member is None:
            raise ValueError(f"one of {', '.join(kind.__members__)}")
        return member
    if text in _WORDS:
        return _WORDS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("a value as Python writes it: 4, 0.5, True, (1, 2), \"'text'\"") from None


def _unfit(kernel: str, parameter: Parameter, text: str, expected: str) -> Diagnostic:
    return Diagnostic(
        FeValueError,
        FeValueError.default_code,
        f"--value {parameter.name}={text} does not fit the parameter of {kernel}()",
        expected=expected,
        got=repr(text),
        notes=parameter.notes,
    )


def advised(error: PyptoError, kernel: Any) -> str:
    """The message of ``error``, with options of the command line where it advises arguments of
    ``JitFunction.compile``."""
    kinds = {p.name: p.annotation for p in _parameters(kernel)}

    def value(name: str) -> str:
        kind = kinds.get(name)
        example = _EXAMPLES.get(kind) if isinstance(kind, type) else None
        return f"--value {name}={example or 'VALUE'}"

    def values(found: re.Match[str]) -> str:
        return " ".join(map(value, re.findall(r"'(\w+)'", found[1])))

    def shapes(found: re.Match[str]) -> str:
        return f"--shape {found[1]}={','.join(re.findall(r'[0-9]+', found[2]))}"

    def command(help: str) -> str:
        help = re.sub(r"compile\(values=\{([^}]*)\}\)", values, help)
        help = re.sub(r"compile\(shapes=\{'(\w+)': ([^}]*)\}\)", shapes, help)
        return help.replace("compile(directory=...)", "--output DIR")

    return str(
        type(error)(
            replace(one, help=None if one.help is None else command(one.help))
            for one in error.diagnostics
        )
    )
