"""References, memory, processes and files of many launches."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from typing import Any

import pytest
import torch

from pypto.runtime import plain_launcher

from .launching import FP32, Kernels, Refused

CALLS = 100_000


def counts(objects: list[Any]) -> list[int]:
    return [sys.getrefcount(value) for value in objects]


def test_references_and_memory_stay(kernels: Kernels) -> None:
    scope = {"n": object()}
    tensor = ("tensor", FP32, (4,))
    variant = kernels.variant(
        "scale_kernel",
        (tensor, tensor, ("float", True), ("int", True), ("constant", [1, "x"])),
        ints=(("size", 0, 0), ("scalar", 3)),
        floats=(2,),
        captures=((scope, "n", scope["n"]),),
    )
    other = kernels.variant("refuse_kernel", (("constant", None),) * 5)
    dispatch = kernels.dispatcher(
        other, variant, names=("x", "o", "f", "k", "c"), defaults={"c": [1, "x"]}
    )
    x, o, big = torch.ones(4), torch.zeros(4), 2**40
    held = [x, o, big, scope["n"], scope, variant, dispatch, dispatch.param_names]
    if kernels.launcher is not plain_launcher:  # Python's own frames hold None now and then
        held.append(None)

    def many(times: int) -> None:
        for _ in range(times):
            dispatch(x, o, 0.5, k=big)

    many(1000)
    gc.collect()
    before = counts(held)
    tracemalloc.start()
    many(CALLS)
    if kernels.launcher is plain_launcher:
        gc.collect()  # empties Python's lists of free tuples
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts(held) == before
    assert size < 4096
    assert (variant.launches, dispatch.fallbacks) == (CALLS + 1000, 0)


def test_references_stay_in_fallbacks_and_errors(kernels: Kernels) -> None:
    refused = kernels.variant("refuse_kernel", (("tensor", FP32, (4,)), ("int", True)))
    dispatch = kernels.dispatcher(refused, names=("o", "n"))
    o, strided, big = torch.zeros(4), torch.zeros(8)[::2], 2**40
    held = [o, strided, big, refused, dispatch]

    def many(times: int) -> None:
        for _ in range(times):
            with pytest.raises(Refused):
                dispatch(o, n=big)
            dispatch(strided, big)
            dispatch(o, n=big, m=strided)
            dispatch(torch.Tensor, big)

    many(10)
    gc.collect()
    before = counts(held)
    many(500)
    gc.collect()
    assert counts(held) == before


def test_references_of_constructors(kernels: Kernels) -> None:
    table, key = {"a": [1]}, "key of this test"
    held = [table, key, kernels.runtime.owner]
    rows = ((table, key, table), (table, Ellipsis, table))
    wrong = (*rows, 3)

    def many(times: int) -> None:
        for _ in range(times):
            variant = kernels.add(captures=rows)
            with pytest.raises(TypeError):
                kernels.add(captures=wrong)
            dispatch = kernels.dispatcher(variant, kernels.add())
            dispatch.remove(variant)

    many(10)
    gc.collect()
    before = counts(held)
    many(500)
    gc.collect()
    assert counts(held) == before


def test_cycles_are_collected(kernels: Kernels) -> None:
    class Kernel:
        dispatch: Any

        def fall_back(self, args: Any, kwargs: Any) -> None:
            raise AssertionError

    kernel = Kernel()
    kernel.dispatch = kernels.launcher.Dispatcher("k", ("a", "b", "o"), {}, kernel.fall_back)
    kernel.dispatch.add(kernels.add(captures=((kernel.__dict__, "dispatch", kernel.dispatch),)))
    gone = weakref.ref(kernel), weakref.ref(kernel.dispatch)
    del kernel
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_variants_changed_during_a_call(kernels: Kernels) -> None:
    def compare(value: Any) -> bool:
        dispatch.clear()
        gc.collect()
        return bool(value)

    def variant() -> Any:
        return kernels.variant(
            "echo_kernel", (("tensor", (0, 64), (-1,)), ("constant", 0, compare))
        )

    dispatch = kernels.dispatcher(variant(), variant(), names=("o", "c"))
    o = torch.zeros(4, dtype=torch.int64)
    assert dispatch(o, True) is None
    assert dispatch.variants == ()
    dispatch.add(variant())
    dispatch.add(variant())
    assert dispatch(o, False)[0] == "fallback"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add((4,)))
    a, b, o = torch.ones(4), torch.ones(4), torch.zeros(4)
    dispatch(a, b, o)
    child = os.fork()
    if child == 0:
        o.zero_()
        right = dispatch(a, b, o) is None and o.tolist() == [2.0] * 4
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    dispatch(a, b, o)
    assert dispatch.variants[0].launches == 2


TRACED = """
import sys
sys.path[:0] = [sys.argv[1]]
import importlib.util
import torch
from launching import Kernels
from pypto.runtime.torch_bridge import connect
from pathlib import Path
where = Path(sys.argv[2])
spec = importlib.util.spec_from_file_location("_pypto_launcher", where / "_pypto_launcher.so")
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
connect(launcher)
kernels = Kernels(launcher, where / "kernels.so")
dispatch = kernels.dispatcher(kernels.add((4,)))
a, b, o = torch.ones(4), torch.ones(4), torch.zeros(4)
dispatch(a, b, o)
events = []
sys.addaudithook(lambda name, args: events.append(name))
for _ in range(10000):
    dispatch(a, b, o)
assert dispatch.fallbacks == 0 and dispatch.variants[0].launches == 10001
found = list(events)
print(found)
"""


def test_warm_calls_open_no_file(built: Any) -> None:
    here = os.path.dirname(__file__)
    result = subprocess.run(
        [sys.executable, "-c", TRACED, here, str(built)], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_threads_share_a_dispatcher(kernels: Kernels) -> None:
    """Calls, new variants and cleared variants from several threads at once."""
    dispatch = kernels.dispatcher(kernels.add())
    elements = kernels.launcher.RELEASE_GIL_ABOVE // 8  # three of them release the lock
    wrong: list[str] = []

    def call(number: int) -> None:
        a, b = torch.full((elements,), float(number)), torch.ones(elements)
        o = torch.zeros(elements)
        for i in range(50):
            o.zero_()
            if number == 0 and i % 5 == 0:
                dispatch.clear()
                dispatch.add(kernels.add())
            if dispatch(a, b, o) is None and o[-1] != number + 1:
                wrong.append(f"thread {number}, call {i}")

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
