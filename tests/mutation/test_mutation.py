"""Without a synchronisation that matters, the checked twin must report the kernel.

What matters is decided by others: the orders of the shuffled twin and the Tile IR. By default a few
kernels are looked at in few orders; ``tox -e mutation`` takes all, in a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.twin.harness import Harness

from .corpus import GOLDEN, RANDOM, golden, random_kernel
from .examine import ORDERS, Kernel, Verdict, compiled, examine
from .handwritten import NAMES, handwritten
from .mutants import mutants


def looked_at(kernels: Sequence[Kernel], orders: int) -> list[Verdict]:
    verdicts = [verdict for kernel in kernels for verdict in examine(kernel, orders)]
    missed = [str(v) for v in verdicts if v.matters and not v.rules]
    assert missed == []
    return verdicts


def test_a_slice() -> None:
    subjects = [GOLDEN["add"], GOLDEN["static_softmax"], random_kernel(3)]
    verdicts = looked_at(compiled(subjects), 60)
    assert sum(verdict.matters for verdict in verdicts) > 40
    # Each order of a step's pipeline matters, and numbers show it.
    add = [verdict for verdict in verdicts if verdict.kernel == "add"]
    assert {str(v.site) for v in add if v.changed is None} == set()
    assert {v.site.kind: v.rules for v in add} == {
        "EnQue": ("queue-empty",),
        "FreeTensor": ("queue-full",),
        "forward VECIN": ("race",),
        "backward VECIN": ("race",),
        "forward VECOUT": ("race",),
        "backward VECOUT": ("race",),
    }

    # SumRows has a barrier of its own before it reads: the one in front of it is not needed.
    softmax = [
        v for v in verdicts if v.kernel == "static_softmax" and not v.matters and not v.rules
    ]
    assert [(v.site.kind, v.site.scope) for v in softmax] == [
        ("PipeBarrier<PIPE_V>", ("Stage0", "Compute"))
    ]


def test_a_slice_written_by_hand(twin: Harness) -> None:
    verdicts = looked_at(handwritten(twin, ["scalar", "relay"]), 60)
    assert [
        str(verdict.site) for verdict in verdicts if not verdict.matters and not verdict.rules
    ] == [
        "PipeBarrier<PIPE_ALL> in scalar, line 56",
        "PipeBarrier<PIPE_ALL> in relay, line 40",
        "pair in relay, line 54",
    ]


@pytest.mark.mutation
def test_canonical_kernels() -> None:
    looked_at(compiled(golden()), ORDERS)


@pytest.mark.mutation
@pytest.mark.parametrize("first", RANDOM[::10])
def test_random_kernels(first: int) -> None:
    looked_at(compiled([random_kernel(seed) for seed in range(first, first + 10)]), ORDERS)


@pytest.mark.mutation
@pytest.mark.parametrize("name", NAMES)
def test_kernels_written_by_hand(twin: Harness, name: str) -> None:
    looked_at(handwritten(twin, [name]), ORDERS)


def test_places_of_a_text() -> None:
    text = """#include "kernel_operator.h"
class Stage0 {
    __aicore__ inline void Compute(uint32_t rows)
    {
        PipeBarrier<PIPE_V>();
        inQue_.FreeTensor(inBuf);
        SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
    }
    TQue<TPosition::VECIN, 1> inQue_;
};
extern "C" __global__ __vector__ void k(GM_ADDR x) { SyncAll<true>(); }
"""
    found = mutants("k", text)
    assert [str(site) for site in found.sites] == [
        "PipeBarrier<PIPE_V> in Stage0.Compute, line 5",
        "FreeTensor in Stage0.Compute, line 6",
        "SetFlag in Stage0.Compute, line 7",
        "pair in Stage0.Compute, line 7",
        "WaitFlag in Stage0.Compute, line 7",
        "forward VECIN in Stage0.Compute, line 9",
        "backward VECIN in Stage0.Compute, line 9",
        "SyncAll in k, line 11",
    ]
    assert "if (stays(2) && stays(3)) SetFlag<HardEvent::MTE2_V>(0);" in found.text
    assert "if (stays(4) && stays(3)) WaitFlag<HardEvent::MTE2_V>(0);" in found.text
    assert "    MutantQueue<TQue<TPosition::VECIN, 1>, 5, 6> inQue_;" in found.text
