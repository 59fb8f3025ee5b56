"""Which form of an instruction a call is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypto.lint import nodes
from pypto.lint.interface import Form
from pypto.lint.nodes import Type
from pypto.lint.scope import SIZES
from pypto.lint.types import TENSORS, element_of

if TYPE_CHECKING:
    from pypto.lint.context import Context

__all__ = ["Match", "match", "roles_of", "size_of"]


@dataclass(slots=True, eq=False)
class Match:
    """A call of an instruction. ``forms``: those of as many arguments, and of such ones first.

    ``kinds``: the types of the arguments; ``roles``: what they are in the first form.
    """

    name: str
    forms: list[Form]
    kinds: list[Type | None]

    @property
    def form(self) -> Form:
        return self.forms[0]

    @property
    def roles(self) -> tuple[str, ...]:
        return roles_of(self.form, len(self.kinds))


def match(walk: Context, found: nodes.Call) -> Match | None:
    """The forms that a call is of, perhaps none; None for what is no instruction."""
    if found in walk.matches:
        return walk.matches[found]
    walk.matches[found] = made = _match(walk, found)
    return made


def _match(walk: Context, found: nodes.Call) -> Match | None:
    callee = found.callee
    if not isinstance(callee, nodes.Name):
        return None
    name = callee.name.removeprefix("AscendC::")
    forms = walk.interface.forms.get(name)
    if forms is None or walk.find(name) is not None:
        return None
    count = len(found.args)
    fitting = [form for form in forms if form.fewest <= count <= len(form.roles)]
    kinds = [walk.type(one) for one in found.args]
    if len(fitting) > 1:
        fitting = [form for form in fitting if _shaped(walk, form, kinds)] or fitting
    return Match(name, fitting, kinds)


def roles_of(form: Form, count: int) -> tuple[str, ...]:
    """The roles of ``count`` arguments: which optional ones are missing."""
    roles = form.roles
    for optional in ("count", "tmp"):
        if len(roles) > count and form.row.group.startswith("adv") and optional in roles:
            roles = tuple(role for role in roles if role != optional)
    return roles[:count]


def _shaped(walk: Context, form: Form, kinds: list[Type | None]) -> bool:
    """Whether structs and tensors stand where this form has them."""
    spaces = {one.role: one.space for one in form.row.operands}
    structs = walk.target.param_structs
    for role, kind in zip(roles_of(form, len(kinds)), kinds, strict=True):
        if kind is None:
            continue
        base = role.partition("(")[0].partition("<")[0].partition("{")[0]
        is_struct = base in structs or base.endswith(("Params", "ParamsV2", "ParamsV220"))
        if is_struct and (kind.name != base and kind.name in structs):
            return False
        if is_struct and (kind.name in SIZES or kind.name in TENSORS):
            return False
        if not is_struct and kind.name in structs:
            return False
        if kind.pointers and base in ("count", "repeat"):
            return False
        space = spaces.get(base)
        if space == "GM" and kind.name == "LocalTensor":
            return False
        if space not in (None, "GM", "scalar") and kind.name in (*SIZES, "GlobalTensor"):
            return False
        if space == "scalar" and kind.name in TENSORS:
            return False
    return True


def size_of(kind: Type | None) -> int:
    """Bytes of an element of a tensor; 0 for what is none, or of a type that is not known."""
    name = element_of(kind)
    return 0 if name is None else SIZES.get(name, 0)
