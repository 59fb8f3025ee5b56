"""The launcher without a compiled module: the slower fallback for machines without ``Python.h``.

It has the interface of the C launcher (``launcher.c``) and takes the same decisions; a call costs
tens of microseconds instead of one or two. Kernels and the runtime library are the same binaries,
called through ctypes. ``runtime/tools.py`` chooses it where the C launcher cannot be compiled, or
where ``PYPTO_LAUNCHER=python`` asks for it.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from pypto._traceback import full_tracebacks, outside
from pypto.error import PyptoError
from pypto.runtime.plain_values import MAX_RANK, TensorReader
from pypto.runtime.plain_variant import (
    ABI_VERSION,
    ABSENT,
    RELEASE_GIL_ABOVE,
    STATE,
    Variant,
    Views,
)

__all__ = [
    "ABI_VERSION",
    "MAX_RANK",
    "MAX_VARIANTS",
    "RELEASE_GIL_ABOVE",
    "Dispatcher",
    "Forwarder",
    "Variant",
    "bump_epoch",
    "epoch",
    "init",
    "scope",
    "set_scope_variable",
]

MAX_VARIANTS = 64  # variants that a dispatcher keeps


def init(
    tensor_types: tuple[type, ...],
    exchange_api: object,
    dtypes: dict[Any, int],
    strided: object,
    increment_version: Callable[[tuple[Any, ...]], Any],
    is_grad_enabled: Callable[[], bool],
    forward_levels: dict[str, Any] | None,
    /,
) -> str:
    """Tell the launcher about torch; returns ``"attributes"``, the way tensors are read here."""
    if not isinstance(tensor_types, tuple) or not isinstance(dtypes, dict):
        raise TypeError("tensor_types must be a tuple of types, dtypes a dict")
    if not tensor_types or not isinstance(tensor_types[0], type):
        raise TypeError("tensor_types must be a tuple of types")
    if forward_levels is not None and not isinstance(forward_levels, dict):
        raise TypeError("forward_levels must be a dict or None")
    STATE.forward_levels = forward_levels
    STATE.reader = TensorReader(tensor_types, dtypes, strided, increment_version, is_grad_enabled)
    return "attributes"


def bump_epoch() -> int:
    """The global options changed; no variant made so far matches again."""
    STATE.epoch += 1
    return STATE.epoch


def epoch() -> int:
    return STATE.epoch


def set_scope_variable(variable: ContextVar[Any] | None) -> None:
    """Variants match while ``variable`` holds the same object."""
    if variable is not None and not isinstance(variable, ContextVar):
        raise TypeError("a ContextVar or None expected")
    STATE.scope_variable = variable
    STATE.epoch += 1


def scope() -> Any:
    """What the scope variable holds; else None."""
    found = STATE.scope()
    return None if found is ABSENT else found


class Dispatcher:
    """Runs the variant that fits the arguments, else ``fallback(args, kwargs)``, whose result is
    returned. A call that a variant runs returns None."""

    def __init__(
        self,
        name: str,
        param_names: tuple[str, ...],
        defaults: dict[str, Any],
        fallback: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    ) -> None:
        if not isinstance(name, str) or not isinstance(defaults, dict):
            raise TypeError("a str as name and a dict of defaults expected")
        if not isinstance(param_names, tuple) or any(type(n) is not str for n in param_names):
            raise TypeError("parameter names must be a tuple of str")
        self.name = name
        self.param_names = param_names
        self.variants: tuple[Variant, ...] = ()  # replaced as a whole, never changed
        self.fallbacks = 0
        self._defaults = defaults
        self._fallback = fallback

    def __repr__(self) -> str:
        return f"<pypto dispatcher {self.name}, {len(self.variants)} variants>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        values: tuple[Any, ...] | None = args
        if len(args) != len(self.param_names) or kwargs:
            values = self._bound(args, kwargs)
        if values is not None and not STATE.records() and self._run_variants(values):
            return None
        self.fallbacks += 1
        return self._fallback(args, kwargs)

    def run(self, args: tuple[Any, ...]) -> bool:
        """Run the first variant that fits a tuple of all arguments; False: none does."""
        if not isinstance(args, tuple) or len(args) != len(self.param_names):
            raise ValueError("run takes a tuple with one value for each parameter")
        return self._run_variants(args)

    def add(self, variant: Variant) -> None:
        """Try this variant first; drops those of older epochs, and of more than MAX_VARIANTS the
        ones that were used least recently."""
        if not isinstance(variant, Variant):
            raise TypeError("add takes a Variant")
        if variant.n_params != len(self.param_names):
            raise ValueError("the variant has another number of parameters")
        self.variants = (variant, *self._current(variant))[:MAX_VARIANTS]

    def remove(self, variant: Variant) -> None:
        """Try it no longer."""
        self.variants = self._current(variant)

    def clear(self) -> None:
        """Forget all variants."""
        self.variants = ()

    def _current(self, without: Variant) -> tuple[Variant, ...]:
        return tuple(v for v in self.variants if v is not without and v.epoch == STATE.epoch)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The argument of each parameter; None for a wrong call, which the fallback refuses."""
        names = self.param_names
        if len(args) > len(names):
            return None
        given = dict(zip(names, args, strict=False))
        if any(name in given or name not in names for name in kwargs):
            return None
        given = {**self._defaults, **given, **kwargs}
        if any(name not in given for name in names):
            return None
        return tuple(given[name] for name in names)

    def _run_variants(self, args: tuple[Any, ...]) -> bool:
        variants = self.variants
        views = Views(args)
        for index, variant in enumerate(variants):
            run = variant.match(args, views) if variant.in_force() else None
            if run is not None:
                if index and self.variants is variants:
                    self.variants = (variant, *variants[:index], *variants[index + 1 :])
                run()
                return True
        return False


class Forwarder:
    """As a class attribute ``__call__``: calling an instance calls what its ``attribute`` holds,
    with the same arguments. Errors of pypto leave it without the frames of pypto."""

    def __init__(self, attribute: str) -> None:
        if not isinstance(attribute, str):
            raise TypeError("the name of an attribute expected")
        self._attribute = attribute

    def __call__(self, instance: object, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(instance, self._attribute)(*args, **kwargs)
        except PyptoError as error:
            if full_tracebacks():
                raise
            raise outside(error)  # noqa: B904

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)
