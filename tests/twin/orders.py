"""Kernels of the shuffled build under many seeded orders, compared with what they must compute."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_NONE = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Found:
    """The first order that led to something else: ``report`` says why when it led to nothing."""

    seed: int
    report: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.report or 'other numbers'}"


def first_other(
    library: ctypes.CDLL,
    call: Callable[[], object],
    expected: Sequence[Any],
    seeds: range,
) -> Found | None:
    """The first of ``seeds`` under which ``call``, a launch of a kernel of ``library``, leaves its
    arguments other than ``expected`` (contiguous arrays or tensors, bit by bit; None: not
    compared), or does not come to its end. Every order begins with what the arguments hold before
    the call."""
    addresses = (ctypes.c_void_p * max(len(expected), 1))(*map(_address, expected))
    assert seeds.step == 1
    library.pypto_shuffle_trials(
        ctypes.c_uint64(seeds.start), ctypes.c_uint64(len(seeds)), addresses
    )
    call()
    found = library.pypto_shuffle_found
    found.restype = ctypes.c_uint64
    seed = int(found())
    if seed == _NONE:
        return None
    take = library.pypto_check_report
    take.restype = ctypes.c_char_p
    told = dict.fromkeys(line.split("\t")[2] for line in take().decode().splitlines())
    return Found(seed, "; ".join(told))


def _address(array: Any) -> int | None:
    if array is None:
        return None
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data)
