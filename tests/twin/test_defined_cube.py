# ruff: noqa: E501 (lines of the C++ texts)
"""The checked build: undefined values on their way through a cube core.

Each kernel has a matrix of 32 x 32 halves in global memory, of which it loads 32 or only 24 rows.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .harness import CUBE, Harness, Kernel

_HEAD = """
using namespace AscendC;
#define BEGIN                                                                                   \\
    TPipe pipe;                                                                                 \\
    TBuf<TPosition::A1> a1; TBuf<TPosition::B1> b1; TBuf<TPosition::A2> a2; TBuf<TPosition::B2> b2; \\
    TBuf<TPosition::CO1> c1; TBuf<TPosition::C1> t1; TBuf<TPosition::C2> t2;                    \\
    pipe.InitBuffer(a1, 8192); pipe.InitBuffer(b1, 8192); pipe.InitBuffer(a2, 8192); pipe.InitBuffer(b2, 8192); \\
    pipe.InitBuffer(c1, 32768); pipe.InitBuffer(t1, 256); pipe.InitBuffer(t2, 256);             \\
    const LocalTensor<half> la = a1.Get<half>(), lb = b1.Get<half>(), ra = a2.Get<half>(), rb = b2.Get<half>(); \\
    const LocalTensor<float> c = c1.Get<float>(), table1 = t1.Get<float>(), table = t2.Get<float>(); \\
    GlobalTensor<half> gx, hy; gx.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x));           \\
    hy.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y));                                      \\
    GlobalTensor<float> gw, gy; gy.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));         \\
    gw.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));                             \\
    const uint32_t n = 32;                                                                      \\
    MmadParams p; p.m = n; p.n = n; p.k = n;                                                    \\
    MmadParams on = p; on.cmatrixInitVal = false;                                               \\
    FixpipeParamsV220 f; f.nSize = n; f.mSize = n; f.srcStride = n; f.dstStride = n;            \\
    DataCopy(la, gx, Nd2NzParams(1, rows, n, 0, n, n, 1, 0));
#define ONES(tensor) Fill(tensor, InitConstValueParams<half>(1, 4, 0, half(1.0f)));
#define LEFT for (uint32_t i = 0; i < 2; ++i) LoadData(ra[i * 512], la[i * 256], LoadData2DParams(0, 2, 2, 0, 0, false, 0));
#define RIGHT for (uint32_t i = 0; i < 2; ++i) LoadData(rb[i * 512], la[i * 256], LoadData2DParams(0, 2, 2, 0, 0, true, 0));
#define DRAIN(rows) f.mSize = rows; Fixpipe(gy, c, f);
"""

# Statements of a kernel, and whether it uses what was not loaded.
_CASES = {
    "left": ("LEFT ONES(rb) Mmad(c, ra, rb, p); DRAIN(32)", True),
    "left_less": ("LEFT ONES(rb) Mmad(c, ra, rb, p); DRAIN(24)", False),
    "left_short": ("LEFT ONES(rb) p.m = 24; Mmad(c, ra, rb, p); DRAIN(24)", False),
    "right": ("RIGHT ONES(ra) Mmad(c, ra, rb, p); DRAIN(24)", True),
    "right_short": ("RIGHT ONES(ra) p.k = 24; Mmad(c, ra, rb, p); DRAIN(24)", False),
    "goes_on": ("LEFT ONES(rb) Mmad(c, ra, rb, p); ONES(ra) Mmad(c, ra, rb, on); DRAIN(32)", True),
    "starts_again": ("LEFT ONES(rb) Mmad(c, ra, rb, p); ONES(ra) Mmad(c, ra, rb, p); DRAIN(32)", False),
    "goes_on_less": ("LEFT ONES(rb) Mmad(c, ra, rb, p); ONES(ra) Mmad(c, ra, rb, on); DRAIN(24)", False),
    "square": ("LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, 4, 1, 0, 0)); ONES(ra) Mmad(c, ra, rb, p); DRAIN(32)", True),
    "square_first": ("LoadDataWithTranspose(rb, la, LoadData2dTransposeParams(0, 1, 1, 0, 0)); ONES(ra) p.n = f.nSize = p.k = 16; Mmad(c, ra, rb, p); DRAIN(32)", False),
    "image": ("LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 32; q.channelSize = 16; q.kExtension = 16; q.mExtension = 32; LoadData(ra, la, q); ONES(rb) p.k = 16; Mmad(c, ra, rb, p); DRAIN(32)", True),
    "image_less": ("LoadData3DParamsV2<half> q; q.l1H = 1; q.l1W = 24; q.channelSize = 16; q.kExtension = 16; q.mExtension = 24; LoadData(ra, la, q); ONES(rb) p.k = 16; p.m = 24; Mmad(c, ra, rb, p); DRAIN(24)", False),
    "bias": ("ONES(ra) ONES(rb) DataCopy(table, table1, DataCopyParams(1, 2, 0, 0)); DataCopy(table1, gy, rows); DataCopy(table, table1, DataCopyParams(1, 2, 0, 0)); Mmad(c, ra, rb, table, on); DRAIN(32)", True),
    "bias_less": ("ONES(ra) ONES(rb) DataCopy(table1, gy, rows); DataCopy(table, table1, DataCopyParams(1, 2, 0, 0)); p.n = on.n = f.nSize = 24; Mmad(c, ra, rb, table, on); DRAIN(32)", False),
    "narrowed": ("LEFT ONES(rb) Mmad(c, ra, rb, p); f.quantPre = F322F16; Fixpipe<half, float, CFG_NZ>(hy, c, f);", True),
    "to_l1": ("LEFT ONES(rb) Mmad(c, ra, rb, p); f.quantPre = F322F16; Fixpipe<half, float, CFG_NZ>(lb, c, f); for (uint32_t i = 0; i < 2; ++i) LoadData(ra[i * 512], lb[i * 256], LoadData2DParams(0, 2, 2, 0, 0, false, 0)); Mmad(c, ra, rb, p); f.quantPre = NoQuant; DRAIN(32)", True),
    "to_l1_less": ("LEFT ONES(rb) Mmad(c, ra, rb, p); f.quantPre = F322F16; Fixpipe<half, float, CFG_NZ>(lb, c, f); for (uint32_t i = 0; i < 2; ++i) LoadData(ra[i * 512], lb[i * 256], LoadData2DParams(0, 2, 2, 0, 0, false, 0)); Mmad(c, ra, rb, p); f.quantPre = NoQuant; DRAIN(24)", False),
    "workspace": ("LEFT ONES(rb) Mmad(c, ra, rb, p); f.mSize = 24; Fixpipe(gw, c, f); SetAtomicAdd<float>(); f.mSize = 32; Fixpipe(gw, c, f); SetAtomicNone();", False),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text = _HEAD + "".join(
        f'extern "C" __global__ __cube__ void {name}(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, '
        f"uint32_t rows)\n{{\nBEGIN\n{body}\n}}\n"
        for name, (body, _) in _CASES.items()
    )
    return twin.compile(text, list(_CASES), build="checked")


def _found(kernel: Kernel, rows: int) -> list[str]:
    x = np.ones((32, 32), dtype=np.float16)
    y, workspace = (np.zeros((32, 32), dtype=np.float32) for _ in range(2))
    kernel(x, y, workspace, ctypes.c_uint32(rows), kind=CUBE)
    return [text for rule, _, text, *_ in kernel.report() if rule == "undefined-store"]


@pytest.mark.parametrize("name", _CASES)
def test_a_part_was_not_loaded(kernels: dict[str, Kernel], name: str) -> None:
    assert _found(kernels[name], 32) == []
    found = _found(kernels[name], 24)
    assert (found != []) == _CASES[name][1], found
    if found:
        assert found[0].startswith("stores an undefined value to 'y', element ")
        assert found[0].endswith(": never written since InitBuffer")
