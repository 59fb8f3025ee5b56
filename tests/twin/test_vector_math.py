"""Elementary functions: accuracy, special values, half, powers, activations, multiply-add."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from .harness import VECTOR_COUNT, Harness, Kernel
from .lanes import (
    BINARY_PARAMS,
    CALL_TEXT,
    COUNT,
    COUNTER,
    CTYPE,
    FORMS_TEXT,
    LENGTH,
    Array,
    Walk,
    kernel_text,
    pointer,
    random_data,
    random_walk,
    same_values,
)

Reference = Callable[[torch.Tensor], torch.Tensor]


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


# name: reference in double, relative tolerance in float
FUNCTIONS: dict[str, tuple[Reference, float]] = {
    "Exp": (torch.exp, 1.2e-7),
    "Ln": (torch.log, 1.5e-7),
    "Log": (torch.log, 1.5e-7),
    "Log2": (torch.log2, 1.5e-7),
    "Log10": (torch.log10, 1.5e-7),
    "Tanh": (torch.tanh, 2e-7),
    "Erf": (torch.erf, 2e-7),
    "Erfc": (torch.erfc, 3e-7),
    "Sin": (torch.sin, 1.6e-7),
    "Cos": (torch.cos, 1.6e-7),
    "Tan": (torch.tan, 3e-7),
    "Sinh": (torch.sinh, 3e-7),
    "Cosh": (torch.cosh, 3e-7),
    "Asin": (torch.asin, 3e-7),
    "Acos": (torch.acos, 3e-7),
    "Atan": (torch.atan, 3e-7),
    "Asinh": (torch.asinh, 3e-7),
    "Acosh": (torch.acosh, 3e-7),
    "Atanh": (torch.atanh, 3e-7),
    "Floor": (torch.floor, 0),
    "Ceil": (torch.ceil, 0),
    "Trunc": (torch.trunc, 0),
    "Round": (torch.round, 0),
    "Frac": (torch.frac, 0),
    "Sign": (lambda x: torch.where(torch.isnan(x), 0.0, torch.sign(x)), 0),
}
BASIC = ("Exp", "Ln")
PLAIN = ("Log", "Log10")
TYPES = ("half", "float")


def _text() -> tuple[str, list[str]]:
    bodies: dict[str, str] = {}
    for t in TYPES:
        operands = f"tensor<{t}>(d), tensor<{t}>(a)"
        for name in FUNCTIONS:
            call = (
                f"{name}({operands}, int32_t(c.count))"
                if name in BASIC
                else f"{name}<{t}, false>({operands}, c.count)"
                if name in PLAIN
                else f"{name}<{t}, false>({operands}, tensor<uint8_t>(b), c.count)"
            )
            bodies[f"{name}_{t}"] = call + ";"
        tail = "tensor<uint8_t>(b), c.count"
        bodies[f"Sigmoid_{t}"] = f"Sigmoid<{t}, false>({operands}, {tail});"
        bodies[f"Gelu_{t}"] = f"Gelu<{t}, false, false>({operands}, {tail});"
        bodies[f"Silu_{t}"] = f"Silu<{t}, false>({operands}, c.count);"
        bodies[f"ClampMax_{t}"] = (
            f"ClampMax<{t}, false>({operands}, tensor<uint8_t>(b), {t}(c.scalar), c.count);"
        )
        bodies[f"ClampMin_{t}"] = (
            f"ClampMin<{t}, false>({operands}, tensor<uint8_t>(b), {t}(c.scalar), c.count);"
        )
    for t in (*TYPES, "int32_t"):
        bodies[
            f"Power_{t}"
        ] = f"""auto x = tensor<{t}>(a), y = tensor<{t}>(b), out = tensor<{t}>(d);
    auto tmp = tensor<uint8_t>(b); const {t} s = {t}(c.scalar);
    if (c.mode == 0) Power<{t}, false>(out, x, y, tmp, c.count);
    else if (c.mode == 1) Power<{t}, false>(out, x, s, tmp, c.count);
    else Power<{t}, false>(out, s, y, tmp, c.count);"""
    for name in ("MulAddDst", "FusedMulAdd", "MulAddRelu"):
        pairs = [("half", "half"), ("float", "float")]
        pairs += [("float", "half")] if name == "MulAddDst" else []
        for d, s in pairs:
            forms = FORMS_TEXT.format(
                name=name,
                operands=f"tensor<{d}>(d), tensor<{s}>(a), tensor<{s}>(b)",
                type=d,
                types=f"{d}, {s}",
            )
            bodies[f"{name}_{d}_{s}"] = BINARY_PARAMS + forms
    text = CALL_TEXT + "".join(kernel_text(name, body) for name, body in bodies.items())
    return text, list(bodies)


@pytest.fixture(scope="module")
def kernels(twin: Harness) -> dict[str, Kernel]:
    text, names = _text()
    return twin.compile(text, names)


def sample(rng: np.random.Generator, t: str, size: int = 1 << 16) -> Array:
    """Every half; floats of all exponents, with many near 0 and near 1."""
    if t == "half":
        return np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    bits = rng.integers(0, 1 << 32, size, dtype=np.uint32).view(np.float32)
    bits[: size // 4] = rng.uniform(-3, 3, size // 4)
    bits[size // 4 : size // 2] = rng.uniform(-100, 100, size // 4)
    bits[:12] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-40, -1e-45, 88.7228, -103.9, 1e3]
    return bits


def check(actual: Array, exact: torch.Tensor, tolerance: float, where: str) -> None:
    """``actual`` against the exact result: special values equal, others within the tolerance."""
    kind = {2: torch.float16, 4: torch.float32}[actual.dtype.itemsize]
    expected = exact.to(kind).numpy()
    if tolerance == 0:
        zeros = (actual == 0) & (expected == 0)
        assert same_values(np.where(zeros, expected, actual), expected), where
        return
    wide, exact64 = actual.astype(np.float64), exact.numpy()
    special = ~np.isfinite(wide) | ~np.isfinite(expected) | (expected == 0)
    least = float(np.finfo(actual.dtype).smallest_subnormal)
    unit = np.maximum(np.abs(exact64) * (2**-10 if kind == torch.float16 else tolerance), least)
    border = np.isinf(expected) & (np.abs(wide) > 0.999 * float(np.finfo(actual.dtype).max))
    with np.errstate(invalid="ignore"):
        same = (wide == expected) | (np.isnan(wide) & np.isnan(expected)) | border
        near = np.abs(wide - exact64) <= unit
    wrong = np.flatnonzero(np.where(special, same | near, near) == 0)
    assert wrong.size == 0, (where, wrong[:5], actual[wrong[:5]], expected[wrong[:5]])
    signs = (expected == 0) & (wide == 0)
    assert np.array_equal(np.signbit(wide[signs]), np.signbit(exact64[signs])), where


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(kernels: dict[str, Kernel], name: str, t: str) -> None:
    rng = np.random.default_rng(31)
    data = sample(rng, t)
    reference, tolerance = FUNCTIONS[name]
    out = np.zeros_like(data)
    call = Walk(COUNT, (data.itemsize,) * 2, data.size).call()
    kernels[f"{name}_{t}"](out, data, data, pointer(call))
    check(out, reference(torch.from_numpy(data).double()), tolerance, name)
    for count in (0, 1, 7, 9, 100):  # tails: nothing is written beyond
        out = np.full(128, 3, data.dtype)
        part = data[100:]
        full = np.full(128, 3, data.dtype)
        kernels[f"{name}_{t}"](out, part, part, pointer(Walk(COUNT, (4,), count).call()))
        kernels[f"{name}_{t}"](full, part, part, pointer(Walk(COUNT, (4,), 128).call()))
        full[count:] = 3
        assert same_values(out, full)


@pytest.mark.parametrize("t", TYPES)
def test_activations_follow_torch(kernels: dict[str, Kernel], t: str) -> None:
    data = sample(np.random.default_rng(32), t)
    wide = torch.from_numpy(data).float()
    results = {"Sigmoid": torch.sigmoid(wide), "Silu": torch.nn.functional.silu(wide)}
    results["Gelu"] = _gelu(wide)
    for name, expected in results.items():
        out = np.zeros_like(data)
        call = Walk(COUNT, (2,), data.size).call()
        kernels[f"{name}_{t}"](out, data, data, pointer(call))
        low = torch.from_numpy(out).float()
        if name == "Silu":  # torch takes -inf to NaN or -0, by its vector path
            low, expected = low[wide > -1e30], expected[wide > -1e30]
        if name == "Gelu":  # cubes overflow at 1e13; beyond that only the limits matter
            low, expected = low[wide.abs() < 1e12], expected[wide.abs() < 1e12]
        relative, absolute = (2e-3, 1e-6) if t == "half" else (1e-6, 2e-6)
        torch.testing.assert_close(
            low, expected.to(torch.float16).float() if t == "half" else expected,
            equal_nan=True, rtol=relative, atol=absolute,
        )  # fmt: skip


@pytest.mark.parametrize("t", TYPES)
def test_clamps(kernels: dict[str, Kernel], t: str) -> None:
    data = sample(np.random.default_rng(33), t)
    for name, method in (("ClampMax", torch.minimum), ("ClampMin", torch.maximum)):
        for limit in (6.0, float("nan")):
            out = np.zeros_like(data)
            call = Walk(COUNT, (2,), data.size).call(scalar=limit)
            kernels[f"{name}_{t}"](out, data, data, pointer(call))
            tensor = torch.from_numpy(data)
            expected = method(torch.full_like(tensor, limit), tensor).numpy()
            assert same_values(out, expected)


SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 0.5, -0.5, 3, -3, 1e-40, 1e30, 16777217]


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("mode", range(3))
def test_power(kernels: dict[str, Kernel], t: str, mode: int) -> None:
    rng = np.random.default_rng(34)
    dtype = np.dtype(CTYPE[t])
    with np.errstate(over="ignore"):
        special = np.array(SPECIAL, np.float32).astype(dtype)
    base = np.concatenate([np.repeat(special, special.size), random_data(rng, dtype, 4096)])
    exponent = np.concatenate([np.tile(special, special.size), random_data(rng, dtype, 4096)])
    for scalar in (2.0, 0.5, -1.0, 3.0, 0.0, float("inf")):
        out = np.zeros_like(base)
        call = Walk(COUNT, (4,), base.size).call(mode=mode, scalar=scalar)
        kernels[f"Power_{t}"](out, base, exponent, pointer(call))
        x, y = (torch.from_numpy(v).double() for v in (base, exponent))
        if mode == 1:
            y = torch.full_like(y, scalar)
        if mode == 2:
            x = torch.full_like(x, scalar)
        check(out, torch.pow(x, y), 1.2e-7, f"{mode} {scalar}")
        if mode == 0:
            break


def test_integer_power(kernels: dict[str, Kernel]) -> None:
    rng = np.random.default_rng(35)
    edge = np.array([0, 1, -1, 2, -2, 3, 7, 2**31 - 1, -(2**31)], np.int32)
    base = np.concatenate([np.repeat(edge, 9), rng.integers(-50, 50, 4000, dtype=np.int32)])
    exponent = np.concatenate([np.tile(edge, 9), rng.integers(-5, 40, 4000, dtype=np.int32)])
    out = np.zeros_like(base)
    call = Walk(COUNT, (4,), base.size).call()
    kernels["Power_int32_t"](out, base, exponent, pointer(call))
    expected = torch.pow(torch.from_numpy(base), torch.from_numpy(exponent)).numpy()
    assert np.array_equal(out, expected)


MULTIPLY_ADD: dict[str, Callable[[Array, Array, Array], Array]] = {
    "MulAddDst": lambda d, a, b: d + a * b,
    "FusedMulAdd": lambda d, a, b: a * d + b,
    "MulAddRelu": lambda d, a, b: np.where(a * d + b < 0, np.float32(0), a * d + b),
}


@pytest.mark.parametrize(("d", "s"), [("half", "half"), ("float", "float"), ("float", "half")])
@pytest.mark.parametrize("name", MULTIPLY_ADD)
def test_multiply_add(kernels: dict[str, Kernel], name: str, d: str, s: str) -> None:
    if f"{name}_{d}_{s}" not in kernels:
        assert name != "MulAddDst"  # the mixed form is MulAddDst's alone
        return
    rng = np.random.default_rng(36)
    target, kind = np.dtype(CTYPE[d]), np.dtype(CTYPE[s])
    sizes = (target.itemsize, target.itemsize, kind.itemsize, kind.itemsize)

    def function(*values: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = [v.astype(np.float32) for v in values]
            return np.asarray(MULTIPLY_ADD[name](*wide)).astype(target)

    a, b, before = random_data(rng, kind), random_data(rng, kind), random_data(rng, target)
    walks = [Walk(COUNT, sizes, n) for n in (0, 5, 64, 99)]
    walks += [random_walk(rng, (sizes[0], *sizes[2:])) for _ in range(20)]
    for walk in walks:
        if walk.form != COUNT:  # dst is its own first source
            walk = Walk(
                walk.form, sizes, walk.count, walk.repeat, walk.low, walk.high,
                (walk.block[0], *walk.block), (walk.stride[0], *walk.stride),
            )  # fmt: skip
        expected = walk.run(before, [before, a, b], function)
        given = Walk(
            walk.form, sizes, walk.count, walk.repeat, walk.low, walk.high,
            walk.block[1:], walk.stride[1:],
        )  # fmt: skip
        if walk.form == COUNT:
            given = walk
        actual = before.copy()
        kernels[f"{name}_{d}_{s}"](actual, a, b, pointer(given.call()))
        assert same_values(actual, expected), walk


def test_counts_one_instruction_a_call(twin: Harness) -> None:
    body = """auto x = tensor<float>(a), out = tensor<float>(d); auto tmp = tensor<uint8_t>(b);
    const BinaryRepeatParams p; const uint64_t m[2] = {5, 0}; uint64_t kept = 0;
    Add(out, x, x, 100); Add(out, x, x, 64, 2, p); Sub(out, x, x, 3, 2, p); Mul(out, x, x, m, 2, p);
    Exp(out, x, 10); Duplicate(out, 0.0f, 9); Cast(tensor<half>(d), x, RoundMode::CAST_RINT, 8);
    Tanh<float, false>(out, x, tmp, 9); WholeReduceSum<float>(out, x, 64, 2, 1, 1, 8);
    ReduceMax<float>(out, x, x, 100); Select(out, tmp, x, x, SELMODE::VSEL_TENSOR_TENSOR_MODE, 9);
    GatherMask(out, x, uint8_t(1), false, 0u, GatherMaskParams(1, 1, 8, 0), kept);"""
    kernel = twin.compile(CALL_TEXT + kernel_text("counted", body), ["counted"], build="count")
    data = np.zeros(4096, np.float32)
    runtime = kernel["counted"].runtime
    runtime.counters()
    kernel["counted"](data, data, data.copy(), pointer(Walk(COUNT, (4,)).call()))
    assert runtime.counters()[VECTOR_COUNT] == 12


def test_counter_and_length_agree_on_exp(twin: Harness) -> None:
    forms = FORMS_TEXT.format(
        name="Exp", operands="tensor<float>(d), tensor<float>(a)", type="float", types="float"
    )
    params = "const UnaryRepeatParams p;"
    kernel = twin.compile(CALL_TEXT + kernel_text("exps", params + forms), ["exps"])["exps"]
    data = np.random.default_rng(37).standard_normal(1000).astype(np.float32)
    results = []
    for walk in (
        Walk(COUNT, (4, 4), 640),
        Walk(COUNTER, (4, 4), 640),
        Walk(LENGTH, (4, 4), 64, 10),
    ):
        out = np.zeros_like(data)
        kernel(out, data, data, pointer(walk.call()))
        results.append(out)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
