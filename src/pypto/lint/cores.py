"""What differs between cores: results of functions, and members of classes."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.lint import nodes
from pypto.lint.expr import by_core, children
from pypto.lint.nodes import Class, Expr, Function, Statement
from pypto.lint.scope import Variable
from pypto.lint.words import ASSIGN

__all__ = ["Cores"]


class Cores:
    """``functions``: names whose results differ; ``fields``: members that do, by class."""

    def __init__(self, functions: Iterable[Function], classes: Iterable[Class]) -> None:
        self.functions: set[str] = set()
        self.fields: dict[str, set[str]] = {owner.name: set() for owner in classes}
        self._members = {
            owner.name: {item.name for field in owner.fields for item in field.items}
            for owner in classes
        }
        bodies = [made for made in functions if made.body is not None]
        before = -1
        while before != self._size():
            before = self._size()
            differing = {made: _Body(self, made).differs for made in bodies}
            # Overloads are not told apart: a name counts where all that it may mean differ.
            same = {made.name for made, differs in differing.items() if not differs}
            self.functions = {made.name for made in bodies} - same

    def _size(self) -> int:
        return len(self.functions) + sum(map(len, self.fields.values()))

    def assigned(self, owner: str, name: str) -> None:
        if name in self._members.get(owner, ()):
            self.fields[owner].add(name)


class _Body:
    """One function. ``differs``: whether what it returns does; ``names``: variables that do."""

    def __init__(self, cores: Cores, made: Function) -> None:
        self.cores = cores
        self.made = made
        self.names = set(cores.fields.get(made.owner, ()))
        self.local: set[str] = {one.name for one in made.parameters}
        self.differs = False
        self.parted = 0
        for field, values in made.initializers:
            if any(self._by_core(value) for value in values):
                cores.assigned(made.owner, field)
        for _ in range(2):  # what a loop assigns holds in its next iteration
            self._statement(made.body)

    def _find(self, name: str) -> Variable | None:
        if name not in self.names:
            return None
        return Variable(name, "field", None, 0, by_core=True)

    def _by_core(self, value: Expr) -> bool:
        return by_core(value, self._find, self.cores.functions)

    def _assign(self, name: str) -> None:
        self.names.add(name)
        if name not in self.local:
            self.cores.assigned(self.made.owner, name)

    def _statement(self, found: Statement | None) -> None:
        if isinstance(found, nodes.Block):
            for one in found.body:
                self._statement(one)
        elif isinstance(found, nodes.If):
            self._under(found.condition, found.then, found.otherwise)
        elif isinstance(found, nodes.For):
            self._statement(found.first)
            self._under(found.condition, found.body)
        elif isinstance(found, nodes.Loop):
            self._under(found.condition, found.body)
        elif isinstance(found, nodes.Switch):
            self._under(found.value, found.body)
        elif isinstance(found, nodes.Declaration):
            for item in found.items:
                self.local.add(item.name)
                if any(self._by_core(value) for value in item.init):
                    self._assign(item.name)
        elif isinstance(found, nodes.Expression):
            self._expression(found.value)
        elif isinstance(found, nodes.Return) and found.value is not None:
            self.differs = self.differs or self.parted > 0 or self._by_core(found.value)

    def _under(self, condition: Expr | None, *bodies: Statement | None) -> None:
        parts = condition is not None and self._by_core(condition)
        self.parted += parts
        for body in bodies:
            self._statement(body)
        self.parted -= parts

    def _expression(self, value: Expr) -> None:
        for child in children(value):
            self._expression(child)
        if isinstance(value, nodes.Binary) and value.op in ASSIGN:
            left = value.left
            if isinstance(left, nodes.Name | nodes.Member):
                if self.parted or self._by_core(value.right):
                    self._assign(left.name)
