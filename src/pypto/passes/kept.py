"""Local tensors that stay in on-chip memory: accumulators of a loop, what its stages hand on.

A loop that the cores share runs each of its iterations on one core. What an iteration has for
itself need not go through global memory then: stages use it where it lies, as long as every access
walks it in one way, element after element. Which tensors that may be is found before waits are
placed; whether the plans of the stages can use them is known only when these are made:
:class:`NotKept` says that one cannot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pypto.ir.expr import as_int
from pypto.ir.tensor import Buffer, Load, Store, root
from pypto.ir.tile import Area, Copy, Kind, Plan, Slot
from pypto.passes.access import access_of
from pypto.passes.draft import Draft
from pypto.passes.memory import Keeping, round_up
from pypto.passes.schedule import Branch, Item, Loop, Part, Read, Shown

__all__ = ["NotKept", "check_kept", "keep", "row_granule"]

BLOCK = 32  # bytes
SHARE = 2  # kept tensors take at most this part of on-chip memory: the steps need the rest
REPEAT = 256  # bytes
WIDTHS = (2, 4)  # bytes of dtypes that instructions move within on-chip memory to the element


class NotKept(Exception):
    """The plans of the stages cannot use ``memories`` where they lie on chip."""

    def __init__(self, memories: Iterable[Buffer]) -> None:
        self.memories = frozenset(memories)
        super().__init__(", ".join(m.name for m in self.memories))


@dataclass(slots=True)
class _Use:
    """How the stages of a loop use a tensor."""

    depth: int = 0  # of the innermost loop with an access
    able: bool = True


def keep(loop: Loop, private: Collection[Buffer], budget: int) -> Keeping:
    """What ``loop``, which the cores share, keeps on chip of the ``private`` memory of a core."""
    uses: dict[Buffer, _Use] = {}
    _collect(loop.body, 0, uses)
    able = [m for m, use in uses.items() if m in private and use.able and _bytes(m)]
    able.sort(key=lambda m: (-uses[m].depth, _bytes(m)))
    slots: dict[Buffer, Slot] = {}
    end = 0
    for memory in able:
        size = _bytes(memory)
        if end + size <= budget // SHARE:
            slots[memory] = Slot(Area.KEPT, Kind.FULL, memory.type.dtype, 0, end, size)
            end += size
    return Keeping(slots, end)


def _collect(items: list[Item], depth: int, uses: dict[Buffer, _Use]) -> None:
    for item in items:
        if isinstance(item, Part):
            for _, access in item.stage.accesses():
                use = uses.setdefault(root(access.buffer), _Use())
                use.depth = max(use.depth, depth)
                use.able = use.able and _from_start(access)
        elif isinstance(item, Read | Shown):
            # The scalar unit reads elements from global memory.
            uses.setdefault(item.touch.memory, _Use()).able = False
        elif isinstance(item, Loop):
            _collect(item.body, depth + 1, uses)
        elif isinstance(item, Branch):
            _collect(item.then, depth, uses)
            _collect(item.other, depth, uses)


def _from_start(access: Load | Store) -> bool:
    same = access.buffer.type.dtype == root(access.buffer).type.dtype
    return same and as_int(access_of(access).offset) == 0


def _bytes(memory: Buffer) -> int:
    """Bytes that ``memory`` takes on chip; 0 when that is not known, or it cannot be there."""
    sizes = [as_int(size) for size in memory.type.shape]
    if None in sizes or memory.type.dtype.bytes not in WIDTHS:
        return 0
    size = math.prod(s or 0 for s in sizes) * memory.type.dtype.bytes
    # Compare reads whole repeats, from any block on.
    return size and round_up(size, BLOCK) + REPEAT - BLOCK


# --- whether a plan can use what is kept ---


def check_kept(plan: Plan) -> None:
    """NotKept if ``plan`` does not walk kept memory element after element, block by block."""
    copies = [copy for block in plan.blocks() for copy in block.kept]
    bad = [root(copy.buffer) for copy in copies if not _fits(plan, copy)]
    if bad:
        raise NotKept(bad)


def row_granule(draft: Draft) -> int:
    """What the rows of a step must be a multiple of: values one a row start at a 32-byte block."""
    copies = (copy for block in draft.blocks() for copy in block.kept)
    widths = (c.local.dtype.bytes for c in copies if c.kind is Kind.COL and c.has_row)
    return BLOCK // min(widths, default=BLOCK)


def _fits(plan: Plan, copy: Copy) -> bool:
    if plan.form in ("chunks", "columns", "tiles"):
        return False
    *outer, row, col = copy.strides
    width = copy.local.dtype.bytes
    if any(s is not None and not _aligned(as_int(s), width) for s in outer):
        return False
    if col is not None and as_int(col) != 1:
        return False
    if plan.form == "run" or copy.kind is Kind.ONE:
        return True
    if copy.kind is Kind.COL:
        return row is None or (as_int(row) == 1 and plan.rows_max >= plan.row_granule)
    return copy.kind is Kind.ROW or _exact(plan, copy)


def _exact(plan: Plan, copy: Copy) -> bool:
    """Whether a step's rows lie one behind another as the plan has them, nothing between them."""
    cols = as_int(plan.space.cols)
    row = copy.strides[-2]
    return cols is not None and plan.pitch == cols and (row is None or as_int(row) == cols)


def _aligned(stride: int | None, width: int) -> bool:
    return stride is not None and stride * width % BLOCK == 0
