"""Where a kernel's text comes from: captured at decoration, cut out exactly when first needed.

Capturing keeps a reference to the lines of the file (``linecache`` shares them between the kernels
of one file) and does nothing else, so decoration stays cheap. Line 1 of the text is the line of
``def``: decorators are no part of a kernel.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import io
import linecache
import os
import sys
import tokenize
import types
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from typing import Any, NoReturn

from pypto.elaborate.names import normal
from pypto.error import Diagnostic, FeTypeError, ParserError, SourceText, shown_file

__all__ = ["KernelSource", "plain_function", "token_digest"]

_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER, tokenize.ENCODING,
}  # fmt: skip
_NEWLINE, _INDENT, _DEDENT = "\n", "\t", "\b"  # in digests
_BLOCK = {tokenize.NEWLINE: _NEWLINE, tokenize.INDENT: _INDENT, tokenize.DEDENT: _DEDENT}


class KernelSource:
    """A function together with the text it was defined by.

    ``lines`` are all lines of the file, notebook cell or command (each with its line end) as they
    were at capture; ``None`` with a reason in ``missing`` when there is no text.
    """

    __slots__ = ("filename", "function", "lines", "missing")

    def __init__(
        self,
        function: types.FunctionType,
        filename: str,
        lines: tuple[str, ...] | list[str] | None,
        missing: str | None,
    ) -> None:
        self.function = function
        self.filename = filename
        self.lines = lines
        self.missing = missing

    @classmethod
    def capture(cls, target: object) -> KernelSource:
        """Capture the text of ``target``.

        Raises FeTypeError when ``target`` is no plain function (lambda, bound or class method,
        ``functools.partial``, callable object, coroutine or generator function).
        """
        return cls.of(plain_function(target))

    @classmethod
    def of(cls, function: types.FunctionType) -> KernelSource:
        """The text of ``function`` itself, whatever it wraps."""
        filename = function.__code__.co_filename
        lines, missing = _find_lines(function)
        return cls(function, filename, lines, missing)

    def text(self, label: str | None = None) -> SourceText:
        """The function's own lines, from ``def`` to its last statement.

        Raises ParserError when there is no text or it is not the text this function came from.
        """
        return self.text_and_digest(label)[0]

    def text_and_digest(self, label: str | None = None) -> tuple[SourceText, str]:
        """What :meth:`text` gives, and the digest of its tokens."""
        function = self.function
        name = label or function.__name__
        self.require_text()
        assert self.lines is not None
        found = _cut(self.lines, function.__code__)
        if found is None or _stale(self, self.lines):
            self._refuse_stale()
        first, lines, digest = found
        return SourceText(name, self.filename, first, tuple(lines)), digest

    def require_text(self) -> None:
        """Raises ParserError when there is no text.

        Asked before the cache is: whether a kernel runs must not depend on what ran before.
        """
        if self.lines is None:
            name = self.function.__name__
            self._refuse(f"the source of '{name}' is not available: {self.missing}")

    def require_fresh(self) -> None:
        """Raises ParserError when the text is another one than the function came from."""
        assert self.lines is not None
        if _stale(self, self.lines):
            self._refuse_stale()

    def _refuse_stale(self) -> NoReturn:
        self._refuse(
            f"the text of '{self.function.__name__}' in {self.filename} is not the one it was "
            "loaded from",
            "reload the module, so that the text and the function agree again",
        )

    def _refuse(self, message: str, help: str | None = None) -> NoReturn:
        advice = help or "define it in a file (or a notebook cell) that Python can read"
        raise ParserError(
            [Diagnostic(ParserError, "F00005", message, help=advice)],
        )


def plain_function(target: object) -> types.FunctionType:
    """The Python function that ``target`` stands for; wrappers are looked through."""
    if isinstance(target, staticmethod):
        target = target.__func__
    if isinstance(target, types.FunctionType):
        target = inspect.unwrap(target)
    problem = _why_not_a_kernel(target)
    if problem is not None:
        message, help = problem
        raise FeTypeError(
            [Diagnostic(FeTypeError, "F00001", message, help=help, notes=_definition(target))]
        )
    assert isinstance(target, types.FunctionType)
    return target


def _definition(target: Any) -> tuple[str, ...]:
    """Where the function is defined that ``target`` is made of; nothing for other objects."""
    function = getattr(target, "__func__", None) or getattr(target, "func", None) or target
    if not isinstance(function, types.FunctionType):
        return ()
    code = function.__code__
    return (f"defined at {shown_file(code.co_filename)}:{code.co_firstlineno}",)


def _why_not_a_kernel(target: object) -> tuple[str, str] | None:
    use_def = "write the kernel as a plain function: def name(...):"
    if isinstance(target, classmethod):
        return "a classmethod cannot be a kernel", "use a plain function or a staticmethod"
    if isinstance(target, types.MethodType):
        return (
            f"the bound method '{target.__qualname__}' cannot be a kernel",
            "move the body into a plain function and pass what it needs as parameters",
        )
    if isinstance(target, functools.partial):
        return (
            "functools.partial cannot be a kernel",
            "decorate the function itself and give the fixed arguments at the call",
        )
    if isinstance(target, type):
        return f"the class '{target.__name__}' cannot be a kernel", use_def
    own = type(target).__name__ if type(target).__module__.startswith("pypto.") else ""
    if own == "JitFunction":
        name = getattr(target, "__name__", "this")
        return (
            f"'{name}' is a kernel already",
            "leave one pypto.frontend.jit out; give all options to the other, or to pypto.options",
        )
    if own == "Function":
        name = getattr(target, "__name__", "this")
        return (
            f"'{name}' is a helper, marked with pypto.frontend.function: no kernel",
            "leave one of the two decorators out",
        )
    if not isinstance(target, types.FunctionType):
        return f"an object of type '{type(target).__name__}' cannot be a kernel", use_def
    if target.__name__ == "<lambda>":
        return "a lambda cannot be a kernel", use_def
    flags = target.__code__.co_flags
    if flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"'{target.__name__}' is an async function: not a kernel", "write def, not async def"
    if flags & inspect.CO_GENERATOR:
        return (
            f"'{target.__name__}' is a generator function: not a kernel",
            "write results into a parameter instead of yielding them",
        )
    owner = target.__qualname__.rpartition(".")[0]
    first = target.__code__.co_varnames[:1] if target.__code__.co_argcount else ()
    if owner and not owner.endswith("<locals>") and first in (("self",), ("cls",)):
        return (
            f"the method '{target.__qualname__}' cannot be a kernel",
            f"make it a plain function (or a staticmethod without '{first[0]}')",
        )
    return None


# --- finding the text ---


def _find_lines(
    function: types.FunctionType,
) -> tuple[tuple[str, ...] | list[str] | None, str | None]:
    """The lines of the file that ``function`` stands in, or the reason why there are none."""
    filename = function.__code__.co_filename
    cell = linecache.cache.get(filename)
    if cell is not None and len(cell) == 4 and cell[1] is None:
        return tuple(cell[2]), None  # a notebook cell: it has no time of change
    on_disk = os.path.exists(filename)
    if not on_disk and not filename.startswith("<"):
        lines = _from_loader(function)
        if lines is not None:
            return lines, None
    linecache.checkcache(filename)
    found = linecache.getlines(filename, function.__globals__)
    if found:
        return found, None
    if filename == "<string>":
        command = _command_text(function)
        if command is not None:
            return command, None
        return None, "it was made by exec or eval from a string, which Python does not keep"
    if filename == "<stdin>":
        return None, "it was typed at the interactive prompt or read from standard input"
    if filename.startswith("<"):
        return None, f"{filename} is no file"
    if on_disk:
        return None, f"{filename} cannot be read as Python text"
    return None, f"there is no file {filename} (only compiled code was loaded)"


def _from_loader(function: types.FunctionType) -> tuple[str, ...] | None:
    # linecache splits such text at form feeds too, which shifts every line number after one.
    loader = function.__globals__.get("__loader__")
    name = function.__globals__.get("__name__")
    get_source = getattr(loader, "get_source", None)
    if get_source is None or not isinstance(name, str):
        return None
    try:
        if loader.get_filename(name) != function.__code__.co_filename:  # type: ignore[union-attr]
            return None  # the loader of the main program, say
        text = get_source(name)
    except (AttributeError, ImportError, OSError):
        return None
    return None if text is None else _split(text)


def _command_text(function: types.FunctionType) -> tuple[str, ...] | None:
    """The text of ``python -c``, when ``function`` provably comes from it."""
    arguments = sys.orig_argv
    if "-c" not in arguments or function.__globals__.get("__name__") != "__main__":
        return None
    at = arguments.index("-c") + 1
    if at >= len(arguments):
        return None
    text = arguments[at]
    try:
        module = compile(text, "<string>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    if any(code == function.__code__ for code in _all_code(module)):
        return _split(text)
    return None


def _split(text: str) -> tuple[str, ...]:
    return tuple(io.StringIO(text, newline=None))


def _all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield from _all_code(item)


# --- cutting the function out ---


def _cut(lines: Sequence[str], code: types.CodeType) -> tuple[int, list[str], str] | None:
    """First line (1-based, of ``def``), lines, and digest of the tokens, of the function that
    ``code`` belongs to."""
    start = code.co_firstlineno - 1
    if not 0 <= start < len(lines):
        return None
    depth = 0
    define: int | None = None
    end: int | None = None
    at_line_start = True
    name, named = "", False
    tokens: list[str] = []
    known = 0  # tokens up to the end of the last statement
    try:
        for token in tokenize.generate_tokens(iter(lines[start:]).__next__):
            kind, text, (row, _), (end_row, _), _ = token
            if kind == tokenize.INDENT:
                tokens.append(_INDENT)
                depth += define is not None
            elif kind == tokenize.DEDENT:
                tokens.append(_DEDENT)
                depth -= define is not None
                if define is not None and depth <= 0:
                    break
            elif kind == tokenize.NEWLINE:
                tokens.append(_NEWLINE)
                at_line_start = True
                if define is not None:
                    end, known = end_row, len(tokens)
            elif kind in (tokenize.COMMENT, tokenize.NL):
                continue
            elif kind == tokenize.ENDMARKER:
                break
            else:
                if define is not None and depth == 0 and at_line_start:
                    break  # a body on the line of def has ended
                if at_line_start and text == "def" and define is None:
                    define = row
                    tokens.clear()  # those of decorators
                elif define is None and at_line_start and text != "@":
                    return None
                elif define is not None and not named:
                    named = text in ("(", "[")
                    name += "" if named else text.strip()  # tokenize cuts at combining characters
                at_line_start = False
                tokens.append(text)
    except (IndentationError, tokenize.TokenError):
        # The line after the function dedents to a level that only the file's earlier lines know.
        if end is None:
            return None
    if define is None or end is None or normal(name) != code.co_name:
        return None
    first = start + define
    own = [line.rstrip("\r\n") for line in lines[first - 1 : start + end]]
    return first, own, _digest(tokens[:known])


def _stale(source: KernelSource, lines: Sequence[str]) -> bool:
    """True when compiling ``lines``, the whole file, gives other code than the function runs.

    Asked only of modules that Python's own file loader compiled: import hooks (test runners, type
    checkers) change the code on purpose. The whole file counts, since Python compiles a call of an
    imported module's function otherwise than a method call.
    """
    function = source.function
    if type(function.__globals__.get("__loader__")) is not SourceFileLoader:
        return False
    try:
        module = compile("".join(lines), source.filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    code = function.__code__
    return not any(_same_code(code, other) for other in _all_code(module))


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    return (
        a.co_name == b.co_name
        and a.co_firstlineno == b.co_firstlineno
        and a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and _plain_consts(a) == _plain_consts(b)
    )


def _plain_consts(code: types.CodeType) -> list[Any]:
    return [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType | frozenset)]


def token_digest(lines: Sequence[str]) -> str:
    """Digest of a function's tokens: comments, layout and positions do not count."""
    readline = iter([line + "\n" for line in lines]).__next__
    tokens = []
    for kind, text, *_ in tokenize.generate_tokens(readline):
        if kind not in _LAYOUT:
            tokens.append(text)
        elif kind in _BLOCK:
            tokens.append(_BLOCK[kind])
    while tokens and tokens[-1] == _DEDENT:  # what follows the last statement
        tokens.pop()
    return _digest(tokens)


def _digest(tokens: Iterable[str]) -> str:
    """No token has a zero byte in it: Python reads no text that does."""
    return hashlib.sha256("\0".join(tokens).encode("utf-8", "surrogatepass")).hexdigest()
