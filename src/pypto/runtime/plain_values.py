"""Exact comparison, scalars and tensors for the plain launcher: what ``launcher_values.h`` and
``launcher_tensors.h`` do, in Python and with the same meaning.

"Exact" means: same type and same printed form, so that 1, 1.0 and True differ, and so do 0.0 and
-0.0. Objects of types that are not compared by value are equal when they are the same object.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import Any

__all__ = [
    "MAX_RANK",
    "TensorReader",
    "View",
    "exactly_equal",
    "read_float",
    "read_int",
    "snapshot",
]

MAX_RANK = 8
_INT64 = range(-(2**63), 2**63)


def exactly_equal(a: Any, b: Any, containers: bool) -> bool:
    """With ``containers`` lists and dicts are compared by value even if they are the same object:
    ``a`` must then be a private copy. Without, they are equal only when they are the same."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is tuple or (containers and kind in (list, dict)):
        if a is b and not containers:
            return True
        return _equal_containers(a, b, containers)
    if a is b:
        return True
    if kind is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if kind is complex:
        return struct.pack("dd", a.real, a.imag) == struct.pack("dd", b.real, b.imag)
    return kind in (int, str, bytes) and bool(a == b)


def _equal_containers(a: Any, b: Any, containers: bool) -> bool:
    if len(a) != len(b):
        return False
    if type(a) is dict:  # in order: iteration can show the order
        return all(
            exactly_equal(x, y, containers)
            for pair in zip(a.items(), b.items(), strict=True)
            for x, y in zip(*pair, strict=True)
        )
    return all(exactly_equal(x, y, containers) for x, y in zip(a, b, strict=True))


def snapshot(value: Any) -> Any:
    """A copy of tuples, lists and dicts at all depths, so that later changes show."""
    kind = type(value)
    if kind is dict:
        return {key: snapshot(item) for key, item in value.items()}
    if kind is tuple or kind is list:
        return kind(snapshot(item) for item in value)
    return value


def read_int(value: Any, widen: bool) -> int | None:
    """An int64; None when the value is none. ``widen`` takes bools and subclasses of int too."""
    if isinstance(value, int):
        if not widen and type(value) is not int:
            return None
        number = int.__index__(value)
    else:
        kind = type(value)
        if not hasattr(kind, "__index__") or hasattr(kind, "__len__"):
            return None
        try:
            number = operator.index(value)
        except Exception:  # the slow path meets the same error and reports it
            return None
    return number if number in _INT64 else None


def read_float(value: Any, widen: bool) -> float | None:
    """A double; None when the value is none. ``widen`` takes integers too."""
    if isinstance(value, float):
        return float.__float__(value)
    kind = type(value)
    indexed = hasattr(kind, "__index__")
    if not isinstance(value, int):
        # A container is no scalar even where it can convert itself, as a one-element array can.
        if not (indexed or hasattr(kind, "__float__")) or hasattr(kind, "__len__"):
            return None
    if indexed and not widen:
        return None
    try:
        return float(value)
    except Exception:  # the slow path meets the same error and reports it
        return None


class View:
    """A dense tensor in the memory of the host. A 0-d tensor has shape (1,)."""

    __slots__ = ("bytes", "data", "dtype", "shape")

    def __init__(
        self, data: int, size: int, dtype: tuple[int, int], shape: tuple[int, ...]
    ) -> None:
        self.data = data
        self.bytes = size
        self.dtype = dtype  # DLPack's type code and bits of one element
        self.shape = shape

    def same_memory(self, other: View) -> bool:
        """Address, size, dtype and shape are equal."""
        return (self.data, self.bytes, self.dtype, self.shape) == (
            other.data,
            other.bytes,
            other.dtype,
            other.shape,
        )

    def overlaps(self, other: View) -> bool:
        """The byte ranges have a byte in common."""
        if self.bytes == 0 or other.bytes == 0:
            return False
        return self.data < other.data + other.bytes and other.data < self.data + self.bytes


class TensorReader:
    """Reads tensors through torch's public attributes; arguments as those of ``init``."""

    __slots__ = ("_dtypes", "_is_grad_enabled", "_strided", "_types", "increment_version")

    def __init__(
        self,
        types: tuple[type, ...],
        dtypes: dict[Any, int],
        strided: object,
        increment_version: Callable[[tuple[Any, ...]], Any],
        is_grad_enabled: Callable[[], bool],
    ) -> None:
        self._types = types
        self._dtypes = dtypes
        self._strided = strided
        self.increment_version = increment_version
        self._is_grad_enabled = is_grad_enabled

    def is_tensor(self, value: object) -> bool:
        return isinstance(value, self._types[0])

    def read(self, tensor: Any) -> View | None:
        """The view of a tensor that a kernel can use as it stands; None leaves it to the slow path,
        which says why."""
        if type(tensor) not in self._types:
            return None
        try:
            if (tensor.requires_grad and self._is_grad_enabled()) or tensor.is_neg():
                return None
            if tensor.layout is not self._strided or not tensor.is_cpu:
                return None
            packed = self._dtypes.get(tensor.dtype)
            if packed is None or len(tensor.shape) > MAX_RANK:
                return None
            return _dense(tensor, packed >> 8, packed & 255)
        except Exception:  # as a storage that was released: the slow path reports it
            return None


def _dense(tensor: Any, code: int, bits: int) -> View | None:
    """The view, if the tensor is dense: axes of size 1 and empty tensors may have any stride."""
    shape = tuple(map(int, tensor.shape))
    count = 1
    if 0 in shape:
        count = 0
    else:
        for size, stride in zip(reversed(shape), reversed(tensor.stride()), strict=True):
            if size != 1 and stride != count:
                return None
            count *= size
    total = count * ((bits + 7) // 8)
    data = tensor.data_ptr()
    if total not in _INT64 or (not data and total):  # torch stands in for zeros without memory
        return None
    return View(data, total, (code, bits), shape or (1,))
