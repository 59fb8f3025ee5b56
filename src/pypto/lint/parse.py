"""Reads a whole text: classes, functions, declarations and statements.

It is no C++ compiler: it knows the part of the language that kernels are written in, and says of
anything else where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable

from pypto.lint import nodes
from pypto.lint.expressions import BUILT_IN, SPACES, Expressions, Unreadable
from pypto.lint.nodes import (
    Block,
    Class,
    Declaration,
    Declarator,
    Expr,
    File,
    Function,
    Parameter,
    Statement,
    Type,
)
from pypto.lint.tokens import Tokens

__all__ = ["parse"]

_MARKS = frozenset(
    """inline static constexpr extern virtual explicit volatile mutable thread_local friend register
    __aicore__ __global__ __vector__ __cube__ __inline__ __host__ __forceinline__ typedef""".split()
)
_CALLED_MARKS = frozenset(("__mix__", "__schedmode__", "__attribute__", "alignas"))
_STARTERS = (
    _MARKS | _CALLED_MARKS | SPACES | BUILT_IN | frozenset(("const", "decltype", "typename"))
)
_AFTER_NAME = frozenset(("=", ";", "{", "(", "[", ",", ":"))
_HEADS = frozenset(("ASCEND_IS_AIV", "ASCEND_IS_AIC"))


def parse(tokens: Tokens, types: Iterable[str]) -> File:
    """The structure of a text. ``types``: names that are types wherever they stand."""
    return _Parser(tokens, set(types)).run()


class _Parser(Expressions):
    def __init__(self, tokens: Tokens, types: set[str]) -> None:
        super().__init__(tokens, types)
        self.file = File()

    def run(self) -> File:
        while self.kinds[self.i] != "end":
            self._guarded(lambda: self._top(False))
        return self.file

    def _guarded(self, read: object) -> None:
        """Read one declaration; where it cannot be read, note why and go behind it."""
        start = self.i
        try:
            read()  # type: ignore[operator]
        except (Unreadable, RecursionError) as error:
            index = error.index if isinstance(error, Unreadable) else start
            why = error.why if isinstance(error, Unreadable) else "less nesting"
            self.file.problems.append((index, why))
            self._recover(start, index)

    def _recover(self, start: int, index: int) -> None:
        depth, i = 0, start
        while self.kinds[i] != "end":
            word = self.words[i]
            if word in "{([" and word:
                depth += 1
            elif word in "})]" and word:
                depth -= 1
                if depth < 0:
                    self.i = max(i, start + 1)
                    return
            if depth <= 0 and i >= index and word in (";", "}"):
                break
            i += 1
        self.i = min(i + 1, len(self.words) - 1)

    # --- namespaces, classes, functions ---

    def _top(self, external: bool) -> None:
        word = self.words[self.i]
        if self.take(";"):
            return
        if word == "namespace" or (word == "inline" and self.words[self.i + 1] == "namespace"):
            self._namespace()
        elif word == "using":
            self._using()
        elif word == "static_assert":
            self._static_assert()
        elif word == "extern" and self.kinds[self.i + 1] == "string":
            self.i += 2
            if self.take("{"):
                while not self.take("}"):
                    self._end_check("}")
                    self._guarded(lambda: self._top(True))
            else:
                self._member("", None, True)
        else:
            self._member("", self._template(), external)

    def _end_check(self, wanted: str) -> None:
        if self.kinds[self.i] == "end":
            raise Unreadable(self.i, f"'{wanted}'")

    def _namespace(self) -> None:
        self.take("inline")
        self.need("namespace")
        while self.kinds[self.i] == "name" or self.words[self.i] == "::":
            if self.kinds[self.i] == "name":
                self.file.namespaces.add(self.words[self.i])
            self.i += 1
        self.need("{")
        while not self.take("}"):
            self._end_check("}")
            self._guarded(lambda: self._top(False))

    def _using(self) -> None:
        self.need("using")
        if self.take("namespace"):
            self._qualified()
        elif self.words[self.i + 1] == "=":
            name = self.need_name()
            self.need("=")
            self.file.aliases[name] = self.type()
            self.types.add(name)
        else:
            self._qualified()
        self.need(";")

    def _static_assert(self) -> None:
        self.i += 1
        self._skip_pair("(", ")")
        self.need(";")

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
        marks, mix = self._marks()
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
        marks |= self._marks()[0]
        if self.words[self.i] == "(" and self.words[self.i + 1] == "*":
            raise Unreadable(self.i, "no pointer to a function")
        at = self.i
        name = self._declared_name()
        if self.words[self.i] == "(" and self._is_function():
            made = Function(
                name, at, marks, result, [], templates, owner, mix=mix, external=external
            )
            self._function(made)
            return
        if result is None:
            raise Unreadable(at, "a type")
        found = Declaration(at, at, frozenset(marks), self._declarators(result, name, at))
        found.end = self.need(";")
        if "typedef" in marks:
            self.file.aliases[name] = result
            self.types.add(name)
        elif owner:
            self.file.classes[owner].fields.append(found)
        else:
            self.file.globals.append(found)

    def _marks(self) -> tuple[dict[str, int], tuple[int, int] | None]:
        marks: dict[str, int] = {}
        mix = None
        while True:
            word = self.words[self.i]
            if word in _MARKS:
                marks[word] = self.i
                self.i += 1
            elif word in _CALLED_MARKS:
                marks[word] = self.i
                first = self.i + 2
                self.i += 1
                self._skip_pair("(", ")")
                if word == "__mix__":
                    inside = [w for w in self.words[first : self.i - 1] if w.isdigit()]
                    mix = (int(inside[0]), int(inside[1])) if len(inside) == 2 else (-1, -1)
            elif word == "[" and self.words[self.i + 1] == "[":
                self._skip_pair("[", "]")
            else:
                return marks, mix

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
                self._end_check("(")
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
        self._marks()
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
        self.need("{")
        while not self.take("}"):
            self._end_check("}")
            self._guarded(lambda: self._class_member(name))
        if self.kinds[self.i] == "name":
            kind = Type(name, None, at=at, end=at)
            first = self.i
            items = self._declarators(kind, self.need_name(), first)
            self.file.globals.append(Declaration(at, self.i, frozenset(), items))
        self.need(";")

    def _class_member(self, owner: str) -> None:
        word = self.words[self.i]
        if word in ("public", "private", "protected") and self.words[self.i + 1] == ":":
            self.i += 2
        elif self.take(";"):
            pass
        elif word == "using":
            self._using()
        elif word == "static_assert":
            self._static_assert()
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
            self._marks()
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

    def _declarators(self, kind: Type, name: str, at: int) -> list[Declarator]:
        """The rest of a declaration whose first name has been read."""
        found: list[Declarator] = []
        while True:
            dims: list[Expr | None] = []
            while self.take("["):
                dims.append(None if self.words[self.i] == "]" else self.expression())
                self.need("]")
            init, style = self._initial()
            found.append(Declarator(name, at, kind, dims, init, style))
            if not self.take(","):
                return found
            pointers = kind.pointers
            while self.words[self.i] in ("*", "&"):
                pointers = 1 if self.words[self.i] == "*" else pointers
                self.i += 1
            at = self.i
            name = self.need_name()

    def _initial(self) -> tuple[list[Expr], str]:
        word = self.words[self.i]
        if word == "=":
            self.i += 1
            return [self.initializer()], "="
        if word == "{":
            self.i += 1
            return self.arguments("}"), "{"
        if word == "(":
            self.i += 1
            return self.arguments(")"), "("
        if word == ":":  # a bit field
            self.i += 1
            self._binary(0, False)
        return [], ""

    # --- statements ---

    def block(self) -> Block:
        at = self.need("{")
        body: list[Statement] = []
        while self.words[self.i] != "}":
            self._end_check("}")
            self._guarded(lambda: body.append(self.statement()))
        self.i += 1
        return Block(at, self.i - 1, body)

    def statement(self) -> Statement:
        at, word = self.i, self.words[self.i]
        read = _STATEMENTS.get(word)
        if read is not None:
            return read(self)
        if self.kinds[at] == "name" and self._is_declaration():
            found = self._declaration()
            found.end = self.need(";")
            return found
        value = self.expression()
        return nodes.Expression(at, self.need(";"), value)

    def _is_declaration(self) -> bool:
        words, kinds, i = self.words, self.kinds, self.i
        if words[i] in _STARTERS:
            return not (words[i] in BUILT_IN and words[i + 1] in ("(", "{"))
        after = words[i + 1]
        if kinds[i + 1] == "name":
            return True
        if after not in ("<", "::", "*", "&"):
            return False
        try:
            self.type()
            return kinds[self.i] == "name" and words[self.i + 1] in _AFTER_NAME
        except Unreadable:
            return False
        finally:
            self.i = i

    def _declaration(self) -> Declaration:
        at = self.i
        marks, _ = self._marks()
        kind = self.type()
        marks |= self._marks()[0]
        first = self.i
        items = self._declarators(kind, self.need_name(), first)
        return Declaration(at, self.i - 1, frozenset(marks), items)

    def _read_block(self) -> Statement:
        return self.block()

    def _read_empty(self) -> Statement:
        self.i += 1
        return nodes.Empty(self.i - 1, self.i - 1)

    def _read_if(self) -> Statement:
        at = self.need("if")
        self.take("constexpr")
        kind = ""
        if self.words[self.i] in _HEADS:
            kind = self.words[self.i]
            condition: Expr = nodes.Name(self.i, self.i, kind, None)
            self.i += 1
        else:
            self.need("(")
            condition = self.expression()
            self.need(")")
            if isinstance(condition, nodes.Name) and condition.name in _HEADS:
                kind = condition.name
        then = self.statement()
        otherwise = self.statement() if self.take("else") else None
        return nodes.If(at, self.i - 1, condition, then, otherwise, kind)

    def _read_for(self) -> Statement:
        at = self.need("for")
        self.need("(")
        first: Statement | None = None
        if not self.take(";"):
            if self.kinds[self.i] == "name" and self._is_declaration():
                first = self._declaration()
                if self.take(":"):
                    return self._range_for(at, first)
            else:
                value = self.expression()
                first = nodes.Expression(value.at, value.end, value)
            self.need(";")
        condition = None if self.words[self.i] == ";" else self.expression()
        self.need(";")
        step = None if self.words[self.i] == ")" else self.expression()
        self.need(")")
        body = self.statement()
        return nodes.For(at, self.i - 1, first, condition, step, None, body)

    def _range_for(self, at: int, first: Statement) -> Statement:
        over = self.expression()
        self.need(")")
        body = self.statement()
        return nodes.For(at, self.i - 1, first, None, None, over, body)

    def _read_while(self) -> Statement:
        at = self.need("while")
        self.need("(")
        condition = self.expression()
        self.need(")")
        return nodes.Loop(at, self.i - 1, condition, self.statement(), False)

    def _read_do(self) -> Statement:
        at = self.need("do")
        body = self.statement()
        self.need("while")
        self.need("(")
        condition = self.expression()
        self.need(")")
        return nodes.Loop(at, self.need(";"), condition, body, True)

    def _read_switch(self) -> Statement:
        at = self.need("switch")
        self.need("(")
        value = self.expression()
        self.need(")")
        return nodes.Switch(at, self.i - 1, value, self.statement())

    def _read_return(self) -> Statement:
        at = self.need("return")
        value = None if self.words[self.i] == ";" else self.initializer()
        return nodes.Return(at, self.need(";"), value)

    def _read_jump(self) -> Statement:
        at, word = self.i, self.words[self.i]
        self.i += 1
        value = None
        if word == "case":
            value = self._binary(0, False)
        elif word == "goto":
            self.need_name()
        end = self.need(":" if word in ("case", "default") else ";")
        return nodes.Jump(at, end, word, value)

    def _read_try(self) -> Statement:
        at = self.need("try")
        body = self.block()
        handlers = []
        while self.take("catch"):
            self._skip_pair("(", ")")
            handlers.append(self.block())
        return nodes.Try(at, self.i - 1, body, handlers)

    def _read_static_assert(self) -> Statement:
        at = self.i
        self._static_assert()
        return nodes.Empty(at, self.i - 1)

    def _read_using(self) -> Statement:
        at = self.i
        self._using()
        return nodes.Empty(at, self.i - 1)

    def _read_class(self) -> Statement:
        at = self.i
        self._class(None)
        return nodes.Empty(at, self.i - 1)


_STATEMENTS = {
    "{": _Parser._read_block,
    ";": _Parser._read_empty,
    "if": _Parser._read_if,
    "for": _Parser._read_for,
    "while": _Parser._read_while,
    "do": _Parser._read_do,
    "switch": _Parser._read_switch,
    "return": _Parser._read_return,
    "break": _Parser._read_jump,
    "continue": _Parser._read_jump,
    "goto": _Parser._read_jump,
    "case": _Parser._read_jump,
    "default": _Parser._read_jump,
    "try": _Parser._read_try,
    "static_assert": _Parser._read_static_assert,
    "using": _Parser._read_using,
    "class": _Parser._read_class,
    "struct": _Parser._read_class,
}
