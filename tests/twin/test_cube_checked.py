# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build on a cube core: races, bounds, and the rules of each instruction."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .harness import CUBE, Harness, Kernel

_HEAD = """
using namespace AscendC;
template <HardEvent E> __aicore__ inline void Order(TPipe& pipe)
{ const TEventID id = pipe.FetchEventID(E); SetFlag<E>(id); WaitFlag<E>(id); }
#define KERNEL(name) extern "C" __global__ __cube__ void name(GM_ADDR x, GM_ADDR y, uint32_t n)
#define BEGIN                                                                                   \\
    TPipe pipe;                                                                                 \\
    TBuf<TPosition::A1> a1; TBuf<TPosition::B1> b1; TBuf<TPosition::A2> a2; TBuf<TPosition::B2> b2; \\
    TBuf<TPosition::CO1> c1; TBuf<TPosition::C1> t1; TBuf<TPosition::C2> t2;                    \\
    pipe.InitBuffer(a1, 8192); pipe.InitBuffer(b1, 8192); pipe.InitBuffer(a2, 8192); pipe.InitBuffer(b2, 8192); \\
    pipe.InitBuffer(c1, 32768); pipe.InitBuffer(t1, 256); pipe.InitBuffer(t2, 256);             \\
    const LocalTensor<half> la = a1.Get<half>(), lb = b1.Get<half>(), ra = a2.Get<half>(), rb = b2.Get<half>(); \\
    const LocalTensor<float> c = c1.Get<float>(), table1 = t1.Get<float>(), table = t2.Get<float>(); \\
    GlobalTensor<half> gx; gx.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));               \\
    GlobalTensor<float> gy; gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));             \\
    MmadParams p; p.m = n; p.n = n; p.k = n;                                                    \\
    MmadParams on = p; on.cmatrixInitVal = false;                                               \\
    FixpipeParamsV220 f; f.nSize = n; f.mSize = n; f.srcStride = n; f.dstStride = n;            \\
    (void)table1, (void)table, (void)lb;
#define BRING DataCopy(la, gx, Nd2NzParams(1, n, n, 0, n, n, 1, 0));
#define LOAD LoadData(ra, la, LoadData2DParams(0, n / 16 * n / 16, 1, 0, 0, false, 0)); \\
             LoadData(rb, la, LoadData2DParams(0, n / 16 * n / 16, 1, 0, 0, true, 0));
#define READY BRING Order<HardEvent::MTE2_MTE1>(pipe); LOAD Order<HardEvent::MTE1_M>(pipe);
// A and B of 20 x 20, which fill neither their rows nor their fractals
__aicore__ inline void Bring20(TPipe& pipe, const LocalTensor<half>& la, const LocalTensor<half>& ra,
                               const LocalTensor<half>& rb, const GlobalTensor<half>& gx)
{
    DataCopy(la, gx, Nd2NzParams(1, 20, 20, 0, 20, 32, 1, 0));
    Order<HardEvent::MTE2_MTE1>(pipe);
    for (int i = 0; i < 2; ++i) {
        LoadData(ra[i * 512], la, LoadData2DParams(i, 2, 2, 0, 0, false, 0));
        LoadData(rb[i * 512], la, LoadData2DParams(i, 2, 2, 0, 0, true, 0));
    }
    Order<HardEvent::MTE1_M>(pipe);
}
"""

_RACE = "and nothing orders the two"
_BOTH = (
    "; both have it or neither: 2 in all steps over K but the last, 3 in the last and in Fixpipe"
)

# Statements of a kernel with n = 32, and what is found: the rule and its text.
_CASES = {
    "lawful": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", []),
    "no_mte1": ("BRING LOAD Order<HardEvent::MTE1_M>(pipe); Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", [("race", f"reads L1 on pipe MTE1 what pipe MTE2 writes, {_RACE}")]),
    "no_m": ("BRING Order<HardEvent::MTE2_MTE1>(pipe); LOAD Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", [("race", f"reads L0A on pipe M what pipe MTE1 writes, {_RACE}"), ("race", f"reads L0B on pipe M what pipe MTE1 writes, {_RACE}")]),
    "no_fix": ("READY Mmad(c, ra, rb, p); Fixpipe(gy, c, f);", [("race", f"reads L0C on pipe FIX what pipe M writes, {_RACE}")]),
    "overtaken": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f); Mmad(c, ra, rb, p);", [("race", f"writes L0C on pipe M what pipe FIX reads, {_RACE}"), ("race", f"writes L0C on pipe M what pipe M writes, {_RACE}")]),
    "reloaded": ("READY Mmad(c, ra, rb, p); LOAD", [("race", f"writes L0A on pipe MTE1 what pipe M reads, {_RACE}"), ("race", f"writes L0A on pipe MTE1 what pipe MTE1 writes, {_RACE}"), ("race", f"writes L0B on pipe MTE1 what pipe M reads, {_RACE}"), ("race", f"writes L0B on pipe MTE1 what pipe MTE1 writes, {_RACE}")]),
    "accumulate_small": ("READY Mmad(c, ra, rb, p); Mmad(c, ra, rb, on);", [("race", f"reads L0C on pipe M what pipe M writes, {_RACE}")]),
    "accumulate_barrier": ("READY Mmad(c, ra, rb, p); PipeBarrier<PIPE_M>(); Mmad(c, ra, rb, on);", []),
    "a_in_l1": ("READY Mmad(c, la, rb, p);", [("operand-memory", "Mmad: src0 lies in L1; it must lie in L0A")]),
    "ten_fractals": ("BRING Order<HardEvent::MTE2_MTE1>(pipe); Fill(ra, InitConstValueParams<half>(1, 16, 0, half(1.0f))); Fill(rb, InitConstValueParams<half>(1, 16, 0, half(1.0f))); Order<HardEvent::MTE1_M>(pipe); p.m = on.m = 80; p.k = on.k = 16; Mmad(c, ra, rb, p); Mmad(c, ra, rb, on);", []),
    "eight_fractals": ("BRING Order<HardEvent::MTE2_MTE1>(pipe); Fill(ra, InitConstValueParams<half>(1, 16, 0, half(1.0f))); Fill(rb, InitConstValueParams<half>(1, 16, 0, half(1.0f))); Order<HardEvent::MTE1_M>(pipe); p.m = on.m = 64; p.k = on.k = 16; Mmad(c, ra, rb, p); Mmad(c, ra, rb, on);", [("race", f"reads L0C on pipe M what pipe M writes, {_RACE}")]),
    "unit_flag": ("READY p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy, c, f); Mmad(c, ra, rb, p); Fixpipe(gy[2048], c, f);", []),
    "unit_steps": ("READY p.unitFlag = 2; on.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); PipeBarrier<PIPE_M>(); Mmad(c, ra, rb, on); Fixpipe(gy, c, f);", []),
    "unit_parts": ("READY p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); f.nSize = 16; Fixpipe(gy, c, f); Fixpipe(gy[16], c[512], f);", []),
    "unit_tails": ("READY p.unitFlag = 3; p.m = p.n = 20; f.unitFlag = 3; f.mSize = f.nSize = 20; Mmad(c, ra, rb, p); Fixpipe(gy, c, f);", []),
    "unit_and_plain": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f); Order<HardEvent::FIX_M>(pipe); p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy[2048], c, f);", []),
    "unit_two_tiles": ("READY p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); Mmad(c[1024], ra, rb, p); Fixpipe(gy, c, f); Fixpipe(gy[2048], c[1024], f);", []),
    "unit_mmad_only": ("READY p.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy, c, f);", [("race", f"reads L0C on pipe FIX what pipe M writes, {_RACE}"), ("unit-flag", f"Fixpipe: has no unitFlag, and the Mmad that wrote the tile has it{_BOTH}")]),
    "unit_fixpipe_only": ("READY f.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy, c, f);", [("race", f"reads L0C on pipe FIX what pipe M writes, {_RACE}"), ("unit-flag", f"Fixpipe: waits for ever: it has unitFlag, and no Mmad with it has written the tile since{_BOTH}")]),
    "unit_fixpipe_twice": ("READY p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy, c, f); Fixpipe(gy[2048], c, f);", [("unit-flag", f"Fixpipe: waits for ever: it has unitFlag, and no Mmad with it has written the tile since{_BOTH}")]),
    "unit_not_last": ("READY p.unitFlag = 2; f.unitFlag = 3; Mmad(c, ra, rb, p); Fixpipe(gy, c, f);", [("race", f"reads L0C on pipe FIX what pipe M writes, {_RACE}"), ("unit-flag", f"Fixpipe: waits for ever: the last Mmad of the tile has unitFlag 2{_BOTH}")]),
    "unit_last_early": ("READY p.unitFlag = 3; on.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); PipeBarrier<PIPE_M>(); Mmad(c, ra, rb, on); Fixpipe(gy, c, f);", [("unit-flag", f"Mmad: writes a tile that an Mmad with unitFlag 3 has completed and no Fixpipe with unitFlag 3 has taken{_BOTH}")]),
    "unit_first_without": ("READY on.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); PipeBarrier<PIPE_M>(); Mmad(c, ra, rb, on); Fixpipe(gy, c, f);", [("unit-flag", f"Mmad: has unitFlag, and the Mmad that it adds to has none{_BOTH}")]),
    "unit_last_without": ("READY p.unitFlag = 2; Mmad(c, ra, rb, p); PipeBarrier<PIPE_M>(); Mmad(c, ra, rb, on); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", [("unit-flag", f"Mmad: leaves a tile that an Mmad with unitFlag 2 has begun and none with 3 has completed{_BOTH}")]),
    "unit_part_taken": ("READY p.unitFlag = 3; f.unitFlag = 3; Mmad(c, ra, rb, p); f.nSize = 16; Fixpipe(gy, c, f);", [("unit-flag", "Mmad: no Fixpipe with unitFlag 3 takes what it has written with unitFlag; the flag would disturb the next kernel")]),
    "unit_next_tile": ("READY p.unitFlag = 3; f.unitFlag = 0; Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f); Mmad(c, ra, rb, p); f.unitFlag = 3; Fixpipe(gy[2048], c, f);", [("race", f"writes L0C on pipe M what pipe FIX reads, {_RACE}"), ("race", f"writes L0C on pipe M what pipe M writes, {_RACE}"), ("unit-flag", f"Fixpipe: has no unitFlag, and the Mmad that wrote the tile has it{_BOTH}")]),
    "bias": ("READY DataCopy(table1, gy, 32); Order<HardEvent::MTE2_MTE1>(pipe); DataCopy(table, table1, DataCopyParams(1, 2, 0, 0)); Order<HardEvent::MTE1_M>(pipe); Mmad(c, ra, rb, table, on);", []),
    "bias_race": ("READY DataCopy(table1, gy, 32); Order<HardEvent::MTE2_MTE1>(pipe); DataCopy(table, table1, DataCopyParams(1, 2, 0, 0)); Mmad(c, ra, rb, table, on);", [("race", f"reads BT on pipe M what pipe MTE1 writes, {_RACE}")]),
    "past_l0": ("TBuf<TPosition::A2> most; pipe.InitBuffer(most, 65536 - 8192); Fill(most.Get<half>()[(65536 - 8192 - 512) / 2], InitConstValueParams<half>(1, 2, 0, half(0.0f)));", [("bounds", "writes bytes 65024 to 66048 of L0A, of which kernels may use 65536")]),
    "past_l1": ("TBuf<TPosition::A1> most; pipe.InitBuffer(most, 524064 - 16640); Fill(most.Get<half>()[(524032 - 16640) / 2], InitConstValueParams<half>(1, 1, 0, half(0.0f)));", [("bounds", "writes bytes 524032 to 524064 of L1, of which kernels may use 524032")]),
    "past_buffer": ("Fill(la[4096 - 16], InitConstValueParams<half>(1, 2, 0, half(0.0f)));", [("buffer-bounds", "writes 32 bytes past the end of a buffer, in another one")]),
    "past_gm": ("DataCopy(la, gx, Nd2NzParams(1, n, n, 0, 1100, n, 1, 0));", [("gm-bounds", "reads GM outside of argument")]),
    "other_core": ("TBuf<TPosition::VECCALC> ub; pipe.InitBuffer(ub, 256); const LocalTensor<float> u = ub.Get<float>(); Adds(u, u, 1.0f, 64);", [("core-kind", "Adds: runs on a vector core only, and this is a cube core")]),
    "pitch": ("DataCopy(la, gx, Nd2NzParams(1, 1, n, 0, n * 2048, n, 1, 0));", [("parameter", "DataCopy(nd2nz GM->L1): srcDValue is 65536; it must be 1 to 65535 (elements (row pitch))")]),
    "strides": ("DataCopy(la, gx, Nd2NzParams(1, n, n, 0, n, n, 0, 0));", [("parameter", "DataCopy(nd2nz GM->L1): dstNzNStride is 0; it must be 1 to 16384 (32B blocks)")]),
    "repeats": ("LoadData(ra, la, LoadData2DParams(0, n * 8, 0, 0, 0, false, 0));", [("parameter", "LoadData2D(L1->L0): repeatTimes is 256; it must be 0 to 255 (fractals)")]),
    "fractal": ("LoadData(ra[16], la, LoadData2DParams(0, 1, 1, 0, 0, false, 0));", [("align", "LoadData2D(L1->L0): dst starts at byte 32 of L0A, which is no multiple of 512")]),
    "to_l1": ("LoadData(la, lb, LoadData2DParams(0, 1, 1, 0, 0, false, 0));", [("operand-memory", "LoadData2D(L1->L0): dst lies in L1; it must lie in L0A or L0B")]),
    "square": ("LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, n * 8, 0, 0, 0));", [("parameter", "LoadDataWithTranspose: repeatTimes is 256; it must be 0 to 255 (square blocks)")]),
    "image": ("LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 32; q.channelSize = 16; q.kExtension = 16; q.mExtension = 32; q.strideW = 64; LoadData(ra, la, q);", [("parameter", "LoadData3DV2(L1->L0): strideW is 64; it must be 1 to 63 (-)")]),
    "fill": ("Fill(rb[64], InitConstValueParams<half>(1, 1, 0, half(0.0f)));", [("align", "Fill(L1/L0): dst starts at byte 128 of L0B, which is no multiple of 512")]),
    "mmad_c": ("READY Mmad(c[16], ra, rb, p);", [("align", "Mmad: dst starts at byte 64 of L0C, which is no multiple of 1024")]),
    "mmad_m": ("p.m = n * 128; p.n = 0; Mmad(c, ra, rb, p);", [("parameter", "Mmad: m is 4096; it must be 0 to 4095 (rows)")]),
    "mmad_bias": ("READY DataCopy(table1, gy, 64); Order<HardEvent::MTE2_MTE1>(pipe); DataCopy(table, table1, DataCopyParams(1, 4, 0, 0)); Order<HardEvent::MTE1_M>(pipe); Mmad(c, ra, rb, table[16], on);", [("align", "Mmad(bias): bias starts at byte 64 of BT, which is no multiple of 128")]),
    "unit_value": ("p.unitFlag = 1; p.m = 0; Mmad(c, ra, rb, p);", [("parameter", "Mmad: unitFlag is 1; it must be 0 or 2 or 3 (0 off, 2 keep, 3 flip)")]),
    "nz_columns": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); f.nSize = 24; Fixpipe<float, float, CFG_NZ>(gy, c, f);", [("parameter", "Fixpipe(L0C->GM): nSize is 24; with CFG_NZ it must be a multiple of 16")]),
    "drain_l1": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); f.quantPre = F322F16; Fixpipe<half, float, CFG_NZ>(lb, c, f);", []),
    "drain_race": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); f.quantPre = F322F16; Fixpipe<half, float, CFG_NZ>(la, c, f); LoadData(ra, la, LoadData2DParams(0, 1, 1, 0, 0, false, 0));", [("race", f"reads L1 on pipe MTE1 what pipe FIX writes, {_RACE}"), ("race", f"writes L0A on pipe MTE1 what pipe M reads, {_RACE}"), ("race", f"writes L0A on pipe MTE1 what pipe MTE1 writes, {_RACE}")]),
}  # fmt: skip


_UNDEFINED = "stores an undefined value to 'argument', element"

# Undefined data: statements, and what is found of it. L1, L0 and L0C hold nothing at first.
_DEFINED = {
    "whole": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", ""),
    "tails": ("n = 20; Bring20(pipe, la, ra, rb, gx); MmadParams q; q.m = 20; q.n = 20; q.k = 20; Mmad(c, ra, rb, q); Order<HardEvent::M_FIX>(pipe); f.nSize = 20; f.mSize = 20; f.srcStride = 32; f.dstStride = 20; Fixpipe(gy, c, f);", ""),
    "too_deep": ("n = 20; Bring20(pipe, la, ra, rb, gx); MmadParams q; q.m = 20; q.n = 20; q.k = 21; Mmad(c, ra, rb, q); Order<HardEvent::M_FIX>(pipe); f.nSize = 20; f.mSize = 20; f.srcStride = 32; f.dstStride = 20; Fixpipe(gy, c, f);", f"{_UNDEFINED} 0"),
    "too_high": ("n = 20; Bring20(pipe, la, ra, rb, gx); MmadParams q; q.m = 32; q.n = 20; q.k = 20; Mmad(c, ra, rb, q); Order<HardEvent::M_FIX>(pipe); f.nSize = 20; f.mSize = 21; f.srcStride = 32; f.dstStride = 20; Fixpipe(gy, c, f);", f"{_UNDEFINED} 400"),
    "high_unused": ("n = 20; Bring20(pipe, la, ra, rb, gx); MmadParams q; q.m = 32; q.n = 20; q.k = 20; Mmad(c, ra, rb, q); Order<HardEvent::M_FIX>(pipe); f.nSize = 20; f.mSize = 20; f.srcStride = 32; f.dstStride = 20; Fixpipe(gy, c, f);", ""),
    "sum_of_nothing": ("READY Mmad(c, ra, rb, on); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", f"{_UNDEFINED} 0"),
    "bias_missing": ("READY p.cmatrixInitVal = false; Mmad(c, ra, rb, table, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", f"{_UNDEFINED} 0"),
    "narrow": ("READY Mmad(c, ra, rb, on); Order<HardEvent::M_FIX>(pipe); f.quantPre = F322F16; GlobalTensor<half> gh; gh.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y)); Fixpipe(gh, c, f);", f"{_UNDEFINED} 0"),
    "a_missing": ("BRING Order<HardEvent::MTE2_MTE1>(pipe); LoadData(rb, la, LoadData2DParams(0, 4, 1, 0, 0, true, 0)); Order<HardEvent::MTE1_M>(pipe); Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", f"{_UNDEFINED} 0"),
    "filled": ("Fill(la, InitConstValueParams<half>(1, 64, 0, half(1.0f))); Order<HardEvent::MTE2_MTE1>(pipe); LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 32; q.channelSize = 32; q.kExtension = 32; q.mExtension = 32; LoadData(ra, la, q); LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, 4, 1, 0, 0)); Order<HardEvent::MTE1_M>(pipe); Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", ""),
    "filled_half": ("Fill(la, InitConstValueParams<half>(1, 32, 0, half(1.0f))); Order<HardEvent::MTE2_MTE1>(pipe); LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 32; q.channelSize = 32; q.kExtension = 16; q.mExtension = 32; LoadData(ra, la, q); LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, 4, 1, 0, 0)); Order<HardEvent::MTE1_M>(pipe); p.k = 16; Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", ""),
    "filled_half_deep": ("Fill(la, InitConstValueParams<half>(1, 32, 0, half(1.0f))); Order<HardEvent::MTE2_MTE1>(pipe); LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 32; q.channelSize = 32; q.kExtension = 32; q.mExtension = 32; LoadData(ra, la, q); LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, 4, 1, 0, 0)); Order<HardEvent::MTE1_M>(pipe); p.k = 17; Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); Fixpipe(gy, c, f);", f"{_UNDEFINED} 0"),
    "scale": ("READY Mmad(c, ra, rb, p); Order<HardEvent::M_FIX>(pipe); f.quantPre = VQF322B8_PRE; GlobalTensor<int8_t> gb; gb.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(y)); Fixpipe(gb, c, lb.ReinterpretCast<uint64_t>(), f);", "a scale of Fixpipe is undefined"),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = _HEAD + "".join(
        f"KERNEL({name})\n{{\nBEGIN\n{body}\n}}\n"
        for name, (body, _) in (_CASES | _DEFINED).items()
    )
    return twin.compile(text, [*_CASES, *_DEFINED], build="checked")


@pytest.mark.parametrize("name", _CASES)
def test_rules(kernels: dict[str, Kernel], name: str) -> None:
    x, y = np.ones(32 * 1024, np.float16), np.zeros(32 * 1024, np.float32)
    kernels[name](x, y, ctypes.c_uint32(32), kind=CUBE)
    found = {(rule, text) for rule, _, text, *_ in kernels[name].report() if rule != "undefined"}
    assert sorted(found) == sorted(_CASES[name][1])


@pytest.mark.parametrize("name", _DEFINED)
def test_undefined_data(kernels: dict[str, Kernel], name: str) -> None:
    x, y = np.ones(32 * 1024, np.float16), np.zeros(32 * 1024, np.float32)
    kernels[name](x, y, ctypes.c_uint32(32), kind=CUBE)
    found = [text for _, _, text, *_ in kernels[name].report()]
    expected = _DEFINED[name][1]
    assert (found[0][: len(expected)] if found else "") == expected, found
    assert bool(found) == bool(expected)
