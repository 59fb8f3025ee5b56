"""``pypto.frontend.function``: a helper that kernels call."""

from __future__ import annotations

import functools
import types
from typing import NoReturn

from pypto.error import Diagnostic, FeError, FeTypeError

__all__ = ["Function", "function"]


class Function:
    """A function that is compiled as part of the kernels that call it; ``function`` is the plain
    one. Calling it outside a kernel raises FeError."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function: types.FunctionType = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        message = f"'{self.function.__name__}' may only be called inside a kernel"
        help = "it is marked with @pypto.frontend.function; call a kernel that uses it"
        raise FeError([Diagnostic(FeError, "F00007", message, help=help)])

    def __repr__(self) -> str:
        return f"<pypto function {self.function.__qualname__}>"


def function(function: types.FunctionType) -> Function:
    """Mark a helper whose parameters have tensor annotations; they are checked at each use."""
    if not isinstance(function, types.FunctionType):
        got = f"{function!r} ({type(function).__name__})"
        help = "write it without parentheses: @pypto.frontend.function"
        if type(function).__name__ in ("JitFunction", "Function"):
            help = "leave one of the two decorators out"
        raise FeTypeError(
            [
                Diagnostic(
                    FeTypeError,
                    "F00001",
                    "pypto.frontend.function decorates a Python function",
                    None,
                    "function",
                    got,
                    help,
                )
            ]
        )
    return Function(function)
