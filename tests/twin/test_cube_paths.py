# ruff: noqa: E501 (lines of the C++ texts)
"""Matrix products from global memory to global memory by the contract's recipes for each layout.

Each recipe says how a matrix that is stored so or transposed comes through L1 into L0A or L0B. The
kernels order their pipes as the device needs, so the checked build finds nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from .cube import HEAD, from_bfloat16, matrix
from .harness import CUBE, Build, Harness, Kernel

TEXT = (
    HEAD
    + """
template <HardEvent E> __aicore__ inline void Order(TPipe& pipe)
{
    const event_t id = static_cast<event_t>(pipe.FetchEventID(E));
    SetFlag<E>(id);
    WaitFlag<E>(id);
}
__aicore__ inline int Up(int v, int unit) { return (v + unit - 1) / unit * unit; }
template <typename T> constexpr int kC0 = 32 / sizeof(T);

// A[m, k], row by row
template <typename T> __aicore__ inline void ALoad(const LocalTensor<T>& l0, const LocalTensor<T>& l1, int m, int k)
{
    const int mb = Up(m, 16) / 16, kb = Up(k, kC0<T>) / kC0<T>;
    for (int i = 0; i < mb; ++i) {
        LoadData(l0[i * 16 * kb * kC0<T>], l1, LoadData2DParams(i, kb, mb, 0, 0, false, 0));
    }
}
// A stored as [k, m]
template <typename T> __aicore__ inline void AtLoad(const LocalTensor<T>& l0, const LocalTensor<T>& l1, int m, int k)
{
    if constexpr (sizeof(T) == 2) {
        const int mb = Up(m, 16) / 16, kb = Up(k, 16) / 16;
        for (int i = 0; i < mb; ++i) {
            LoadData(l0[i * 16 * kb * 16], l1, LoadData2DParams(i * kb, kb, 1, 0, 0, true, 0));
        }
    } else if constexpr (sizeof(T) == 4) {
        LoadData3DParamsV2<T> p;
        p.l1H = 1; p.l1W = Up(k, 16); p.channelSize = Up(m, 16); p.kExtension = Up(m, 16); p.mExtension = Up(k, 16);
        p.enTranspose = true;
        LoadData(l0, l1, p);
    } else {
        const int mb = Up(m, 32) / 32, kb = Up(k, 32) / 32;
        for (int i = 0; i < mb; ++i) {
            LoadDataWithTranspose(l0[i * 32 * kb * 32], l1, LoadData2dTransposeParams(i * kb, kb, 1, 0, kb - 1));
        }
    }
}
// B[k, n], row by row
template <typename T> __aicore__ inline void BLoad(const LocalTensor<T>& l0, const LocalTensor<T>& l1, int n, int k)
{
    if constexpr (sizeof(T) == 2) {
        const int nb = Up(n, 16) / 16, kb = Up(k, 16) / 16;
        for (int i = 0; i < kb; ++i) {
            LoadData(l0[i * 16 * nb * 16], l1, LoadData2DParams(i, nb, kb, 0, 0, true, 0));
        }
    } else if constexpr (sizeof(T) == 4) {
        LoadData3DParamsV2<T> p;
        p.l1H = 1; p.l1W = Up(k, 16); p.channelSize = n; p.kExtension = n; p.mExtension = k;
        LoadData(l0, l1, p);
    } else {
        const int nb = Up(n, 32) / 32, kb = Up(k, 32) / 32;
        for (int i = 0; i < kb; ++i) {
            LoadDataWithTranspose(l0[i * 32 * nb * 32], l1, LoadData2dTransposeParams(i, nb, kb, 1, 0));
        }
    }
}
// B stored as [n, k]
template <typename T> __aicore__ inline void BtLoad(const LocalTensor<T>& l0, const LocalTensor<T>& l1, int n, int k)
{
    const int nb = Up(n, 16) / 16, kb = Up(k, kC0<T>) / kC0<T>;
    for (int i = 0; i < kb; ++i) {
        LoadData(l0[i * kC0<T> * nb * 16], l1, LoadData2DParams(i * nb, nb, 1, 0, 0, false, 0));
    }
}
// Stored [rows, cols]; rows of L1 up to a multiple of `unit`.
template <typename T> __aicore__ inline void Bring(const LocalTensor<T>& l1, GM_ADDR x, int rows, int cols, int unit)
{
    DataCopy(l1, gm<T>(x), Nd2NzParams(1, rows, cols, 0, cols, Up(rows, unit), 1, 0));
}

template <typename C, typename T, bool at, bool bt>
__aicore__ inline void Multiply(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR sizes)
{
    const int32_t* v = reinterpret_cast<const int32_t*>(sizes);
    const int m = v[0], n = v[1], k = v[2];
    constexpr int unit = sizeof(T) == 1 ? 32 : 16; // the transposing loads move squares
    const int n_whole = sizeof(T) == 1 && !bt ? Up(n, 32) : n;
    TPipe pipe;
    TBuf<TPosition::A1> a1;
    TBuf<TPosition::B1> b1;
    TBuf<TPosition::A2> a2;
    TBuf<TPosition::B2> b2;
    TBuf<TPosition::CO1> c1;
    const int area_a = Up(m, 32) * Up(k, 32) * sizeof(T), area_b = Up(k, 32) * Up(n, 32) * sizeof(T);
    pipe.InitBuffer(a1, area_a);
    pipe.InitBuffer(b1, area_b);
    pipe.InitBuffer(a2, area_a);
    pipe.InitBuffer(b2, area_b);
    pipe.InitBuffer(c1, Up(m, 16) * Up(n, 32) * 4);
    const LocalTensor<T> la = a1.Get<T>(), lb = b1.Get<T>(), ra = a2.Get<T>(), rb = b2.Get<T>();
    const LocalTensor<C> lc = c1.Get<C>();
    if constexpr (at) { Bring(la, a, k, m, unit); } else { Bring(la, a, m, k, 16); }
    if constexpr (bt) { Bring(lb, b, n, k, 16); } else { Bring(lb, b, k, n, unit); }
    Order<HardEvent::MTE2_MTE1>(pipe);
    if constexpr (at) { AtLoad(ra, la, m, k); } else { ALoad(ra, la, m, k); }
    if constexpr (bt) { BtLoad(rb, lb, n, k); } else { BLoad(rb, lb, n, k); }
    Order<HardEvent::MTE1_M>(pipe);
    MmadParams p;
    p.m = m; p.n = n_whole; p.k = k;
    p.kDirectionAlign = at && sizeof(T) == 4;
    Mmad(lc, ra, rb, p);
    Order<HardEvent::M_FIX>(pipe);
    FixpipeParamsV220 f;
    f.nSize = n; f.mSize = m; f.srcStride = Up(m, 16); f.dstStride = n;
    Fixpipe<C, C, CFG_ROW_MAJOR>(gm<C>(c), lc, f);
}
"""
)
TYPES = {"half": "float", "bfloat16_t": "float", "float": "float", "int8_t": "int32_t"}
FORMS = ("nn", "nt", "tn", "tt")
"""Whether A and B are stored transposed."""


@pytest.fixture(scope="module", params=["fast", "checked"])
def kernels(twin: Harness, request: pytest.FixtureRequest) -> dict[str, Kernel]:
    build: Build = request.param
    text, names = TEXT, []
    for name, result in TYPES.items():
        for form in FORMS:
            at, bt = (str(letter == "t").lower() for letter in form)
            names.append(f"{form}_{name}")
            text += (
                f'extern "C" __global__ __cube__ void {form}_{name}(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR s) '
                f"{{ Multiply<{result}, {name}, {at}, {bt}>(a, b, c, s); }}\n"
            )
    return twin.compile(text, names, build=build)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_products(kernels: dict[str, Kernel], name: str, form: str) -> None:
    random = np.random.default_rng(1)
    kernel = kernels[f"{form}_{name}"]
    for m, n, k in [(32, 48, 64), (64, 32, 32), (17, 19, 33), (5, 70, 50), (33, 1, 9)]:
        a, b = matrix(random, name, m, k), matrix(random, name, k, n)
        stored_a = np.ascontiguousarray(a.T if form[0] == "t" else a)
        stored_b = np.ascontiguousarray(b.T if form[1] == "t" else b)
        c = np.zeros((m, n), np.float32 if TYPES[name] == "float" else np.int32)
        kernel(stored_a, stored_b, c, np.array([m, n, k], np.int32), kind=CUBE)
        if name == "bfloat16_t":
            a, b = from_bfloat16(a), from_bfloat16(b)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(c, exact, rtol=0, atol=1e-4 if c.dtype == np.float32 else 0)
        if hasattr(kernel.library, "pypto_check_report"):
            assert kernel.report() == []
