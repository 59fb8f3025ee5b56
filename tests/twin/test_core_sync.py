"""Streams of a launch: blocks, barriers, cross-core flags, threads, forks, broken rules."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from .harness import (
    MIX_0_1,
    MIX_1_1,
    MIX_1_2,
    SYNC_ALL_COUNT,
    VECTOR,
    Harness,
    Kernel,
)

TEXT = """
using namespace AscendC;

// who am I: block index, block number, sub-block index and number, cube
extern "C" __global__ __mix__(1, 2) void identify(GM_ADDR out)
{
    GlobalTensor<int64_t> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(out));
    int64_t row = 0;
    if ASCEND_IS_AIV {
        row = (GetBlockNum() + GetBlockIdx()) * 6;
    }
    if ASCEND_IS_AIC {
        row = GetBlockIdx() * 6;
    }
    g.SetValue(row, GetBlockIdx());
    g.SetValue(row + 1, GetBlockNum());
    g.SetValue(row + 2, GetSubBlockIdx());
    g.SetValue(row + 3, GetSubBlockNum());
    g.SetValue(row + 4, block_idx);
    g.SetValue(row + 5, 1);
}

// every round each core adds its right neighbour's value of the round before
extern "C" __global__ __mix__(0, 1) void rotate(GM_ADDR even, GM_ADDR odd, int32_t rounds)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64);
    LocalTensor<int64_t> mine = buffer.Get<int64_t>(), other = mine[4];
    GlobalTensor<int64_t> side[2];
    side[0].SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(even));
    side[1].SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(odd));
    const DataCopyExtParams one{1, 8, 0, 0, 0};
    const DataCopyPadExtParams<int64_t> none{};
    const int64_t self = GetBlockIdx(), next = (self + 1) % GetBlockNum();
    SetVectorMask<int16_t>(0, 1000 + self);
    DataCopyPad(mine, side[0][self], one, none);
    for (int32_t round = 0; round < rounds; ++round) {
        DataCopyPad(other, side[round % 2][next], one, none);
        mine.SetValue(0, mine.GetValue(0) + other.GetValue(0));
        DataCopyPad(side[(round + 1) % 2][self], mine, one);
        SyncAll();
        if (pypto_twin::state().mask_low != static_cast<uint64_t>(1000 + self)) {
            side[0].SetValue(self, -1);
            return;
        }
    }
}

// AIVs square their halves, AICs add up another group's pair, AIVs subtract: two full barriers
extern "C" __global__ __mix__(1, 2) void exchange(GM_ADDR values, GM_ADDR sums, GM_ADDR out)
{
    GlobalTensor<int64_t> v, s, o;
    v.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(values));
    s.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(sums));
    o.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(out));
    const int64_t id = GetBlockIdx();
    if ASCEND_IS_AIV {
        v.SetValue(id, v.GetValue(id) * v.GetValue(id));
        SyncAll<true>();
    }
    SyncAll<false>();
    if ASCEND_IS_AIC {
        const int64_t other = GetBlockNum() - 1 - id;
        s.SetValue(id, v.GetValue(2 * other) + v.GetValue(2 * other + 1));
    }
    SyncAll<false>();
    if ASCEND_IS_AIV {
        o.SetValue(id, s.GetValue(id / 2) - id);
    }
}

// inside each group, AIV to AIC and back, `rounds` times
extern "C" __global__ __mix__(1, 2) void ping(GM_ADDR data, int32_t rounds)
{
    GlobalTensor<int64_t> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(data));
    for (int32_t round = 0; round < rounds; ++round) {
        if ASCEND_IS_AIV {
            const int64_t at = GetBlockIdx() / 2 * 3 + 1 + GetSubBlockIdx();
            g.SetValue(at, g.GetValue(at) + g.GetValue(GetBlockIdx() / 2 * 3) + 1);
            CrossCoreSetFlag<2, PIPE_MTE3>(3);
            CrossCoreWaitFlag(4);
        }
        if ASCEND_IS_AIC {
            const int64_t at = GetBlockIdx() * 3;
            CrossCoreWaitFlag(3);
            g.SetValue(at, g.GetValue(at + 1) + g.GetValue(at + 2));
            CrossCoreSetFlag<2, PIPE_FIX>(4);
        }
    }
}

// mode 0 joins all vector cores, mode 1 the two of a group
extern "C" __global__ __mix__(1, 2) void flags(GM_ADDR data, GM_ADDR out)
{
    GlobalTensor<int64_t> g, o;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(data));
    o.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t*>(out));
    if ASCEND_IS_AIV {
        const int64_t id = GetBlockIdx(), cores = GetBlockNum() * 2;
        g.SetValue(id, id + 1);
        CrossCoreSetFlag<1, PIPE_MTE3>(5);
        CrossCoreWaitFlag<1>(5);
        const int64_t partner = g.GetValue(id ^ 1);
        CrossCoreSetFlag<0, PIPE_MTE3>(6);
        CrossCoreWaitFlag<0>(6);
        int64_t sum = 0;
        for (int64_t i = 0; i < cores; ++i) { sum += g.GetValue(i); }
        o.SetValue(id, sum * 1000 + partner);
    }
}

extern "C" __global__ __vector__ void ones(GM_ADDR out, int64_t n)
{
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(out));
    for (int64_t i = GetBlockIdx(); i < n; i += GetBlockNum()) { g.SetValue(i, g.GetValue(i) + 1); }
}

extern "C" __global__ __vector__ void lonely(GM_ADDR) { SyncAll(); }
extern "C" __global__ __mix__(0, 1) void leaver(GM_ADDR)
{
    if (GetBlockIdx() != 0) { SyncAll(); }
}
extern "C" __global__ __vector__ void overflow(GM_ADDR)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    pipe.InitBuffer(a, 190000);
    pipe.InitBuffer(b, 7000);
}
extern "C" __global__ __vector__ void too_many(GM_ADDR)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> b;
    for (int i = 0; i < 65; ++i) { pipe.InitBuffer(b, 32); }
}
extern "C" __global__ __vector__ void exhausted(GM_ADDR)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    pipe.InitBuffer(q, 2, 32);
    for (int i = 0; i < 3; ++i) { q.AllocTensor<float>(); }
}
extern "C" __global__ __vector__ void empty_queue(GM_ADDR)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    pipe.InitBuffer(q, 2, 32);
    q.DeQue<float>();
}
"""

NAMES = (
    "identify rotate exchange ping flags ones lonely leaver overflow too_many exhausted empty_queue"
).split()


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    return twin.compile(TEXT, NAMES)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", [MIX_1_1, MIX_1_2])
def test_every_core_knows_its_place(
    twin: Harness, kernels: dict[str, Kernel], kind: int, workers: int
) -> None:
    blocks, aivs = 3, 2 if kind == MIX_1_2 else 1
    out = np.zeros((blocks * 3, 6), np.int64)
    twin.with_workers(kernels, workers)["identify"](out, blocks=blocks, kind=kind)
    cubes = [[b, blocks, 0, 1, b, 1] for b in range(blocks)]
    vectors = [[v, blocks, v % aivs, aivs, v // aivs, 1] for v in range(blocks * aivs)]
    unused = [[0] * 6] * (blocks * (2 - aivs))
    np.testing.assert_array_equal(out, np.array(cubes + vectors + unused))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("cores", [1, 2, 3, 7, 8, 16])
def test_sync_all_separates_the_rounds(
    twin: Harness, kernels: dict[str, Kernel], cores: int, workers: int
) -> None:
    rounds = 11
    values = np.arange(1, cores + 1, dtype=np.int64) ** 2
    expected = values.copy()
    for _ in range(rounds):
        expected = expected + np.roll(expected, -1)
    on = twin.with_workers(kernels, workers)
    for _ in range(20):
        even, odd = values.copy(), np.zeros_like(values)
        on["rotate"](even, odd, ctypes.c_int32(rounds), blocks=cores, kind=MIX_0_1)
        np.testing.assert_array_equal(odd, expected)  # an odd number of rounds ends there


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_full_barriers_of_mixed_kernels(
    twin: Harness, kernels: dict[str, Kernel], groups: int, workers: int
) -> None:
    on = twin.with_workers(kernels, workers)
    values = np.arange(2 * groups, dtype=np.int64) + 3
    squares = (values**2).reshape(groups, 2).sum(axis=1)[::-1]
    expected = np.repeat(squares, 2) - np.arange(2 * groups)
    for _ in range(10):
        sums, out = np.zeros(groups, np.int64), np.zeros(2 * groups, np.int64)
        on["exchange"](values.copy(), sums, out, blocks=groups, kind=MIX_1_2)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("groups", [1, 4])
def test_cross_core_flags(
    twin: Harness, kernels: dict[str, Kernel], groups: int, workers: int
) -> None:
    on = twin.with_workers(kernels, workers)
    rounds = 9
    cube = left = right = 0
    for _ in range(rounds):
        left, right = left + cube + 1, right + cube + 1
        cube = left + right
    data = np.zeros((groups, 3), np.int64)
    on["ping"](data, ctypes.c_int32(rounds), blocks=groups, kind=MIX_1_2)
    np.testing.assert_array_equal(data, [[cube, left, right]] * groups)

    cores = 2 * groups
    values, out = np.zeros(cores, np.int64), np.zeros(cores, np.int64)
    on["flags"](values, out, blocks=groups, kind=MIX_1_2)
    total = cores * (cores + 1) // 2
    np.testing.assert_array_equal(out, [total * 1000 + (i ^ 1) + 1 for i in range(cores)])


@pytest.mark.parametrize("workers", [1, 2])
def test_every_block_runs_exactly_once(
    twin: Harness, kernels: dict[str, Kernel], workers: int
) -> None:
    on = twin.with_workers(kernels, workers)
    out = np.zeros(1000, np.int32)
    for blocks in (1, 2, 3, 48, 1000):
        on["ones"](out, ctypes.c_int64(1000), blocks=blocks, kind=VECTOR)
    np.testing.assert_array_equal(out, np.full(1000, 5))


def test_sync_all_is_counted(twin: Harness) -> None:
    rotate = twin.compile(TEXT, ["rotate"], build="count")["rotate"]
    twin.runtime().counters(reset=True)
    even, odd = np.ones(3, np.int64), np.zeros(3, np.int64)
    rotate(even, odd, ctypes.c_int32(4), blocks=3, kind=MIX_0_1)
    assert twin.runtime().counters()[SYNC_ALL_COUNT] == 3 * 4


def test_threads_launch_at_the_same_time(twin: Harness, kernels: dict[str, Kernel]) -> None:
    failures: list[str] = []
    start = threading.Barrier(4)

    def work(seed: int) -> None:
        start.wait()
        for turn in range(60):
            values = np.arange(5, dtype=np.int64) + seed
            even, odd = values.copy(), np.zeros_like(values)
            kernels["rotate"](even, odd, ctypes.c_int32(1), blocks=5, kind=MIX_0_1)
            if not np.array_equal(odd, values + np.roll(values, -1)):
                failures.append(f"thread {seed}, turn {turn}: rotate gave {odd}")
            out = np.zeros(64, np.int32)
            kernels["ones"](out, ctypes.c_int64(64), blocks=4)
            if not (out == 1).all():
                failures.append(f"thread {seed}, turn {turn}: ones gave {out}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []


def _launch_both(kernels: dict[str, Kernel]) -> bool:
    out = np.zeros(100, np.int32)
    kernels["ones"](out, ctypes.c_int64(100), blocks=4)
    values = np.arange(6, dtype=np.int64)
    even, odd = values.copy(), np.zeros_like(values)
    kernels["rotate"](even, odd, ctypes.c_int32(1), blocks=6, kind=MIX_0_1)
    return bool((out == 1).all() and np.array_equal(odd, values + np.roll(values, -1)))


def test_a_forked_child_launches_on_threads_of_its_own(kernels: dict[str, Kernel]) -> None:
    assert _launch_both(kernels)  # the parent's threads exist
    child = os.fork()
    if child == 0:
        os._exit(0 if _launch_both(kernels) and _launch_both(kernels) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert _launch_both(kernels)


@pytest.mark.parametrize(
    ("name", "blocks", "kind", "message"),
    [
        ("lonely", 2, VECTOR, "SyncAll in a kernel whose kind has no synchronisation"),
        ("leaver", 3, MIX_0_1, "SyncAll"),
        ("overflow", 1, VECTOR, "more bytes than the memory"),
        ("too_many", 1, VECTOR, "more than 64 buffers"),
        ("exhausted", 1, VECTOR, "AllocTensor: every buffer of the queue is in use"),
        ("empty_queue", 1, VECTOR, "DeQue: the queue is empty"),
    ],
)
def test_a_broken_rule_ends_the_process_with_its_name(
    kernels: dict[str, Kernel], name: str, blocks: int, kind: int, message: str
) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 2)
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        import faulthandler

        faulthandler.disable()
        kernels[name](np.zeros(8, np.uint8), blocks=blocks, kind=kind)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert message in text


def test_workspace_grows_and_is_aligned(twin: Harness) -> None:
    workspace = twin.runtime().table.contents.workspace
    previous, last = 0, 0
    for size in (1, 4096, 300_000, 300_000, 5_000_000, 10, 9_000_000):
        address = workspace(size)
        assert address % 512 == 0
        ctypes.memset(address, 0x5A, size)
        if size <= previous:
            assert address == last
        previous, last = max(previous, size), address


@pytest.mark.parametrize(("text", "workers"), [("3", 3), ("1", 1), ("none", None), ("0", None)])
def test_number_of_threads_comes_from_the_environment(
    twin: Harness, text: str, workers: int | None
) -> None:
    twin.runtime()
    code = (
        "import ctypes, sys\n"
        "library = ctypes.CDLL(sys.argv[1])\n"
        "library.pypto_runtime.restype = ctypes.POINTER(ctypes.c_uint32)\n"
        "print(library.pypto_runtime()[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(twin.root / "runtime.so")],
        env={**os.environ, "PYPTO_NUM_THREADS": text},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = len(os.sched_getaffinity(0)) if workers is None else workers
    assert int(done.stdout) == expected
    assert ("PYPTO_NUM_THREADS" in done.stderr) == (workers is None)
