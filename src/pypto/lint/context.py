"""What rules ask while a text is walked: types, values, names, functions; and how they report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.lint import nodes
from pypto.lint.calls import Facts, matching
from pypto.lint.cores import Cores
from pypto.lint.instances import Instance
from pypto.lint.interface import Interface, interface
from pypto.lint.nodes import Class, Expr, File, Function, Template, Type
from pypto.lint.rule import Finding
from pypto.lint.scope import Number, Variable, canonical, fold
from pypto.lint.site import QUEUES, FlagUse, Life, Site, Use, View
from pypto.lint.tokens import Tokens
from pypto.lint.types import Types
from pypto.target import Target

if TYPE_CHECKING:
    from pypto.lint.match import Match

__all__ = ["Context"]


class Context:
    """The state of the walk, as rules see it."""

    def __init__(self, tokens: Tokens, file: File, target: Target) -> None:
        self.tokens = tokens
        self.words = frozenset(tokens.words)
        self.file = file
        self.target = target
        self.interface: Interface = interface(target)
        self.findings: list[Finding] = []
        self.functions: dict[str, list[Function]] = {}
        for made in file.functions:
            self.functions.setdefault(made.name, []).append(made)
        self.types = Types(file, self.functions)
        self.facts: dict[Function, Facts] = {made: Facts() for made in file.functions}
        self.sites: dict[nodes.Call, Site] = {}
        self.lives: dict[nodes.Call, Life] = {}
        self.unfollowed: set[Variable] = set()  # tensors that stand for several others
        self.uses: list[Use] = []
        self.matches: dict[nodes.Call, Match | None] = {}
        self.buffers: dict[Variable, list[str]] = {}  # queues and buffers, with how each is used
        self.function: Function | None = None
        self.owner: Class | None = None
        self.core = ""
        self.parted: Expr | None = None
        self.loops = 0
        self.fixed = 0  # in the initialiser of a constant
        self.flags: list[FlagUse] = []
        self.reported_pipes: set[int] = set()
        self.views: list[tuple[Function, View]] = []
        self.statement = 0  # where the one that is seen starts
        # First and last statement that uses a part of a TBuf.
        self.spans_of_use: dict[Variable, tuple[int, int]] = {}
        self.in_class: dict[str, dict[str, Variable]] = {}
        # Nothing but SyncAll asks for them.
        asked = file.functions if "SyncAll" in self.words else ()
        self.cores = Cores(asked, file.classes.values())
        self.instance: Instance | None = None
        self.instance_number = 0
        self._reported: set[tuple[str, int, int]] = set()

    def report(
        self, rule: str, at: int, end: int, message: str, help: str, notes: tuple[str, ...] = ()
    ) -> None:
        """Note a finding; what all calls of a function have in common is noted once."""
        key = (rule, at, end)
        if self.instance is not None and key in self._reported:
            return
        self._reported.add(key)
        self.findings.append(Finding(rule, at, end, message, help, (*notes, *self.where())))

    def where(self) -> tuple[str, ...]:
        """The call whose arguments hold now, as notes."""
        if self.instance is None:
            return ()
        line = self.tokens.place(self.instance.at)[0]
        return (f"called in line {line} with {self.instance.given()}",)

    def type(self, value: Expr | None) -> Type | None:
        return self.types.of(value)

    def fold(self, value: Template) -> Number | None:
        return fold(value, self.types.scope)

    def text(self, value: Expr | Type) -> str:
        """How ``value`` is written, on one line."""
        tokens = self.tokens
        first, last = tokens.starts[value.at], tokens.starts[value.end]
        return " ".join(tokens.text[first : last + len(tokens.words[value.end])].split())

    def text_type(self, found: Type | None) -> str:
        return "auto" if found is None else self.text(found)

    def find(self, name: str) -> Variable | None:
        return self.types.scope.find(name)

    def field_of(self, value: Expr) -> Variable | None:
        """The variable that ``name``, ``this->name`` or ``object.name`` stands for."""
        if isinstance(value, nodes.Name):
            return self.find(value.name)
        if isinstance(value, nodes.Member):
            owner = self.class_of(value.base)
            if owner is not None:
                return self.in_class[owner.name].get(value.name)
        return None

    def may_be_queue(self, value: Expr) -> bool:
        """Whether ``value`` is a queue, as far as is known: templates take any."""
        owner = self.type(value)
        if owner is None or owner.name in QUEUES or owner.name == "auto":
            return True
        made = self.find(owner.name)
        return made is not None and made.kind == "template"

    def class_of(self, base: Expr) -> Class | None:
        """The class of this text that an object is of."""
        if isinstance(base, nodes.Name) and base.name == "this":
            return self.owner
        return self.types.class_of(base)

    def named(self, name: str) -> str:
        """What the name of a constant, or of a variable or parameter that stands for one, means."""
        for _ in range(8):
            made = self.find(name)
            if made is None:
                return name
            if made.bound is not None:
                return made.bound.name
            if made.changes or not (made.fixed or made.kind == "parameter"):
                return name
            if not isinstance(made.init, nodes.Name):
                return name
            name = made.init.name
        return name

    def candidates(self, callee: Expr) -> list[Function]:
        """The functions of this text that a call may run, whatever its arguments."""
        if isinstance(callee, nodes.Member):
            owner = self.class_of(callee.base)
            methods = [] if owner is None else owner.methods
            return [made for made in methods if made.name == callee.name]
        if not isinstance(callee, nodes.Name):
            return []
        name = canonical(callee.name)
        owner = self.file.classes.get(name)
        if owner is not None:
            return [made for made in owner.methods if made.name == name]
        if self.owner is not None:
            found = [made for made in self.owner.methods if made.name == name]
            if found:
                return found
        short = name.rpartition("::")[2]
        return [made for made in self.functions.get(short, ()) if not made.owner]

    def called(self, callee: Expr, count: int) -> Function | None:
        """The function of this text that a call runs, if it is one."""
        found = self.candidates(callee)
        return matching(found, found[0].name, count) if found else None
