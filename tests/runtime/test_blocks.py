"""How many blocks a launch is cut into, by its work and by who is awake."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import pytest

from tests.ops.batch import runtime

_BLOCKS = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_double)
SLIGHT, SMALL, LARGE = 1e3, 8e4, 1e6  # nanoseconds of one core


def _blocks(workers: int) -> Callable[[float], int]:
    return _BLOCKS(runtime(workers).pypto_runtime().contents.blocks)


def test_one_thread_is_one_block() -> None:
    blocks = _blocks(1)
    assert [blocks(work) for work in (0.0, SLIGHT, SMALL, LARGE)] == [1, 1, 1, 1]


@pytest.mark.parametrize("workers", [2, 5])
def test_much_work_is_cut_for_all_and_little_for_none(workers: int) -> None:
    blocks = _blocks(workers)
    for _ in range(100):
        assert blocks(SLIGHT) == 1
        assert blocks(LARGE) == workers


def _until(wanted: int, blocks: Callable[[float], int], pause: float) -> None:
    end = time.monotonic() + 20
    while blocks(SMALL) != wanted:
        assert time.monotonic() < end
        time.sleep(pause)


def test_small_work_that_comes_again_wakes_the_others() -> None:
    """A launch of some 100 microseconds is done alone; those that follow at once are not."""
    blocks = _blocks(2)
    _until(1, blocks, pause=0.05)  # whoever was awake has gone to sleep
    _until(2, blocks, pause=0.0)
    _until(1, blocks, pause=0.05)
