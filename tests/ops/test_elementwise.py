"""Every elementwise operation on every dtype it takes: all 16-bit values, many 32-bit ones."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch

from pypto.ir.dtype import DataType
from pypto.ops import registry
from pypto.ops.spec import OpSpec
from tests.ops.batch import Batch
from tests.ops.checks import Case, filled
from tests.ops.reference import difference

FLOATS = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16)
INTS = (DataType.DT_INT32, DataType.DT_INT16)
POWERS = ("2", "3", "0", "1", "5", "0.5", "-1", "-0.5", "1.7")
BINARY = tuple(s for s in map(registry.get, registry.names()) if s.params[0].kind == "operand")
UNARY = tuple(
    s
    for s in map(registry.get, registry.names())
    if [p.kind for p in s.params if p.kind != "enum"] == ["tensor"]
)
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


def torch_dtype(dtype: DataType) -> torch.dtype:
    return getattr(torch, dtype.torch_name or "")  # type: ignore[no-any-return]


def patterns(dtype: DataType) -> torch.Tensor:
    """All values of a 16-bit dtype; special and random ones of a 32-bit dtype."""
    kind = torch_dtype(dtype)
    if dtype.bytes == 2:
        return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(kind)
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(2**31), 2**31, (9000,), generator=generator).to(torch.int32)
    if kind == torch.int32:
        return torch.cat([special(dtype), bits, bits % 100])
    normal = torch.randn(9000, generator=generator) * 5
    return torch.cat([special(dtype), bits.view(torch.float32), normal, normal.round()])


def special(dtype: DataType) -> torch.Tensor:
    """The ends of a dtype, its zeros, subnormals, infinities and NaN."""
    kind = torch_dtype(dtype)
    if not kind.is_floating_point:
        info = torch.iinfo(kind)
        ends = (info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 100, info.max - 1, info.max)
        return torch.tensor(ends).to(kind)
    info = torch.finfo(kind)
    tiny = info.smallest_normal
    half = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.1, tiny, tiny / 4, tiny * info.eps, info.max]
    half += [info.max / 2, info.eps, 88.0, 104.0, 9.0, 1e-3, float("inf")]
    values = torch.tensor(half, dtype=torch.float64)
    return torch.cat([values, -values, torch.tensor([float("nan")])]).to(kind)


def result(spec: OpSpec, dtype: DataType) -> DataType:
    return DataType.DT_FP32 if spec.name == "div" and not dtype.is_float else dtype


# --- functions of one tensor ---


def unary_lines(dtype: DataType) -> list[tuple[str, str]]:
    """(name of the output, expression) for every operation of one tensor on ``dtype``."""
    lines = []
    for spec in UNARY:
        if dtype in spec.dtypes:
            lines.append((spec.name, f"pypto.{spec.name}(x)"))
            if spec.method and dtype == DataType.DT_FP32:
                lines.append((f"{spec.name}_method", f"x.{spec.name}()"))
    lines.append(("neg_operator", "-x"))
    powers = POWERS if dtype.is_float else POWERS[:5]
    lines += [(f"pow{n}", f"x ** {value}") for n, value in enumerate(powers)]
    return lines


@functools.cache
def unary_batch() -> dict[DataType, Case]:
    batch = Batch()
    cases = {}
    for dtype in FLOATS + INTS:
        outputs = [name for name, _ in unary_lines(dtype)]
        params = "".join(f", {o}: pypto.Tensor([D], pypto.{dtype})" for o in outputs)
        body = "".join(f"    {o}[:] = {e}\n" for o, e in unary_lines(dtype))
        name = f"unary_{dtype.short}"
        text = f"def {name}(x: pypto.Tensor([D], pypto.{dtype}){params}):\n{body}"
        x = torch.zeros(9, dtype=torch_dtype(dtype))
        cases[dtype] = Case(batch, text, name, x, *(filled(x) for _ in outputs))
    batch.build()
    return cases


@functools.cache
def unary_results(dtype: DataType) -> dict[str, tuple[torch.Tensor, object]]:
    case = unary_batch()[dtype]
    x = patterns(dtype)
    got, want = case.run(x, *(filled(x) for _ in case.names[1:]))
    return dict(zip(case.names, zip(got, want, strict=True), strict=True))


@pytest.mark.parametrize(
    ("dtype", "output"),
    [(d, o) for d in FLOATS + INTS for o, _ in unary_lines(d)],
    ids=lambda v: getattr(v, "short", v),
)
def test_one_operand(dtype: DataType, output: str) -> None:
    got, want = unary_results(dtype)[output]
    wrong = difference(output, got, want)  # type: ignore[arg-type]
    assert wrong is None, wrong


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=lambda d: d.short)
def test_tails_of_one_operand(dtype: DataType) -> None:
    case = unary_batch()[dtype]
    for count in (0, 1, 7, 8, 15, 16, 17, 63, 65, 128, 1009):
        x = patterns(dtype)[:count].clone()
        case.check(x, *(filled(x) for _ in case.names[1:]), blocks=3, l1_bytes=4096)


# --- operations of two operands ---


def binary_lines(dtype: DataType) -> list[tuple[str, OpSpec, str]]:
    lines = []
    for spec in (*BINARY, registry.get("pow")):
        if dtype not in spec.dtypes:
            continue
        lines.append((spec.name, spec, f"pypto.{spec.name}(x, y)"))
        if spec.name in SIGNS:
            lines.append((f"{spec.name}_operator", spec, f"x {SIGNS[spec.name]} y"))
        if spec.method and dtype == DataType.DT_FP16:
            lines.append((f"{spec.name}_method", spec, f"x.{spec.name}(y)"))
    return lines


@functools.cache
def binary_batch() -> dict[DataType, Case]:
    batch = Batch()
    cases = {}
    for dtype in FLOATS + INTS:
        lines = binary_lines(dtype)
        params = "".join(f", {o}: pypto.Tensor([D], pypto.{result(s, dtype)})" for o, s, _ in lines)
        body = "".join(f"    {o}[:] = {e}\n" for o, _, e in lines)
        name = f"binary_{dtype.short}"
        operand = f"pypto.Tensor([D], pypto.{dtype})"
        text = f"def {name}(x: {operand}, y: {operand}{params}):\n{body}"
        cases[dtype] = Case(batch, text, name, *binary_arguments(dtype, 9))
    batch.build()
    return cases


def binary_arguments(dtype: DataType, count: int | None = None) -> list[torch.Tensor]:
    """All pairs of special values, then random pairs; and the outputs."""
    ends = special(dtype)
    pairs = torch.cartesian_prod(torch.arange(len(ends)), torch.arange(len(ends)))
    many = patterns(dtype)[torch.randperm(9000, generator=torch.Generator().manual_seed(2))]
    x = torch.cat([ends[pairs[:, 0]], many])[:count]
    y = torch.cat([ends[pairs[:, 1]], many.flip(0)])[:count]
    outputs = [
        torch.full(x.shape, 77).to(torch_dtype(result(s, dtype))) for _, s, _ in binary_lines(dtype)
    ]
    return [x.clone(), y.clone(), *outputs]


@functools.cache
def binary_results(dtype: DataType) -> dict[str, tuple[torch.Tensor, object]]:
    case = binary_batch()[dtype]
    got, want = case.run(*binary_arguments(dtype))
    return dict(zip(case.names, zip(got, want, strict=True), strict=True))


@pytest.mark.parametrize(
    ("dtype", "output"),
    [(d, o) for d in FLOATS + INTS for o, _, _ in binary_lines(d)],
    ids=lambda v: getattr(v, "short", v),
)
def test_two_operands(dtype: DataType, output: str) -> None:
    got, want = binary_results(dtype)[output]
    wrong = difference(output, got, want)  # type: ignore[arg-type]
    assert wrong is None, wrong


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=lambda d: d.short)
def test_tails_of_two_operands(dtype: DataType) -> None:
    case = binary_batch()[dtype]
    for count in (0, 1, 9, 31, 65, 127, 1000):
        case.check(*binary_arguments(dtype, count), blocks=2, l1_bytes=2048)


# --- scalars ---

CONSTANTS = {True: ("2", "0.1", "-0.0"), False: ("-3", "70000")}


def scalar_lines(dtype: DataType) -> list[str]:
    """Every operation with a constant, a run-time int and a run-time float, on either side."""
    lines = ["pypto.pow(x, n)"]
    numbers = ["f" if dtype.is_float else "n"]
    if dtype.bytes == 2:
        numbers += ["n", *CONSTANTS[dtype.is_float]]
    for spec, number in itertools.product(BINARY, dict.fromkeys(numbers)):
        if spec.name == "div" and not dtype.is_float:
            continue
        lines += [f"pypto.{spec.name}(x, {number})", f"pypto.{spec.name}({number}, x)"]
    return lines


@functools.cache
def scalar_batch() -> dict[tuple[DataType, int], Case]:
    batch = Batch()
    cases = {}
    for dtype in FLOATS + INTS:
        lines = scalar_lines(dtype)
        for start in range(0, len(lines), 24):
            group = lines[start : start + 24]
            params = "".join(f", o{n}: pypto.Tensor([D], pypto.{dtype})" for n in range(len(group)))
            body = "".join(f"    o{n}[:] = {e}\n" for n, e in enumerate(group))
            name = f"scalar_{dtype.short}_{start}"
            x = f"x: pypto.Tensor([D], pypto.{dtype})"
            text = f"def {name}({x}, n: int, f: float{params}):\n{body}"
            zeros = torch.zeros(9, dtype=torch_dtype(dtype))
            values = (zeros, 3, 0.7, *(filled(zeros) for _ in group))
            cases[dtype, start] = Case(batch, text, name, *values)
    batch.build()
    return cases


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=lambda d: d.short)
@pytest.mark.parametrize(("n", "f"), [(3, 0.7), (1, -0.0), (-2, 1e-40), (0, float("inf"))])
def test_scalars(dtype: DataType, n: int, f: float) -> None:
    if not dtype.is_float:
        n = abs(n)  # torch refuses a negative exponent
    x = patterns(dtype)[:: 9 if dtype.bytes == 2 else 3].clone()
    for (kind, _), case in scalar_batch().items():
        if kind == dtype:
            case.check(x, n, f, *(filled(x) for _ in case.names[3:]))
