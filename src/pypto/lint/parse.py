"""Reads a whole text: classes, functions, declarations and statements.

It is no C++ compiler: it knows the part of the language that kernels are written in, and says of
anything else where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable

from pypto.lint.expressions import Unreadable
from pypto.lint.nodes import (
    Class,
    Declaration,
    Expr,
    File,
    Function,
    Parameter,
    Type,
)
from pypto.lint.statements import Statements
from pypto.lint.tokens import Tokens
from pypto.lint.words import SPACES

__all__ = ["parse"]


def parse(tokens: Tokens, types: Iterable[str]) -> File:
    """The structure of a text. ``types``: names that are types wherever they stand."""
    return _Parser(tokens, set(types)).run()


class _Parser(Statements):
    def __init__(self, tokens: Tokens, types: set[str]) -> None:
        super().__init__(tokens, types)
        self.around: list[str] = []  # the namespaces and classes that are open

    def run(self) -> File:
        while self.kinds[self.i] != "end":
            self.guarded(lambda: self._top(False))
        return self.file

    # --- namespaces, classes, functions ---

    def _top(self, external: bool) -> None:
        word = self.words[self.i]
        if self.take(";"):
            return
        if word == "namespace" or (word == "inline" and self.words[self.i + 1] == "namespace"):
            self._namespace()
        elif word == "using":
            self.using()
        elif word == "static_assert":
            self.static_assertion()
        elif word == "extern" and self.words[self.i + 2] == "{":
            self.i += 3
            while not self.take("}"):
                self.end_check("}")
                self.guarded(lambda: self._top(True))
        else:
            self._member("", self._template(), external)

    def _namespace(self) -> None:
        self.take("inline")
        self.need("namespace")
        depth = len(self.around)
        while self.kinds[self.i] == "name" or self.words[self.i] == "::":
            if self.kinds[self.i] == "name":
                self.file.namespaces.add(self.words[self.i])
                self.around.append(self.words[self.i])
            self.i += 1
        try:
            self.need("{")
            while not self.take("}"):
                self.end_check("}")
                self.guarded(lambda: self._top(False))
        finally:  # what is unreadable is skipped, and reading goes on outside
            del self.around[depth:]

    def _template(self) -> list[Parameter] | None:
        if not self.take("template"):
            return None
        self.need("<")
        found: list[Parameter] = []
        while not self.take(">"):
            if found:
                self.need(",")
            found.append(self._template_parameter())
        more = self._template()
        return found if more is None else found + more

    def _template_parameter(self) -> Parameter:
        at = self.i
        if self.words[self.i] in ("typename", "class"):
            self.i += 1
            self.take("...")
            name = self.need_name() if self.kinds[self.i] == "name" else ""
            self.types.add(name)
            default = self.type() if self.take("=") else None
            return Parameter(name, at, None, default)
        kind = self.type()
        name = self.need_name() if self.kinds[self.i] == "name" else ""
        value = self._template_argument() if self.take("=") else None
        return Parameter(name, at, kind, value)

    def _member(self, owner: str, templates: list[Parameter] | None, external: bool) -> None:
        """One declaration at file or class scope."""
        marks, mix = self.marks()
        if external:
            marks['extern "C"'] = self.i
        word = self.words[self.i]
        if word in ("class", "struct", "union") and self._defines():
            self._class(templates)
            return
        if word == "enum":
            self._enum()
            return
        if word == "~" or (word == owner.rpartition("::")[2] and self.words[self.i + 1] == "("):
            self._constructor(owner, marks, templates)
            return
        if word == "operator":
            result = None
        elif self._outside_constructor():
            self._constructor("", marks, templates)
            return
        else:
            result = self.type()
        marks |= self.marks()[0]
        if self.words[self.i] == "(" and self.words[self.i + 1] == "*":
            raise Unreadable(self.i, "no pointer to a function")
        at = self.i
        name = self._declared_name()
        if self.words[self.i] == "(" and self._is_function():
            made = Function(name, at, marks, result, [], templates, owner, mix=mix)
            self._function(made)
            return
        if result is None:
            raise Unreadable(at, "a type")
        found = Declaration(at, at, frozenset(marks), self.declarators(result, name, at))
        found.end = self.need(";")
        if "typedef" in marks:
            self.file.aliases[name] = result
            self.types.add(name)
        elif owner:
            self.file.classes[owner].fields.append(found)
        else:
            self.file.globals.append(found)

    def _defines(self) -> bool:
        """Whether ``class X`` begins a definition or a declaration of its own."""
        i = self.i + 1
        while self.kinds[i] == "name" or self.words[i] == "::":
            i += 1
        return self.words[i] in ("{", ":", ";", "<")

    def _outside_constructor(self) -> bool:
        """``X::X(`` at file scope."""
        words, i = self.words, self.i
        return words[i + 1] == "::" and words[i + 2] in (words[i], "~") and words[i] in self.types

    def _declared_name(self) -> str:
        if self.words[self.i] == "operator":
            first = self.i
            self.i += 1
            if self.words[self.i] == "(":
                self.i += 2
            while self.words[self.i] != "(":
                self.end_check("(")
                self.i += 1
            return "".join(self.words[first : self.i])
        return self._qualified()[0]

    def _is_function(self) -> bool:
        """Whether the parenthesis after a name at file or class scope holds parameters."""
        i = self.i + 1
        return (
            self.words[i] in (")", "...", "const", "typename", "struct")
            or self.kinds[i] == "name"
            or self.words[i] in SPACES
            or self.words[i] == "::"
        )

    def _class(self, templates: list[Parameter] | None) -> None:
        word = self.words[self.i]
        self.i += 1
        self.marks()
        at = self.i
        name = self.need_name()
        self.types.add(name)
        if self.words[self.i] == "<":
            self.template_arguments()
        if self.take(";"):
            return
        self.take("final")
        bases = []
        if self.take(":"):
            while True:
                while self.words[self.i] in ("public", "private", "protected", "virtual"):
                    self.i += 1
                bases.append(self.type())
                if not self.take(","):
                    break
        made = Class(name, at, word, bases, templates)
        self.file.classes[name] = made
        self.file.qualified["::".join((*self.around, name))] = made
        self.around.append(name)
        try:
            self.need("{")
            while not self.take("}"):
                self.end_check("}")
                self.guarded(lambda: self._class_member(name))
        finally:
            self.around.pop()
        if self.kinds[self.i] == "name":
            kind = Type(name, None, at=at, end=at)
            first = self.i
            items = self.declarators(kind, self.need_name(), first)
            self.file.globals.append(Declaration(at, self.i, frozenset(), items))
        self.need(";")

    def _class_member(self, owner: str) -> None:
        word = self.words[self.i]
        if word in ("public", "private", "protected") and self.words[self.i + 1] == ":":
            self.i += 2
        elif self.take(";"):
            pass
        elif word == "using":
            self.using()
        elif word == "static_assert":
            self.static_assertion()
        else:
            self._member(owner, self._template(), False)

    def _enum(self) -> None:
        self.need("enum")
        _ = self.take("class") or self.take("struct")
        name = self.need_name() if self.kinds[self.i] == "name" else ""
        self.types.add(name)
        if self.take(":"):
            self.type()
        self.need("{")
        values: list[tuple[str, Expr | None]] = []
        while not self.take("}"):
            member = self.need_name()
            values.append((member, self.assignment() if self.take("=") else None))
            if self.words[self.i] != "}":
                self.need(",")
        self.file.enums[name] = values
        self.need(";")

    def _constructor(
        self, owner: str, marks: dict[str, int], templates: list[Parameter] | None
    ) -> None:
        at = self.i
        self.take("~")
        name = self.need_name()
        if self.take("::"):
            owner = name
            tilde = "~" if self.take("~") else ""
            name = tilde + self.need_name()
        elif self.words[at] == "~":
            name = f"~{name}"
        self._function(Function(name, at, marks, None, [], templates, owner))

    def _function(self, made: Function) -> None:
        self.need("(")
        made.parameters = self._parameters()
        while self.words[self.i] in ("const", "noexcept", "override", "final", "&", "&&"):
            if self.words[self.i] == "override":
                made.marks["virtual"] = self.i
            self.i += 1
        if self.take("->"):
            made.result = self.type()
        if self.take("="):
            made.defaulted = True
            self.i += 1
            self.need(";")
        elif not self.take(";"):
            if self.take(":"):
                self._initializers(made)
            made.body = self.block()
        owner, _, name = made.name.rpartition("::")
        if owner in self.file.classes:
            made.owner, made.name = owner, name
        if made.owner in self.file.classes:
            self.file.classes[made.owner].methods.append(made)
        self.file.functions.append(made)

    def _initializers(self, made: Function) -> None:
        while True:
            name = self._qualified()[0]
            close = "}" if self.words[self.i] == "{" else ")"
            self.i += 1
            made.initializers.append((name, self.arguments(close)))
            if not self.take(","):
                return

    def _parameters(self) -> list[Parameter]:
        found: list[Parameter] = []
        if self.take(")"):
            return found
        while True:
            if self.take("..."):
                self.need(")")
                return found
            self.marks()
            kind = self.type()
            at = self.i
            grouped = self.words[self.i] == "("
            if grouped:  # a reference to an array
                self.i += 1
                kind.reference = self.take("&")
                kind.pointers += self.take("*")
            name = self.need_name() if self.kinds[self.i] == "name" else ""
            if grouped:
                self.need(")")
            while self.words[self.i] == "[":
                self._skip_pair("[", "]")
                kind.pointers += 1
            default = self.initializer() if self.take("=") else None
            found.append(Parameter(name, at, kind, default))
            if self.take(")"):
                return found
            self.need(",")
