"""Checks of what each level promises the next: for tests, and for people who change a pass.

A violation is a defect of the compiler, never of a user's kernel, and raises
:class:`~pypto.error.PyptoGeneralError`. ``PYPTO_VERIFY=1`` makes every compilation check itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from pypto.error import Diagnostic, PyptoGeneralError, Span
from pypto.ir.expr import Apply, Expr, as_int, symbols_of
from pypto.ir.tensor import Buffer, Compute, Kernel, Load, Region, Store, TensorType, Value
from pypto.ir.tile_verify import verify_tile

__all__ = ["verify_tensor", "verify_tile"]


def verify_tensor(kernel: Kernel) -> None:
    """Check Tensor IR: values defined before use and typed, regions inside buffers, locals written
    before they are read, symbols that a call knows."""
    _TensorCheck(kernel).run()


class _TensorCheck:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.equal = _Equalities(p.condition for p in kernel.preconditions)
        self.buffers = set(kernel.buffers)
        self.known: set[Value] = set()
        self.ids: set[int] = set()
        self.written: set[Buffer] = set()

    def run(self) -> None:
        for condition in self.kernel.preconditions:
            self._scalar(condition.condition, condition.span)
        for buffer in self.kernel.buffers:
            for size in buffer.type.shape:
                self._scalar(size, buffer.span)
        for statement in self.kernel.body:
            if isinstance(statement, Load):
                self._load(statement)
            elif isinstance(statement, Store):
                self._store(statement)
            else:
                self._compute(statement)

    def _load(self, load: Load) -> None:
        self._region(load.buffer, load.region, load.span)
        if load.buffer.param is None and load.buffer not in self.written:
            _defect(f"{load.buffer} is read before it is written", load.span)
        if load.result.type != TensorType(load.buffer.type.dtype, load.region.sizes):
            _defect(f"{load.result} is not of its region's type", load.span)
        self._define(load.result, load.span)

    def _store(self, store: Store) -> None:
        self._region(store.buffer, store.region, store.span)
        self._use(store.value, store.span)
        value = store.value.type
        if value.dtype != store.buffer.type.dtype:
            _defect(f"{store.value} of {value.dtype} is stored into {store.buffer}", store.span)
        wanted = store.region.sizes[len(store.region.sizes) - value.rank :]
        if value.rank > len(store.region.sizes) or not all(
            as_int(have) == 1 or self.equal(have, want)
            for have, want in zip(value.shape, wanted, strict=True)
        ):
            _defect(f"{store.value}: {value} does not fit a region of {store.buffer}", store.span)
        if store.region.covers(store.buffer):
            self.written.add(store.buffer)

    def _compute(self, use: Compute) -> None:
        for argument in use.args:
            if isinstance(argument, Value):
                self._use(argument, use.span)
            else:
                self._scalar(argument, use.span)
        if not use.result.type.shape:
            _defect(f"{use.result} has no axis", use.span)
        for size in use.result.type.shape:
            self._scalar(size, use.span)
        self._define(use.result, use.span)

    def _region(self, buffer: Buffer, region: Region, span: Span) -> None:
        if buffer not in self.buffers:
            _defect(f"{buffer} is no buffer of the kernel", span)
        shape = buffer.type.shape
        if not len(region.offsets) == len(region.sizes) == len(shape):
            _defect(f"a region of {buffer} has another rank", span)
        for offset, size, have in zip(region.offsets, region.sizes, shape, strict=True):
            start, length, end = as_int(offset), as_int(size), as_int(have)
            if (start is not None and start < 0) or (length is not None and length < 0):
                _defect(f"a region of {buffer} starts before it", span)
            if None not in (start, length, end) and start + length > end:  # type: ignore[operator]
                _defect(f"a region of {buffer} ends after it", span)

    def _use(self, value: Value, span: Span) -> None:
        if value not in self.known:
            _defect(f"{value} is used before it is defined", span)

    def _define(self, value: Value, span: Span) -> None:
        if value in self.known or value.id in self.ids:
            _defect(f"{value} is defined twice", span)
        self.known.add(value)
        self.ids.add(value.id)

    def _scalar(self, expr: Expr, span: Span) -> None:
        """Every symbol is a size of a tensor parameter or a scalar parameter."""
        for symbol in symbols_of(expr):
            if not 0 <= symbol.param < len(self.kernel.params):
                _defect(f"{symbol} belongs to no parameter", span)
            param = self.kernel.params[symbol.param]
            if symbol.axis is None:
                fits = param.kind == symbol.type
            else:
                fits = param.buffer is not None and symbol.axis < param.buffer.type.rank
            if not fits:
                _defect(f"{symbol} is nothing that a call knows", span)


class _Equalities:
    """Classes of sizes that the preconditions make equal."""

    def __init__(self, conditions: Iterable[Expr]) -> None:
        self._parent: dict[Expr, Expr] = {}
        for condition in conditions:
            if isinstance(condition, Apply) and condition.op == "eq":
                self._parent[self._root(condition.args[0])] = self._root(condition.args[1])

    def _root(self, expr: Expr) -> Expr:
        while expr in self._parent and self._parent[expr] != expr:
            expr = self._parent[expr]
        return expr

    def __call__(self, a: Expr, b: Expr) -> bool:
        return self._root(a) == self._root(b)


def _defect(message: str, span: Span) -> NoReturn:
    code = PyptoGeneralError.default_code
    raise PyptoGeneralError([Diagnostic(PyptoGeneralError, code, f"Tensor IR: {message}", span)])
