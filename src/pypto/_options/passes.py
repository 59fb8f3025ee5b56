"""Configuration of single passes, as the public contract has it. It has no effect yet."""

from __future__ import annotations

import threading

from pypto._options.modes import PassConfigKey
from pypto._record import Record
from pypto.error import Diagnostic, PassTypeError, PassValueError, PyptoWarning

__all__ = [
    "PassConfigs",
    "get_pass_config",
    "get_pass_configs",
    "get_pass_default_config",
    "set_pass_config",
    "set_pass_default_config",
]


class PassConfigs(Record):
    """What is configured for one pass; names as in the contract."""

    printGraph: bool = False
    dumpGraph: bool = False
    dumpPassTimeCost: bool = True
    preCheck: bool = False
    postCheck: bool = False
    disablePass: bool = False
    healthCheck: bool = False


_lock = threading.Lock()
_defaults: dict[PassConfigKey, bool] = {}
_single: dict[tuple[str, str, PassConfigKey], bool] = {}
_warned = False


def set_pass_default_config(key: PassConfigKey, value: bool) -> None:
    """Set the default of ``key`` for all passes, process-wide."""
    _check(key, value)
    with _lock:
        _defaults[key] = value
    _warn(value)


def get_pass_default_config(key: PassConfigKey, default_value: bool) -> bool:
    """The default of ``key`` for all passes; ``default_value`` when it was not set."""
    _check(key, default_value)
    return _defaults.get(key, default_value)


def set_pass_config(strategy: str, identifier: str, key: PassConfigKey, value: bool) -> None:
    """Set ``key`` for the pass ``identifier`` of ``strategy``, process-wide."""
    _check(key, value)
    _check_names(strategy, identifier)
    with _lock:
        _single[strategy, identifier, key] = value
    _warn(value)


def get_pass_config(
    strategy: str, identifier: str, key: PassConfigKey, default_value: bool
) -> bool:
    """``key`` of one pass; the default of all passes, or ``default_value``, when not set."""
    _check(key, default_value)
    _check_names(strategy, identifier)
    return _single.get((strategy, identifier, key), _defaults.get(key, default_value))


def get_pass_configs(strategy: str, identifier: str) -> PassConfigs:
    """All that is configured for one pass."""
    dump = get_pass_config(strategy, identifier, PassConfigKey.KEY_DUMP_GRAPH, False)
    return PassConfigs(dumpGraph=dump)


def _check(key: object, value: object) -> None:
    if not isinstance(key, PassConfigKey):
        got = f"{key!r} ({type(key).__name__})"
        raise PassValueError(
            [Diagnostic(PassValueError, "F00002", "the key must be a pypto.PassConfigKey", None,
                        "PassConfigKey.KEY_DUMP_GRAPH", got)]
        )  # fmt: skip
    if not isinstance(value, bool):
        got = f"{value!r} ({type(value).__name__})"
        raise PassTypeError(
            [Diagnostic(PassTypeError, "F00001", f"the value of {key.name} must be a bool", None,
                        "bool", got)]
        )  # fmt: skip


def _check_names(*names: object) -> None:
    for name in names:
        if not isinstance(name, str):
            got = f"{name!r} ({type(name).__name__})"
            raise PassTypeError(
                [Diagnostic(PassTypeError, "F00001", "strategy and identifier are names", None,
                            "str", got)]
            )  # fmt: skip


def _warn(value: bool) -> None:
    global _warned
    if value and not _warned:
        _warned = True
        message = "configuration of single passes has no effect yet: use compile_debug_mode=1"
        from pypto._warn import warn

        warn(message, PyptoWarning)
