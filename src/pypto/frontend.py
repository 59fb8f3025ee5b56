"""``pypto.frontend``: the decorators, and dynamic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto._jit import jit as jit
    from pypto.language.function import function as function
    from pypto.language.symbolic import dynamic as dynamic

__all__ = ["dynamic", "function", "jit"]


def __getattr__(name: str) -> Any:
    """PEP 562: names are imported when they are first used."""
    from importlib import import_module

    from pypto._collector import CollectorPause

    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'pypto.frontend' has no attribute '{name}'")
    with CollectorPause():
        value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


_MODULES = {
    "dynamic": "pypto.language.symbolic",
    "function": "pypto.language.function",
    "jit": "pypto._jit",
}
