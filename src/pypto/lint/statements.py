"""Reads statements and declarations inside functions. Classes and functions are in ``parse.py``."""

from __future__ import annotations

from collections.abc import Callable

from pypto.lint import nodes
from pypto.lint.expressions import Expressions, Unreadable
from pypto.lint.nodes import Block, Declaration, Declarator, Expr, File, Statement, Type
from pypto.lint.tokens import Tokens
from pypto.lint.words import BUILT_IN, NO_NAMES, SPACES

__all__ = ["Statements"]

_MARKS = frozenset(
    """inline static constexpr extern virtual explicit volatile mutable thread_local friend register
    __aicore__ __global__ __vector__ __cube__ __inline__ __host__ __forceinline__ typedef""".split()
)
_CALLED_MARKS = frozenset(("__mix__", "__schedmode__", "__attribute__", "alignas"))
_STARTERS = (
    _MARKS
    | _CALLED_MARKS
    | SPACES
    | BUILT_IN
    | frozenset(("const", "decltype", "struct", "typename"))
)
_AFTER_NAME = frozenset(("=", ";", "{", "(", "[", ",", ":"))
_HEADS = frozenset(("ASCEND_IS_AIV", "ASCEND_IS_AIC"))


class Statements(Expressions):
    """A reader of function bodies. What cannot be read is noted in ``file.problems``."""

    def __init__(self, tokens: Tokens, types: set[str]) -> None:
        super().__init__(tokens, types)
        self.file = File()

    def guarded(self, read: Callable[[], object]) -> None:
        """Read one declaration; where it cannot be read, note why and go behind it."""
        start = self.i
        try:
            read()
        except (Unreadable, RecursionError) as error:
            index = error.index if isinstance(error, Unreadable) else start
            why = error.why if isinstance(error, Unreadable) else "less nesting"
            self.file.problems.append((min(index, self.last), why))
            self._recover(start, index)

    def _recover(self, start: int, index: int) -> None:
        depth, i = 0, start
        while self.kinds[i] != "end":
            word = self.words[i]
            if word == "{":
                depth += 1
            elif word == "}":
                depth -= 1
                if depth < 0:
                    self.i = max(i, start + 1)
                    return
            if depth <= 0 and i >= index and word in (";", "}"):
                break
            i += 1
        self.i = min(i + 1, self.last)

    def end_check(self, wanted: str) -> None:
        if self.kinds[self.i] == "end":
            raise Unreadable(self.i, f"'{wanted}'")

    # --- parts that declarations everywhere have ---

    def marks(self) -> tuple[dict[str, int], tuple[int, int] | None]:
        marks: dict[str, int] = {}
        mix = None
        while True:
            word = self.words[self.i]
            if word == "extern" and self.kinds[self.i + 1] == "string":
                marks[f"extern {self.words[self.i + 1]}"] = self.i
                self.i += 2
            elif word in _MARKS:
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

    def declarators(self, kind: Type, name: str, at: int) -> list[Declarator]:
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

    def using(self) -> None:
        """An alias, or a name or a namespace that is made visible."""
        self.need("using")
        if self.take("namespace"):
            self.file.used.append((self.i, self._qualified()[0]))
        elif self.words[self.i + 1] == "=":
            name = self.need_name()
            self.need("=")
            self.file.aliases[name] = self.type()
            self.types.add(name)
        else:
            self.file.used.append((self.i, self._qualified()[0]))
        self.need(";")

    def static_assertion(self) -> None:
        self.i += 1
        self._skip_pair("(", ")")
        self.need(";")

    # --- statements ---

    def block(self) -> Block:
        at = self.need("{")
        body: list[Statement] = []
        while self.words[self.i] != "}":
            self.end_check("}")
            self.guarded(lambda: body.append(self.statement()))
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
            return words[i] not in NO_NAMES
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
        marks, _ = self.marks()
        kind = self.type()
        marks |= self.marks()[0]
        first = self.i
        items = self.declarators(kind, self.need_name(), first)
        return Declaration(at, self.i - 1, frozenset(marks), items)

    def _read_block(self) -> Statement:
        return self.block()

    def _read_empty(self) -> Statement:
        self.i += 1
        return nodes.Empty(self.i - 1, self.i - 1)

    def _read_if(self) -> Statement:
        at = self.need("if")
        constant = self.take("constexpr")
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
        return nodes.If(at, self.i - 1, condition, then, otherwise, kind, constant)

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
        self.static_assertion()
        return nodes.Empty(at, self.i - 1)

    def _read_using(self) -> Statement:
        at = self.i
        self.using()
        return nodes.Empty(at, self.i - 1)


_STATEMENTS = {
    "{": Statements._read_block,
    ";": Statements._read_empty,
    "if": Statements._read_if,
    "for": Statements._read_for,
    "while": Statements._read_while,
    "do": Statements._read_do,
    "switch": Statements._read_switch,
    "return": Statements._read_return,
    "break": Statements._read_jump,
    "continue": Statements._read_jump,
    "goto": Statements._read_jump,
    "case": Statements._read_jump,
    "default": Statements._read_jump,
    "try": Statements._read_try,
    "static_assert": Statements._read_static_assert,
    "using": Statements._read_using,
}
