"""Kernels of several operations, as users write them, become one stage of minimal traffic."""

from __future__ import annotations

import ctypes
import functools

import pytest
import torch

from pypto.ir.tile import Area, Block, Instr, Local, Plan, TileStage
from pypto.passes.memory import Capacity, slot_bytes
from tests.ops.batch import Batch, runtime
from tests.ops.checks import Case
from tests.ops.fused import FUSED
from tests.ops.test_traffic import GM_TO_UB, SYNC_ALL, UB_TO_GM

DTYPES = {"FP32": torch.float32, "FP16": torch.float16}
WEIGHTS = "gb"  # parameters that are the same for all rows


@functools.cache
def cases() -> dict[tuple[str, str], Case]:
    """All kernels, counted."""
    batch = Batch(kind="counting")
    made = {
        (name, dtype): Case(
            batch, fused.text(f"{name}_{dtype}", dtype), f"{name}_{dtype}", *fused.values(kind)
        )
        for name, fused in FUSED.items()
        for dtype, kind in DTYPES.items()
    }
    batch.build()
    return made


def plan_of(name: str, dtype: str) -> Plan:
    """The plan of the only stage, for rows that fit on-chip memory."""
    program = cases()[name, dtype].variant.compilation.program
    assert program is not None
    (stage,) = program.body
    assert isinstance(stage, TileStage)
    return stage.plans[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUSED)
def test_one_stage_that_loads_and_stores_once(name: str, dtype: str) -> None:
    plan = plan_of(name, dtype)
    (phase,) = plan.phases
    rows = {copy.buffer.name for copy in phase.step.loads}
    weights = {copy.buffer.name for copy in plan.prologue.loads}
    params = set(FUSED[name].params)
    assert (rows, weights) == (params & set("xyz"), params & set(WEIGHTS))
    for copies in (phase.step.loads, phase.step.stores):
        places = [(copy.buffer, str(copy.offset)) for copy in copies]
        assert len(places) == len(set(places))
    casts = sum(isinstance(i, Instr) and i.name == "Cast" for i in phase.step.body)
    assert casts == FUSED[name].casts[[*DTYPES].index(dtype)]
    for block in (phase.start, phase.finish, plan.head, plan.tail):
        assert block.empty


def peak(block: Block, plan: Plan) -> int:
    """Bytes of the most temporaries of ``block`` that are needed at one time."""
    capacity = Capacity(plan.step_max, plan.rows_max, plan.step_max)
    lives: dict[Local, list[int]] = {}
    for position, item in enumerate(block.body):
        if isinstance(item, Instr):
            for local in (*item.reads, *item.writes):
                lives.setdefault(local.base, []).append(position)
    temporary = [local for local in lives if local.slot and local.slot.area is Area.CALC]
    at = [
        sum(
            slot_bytes(local.kind, local.dtype, capacity)
            for local in temporary
            if lives[local][0] <= position <= lives[local][-1]
        )
        for position in range(len(block.body))
    ]
    return max(at, default=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUSED)
def test_on_chip_memory_is_near_the_bound(name: str, dtype: str) -> None:
    """Queues of the step, and the temporaries that are needed at one time, and little more."""
    plan = plan_of(name, dtype)
    (phase,) = plan.phases
    queues = sum(plan.areas.get(area, 0) for area in (Area.IN, Area.OUT)) * plan.depth
    bound = queues + plan.areas.get(Area.CONST, 0) + peak(phase.step, plan)
    assert plan.total_bytes <= 1.1 * bound


def rotary(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    half = x.shape[1] // 2
    return x * y + torch.cat([-x[:, half:] * z[:, :half], x[:, :half] * z[:, half:]], 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUSED)
def test_traffic_is_that_of_the_tensors(name: str, dtype: str) -> None:
    counters = (ctypes.c_uint64 * 16)()
    values = FUSED[name].values(DTYPES[dtype])
    read = sum(v.nbytes for p, v in zip(FUSED[name].params, values, strict=True) if p not in "os")
    written = sum(v.nbytes for p, v in zip(FUSED[name].params, values, strict=True) if p in "os")
    runtime().pypto_runtime_counters(counters, ctypes.c_int32(1))
    if name == "rotary":
        assert cases()[name, dtype].variant.run(*values, blocks=1) == 0
        torch.testing.assert_close(values[3], rotary(*values[:3]), atol=4e-3, rtol=0)
    else:
        cases()[name, dtype].check(*values, blocks=1)
    runtime().pypto_runtime_counters(counters, ctypes.c_int32(1))
    assert (counters[GM_TO_UB], counters[UB_TO_GM], counters[SYNC_ALL]) == (read, written, 0)
