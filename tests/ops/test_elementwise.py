"""Every elementwise operation on every dtype it takes: all 16-bit values, many 32-bit ones."""

from __future__ import annotations

import functools
import itertools
from typing import TypeAlias

import pytest
import torch

from pypto.error import DtypeError
from pypto.ir.dtype import DataType
from pypto.ops import registry
from pypto.ops.spec import REQUIRED, OpSpec
from tests.ops.batch import Batch, make_function
from tests.ops.checks import Case
from tests.ops.reference import Ref, difference, result_dtype

Line: TypeAlias = tuple[str, DataType, str]  # output, its dtype, the expression stored to it

FLOATS = (DataType.DT_FP32, DataType.DT_FP16, DataType.DT_BF16)
INTS = (DataType.DT_INT32, DataType.DT_INT16)
SMALL = (DataType.DT_INT8, DataType.DT_UINT8, DataType.DT_BOOL)
UNSIGNED = (DataType.DT_UINT16, DataType.DT_UINT32)
ALL = FLOATS + INTS + SMALL + UNSIGNED
POWERS = ("2", "3", "0", "1", "5", "0.5", "-1", "-0.5", "1.7")
GROUP = 16  # outputs of one kernel


def operands(spec: OpSpec) -> int:
    """How many tensors or numbers an operation needs."""
    return sum(p.kind in ("tensor", "operand") and p.default is REQUIRED for p in spec.params)


def others(spec: OpSpec) -> bool:
    """Whether an operation needs arguments besides tensors and numbers."""
    kinds = ("tensor", "operand")
    return any(p.kind not in kinds and p.default is REQUIRED for p in spec.params)


ALONG_AXES = ("movement", "creation", "reduction", "indexing")  # groups with tests of their own
SPECS = tuple(
    s
    for s in map(registry.get, registry.names())
    if not others(s) and s.inplace is None and s.group not in ALONG_AXES and s.name != "rms_norm"
)
UNARY = tuple(s for s in SPECS if operands(s) == 1)
BINARY = tuple(s for s in SPECS if operands(s) == 2 and s.name != "prelu")


def torch_dtype(dtype: DataType) -> torch.dtype:
    return getattr(torch, dtype.torch_name or "")  # type: ignore[no-any-return]


def patterns(dtype: DataType) -> torch.Tensor:
    """All values of a 16-bit dtype; special and random ones of a 32-bit dtype."""
    kind = torch_dtype(dtype)
    if dtype == DataType.DT_BOOL:
        return torch.arange(64) % 3 == 0
    if dtype.bytes == 1:
        return torch.arange(256, dtype=torch.int32).to(kind)
    if dtype.bytes == 2:
        return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(kind)
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(2**31), 2**31, (9000,), generator=generator).to(torch.int32)
    if not dtype.is_float:
        return torch.cat([special(dtype), bits.view(kind), (bits % 100).view(kind)])
    normal = torch.randn(9000, generator=generator) * 5
    return torch.cat([special(dtype), bits.view(torch.float32), normal, normal.round()])


def special(dtype: DataType) -> torch.Tensor:
    """The ends of a dtype, its zeros, subnormals, infinities and NaN."""
    kind = torch_dtype(dtype)
    if kind == torch.bool:
        return torch.tensor([True, False])
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
    """The dtype that an operation on tensors of ``dtype`` has."""
    bound = {p.name: p.default for p in spec.params}
    names = [p.name for p in spec.params if p.default is REQUIRED]
    dtypes = []
    for name in names:
        boolean = spec.name == "where" and name == "condition"
        dtypes.append(DataType.DT_BOOL if boolean else dtype)
        bound[name] = Ref(torch.zeros(8))
    return result_dtype(spec, dtypes, bound)  # type: ignore[no-any-return]


def grouped(batch: Batch, lines: list[Line], name: str, params: str, *values: object) -> list[Case]:
    """Kernels that compute ``lines``, a group of outputs each."""
    cases = []
    for start in range(0, len(lines), GROUP):
        group = lines[start : start + GROUP]
        outputs = "".join(f", {o}: pypto.Tensor([D], pypto.{d})" for o, d, _ in group)
        body = "".join(f"    {o}[:] = {e}\n" for o, _, e in group)
        text = f"def {name}_{start}({params}{outputs}):\n{body}"
        made = [torch.zeros(9, dtype=torch_dtype(d)) for _, d, _ in group]
        cases.append(Case(batch, text, f"{name}_{start}", *values, *made))
    return cases


def outputs(lines: list[Line], case: Case, like: torch.Tensor) -> list[torch.Tensor]:
    """Full of what no test expects."""
    kinds = {o: d for o, d, _ in lines}
    return [torch.full(like.shape, 77).to(torch_dtype(kinds[n])) for n in case.names if n in kinds]


# --- functions of one tensor ---


def unary_lines(dtype: DataType) -> list[Line]:
    """Output, its dtype, expression, for every operation of one tensor on ``dtype``."""
    lines: list[Line] = []
    for spec in UNARY:
        if dtype in spec.dtypes:
            lines.append((spec.name, result(spec, dtype), f"pypto.{spec.name}(x)"))
    if dtype in FLOATS + INTS:
        powers = POWERS if dtype.is_float else POWERS[:5]
        lines += [(f"pow{n}", dtype, f"x ** {value}") for n, value in enumerate(powers)]
    return lines


@functools.cache
def unary_batch(dtype: DataType) -> list[Case]:
    batch = Batch()
    x = torch.zeros(9, dtype=torch_dtype(dtype))
    params = f"x: pypto.Tensor([D], pypto.{dtype})"
    cases = grouped(batch, unary_lines(dtype), f"unary_{dtype.short}", params, x)
    batch.build()
    return cases


@functools.cache
def unary_results(dtype: DataType) -> dict[str, tuple[torch.Tensor, object]]:
    found: dict[str, tuple[torch.Tensor, object]] = {}
    x = patterns(dtype)
    for case in unary_batch(dtype):
        got, want = case.run(x, *outputs(unary_lines(dtype), case, x))
        found |= dict(zip(case.names, zip(got, want, strict=True), strict=True))
    return found


@pytest.mark.parametrize(
    ("dtype", "output"),
    [(d, o) for d in ALL for o, _, _ in unary_lines(d)],
    ids=lambda v: getattr(v, "short", v),
)
def test_one_operand(dtype: DataType, output: str) -> None:
    got, want = unary_results(dtype)[output]
    wrong = difference(output, got, want)  # type: ignore[arg-type]
    assert wrong is None, wrong


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)
def test_tails_of_one_operand(dtype: DataType) -> None:
    for case in unary_batch(dtype):
        for count in (0, 1, 7, 8, 15, 16, 17, 63, 65, 128, 1009):
            x = patterns(dtype)[:count].clone()
            made = outputs(unary_lines(dtype), case, x)
            case.check(x, *made, blocks=3, l1_bytes=4096)


# --- operations of two operands ---


def binary_lines(dtype: DataType) -> list[Line]:
    lines: list[Line] = []
    for spec in BINARY:
        if dtype not in spec.dtypes:
            continue
        kind = result(spec, dtype)
        lines.append((spec.name, kind, f"pypto.{spec.name}(x, y)"))
    return lines


@functools.cache
def binary_batch(dtype: DataType) -> list[Case]:
    batch = Batch()
    x = torch.zeros(9, dtype=torch_dtype(dtype))
    operand = f"pypto.Tensor([D], pypto.{dtype})"
    params = f"x: {operand}, y: {operand}"
    cases = grouped(batch, binary_lines(dtype), f"binary_{dtype.short}", params, x, x)
    batch.build()
    return cases


def binary_arguments(dtype: DataType, count: int | None = None) -> list[torch.Tensor]:
    """All pairs of special values, then random pairs."""
    ends = special(dtype)
    kind, signed = (
        torch_dtype(dtype),
        f"int{8 * dtype.bytes}",
    )  # torch takes unsigned ones apart not
    pairs = torch.cartesian_prod(torch.arange(len(ends)), torch.arange(len(ends)))
    ends, many = (t.view(getattr(torch, signed)) for t in (ends, patterns(dtype)))
    many = many[torch.randperm(len(many), generator=torch.Generator().manual_seed(2))[:9000]]
    x = torch.cat([ends[pairs[:, 0]], many])[:count]
    y = torch.cat([ends[pairs[:, 1]], many.flip(0)])[:count]
    return [x.clone().view(kind), y.clone().view(kind)]


@functools.cache
def binary_results(dtype: DataType) -> dict[str, tuple[torch.Tensor, object]]:
    found: dict[str, tuple[torch.Tensor, object]] = {}
    x, y = binary_arguments(dtype)
    for case in binary_batch(dtype):
        got, want = case.run(x, y, *outputs(binary_lines(dtype), case, x))
        found |= dict(zip(case.names, zip(got, want, strict=True), strict=True))
    return found


@pytest.mark.parametrize(
    ("dtype", "output"),
    [(d, o) for d in ALL for o, _, _ in binary_lines(d)],
    ids=lambda v: getattr(v, "short", v),
)
def test_two_operands(dtype: DataType, output: str) -> None:
    got, want = binary_results(dtype)[output]
    wrong = difference(output, got, want)  # type: ignore[arg-type]
    assert wrong is None, wrong


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)
def test_tails_of_two_operands(dtype: DataType) -> None:
    for case in binary_batch(dtype):
        for count in (0, 1, 9, 31, 65, 127, 1000):
            x, y = binary_arguments(dtype, count)
            made = outputs(binary_lines(dtype), case, x)
            case.check(x, y, *made, blocks=2, l1_bytes=2048)


# --- scalars ---

CONSTANTS = {True: ("2", "0.1", "-0.0"), False: ("-3", "70000")}


def scalar_lines(dtype: DataType) -> list[Line]:
    """Every operation with a constant, a run-time int and a run-time float, on either side."""
    texts: list[tuple[OpSpec, str]] = []
    numbers = ["f" if dtype.is_float else "n"]
    if dtype.bytes == 2:
        numbers += ["n", *CONSTANTS[dtype.is_float]]
    for spec, number in itertools.product(BINARY, dict.fromkeys(numbers)):
        if spec.name == "pow" and number != "n":
            continue
        if dtype not in spec.dtypes or (spec.name == "div" and not dtype.is_float):
            continue
        left, right = (p.kind == "operand" for p in spec.params[:2])
        if dtype == DataType.DT_BOOL and spec.group == "bitwise":
            continue
        if spec.group == "division" and (number != numbers[0] or dtype.bytes == 1):
            continue  # many instructions each
        texts += [(spec, f"pypto.{spec.name}(x, {number})")] * right
        texts += [(spec, f"pypto.{spec.name}({number}, x)")] * left
    return [(f"o{n}", result(spec, dtype), text) for n, (spec, text) in enumerate(texts)]


@functools.cache
def scalar_batch(dtype: DataType) -> list[Case]:
    batch = Batch()
    x = torch.zeros(9, dtype=torch_dtype(dtype))
    params = f"x: pypto.Tensor([D], pypto.{dtype}), n: int, f: float"
    cases = grouped(batch, scalar_lines(dtype), f"scalar_{dtype.short}", params, x, 3, 0.7)
    batch.build()
    return cases


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)
@pytest.mark.parametrize(("n", "f"), [(3, 0.7), (1, -0.0), (-2, 1e-40), (0, float("inf"))])
def test_scalars(dtype: DataType, n: int, f: float) -> None:
    if not dtype.is_float:
        n = abs(n)  # torch refuses a negative exponent
    x = patterns(dtype)[:: 9 if dtype.bytes == 2 else 3].clone()
    for case in scalar_batch(dtype):
        case.check(x, n, f, *outputs(scalar_lines(dtype), case, x))


# --- where and clip ---


@functools.cache
def choice_batch(dtype: DataType) -> list[Case]:
    batch = Batch()
    x = torch.zeros(9, dtype=torch_dtype(dtype))
    operand = f"pypto.Tensor([D], pypto.{dtype})"
    params = f"c: pypto.Tensor([D], pypto.DT_BOOL), x: {operand}, y: {operand}, n: int"
    values = (torch.zeros(9, dtype=torch.bool), x, x, 1)
    cases = grouped(batch, choice_lines(dtype), f"choice_{dtype.short}", params, *values)
    batch.build()
    return cases


def choice_lines(dtype: DataType) -> list[Line]:
    texts = ["pypto.where(c, x, y)", "x.where(c, y)", "pypto.where(c, x, other=y)"]
    if dtype != DataType.DT_BOOL:
        number = "0.5" if dtype.is_float else "7"
        texts += ["pypto.where(c, x, n)", f"pypto.where(c, {number}, y)", "x.where(c, 0)"]
    else:
        texts += ["pypto.where(c, x, False)", "pypto.where(c, True, y)"]
    if dtype in registry.get("clip").dtypes:
        texts += ["pypto.clip(x, y, x)", "pypto.clip(x, 1, n)", "pypto.clip(x, max=y)"]
        texts += ["pypto.clip(x, min=n)", "x.clip(-1, 2)"]
    lines = [(f"o{n}", dtype, text) for n, text in enumerate(texts)]
    if dtype == DataType.DT_FP32:
        lines.append(("numbers", dtype, "pypto.where(c, 1.0, 0.25)"))
    return lines


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.short)
def test_choices(dtype: DataType) -> None:
    for case in choice_batch(dtype):
        for count in (0, 1, 65, 1009, None):
            x, y = binary_arguments(dtype, count)
            condition = torch.rand(x.shape, generator=torch.Generator().manual_seed(4)) < 0.4
            case.check(condition, x, y, 3, *outputs(choice_lines(dtype), case, x), blocks=2)


# --- methods and operators ---


def ascend_c(expression: str, dtype: DataType, out: DataType) -> list[str]:
    """The code of a kernel, without the Python lines in its comments."""
    operand = f"pypto.Tensor([D], pypto.{dtype})"
    text = f"import pypto\nD = pypto.DYNAMIC\ndef k(x: {operand}, y: {operand}, "
    text += f"o: pypto.Tensor([D], pypto.{out})):\n    o[:] = {expression}\n"
    x = torch.zeros(9, dtype=torch_dtype(dtype))
    made = Batch().add(make_function(text, "k"), x, x, x.to(torch_dtype(out)))
    lines = made.compilation.ascendc.splitlines()
    return [line for line in lines if not line.lstrip().startswith("//")]


@pytest.mark.parametrize("name", [s.name for s in (*UNARY, *BINARY)])
def test_forms_are_one_operation(name: str) -> None:
    """A method and an operator are the function."""
    spec = registry.get(name)
    dtype = next(d for d in ALL if d in spec.dtypes)
    out = result(spec, dtype)
    rest = "y" if spec in BINARY else ""
    forms = [f"x.{name}({rest})"]
    if spec in BINARY and spec.operator is not None:
        forms.append(f"x {spec.operator} y")
    elif spec.operator is not None:
        forms.append(f"{spec.operator.removeprefix('unary ')}x")
    want = ascend_c(f"pypto.{name}({', '.join(('x', rest)).rstrip(', ')})", dtype, out)
    if spec.receiver is None:
        for form in forms:
            assert ascend_c(form, dtype, out) == want, form


# --- in place, and elements ---


def test_axpy() -> None:
    batch, cases = Batch(), []
    generator = torch.Generator().manual_seed(6)
    for number, (y, x) in enumerate((("FP32", "FP32"), ("FP16", "FP16"), ("FP32", "FP16"))):
        text = (
            f"def axpy{number}(y: pypto.Tensor([D, D], pypto.DT_{y}), "
            f"x: pypto.Tensor([1, D], pypto.DT_{x}), z: pypto.Tensor([D, D], pypto.DT_{y})):\n"
            "    y.axpy_(x, 0.7)\n    z[:] = pypto.axpy_(y, x) * 2.0\n"
        )
        kinds = [torch_dtype(getattr(DataType, f"DT_{kind}")) for kind in (y, x)]
        a = torch.randn(5, 70, generator=generator).to(kinds[0])
        b = torch.randn(1, 70, generator=generator).to(kinds[1])
        cases.append((Case(batch, text, f"axpy{number}", a, b, a.clone()), a, b))
    batch.build()
    for case, a, b in cases:
        y, z = a.clone(), torch.zeros_like(a)
        assert case.variant.run(y, b, z) == 0
        first = (a.float() + b.float() * 0.7).to(a.dtype)
        second = (first.float() + b.float()).to(a.dtype)
        assert torch.allclose(y, second, rtol=1e-6 if a.dtype == torch.float32 else 2e-3, atol=1e-6)
        assert torch.equal(z, y * 2)


def test_elements_have_a_dtype() -> None:
    text = "def k(x: pypto.Tensor([8], pypto.DT_{}), o: pypto.Tensor([8], pypto.DT_FP16)):\n"
    body = "    o[:] = pypto.where(x > pypto.Element(pypto.DT_FP16, 0.5), x, 0.0)\n"
    x = torch.linspace(-1, 1, 8).half()
    batch = Batch()
    case = Case(batch, text.format("FP16") + body, "k", x, x)
    batch.build()
    out = torch.zeros_like(x)
    assert case.variant.run(x, out) == 0
    assert torch.equal(out, torch.where(x > 0.5, x, 0.0))
    wrong = body.replace("DT_FP16, 0.5", "DT_FP32, 0.5")
    with pytest.raises(DtypeError, match="an element of DT_FP32"):
        Case(Batch(), text.format("FP16") + wrong, "k", x, x)
