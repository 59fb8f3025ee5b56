"""NumPy's and torch's compile-time values: numbers, dtypes, and what describes these."""

from __future__ import annotations

import operator
import sys

__all__ = ["DESCRIBING", "attribute_of_numeric", "is_dtype", "plain_index"]

DESCRIBING = frozenset({"finfo", "iinfo"})
"""Classes of NumPy and torch that say what a dtype can hold."""

_ATTRIBUTES = frozenset(
    {
        "bits", "dtype", "eps", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind",
        "max", "min", "name", "resolution", "smallest_normal", "tiny",
    }
)  # fmt: skip


def is_dtype(value: object) -> bool:
    """Whether ``value`` is a dtype of torch or NumPy; neither package is loaded for that."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.dtype):
        return True
    return numpy is not None and isinstance(value, numpy.dtype)


def attribute_of_numeric(value: object, name: str) -> bool:
    """Whether ``value.name`` depends on the dtype that ``value`` is or describes alone."""
    kind = type(value)
    describes = kind.__name__ in DESCRIBING and kind.__module__.partition(".")[0] in _PACKAGES
    return name in _ATTRIBUTES and (describes or is_dtype(value)) and hasattr(value, name)


_PACKAGES = ("numpy", "torch")


def plain_index(value: object) -> object:
    """NumPy's integers as Python's; everything else as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.integer):
        return operator.index(value)
    return value
