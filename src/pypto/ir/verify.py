"""Checks of what each level promises the next: for tests, and for people who change a pass.

A violation is a defect of the compiler, never of a user's kernel, and raises
:class:`~pypto.error.PyptoGeneralError`. ``PYPTO_VERIFY=1`` makes every compilation check itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from pypto.error import Diagnostic, PyptoGeneralError, Span
from pypto.ir.expr import Apply, Expr, Variable, apply, as_int, symbols_of, variables_of
from pypto.ir.ranges import Ranges
from pypto.ir.tensor import (
    Axes,
    Buffer,
    Compute,
    Dump,
    For,
    If,
    Kernel,
    Load,
    LoadScalar,
    Print,
    Region,
    Statement,
    Store,
    Value,
    along,
    root,
    scalars_of,
)
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
        self.known: set[Value] = set()  # values and variables in sight
        self.variables: set[Variable] = set()
        self.ids: set[int] = set()
        self.numbers: set[int] = set()  # of variables
        self.written: set[Buffer] = set()
        self.ranges = Ranges()  # what loops and branches around the place say

    def run(self) -> None:
        for condition in self.kernel.preconditions:
            self._scalar(condition.condition, condition.span)
        for param in self.kernel.params:
            if param.buffer is not None:
                self._sizes(param.buffer)
        for buffer in self.kernel.locals:
            self._sizes(buffer)
        self._body(self.kernel.body)

    def _body(
        self,
        body: tuple[Statement, ...],
        results: Iterable[tuple[Expr, Span]] = (),
        locals: tuple[Buffer, ...] = (),
    ) -> None:
        """``body`` and what is in it; what it defines is seen by ``results`` but not behind it."""
        known, variables = set(self.known), set(self.variables)
        for statement in body:
            if isinstance(statement, Load):
                self._load(statement)
            elif isinstance(statement, Store):
                self._store(statement)
            elif isinstance(statement, LoadScalar):
                self._load_scalar(statement)
            elif isinstance(statement, Dump):
                self._region(statement.buffer, statement.region, None, 0, statement.span)
                self._readable(statement.buffer, statement.span)
            elif isinstance(statement, Print):
                for expr in scalars_of(statement):
                    self._scalar(expr, statement.span)
            elif isinstance(statement, Compute):
                self._compute(statement)
            elif isinstance(statement, For):
                self._for(statement)
            else:
                self._if(statement)
        for buffer in locals:
            self._sizes(buffer)
        for expr, span in results:
            self._scalar(expr, span)
        self.known, self.variables = known, variables

    def _for(self, loop: For) -> None:
        for bound in (loop.start, loop.stop, loop.step):
            self._scalar(bound, loop.span)
        if as_int(loop.step) == 0:
            _defect("a loop of step 0", loop.span)
        carried = loop.scalars
        for one in carried:
            self._scalar(one.initial, loop.span)
        outer = set(self.variables)
        self._name(loop.index, loop.span)
        for one in carried:
            self._name(one.inner, loop.span)
        for buffer in loop.locals:
            if buffer.param is not None:
                _defect(f"{buffer} is no local tensor", loop.span)
        around = self.ranges
        self.ranges = around.enter(loop.index, loop.start, loop.stop, loop.step)
        self._body(loop.body, [(c.next, loop.span) for c in carried], loop.locals)
        self.ranges = around
        self.variables = outer
        for one in carried:
            if one.next.kind != one.result.kind or one.initial.kind != one.result.kind:
                _defect(f"{one.result} changes its kind in a loop", loop.span)
            self._name(one.result, loop.span)

    def _if(self, branch: If) -> None:
        self._scalar(branch.condition, branch.span)
        if branch.condition.kind != "bool":
            _defect(f"the condition {branch.condition} is no truth value", branch.span)
        around = self.ranges
        self.ranges = around.assume(branch.condition)
        self._body(branch.then, [(m.then, branch.span) for m in branch.merges])
        self.ranges = around.assume(apply("not", branch.condition))
        self._body(branch.other, [(m.other, branch.span) for m in branch.merges])
        self.ranges = around
        for merge in branch.merges:
            if not merge.then.kind == merge.other.kind == merge.result.kind:
                _defect(f"{merge.result} has two kinds", branch.span)
            self._name(merge.result, branch.span)

    def _load(self, load: Load) -> None:
        self._region(load.buffer, load.region, load.axes, load.result.type.rank, load.span)
        self._readable(load.buffer, load.span)
        sizes = along(load.region.sizes, load.axes, load.result.type.rank)
        if load.result.type.dtype != load.buffer.type.dtype or load.result.type.sizes != sizes:
            _defect(f"{load.result} is not of its region's type", load.span)
        self._define(load.result, load.span)

    def _readable(self, buffer: Buffer, span: Span) -> None:
        if root(buffer).param is None and root(buffer) not in self.written:
            _defect(f"{buffer} is read before it is written", span)

    def _load_scalar(self, load: LoadScalar) -> None:
        if load.buffer not in self.buffers:
            _defect(f"{load.buffer} is no buffer of the kernel", load.span)
        if len(load.index) != load.buffer.type.rank:
            _defect(f"an element of {load.buffer} has another rank", load.span)
        for index in load.index:
            self._scalar(index, load.span)
        if load.limit is not None:
            self._scalar(load.limit, load.span)
        self._name(load.result, load.span)

    def _store(self, store: Store) -> None:
        """A store writes no more than the value holds; where sizes depend on loops, that is for the
        interpreter of the tests to see."""
        value = store.value.type
        axes = store.axes
        self._region(store.buffer, store.region, axes, len(axes or ()), store.span)
        self._use(store.value, store.span)
        if value.dtype != store.buffer.type.dtype:
            _defect(f"{store.value} of {value.dtype} is stored into {store.buffer}", store.span)
        rank = len(store.region.sizes if store.axes is None else store.axes)
        sizes = along(store.region.sizes, store.axes, rank)
        if store.shape is not None and len(store.shape) != rank:
            _defect(f"the shape of a part of {store.buffer} has another rank", store.span)
        wanted = sizes[len(sizes) - value.rank :]
        if value.rank > len(sizes) or not all(
            as_int(have) == 1
            or any(self.equal(have, part) for part in (want, *_cut_to(want)))
            or self.ranges.at_most(want, have)
            or (as_int(shape) == 1 and (as_int(want) == 0 or have in _factors(want)))
            or variables_of(want)
            or variables_of(have)
            for shape, have, want in zip(value.shape, value.sizes, wanted, strict=True)
        ):
            _defect(f"{store.value}: {value} does not fit a region of {store.buffer}", store.span)
        self.written.add(root(store.buffer))

    def _compute(self, use: Compute) -> None:
        for argument in use.args:
            if isinstance(argument, Value):
                self._use(argument, use.span)
        for scalar in scalars_of(use):
            self._scalar(scalar, use.span)
        if not use.result.type.shape:
            _defect(f"{use.result} has no axis", use.span)
        self._define(use.result, use.span)

    def _region(
        self, buffer: Buffer, region: Region, axes: Axes | None, rank: int, span: Span
    ) -> None:
        if buffer not in self.buffers:
            _defect(f"{buffer} is no buffer of the kernel", span)
        shape = buffer.type.shape
        if not len(region.offsets) == len(region.sizes) == len(shape):
            _defect(f"a region of {buffer} has another rank", span)
        for offset, size, have in zip(region.offsets, region.sizes, shape, strict=True):
            self._scalar(offset, span)
            self._scalar(size, span)
            start, length, end = as_int(offset), as_int(size), as_int(have)
            if (start is not None and start < 0) or (length is not None and length < 0):
                _defect(f"a region of {buffer} starts before it", span)
            if None not in (start, length, end) and start + length > end:  # type: ignore[operator]
                _defect(f"a region of {buffer} ends after it", span)
        if axes is None:
            return
        used = [a for a in axes if a is not None]
        if (
            len(axes) != rank
            or len(set(used)) != len(used)
            or not set(used) <= {*range(len(shape))}
        ):
            _defect(f"axes of a region of {buffer} do not fit", span)
        for axis, size in enumerate(region.sizes):
            if axis not in used and as_int(size) != 1:
                _defect(f"axis {axis} of a region of {buffer} is lost", span)

    def _sizes(self, buffer: Buffer) -> None:
        for size in (*buffer.type.shape, buffer.offset):
            self._scalar(size, buffer.span)

    def _use(self, value: Value, span: Span) -> None:
        if value not in self.known:
            _defect(f"{value} is used before it is defined", span)

    def _define(self, value: Value, span: Span) -> None:
        if value in self.known or value.id in self.ids:
            _defect(f"{value} is defined twice", span)
        self.known.add(value)
        self.ids.add(value.id)

    def _name(self, variable: Variable, span: Span) -> None:
        if variable.id in self.numbers:
            _defect(f"{variable} is defined twice", span)
        self.variables.add(variable)
        self.numbers.add(variable.id)

    def _scalar(self, expr: Expr, span: Span) -> None:
        """Every symbol is a size of a tensor parameter or a scalar parameter, every variable in
        sight."""
        for variable in variables_of(expr) - self.variables:
            _defect(f"{variable} is used before it is defined", span)
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


def _cut_to(size: Expr) -> tuple[Expr, ...]:
    """What ``size`` is the smallest of: a store writes the part that value and region share."""
    if not (isinstance(size, Apply) and size.op == "min"):
        return (size,)
    return tuple(part for argument in size.args for part in (argument, *_cut_to(argument)))


def _factors(size: Expr) -> tuple[Expr, ...]:
    """What ``size`` is the product of: a row is written as often as there is one."""
    if not (isinstance(size, Apply) and size.op == "mul"):
        return (size,)
    return tuple(part for argument in size.args for part in _factors(argument))


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
