"""Goes once through a whole text with all names in scope and shows each node to the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pypto.lint import nodes
from pypto.lint.calls import Called, Facts, matching
from pypto.lint.expr import by_core, children, leaves
from pypto.lint.interface import Interface, interface
from pypto.lint.nodes import Class, Expr, File, Function, Statement, Template, Type
from pypto.lint.rule import Finding, Handler, RuleSet
from pypto.lint.scope import Number, Variable, canonical, fold, number
from pypto.lint.site import Site, Use
from pypto.lint.tokens import Tokens, tokenize
from pypto.lint.types import Types
from pypto.lint.words import ASSIGN
from pypto.target import Target

if TYPE_CHECKING:
    from pypto.lint.match import Match

__all__ = ["Walk"]


class Walk:
    """The state of the walk. Rules report through it and ask it for types and values."""

    def __init__(self, tokens: Tokens, file: File, target: Target, rules: Iterable[RuleSet]):
        self.tokens = tokens
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
        self.uses: list[Use] = []
        self.matches: dict[nodes.Call, Match | None] = {}
        self.buffers: dict[Variable, list[str]] = {}  # queues and buffers, with how each is used
        self.function: Function | None = None
        self.owner: Class | None = None
        self.core = ""
        self.parted: Expr | None = None
        self.in_class: dict[str, dict[str, Variable]] = {}
        self.rules = tuple(rules)
        self._on: dict[type, list[Handler]] = {}
        for group in self.rules:
            for kind, handler in group.on.items():
                self._on.setdefault(kind, []).append(handler)

    # --- for rules ---

    def report(
        self, rule: str, at: int, end: int, message: str, help: str, notes: tuple[str, ...] = ()
    ) -> None:
        self.findings.append(Finding(rule, at, end, message, help, notes))

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
            owner = self.types.class_of(value.base)
            if isinstance(value.base, nodes.Name) and value.base.name == "this":
                owner = self.owner
            if owner is not None:
                return self.in_class[owner.name].get(value.name)
        return None

    # --- the walk ---

    def run(self) -> list[Finding]:
        outer = self.types.scope.blocks[0]
        for number_ in range(8):
            name = f"EVENT_ID{number_}"
            outer[name] = Variable(name, "global", Type("int32_t"), 0, number_)
        self._macros(outer)
        for name, values in self.file.enums.items():
            self._enum(name, values)
        for made in self.file.functions:
            if not made.owner:
                outer[made.name] = Variable(made.name, "function", made.result, made.at)
        for declaration in self.file.globals:
            self._declare(declaration, "global")
        for owner in self.file.classes.values():
            self._fields(owner)
        for group in self.rules:
            if group.class_ is not None:
                for owner in self.file.classes.values():
                    group.class_(self, owner)
        for made in self.file.functions:
            self._function(made)
        for group in self.rules:
            if group.done is not None:
                group.done(self)
        return self.findings

    def _macros(self, outer: dict[str, Variable]) -> None:
        """``#define NAME 1`` is a constant."""
        for _, text in self.tokens.directives:
            words = tokenize(text.lstrip("# \t")).words
            if words[0] == "define" and len(words) > 3:
                value = number("".join(words[2:-1]).strip("()"))
                if value is not None:
                    kind = Type("float" if isinstance(value, float) else "int32_t")
                    outer[words[1]] = Variable(words[1], "global", kind, 0, value)
            elif words[0] == "define" and len(words) == 3:
                outer[words[1]] = Variable(words[1], "global", None, 0)

    def _enum(self, name: str, values: list[tuple[str, Expr | None]]) -> None:
        next_: Number | None = 0
        for member, value in values:
            if value is not None:
                next_ = self.fold(value)
            made = Variable(member, "global", Type("int32_t"), 0, next_)
            self.types.scope.add(made)
            next_ = None if next_ is None else next_ + 1

    def _fields(self, owner: Class) -> None:
        scope = self.types.scope
        scope.blocks.append({})
        self._templates(owner.templates)
        self.owner = owner
        self.types.owner = owner.name
        for base in owner.bases:
            scope.blocks[-1] |= self.in_class.get(canonical(base.name), {})
        for declaration in owner.fields:
            self._declare(declaration, "field")
        for method in owner.methods:
            made = Variable(method.name, "function", method.result, method.at, owner=owner.name)
            scope.blocks[-1].setdefault(method.name, made)
        self.in_class[owner.name] = scope.blocks.pop()
        self.owner = None

    def _templates(self, parameters: list[nodes.Parameter] | None) -> None:
        for one in parameters or ():
            self.types.scope.add(Variable(one.name, "template", one.type, one.at))

    def _function(self, made: Function) -> None:
        scope = self.types.scope
        depth = len(scope.blocks)
        self.function = made
        self.owner = self.file.classes.get(made.owner)
        self.types.owner = made.owner
        self.core, self.parted = "", None
        if made.owner:
            scope.blocks.append(self.in_class.get(made.owner, {}))
        scope.blocks.append({})
        self._templates(made.templates)
        for one in made.parameters:
            scope.add(Variable(one.name, "parameter", one.type, one.at))
        for group in self.rules:
            if group.function is not None:
                group.function(self, made)
        for _, values in made.initializers:
            for value in values:
                self.visit(value)
        if made.body is not None:
            self._statement(made.body)
        del scope.blocks[depth:]
        self.function = None

    def _declare(self, declaration: nodes.Declaration, kind: str) -> None:
        marks = declaration.specifiers
        for item in declaration.items:
            fixed = "constexpr" in marks or item.type.const
            value = None
            for one in item.init:
                self.visit(one)
            if fixed and len(item.init) == 1 and not item.dims and not item.type.pointers:
                value = self.fold(item.init[0])
            found: Type | None = item.type
            if item.type.name == "auto" and len(item.init) == 1:
                found = self.type(item.init[0])
            init = item.init[0] if len(item.init) == 1 else None
            owner = self.owner.name if kind == "field" and self.owner is not None else ""
            made = Variable(item.name, kind, found, item.at, value, init, owner, len(item.dims))
            self.types.scope.add(made)
            if kind == "local":
                self._constructed(item, made)
        for handler in self._on.get(nodes.Declaration, ()):
            handler(self, declaration)

    # --- statements ---

    def _statement(self, found: Statement | None) -> None:
        if found is None:
            return
        _STATEMENTS[type(found)](self, found)

    def _block(self, found: nodes.Block) -> None:
        self.types.scope.blocks.append({})
        core, parted = self.core, self.parted
        for one in found.body:
            self._statement(one)
            if isinstance(one, nodes.If) and not one.kind and leaves(one.then):
                self.parted = self.parted or self._parting(one.condition)
            if (
                isinstance(one, nodes.If)
                and one.kind
                and one.otherwise is None
                and leaves(one.then)
            ):
                self.core = "AIC" if one.kind.endswith("AIV") else "AIV"
        self.core, self.parted = core, parted
        self.types.scope.blocks.pop()

    def _parting(self, condition: Expr | None) -> Expr | None:
        """``condition``, where it depends on which core evaluates it."""
        return condition if condition is not None and by_core(condition, self.find) else None

    def _expression(self, found: nodes.Expression) -> None:
        self.visit(found.value)

    def _local(self, found: nodes.Declaration) -> None:
        self._declare(found, "local")

    def _if(self, found: nodes.If) -> None:
        if not found.kind:
            self.visit(found.condition)
            parted = self.parted
            self.parted = parted or self._parting(found.condition)
            self._statement(found.then)
            self._statement(found.otherwise)
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
        if isinstance(found.first, nodes.Declaration):
            for item in found.first.items:
                self.types.scope.blocks[-1][item.name].below = found.condition
        for value in (found.condition, found.step, found.over):
            if value is not None:
                self.visit(value)
        parted = self.parted
        self.parted = parted or self._parting(found.condition)
        self._statement(found.body)
        self.parted = parted
        self.types.scope.blocks.pop()

    def _loop(self, found: nodes.Loop) -> None:
        self.visit(found.condition)
        parted = self.parted
        self.parted = parted or self._parting(found.condition)
        self._statement(found.body)
        self.parted = parted

    def _switch(self, found: nodes.Switch) -> None:
        self.visit(found.value)
        self._statement(found.body)

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
        kind = type(value)
        if kind is nodes.Call:
            self._call(value)  # type: ignore[arg-type]
        else:
            for child in children(value):
                self.visit(child)
        if isinstance(value, nodes.Binary):
            if value.op in ASSIGN:
                self._assigned(value.op, value.left, value.right)
        elif isinstance(value, nodes.Unary) and value.op in ("++", "--"):
            self._assigned(value.op, value.operand, None)
        handlers = self._on.get(kind)
        if handlers is not None:
            for handler in handlers:
                handler(self, value)

    def _assigned(self, op: str, left: Expr, right: Expr | None) -> None:
        made = self.field_of(left)
        if made is not None:
            made.changes = True
            if op == "=":
                made.init = right

    def _call(self, value: nodes.Call) -> None:
        callee = value.callee
        if isinstance(callee, nodes.Member):
            self.visit(callee.base)
        elif not isinstance(callee, nodes.Name):
            self.visit(callee)
        for one in value.args:
            self.visit(one)
        if self.function is not None and isinstance(callee, nodes.Name | nodes.Member):
            target = self.called(callee, len(value.args))
            found = Called(canonical(callee.name), value, self.core, target, parted=self.parted)
            if target is not None:
                self._bind(found, target)
            self.facts[self.function].calls.append(found)

    def _constructed(self, item: nodes.Declarator, made: Variable) -> None:
        """``Stage stage(pipe);`` calls a constructor of the text."""
        name = canonical(item.type.name)
        if name not in self.file.classes or self.function is None or item.style == "=":
            return
        target = matching(self.file.classes[name].methods, name, len(item.init))
        if target is not None and not (item.type.pointers or item.type.reference):
            end = item.init[-1].end if item.init else item.at
            callee = nodes.Name(item.type.at, item.type.end, name, item.type.args)
            node = nodes.Call(item.type.at, end, callee, item.init)
            found = Called(name, node, self.core, target, parted=self.parted)
            self._bind(found, target)
            found.receiver = made
            self.facts[self.function].calls.append(found)

    def _bind(self, found: Called, target: Function) -> None:
        callee = found.node.callee
        if isinstance(callee, nodes.Member):
            found.receiver = self.field_of(callee.base)
        for parameter, value in zip(target.parameters, found.node.args, strict=False):
            variable = self.field_of(value)
            known = self.fold(value)
            if isinstance(known, int):
                found.numbers[parameter.name] = known
            elif variable is not None:
                found.bound[parameter.name] = variable

    def called(self, callee: Expr, count: int) -> Function | None:
        """The function of this text that a call runs, if it is one."""
        if isinstance(callee, nodes.Member):
            owner = self.types.class_of(callee.base)
            if isinstance(callee.base, nodes.Name) and callee.base.name == "this":
                owner = self.owner
            return None if owner is None else matching(owner.methods, callee.name, count)
        if not isinstance(callee, nodes.Name):
            return None
        name = canonical(callee.name)
        owner = self.file.classes.get(name)
        if owner is not None:
            return matching(owner.methods, name, count)
        if self.owner is not None:
            found = matching(self.owner.methods, name, count)
            if found is not None:
                return found
        outside = [
            made for made in self.functions.get(name.rpartition("::")[2], ()) if not made.owner
        ]
        return matching(outside, name.rpartition("::")[2], count)


_STATEMENTS: dict[type, Callable[[Walk, Any], None]] = {
    nodes.Block: Walk._block,
    nodes.Expression: Walk._expression,
    nodes.Declaration: Walk._local,
    nodes.If: Walk._if,
    nodes.For: Walk._for,
    nodes.Loop: Walk._loop,
    nodes.Switch: Walk._switch,
    nodes.Return: Walk._value,
    nodes.Jump: Walk._value,
    nodes.Try: Walk._try,
    nodes.Empty: Walk._empty,
}
