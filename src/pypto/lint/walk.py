"""Goes through a whole text with all names in scope and shows each node to the rules.

Every function is seen as it is written, and again, by the rules that ask for values, as each call
runs it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pypto.lint.instances import Instance
from pypto.lint.nodes import Class, Expr, File, Function, Type
from pypto.lint.rule import Finding, RuleSet
from pypto.lint.scope import Number, Variable, canonical, number
from pypto.lint.tokens import Tokens, tokenize
from pypto.lint.visit import Visitor
from pypto.target import Target

__all__ = ["Walk"]


class Walk(Visitor):
    """The walk. Rules report through it and ask it for types and values."""

    def __init__(self, tokens: Tokens, file: File, target: Target, rules: Iterable[RuleSet]):
        super().__init__(tokens, file, target, rules)
        self._changed: dict[Function, set[str]] = {}

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
        for instance in self._waiting:  # the walk of one may add others
            self._run_instance(instance)
        for group in self.rules:
            if group.done is not None:
                group.done(self)
        return self.findings

    # --- declarations ---

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
        for one in owner.templates or ():
            scope.add(Variable(one.name, "template", one.type, one.at))
        self.owner = owner
        self.types.owner = owner.name
        for base in owner.bases:
            scope.blocks[-1] |= self.in_class.get(canonical(base.name), {})
        for declaration in owner.fields:
            self._declare(declaration, "field")
        for name in self.cores.fields[owner.name]:
            scope.blocks[-1][name].by_core = True
        for method in owner.methods:
            made = Variable(method.name, "function", method.result, method.at, owner=owner.name)
            scope.blocks[-1].setdefault(method.name, made)
        self.in_class[owner.name] = scope.blocks.pop()
        self.owner = None

    def _enter(self, made: Function) -> None:
        self.function = made
        self.owner = self.file.classes.get(made.owner)
        self.types.owner = made.owner
        self.core, self.parted, self.loops = "", None, 0
        if made.owner:
            self.types.scope.blocks.append(self.in_class.get(made.owner, {}))
        self.types.scope.blocks.append({})

    def _function(self, made: Function) -> None:
        scope = self.types.scope
        depth = len(scope.blocks)
        self._enter(made)
        Instance(made, made.at).declare(scope, set())
        outer = scope.blocks[-1]
        for group in self.rules:
            if group.function is not None:
                group.function(self, made)
        for _, values in made.initializers:
            for value in values:
                self.visit(value)
        self._statement(made.body)
        self._changed[made] = {name for name, one in outer.items() if one.changes}
        del scope.blocks[depth:]
        self.function = None

    def _run_instance(self, instance: Instance) -> None:
        scope = self.types.scope
        depth = len(scope.blocks)
        made = instance.function
        self.instance_number += 1
        self.instance, matches, self.matches = instance, self.matches, {}
        self._on, self.types.bound = self._values, True
        self._enter(made)
        if self.owner is not None:
            instance.declare_owner(scope, self.owner.templates)
        scope.blocks.append({})
        instance.declare(scope, self._changed[made])
        for _, values in made.initializers:
            for value in values:
                self.visit(value)
        self._statement(made.body)
        del scope.blocks[depth:]
        self._on, self.types.bound = self._all, False
        self.function, self.instance, self.matches = None, None, matches
