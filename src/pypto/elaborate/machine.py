"""The evaluator's state: one context for a kernel, one frame for each function being read.

What an expression or statement means is in tables that the context carries, keyed by node type, so
that each chapter of the language stands in a module of its own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import libcst as cst

from pypto._options import Options
from pypto.elaborate import captures
from pypto.elaborate import values as v
from pypto.elaborate.advice import value_request
from pypto.elaborate.builder import Builder
from pypto.elaborate.captures import CapturedRead, Path, Unreadable
from pypto.elaborate.diagnostics import Collector, NeedValue, OverLimit, Poisoned, refuse
from pypto.elaborate.digests import Undigestible, digest
from pypto.elaborate.heap import Held, Kin
from pypto.elaborate.names import normal
from pypto.elaborate.parse import ParsedFunction
from pypto.elaborate.values import Item, Known, Scalar
from pypto.error import FeNotImplementedError, FeTypeError, Span
from pypto.ir.expr import Symbol, symbols_of, variables_of
from pypto.ir.tensor import Buffer, Value
from pypto.language.symbolic import SymbolicScalar

__all__ = [
    "REGION",
    "Argument",
    "Call",
    "Context",
    "Evaluate",
    "Execute",
    "Frame",
    "Rebinding",
    "Replaced",
    "Target",
    "identifier",
]


MAX_STEPS = 100_000
"""Iterations of unrolled loops and calls of functions in one kernel."""

REGION = 20
"""Steps of an unrolled loop that take as long as a loop or branch of the running kernel."""

_NOTES = 3  # calls that are shown at each end of a long chain


@dataclass(slots=True, eq=False)
class Rebinding:
    """A parameter name that a kernel's own statement gave a new value."""

    name: str
    span: Span
    read_before: bool
    role: str  # what the name was given to: "value", "loop variable", "function"
    used_after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """``target += ...`` gave ``target`` a new tensor: whoever uses the old one by another name
    might as well mean the new one, as in torch."""

    target: str
    sign: str
    span: Span
    notes: tuple[str, ...]  # the calls that led there


@dataclass(slots=True, eq=False)
class Context:
    """Everything that the functions of one kernel share while they are elaborated."""

    values: Mapping[str, object]  # Python values of scalar parameters, where known
    expressions: Mapping[type, Evaluate]
    statements: Mapping[type, Execute]
    caller: Call
    builder: Builder = field(default_factory=Builder)
    collector: Collector = field(default_factory=Collector)
    reads: dict[Path, CapturedRead] = field(default_factory=dict)
    parsed: dict[types.FunctionType, ParsedFunction] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    rebindings: list[Rebinding] = field(default_factory=list)
    memories: dict[Value, Item] = field(default_factory=dict)  # see `memory_of`
    replaced: dict[Value, Replaced] = field(default_factory=dict)
    axes: dict[str, Symbol] = field(default_factory=dict)  # named dynamic axes
    steps: int = 0  # iterations of unrolled loops, calls of functions, run-time regions
    active: dict[object, list[Path]] = field(default_factory=dict)  # calls: function -> origins
    held: list[Held] = field(default_factory=list)  # the run-time regions being read
    kin: Kin = field(default_factory=Kin)
    nonlocals: dict[types.FunctionType, frozenset[str]] = field(default_factory=dict)
    targets: dict[object, tuple[Target, ...]] = field(default_factory=dict)  # what nodes assign
    regions: list[Frame] = field(default_factory=list)  # whose run-time regions are being read
    endless: set[object] = field(default_factory=set)  # functions that call themselves too deeply
    loops: int = 0  # run-time loops so far
    decided: Mapping[tuple[object, ...], str] = field(default_factory=dict)  # see `carrying`
    printed: list[str] = field(default_factory=list)  # what print(...) wrote
    unrolling: int = 0  # loops around what is evaluated now
    over_limit: bool = False  # a limit has been reported
    skipped: Span | None = None  # the first statement that was left out because of an error

    @contextmanager
    def unrolled(self) -> Iterator[None]:
        """The iterations of an unrolled loop."""
        self.unrolling += 1
        try:
            yield
        finally:
            self.unrolling -= 1

    def written(self, value: Value) -> tuple[object, ...] | None:
        """The decision that results of the operation of ``value`` are written into; None: it is
        no result of one."""
        place = self.builder.results.get(value)
        return None if place is None else ("written", place)

    def memory_of(self, value: Value, span: Span) -> Item:
        """``value``, which has just been made, or the local tensor that it is written to where
        parts of it are written later."""
        known = self.memories.get(value)
        if known is not None:
            return known
        decision = self.written(value)
        if decision not in self.decided or self.builder.made[value] is not self.builder.block:
            return value
        part = self.builder.kept(value, span)
        entire = part.type.sizes == part.buffer.type.shape
        self.memories[value] = part.buffer if entire else part
        return self.memories[value]

    def label(self, function: types.FunctionType) -> str:
        """A name for ``function`` that no other function of this kernel has."""
        taken = {p.text.label for p in self.parsed.values()}
        name, number = function.__name__, 1
        while name in taken:
            number += 1
            name = f"{function.__name__}#{number}"
        return name


@dataclass(slots=True, eq=False)
class Frame:
    """One function being evaluated. ``origin``: the path that leads to it; () for the kernel."""

    context: Context
    parsed: ParsedFunction
    locals: dict[str, Item]
    origin: Path = ()
    caller: Frame | None = None
    call_span: Span | None = None
    place: Span | None = None  # the kernel's own statement being executed
    hint: tuple[cst.CSTNode, str] | None = None  # an expression and the name it will get
    tensor_parameters: Mapping[str, Buffer] = field(default_factory=dict)  # of the kernel itself
    enclosing: Frame | None = None  # the frame whose names a nested scope reads
    own: frozenset[str] = frozenset()  # the names that a nested scope sets
    function: cst.FunctionDef | cst.Lambda | None = None  # the nested function; None in others
    comprehension: bool = False  # a scope of its own in the function of ``enclosing``
    lent: dict[str, Frame] = field(default_factory=dict)  # names that a call has: see `closures`
    bound: dict[str, Span] = field(default_factory=dict)  # where names got their values
    failed: bool = False  # a statement of it was left out because of an error
    lost_return: bool = False  # one that holds a return statement was

    @property
    def identity(self) -> object:
        """What function this is a call of; calls of one function have one identity."""
        return self.function or self.parsed.function

    @property
    def name(self) -> str:
        """What messages call the function."""
        if self.function is None:
            return self.parsed.text.label
        named = isinstance(self.function, cst.FunctionDef)
        return identifier(self.function.name) if named else "<lambda>"  # type: ignore[union-attr]

    def inside(self, own: frozenset[str]) -> Frame:
        """A comprehension of this function: a scope of its own, but no call."""
        return Frame(
            self.context, self.parsed, {}, origin=self.origin, caller=self.caller,
            call_span=self.call_span, place=self.place, enclosing=self, own=own,
            function=self.function, comprehension=True,
        )  # fmt: skip

    # --- places ---

    def span(self, node: cst.CSTNode) -> Span:
        return self.parsed.span(node)

    def name_for(self, node: cst.CSTNode) -> str | None:
        """The name that the value of ``node`` is about to get."""
        return self.hint[1] if self.hint is not None and self.hint[0] is node else None

    def call_notes(self) -> tuple[str, ...]:
        """``in helper, called at file:line:col`` for this frame and its callers."""
        notes = []
        frame: Frame | None = self
        while frame is not None and frame.call_span is not None:
            notes.append(f"in '{frame.name}', called at {frame.call_span.location}")
            frame = frame.caller
        left = len(notes) - 2 * _NOTES
        if left > 1:
            notes[_NOTES:-_NOTES] = [f"{left} more calls between"]
        return tuple(notes)

    # --- names ---

    def scope_of(self, name: str) -> Frame:
        """The scope that has ``name`` now: the innermost one that sets it, or the outermost."""
        scope = self
        while scope.enclosing is not None and name not in scope.own:
            scope = scope.enclosing
        while name in scope.lent:
            scope = scope.lent[name]
        return scope

    def lookup(self, name: str, span: Span) -> Item:
        """The value of the local ``name``, which has one; ``span`` is where it is read."""
        item = self.locals[name]
        if isinstance(item, v.Deferred):
            item = item.settle(span)
            self.locals[name] = item
        return item

    # --- evaluation ---

    def evaluate(self, node: cst.CSTNode) -> Item:
        """The value of ``node``. Raises a PyptoError for a new error, Poisoned for an old one."""
        handler = self.context.expressions.get(type(node))
        if handler is None:
            raise Poisoned  # refused syntax, reported before anything was evaluated
        item = handler(self, node)
        if isinstance(item, v.Deferred):
            item = item.settle(self.span(node))
        if item is v.POISON:
            raise Poisoned
        if isinstance(item, Value) and self.context.decided:
            return self.context.memory_of(item, self.span(node))
        if isinstance(item, Known) and type(item.value) is SymbolicScalar:
            return self._size(item, node)
        return item

    def call(
        self, callee: Item, positional: list[Argument], keyword: dict[str, Argument], span: Span
    ) -> Item:
        """The value of ``callee(...)``, whatever kind of function that is."""
        return self.context.caller(self, callee, positional, keyword, span)

    def _size(self, item: Known, node: cst.CSTNode) -> Item:
        """A symbolic scalar that names a dynamic axis is that axis' size."""
        named = self.use(item, self.span(node))
        symbol = self.context.axes.get(named.name) if named.name is not None else None
        return item if symbol is None else Scalar(symbol)

    def known(self, node: cst.CSTNode, purpose: str) -> Any:
        """The Python value of ``node``, needed at compile time for ``purpose``."""
        return self.python(self.evaluate(node), self.span(node), purpose)

    def python(self, item: Item, span: Span, purpose: str) -> Any:
        """``item`` as a Python object.

        Raises NeedValue when values of scalar parameters would give it, a PyptoError otherwise.
        """
        if isinstance(item, v.Deferred):
            item = item.settle(span)
        if isinstance(item, Known):
            return self.use(item, span)
        if isinstance(item, Scalar):
            self.need(item, span, purpose)
        if isinstance(item, v.Text):
            for part in item.parts:
                if not isinstance(part, str):
                    self.need(Scalar(part), span, purpose)
            return "".join(map(str, item.parts))
        if isinstance(item, v.Sequence):
            parts = [self.python(part, span, purpose) for part in item.items]
            return parts if item.mutable else tuple(parts)
        if isinstance(item, v.Mapping):
            return {key: self.python(part, span, purpose) for key, part in item.items.items()}
        if isinstance(item, v.Set):
            return set(item.items)
        if isinstance(item, v.View):
            if item.name == "keys":
                return dict.fromkeys(item.owner.items).keys()
            return getattr(self.python(item.owner, span, purpose), item.name)()
        if isinstance(item, v.Cursor):
            return (self.python(part, span, purpose) for part in item.source)
        if isinstance(item, v.Poison):
            raise Poisoned
        refuse(
            FeTypeError,
            f"{purpose} needs a value that is known at compile time",
            span,
            expected="a Python value",
            got=v.describe(item),
            help="the elements of a tensor are known only when the kernel runs"
            if isinstance(item, v.Tensor)
            else None,
        )

    def need(self, item: Scalar, span: Span, purpose: str) -> NoReturn:
        """Ask for the scalar parameters that ``item`` depends on; refuse what no value gives."""
        variables = sorted(variables_of(item.expr), key=lambda variable: variable.id)
        if variables:
            what, place = self.context.builder.origins[variables[0]]
            refuse(
                FeTypeError,
                f"{purpose} needs a value that is known at compile time",
                span,
                expected="a Python value",
                got=f"{v.text_of(item, span)}, which only the running kernel knows",
                notes=(f"'{variables[0]}' is {what} at {place.location}",),
                help="loops over range(...) and lists have indices that are known",
            )
        symbols = symbols_of(item.expr)
        sizes = sorted(s.name for s in symbols if s.axis is not None)
        if sizes:
            refuse(
                FeNotImplementedError,
                f"{purpose} needs a value that is known at compile time",
                span,
                expected="a Python value",
                got=f"{item.expr}, which depends on the dynamic size {sizes[0]}",
                help="annotate that axis with a number or pypto.STATIC" + _on_device(purpose),
            )
        names = frozenset(s.name for s in symbols)
        unknown = sorted(names - self.context.values.keys())
        if unknown:
            several = len(unknown) > 1
            named = " and ".join(f"'{name}'" for name in unknown)
            refuse(
                FeTypeError,
                f"{purpose} needs the value{'s' * several} of {named} at compile time",
                span,
                help=f"name {'them' if several else 'it'}: {value_request(unknown)}, or give "
                f"{'them defaults' if several else 'it a default'}" + _on_device(purpose),
            )
        raise NeedValue(names)

    def count(self, span: Span, steps: int = 1) -> None:
        """One more step of an unrolled loop, or call; refused when there are too many."""
        self.context.steps += steps
        if self.context.steps > MAX_STEPS:
            raise OverLimit(
                f"unrolled loops and calls take more than {MAX_STEPS} steps",
                span,
                "use fewer steps: every step becomes statements of the kernel",
            )

    # --- captured values ---

    def use(self, item: Known, span: Span) -> Any:
        """The object of ``item``, which the result now depends on: its read is recorded."""
        path = item.origin
        if path and path not in self.context.reads:
            try:
                self.context.reads[path] = CapturedRead(path, digest(item.value))
            except Undigestible as error:
                refuse(
                    FeTypeError,
                    f"a kernel cannot use the captured value '{captures.path_text(path)}'",
                    span,
                    expected="a number, string, dtype, enum, dataclass, or a container of these",
                    got=f"{error.kind}: {error.reason}",
                    help="pass it as a parameter",
                )
        return item.value

    def step(self, item: Known, step: captures.Step, span: Span) -> Known:
        """The attribute or element of ``item`` that ``step`` names, read lazily.

        Raises Unreadable.
        """
        found = captures.step_value(item.value, step)
        origin = (*item.origin, step) if item.origin is not None else None
        return Known(found, origin)

    def outer(self, name: str) -> Known | None:
        """The closure cell, global or built-in ``name``; None when there is none."""
        kind = "cell" if name in self.parsed.function.__code__.co_freevars else "global"
        try:
            found = captures.step_value(self.parsed.function, (kind, name))
        except Unreadable:
            return None
        return Known(found, (*self.origin, (kind, name)))


def _on_device(purpose: str) -> str:
    """How the running kernel repeats what compiling cannot."""
    if "range" in purpose:
        return "; for i in pypto.loop(...) loops on the device"
    if "while" in purpose:
        return "; for i in pypto.loop(...), left by break, loops on the device"
    return ""


Argument = tuple[Item, Span]
Call = Callable[[Frame, Item, list[Argument], dict[str, Argument], Span], Item]
Evaluate = Callable[[Frame, Any], Item]
Execute = Callable[[Frame, Any], None]
Target = tuple[str, cst.CSTNode]  # a name that a statement assigns, and where it stands in it


def identifier(node: cst.Name) -> str:
    """The name as Python sees it: identifiers are compared in their NFKC form."""
    return normal(node.value)
