"""The type of an expression, as far as declarations tell it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pypto.lint import nodes
from pypto.lint.calls import deduce, substitute
from pypto.lint.interface import CONSTANTS, FUNCTIONS, METHODS
from pypto.lint.nodes import Class, Expr, File, Function, Template, Type
from pypto.lint.scope import SIZES, Scope, arithmetic, canonical, literal_type

__all__ = ["TENSORS", "Types", "element_of"]

TENSORS = frozenset(("LocalTensor", "GlobalTensor"))

_PLAIN = {name: Type(name) for name in (*SIZES, "GM_ADDR", "event_t", "pipe_t", "")}
_BOOL, _SIZE, _COUNT = _PLAIN["bool"], _PLAIN["uint64_t"], _PLAIN["uint32_t"]
_COMPARES = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
_MAKERS = frozenset(("AllocTensor", "DeQue", "Get", "GetWithOffset", "Alloc", "ReinterpretCast"))


def element_of(tensor: Type | None) -> str | None:
    """The C++ name of a tensor's elements; None for what is no tensor of a known type."""
    if tensor is None or tensor.name not in TENSORS or not tensor.args or tensor.pointers:
        return None
    first = tensor.args[0]
    return canonical(first.name) if isinstance(first, Type) and not first.pointers else None


def _is_this(base: Expr) -> bool:
    return isinstance(base, nodes.Name) and base.name == "this"


def _mentions(found: Type, names: Collection[str]) -> bool:
    if found.name in names:
        return True
    return any(_mentions(one, names) for one in found.args or () if isinstance(one, Type))


class Types:
    """Types of the expressions of one text, in the scope that stands now."""

    def __init__(self, file: File, functions: dict[str, list[Function]]) -> None:
        self.file = file
        self.functions = functions
        self.scope = Scope({})
        self.owner = ""
        self.bound = False  # whether template parameters in scope stand for something

    def resolve(self, found: Type | None) -> Type | None:
        """``found`` under its canonical name, aliases and bound template parameters followed."""
        if found is None:
            return None
        if self.bound:
            found = self._with_bound(found)
        name = canonical(found.name)
        alias = self.file.aliases.get(name)
        if alias is not None and alias is not found:
            inner = self.resolve(alias)
            if inner is not None and found.pointers:
                return Type(inner.name, inner.args, pointers=inner.pointers + found.pointers)
            return inner
        if name == found.name:
            return found
        return Type(name, found.args, found.const, found.pointers, False, found.space)

    def _with_bound(self, found: Type) -> Type:
        variable = self.scope.find(found.name)
        if variable is not None and variable.bound is not None:
            to = variable.bound
            pointers = to.pointers + found.pointers
            return Type(to.name, to.args, found.const, pointers, found.reference, found.space)
        if not found.args:
            return found
        args = tuple(self._with_bound(x) if isinstance(x, Type) else x for x in found.args)
        if all(one is two for one, two in zip(args, found.args, strict=True)):
            return found
        pointers, is_reference = found.pointers, found.reference
        return Type(found.name, args, found.const, pointers, is_reference, found.space)

    def of(self, value: Expr | None) -> Type | None:
        """The type of ``value``; None where it is not known."""
        read = _READERS.get(type(value))
        return None if read is None else read(self, value)

    def class_of(self, value: Expr) -> Class | None:
        found = self.of(value)
        return None if found is None else self.file.classes.get(found.name)

    def _literal(self, value: nodes.Literal) -> Type | None:
        text = value.text
        if text in ("true", "false"):
            return _BOOL
        first = text[0]
        return _PLAIN[literal_type(text)] if first.isdigit() or first == "." else None

    def _name(self, value: nodes.Name) -> Type | None:
        found = self.scope.find(value.name)
        if found is not None:
            return None if found.dims or found.kind == "function" else self.resolve(found.type)
        enum, _, _ = value.name.rpartition("::")
        if enum:
            return Type(canonical(enum))
        constant = CONSTANTS.get(value.name)
        return None if constant is None else self.resolve(Type(constant))

    def _member(self, value: nodes.Member) -> Type | None:
        found = self.class_of(value.base)
        if isinstance(value.base, nodes.Name) and value.base.name == "this":
            found = self.file.classes.get(self.owner)
        if found is None:
            return None
        for field in found.fields:
            for item in field.items:
                if item.name == value.name:
                    return None if item.dims else self._of_class(found, value.base, item.type)
        return None

    def _of_class(self, owner: Class, base: Expr, found: Type | None) -> Type | None:
        """``found`` as a member of ``owner`` has it, whose template parameters it may name."""
        if not owner.templates or found is None or _is_this(base):
            return self.resolve(found)
        object_ = self.of(base)
        args = object_.args if object_ is not None and object_.args else ()
        names = [one.name for one in owner.templates]
        return self._substituted(found, names, dict(zip(names, args, strict=False)))

    def _substituted(
        self, found: Type | None, names: Collection[str], to: Mapping[str, Template]
    ) -> Type | None:
        if found is None:
            return None
        made = substitute(found, to)
        return None if _mentions(made, set(names) - to.keys()) else self.resolve(made)

    def _result(self, made: Function, value: nodes.Call) -> Type | None:
        """What a function of the text returns."""
        if not made.templates or made.result is None:
            return self.resolve(made.result)
        callee = value.callee
        given = callee.args if isinstance(callee, nodes.Name | nodes.Member) else None
        names = [one.name for one in made.templates]
        to = deduce(made.templates, made.parameters, [self.of(one) for one in value.args])
        to |= dict(zip(names, given or (), strict=False))
        return self._substituted(made.result, names, to)

    def _call(self, value: nodes.Call) -> Type | None:
        callee = value.callee
        if isinstance(callee, nodes.Member):
            return self._method(value, callee)
        if not isinstance(callee, nodes.Name):
            return None
        name = canonical(callee.name)
        variable = self.scope.find(callee.name)
        if variable is not None and variable.kind != "function":
            inner = element_of(self.resolve(variable.type))
            return None if inner is None else Type(inner)
        if name in self.file.classes or name in METHODS:
            return Type(name, callee.args)
        for function in self.functions.get(name, ()):
            return self._result(function, value)
        if name in ("Cast", "ScalarCast") and callee.args and len(value.args) == 1:
            to = callee.args[1] if len(callee.args) > 1 else None
            return self.resolve(to) if isinstance(to, Type) else _PLAIN["bfloat16_t"]
        known = FUNCTIONS.get(name)
        return _PLAIN.get(known[2]) if known is not None and known[2] else None

    def _method(self, value: nodes.Call, callee: nodes.Member) -> Type | None:
        name = callee.name
        if name in _MAKERS and callee.args and isinstance(callee.args[0], Type):
            return self.resolve(Type("LocalTensor", (callee.args[0],)))
        base = self.of(callee.base)
        if base is None:
            return None
        if base.name in TENSORS:
            if name == "GetValue":
                inner = element_of(base)
                return None if inner is None else Type(inner)
            return (_SIZE if base.name == "GlobalTensor" else _COUNT) if name == "GetSize" else None
        if base.name == "TPipe" and name in ("FetchEventID", "AllocEventID"):
            return _PLAIN["int32_t"]
        owner = self.file.classes.get(base.name)
        for method in owner.methods if owner is not None else ():
            if method.name == name and owner is not None:
                if method.templates:
                    return self._result(method, value)
                return self._of_class(owner, callee.base, method.result)
        return None

    def _index(self, value: nodes.Index) -> Type | None:
        base = value.base
        if isinstance(base, nodes.Name):
            variable = self.scope.find(base.name)
            if variable is not None and variable.dims:
                return self.resolve(variable.type) if variable.dims == 1 else None
        found = self.of(base)
        if found is None or (found.name in TENSORS and not found.pointers):
            return found
        if found.pointers:
            return Type(found.name, found.args, pointers=found.pointers - 1)
        return None

    def _unary(self, value: nodes.Unary) -> Type | None:
        if value.op == "!":
            return _BOOL
        found = self.of(value.operand)
        if found is None:
            return None
        if value.op == "*":
            return Type(found.name, found.args, pointers=max(0, found.pointers - 1))
        if value.op == "&":
            return Type(found.name, found.args, pointers=found.pointers + 1)
        if value.op in ("++", "--"):
            return found
        wider = arithmetic(found.name, found.name)
        return found if wider is None else _PLAIN[wider]

    def _binary(self, value: nodes.Binary) -> Type | None:
        op = value.op
        if op in _COMPARES:
            return _BOOL
        if op == ",":
            return self.of(value.right)
        left = self.of(value.left)
        if op[-1] == "=":
            return left
        if op in ("<<", ">>"):
            return self._promoted(left)
        right = self.of(value.right)
        if left is None or right is None:
            return None
        if left.pointers or right.pointers or "GM_ADDR" in (left.name, right.name):
            return left if left.pointers or left.name == "GM_ADDR" else right
        wider = arithmetic(left.name, right.name)
        return None if wider is None else _PLAIN[wider]

    def _promoted(self, found: Type | None) -> Type | None:
        wider = None if found is None else arithmetic(found.name, found.name)
        return None if wider is None else _PLAIN[wider]

    def _ternary(self, value: nodes.Ternary) -> Type | None:
        left, right = self.of(value.left), self.of(value.right)
        if left is None or right is None:
            return left or right
        wider = arithmetic(left.name, right.name)
        return left if wider is None or left.pointers else _PLAIN[wider]

    def _cast(self, value: nodes.Cast) -> Type | None:
        return self.resolve(value.type)

    def _brace(self, value: nodes.Brace) -> Type | None:
        return self.resolve(value.type)

    def _size_of(self, value: nodes.SizeOf) -> Type | None:
        return _SIZE


_READERS: dict[type, Callable[[Types, Any], Type | None]] = {
    nodes.Literal: Types._literal,
    nodes.Name: Types._name,
    nodes.Member: Types._member,
    nodes.Call: Types._call,
    nodes.Index: Types._index,
    nodes.Unary: Types._unary,
    nodes.Binary: Types._binary,
    nodes.Ternary: Types._ternary,
    nodes.Cast: Types._cast,
    nodes.Brace: Types._brace,
    nodes.SizeOf: Types._size_of,
}
