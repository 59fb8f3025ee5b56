"""Callees that keep a function: ``functools.partial``, ``functools.lru_cache``, bound methods."""

from __future__ import annotations

import functools
import types

from pypto.elaborate.machine import Frame
from pypto.elaborate.purity import is_foreign
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Known
from pypto.error import Span

__all__ = ["unwrap"]

_CACHED = type(functools.lru_cache(lambda: None))


def unwrap(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> tuple[Known, list[Argument], dict[str, Argument]]:
    """The function that ``callee`` keeps, and all arguments it gets; what was read is recorded."""
    while True:
        value = callee.value
        if callee.origin is None:
            break
        if type(value) is _CACHED:
            # The helper is evaluated in the kernel's place: there is no result to keep.
            callee = frame.step(callee, ("attr", "__wrapped__"), span)
        elif type(value) is types.MethodType and not is_foreign(value):
            owner = frame.step(callee, ("attr", "__self__"), span)
            positional = [(owner, span), *positional]
            callee = frame.step(callee, ("attr", "__func__"), span)
        elif type(value) is functools.partial and not _has_gaps(value):
            positional, keyword = _given(frame, callee, positional, keyword, span)
            callee = frame.step(callee, ("attr", "func"), span)
        else:
            break
    return callee, positional, keyword


def _has_gaps(value: functools.partial[object]) -> bool:
    """Whether arguments are left out in the middle, as Python 3.14 can."""
    gap = getattr(functools, "Placeholder", None)
    return gap is not None and any(arg is gap for arg in value.args)


def _given(
    frame: Frame,
    callee: Known,
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> tuple[list[Argument], dict[str, Argument]]:
    """The arguments of a call of a partial: its own first, and the call's keywords over its own."""
    first = frame.step(callee, ("attr", "args"), span)
    named = frame.step(callee, ("attr", "keywords"), span)
    args, kwargs = frame.use(first, span), frame.use(named, span)
    before = [(frame.step(first, ("item", at), span), span) for at in range(len(args))]
    own = {key: (frame.step(named, ("item", key), span), span) for key in kwargs}
    return [*before, *positional], {**own, **keyword}
