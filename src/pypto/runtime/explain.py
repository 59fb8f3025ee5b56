"""Why a compiled kernel refused a call: the condition that does not hold, and its place.

The binary answers with a number. What it stands for is read from the Tensor IR of this occurrence
of the kernel, which is made again for it: a cache entry is shared and knows no places.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pypto.build.record import Entry
from pypto.error import Diagnostic, PyptoError, RtValueError, Span
from pypto.ir.evaluation import evaluate, launch_parts
from pypto.ir.expr import Apply, Expr, Symbol
from pypto.ir.signature import CallSignature
from pypto.ir.tensor import scalars_of, walk
from pypto.runtime.tensor_checks import describe, is_tensor

if TYPE_CHECKING:
    from pypto._options import Options
    from pypto.elaborate import KernelSource
    from pypto.ir.tensor import Kernel

__all__ = ["Explanation"]

_OVERFLOW, _DIVISION, _UNLAWFUL, _PRECONDITION = 1, 2, 3, 16  # PyptoKernel.run's results


class Explanation:
    """What the refusals of one binary stand for.

    ``signature`` and ``options`` are those the kernel was compiled for.
    """

    def __init__(
        self, source: KernelSource, signature: CallSignature, options: Options, entry: Entry
    ) -> None:
        self._source = source
        self._signature = signature
        self._entry = entry
        self._conditions = entry.data["conditions"]
        self._kernel = _elaborated(source, signature, options)
        # The passes may have added conditions of their own behind those of the kernel.
        if self._kernel is not None and len(self._kernel.preconditions) > len(self._conditions):
            self._kernel = None

    def error(self, code: int, args: tuple[object, ...]) -> PyptoError:
        """The error that the answer ``code`` to a call with ``args`` stands for."""
        if code == _UNLAWFUL:
            from pypto.runtime.findings import unlawful

            file = self._entry.data["source"]
            with open(self._entry.path(file), encoding="utf-8") as text:
                name = self._source.function.__name__
                return unlawful(name, self._entry, text.read(), file, self._kernel)
        if code == _OVERFLOW:
            return self._without_value(OverflowError, args)
        if code == _DIVISION:
            return self._without_value(ZeroDivisionError, args)
        number = code - _PRECONDITION
        condition = self._conditions[number]
        if self._kernel is not None and number < len(self._kernel.preconditions):
            held = self._kernel.preconditions[number]
            wanted = str(held.condition)
            expected = wanted if wanted not in condition["text"] else None
            return self._error(condition["text"], args, held.span, expected)
        where = f"needed at {condition['where']} (function+line)"
        return self._error(condition["text"], args, None, notes=(where,))

    def _without_value(self, kind: type[ArithmeticError], args: tuple[object, ...]) -> RtValueError:
        """The error for the first expression in the kernel that has no value for ``args``."""
        overflow = kind is OverflowError
        what = "does not fit into 64 bits" if overflow else "divides by zero"
        expected = "-2**63 ... 2**63 - 1" if overflow else "a divisor other than 0"
        kernel = self._kernel
        for expr, span in _expressions(kernel) if kernel is not None else ():
            part = _without_value(expr, functools.partial(_value_of, args), kind)
            if part is not None:
                return self._error(f"{part} {what}", args, span, expected)
        message = f"a size or scalar expression of the kernel {what} for these arguments"
        return self._error(message, args, None if kernel is None else kernel.span, expected)

    def _error(
        self,
        message: str,
        args: tuple[object, ...],
        span: Span | None,
        expected: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> RtValueError:
        text = f"{self._source.function.__name__}: {message}"
        code = RtValueError.default_code
        got = self._given(args)
        return RtValueError(
            [Diagnostic(RtValueError, code, text, span, expected=expected, got=got, notes=notes)]
        )

    def _given(self, args: tuple[object, ...]) -> str:
        """The shapes and scalars of the call."""
        return ", ".join(
            f"{name} {_shown(value)}"
            for name, value in zip(self._signature.names, args, strict=True)
        )


def _elaborated(source: KernelSource, signature: CallSignature, options: Options) -> Kernel | None:
    """The kernel's Tensor IR; None when a text that it needs has changed since."""
    from pypto.elaborate import elaborate

    try:
        return elaborate(source, signature, options).kernel
    except PyptoError:
        return None


def _expressions(kernel: Kernel) -> Iterator[tuple[Expr, Span]]:
    """What the launch code computes from the arguments, with the place that asks for it."""
    for condition in kernel.preconditions:
        yield condition.condition, condition.span
    for buffer in kernel.buffers:
        yield from ((size, buffer.span) for size in buffer.type.shape)
    for statement in walk(kernel.body):
        for expr in scalars_of(statement):
            yield from ((part, statement.span) for part in launch_parts(expr))


def _without_value(
    expr: Expr, value_of: Callable[[Symbol], int | float], kind: type[ArithmeticError]
) -> Expr | None:
    """The innermost part of ``expr`` whose evaluation raises ``kind``; None when there is none."""
    try:
        evaluate(expr, value_of)
    except kind:
        pass
    except ArithmeticError:
        return None
    else:
        return None
    if isinstance(expr, Apply) and expr.op not in ("select", "and", "or"):  # these skip parts
        for argument in expr.args:
            part = _without_value(argument, value_of, kind)
            if part is not None:
                return part
    return expr


def _value_of(args: tuple[Any, ...], symbol: Symbol) -> int | float:
    given = args[symbol.param]
    if symbol.axis is not None:
        return int((tuple(given.shape) or (1,))[symbol.axis])  # a 0-d tensor has shape [1] here
    return float(given) if symbol.kind == "float" else int(given)


def _shown(value: object) -> str:
    if is_tensor(value):
        return str(list(value.shape))
    return repr(value) if isinstance(value, bool | int | float) else describe(value)
