"""Operations that move elements, against torch, bit for bit."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import pad

import pypto
from pypto.error import DtypeError, FeValueError, PyptoError, ShapeError
from pypto.ir.dtype import DataType
from tests.ops.batch import Batch, Variant
from tests.ops.movement import CONTROLS, DTYPES, add, annotation, anything, bits

T = pypto.Tensor
WEAVABLE = (DataType.DT_FP32, DataType.DT_BF16, DataType.DT_INT8, DataType.DT_INT64)
Meaning = Callable[..., list[torch.Tensor]]


def weave(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    return [*torch.stack((a, b), -1).flatten(-2).chunk(2, -1)]


def unweave(a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
    both = torch.cat((a, b), -1)
    return [both[..., 0::2], both[..., 1::2]]


# Statements over x and y that write o and p; what they mean; the dtypes to try them with.
OPERATIONS: dict[str, tuple[str, Meaning, tuple[DataType, ...]]] = {
    "rows": ("o[:] = pypto.concat([x, y])", lambda x, y: [torch.cat([x, y])], DTYPES),
    "columns": (
        "o[:] = pypto.concat([x, y, x], -1)", lambda x, y: [torch.cat([x, y, x], -1)], DTYPES
    ),
    "padded": (
        "o[:] = x.pad([0, 3], value=5)\n    p[:] = pypto.pad(y, [0, 9, 0, 2])",
        lambda x, y: [pad(x, [0, 3], value=5), pad(y, [0, 9, 0, 2])],
        tuple(d for d in DTYPES if d.name not in ("DT_DOUBLE", "DT_BOOL")),
    ),
    "cloned": (
        "o[:] = x.clone()\n    t = y.clone()\n    t[0:1] = x[0:1]\n    p[:] = t",
        lambda x, y: [x, torch.cat([x[:1], y[1:]])], DTYPES,
    ),
    "expanded": (
        "o[:] = pypto.expand_clone(x[0:1], [3, x.shape[1]])\n"
        "    p[:] = y[:, 0:1].expand_clone([y.shape[0], 37])",
        lambda x, y: [x[:1].expand(3, -1), y[:, :1].expand(-1, 37)], DTYPES,
    ),
    "woven": (
        "a, b = pypto.interleave(x, y)\n    o[:] = a\n    p[:] = b", weave, WEAVABLE
    ),
    "unwoven": (
        "a, b = pypto.deinterleave(x, y)\n    o[:] = a\n    p[:] = b", unweave, WEAVABLE
    ),
    "halved": (
        "a, b = pypto.deinterleave(x)\n    o[:] = a\n    p[:] = b",
        lambda x, y: [x[..., 0::2], x[..., 1::2]], WEAVABLE,
    ),
    "packed": (
        "o[:] = pypto.pack(x)", lambda x, y: [x.flatten().view(torch.uint8)],
        tuple(d for d in DTYPES if d is not DataType.DT_BOOL),
    ),
    "reshaped": (
        "o[:] = x.transpose(0, 1).reshape([x.shape[0] * x.shape[1]])",
        lambda x, y: [x.t().reshape(-1)], (DataType.DT_INT8, DataType.DT_FP16),
    ),
}  # fmt: skip
CASES = [(name, dtype) for name, (_, _, dtypes) in OPERATIONS.items() for dtype in dtypes]


def called(name: str, dtype: DataType, rows: int, cols: int) -> list[torch.Tensor]:
    """Arguments: x and y of any bits, o and p of the sizes of the result."""
    x, y = anything((rows, cols), dtype, 1), anything((rows, cols), dtype, 2)
    results = [torch.zeros_like(t).contiguous() for t in OPERATIONS[name][1](x, y)]
    return [x, y, *results, *([torch.zeros_like(x)] * (2 - len(results)))]


@functools.cache
def variants() -> dict[tuple[str, DataType], Variant]:
    batch, found = Batch(), {}
    for name, dtype in CASES:
        arguments = called(name, dtype, 4, 6)
        results = arguments[2:]
        kinds = [dtype, dtype, DataType.DT_UINT8 if name == "packed" else dtype, dtype]
        axes = ["D, D", "D, D", *(", ".join("D" * t.dim()) for t in results)]
        params = ", ".join(
            f"{n}: {annotation(a, d)}" for n, a, d in zip("xyop", axes, kinds, strict=True)
        )
        label = f"{name}_{dtype.short}"
        text = f"def {label}({params}):\n    {OPERATIONS[name][0]}\n"
        found[name, dtype] = add(batch, text, label, *arguments)
    batch.build()
    return found


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_against_torch(name: str, dtype: DataType) -> None:
    variant = variants()[name, dtype]
    for step, shape in enumerate(((4, 6), (1, 2), (33, 70), (5, 0), (3, 1026))):
        if name == "expanded" and 0 in shape:
            continue  # there is nothing to repeat
        x, y, *results = called(name, dtype, *shape)
        assert variant.run(x, y, *results, **CONTROLS[step % 3]) == 0
        for have, want in zip(results, OPERATIONS[name][1](x, y), strict=False):
            assert torch.equal(bits(have), bits(want)), shape


def test_nothing_is_copied_twice() -> None:
    """What is joined or padded is stored where it is needed: no workspace, no waits."""
    for name in ("rows", "columns", "padded"):
        compilation = variants()[name, DataType.DT_FP32].compilation
        assert compilation.program is not None
        assert not compilation.program.workspace
        assert "SyncAll" not in compilation.ascendc


@pypto.frontend.jit
def fill_tails(x: T([pypto.DYNAMIC, 40]), o: T([pypto.DYNAMIC, 64]), p: T([pypto.DYNAMIC, 64])):
    for i in pypto.loop(pypto.ceildiv(x.shape[0], 16)):
        part = pypto.view(x, [16, 64], [i * 16, 0])
        o[i * 16 : (i + 1) * 16] = pypto.fillpad(part, value=float("-inf"))
        p[i * 16 : (i + 1) * 16] = pypto.fillpad(part, "constant", "inf") * 2


@pytest.mark.parametrize("rows", [16, 37, 200, 0])
def test_fillpad(rows: int) -> None:
    x = torch.randn(rows, 40)
    whole = -(-rows // 16) * 16
    o, p = torch.zeros(whole, 64), torch.zeros(whole, 64)
    fill_tails(x, o, p)
    want = torch.full((whole, 64), float("-inf"))
    want[:rows, :40] = x
    assert torch.equal(o, want)
    want[want == float("-inf")] = float("inf")
    assert torch.equal(p, want * 2)


@pypto.frontend.jit
def move_tails(
    x: T([pypto.DYNAMIC, 40]), y: T([pypto.DYNAMIC, 24]), o: T([pypto.DYNAMIC, 64]),
    p: T([pypto.DYNAMIC, 48]), q: T([pypto.DYNAMIC, 40]),
):  # fmt: skip
    for i in pypto.loop(pypto.ceildiv(x.shape[0], 16)):
        a, b = x[i * 16 : (i + 1) * 16], y[i * 16 : (i + 1) * 16]
        o[i * 16 : (i + 1) * 16] = pypto.concat([a, b], -1)
        p[i * 16 : (i + 1) * 16] = pypto.pad(a, [0, 8], value=2)
    last = x[(x.shape[0] - 1) // 16 * 16 : (x.shape[0] - 1) // 16 * 16 + 16]
    q[0:32] = pypto.concat([last, x[0:16]])


@pytest.mark.parametrize("rows", [16, 37, 200])
def test_parts_that_are_valid_in_part(rows: int) -> None:
    """What is valid of a part stands right behind what is valid of the one before."""
    x, y = torch.randn(rows, 40), torch.randn(rows, 24)
    o, p, q = torch.zeros(rows, 64), torch.zeros(rows, 48), torch.zeros(40, 40)
    move_tails(x, y, o, p, q)
    assert torch.equal(o, torch.cat([x, y], -1)) and torch.equal(p, pad(x, [0, 8], value=2))
    both = torch.cat([x[(rows - 1) // 16 * 16 :], x[:16]])
    assert torch.equal(q, torch.cat([both, torch.zeros(40 - len(both), 40)]))


@pypto.frontend.jit
def unpacked(x: T([pypto.DYNAMIC], pypto.DT_UINT8), o: T([pypto.DYNAMIC], pypto.DT_FP32)):
    o[:] = pypto.unpack(x, pypto.DT_FP32)


def test_unpack() -> None:
    x = anything((40,), DataType.DT_UINT8)
    o = torch.zeros(10)
    unpacked(x, o)
    assert torch.equal(bits(o), x)
    with pytest.raises(PyptoError, match="no whole number of DT_FP32"):
        unpacked(anything((41,), DataType.DT_UINT8), o)


@pytest.mark.parametrize(
    ("line", "cls", "message"),
    [
        ("pypto.concat([x])", FeValueError, "concat joins 2 to 128 tensors"),
        ("pypto.concat([x, n])", DtypeError, "concat: the tensors have different dtypes"),
        ("pypto.concat([x, x[0]])", ShapeError, "concat: the tensors have different ranks"),
        ("pypto.concat([x, x[:, 0:3]])", ShapeError,
         "concat: the tensors differ along another axis than 'dim'"),
        ("pypto.concat([x, x], 2)", FeValueError, "concat: 'dim' is out of range"),
        ("pypto.pad(x, [0, 1, 2])", FeValueError, "pad takes 2 or 4 sizes of 0 or more"),
        ("pypto.pad(x, [0, -1])", FeValueError, "pad takes 2 or 4 sizes of 0 or more"),
        ("pypto.pad(x, [1, 0])", FeValueError, "pad adds elements to the right and below"),
        ("pypto.pad(x, [0, 1], 'reflect')", PyptoError, "pad has the mode 'constant' alone"),
        ("pypto.pad(n, [0, 1], value=0.5)", FeValueError,
         "pad: a float cannot be stored into DT_INT32"),
        ("pypto.expand_clone(x, [4])", ShapeError, "expand_clone keeps the number of axes"),
        ("pypto.expand_clone(x, [8, 6])", ShapeError,
         "the value does not fit into 't'"),
        ("pypto.interleave(x[:, 0:3], x[:, 0:3])", ShapeError,
         "interleave takes an even last axis"),
        ("pypto.interleave(x, n)", DtypeError,
         "interleave takes two tensors of one shape and dtype"),
        ("pypto.unpack(n, pypto.DT_INT8)", DtypeError, "unpack does not take DT_INT32"),
        ("pypto.pack(x > 0)", DtypeError, "pack does not take DT_BOOL"),
    ],
)  # fmt: skip
def test_refusals(line: str, cls: type[PyptoError], message: str) -> None:
    x, n = annotation("4, 6", DataType.DT_FP32), annotation("4, 6", DataType.DT_INT32)
    text = f"def k(x: {x}, n: {n}, o: {x}):\n    t = {line}\n    o[:] = x\n"
    with pytest.raises(cls) as caught:
        add(Batch(), text, "k", torch.ones(4, 6), torch.ones(4, 6).int(), torch.ones(4, 6))
    assert message in caught.value.diagnostics[0].message
