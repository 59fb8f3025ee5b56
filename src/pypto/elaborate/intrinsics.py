"""Functions of the language (tiles, local tensors, min, max) and pure built-ins of Python."""

from __future__ import annotations

import functools
import types
from typing import Any, NoReturn

from pypto.elaborate import advice
from pypto.elaborate import values as v
from pypto.elaborate.arithmetic import operand
from pypto.elaborate.binding_builtins import bind_builtin
from pypto.elaborate.creation import (
    MAX_RANK,
    MAX_SIZE,
    filled_tensor,
    is_int,
    local_tensor,
)
from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.dunders import call_special_method
from pypto.elaborate.iteration import items_of, iterator, read_outline
from pypto.elaborate.loops import at_bound, make_loop
from pypto.elaborate.machine import Frame
from pypto.elaborate.purity import SYMBOLIC
from pypto.elaborate.scalars import as_number, from_python, python_call
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Item, Known, Scalar, Sequence, is_tensor, scalar
from pypto.elaborate.views import SIGNATURES, call_view
from pypto.error import FeNotImplementedError, FeTypeError, Span, TileError
from pypto.ir.expr import apply
from pypto.language import builtin
from pypto.language.annotation import Tensor, TensorAnnotation
from pypto.language.builtin import Builtin

__all__ = ["call_builtin", "call_pure", "refuse_tensor"]


Arguments = list[Argument]
Keywords = dict[str, Argument]


def call_builtin(
    frame: Frame,
    function: Builtin,
    positional: Arguments,
    keyword: Keywords,
    span: Span,
    name: str | None,
) -> Item:
    """A call of one of ``language.builtin``; ``name`` is the name that the result gets."""
    if function in SIGNATURES:
        return call_view(frame, function, positional, keyword, span, name)
    if function in (builtin.zeros, builtin.ones, builtin.full):
        return filled_tensor(frame, function, positional, keyword, span, name)
    if function is builtin.tensor:
        return local_tensor(frame, positional, keyword, span, name)
    if function is builtin.set_vec_tile_shapes:
        return _set_vec_tile(frame, positional, keyword, span)
    if function is builtin.min or function is builtin.max:
        return call_pure(frame, min if function is builtin.min else max, positional, keyword, span)
    if function is builtin.get_vec_tile_shapes:
        bind_builtin(function, positional, keyword, span, ())
        return from_python(list(frame.context.builder.tile or ()))
    if function is builtin.set_semantic_label:
        given = bind_builtin(function, positional, keyword, span, ("label",))
        label = frame.python(*given["label"], "a semantic label")
        if not isinstance(label, str):
            refuse(FeTypeError, "a semantic label is a string", given["label"][1], got=repr(label))
        return Known(None)
    if function is builtin.loop or function is builtin.loop_unroll:
        return make_loop(frame, function, positional, keyword, span)
    if function is builtin.is_loop_begin or function is builtin.is_loop_end:
        given = bind_builtin(function, positional, keyword, span, ("index",))
        return at_bound(frame, function, given["index"])
    if function is builtin.cond:
        return bind_builtin(function, positional, keyword, span, ("condition",))["condition"][0]
    refuse(
        FeNotImplementedError,
        f"pypto.{function.name} is not available in this version",
        span,
        help="leave it out: no operation of this version depends on it",
    )


# --- the vector tile ---


def _set_vec_tile(frame: Frame, positional: Arguments, keyword: Keywords, span: Span) -> Item:
    usage = "pypto.set_vec_tile_shapes(16, 64): one size per axis, the last axis last"
    for key, (_, place) in keyword.items():
        refuse(FeTypeError, f"set_vec_tile_shapes has no parameter '{key}'", place, help=usage)
    if not 1 <= len(positional) <= MAX_RANK:
        refuse(
            TileError, f"a vector tile has 1 to {MAX_RANK} sizes, got {len(positional)}", span,
            help=usage,
        )  # fmt: skip
    sizes = []
    for index, (item, place) in enumerate(positional):
        value = frame.python(item, place, "a tile size")
        if isinstance(value, bool) or not is_int(Known(value)):
            refuse(
                FeTypeError, f"the size of the vector tile in axis {index} is no int", place,
                expected="an int of 1 or more", got=v.describe(Known(value)), help=usage,
            )  # fmt: skip
        size = int(value)
        if not 1 <= size <= MAX_SIZE:
            problem = "too large" if size > 0 else "not positive"
            refuse(
                TileError, f"the size of the vector tile in axis {index} is {problem}", place,
                expected="an int of 1 or more in 64 bits", got=v.number_text(size), help=usage,
            )  # fmt: skip
        sizes.append(size)
    frame.context.builder.tile = tuple(sizes)
    frame.context.builder.tile_span = span
    return Known(None)


# --- pure functions of Python ---


def call_pure(
    frame: Frame, function: Any, positional: Arguments, keyword: Keywords, span: Span
) -> Item:
    """A built-in or standard function at compile time; some take run-time scalars too."""
    name = function.__name__
    if function in _ITERATORS:
        made = iterator(frame, function, positional, keyword, span)
        if made is not None:
            return made
    positional = _drained(frame, function, positional)
    if not keyword:
        special = _on_items(frame, function, positional, span)
        if special is not None:
            return special
        special = _on_scalars(frame, function, positional, span)
        if special is not None:
            return special
    for item, place in positional:
        if is_tensor(item):
            refuse_tensor(name, item, place)
    what = f"{name}(...)"
    args = [frame.python(item, place, what) for item, place in positional]
    kwargs = {key: frame.python(item, place, what) for key, (item, place) in keyword.items()}
    return from_python(python_call(function, span, *args, **kwargs))


_ITERATORS = (zip, enumerate, reversed)
_DRAINING = frozenset({bytes, dict, frozenset, list, max, min, set, sorted, sum, tuple})
_UNREADABLE = frozenset({ascii, format, len, repr, reversed, str})


def _drained(frame: Frame, function: Any, positional: Arguments) -> Arguments:
    """The arguments, with the items of an iterator where ``function`` takes them all."""
    if not positional or not isinstance(positional[0][0], v.Cursor):
        return positional
    item, place = positional[0]
    if function in _UNREADABLE:
        refuse(
            FeTypeError, f"{function.__name__} does not take an iterator", place,
            got=v.describe(item), help="make a list of it first: list(...)",
        )  # fmt: skip
    if function not in _DRAINING:
        return positional
    return [(Sequence(items_of(frame, item, place) or [], True), place), *positional[1:]]


def refuse_tensor(function: str, item: Item, place: Span) -> NoReturn:
    """No item of a tensor is known; ``function`` may have an operation of pypto instead."""
    help = advice.for_function(function) or advice.for_attribute(function, "x")
    refuse(
        FeTypeError, f"{function} does not take a tensor", place,
        expected="a value that is known at compile time", got=v.describe(item),
        help=help or "the elements of a tensor are known only when the kernel runs",
    )  # fmt: skip


def _on_items(frame: Frame, function: Any, positional: Arguments, span: Span) -> Item | None:
    """Functions of lists and tuples whose items may be tensors; None: not one of those."""
    if function is len and len(positional) == 1:
        item = positional[0][0]
        if isinstance(item, v.Tensor):
            return scalar(item.type.shape[0])
        if isinstance(item, Sequence | v.Mapping | v.Set):
            return Known(len(item.items))
        if isinstance(item, Known) and type(item.value) in (list, tuple, dict):
            return Known(len(read_outline(frame, item, span)))
        if isinstance(item, v.View):
            return Known(len(item.owner.items))
        return call_special_method(frame, item, "__len__", [], span)
    if function is isinstance and len(positional) == 2:
        return _is_instance(frame, positional)
    if function in (list, tuple) and len(positional) == 1:
        parts = items_of(frame, *positional[0])
        return None if parts is None else Sequence(parts, function is list)
    return None


def _is_instance(frame: Frame, positional: Arguments) -> Item | None:
    """``isinstance`` of what is no Python object here; None: Python decides."""
    item, place = positional[0]
    kinds = frame.python(*positional[1], "isinstance")
    given = kinds if isinstance(kinds, tuple) else (kinds,)
    if is_tensor(item):
        return Known(Tensor in given or TensorAnnotation in given)
    if isinstance(item, Scalar):
        kind = {"int": int, "float": float, "bool": bool}[item.expr.kind]
        return Known(any(isinstance(k, type) and issubclass(kind, k) for k in given))
    if isinstance(item, Sequence) and item.kind is not None:
        kind = item.kind.value  # type: ignore[assignment]
        return Known(any(isinstance(k, type) and issubclass(kind, k) for k in given))
    if isinstance(item, v.Instance):
        return Known(any(isinstance(k, type) and issubclass(item.cls, k) for k in given))
    if isinstance(item, v.CALLABLE):
        kind = types.FunctionType if isinstance(item, v.Closure) else types.MethodType
        kind = functools.partial if isinstance(item, v.Partial) else kind
        return Known(any(isinstance(k, type) and issubclass(kind, k) for k in given))
    if isinstance(item, Sequence):
        return Known((list if item.mutable else tuple) in given)
    if isinstance(item, v.Mapping):
        return Known(dict in given)
    if isinstance(item, v.Set):
        return Known(set in given)
    if isinstance(item, v.Cursor | v.View):
        kind = item.maker if isinstance(item, v.Cursor) else type(getattr({}, item.name)())
        return Known(any(isinstance(k, type) and issubclass(kind, k) for k in given))
    value = frame.use(item, place) if isinstance(item, Known) else None
    return Known(python_call(isinstance, place, value, given))


def _on_scalars(frame: Frame, function: Any, positional: Arguments, span: Span) -> Item | None:
    """``abs``, ``min``, ``max``, ``int``, ``float`` of run-time scalars; None: not that."""
    try:
        op = SYMBOLIC.get(function)
    except TypeError:
        return None
    if op is None:
        return None
    given = positional
    if op in ("min", "max") and len(positional) == 1:
        parts = items_of(frame, *positional[0])
        given = [(part, positional[0][1]) for part in parts or ()]
    if any(is_tensor(item) for item, _ in given):
        item, place = next(argument for argument in given if is_tensor(argument[0]))
        refuse_tensor(function.__name__, item, place)
    if not any(isinstance(item, Scalar) for item, _ in given):
        return None
    exprs = [operand(frame, item, place) for item, place in given]
    numbers = [as_number(expr) for expr in exprs if expr is not None]
    if len(numbers) != len(exprs) or len({expr.kind for expr in numbers}) != 1:
        return None  # Python's result has the type of the operand that wins
    if op in ("min", "max"):
        result = numbers[0]
        for other in numbers[1:]:
            result = apply(op, result, other)
        return scalar(result)
    if len(numbers) != 1:
        return None
    if op == "to_int" and numbers[0].kind == "int":
        return scalar(numbers[0])
    return scalar(apply(op, numbers[0]))
