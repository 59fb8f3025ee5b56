"""Variants and dispatchers of the hand-written kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pypto.runtime import cpu

FP32 = (2, 32)


class Kernels:
    """Makes variants of the hand-written kernels and dispatchers whose fallback records."""

    def __init__(self, launcher: Any, path: Path) -> None:
        self.launcher = launcher
        self.path = path
        self.runtime = cpu.load_runtime(path)

    def variant(self, symbol: str, params: tuple[Any, ...], **fields: Any) -> Any:
        binary = cpu.load(self.path, symbol)
        tensors = sum(isinstance(spec, tuple) and spec[0] == "tensor" for spec in params)
        values: dict[str, Any] = {
            "entry": binary.address,
            "runtime": self.runtime.address,
            "owner": binary.owner,
            "params": params,
            "ints": (),
            "floats": (),
            "alias": tuple(range(tensors)),
            "written": ((False,) * tensors + (True,))[-tensors:] if tensors else (),
            "captures": (),
            "explain": explain,
        }
        return self.launcher.Variant(**(values | fields))

    def add(self, sizes: tuple[int, ...] = (-1,), **fields: Any) -> Any:
        """A variant of ``o = a + b`` over one-dimensional float32 tensors."""
        tensor = ("tensor", FP32, sizes)
        return self.variant("add_kernel", (tensor,) * 3, ints=(("size", 0, 0),), **fields)

    def dispatcher(
        self,
        *variants: Any,
        names: tuple[str, ...] = ("a", "b", "o"),
        defaults: dict[str, Any] | None = None,
    ) -> Any:
        made = self.launcher.Dispatcher("kernel", names, defaults or {}, fallback)
        for variant in variants:
            made.add(variant)
        return made


class Refused(Exception):
    """Raised by ``explain``: (code, args)."""


def explain(code: int, args: tuple[Any, ...]) -> None:
    raise Refused(code, args)


def fallback(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return ("fallback", args, kwargs)
