"""Goes through statements and expressions with all names in scope and shows them to the rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from pypto.lint import nodes
from pypto.lint.calls import Called, matching
from pypto.lint.context import Context
from pypto.lint.expr import by_core, children, leaves
from pypto.lint.instances import Instance, bind, chosen, instance_of
from pypto.lint.nodes import Expr, File, Function, Statement, Type
from pypto.lint.places import note_source
from pypto.lint.rule import Handler, RuleSet
from pypto.lint.scope import Variable, canonical
from pypto.lint.tokens import Tokens
from pypto.lint.words import ASSIGN
from pypto.target import Target

__all__ = ["Visitor"]

_MOST_INSTANCES = 2000
"""A recursive function with a counter, which another rule refuses, would have no end."""

_Handlers = dict[type, list[Handler]]


class Visitor(Context):
    """Shows each node to the handlers in ``_on``; notes in ``_waiting`` what calls tell."""

    def __init__(self, tokens: Tokens, file: File, target: Target, rules: Iterable[RuleSet]):
        super().__init__(tokens, file, target)
        self.rules = tuple(rules)
        self._values = _handlers(group for group in self.rules if group.values)
        self._others = _handlers(group for group in self.rules if not group.values)
        self._on = self._all = _handlers(self.rules)
        self._waiting: list[Instance] = []
        self._known: set[Hashable] = set()

    # --- declarations ---

    def _declare(self, declaration: nodes.Declaration, kind: str) -> None:
        marks = declaration.specifiers
        for item in declaration.items:
            fixed = "constexpr" in marks or item.type.const
            value = None
            self.fixed += fixed
            for one in item.init:
                self.visit(one)
            self.fixed -= fixed
            if fixed and len(item.init) == 1 and not item.dims and not item.type.pointers:
                value = self.fold(item.init[0])
            found: Type | None = item.type
            if item.type.name == "auto" and len(item.init) == 1:
                found = self.type(item.init[0])
            init = item.init[0] if len(item.init) == 1 else None
            if canonical(item.type.name) in self.target.param_structs and item.style in ("{", "("):
                init = nodes.Brace(item.at, item.at, item.type, item.init)
            owner = self.owner.name if kind == "field" and self.owner is not None else ""
            made = Variable(item.name, kind, found, item.at, value, init, owner, len(item.dims))
            made.fixed = fixed
            self.types.scope.add(made)
            if kind == "local":
                if canonical(item.type.name) == "TPipe" and self.function is not None:
                    if not (item.type.pointers or item.type.reference):
                        self.facts[self.function].pipes[item.at] = self.loops > 0
                note_source(self, made)
                self._constructed(item, made)
        self._seen(declaration)

    # --- statements ---

    def _statement(self, found: Statement | None) -> None:
        if found is not None:
            self.statement = found.at
            _STATEMENTS[type(found)](self, found)

    def _block(self, found: nodes.Block) -> None:
        self.types.scope.blocks.append({})
        core, parted, on = self.core, self.parted, self._on
        for one in found.body:
            self._statement(one)
            if isinstance(one, nodes.If):
                self._after(one)
        self.core, self.parted, self._on = core, parted, on
        self.types.scope.blocks.pop()

    def _after(self, found: nodes.If) -> None:
        """What holds behind a condition under which the function returns."""
        if found.kind:
            if found.otherwise is None and leaves(found.then):
                self.core = "AIC" if found.kind.endswith("AIV") else "AIV"
            return
        if leaves(found.then):
            self.parted = self.parted or self._parting(found.condition)
        known = self.fold(found.condition)
        taken = found.otherwise if known is not None and not known else found.then
        if known is not None and taken is not None and leaves(taken):
            self._on = self._dead()

    def _dead(self) -> _Handlers:
        """Who sees what is never run: those who ask how it is written."""
        return self._others if self.instance is None else {}

    def _under(self, body: Statement | None, is_dead: bool) -> None:
        on = self._on
        if is_dead:
            self._on = self._dead()
        self._statement(body)
        self._on = on

    def _parting(self, condition: Expr | None) -> Expr | None:
        """``condition``, where it depends on which core evaluates it."""
        if condition is None or not by_core(condition, self.find, self.cores.functions):
            return None
        return condition

    def _expression(self, found: nodes.Expression) -> None:
        self.visit(found.value)

    def _local(self, found: nodes.Declaration) -> None:
        self._declare(found, "local")

    def _if(self, found: nodes.If) -> None:
        if not found.kind:
            self.visit(found.condition)
            parted = self.parted
            self.parted = parted or self._parting(found.condition)
            known = self.fold(found.condition)
            # Which part of a template is compiled may hang on what is not followed here.
            unknown = known is None and found.constant and self.instance is not None
            self._under(found.then, unknown or (known is not None and not known))
            self._under(found.otherwise, unknown or bool(known))
            self.parted = parted
            return
        core, self.core = self.core, found.kind[-3:]
        self._statement(found.then)
        self.core = "AIC" if found.kind.endswith("AIV") else "AIV"
        self._statement(found.otherwise)
        self.core = core

    def _for(self, found: nodes.For) -> None:
        self.types.scope.blocks.append({})
        self._statement(found.first)
        is_dead = self._never(found)
        if isinstance(found.first, nodes.Declaration):
            for item in found.first.items:
                self.types.scope.blocks[-1][item.name].below = found.condition
        for value in (found.condition, found.step, found.over):
            if value is not None:
                self.visit(value)
        self._iterated(found.body, found.condition, is_dead)
        self.types.scope.blocks.pop()

    def _never(self, found: nodes.For) -> bool:
        """Whether the condition of a loop does not hold even at its start."""
        if found.condition is None:
            return False
        first = found.first
        made: list[Variable] = []
        if isinstance(first, nodes.Declaration):
            made = [self.types.scope.blocks[-1][item.name] for item in first.items]
        values = [one.value for one in made]
        for one in made:
            one.value = None if one.init is None else self.fold(one.init)
        known = self.fold(found.condition)
        for one, value in zip(made, values, strict=True):
            one.value = value
        return known is not None and not known

    def _loop(self, found: nodes.Loop) -> None:
        self.visit(found.condition)
        known = self.fold(found.condition)
        self._iterated(
            found.body, found.condition, not found.once and known is not None and not known
        )

    def _iterated(self, body: Statement, condition: Expr | None, is_dead: bool) -> None:
        parted = self.parted
        self.parted = parted or self._parting(condition)
        self.loops += 1
        self._under(body, is_dead)
        self.loops -= 1
        self.parted = parted

    def _switch(self, found: nodes.Switch) -> None:
        self.visit(found.value)
        # Which case is run is not followed; the arguments of one call may rule out any of them.
        parted = self.parted
        self.parted = parted or self._parting(found.value)
        self._under(found.body, self.instance is not None)
        self.parted = parted

    def _value(self, found: nodes.Return | nodes.Jump) -> None:
        if found.value is not None:
            self.visit(found.value)
        self._seen(found)

    def _try(self, found: nodes.Try) -> None:
        self._seen(found)
        self._statement(found.body)
        for one in found.handlers:
            self._statement(one)

    def _empty(self, found: nodes.Empty) -> None:
        pass

    def _seen(self, found: object) -> None:
        for handler in self._on.get(type(found), ()):
            handler(self, found)

    # --- expressions ---

    def visit(self, value: Expr) -> None:
        if isinstance(value, nodes.Call):
            self._call(value)
        else:
            for child in children(value):
                self.visit(child)
        if isinstance(value, nodes.Binary):
            if value.op in ASSIGN:
                self._assigned(value.op, value.left, value.right)
        elif isinstance(value, nodes.Unary) and value.op in ("++", "--"):
            self._assigned(value.op, value.operand, None)
        self._seen(value)

    def _assigned(self, op: str, left: Expr, right: Expr | None) -> None:
        made = self.field_of(left)
        if made is None:
            if isinstance(left, nodes.Member) and isinstance(left.base, nodes.Name):
                changed = self.find(left.base.name)
                if changed is not None:
                    changed.changes = True  # a field of a parameter struct
            return
        made.changes = True
        if op == "=":
            made.init = right
        if made.kind == "local":
            differs = right is not None and by_core(right, self.find, self.cores.functions)
            kept = made.by_core and op != "="
            made.by_core = self.parted is not None or differs or kept

    def _call(self, value: nodes.Call) -> None:
        callee = value.callee
        if isinstance(callee, nodes.Member):
            self.visit(callee.base)
        elif not isinstance(callee, nodes.Name):
            self.visit(callee)
        for one in value.args:
            self.visit(one)
        if isinstance(callee, nodes.Name | nodes.Member):
            self._calls(canonical(callee.name), value, self.called(callee, len(value.args)))

    def _constructed(self, item: nodes.Declarator, made: Variable) -> None:
        """``Stage stage(pipe);`` calls a constructor of the text."""
        name = canonical(item.type.name)
        if name not in self.file.classes or item.style == "=":
            return
        target = matching(self.file.classes[name].methods, name, len(item.init))
        if target is not None and not (item.type.pointers or item.type.reference):
            end = item.init[-1].end if item.init else item.at
            callee = nodes.Name(item.type.at, item.type.end, name, item.type.args)
            self._calls(name, nodes.Call(item.type.at, end, callee, item.init), target, made)

    def _calls(
        self, name: str, node: nodes.Call, target: Function | None, made: Variable | None = None
    ) -> None:
        """Note a call, and what it tells of the function that it runs."""
        if self.function is None:
            return
        found = Called(name, node, self.core, target, parted=self.parted, looped=self.loops > 0)
        only = None if target is None else chosen(self, node, target)
        if target is not None:
            found.function = only or target
            bind(self, found, only or target)
        found.receiver = made or found.receiver
        if self.instance is None:
            self.facts[self.function].calls.append(found)
        is_dead = self._on is not self._all and self._on is not self._values
        instance = None if only is None or is_dead else instance_of(self, found)
        if instance is not None and instance.key() not in self._known:
            if len(self._waiting) < _MOST_INSTANCES:
                self._known.add(instance.key())
                self._waiting.append(instance)


def _handlers(groups: Iterable[RuleSet]) -> _Handlers:
    found: _Handlers = {}
    for group in groups:
        for kind, handler in group.on.items():
            found.setdefault(kind, []).append(handler)
    return found


_STATEMENTS: dict[type, Callable[[Visitor, Any], None]] = {
    nodes.Block: Visitor._block,
    nodes.Expression: Visitor._expression,
    nodes.Declaration: Visitor._local,
    nodes.If: Visitor._if,
    nodes.For: Visitor._for,
    nodes.Loop: Visitor._loop,
    nodes.Switch: Visitor._switch,
    nodes.Return: Visitor._value,
    nodes.Jump: Visitor._value,
    nodes.Try: Visitor._try,
    nodes.Empty: Visitor._empty,
}
