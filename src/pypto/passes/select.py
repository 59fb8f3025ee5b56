"""Instruction selection: the nodes of a stage become copies and instructions in blocks.

A plan has one of three forms. ``run``: all operands are one run of elements. ``rows``: a step takes
whole rows; values are full, one per row, one row for all, or single, and mixed operands use the
strided instruction forms. ``chunks``: rows do not fit, so each row is walked in chunks, once per
level of reductions; what a later pass needs is computed again. ``columns``: rows are reduced to
one; a strip of columns is walked row by row, once per level of reductions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.error import Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, apply, as_int, const
from pypto.ir.sizes import Sizes
from pypto.ir.tensor import Buffer, Compute, Load, Store, root
from pypto.ir.tile import Copy, Form, Instr, Kind, Local, Slot
from pypto.ops.lowering import BITWISE, IOTA, MASKS, PAIR, REDUCE, SCAN, SELECTS, axis_of
from pypto.passes.access import access_of
from pypto.passes.draft import Draft, DraftBlock, DraftPhase
from pypto.passes.space import Layout
from pypto.passes.stage import Node, Stage

__all__ = ["SUMMED_ROWS", "lanes", "select"]

COUNTED = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min",
    "adds": "Adds", "muls": "Muls", "maxs": "Maxs", "mins": "Mins",
    "shl": "ShiftLeft", "shr": "ShiftRight",
    "abs": "Abs", "exp": "Exp", "ln": "Ln", "sqrt": "Sqrt", "relu": "Relu",
}  # fmt: skip
LIBRARY = {"tanh": "Tanh", "sigmoid": "Sigmoid", "power": "Power", "powers": "Power"}
STRIDED = {"add", "sub", "mul", "div", "max", "min"}
LOGIC = {
    "mask_and": "And", "mask_or": "Or", "mask_not": "Not",
    "bit_and": "And", "bit_or": "Or", "bit_not": "Not",
}  # fmt: skip
REDUCTION = {
    "reduce_sum": "Sum", "reduce_prod": "Prod", "reduce_max": "Max", "reduce_min": "Min",
}  # fmt: skip


SCANS = {"scan_sum": "Sum", "scan_prod": "Prod"}


def lanes(dtype: DataType) -> int:
    """Elements of one repeat of a vector instruction: 256 bytes."""
    return 256 // dtype.bytes


def select(
    stage: Stage, layout: Layout, form: Form, sizes: Sizes, kept: Mapping[Buffer, Slot]
) -> Draft:
    """The blocks of ``stage`` in ``form``. ``kept``: memory that is on chip, and where."""
    return _Selector(stage, layout, form, sizes, kept).run()


def _cast(dst: Local, src: Local, mode: str, span: Span) -> Instr:
    same_size = src.dtype.bytes == dst.dtype.bytes
    return Instr(
        "cast", "Cast", dst, (src,), dst.kind, span, attrs=(mode,), in_place=same_size
    )  # fmt: skip


def _turn(dst: Local, src: Local, span: Span) -> Instr:
    """``dst`` = ``src`` transposed. Elements of 8 bytes are gathered in halves."""
    scratch: tuple[Local, ...] = ()
    if src.dtype.bytes == 8:
        scratch = (Local("offsets", DataType.DT_INT32, Kind.FULL),)
    return Instr("turn", "Turn", dst, (src,), Kind.FULL, span, scratch=scratch, in_place=False)


def _filling(dst: Local, extent: Kind, scalar: Expr, span: Span) -> Instr:
    """``dst`` full of ``scalar``. Duplicate takes 2 and 4 bytes: single bytes are written in pairs,
    8 bytes in halves."""
    form, name = "fill", "Duplicate"
    scalars: tuple[Expr, ...] = (scalar,)
    if dst.dtype.bytes == 1:
        form, scalars = "fill_bytes", (apply("mul", apply("mod", scalar, 256), 257),)
    elif dst.dtype.bytes == 8:
        form, name = "fill_halves", "FillHalves"
        scalars = (scalar, apply("floordiv", scalar, 1 << 32))
    return Instr(form, name, dst, (), extent, span, scalars)


class _Selector:
    def __init__(
        self, stage: Stage, layout: Layout, form: Form, sizes: Sizes, kept: Mapping[Buffer, Slot]
    ) -> None:
        self.stage = stage
        self.kept = kept
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
        if self.form == "tiles":
            return Kind.FULL
        if self.form in ("rows", "columns"):
            if extent.col:
                return Kind.FULL if extent.row else Kind.ROW
            return Kind.COL if extent.row else Kind.ONE
        return Kind.FULL if extent.col else Kind.ONE

    def walked(self, node: Node) -> bool:
        """Whether the node varies along what a tile is walked by: columns of a row, or rows."""
        if self.form == "columns":
            return self.kind(node) in (Kind.FULL, Kind.COL)
        return self.kind(node) is Kind.FULL

    def invariant(self, node: Node) -> bool:
        """True when the node is the same in all steps of a core, so one computation serves."""
        if node in self.stored:
            return False  # made in each step, in the output's memory
        if node.op == "fill":
            return True
        if self.form in ("chunks", "columns"):
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
        if self.form in ("chunks", "columns"):
            self._passes()
        else:
            phase = DraftPhase()
            self.draft.phases.append(phase)
            for node in self.stage.nodes:
                block = self.draft.prologue if self.invariant(node) else phase.step
                self._node(node, block)
            self._stores(self.stage.stores, phase.step)
        return self.draft

    def _passes(self) -> None:
        stored = [n for _, n in self.stage.stores if self.walked(n)]
        reduced = [n for n in self.stage.nodes if n.reduces]
        last = max([n.depth for n in stored] + [n.depth - 1 for n in reduced], default=0)
        for node in self.stage.nodes:
            if not self.walked(node) and node.depth == 0:
                block = self.draft.prologue if self.invariant(node) else self.draft.head
                self._node(node, block)
        for level in range(last + 1):
            self._phase(level, reduced, stored if level == last else [])
        behind = [(store, node) for store, node in self.stage.stores if not self.walked(node)]
        self._stores(behind, self.draft.tail)

    def _phase(self, level: int, reduced: list[Node], stored: list[Node]) -> None:
        phase = DraftPhase()
        self.draft.phases.append(phase)
        here = dict.fromkeys(n for n in reduced if n.depth == level + 1)
        needed = self._needed([o for n in here for o in n.operands if isinstance(o, Node)] + stored)
        self.places.append({})
        self.blocks_of.append({})
        for node in self.stage.nodes:
            if node in needed and self.walked(node):
                self._node(node, phase.step)
            elif node in here:
                self._accumulate(node, phase)
        for store, node in self.stage.stores:
            if node in stored:
                self._store(store, node, phase.step)
        self.places.pop()
        self.blocks_of.pop()
        for node in self.stage.nodes:
            ready = node.depth == level + 1 and not node.reduces
            if ready and not self.walked(node):
                self._node(node, phase.finish)

    def _needed(self, roots: list[Node]) -> set[Node]:
        seen: set[Node] = set()
        work = list(roots)
        while work:
            node = work.pop()
            if node not in seen:
                seen.add(node)
                work.extend(o for o in node.operands if isinstance(o, Node) and self.walked(o))
        return seen

    # --- nodes ---

    def local(self, node: Node) -> Local:
        for scope in reversed(self.places):
            if node in scope:
                return scope[node]
        raise KeyError(str(node.value))

    def _new(self, node: Node) -> Local:
        name = node.value.name
        if name is None and isinstance(node.statement, Load):
            name = node.statement.buffer.name
        if name is None:
            name = self.stored.get(node, "t")
        dtype, kind = node.value.type.dtype, self.kind(node)
        if node.op in MASKS:
            return Local(name, DataType.DT_UINT16, kind.bits)
        return Local(name, DataType.DT_UINT8 if dtype == DataType.DT_BOOL else dtype, kind)

    def _keep(self, node: Node, local: Local, block: DraftBlock) -> Local:
        self.places[-1][node] = local
        self.homes.setdefault(local, block)
        return local

    def _node(self, node: Node, block: DraftBlock) -> None:
        statement = node.statement
        if isinstance(statement, Load) and self._across(node, statement):
            self._turned_load(node, statement, block)
        elif isinstance(statement, Load):
            local = self._keep(node, self._new(node), block)
            self.loaded.add(local)
            local.slot = self.kept.get(root(statement.buffer))
            copies = block.loads if local.slot is None else block.kept
            copies.append(self._copy(local, node, statement))
        elif statement.op in REDUCE:
            self._reduce(node, statement, block)
        elif statement.op == "fill":
            self._fill(node, statement, block)
        elif statement.op in IOTA:
            self._iota(node, block)
        elif statement.op in SCAN:
            self._scan(node, statement, block)
        elif statement.op in ("expand", "squeeze", "unsqueeze"):
            self._expand(node, statement, block)
        elif statement.op in STRIDED:
            self._strided(node, statement, block)
        elif statement.op == "view":
            self._view(node, statement, block)
        else:
            self._elementwise(node, statement, block)

    def _copy(self, local: Local, node: Node, statement: Load | Store) -> Copy:
        strides = self.layout.strides(self.stage.strides(node, statement))
        kind = local.kind if local.kind is Kind.TURNED else self.kind(node)
        dense = self.form != "tiles" and self._dense(strides)
        return Copy(
            local, statement.buffer, kind, access_of(statement).offset, strides, dense,
            statement.span,
        )  # fmt: skip

    def _across(self, node: Node, statement: Load | Store) -> bool:
        """Whether an access goes through memory along the rows of the space: what lies side by side
        is a column. Kept memory is not walked so: the plan says so in the end."""
        if self.form != "tiles" or root(statement.buffer) in self.kept:
            return False
        stride = self.layout.strides(self.stage.strides(node, statement))[-1]
        return stride is not None and as_int(stride) != 1

    def _turned_load(self, node: Node, load: Load, block: DraftBlock) -> None:
        local = self._keep(node, self._new(node), block)
        across = Local(f"{local.name}_across", local.dtype, Kind.TURNED)
        self.homes[across] = block
        block.loads.append(self._copy(across, node, load))
        block.instrs.append(_turn(local, across, load.span))

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

    def _stores(self, stores: Sequence[tuple[Store, Node]], block: DraftBlock) -> None:
        """All ``stores`` of a block. What was in kept memory before one of them overwrites it, and
        is stored by a later one, is copied first: two accumulators may change places."""
        overwritten: set[Slot] = set()
        for store, node in stores:
            local, slot = self.local(node), self.kept.get(root(store.buffer))
            if local.base in self.loaded and local.base.slot in overwritten:
                moved = Local(local.name, local.dtype, local.kind)
                block.instrs.append(
                    Instr(
                        "move", "DataCopy", moved, (local,), local.kind, store.span, in_place=False
                    )
                )
                self._keep(node, moved, block)
            if slot is not None:
                overwritten.add(slot)
        for store, node in stores:
            self._store(store, node, block)

    def _store(self, store: Store, node: Node, block: DraftBlock) -> None:
        local = self.local(node)
        slot = self.kept.get(root(store.buffer))
        if slot is not None:
            if local.base.slot is slot and local.base in self.loaded:
                return  # it is there
            if not self._made_in(local, slot, store, node, block):
                moved = Local(store.buffer.name, local.dtype, local.kind, slot)
                block.instrs.append(
                    Instr("keep", "Keep", moved, (local,), local.kind, store.span, in_place=False)
                )
                local = moved
            block.kept.append(self._copy(local, node, store))
            return
        if self._across(node, store):
            across = Local(store.buffer.name, local.dtype, Kind.TURNED)
            block.instrs.append(_turn(across, local, store.span))
            block.stores.append(self._copy(across, node, store))
            return
        shown = local.of is not None and self.homes[local.base] is not block
        held = local.base in self.loaded or local.base.slot is not None
        if held or shown or block is self.draft.tail:
            # What was loaded, kept, or made before the block, moves to the output queue's memory.
            moved = Local(store.buffer.name, local.dtype, local.kind)
            block.instrs.append(
                Instr("move", "DataCopy", moved, (local,), local.kind, store.span, in_place=False)
            )
            local = moved
        block.stores.append(self._copy(local, node, store))

    def _made_in(
        self, local: Local, slot: Slot, store: Store, node: Node, block: DraftBlock
    ) -> bool:
        """Give ``local`` the kept memory of ``slot`` if it can be made there: it is stored nowhere
        else, and nothing needs what is there when it is made."""
        stored = local.slot is not None or any(copy.local.base is local for copy in block.stores)
        if (
            stored
            or local.of is not None
            or sum(other is node for _, other in self.stage.stores) > 1
        ):
            return False
        makers = [n for n, instr in enumerate(block.instrs) if instr.dst is local]
        if len(makers) != 1:
            return False
        maker, later = block.instrs[makers[0]], block.instrs[makers[0] + 1 :]
        if any(x.base.slot is slot for instr in later for x in (*instr.reads, *instr.writes)):
            return False
        held = [x for x in maker.reads if x.base.slot is slot]
        if any(not maker.in_place or x.kind is not local.kind for x in held):
            return False
        local.slot, local.name = slot, store.buffer.name
        return True

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
        block.instrs.append(_filling(local, extent, scalar, use.span))

    def _iota(self, node: Node, block: DraftBlock) -> None:
        """The index along the only axis that the node has: from where the step begins."""
        local = self._keep(node, self._new(node), block)
        kind, span = local.kind, node.statement.span
        if kind is Kind.ONE:
            names = [*(f"axis{n}" for n in range(len(self.layout.space.outer))), "row"]
            groups = zip(names, self.layout.groups[:-1], strict=False)
            start = next((name for name, group in groups if group[0] in node.axes), "0")
            self.filled.add(local)
            block.instrs.append(
                Instr("iota", "Duplicate", local, (), Kind.ONE_BLOCKS, span, attrs=(start,))
            )
            return
        walked = {
            ("run", Kind.FULL): "begin", ("chunks", Kind.FULL): "col", ("rows", Kind.COL): "row",
            ("columns", Kind.COL): "row", ("columns", Kind.ROW): "col",
        }  # fmt: skip
        start = walked.get((self.form, kind), "0")
        block.instrs.append(Instr("iota", "CreateVecIndex", local, (), kind, span, attrs=(start,)))

    def _expand(self, node: Node, use: Compute, block: DraftBlock) -> None:
        (source,) = (o for o in node.operands if isinstance(o, Node))
        if self.kind(source) is self.kind(node):
            self._keep(node, self.local(source), block)
            return
        local = self._keep(node, self._new(node), block)
        if isinstance(source.statement, Compute) and source.statement.op == "fill":
            scalar = source.statement.args[0]
            assert isinstance(scalar, Expr)
            block.instrs.append(_filling(local, local.kind, scalar, use.span))
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
            offsets = Local("offsets", DataType.DT_INT64, dst.kind)
            block.instrs.append(
                Instr(
                    "spread_halves", "SpreadHalves", dst, (source,), dst.kind, span,
                    attrs=(source.kind.value,), scratch=(offsets,), in_place=False,
                )
            )  # fmt: skip
            return
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

    def _view(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """Another local with the memory of the operand: no instruction."""
        (source,) = self._operands(node, self.kind(node), block, use.span)
        local = self._new(node)
        local.of = source
        self._keep(node, local, block)

    def _operands(self, node: Node, kind: Kind, block: DraftBlock, span: Span) -> list[Local]:
        """The operands of an elementwise operation, repeated to the extent of its result."""
        found: list[Local] = []
        for operand in node.operands:
            if not isinstance(operand, Node):
                continue
            source = self.local(operand)
            if source.kind.elements is not kind:
                source = self._repeated(operand, source, kind, block, span)
            found.append(source)
        return found

    def _repeated(
        self, node: Node, source: Local, kind: Kind, block: DraftBlock, span: Span
    ) -> Local:
        if source.kind.elements is not source.kind:
            return self._repeated_mask(source, kind, block, span)
        wide = Local(source.name, source.dtype, kind)
        if isinstance(node.statement, Compute) and node.op == "fill":
            (scalar,) = node.statement.args
            assert isinstance(scalar, Expr)
            block.instrs.append(_filling(wide, kind, scalar, span))
        else:
            self._spread(source, wide, block, span)
        return wide

    def _repeated_mask(self, mask: Local, kind: Kind, block: DraftBlock, span: Span) -> Local:
        """By way of FP16: bits are not repeated by any instruction."""
        half = DataType.DT_FP16
        one = Local(f"{mask.name}_one", half, mask.kind.elements)
        number = Local(f"{mask.name}_half", half, mask.kind.elements)
        wide = Local(f"{mask.name}_half", half, kind)
        bits = Local(mask.name, mask.dtype, kind.bits)
        zero = const(0.0)
        self.homes[number] = block
        block.instrs.append(_filling(one, one.kind, const(1.0), span))
        block.instrs.append(
            Instr("selects", "Select", number, (mask, one), one.kind, span, (zero,))
        )
        self._spread(number, wide, block, span)
        block.instrs.append(
            Instr("compares", "Compares", bits, (wide,), kind, span, (zero,), ("NE",))
        )
        return bits

    def _elementwise(self, node: Node, use: Compute, block: DraftBlock) -> None:
        kind, span = self.kind(node), use.span
        srcs = tuple(self._operands(node, kind, block, span))
        scalars = tuple(a for a in use.args if isinstance(a, Expr))
        dst = self._keep(node, self._new(node), block)
        if use.op in LIBRARY:
            scratch = Local("tmp", DataType.DT_UINT8, Kind.BYTES)
            made = Instr(
                "library", LIBRARY[use.op], dst, srcs, kind, span, scalars, scratch=(scratch,),
                in_place=False,
            )  # fmt: skip
        elif use.op == "cast":
            made = _cast(dst, srcs[0], str(use.attr("mode")), span)
        elif use.op in ("low_half", "flip_sign"):
            name = "LowHalf" if use.op == "low_half" else "FlipSign"
            made = Instr(use.op, name, dst, srcs, kind, span, scalars, in_place=False)
        elif use.op in ("compare", "compares"):
            name = "Compare" if use.op == "compare" else "Compares"
            attrs = (str(use.attr("mode")),)
            made = Instr(use.op, name, dst, srcs, kind, span, scalars, attrs)
        elif use.op in PAIR:
            words = Local("words", DataType.DT_UINT8, Kind.BYTES)
            made = Instr("pair", "Pair", dst, srcs, kind, span, scratch=(words,), in_place=False)
        elif use.op == "gcd":
            steps = (str(use.attr("steps")),)
            work = tuple(
                Local(name, dtype, kind)
                for name, dtype in (("y", _I32), ("q", _I32), ("d", DataType.DT_FP32))
            )
            made = Instr("gcd", "Gcd", dst, srcs, kind, span, (), steps, work, in_place=False)
        elif use.op in SELECTS:
            made = Instr(use.op, "Select", dst, srcs, kind, span, scalars)
        elif use.op in LOGIC:
            form = "bits" if use.op in BITWISE else "mask"
            made = Instr(form, LOGIC[use.op], dst, srcs, kind, span)
        else:
            made = Instr("count", COUNTED[use.op], dst, srcs, kind, span, scalars)
        block.instrs.append(made)

    # --- reductions ---

    def _fold(self, stem: str, source: Local) -> Local:
        """A repeat for each row; twice as much where lanes are then paired up."""
        across = crosses_lanes(stem, source.dtype)
        return Local("fold", source.dtype, Kind.FOLD if across else Kind.FOLD_TWICE)

    def _reduce(self, node: Node, use: Compute, block: DraftBlock) -> None:
        source = self._reduced(node)
        dst = self._keep(node, self._new(node), block)
        cols = as_int(self.layout.space.cols)
        stem = REDUCTION[use.op]
        across = crosses_lanes(stem, source.dtype)
        direct = across and cols is not None and cols <= lanes(source.dtype)
        form = "direct"
        scratch: tuple[Local, ...] = ()
        if not direct:
            form, scratch = "fold" if across else "pairs", (self._fold(stem, source),)
            if _loses(stem, source.dtype) and (cols is None or cols > SUMMED):
                form, scratch = "groups", (*scratch, Local("part", source.dtype, Kind.ONE_BLOCKS))
        block.instrs.append(
            Instr(
                "reduce", f"{stem}Rows", dst, (source,), source.kind, use.span,
                attrs=(stem, form), scratch=scratch, in_place=False,
            )
        )  # fmt: skip

    def _accumulate(self, node: Node, phase: DraftPhase) -> None:
        """A reduction in passes: neutral lanes, then each step, then what these come to.
        Beside the lanes of a sum stand those of what its roundings have lost."""
        if self.form == "columns":
            self._accumulate_rows(node, phase)
            return
        use = node.statement
        assert isinstance(use, Compute)
        source = self._reduced(node)
        stem = REDUCTION[use.op]
        loses = _loses(stem, source.dtype)
        fold = Local("fold", source.dtype, Kind.FOLD_TWICE) if loses else self._fold(stem, source)
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
        if not crosses_lanes(stem, source.dtype):
            attrs = (stem, "pairs")
        phase.finish.instrs.append(
            Instr(
                "finish", f"Finish{stem}", dst, (fold,), Kind.ONE, use.span, attrs=attrs,
                scratch=_parts(source.dtype) if loses else (), in_place=False,
            )
        )  # fmt: skip

    def _accumulate_rows(self, node: Node, phase: DraftPhase) -> None:
        """A reduction of rows to one: they are added to what is there, each where it stands."""
        use = node.statement
        assert isinstance(use, Compute)
        source = self._reduced(node)
        stem = REDUCTION[use.op]
        dst = self._new(node)
        self.places[0][node] = dst
        self.homes[dst] = phase.finish
        rows = as_int(self.layout.space.rows)
        if _loses(stem, source.dtype) and (rows is None or rows > SUMMED_ROWS):
            self._sum_apart(source, dst, phase, use.span)
            return
        phase.start.instrs.append(_neutral(dst, stem, use.span))
        phase.step.instrs.append(_rows_into(dst, source, stem, use.span))

    def _sum_apart(self, source: Local, dst: Local, phase: DraftPhase, span: Span) -> None:
        """The rows of each step are summed apart; ``lost`` is what adding them up has rounded off:
        with next = dst + part it is part - (next - dst)."""
        lost, part, next, total = (
            Local(name, source.dtype, Kind.ROW) for name in ("lost", "part", "next", "total")
        )
        numbers = Local("numbers", DataType.DT_UINT16, Kind.ROW_BITS)

        def row(name: str, to: Local, *of: Local, scalars: tuple[Expr, ...] = ()) -> Instr:
            return Instr("count", name, to, of, Kind.ROW, span, scalars)

        phase.start.instrs += [_neutral(dst, "Sum", span), _neutral(lost, "Sum", span)]
        phase.step.instrs += [
            _neutral(part, "Sum", span),
            _rows_into(part, source, "Sum", span),
            row("Add", next, dst, part),
            row("Sub", dst, next, dst),
            row("Sub", part, part, dst),
            row("Add", lost, lost, part),
            row("Adds", dst, next, scalars=(const(0.0),)),
        ]
        phase.finish.instrs += [
            row("Add", total, dst, lost),
            # What is not finite lost NaN: there the sum itself is the result.
            Instr("compare", "Compare", numbers, (total, total), Kind.ROW, span, attrs=("EQ",)),
            Instr("select", "Select", dst, (numbers, total, dst), Kind.ROW, span),
        ]

    # --- running totals ---

    def _scan(self, node: Node, use: Compute, block: DraftBlock) -> None:
        """Totals of all elements up to each. From step to step goes what the last one came to."""
        source = self._reduced(node)
        if node.axes[axis_of(use)] is None:
            self._keep(node, source, block)
            return
        dst = self._keep(node, self._new(node), block)
        stem = SCANS[use.op]
        if self.form == "columns":
            self._scan_rows(source, dst, stem, use.span, block)
            return
        state = Local("state", source.dtype, Kind.ONE_TOTALS)
        work = Local("piece", source.dtype, Kind.PIECES)
        if self.form == "chunks":
            self._start(block).instrs.append(
                Instr("neutral", "Duplicate", state, (), Kind.ONE_TOTALS, use.span, attrs=(stem,))
            )
        part = "chunk" if self.form == "chunks" else "row"
        block.instrs.append(
            Instr(
                "scan", f"{stem}Along{part.title()}", dst, (source,), dst.kind, use.span,
                attrs=(stem, part), scratch=(state, work), in_place=False,
            )
        )  # fmt: skip

    def _start(self, step: DraftBlock) -> DraftBlock:
        """What runs before the steps that ``step`` is the block of."""
        return next(phase.start for phase in self.draft.phases if phase.step is step)

    def _scan_rows(
        self, source: Local, dst: Local, stem: str, span: Span, block: DraftBlock
    ) -> None:
        """Down the rows of a strip. The rows of a step are summed apart, as in :meth:`_sum_apart`,
        and what stands before them is added to them all."""

        def local(name: str) -> Local:
            return Local(name, source.dtype, Kind.ROW)

        def row(name: str, to: Local, *of: Local, scalars: tuple[Expr, ...] = ()) -> Instr:
            return Instr("count", name, to, of, Kind.ROW, span, scalars)

        def last(to: Local) -> Instr:
            return Instr("last_row", "DataCopy", to, (dst,), Kind.FULL, span, in_place=False)

        start, total = self._start(block).instrs, local("total")
        start.append(_neutral(total, stem, span))
        if not _loses(stem, source.dtype):
            block.instrs += [
                Instr(
                    "scan_down", f"{stem}Down", dst, (source, total), Kind.FULL, span, attrs=(stem,)
                ),
                last(total),
            ]  # fmt: skip
            return
        zero, lost, before, part, next = map(local, ("zero", "lost", "before", "part", "next"))
        numbers = Local("numbers", DataType.DT_UINT16, Kind.ROW_BITS)
        start += [_neutral(x, stem, span) for x in (zero, lost, before)]
        block.instrs += [
            Instr("scan_down", f"{stem}Down", dst, (source, zero), Kind.FULL, span, attrs=(stem,)),
            last(part),
            Instr("with_row", "AddRow", dst, (dst, before), Kind.FULL, span, attrs=("Add", "left")),
            row("Add", next, total, part),
            row("Sub", total, next, total),
            row("Sub", part, part, total),
            row("Add", lost, lost, part),
            row("Adds", total, next, scalars=(const(0.0),)),
            row("Add", before, total, lost),
            # What is not finite lost NaN: there the sum itself stands before what follows.
            Instr("compare", "Compare", numbers, (before, before), Kind.ROW, span, attrs=("EQ",)),
            Instr("select", "Select", before, (numbers, before, total), Kind.ROW, span),
        ]

    def _reduced(self, node: Node) -> Local:
        (operand,) = (o for o in node.operands if isinstance(o, Node))
        return self.local(operand)


_I32 = DataType.DT_INT32
SUMMED = 64 * 64  # elements of a row that are summed lane by lane: 64 roundings
SUMMED_ROWS = 32  # rows that are summed one after another: 32 roundings
_COMMUTES = {"add", "mul", "max", "min"}


def _neutral(dst: Local, stem: str, span: Span) -> Instr:
    return Instr("neutral", "Duplicate", dst, (), Kind.ROW, span, attrs=(stem,))


def _rows_into(dst: Local, source: Local, stem: str, span: Span) -> Instr:
    """Each row of a step to ``dst``, a row."""
    name = f"{stem}Into"
    return Instr("accumulate_rows", name, dst, (source, dst), Kind.FULL, span, attrs=(stem,))


def crosses_lanes(stem: str, dtype: DataType) -> bool:
    """Whether an instruction reduces the lanes of a repeat to one value."""
    return stem != "Prod" and dtype.is_float


def _loses(stem: str, dtype: DataType) -> bool:
    """Whether a reduction rounds, so that long ones need care."""
    return stem == "Sum" and dtype.is_float


def _parts(dtype: DataType) -> tuple[Local, ...]:
    return (Local("part", dtype, Kind.FOLD_TWICE),)
