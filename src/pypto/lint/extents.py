"""How far instructions reach: the fields of parameter structs, and the bytes of operands."""

from __future__ import annotations

from collections.abc import Iterator

from pypto._record import Record
from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.match import Match, size_of
from pypto.lint.nodes import Expr
from pypto.lint.scope import canonical
from pypto.lint.types import TENSORS

__all__ = [
    "Reach",
    "arguments_of",
    "bytes_of",
    "constants_of",
    "hazards",
    "reach_of",
    "struct_of",
]

_ELEMENTWISE = ("vector-", "cast", "move", "fill", "adv-math", "adv-activation")
_REPEATED = ("vector-", "cast", "move-ub", "fill", "compare", "select", "reduce")
_BITS = ("compare", "reduce")
"""Groups whose destinations do not hold an element for each one of the sources."""


class Reach(Record):
    """An operand of repeats: bytes from the first to behind the last of one repeat, and the bytes
    from the start of one repeat to that of the next. ``whole``: whether all of a repeat lies close
    together."""

    repeats: int
    one: int
    step: int
    whole: bool

    @property
    def bytes(self) -> int:
        return (self.repeats - 1) * self.step + self.one if self.repeats > 0 else 0


def struct_of(walk: Context, role: str) -> str:
    """The parameter struct that stands at ``role`` of a form; empty where there is none."""
    name = role.partition("<")[0].partition("{")[0].partition("(")[0]
    return name if name in walk.target.param_structs else ""


def constants_of(walk: Context, struct: str, value: Expr) -> dict[str, int] | None:
    """The constant fields of a parameter struct; None where nothing is known of them."""
    args = arguments_of(walk, struct, value)
    if args is None:
        return None
    found = {}
    for number, (field, facts) in enumerate(walk.target.param_structs[struct].items()):
        known = walk.fold(args[number]) if number < len(args) else facts.get("default")
        if isinstance(known, int):
            found[field] = known
    return found


def arguments_of(walk: Context, struct: str, value: Expr) -> list[Expr] | None:
    """What a parameter struct is made of; None where that is not known."""
    if isinstance(value, nodes.Brace):
        return value.args if value.type is None or canonical(value.type.name) == struct else None
    if isinstance(value, nodes.Call) and isinstance(value.callee, nodes.Name):
        return value.args if canonical(value.callee.name) == struct else None
    if not isinstance(value, nodes.Name):
        return None
    made = walk.find(value.name)
    if made is None or made.changes or made.dims or made.kind != "local" or made.type is None:
        return None
    if canonical(made.type.name) != struct or made.type.pointers or made.type.reference:
        return None
    return [] if made.init is None else arguments_of(walk, struct, made.init)


# --- bytes of operands ---


def bytes_of(walk: Context, matched: Match, found: nodes.Call, role: str, size: int) -> int:
    """Bytes from the start of an operand to behind its last; 0 where that is not known."""
    group = matched.form.row.group
    if "count" in matched.roles:
        if not group.startswith(_ELEMENTWISE):
            return 0
        count = walk.fold(found.args[matched.roles.index("count")])
        return count * size if isinstance(count, int) else 0
    reach = reach_of(walk, matched, found, role, size)
    return 0 if reach is None else reach.bytes


def reach_of(
    walk: Context, matched: Match, found: nodes.Call, role: str, size: int
) -> Reach | None:
    """How repeats go through an operand; None where constants do not tell it."""
    group = matched.form.row.group
    if "repeat" not in matched.roles or not size or not group.startswith(_REPEATED):
        return None
    if (role == "dst" and group in _BITS) or _counts(walk, found):
        return None
    repeats = walk.fold(found.args[matched.roles.index("repeat")])
    strides = _strides(walk, matched, found, role)
    if not isinstance(repeats, int) or strides is None:
        return None
    block, step = strides
    unit = walk.target.limits["block_bytes"]
    lanes = _lanes(walk, matched, found)
    if matched.name == "Brcb":
        if role == "src":
            return Reach(repeats, 8 * size, 8 * size, True)
        lanes = walk.target.limits["repeat_bytes"] // size
    used = lanes * size if lanes else size  # one lane at least
    blocks = -(-used // unit)
    one = (blocks - 1) * block * unit + used - (blocks - 1) * unit
    return Reach(repeats, max(one, 0), step * unit, lanes > 0 and block == 1)


def _counts(walk: Context, found: nodes.Call) -> bool:
    """Whether the mask may be a count of elements: it is set apart from the call."""
    args = found.callee.args if isinstance(found.callee, nodes.Name) else None
    apart = any(isinstance(one, nodes.Literal) and one.text == "false" for one in args or ())
    return apart or "SetMaskCount" in walk.words or "COUNTER" in walk.words


def _lanes(walk: Context, matched: Match, found: nodes.Call) -> int:
    """Lanes up to the last that a mask switches on; 0 where that is not known."""
    sizes = [size_of(kind) for kind in matched.kinds if kind is not None and kind.name in TENSORS]
    if "mask" not in matched.roles or not all(sizes):
        return 0
    known = walk.fold(found.args[matched.roles.index("mask")])
    most = walk.target.limits["repeat_bytes"] // max(sizes)
    return min(known, most) if isinstance(known, int) and known > 0 else 0


def _strides(walk: Context, matched: Match, found: nodes.Call, role: str) -> tuple[int, int] | None:
    """Blocks from one block to the next, and from one repeat to the next."""
    constants = dict(_given(walk, matched, found))
    for block, step in _names(role):
        if step in constants:
            return constants.get(block, 1), constants[step]
    return None


def _given(walk: Context, matched: Match, found: nodes.Call) -> Iterator[tuple[str, int]]:
    for role, value in zip(matched.roles, found.args, strict=True):
        struct = struct_of(walk, role)
        if struct:
            yield from (constants_of(walk, struct, value) or {}).items()
        elif role.endswith("Stride"):
            known = walk.fold(value)
            if isinstance(known, int):
                yield role, known


def _names(role: str) -> tuple[tuple[str, str], ...]:
    """Fields of the strides of an operand, in the structs that there are."""
    return (
        (f"{role}BlkStride", f"{role}RepStride"),
        (f"{role}Stride", f"{role}RepeatSize"),
    )


def hazards(written: Reach, read: Reach, apart: int) -> bool:
    """Whether a repeat reads what an earlier one wrote. ``apart``: where reading begins, less
    where writing does."""
    if not (written.whole and read.whole):
        return False
    return any(
        earlier * written.step < apart + later * read.step + read.one
        and apart + later * read.step < earlier * written.step + written.one
        for later in range(1, read.repeats)
        for earlier in range(later)
    )
