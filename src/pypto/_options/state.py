"""Where options are set: the process, and nested scopes of the current context.

A scope belongs to the thread (or task) that opened it: contexts are carried by ``contextvars``.
What is set outside any scope is global and seen by every thread.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeAlias

from pypto._options.check import warn_not_yet
from pypto._options.modes import RunMode
from pypto._options.value import Options, validate
from pypto._record import Record
from pypto.error import Diagnostic, FeValueError

__all__ = [
    "SCOPE_SERIAL",
    "Place",
    "Scope",
    "current",
    "enter",
    "environment_run_mode",
    "epoch",
    "here",
    "leave",
    "on_change",
    "on_global_change",
    "reset",
    "resolve",
    "scopes",
    "set_here",
    "validate_families",
    "warn",
]


class Scope(Record):
    """One open scope: what was set in it, and the scopes around it."""

    name: str
    own: Options
    parent: Scope | None  # None: directly inside the global scope


Place: TypeAlias = "tuple[Scope | None, int]"
"""The innermost scope of a context, and its :data:`SCOPE_SERIAL`."""

_lock = threading.Lock()
_global = Options()
_global_serial = 0
_serials = itertools.count(1)
_scope: ContextVar[Scope | None] = ContextVar("pypto_options_scope", default=None)
_callbacks: list[Callable[[int], None]] = []
_global_callbacks: list[Callable[[], None]] = []

SCOPE_SERIAL: ContextVar[int] = ContextVar("pypto_options_scope_serial", default=0)
"""Number of the scopes that are open in this context and of what they set; 0: no scope."""


def epoch() -> int:
    """A number that identifies the options in force here: equal numbers, equal options.

    It changes when anything is set and when a scope is entered, and comes back when a scope is
    left that left the global options alone.
    """
    return (_global_serial << 32) | SCOPE_SERIAL.get()


def on_change(callback: Callable[[int], None]) -> Callable[[], None]:
    """Call ``callback(epoch())`` after each change, in the thread that made it.

    Returns a function that ends this.
    """
    _callbacks.append(callback)
    return lambda: _callbacks.remove(callback)


def on_global_change(callback: Callable[[], None]) -> Callable[[], None]:
    """Call ``callback()`` after each change of the global options; returns what ends this.

    For a launcher that compares :data:`SCOPE_SERIAL` itself: entering and leaving scopes then
    needs no call.
    """
    _global_callbacks.append(callback)
    return lambda: _global_callbacks.remove(callback)


def scopes() -> tuple[tuple[str, Options], ...]:
    """Name and own options of every scope in force, the global one first."""
    found: list[tuple[str, Options]] = []
    scope = _scope.get()
    while scope is not None:
        found.append((scope.name, scope.own))
        scope = scope.parent
    return (("global", _global), *reversed(found))


def current() -> Options:
    """The options in force here."""
    return functools.reduce(Options.merged, (own for _, own in scopes()))


def set_here(values: Options) -> None:
    """Set ``values`` in the innermost scope; outside any scope, for the process."""
    global _global, _global_serial
    if not values.given:
        return
    warn(values)
    scope = _scope.get()
    if scope is None:
        with _lock:
            _global = _global.merged(values)
            _global_serial = next(_serials)
        _changed_globally()
    else:
        _put(replace(scope, own=scope.own.merged(values)))
    _changed()


def here() -> Place:
    """The scopes open here; :func:`leave` brings them back."""
    return _scope.get(), SCOPE_SERIAL.get()


def enter(name: str, values: Options) -> Place:
    """Open a scope; give the result to :func:`leave`."""
    warn(values)
    before = here()
    _put(Scope(name, values, before[0]))
    _changed()
    return before


def leave(before: Place) -> None:
    """Close the scope that gave ``before``, with all that was set in it."""
    scope, serial = before
    _scope.set(scope)
    SCOPE_SERIAL.set(serial)
    _changed()


def reset() -> None:
    """Everything back to defaults: the process and all scopes open in this context.

    Scopes around the innermost one have their values again when it is left.
    """
    global _global, _global_serial
    scope = _scope.get()
    with _lock:
        _global = Options()
        _global_serial = next(_serials)
    _changed_globally()
    if scope is not None:
        _put(Scope(scope.name, Options(), None))
    _changed()


def resolve(
    decorator: Mapping[str, Mapping[str, object] | None] | Options | None = None,
    *,
    scope: Options | None = None,
) -> Options:
    """The options of a call: global, then open scopes, then ``scope``, then the decorator's.

    ``decorator`` maps families to their values (as given to ``jit``) or is checked already;
    ``scope`` is what ``@pypto.options`` attached to the kernel. ``PYPTO_RUN_MODE`` in the
    environment overrides ``run_mode``.
    """
    options = current()
    if scope is not None:
        options = options.merged(scope)
    if decorator is not None:
        own = decorator if isinstance(decorator, Options) else validate_families(decorator)
        warn(own)
        options = options.merged(own)
    mode = environment_run_mode()
    if mode is not None:
        options = options.merged(Options((("runtime_options.run_mode", int(mode)),)))
    return options


def validate_families(families: Mapping[str, Mapping[str, object] | None]) -> Options:
    """The options of several families, checked, without any effect."""
    checked: Iterable[Options] = (validate(name, values) for name, values in families.items())
    return functools.reduce(Options.merged, checked, Options())


@functools.cache
def environment_run_mode() -> RunMode | None:
    """``PYPTO_RUN_MODE`` (sim or npu), read once in a process; FeValueError for anything else."""
    text = os.environ.get("PYPTO_RUN_MODE", "")
    name = text.strip().upper()
    if not name:
        return None
    if name not in RunMode.__members__:
        raise FeValueError(
            [
                Diagnostic(
                    FeValueError,
                    "F00002",
                    "the environment variable PYPTO_RUN_MODE has an unknown value",
                    expected="sim or npu",
                    got=repr(text),
                )
            ]
        )
    return RunMode[name]


def warn(values: Options) -> None:
    """Say once in a process, for each option given, that it has no effect yet."""
    for option, value in values.given_options():
        warn_not_yet(option, value)


def _put(scope: Scope) -> None:
    _scope.set(scope)
    SCOPE_SERIAL.set(next(_serials))


def _changed() -> None:
    now = epoch()
    for callback in tuple(_callbacks):
        callback(now)


def _changed_globally() -> None:
    for callback in tuple(_global_callbacks):
        callback()
