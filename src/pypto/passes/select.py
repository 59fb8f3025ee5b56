"""Instruction selection: the nodes of a stage become copies and instructions in blocks.

A plan has one of three forms. ``run``: all operands are one run of elements. ``rows``: a step takes
whole rows; values are full, one per row, one row for all, or single, and mixed operands use the
strided instruction forms. ``chunks``: rows do not fit, so each row is walked in chunks, once per
level of reductions; what a later pass needs is computed again.
"""

from __future__ import annotations

from pypto.error import Diagnostic, DtypeError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Compute, Load, Store
from pypto.ir.tile import Copy, Form, Instr, Kind, Local
from pypto.ops.lowering import REDUCE
from pypto.passes.access import access_of
from pypto.passes.draft import Draft, DraftBlock, DraftPhase
from pypto.passes.space import Layout
from pypto.passes.stage import Node, Stage

__all__ = ["lanes", "select"]

COUNTED = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min",
    "adds": "Adds", "muls": "Muls", "maxs": "Maxs", "mins": "Mins",
    "shl": "ShiftLeft", "shr": "ShiftRight",
    "abs": "Abs", "exp": "Exp", "ln": "Ln", "sqrt": "Sqrt", "relu": "Relu",
}  # fmt: skip
LIBRARY = {"tanh": "Tanh", "sigmoid": "Sigmoid", "power": "Power", "powers": "Power"}
STRIDED = {"add", "sub", "mul", "div", "max", "min"}
REDUCTION = {"reduce_sum": "Sum", "reduce_max": "Max", "reduce_min": "Min"}


def lanes(dtype: DataType) -> int:
    """Elements of one repeat of a vector instruction: 256 bytes."""
    return 256 // dtype.bytes


def select(stage: Stage, layout: Layout, form: Form, sizes: Sizes) -> Draft:
    """The blocks of ``stage`` in ``form``."""
    return _Selector(stage, layout, form, sizes).run()


def _cast(dst: Local, src: Local, mode: str, span: Span) -> Instr:
    same_size = src.dtype.bytes == dst.dtype.bytes
    return Instr(
        "cast", "Cast", dst, (src,), dst.kind, span, attrs=(mode,), in_place=same_size
    )  # fmt: skip


def _no_spread(dtype: DataType, span: Span) -> DtypeError:
    return DtypeError(
        [
            Diagnostic(
                DtypeError,
                DtypeError.default_code,
                f"values of {dtype} are not broadcast along the last axis on this target",
                span,
                expected="a dtype of 1, 2 or 4 bytes",
                got=str(dtype),
                help="pass it in full: x.expand(...).contiguous()",
            )
        ]
    )


class _Selector:
    def __init__(self, stage: Stage, layout: Layout, form: Form, sizes: Sizes) -> None:
        self.stage = stage
        self.sizes = sizes
        self.layout = layout
        self.form = form
        self.draft = Draft(form, layout)
        self.places: list[dict[Node, Local]] = [{}]  # innermost last; phases push their own
        self.blocks_of: list[dict[Local, Local]] = [{}]
        self.users = stage.users()
        self.invariants: dict[Node, bool] = {}
        self.stored = {n: s.buffer.name for s, n in reversed(stage.stores)}  # first store's name
        self.homes: dict[Local, DraftBlock] = {}  # the block that loads or computes a local
        self.loaded: set[Local] = set()
        self.filled: set[Local] = set()  # single values that fill their block already

    # --- kinds ---

    def kind(self, node: Node) -> Kind:
        if node.op == "fill" and node not in self.stored:
            return Kind.ONE
        extent = self.layout.extent(node)
        if self.form == "rows":
            if extent.col:
                return Kind.FULL if extent.row else Kind.ROW
            return Kind.COL if extent.row else Kind.ONE
        return Kind.FULL if extent.col else Kind.ONE

    def invariant(self, node: Node) -> bool:
        """True when the node is the same in all steps of a core, so one computation serves."""
        if node in self.stored:
            return False  # made in each step, in the output's memory
        if node.op == "fill":
            return True
        if self.form == "chunks":
            return False
        known = self.invariants.get(node)
        if known is None:
            extent = self.layout.extent(node)
            varies = extent.row if self.form == "rows" else extent.col
            known = not (varies or any(extent.outer)) and all(
                self.invariant(o) for o in node.operands if isinstance(o, Node)
            )
            self.invariants[node] = known
        return known

    # --- driver ---

    def run(self) -> Draft:
        if self.form == "chunks":
            self._chunks()
        else:
            phase = DraftPhase()
            self.draft.phases.append(phase)
            for node in self.stage.nodes:
                block = self.draft.prologue if self.invariant(node) else phase.step
                self._node(node, block)
            for store, node in self.stage.stores:
                self._store(store, node, phase.step)
        return self.draft

    def _chunks(self) -> None:
        stored = [n for _, n in self.stage.stores if self.kind(n) is Kind.FULL]
        reduced = [n for n in self.stage.nodes if n.reduces]
        last = max([n.depth for n in stored] + [n.depth - 1 for n in reduced], default=0)
        for node in self.stage.nodes:
            if self.kind(node) is Kind.ONE and node.depth == 0:
                block = self.draft.prologue if self.invariant(node) else self.draft.head
                self._node(node, block)
        for level in range(last + 1):
            self._phase(level, reduced, stored if level == last else [])
        for store, node in self.stage.stores:
            if self.kind(node) is Kind.ONE:
                self._store(store, node, self.draft.tail)

    def _phase(self, level: int, reduced: list[Node], stored: list[Node]) -> None:
        phase = DraftPhase()
        self.draft.phases.append(phase)
        here = dict.fromkeys(n for n in reduced if n.depth == level + 1)
        needed = self._needed([o for n in here for o in n.operands if isinstance(o, Node)] + stored)
        self.places.append({})
        self.blocks_of.append({})
        for node in self.stage.nodes:
            if node in needed and self.kind(node) is Kind.FULL:
                self._node(node, phase.step)
            elif node in here:
                self._accumulate(node, phase)
        for store, node in self.stage.stores:
            if node in stored:
                self._store(store, node, phase.step)
        self.places.pop()
        self.blocks_of.pop()
        for node in self.stage.nodes:
            if self.kind(node) is Kind.ONE and node.depth == level + 1:
                if not node.reduces:
                    self._node(node, phase.finish)

    def _needed(self, roots: list[Node]) -> set[Node]:
        seen: set[Node] = set()
        work = list(roots)
        while work:
            node = work.pop()
            if node not in seen:
                seen.add(node)
                work.extend(
                    o for o in node.operands if isinstance(o, Node) and self.kind(o) is Kind.FULL
                )
        return seen

    # --- nodes ---

    def local(self, node: Node) -> Local:
        for scope in reversed(self.places):
            if node in scope:
                return scope[node]
        raise KeyError(str(node.value))

    def _new(self, node: Node, kind: Kind | None = None) -> Local:
        name = node.value.name
        if name is None and isinstance(node.statement, Load):
            name = node.statement.buffer.name
        if name is None:
            name = self.stored.get(node, "t")
        return Local(name, node.value.type.dtype, kind or self.kind(node))

    def _keep(self, node: Node, local: Local, block: DraftBlock) -> Local:
        self.places[-1][node] = local
        self.homes.setdefault(local, block)
        return local

    def _node(self, node: Node, block: DraftBlock) -> None:
        statement = node.statement
        if isinstance(statement, Load):
            local = self._keep(node, self._new(node), block)
            self.loaded.add(local)
            block.loads.append(self._copy(local, node, statement))
        elif statement.op in REDUCE:
            self._reduce(node, statement, block)
        elif statement.op == "fill":
            self._fill(node, statement, block)
        elif statement.op in ("expand", "squeeze"):
            self._expand(node, statement, block)
        elif statement.op in STRIDED:
            self._strided(node, statement, block)
        else:
            self._elementwise(node, statement, block)

    def _copy(self, local: Local, node: Node, statement: Load | Store) -> Copy:
        strides = self.layout.strides(self.stage.strides(node, statement))
        return Copy(
            local, statement.buffer, self.kind(node), access_of(statement).offset, strides,
            self._dense(strides), statement.span,
        )  # fmt: skip

    def _dense(self, strides: tuple[Expr | None, ...]) -> bool:
        """Whether each stride is the product of the sizes behind it."""
        space = self.layout.space
        expected: Expr = const(1)
        pairs = zip(strides, (*space.outer, space.rows, space.cols), strict=True)
        for stride, size in reversed(list(pairs)):
            if stride is None:
                continue
            if not self.sizes.equal(stride, expected):
                return False
            expected = apply("mul", expected, size)
        return True

    def _store(self, store: Store, node: Node, block: DraftBlock) -> None:
        local = self.local(node)
        if local in self.loaded or block is self.draft.tail:
            # What was loaded, or made before the block, moves to the output queue's memory.
            moved = Local(store.buffer.name, local.dtype, local.kind)
            block.instrs.append(
                Instr("move", "DataCopy", moved, (local,), local.kind, store.span, in_place=False)
            )
            local = moved
        block.stores.append(self._copy(local, node, store))

    def _fill(self, node: Node, use: Compute, block: DraftBlock) -> None:
        local = self._keep(node, self._new(node), block)
        users = self.users.get(node, [])
        if node not in self.stored and all(
            u.op == "expand" and self.kind(u) is not local.kind for u in users
        ):
            return  # each user is a Duplicate of its own
        (scalar,) = use.args
        assert isinstance(scalar, Expr)
        extent = local.kind
        if local.kind is Kind.ONE:
            extent = Kind.ONE_BLOCKS
            self.filled.add(local)
        block.instrs.append(Instr("fill", "Duplicate", local, (), extent, use.span, (scalar,)))

    def _expand(self, node: Node, use: Compute, block: DraftBlock) -> None:
        (source,) = (o for o in node.operands if isinstance(o, Node))
        if self.kind(source) is self.kind(node):
            self._keep(node, self.local(source), block)
            return
        local = self._keep(node, self._new(node), block)
        if isinstance(source.statement, Compute) and source.statement.op == "fill":
            scalar = source.statement.args[0]
            assert isinstance(scalar, Expr)
            block.instrs.append(
                Instr("fill", "Duplicate", local, (), local.kind, use.span, (scalar,))
            )
            return
        self._spread(self.local(source), local, block, use.span)

    def _spread(self, source: Local, dst: Local, block: DraftBlock, span: Span) -> None:
        """``dst`` = ``source`` repeated over the rows or columns that it lacks."""
        if source.kind is Kind.ROW:
            block.instrs.append(Instr("spread_row", "SpreadRow", dst, (source,), dst.kind, span))
            return
        if source.dtype.bytes == 1:
            self._spread_bytes(source, dst, block, span)
            return
        if source.dtype.bytes == 8:
            raise _no_spread(source.dtype, span)
        blocks = self._blocks(source, block, span)
        form = "spread_col" if source.kind is Kind.COL else "spread_one"
        name = "SpreadCol" if source.kind is Kind.COL else "SpreadOne"
        block.instrs.append(Instr(form, name, dst, (blocks,), dst.kind, span, in_place=False))

    def _spread_bytes(self, source: Local, dst: Local, block: DraftBlock, span: Span) -> None:
        """By way of FP16, which holds every 8-bit integer: Brcb and Copy take no single bytes."""
        half = Local(f"{source.name}_half", DataType.DT_FP16, source.kind)
        wide = Local(f"{dst.name}_half", DataType.DT_FP16, dst.kind)
        self.homes[half] = block
        block.instrs.append(_cast(half, source, "NONE", span))
        self._spread(half, wide, block, span)
        block.instrs.append(_cast(dst, wide, "RINT", span))

    def _blocks(self, local: Local, block: DraftBlock, span: Span) -> Local:
        """``local`` (one value a row, or one) with each value filling 32-byte blocks."""
        for scope in reversed(self.blocks_of):
            if local in scope:
                return scope[local]
        if local in self.filled:
            return local
        home = self.homes[local]
        kind = Kind.COL_BLOCKS if local.kind is Kind.COL else Kind.ONE_BLOCKS
        blocks = Local(f"{local.name}_blocks", local.dtype, kind)
        home.instrs.append(
            Instr("brcb", "Brcb", blocks, (local,), local.kind, span, in_place=False)
        )
        # Made outside the phase's own loop, the blocks serve later phases, too.
        self.blocks_of[-1 if home is block else 0][local] = blocks
        return blocks

    def _strided(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """A binary operation whose operands may lack rows or columns."""
        a, b = (self.local(o) for o in node.operands if isinstance(o, Node))
        dst = self._keep(node, self._new(node), block)
        name = COUNTED[use.op]
        if a.kind is dst.kind and b.kind is dst.kind:
            block.instrs.append(Instr("count", name, dst, (a, b), dst.kind, use.span))
            return
        if {a.kind, b.kind} == {Kind.COL, Kind.ROW} or dst.kind not in (a.kind, b.kind):
            wide = Local(a.name, a.dtype, dst.kind)
            self._spread(a, wide, block, use.span)
            a = wide
            if b.kind is dst.kind:
                block.instrs.append(Instr("count", name, dst, (a, b), dst.kind, use.span))
                return
        left = a.kind is dst.kind
        full, other = (a, b) if left else (b, a)
        form, suffix = "with_row", "Row"
        if other.kind is not Kind.ROW:
            form, suffix = ("with_col", "Col") if other.kind is Kind.COL else ("with_one", "One")
            other = self._blocks(other, block, use.span)
        helper = f"{name}{suffix}" if left or use.op in _COMMUTES else f"{suffix}{name}"
        order = "left" if left or use.op in _COMMUTES else "right"
        block.instrs.append(
            Instr(form, helper, dst, (full, other), dst.kind, use.span, attrs=(name, order))
        )

    def _elementwise(self, node: Node, use: Compute, block: DraftBlock) -> None:
        sources = [self.local(o) for o in node.operands if isinstance(o, Node)]
        scalars = tuple(a for a in use.args if isinstance(a, Expr))
        dst = self._keep(node, self._new(node), block)
        for position, source in enumerate(sources):
            if source.kind is not dst.kind:
                wide = Local(source.name, source.dtype, dst.kind)
                self._spread(source, wide, block, use.span)
                sources[position] = wide
        srcs = tuple(sources)
        if use.op in LIBRARY:
            scratch = Local("tmp", DataType.DT_UINT8, Kind.BYTES)
            block.instrs.append(
                Instr(
                    "library", LIBRARY[use.op], dst, srcs, dst.kind, use.span, scalars,
                    scratch=(scratch,), in_place=False,
                )
            )  # fmt: skip
        elif use.op == "cast":
            block.instrs.append(_cast(dst, srcs[0], str(use.attr("mode")), use.span))
        elif use.op == "low_half":
            block.instrs.append(
                Instr("low_half", "LowHalf", dst, srcs, dst.kind, use.span, in_place=False)
            )
        elif use.op == "flip_sign":
            block.instrs.append(
                Instr(
                    "flip_sign", "FlipSign", dst, srcs, dst.kind, use.span, scalars, in_place=False
                )
            )
        else:
            block.instrs.append(
                Instr("count", COUNTED[use.op], dst, srcs, dst.kind, use.span, scalars)
            )

    # --- reductions ---

    def _fold(self, dtype: DataType) -> Local:
        return Local("fold", dtype, Kind.FOLD if dtype.is_float else Kind.FOLD_TWICE)

    def _reduce(self, node: Node, use: Compute, block: DraftBlock) -> None:
        (operand,) = (o for o in node.operands if isinstance(o, Node))
        source = self.local(operand)
        dst = self._keep(node, self._new(node), block)
        cols = as_int(self.layout.space.cols)
        direct = source.dtype.is_float and cols is not None and cols <= lanes(source.dtype)
        stem = REDUCTION[use.op]
        form = "direct"
        scratch: tuple[Local, ...] = ()
        if not direct:
            form, scratch = "fold", (self._fold(source.dtype),)
            if _loses(stem, source.dtype) and (cols is None or cols > SUMMED):
                form, scratch = "groups", (*scratch, Local("part", source.dtype, Kind.ONE_BLOCKS))
        block.instrs.append(
            Instr(
                "reduce", f"{stem}Rows", dst, (source,), source.kind, use.span,
                attrs=(stem, form), scratch=scratch, in_place=False,
            )
        )  # fmt: skip

    def _accumulate(self, node: Node, phase: DraftPhase) -> None:
        """A reduction in chunks: neutral lanes, then each chunk, then the lanes to one value.
        Beside a sum's lanes stand those of what its roundings have lost."""
        use = node.statement
        assert isinstance(use, Compute)
        (operand,) = (o for o in node.operands if isinstance(o, Node))
        source = self.local(operand)
        stem = REDUCTION[use.op]
        loses = _loses(stem, source.dtype)
        fold = Local("fold", source.dtype, Kind.FOLD_TWICE) if loses else self._fold(source.dtype)
        extent = Kind.FOLD_TWICE if loses else Kind.FOLD
        attrs = (stem, "two_sum") if loses else (stem,)
        phase.start.instrs.append(
            Instr("neutral", "Duplicate", fold, (), extent, use.span, attrs=(stem,))
        )
        phase.step.instrs.append(
            Instr(
                "accumulate", f"Fold{stem}", fold, (source, fold), Kind.FULL, use.span,
                attrs=attrs, scratch=_parts(source.dtype) if loses else (),
            )
        )  # fmt: skip
        dst = self._new(node)
        self.places[0][node] = dst
        self.homes[dst] = phase.finish
        phase.finish.instrs.append(
            Instr(
                "finish", f"Finish{stem}", dst, (fold,), Kind.ONE, use.span, attrs=attrs,
                scratch=_parts(source.dtype) if loses else (), in_place=False,
            )
        )  # fmt: skip


SUMMED = 64 * 64  # elements of a row that are summed lane by lane: 64 roundings
_COMMUTES = {"add", "mul", "max", "min"}


def _loses(stem: str, dtype: DataType) -> bool:
    """Whether a reduction rounds, so that long ones need care."""
    return stem == "Sum" and dtype.is_float


def _parts(dtype: DataType) -> tuple[Local, ...]:
    return (Local("part", dtype, Kind.FOLD_TWICE),)
