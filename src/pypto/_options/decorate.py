"""``@pypto.options(...)`` on a function: its body runs in a scope of its own.

Loaded when a function is decorated. The body of a generator, a coroutine or an asynchronous
generator runs in steps; the scope is in force during each step and not between them, where the
caller's options are.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, cast

from pypto._options import state
from pypto._options.refuse import refuse_type
from pypto._options.value import Options

__all__ = ["scoped"]


def scoped(function: Callable[..., Any], name: str, values: Options) -> Callable[..., Any]:
    """``function`` with ``values`` as the scope ``name`` of each call.

    Raises FeTypeError for a class, and for what cannot be called.
    """
    if not callable(function):
        refuse_type("pypto.options decorates functions and kernels", "function", function)
    if isinstance(function, type):
        refuse_type(
            "pypto.options decorates functions and kernels, not classes",
            "function",
            function,
            "decorate its methods, or put `with pypto.options(...):` around what calls them",
        )
    wrapped = functools.wraps(function)(_wrapper(function, name, values))
    inner = getattr(function, "__pypto_options__", None)
    merged = values if inner is None else values.merged(inner)
    wrapped.__pypto_options__ = merged  # type: ignore[attr-defined]
    return wrapped


def _wrapper(function: Callable[..., Any], name: str, values: Options) -> Callable[..., Any]:
    """A function of the same kind, so that what asks :mod:`inspect` gets the same answer."""
    if _is(inspect.iscoroutinefunction, function):

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _driven(function(*args, **kwargs), _Steps(name, values))

        return coroutine
    if _is(inspect.isasyncgenfunction, function):

        async def asynchronous(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            body, steps = function(*args, **kwargs), _Steps(name, values)
            step = body.asend(None)
            while True:
                try:
                    item = await _driven(step, steps)
                except StopAsyncIteration:
                    return
                try:
                    step = body.asend((yield item))
                except GeneratorExit:
                    await _driven(body.aclose(), steps)
                    raise
                except BaseException as error:
                    step = body.athrow(error)

        return asynchronous
    if _is(inspect.isgeneratorfunction, function):

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from _drive(function(*args, **kwargs), _Steps(name, values)))

        return generator

    def plain(*args: Any, **kwargs: Any) -> Any:
        before = state.enter(name, values)
        try:
            return function(*args, **kwargs)
        finally:
            state.leave(before)

    return plain


def _is(kind: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    """Whether ``function``, or the ``__call__`` of an object, is of a kind."""
    return kind(function) or kind(getattr(type(function), "__call__", None))  # noqa: B004


class _Steps:
    """The scope of one call whose body runs in steps; what is set in it stays over them."""

    __slots__ = ("_inside", "_name", "_values")

    def __init__(self, name: str, values: Options) -> None:
        self._name = name
        self._values = values
        self._inside: state.Place | None = None

    def run(self, step: Callable[..., Any], *args: Any) -> Any:
        """``step(*args)`` inside the scope."""
        outside = state.here()
        if self._inside is None:
            state.enter(self._name, self._values)
        else:
            state.leave(self._inside)
        try:
            return step(*args)
        finally:
            self._inside = state.here()
            state.leave(outside)


def _drive(body: Any, steps: _Steps) -> Generator[Any, Any, Any]:
    """Run a generator, or what stands behind an ``await``, step by step; its result."""
    step, argument = body.send, None
    while True:
        try:
            item = steps.run(step, argument)
        except StopIteration as end:
            return end.value
        try:
            step, argument = body.send, (yield item)
        except GeneratorExit:
            steps.run(body.close)
            raise
        except BaseException as error:
            step, argument = body.throw, cast(Any, error)


_driven = types.coroutine(_drive)
