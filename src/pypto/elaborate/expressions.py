"""Expressions: literals, names, attributes, operators; calls and subscripts stand beside."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import libcst as cst

from pypto._spelling import nearest
from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import binary, boolean, truth, unary
from pypto.elaborate.attributes import attribute
from pypto.elaborate.branches import choose
from pypto.elaborate.calls import evaluate_call
from pypto.elaborate.closures import make_lambda
from pypto.elaborate.comparisons import compare
from pypto.elaborate.comprehensions import (
    dict_comprehension,
    generator,
    list_comprehension,
    set_comprehension,
    walrus,
)
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Evaluate, Frame, identifier
from pypto.elaborate.names import normal
from pypto.elaborate.printing import formatted, joined_text, runs, value_with_text
from pypto.elaborate.scalars import python_call
from pypto.elaborate.subscripts import evaluate_subscript
from pypto.elaborate.values import Item, Known, Mapping, Scalar, Sequence, scalar
from pypto.error import FeNameError, FeTypeError
from pypto.ir.expr import Expr, apply
from pypto.ops import registry

__all__ = ["EXPRESSIONS"]


def _literal(frame: Frame, node: Any) -> Item:
    text = node.value
    return Known(int(text) if text.isdecimal() else ast.literal_eval(text))


def _ellipsis(frame: Frame, node: cst.Ellipsis) -> Item:
    return Known(Ellipsis)


def _concatenated(frame: Frame, node: cst.ConcatenatedString) -> Item:
    left = frame.known(node.left, "a string")
    return Known(python_call(lambda a, b: a + b, frame.span(node), left, _text(frame, node.right)))


def _text(frame: Frame, node: cst.CSTNode) -> Any:
    return frame.known(node, "a string")


# --- names ---


_CONSTANTS = {"True": True, "False": False, "None": None}


def _name(frame: Frame, node: cst.Name) -> Item:
    name = identifier(node)
    if name in _CONSTANTS:
        return Known(_CONSTANTS[name])
    scope = frame.scope_of(name)
    if name in scope.locals:
        if name in scope.tensor_parameters:
            for rebinding in frame.context.rebindings:
                if rebinding.name == name:
                    rebinding.used_after = True
        return scope.lookup(name, frame.span(node))
    code = frame.parsed.function.__code__
    span = frame.span(node)
    if name in scope.own or name in code.co_varnames or name in code.co_cellvars:
        refuse(
            FeNameError,
            f"'{name}' has no value here: no statement that runs before sets it",
            span,
            help="assign it on every path that leads here",
        )
    found = frame.outer(name)
    if found is not None:
        return found
    known = {
        *_visible(frame),
        *code.co_freevars,
        *frame.parsed.function.__globals__,
        *dir(builtins),
    }
    near = nearest(name, sorted(known))
    help = f"did you mean '{near}'?" if near else "define it, or pass it as a parameter"
    if name in registry.names():
        help = f"did you mean 'pypto.{name}'?"
    written = normal(span.text())
    if written != name and written.startswith("__"):
        owner = name.removesuffix(written).lstrip("_")
        help = (
            f"'{written}' means '{name}' inside the class {owner}: define that, or use a name "
            "with one underscore"
        )
    refuse(FeNameError, f"name '{name}' is not defined", span, help=help)


def _visible(frame: Frame) -> set[str]:
    """Names with values in ``frame`` and the scopes around it."""
    found, scope = set(frame.locals), frame.enclosing
    while scope is not None:
        found.update(scope.locals)
        scope = scope.enclosing
    return found


def _attribute(frame: Frame, node: cst.Attribute) -> Item:
    owner = frame.evaluate(node.value)
    return attribute(frame, owner, identifier(node.attr), frame.span(node))


# --- operators ---


def _binary(frame: Frame, node: cst.BinaryOperation) -> Item:
    left = frame.evaluate(node.left)
    right = frame.evaluate(node.right)
    return binary(frame, type(node.operator), left, right, node)


def _unary(frame: Frame, node: cst.UnaryOperation) -> Item:
    return unary(frame, type(node.operator), frame.evaluate(node.expression), node)


def _comparison(frame: Frame, node: cst.Comparison) -> Item:
    """``a < b < c``: each operand once, and no further one after a link that is false."""
    left = frame.evaluate(node.left)
    links: list[Expr] = []
    result: Item = Known(True)
    for link in node.comparisons:
        right = frame.evaluate(link.comparator)
        result = compare(frame, link.operator, left, right, node)
        if isinstance(result, Scalar):
            links.append(result.expr)
        elif len(node.comparisons) == 1:
            return result
        elif not truth(frame, result, frame.span(node)):
            return result
        left = right
    if not links:
        return result
    joined = links[0]
    for condition in links[1:]:
        joined = apply("and", joined, condition)
    return scalar(joined)


def _ternary(frame: Frame, node: cst.IfExp) -> Item:
    test = frame.evaluate(node.test)
    span = frame.span(node.test)
    if not isinstance(test, Scalar):
        return frame.evaluate(node.body if truth(frame, test, span) else node.orelse)
    sides = (lambda: frame.evaluate(node.body), lambda: frame.evaluate(node.orelse))
    return choose(frame, test.expr, span, *sides)


# --- containers ---


def _items(frame: Frame, node: cst.Tuple | cst.List | cst.Set) -> list[Item]:
    items: list[Item] = []
    for element in node.elements:
        item = frame.evaluate(element.value)
        if isinstance(element, cst.StarredElement):
            span = frame.span(element.value)
            parts = items_of(frame, item, span)
            if parts is None:
                refuse(
                    FeTypeError, "only a list or tuple can stand behind *", span,
                    got=v.describe(item),
                )  # fmt: skip
            items += parts
        else:
            items.append(item)
    return items


def _tuple(frame: Frame, node: cst.Tuple) -> Item:
    return Sequence(_items(frame, node), False)


def _list(frame: Frame, node: cst.List) -> Item:
    return Sequence(_items(frame, node), True)


def _set(frame: Frame, node: cst.Set) -> Item:
    span = frame.span(node)
    parts = [frame.python(item, span, "an item of a set") for item in _items(frame, node)]
    return v.Set(python_call(set, span, parts))


def _dict(frame: Frame, node: cst.Dict) -> Item:
    items: dict[object, Item] = {}
    for element in node.elements:
        span = frame.span(element.value)
        if isinstance(element, cst.DictElement):
            key = frame.known(element.key, "a key of a dict")
            python_call(hash, span, key)
            items[key] = frame.evaluate(element.value)
            continue
        item = frame.evaluate(element.value)
        if isinstance(item, Mapping):
            items.update(item.items)
            continue
        value = frame.python(item, span, "** in a dict")
        if not isinstance(value, dict):
            refuse(FeTypeError, "only a dict can stand behind **", span, got=v.describe(item))
        items.update({key: Known(part) for key, part in value.items()})
    return Mapping(items)


# --- f-strings ---


def _formatted(frame: Frame, node: cst.FormattedString) -> Item:
    prefix = node.start.rstrip("'\"")
    quote = node.start[len(prefix) :]
    text = joined_text(_parts(frame, node.parts, prefix, quote))
    if all(isinstance(part, str) for part in text):
        return Known("".join(map(str, text)))
    return v.Text(text)


def _parts(frame: Frame, parts: Any, prefix: str, quote: str) -> list[str | Expr]:
    out: list[str | Expr] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText):
            text = part.value.replace("{{", "{").replace("}}", "}")
            raw = "r" if "r" in prefix.lower() else ""
            out.append(str(ast.literal_eval(f"{raw}{quote}{text}{quote}")))
        elif isinstance(part, cst.FormattedStringExpression):
            out += _field(frame, part, prefix, quote)
    return out


def _field(
    frame: Frame, part: cst.FormattedStringExpression, prefix: str, quote: str
) -> list[str | Expr]:
    span = frame.span(part.expression)
    item = frame.evaluate(part.expression)
    conversion, head = part.conversion, ""
    inner = v.Text(joined_text(_parts(frame, part.format_spec or (), prefix, quote)))
    spec: str = frame.python(inner, span, "the format in an f-string")
    if part.equal is not None:
        empty = cst.Module([])
        between = (part.whitespace_before_expression, part.expression, part.equal)
        head = "".join(empty.code_for_node(piece) for piece in between)
        if conversion is None and not part.format_spec:
            conversion = "r"
    if runs(item):
        return [head, *formatted(frame, item, spec, span)]
    value: Any = value_with_text(frame, item, span, "an f-string")
    if conversion is not None:
        value = _CONVERSIONS[conversion](value)
    return [head, str(python_call(format, span, value, spec))]


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def _starred(frame: Frame, node: cst.StarredElement) -> Item:
    raise Poisoned  # stands in containers and calls, which expand it themselves


EXPRESSIONS: dict[type, Evaluate] = {
    cst.Attribute: _attribute,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: boolean,
    cst.Call: evaluate_call,
    cst.Comparison: _comparison,
    cst.ConcatenatedString: _concatenated,
    cst.Dict: _dict,
    cst.DictComp: dict_comprehension,
    cst.Ellipsis: _ellipsis,
    cst.Float: _literal,
    cst.FormattedString: _formatted,
    cst.GeneratorExp: generator,
    cst.IfExp: _ternary,
    cst.Imaginary: _literal,
    cst.Integer: _literal,
    cst.Lambda: make_lambda,
    cst.List: _list,
    cst.ListComp: list_comprehension,
    cst.Name: _name,
    cst.NamedExpr: walrus,
    cst.Set: _set,
    cst.SetComp: set_comprehension,
    cst.SimpleString: _literal,
    cst.StarredElement: _starred,
    cst.Subscript: evaluate_subscript,
    cst.Tuple: _tuple,
    cst.UnaryOperation: _unary,
}
