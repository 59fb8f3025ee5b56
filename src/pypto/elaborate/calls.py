"""Calls: operations, functions of the language, options, pure functions, and inlined helpers."""

from __future__ import annotations

import enum
import inspect
import types
from dataclasses import replace
from typing import Any, NoReturn

import libcst as cst

from pypto import _options
from pypto._options.state import warn
from pypto.elaborate import values as v
from pypto.elaborate.captures import path_text
from pypto.elaborate.diagnostics import Poisoned, refuse
from pypto.elaborate.functional import call_special
from pypto.elaborate.helpers import call_closure, call_helper
from pypto.elaborate.intrinsics import call_builtin, call_pure
from pypto.elaborate.iteration import items_of
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.methods import call_method
from pypto.elaborate.movement import call_operation
from pypto.elaborate.objects import behaviour, instance_attribute, make_object
from pypto.elaborate.purity import is_foreign, is_pure, why_impure
from pypto.elaborate.scalars import dict_of, from_python, python_call
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Instance, Item, Known
from pypto.elaborate.wrappers import unwrap
from pypto.error import FeTypeError, PyptoError, Span
from pypto.ir.dtype import DataType
from pypto.ir.expr import as_int
from pypto.language import builtin
from pypto.language.annotation import Tensor as TensorClass
from pypto.language.builtin import Builtin, bytes_of, ceildiv
from pypto.language.element import Element
from pypto.language.elsewhere import Elsewhere
from pypto.language.function import Function
from pypto.language.symbolic import SymbolicScalar
from pypto.ops.registry import Operation

__all__ = ["call_value", "evaluate_call"]

_OWN_PURE = (bytes_of, ceildiv, SymbolicScalar, Element)


def evaluate_call(frame: Frame, node: cst.Call) -> Item:
    """The value of a call; operations and helpers append statements."""
    callee = frame.evaluate(node.func)
    positional, keyword = _arguments(frame, node)
    span = frame.span(node)
    if not isinstance(callee, Known | Instance | v.Method | v.Closure | v.Bound | v.Partial):
        refuse(
            FeTypeError, f"'{frame.span(node.func).text()}' cannot be called", span,
            expected="a function", got=v.describe(callee),
        )  # fmt: skip
    value = callee.value if isinstance(callee, Known) else callee
    plain = isinstance(value, int | float | str | tuple | None) and not isinstance(value, enum.Enum)
    if plain:
        refuse(
            FeTypeError, f"'{frame.span(node.func).text()}' cannot be called", span,
            expected="a function", got=v.describe(callee),
            help="it is a value: leave the parentheses out" if not node.args else None,
        )  # fmt: skip
    return call_value(frame, callee, positional, keyword, span, frame.name_for(node))


def call_value(
    frame: Frame,
    callee: Item,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
    name: str | None = None,
) -> Item:
    """``callee(...)``; ``name`` is the Python name that the result gets."""
    if isinstance(callee, v.Method):
        return call_method(frame, callee, positional, keyword, span, name)
    if isinstance(callee, v.Closure):
        return call_closure(frame, callee, positional, keyword, span)
    if isinstance(callee, v.Partial):
        given = [*((item, span) for item in callee.positional), *positional]
        named = {key: (item, span) for key, item in callee.keyword.items()} | keyword
        return call_value(frame, callee.function, given, named, span, name)
    if isinstance(callee, Instance):
        callee = instance_attribute(frame, callee, "__call__", span)
        return call_value(frame, callee, positional, keyword, span, name)
    if isinstance(callee, v.Bound):
        positional = [(callee.receiver, span), *positional]
        callee = callee.function
    if isinstance(callee, v.Poison):
        raise Poisoned
    if not isinstance(callee, Known):
        refuse(
            FeTypeError, f"{v.describe(callee)} cannot be called", span, expected="a function"
        )  # fmt: skip
    callee, positional, keyword = unwrap(frame, callee, positional, keyword, span)
    return _call(frame, callee, positional, keyword, span, name)


def _call(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
    name: str | None,
) -> Item:
    """A call of a Python object, by its kind."""
    value = callee.value
    if isinstance(value, Operation):
        frame.use(callee, span)
        return call_operation(frame, value.spec, tuple(positional), keyword, span, name)
    if isinstance(value, Builtin):
        frame.use(callee, span)
        return call_builtin(frame, value, positional, keyword, span, name)
    if isinstance(value, Elsewhere):
        value.refuse(frame.context.options.soc_version, span)
    if isinstance(value, types.FunctionType | Function):
        family = _options.SETTERS.get(value) if isinstance(value, types.FunctionType) else None
        if family is not None:
            return _set_options(frame, family, positional, keyword, span)
        if value is _options.set_options:
            return _set_all_options(frame, positional, keyword, span)
        if isinstance(value, Function) or not (_is_own(value) or is_foreign(value)):
            return call_helper(frame, callee, positional, keyword, span)
    if value is object.__init__ and not positional:
        return Known(None)
    special = call_special(frame, callee, positional, keyword, span)
    if special is not None:
        return special
    own = any(value is function for function in _OWN_PURE)
    if own or is_pure(value):
        frame.use(callee, span)
        if own:
            return _own_function(frame, value, positional, keyword, span)
        return call_pure(frame, value, positional, keyword, span)
    if isinstance(value, type):
        made = make_object(frame, callee, positional, keyword, span)
        if made is not None:
            return made
    elif not _is_own(value) and not _is_own(type(value)):
        method = behaviour(frame, callee, "__call__", span)
        if isinstance(method, v.Bound):
            return call_value(frame, method, positional, keyword, span, name)
    _refuse_call(callee, span)


def _arguments(frame: Frame, node: cst.Call) -> tuple[list[Argument], dict[str, Argument]]:
    positional: list[Argument] = []
    keyword: dict[str, Argument] = {}
    for arg in node.args:
        span = frame.span(arg.value)
        item = frame.evaluate(arg.value)
        if arg.star == "*":
            parts = items_of(frame, item, span)
            if parts is None:
                refuse(
                    FeTypeError, "only a list or tuple can stand behind * in a call", span,
                    got=v.describe(item),
                )  # fmt: skip
            positional += [(part, span) for part in parts]
        elif arg.star == "**":
            for name, part in _keywords(frame, item, span).items():
                _add_keyword(keyword, name, (part, span))
        elif arg.keyword is not None:
            _add_keyword(keyword, identifier(arg.keyword), (item, span))
        else:
            positional.append((item, span))
    return positional, keyword


def _keywords(frame: Frame, item: Item, span: Span) -> dict[str, Item]:
    found = dict_of(frame, item, span)
    if found is None:
        refuse(FeTypeError, "only a dict can stand behind ** in a call", span, got=v.describe(item))
    names = [key for key in found if isinstance(key, str)]
    if len(names) != len(found):
        refuse(FeTypeError, "the keys of a dict behind ** must be strings", span)
    return {name: found[name] for name in names}


def _add_keyword(keyword: dict[str, Argument], name: str, argument: Argument) -> None:
    if name in keyword:
        refuse(FeTypeError, f"the call gives '{name}' twice", argument[1])
    keyword[name] = argument


def _is_own(value: object) -> bool:
    module = getattr(value, "__module__", None) or ""
    return module == "pypto" or module.startswith("pypto.")


def _set_options(
    frame: Frame,
    family: str,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    if positional:
        refuse(
            FeTypeError, f"pypto.set_{family} takes keyword arguments only", positional[0][1],
            help=f"write pypto.set_{family}(key=value)",
        )  # fmt: skip
    values = {n: frame.python(i, s, f"option '{n}'") for n, (i, s) in keyword.items()}
    try:
        given = _options.validate(family, values)
    except PyptoError as error:
        raise type(error)([replace(d, span=d.span or span) for d in error.diagnostics]) from None
    warn(given)
    frame.context.options = frame.context.options.merged(given)
    return Known(None)


def _set_all_options(
    frame: Frame, positional: list[Argument], keyword: dict[str, Argument], span: Span
) -> Item:
    """``pypto.set_options(family={...}, vec_tile_shapes=[...])``."""
    if positional:
        refuse(FeTypeError, "pypto.set_options takes keyword arguments only", positional[0][1])
    for name, (item, place) in keyword.items():
        if name == "vec_tile_shapes":
            sizes = items_of(frame, item, place)
            if sizes is None:
                refuse(
                    FeTypeError, "vec_tile_shapes is a list of sizes", place,
                    got=v.describe(item),
                )  # fmt: skip
            given = [(size, place) for size in sizes]
            call_builtin(frame, builtin.set_vec_tile_shapes, given, {}, span, None)
            continue
        values = frame.python(item, place, f"option family '{name}'")
        if values is not None and not isinstance(values, dict):
            refuse(
                FeTypeError, f"{name} is a dict of options", place, got=v.describe(item),
                help="call pypto.set_cube_tile_shapes(...) and the like for other tiles",
            )  # fmt: skip
        given_options = {key: (from_python(part), place) for key, part in (values or {}).items()}
        _set_options(frame, name, [], given_options, place)
    return Known(None)


def _own_function(
    frame: Frame,
    function: Any,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> Item:
    """Functions of pypto that work on compile-time values."""
    name = function.__name__
    if function is ceildiv and len(positional) == 2 and not keyword:
        from pypto.elaborate.arithmetic import ceil_divide

        return ceil_divide(frame, positional[0][0], positional[1][0], span)
    if function is SymbolicScalar and len(positional) == 1 and not keyword:
        item = positional[0][0]
        if isinstance(item, v.Scalar):
            return item
    args = [frame.python(item, place, name) for item, place in positional]
    kwargs = {key: frame.python(item, place, name) for key, (item, place) in keyword.items()}
    result = python_call(function, span, *args, **kwargs)
    if isinstance(result, SymbolicScalar):
        known = as_int(result.expr)
        if known is None:
            refuse(
                FeTypeError, "a symbolic scalar with a name cannot be made inside a kernel", span,
                help="use the shape of a tensor: x.shape[0]",
            )  # fmt: skip
        return Known(known)
    return from_python(result)


def _refuse_call(callee: Known, span: Span) -> NoReturn:
    value = callee.value
    name = path_text(callee.origin).rpartition(" -> ")[2] if callee.origin else repr(value)
    if isinstance(value, types.MethodType) and not is_foreign(value):
        refuse(
            FeTypeError,
            f"a kernel cannot call the method {name}",
            span,
            help="make it a plain function and pass it what it needs",
        )
    if type(value).__name__ == "JitFunction" and _is_own(type(value)):
        refuse(
            FeTypeError,
            f"a kernel cannot call the kernel {name}",
            span,
            help="move the common part into a plain function that both kernels call",
        )
    if _is_own(value) and (inspect.isroutine(value) or isinstance(value, type)):
        refuse(
            FeTypeError,
            f"a kernel cannot call pypto.{value.__name__}",
            span,
            help="make a local tensor with pypto.tensor(shape, dtype)"
            if value is TensorClass
            else "call it outside the kernel",
        )
    if not callable(value):
        refuse(
            FeTypeError, f"'{name}' cannot be called", span, expected="a function",
            got=v.describe(callee),
            help=f"write pypto.cast(x, pypto.{value})" if isinstance(value, DataType) else None,
        )  # fmt: skip
    message, help = why_impure(value, name)
    refuse(FeTypeError, message, span, help=help)
