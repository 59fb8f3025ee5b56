# ruff: noqa: E501 (lines of the C++ texts)
"""What the fast twin puts off: whatever a kernel does, its result is that of doing all at once.

A kernel interprets programs of copies and vector instructions that share one buffer and one range
of global memory. The counting build, which puts off nothing, says what is right.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np
import numpy.typing as npt
import pytest

from .harness import STREAM_STORES, Harness, Kernel

ELEMENTS = 8192  # of the buffer, and of global memory
LONGEST = 1600

TEXT = """
using namespace AscendC;

struct Step { int32_t op, d, a, b, count, mask; };

extern "C" __global__ __vector__ void interpret(GM_ADDR gm, GM_ADDR image, GM_ADDR steps, int32_t length)
{
    TPipe pipe;
    TQue<TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 32768);
    LocalTensor<float> ub = queue.AllocTensor<float>();
    GlobalTensor<float> memory, whole;
    memory.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(gm));
    whole.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(image));
    DataCopy(ub, whole, 8192);
    const DataCopyPadExtParams<float> noPad{false, 0, 0, 0};
    for (int32_t i = 0; i < length; ++i) {
        const Step s = reinterpret_cast<const Step*>(steps)[i];
        const LocalTensor<float> d = ub[s.d], a = ub[s.a], b = ub[s.b];
        const uint8_t repeats = static_cast<uint8_t>(s.count);
        const DataCopyExtParams run{1, static_cast<uint32_t>(s.count) * 4, 0, 0, 0};
        switch (s.op) {
            case 0: DataCopyPad(d, memory[s.a], run, noPad); break;
            case 1: Add(d, a, b, s.count); break;
            case 2: Maxs(d, a, 3.0f, s.count); break;
            case 3: Sub(d, a, b, s.mask, repeats, BinaryRepeatParams{1, 1, 0, 8, 8, 0}); break;
            case 4: Add(d, a, d, s.mask, repeats, BinaryRepeatParams{1, 1, 1, 0, 8, 0}); break;
            case 5: Max(d, a, b, s.mask, repeats, BinaryRepeatParams{1, 1, 1, 8, 8, 8}); break;
            case 6: DataCopyPad(memory[s.d], a, run); break;
            case 7: DataCopyPad(memory[s.d], a, DataCopyExtParams{2, static_cast<uint32_t>(s.count) * 2, 0, 64, 0}); break;
            case 8: d.SetValue(0, a.GetValue(s.count)); break;
            case 9: DataCopy(d, a, static_cast<uint32_t>(s.count / 8 * 8)); break;
            case 10: Cast(d.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, s.count); break;
            case 11: memory.SetValue(s.d, 2.0f); break;
            case 12: Max(d, a, b, s.mask, repeats, BinaryRepeatParams{1, 1, 1, 4, 8, 0}); break;
            default: PipeBarrier<PIPE_ALL>();
        }
    }
    DataCopy(whole, ub, 8192);
}
"""
LOAD, ADD, FIXED, FOLD, REPEATS, STORE, ROWS = 0, 1, 3, 4, 5, 6, 7

Steps = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    """The interpreter in both builds."""
    builds = ("fast", "count")
    return {build: twin.compile(TEXT, ["interpret"], build=build)["interpret"] for build in builds}  # type: ignore[arg-type]


def _place(random: np.random.Generator, count: int, grain: int) -> int:
    """Where `count` elements may start; often one of few places, so that steps meet."""
    last = (ELEMENTS - count) // grain
    if random.random() < 0.6:
        return int(random.integers(0, 6)) * 1600 // grain * grain if last * grain > 8000 else 0
    return int(random.integers(0, last + 1)) * grain


def _apart(d: int, d_count: int, a: int, a_count: int) -> bool:
    """Whether an instruction may have these operands: the same, or no element in common."""
    return d == a or d + d_count <= a or a + a_count <= d


def program(random: np.random.Generator, length: int) -> Steps:
    """Random steps; about half go on where the one before was."""
    steps: list[tuple[int, ...]] = []
    while len(steps) < length:
        op = int(random.choice(14, p=_WEIGHTS))
        counts = (1600, 1024, 512, 128, int(random.integers(1, LONGEST)))
        count = int(random.choice(counts))
        mask = 64
        if op in (FIXED, FOLD, REPEATS, 12):
            count = int(random.integers(1, 25))
            mask = int(random.choice((64, 64, 64, 32, 16, 40, 7)))
        reach = count if op not in (FIXED, FOLD, REPEATS, 12) else count * 64
        d, a, b = (_place(random, reach, 8) for _ in range(3))
        if steps and random.random() < 0.5:
            before = steps[-1]
            if op == STORE and before[0] in (ADD, 2, FIXED, REPEATS):
                a = before[1]
                reach = count = before[4] if before[0] in (ADD, 2) else before[4] * 64
            elif before[0] == op and op in (ADD, FIXED, REPEATS):
                d = before[1] + (before[4] if op == ADD else before[4] * 64)
                d += -d % 8
        if op in (LOAD, STORE, ROWS, 11):
            offset = int(random.choice((0, 0, 0, 1, 16)))
            if op == LOAD:
                a += offset
            else:
                d += offset
        if max(d, a, b) + reach + 64 > ELEMENTS:
            continue
        d_count = 64 if op == FOLD else reach
        if op in (ADD, FIXED, FOLD, REPEATS, 2, 9, 12):
            b_count = 8 if op == FIXED else 64 if op == 12 else reach
            if not _apart(d, d_count, a, reach) or (
                op not in (2, 9) and not _apart(d, d_count, b, b_count)
            ):
                continue
            if op in (FIXED, 12) and d == b:
                continue
            if op in (FOLD, 9, 12) and d == a:
                continue
        if op == 10 and not (d + reach <= a or a + reach <= d):
            continue
        steps.append((op, d, a, b, count, mask))
    return np.array(steps, np.int32)


_WEIGHTS = np.array([18, 16, 8, 14, 3, 10, 18, 3, 2, 2, 3, 1, 2, 2], float) / 102


def both(kernels: dict[str, Kernel], steps: Steps, flags: int, seed: int = 0) -> None:
    """Run the steps in both builds; buffer and global memory must come out the same, bit by bit."""
    random = np.random.default_rng(seed)
    start = random.integers(-8, 9, (2, ELEMENTS)).astype(np.float32)
    results = []
    for kernel in kernels.values():
        memory, image = start.copy()
        kernel(memory, image, steps, ctypes.c_int32(len(steps)), flags=flags)
        results.append((memory, image))
    (memory, image), (right_memory, right_image) = results
    assert memory.tobytes() == right_memory.tobytes(), steps
    assert image.tobytes() == right_image.tobytes(), steps


@pytest.mark.parametrize("flags", [0, STREAM_STORES])
def test_random_programs(kernels: dict[str, Kernel], flags: int) -> None:
    for seed in range(int(os.environ.get("PYPTO_TEST_PROGRAMS", "500"))):
        both(kernels, program(np.random.default_rng(seed), 30), flags, seed)


def _add(d: int, a: int, b: int, count: int) -> tuple[int, ...]:
    return (ADD, d, a, b, count, 64)


def _store(d: int, a: int, count: int) -> tuple[int, ...]:
    return (STORE, d, a, 0, count, 64)


CASES = {
    "one result, one store": [_add(0, 1600, 3200, 1024), _store(64, 0, 1024)],
    "stored twice": [_add(0, 1600, 3200, 1024), _store(0, 0, 1024), _store(2048, 0, 1024)],
    "read after its store": [_add(0, 1600, 3200, 1024), _store(0, 0, 1024), _add(4096, 0, 0, 1024)],
    "global memory changes after the store": [
        _add(0, 1600, 3200, 1024), _store(0, 0, 1024), _store(0, 4096, 512), _add(4096, 0, 0, 1024),
    ],
    "a source changes before the store": [
        _add(0, 1600, 3200, 1024), _add(1600, 4800, 6400, 512), _store(0, 0, 1024),
    ],
    "half of it is stored": [_add(0, 1600, 3200, 1024), _store(0, 0, 512), _store(512, 512, 512)],
    "in place in global memory": [
        (LOAD, 1600, 0, 0, 1024, 64), (LOAD, 3200, 1024, 0, 1024, 64),
        _add(0, 1600, 3200, 1024), _store(0, 0, 1024),
    ],
    "over its own source, later": [
        (LOAD, 1600, 0, 0, 1024, 64), _add(0, 1600, 3200, 1024), _store(16, 0, 1024),
    ],
    "over its own source, earlier": [
        (LOAD, 1600, 64, 0, 1024, 64), _add(0, 1600, 3200, 1024), _store(0, 0, 1024),
    ],
    "side by side, one store": [
        _add(0, 1600, 3200, 512), _add(512, 4096, 3200, 512), _store(0, 0, 1024),
    ],
    "side by side, the second reads the first": [
        _add(0, 1600, 3200, 512), _add(512, 0, 3200, 512), _store(0, 0, 1024),
    ],
    "side by side over the second's source": [
        (LOAD, 4096, 0, 0, 512, 64), _add(0, 1600, 3200, 512), _add(512, 4096, 3200, 512),
        _store(0, 0, 1024),
    ],
    "a block that stays": [(FIXED, 0, 1600, 4096, 16, 64), _store(0, 0, 1024)],
    "a block that stays, of the memory written": [
        (LOAD, 4096, 32, 0, 128, 64), (FIXED, 0, 1600, 4096, 16, 64), _store(0, 0, 1024),
    ],
    "ten rows, more than can wait": [
        *((FIXED, 256 * r, 3200 + 256 * r, 8000, 4, 64) for r in range(10)), _store(0, 0, 2560),
    ],
}  # fmt: skip


@pytest.mark.parametrize("flags", [0, STREAM_STORES])
@pytest.mark.parametrize("name", CASES)
def test_cases(kernels: dict[str, Kernel], name: str, flags: int) -> None:
    both(kernels, np.array(CASES[name], np.int32), flags)


def test_freed_results_are_dropped(twin: Harness) -> None:
    """A buffer that is given back before its store never reaches memory; a new one starts clean."""
    text = """
using namespace AscendC;
extern "C" __global__ __vector__ void freed(GM_ADDR x, GM_ADDR o)
{
    TPipe pipe;
    TQue<TPosition::VECOUT, 1> queue;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(queue, 1, 4096);
    pipe.InitBuffer(buffer, 4096);
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(o));
    LocalTensor<float> a = buffer.Get<float>(), first = queue.AllocTensor<float>();
    DataCopy(a, in, 1024);
    Adds(first, a, 1.0f, 1024);
    queue.FreeTensor(first);
    LocalTensor<float> second = queue.AllocTensor<float>();
    Adds(second, a, 2.0f, 1024);
    DataCopy(out, second, 1024);
    queue.FreeTensor(second);
}
"""
    freed = twin.compile(text, ["freed"])["freed"]
    x = np.arange(1024, dtype=np.float32)
    out = np.zeros_like(x)
    freed(x, out)
    np.testing.assert_array_equal(out, x + 2)
