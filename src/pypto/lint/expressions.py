"""Reads expressions and types. The statements around them are in ``parse.py``."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Template, Type
from pypto.lint.tokens import Tokens
from pypto.lint.words import (
    ASSIGN,
    BINDING,
    BUILT_IN,
    CASTS,
    MULTIPLE,
    NO_NAMES,
    PREFIX,
    SPACES,
    WORDS,
)

__all__ = ["Expressions", "Unreadable"]


_LOOK_AHEAD = 3


class Unreadable(Exception):
    """Word ``index`` cannot stand there; ``why`` completes "expected ..."."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(why)
        self.index = index
        self.why = why


class Expressions:
    """A reader that stands before word ``i``. ``types``: names known to be types."""

    def __init__(self, tokens: Tokens, types: set[str]) -> None:
        self.tokens = tokens
        # What looks a few words ahead of the last one finds the end there, too.
        self.kinds = [*tokens.kinds, *["end"] * _LOOK_AHEAD]
        self.words = [*tokens.words, *[""] * _LOOK_AHEAD]
        self.last = len(tokens.words) - 1  # where the text ends
        self.types = types
        self.i = 0

    # --- words ---

    def take(self, word: str) -> bool:
        if self.words[self.i] == word:
            self.i += 1
            return True
        return False

    def need(self, word: str) -> int:
        if self.words[self.i] != word:
            raise Unreadable(self.i, f"'{word}'")
        self.i += 1
        return self.i - 1

    def need_name(self) -> str:
        if self.kinds[self.i] != "name":
            raise Unreadable(self.i, "a name")
        self.i += 1
        return self.words[self.i - 1]

    # --- types ---

    def type(self) -> Type:
        """A type at ``i``, with its pointers and references."""
        at, words = self.i, self.words
        const, space = False, ""
        while words[self.i] in ("const", "volatile", "typename", "struct", "class", *SPACES):
            const = const or words[self.i] == "const"
            space = words[self.i] if words[self.i] in SPACES else space
            self.i += 1
        name, args = self._type_name()
        found = Type(name, args, const, 0, False, space, at, self.i - 1)
        while words[self.i] in ("*", "&", "&&", "const", "volatile", "__restrict__", *SPACES):
            word = words[self.i]
            found.pointers += word == "*"
            found.reference = found.reference or word in ("&", "&&")
            found.const = found.const or word == "const"
            found.space = word if word in SPACES else found.space
            self.i += 1
        found.end = self.i - 1
        return found

    def _type_name(self) -> tuple[str, tuple[Template, ...] | None]:
        words = self.words
        if words[self.i] in MULTIPLE:
            first = self.i
            while words[self.i] in MULTIPLE:
                self.i += 1
            return " ".join(words[first : self.i]), None
        if words[self.i] == "decltype":
            first = self.i
            self.i += 1
            self._skip_pair("(", ")")
            return "".join(words[first : self.i]), None
        self.take("::")
        name, args = self.need_name(), None
        if name in NO_NAMES:
            raise Unreadable(self.i - 1, "a type")
        while True:
            if args is None and words[self.i] == "<" and name not in BUILT_IN:
                args = self.template_arguments()
            elif words[self.i] == "::" and self.kinds[self.i + 1] == "name":
                self.i += 2
                name, args = f"{name}::{words[self.i - 1]}", None
            else:
                return name, args

    def template_arguments(self) -> tuple[Template, ...]:
        self.need("<")
        found: list[Template] = []
        while not self.take(">"):
            if found:
                self.need(",")
            found.append(self._template_argument())
        return tuple(found)

    def _template_argument(self) -> Template:
        if self.kinds[self.i] == "name" or self.words[self.i] == "::":
            back = self.i
            try:
                found = self.type()
                if self.words[self.i] in (",", ">"):
                    return found
            except Unreadable:
                pass
            self.i = back
        return self._binary(0, True)

    def _skip_pair(self, left: str, right: str) -> None:
        self.need(left)
        depth = 1
        while depth:
            if self.kinds[self.i] == "end":
                raise Unreadable(self.i, f"'{right}'")
            depth += (self.words[self.i] == left) - (self.words[self.i] == right)
            self.i += 1

    def after_template(self, i: int) -> int:
        """The word after the template arguments that begin at ``i``; 0 where ``<`` compares."""
        words, kinds = self.words, self.kinds
        depth, round_ = 0, 0
        while True:
            word = words[i]
            if word == "<":
                depth += 1
            elif word == ">":
                depth -= 1
                if depth == 0:
                    return i + 1 if round_ == 0 else 0
            elif word == "(":
                round_ += 1
            elif word == ")":
                round_ -= 1
                if round_ < 0:
                    return 0
            elif word in (";", "{", "}", "&&", "||", "?", "==", "=") or kinds[i] == "end":
                return 0
            i += 1

    # --- expressions ---

    def expression(self) -> Expr:
        """Everything up to a closing mark or a semicolon, commas included."""
        left = self.assignment()
        while self.words[self.i] == ",":
            self.i += 1
            right = self.assignment()
            left = nodes.Binary(left.at, right.end, ",", left, right)
        return left

    def assignment(self) -> Expr:
        left = self._binary(0, False)
        word = self.words[self.i]
        if word == "?":
            self.i += 1
            then = self.expression()
            self.need(":")
            otherwise = self.assignment()
            return nodes.Ternary(left.at, otherwise.end, left, then, otherwise)
        if word == ">" and self.words[self.i + 1] == ">=" and self.tokens.joined(self.i):
            self.i += 1
            word = ">>="
        if word in ASSIGN:
            self.i += 1
            right = self.initializer()
            return nodes.Binary(left.at, right.end, word, left, right)
        return left

    def initializer(self) -> Expr:
        return self.brace(None) if self.words[self.i] == "{" else self.assignment()

    def _binary(self, level: int, closed: bool) -> Expr:
        """Operators of ``level`` and above; ``closed``: a ``>`` ends the expression."""
        left = self._unary()
        words = self.words
        while True:
            op, step = words[self.i], 1
            binds = BINDING.get(op)
            if binds is None:
                return left
            if op == ">":
                if closed:
                    return left
                if words[self.i + 1] in (">", ">=") and self.tokens.joined(self.i):
                    if words[self.i + 1] == ">=":
                        return left
                    op, binds, step = ">>", BINDING[">>"], 2
            if binds < level:
                return left
            self.i += step
            right = self._binary(binds + 1, closed)
            left = nodes.Binary(left.at, right.end, op, left, right)

    def _unary(self) -> Expr:
        at, word = self.i, self.words[self.i]
        kind = self.kinds[at]
        if kind == "mark":
            if word in PREFIX:
                self.i += 1
                operand = self._unary()
                return nodes.Unary(at, operand.end, word, operand, False)
            if word == "(" and self._is_cast():
                self.i += 1
                to = self.type()
                self.need(")")
                operand = self._unary()
                return nodes.Cast(at, operand.end, to, operand, "(")
        elif word == "sizeof" or word == "alignof":
            return self._size_of()
        elif word in WORDS:
            self.i += 1
            if word == "delete" and self.take("["):
                self.need("]")
            if word == "new":
                back = self.i
                to = self.type()
                self.i = back if self.words[self.i] == "(" else self.i
                if self.words[self.i] == "[":
                    self._skip_pair("[", "]")
                    return nodes.Word(at, self.i - 1, word, nodes.SizeOf(back, self.i - 1, to))
            alone = self.words[self.i] in (";", ")", ",")
            operand_ = None if alone else self._unary()
            return nodes.Word(at, self.i - 1, word, operand_)
        return self._postfix(self._primary())

    def _size_of(self) -> Expr:
        at = self.i
        self.i += 1
        if self.words[self.i] == "(" and self._is_cast(True):
            self.i += 1
            of: Type | Expr = self.type()
            self.need(")")
        else:
            of = self._unary()
        return nodes.SizeOf(at, self.i - 1, of)

    def _is_cast(self, sized: bool = False) -> bool:
        """Whether the parenthesis at ``i`` holds a type that what follows is converted to."""
        if self.kinds[self.i + 1] != "name":
            return False
        back = self.i
        self.i += 1
        try:
            found = self.type()
            closed = self.words[self.i] == ")"
            follows, word = self.kinds[self.i + 1], self.words[self.i + 1]
        except Unreadable:
            return False
        finally:
            self.i = back
        if not closed:
            return False
        first = found.name.split()[0] if found.name else ""
        known = (
            first in BUILT_IN
            or found.name in self.types
            or found.name.rpartition("::")[2] in self.types
            or bool(found.pointers or found.space or found.args or found.reference)
        )
        if sized:
            return known
        return known and (
            follows in ("name", "number", "string", "character")
            or word in ("(", "-", "~", "!", "&", "*", "+")
        )

    def _primary(self) -> Expr:
        at, word, kind = self.i, self.words[self.i], self.kinds[self.i]
        if kind == "number" or kind == "string" or kind == "character":
            self.i += 1
            while kind == "string" and self.kinds[self.i] == "string":
                self.i += 1
            return nodes.Literal(at, self.i - 1, word)
        if kind == "name" or word == "::":
            return self._named()
        if word == "(":
            self.i += 1
            inner = self.expression()
            inner.at, inner.end = at, self.need(")")
            return inner
        if word == "{":
            return self.brace(None)
        raise Unreadable(at, "an expression")

    def _named(self) -> Expr:
        at, word = self.i, self.words[self.i]
        if word in ("true", "false", "nullptr"):
            self.i += 1
            return nodes.Literal(at, at, word)
        if word in CASTS:
            self.i += 1
            self.need("<")
            to = self.type()
            self.need(">")
            self.need("(")
            operand = self.expression()
            return nodes.Cast(at, self.need(")"), to, operand, word)
        if word in NO_NAMES and word != "this" and word != "operator":
            raise Unreadable(at, "an expression")
        if word in BUILT_IN or (word in self.types and self.words[self.i + 1] == "{"):
            to = self.type() if word in MULTIPLE else Type(self.need_name(), None, at=at, end=at)
            return self._made(to)
        name, args = self._qualified()
        if self.words[self.i] == "{" and (
            args is not None or name.rpartition("::")[2] in self.types
        ):
            return self.brace(Type(name, args, at=at, end=self.i - 1))
        return nodes.Name(at, self.i - 1, name, args)

    def _qualified(self) -> tuple[str, tuple[Template, ...] | None]:
        """``a::b<args>``; where ``<`` compares, the name ends before it."""
        self.take("::")
        name: str = self.need_name()
        args = None
        words = self.words
        while True:
            word = words[self.i]
            if word == "::" and self.kinds[self.i + 1] == "name":
                self.i += 2
                name, args = f"{name}::{words[self.i - 1]}", None
            elif word == "<" and args is None:
                after = self.after_template(self.i)
                if not after or words[after] not in ("(", "{", "::"):
                    return name, args
                args = self.template_arguments()
            else:
                return name, args

    def _made(self, to: Type) -> Expr:
        """``type(x)`` or ``type{x}``."""
        if self.words[self.i] == "{":
            return self.brace(to)
        self.need("(")
        args = self.arguments(")")
        if len(args) == 1:
            return nodes.Cast(to.at, self.i - 1, to, args[0], "")
        return nodes.Brace(to.at, self.i - 1, to, args)

    def _postfix(self, found: Expr) -> Expr:
        while True:
            word = self.words[self.i]
            if word == "(":
                self.i += 1
                args = self.arguments(")")
                found = nodes.Call(found.at, self.i - 1, found, args)
            elif word == "[":
                self.i += 1
                index = self.expression()
                found = nodes.Index(found.at, self.need("]"), found, index)
            elif word == "." or word == "->":
                self.i += 1
                self.take("template")
                self.take("~")
                name, args_ = self._qualified()
                found = nodes.Member(found.at, self.i - 1, found, name, args_)
            elif word == "++" or word == "--":
                self.i += 1
                found = nodes.Unary(found.at, self.i - 1, word, found, True)
            else:
                return found

    def arguments(self, close: str) -> list[Expr]:
        found: list[Expr] = []
        if self.take(close):
            return found
        while True:
            found.append(self.initializer())
            if self.take(close):
                return found
            self.need(",")
            if close == "}" and self.take(close):
                return found

    def brace(self, of: Type | None) -> Expr:
        at = self.need("{")
        args = self.arguments("}")
        return nodes.Brace(at if of is None else of.at, self.i - 1, of, args)
