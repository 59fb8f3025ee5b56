# ruff: noqa: E501 (lines of the C++ texts)
"""Undefined data in random programs: what depends on it must have been reported.

One kernel interprets a program, a list of instructions with their operands. It is run three times,
each time with other junk in all memory that nothing has written. Where the results differ, the checked
build must have found undefined data; this oracle knows nothing of how definedness travels.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from .harness import Harness, Kernel

# In the order of the kernel's cases.
_INSTRUCTIONS = (
    "load load_rows store store_bytes add max multiply_add masked bit_mask narrow widen compare "
    "compare_scalar select select_scalar whole_sum whole_max block_sum pair_sum sum broadcast offsets "
    "gather pattern fill bitwise_and bitwise_or copy copy_masked to_workspace add_to_workspace "
    "from_workspace set_value get_value compare_register select_register move_register running_sum "
    "sum_register user_bits"
).split()

_TEXT = """
using namespace AscendC;
constexpr uint32_t kSlot = 512;
template <typename T = float>
__aicore__ inline LocalTensor<T> At(int32_t slot)
{
    return LocalTensor<T>(TPosition::VECCALC, static_cast<uint32_t>(slot) % 6 * kSlot, kSlot / sizeof(T));
}
/* Slots of their own: bits, offsets of Gather. */
__aicore__ inline LocalTensor<uint8_t> Bits() { return LocalTensor<uint8_t>(TPosition::VECCALC, 6 * kSlot, kSlot); }
__aicore__ inline LocalTensor<uint32_t> Offsets() { return LocalTensor<uint32_t>(TPosition::VECCALC, 7 * kSlot, 64); }
/* Another slot than these. */
__aicore__ inline int32_t Other(int32_t slot, int32_t a, int32_t b = -1)
{
    while (slot % 6 == a % 6 || (b >= 0 && slot % 6 == b % 6)) ++slot;
    return slot % 6;
}

extern "C" __global__ __vector__ void run(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR program,
                                          uint32_t length, uint32_t junk)
{
    InitSocState();
    uint8_t* const ub = pypto_twin::state().core->ub;
    for (uint32_t i = 0; i < 8 * kSlot; ++i) {
        junk = junk * 1664525u + 1013904223u;
        ub[i] = static_cast<uint8_t>(junk >> 24);
    }
    GlobalTensor<float> gx, gy, gw;
    gx.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
    gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    gw.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    for (uint32_t step = 0; step < length; ++step) {
        const int32_t* const p = reinterpret_cast<const int32_t*>(program) + step * 6;
        const int32_t d = p[1], a = p[2], b = p[3];
        const uint32_t n = static_cast<uint32_t>(p[4]) % 64 + 1, m = static_cast<uint32_t>(p[5]);
        const LocalTensor<float> to = At(d), from = At(a), second = At(b);
        const uint32_t repeats = m % 2 + 1;
        const UnaryRepeatParams dense(1, 1, 8, 8);
        const DataCopyExtParams bytes(1, n * 4, 0, 0, 0);
        const uint64_t lanes[2] = {0x9E3779B97F4A7C15u * (n + 64 * m), 0};
        switch (p[0]) {
            case 0: DataCopy(to[m % 9 * 8], gx[m % 9 * 8], ((n - 1) % 8 + 1) * 8); break;
            case 1: DataCopyPad(to, gx, DataCopyExtParams(static_cast<uint16_t>(n % 4 + 1), (m % 16 + 1) * 4, m % 3 * 4, 0, 0), DataCopyPadExtParams<float>(m % 5 == 0, 0, m % 5 == 0, 1.0f)); break;
            case 2: DataCopy(gy[step * 128], from, ((n - 1) % 8 + 1) * 8); break;
            case 3: DataCopyPad(gy[step * 128], from, bytes); break;
            case 4: Add(to, from, second, static_cast<int32_t>(n + m % 64)); break;
            case 5: Max(to, from, second, static_cast<int32_t>(n)); break;
            case 6: MulAddDst(to, from, second, static_cast<int32_t>(n)); break;
            case 7: Adds(to, from, 1.5f, n, static_cast<uint8_t>(repeats), UnaryRepeatParams(1, static_cast<uint16_t>(m % 3), 8, static_cast<uint8_t>(m % 5 * 2 % 9))); break;
            case 8: Muls(to, from, 0.5f, lanes, static_cast<uint8_t>(repeats), dense); break;
            case 9: { const LocalTensor<half> out = At<half>(Other(d, a)); Cast(out, from, RoundMode::CAST_NONE, n + m % 64); break; }
            case 10: { const LocalTensor<float> out = At(Other(d, a)); Cast(out, At<half>(a)[m % 2 * 64], RoundMode::CAST_NONE, n + m % 64); break; }
            case 11: Compare(Bits()[m % 2 * 32], from, second, static_cast<CMPMODE>(n % 6), 64 * repeats); break;
            case 12: Compares(Bits()[m % 2 * 32], from, 1.0f, static_cast<CMPMODE>(n % 6), 64 * repeats); break;
            case 13: Select(to, Bits()[m % 2 * 32], from, second, SELMODE::VSEL_TENSOR_TENSOR_MODE, n); break;
            case 14: Select(to, Bits()[m % 2 * 32], from, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, n, static_cast<uint8_t>(repeats), BinaryRepeatParams()); break;
            case 15: WholeReduceSum(At(Other(d, a)), from, static_cast<int32_t>(n), static_cast<int32_t>(m % 4 + 1), 1, 1, static_cast<int32_t>(m % 3)); break;
            case 16: WholeReduceMax(At(Other(d, a)), from, static_cast<int32_t>(n), static_cast<int32_t>(m % 4 + 1), 1, 1, static_cast<int32_t>(m % 3)); break;
            case 17: BlockReduceSum(At(Other(d, a)), from, static_cast<int32_t>(repeats), static_cast<int32_t>(n), 1, 1, 8); break;
            case 18: PairReduceSum(At(Other(d, a)), from, static_cast<int32_t>(repeats), static_cast<int32_t>(n), 1, 1, 8); break;
            case 19: if (m % 2) ReduceSum(At(Other(d, a, b)), from, second, static_cast<int32_t>(n + m % 64)); else ReduceMax(At(Other(d, a, b)), from, second, static_cast<int32_t>(n + m % 64), m % 4 == 0); break;
            case 20: Brcb(At(Other(d, a)), from[m % 8 * 8], static_cast<uint8_t>(repeats), BrcbRepeatParams(1, 8)); break;
            case 21: Arange(Offsets().ReinterpretCast<int32_t>(), static_cast<int32_t>(m % 4 * 4), static_cast<int32_t>(m % 8 * 4), static_cast<int32_t>(n)); break;
            case 22: Gather(At(Other(d, a)), from, Offsets(), 0, n); break;
            case 23: { uint64_t kept; GatherMask(At(Other(d, a)), from, static_cast<uint8_t>(m % 7 + 1), true, n, GatherMaskParams(1, 1, 8, 0), kept); break; }
            case 24: if (m % 2) Duplicate(to, 1.25f, static_cast<int32_t>(n)); else Duplicate(to, 0.0f, lanes, static_cast<uint8_t>(repeats), 1, 8); break;
            case 25: And(At<uint16_t>(d), At<uint16_t>(a), At<uint16_t>(b), static_cast<int32_t>(n + m % 64)); break;
            case 26: if (m % 2) Or(At<uint16_t>(d), At<uint16_t>(a), At<uint16_t>(b), static_cast<int32_t>(n + m % 64)); else Not(At<uint16_t>(d), At<uint16_t>(a), static_cast<int32_t>(n)); break;
            case 27: DataCopy(At(Other(d, a)), from[m % 4 * 8], ((n - 1) % 8 + 1) * 8); break;
            case 28: Copy(At(Other(d, a)), from, static_cast<uint64_t>(n), static_cast<uint8_t>(repeats), CopyRepeatParams(1, 1, 8, static_cast<uint16_t>(m % 8))); break;
            case 29: DataCopy(gw[m % 4 * 64], from, ((n - 1) % 8 + 1) * 8); break;
            case 30: SetAtomicAdd<float>(); DataCopy(gw[m % 4 * 64], from, ((n - 1) % 8 + 1) * 8); SetAtomicNone(); break;
            case 31: DataCopy(to, gw[m % 4 * 64], ((n - 1) % 8 + 1) * 8); break;
            case 32: to.SetValue(n, 3.0f); break;
            case 33: { const float value = from.GetValue(n); Duplicate(to, value, 8); break; }
            case 34: Compare(from, second, static_cast<CMPMODE>(m % 6), static_cast<uint64_t>(n), BinaryRepeatParams()); break;
            case 35: Select<float, SELMODE::VSEL_CMPMASK_SPR>(to, from, second, static_cast<uint8_t>(repeats), BinaryRepeatParams()); break;
            case 36: if (m % 2) GetCmpMask(Bits()); else SetCmpMask(Bits()); break;
            case 37: { LocalTensor<float> out = At(Other(d, a)), last = At(Other(d + 1, a, Other(d, a))); LocalTensor<uint8_t> none = Bits(); const CumSumInfo info{n % 4 + 1, 8}; CumSum(out, last, from, none, info); break; }
            case 38: { WholeReduceSum(At(Other(d, a)), from, static_cast<int32_t>(n), 1, 1, 1, 8); Duplicate(to, GetReduceRepeatSumSpr<float>(), 8); break; }
            case 39: { uint64_t kept; GatherMask(At(Other(d, a)), from, Bits().ReinterpretCast<uint32_t>(), true, n, GatherMaskParams(1, 1, 8, 1), kept); break; }
        }
        ResetMask();
        PipeBarrier<PIPE_ALL>();
    }
}
"""

_STEPS = st.lists(
    st.tuples(
        st.integers(0, len(_INSTRUCTIONS) - 1),
        *(st.integers(0, 5),) * 3,
        st.integers(0, 63),
        st.integers(0, 239),
    ),
    min_size=1,
    max_size=14,
)
Step = tuple[int, ...]
_TIMES = 5  # as many examples as other properties have
_X = np.linspace(-2.0, 6.0, 256, dtype=np.float32)


@pytest.fixture(scope="module")
def machine(twin: Harness) -> Kernel:
    return twin.compile(_TEXT, ["run"], build="checked")["run"]


def _run(machine: Kernel, program: list[Step], junk: int) -> tuple[NDArray, list]:
    """What the program leaves in y, bit by bit, and what was found to be undefined."""
    steps = np.array(program, dtype=np.int32)
    y = np.zeros(128 * len(program), dtype=np.float32)
    workspace = np.frombuffer(np.random.default_rng(junk).bytes(4 * 256), dtype=np.float32).copy()
    machine(_X, y, workspace, steps, ctypes.c_uint32(len(program)), ctypes.c_uint32(junk))
    found = [text for rule, _, text, *_ in machine.report() if rule.startswith("undefined-")]
    return y.view(np.uint32), found


def _told(program: list[Step]) -> str:
    return "\n".join(f"{_INSTRUCTIONS[step[0]]} {step[1:]}" for step in program)


@pytest.mark.property
@settings(max_examples=_TIMES * settings.default.max_examples)
@given(
    loaded=st.lists(st.integers(0, 16), min_size=6, max_size=6),
    program=_STEPS,
    stored=st.tuples(st.integers(0, 5), st.integers(0, 63)),
)
def test_what_depends_on_junk_is_reported(
    machine: Kernel, loaded: list[int], program: list[Step], stored: tuple[int, int]
) -> None:
    """``loaded``: blocks of eight lanes of each slot that are filled first; ``stored``: the slot
    whose first lanes are looked at in the end."""
    loads = [
        (_INSTRUCTIONS.index("load"), slot, 0, 0, min(blocks - first, 8) - 1, first)
        for slot, blocks in enumerate(loaded)
        for first in range(0, blocks, 8)
    ]
    whole = [*loads, *program, (_INSTRUCTIONS.index("store_bytes"), 0, stored[0], 0, stored[1], 0)]
    results = [_run(machine, whole, junk) for junk in (1, 2, 3)]
    if not all(found for _, found in results):
        y = results[0][0]
        assert all(np.array_equal(y, other) for other, _ in results), _told(whole)
