"""The levels of canonical kernels as text, the rules of emitted Ascend C, and the verifiers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from pypto import target
from pypto.error import PyptoGeneralError
from pypto.ir.tensor import Load, Store
from pypto.ir.tile import Barrier, Block, Plan, Program, Wait
from pypto.ir.verify import verify_tensor, verify_tile
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

X, Y, Z = torch.ones(6, 40), torch.ones(1, 40), torch.ones(40, 6)
F, H = "pypto.Tensor([D, D], pypto.DT_FP32)", "pypto.Tensor([D, D], pypto.DT_BF16)"
KERNELS = {
    "add": (f"x: {F}, o: {F}", "o[:] = x + 1", (X, X)),
    "chain": (
        f"x: {H}, y: {H}, o: {H}, s: float",
        "o[:] = pypto.sigmoid(x * s) + y",
        (X.bfloat16(), X.bfloat16(), X.bfloat16(), 0.5),
    ),
    "bias": (
        f"x: {F}, b: pypto.Tensor([1, D], pypto.DT_FP32), o: {F}", "o[:] = x - b", (X, Y, X),
    ),
    "softmax": (f"x: {F}, o: {F}", "o[:] = pypto.softmax(x, -1)", (X, X)),
    "static_softmax": ("x: pypto.Tensor, o: pypto.Tensor", "o[:] = pypto.softmax(x, -1)", (X, X)),
    "integers": (
        "x: pypto.Tensor([D], pypto.DT_INT32), o: pypto.Tensor([1], pypto.DT_INT32)",
        "o[:] = pypto.sum(x * 3, -1)",
        (torch.ones(9, dtype=torch.int32), torch.ones(1, dtype=torch.int32)),
    ),
    "middle_sum": (
        "x: pypto.Tensor([D, D, 40], pypto.DT_FP32), o: pypto.Tensor([D, 40], pypto.DT_FP32)",
        "o[:] = pypto.sum(x, 1)",
        (torch.ones(3, 6, 40), torch.ones(3, 40)),
    ),
    "argmax": (
        f"x: {F}, o: pypto.Tensor([D], pypto.DT_INT32)",
        "o[:] = pypto.argmax(x, -1)",
        (X, torch.ones(6, dtype=torch.int32)),
    ),
    "cumsum": (f"x: {F}, o: {F}", "o[:] = pypto.cumsum(x, -1)", (X, X)),
    "transposed": (f"x: {F}, y: {F}, o: {F}", "o[:] = x.transpose(0, 1) + y", (X, Z, Z)),
    "joined": (
        f"x: {F}, y: {F}, o: {F}", "o[:] = pypto.concat([x, y * 2], -1)",
        (X, X, torch.ones(6, 80)),
    ),
    "padded": (f"x: {F}, o: {F}", "o[:] = pypto.pad(x, [0, 8, 0, 2])", (X, torch.ones(8, 48))),
    "stages": (
        f"x: {F}, o: pypto.Tensor([1], pypto.DT_FP32), p: {F}",
        "m = pypto.amax(x, -1)\n    o[:] = pypto.amax(m, -1)\n    p[:] = x * 2",
        (X, torch.ones(1), X),
    ),
    "shared_loop": (
        "x: pypto.Tensor([D, 64], pypto.DT_FP32), o: pypto.Tensor([D, 64], pypto.DT_FP32)",
        "for i in pypto.loop((x.shape[0] + 3) // 4):\n"
        "        if i % 2 == 0:\n"
        "            o[i * 4 : i * 4 + 4, :] = pypto.softmax(x[i * 4 : i * 4 + 4, :], -1)\n"
        "        else:\n"
        "            o[i * 4 : i * 4 + 4, 8:16] = x[i * 4 : i * 4 + 4, 0:8] * i",
        (torch.ones(6, 64), torch.ones(6, 64)),
    ),
    "sequence": (
        "x: pypto.Tensor([D, 64], pypto.DT_FP32), t: pypto.Tensor([D], pypto.DT_INT32),"
        " o: pypto.Tensor([1, 64], pypto.DT_FP32)",
        "a, c = pypto.zeros([1, 64]), 0\n"
        "    for i in pypto.loop(t.shape[0]):\n"
        "        k = t[i]\n"
        "        if k < 0:\n"
        "            break\n"
        "        c += k\n"
        "        a[:] = pypto.softmax(a + x[k : k + 1, :], -1)\n"
        "    o[:] = a + c",
        (torch.ones(6, 64), torch.ones(5, dtype=torch.int32), torch.ones(1, 64)),
    ),
    "in_place": (
        f"x: {F}, o: {F}", "t = x * o\n    o[:] = t + o\n    o[:] = o * o", (X, X.clone()),
    ),
}  # fmt: skip


def compiled(name: str) -> Batch:
    params, body, values = KERNELS[name]
    batch = Batch()
    text = f"{HEADER}def {name}({params}):\n    {body}\n"
    own = (v.clone() if isinstance(v, torch.Tensor) else v for v in values)  # no aliases
    batch.add(make_function(text, name), *own)
    return batch


def program_of(name: str) -> Program:
    program = compiled(name).variants[0].compilation.program
    assert program is not None
    return program


@pytest.mark.parametrize("name", KERNELS)
def test_levels(name: str, golden: Callable[[str, str], None]) -> None:
    compilation = compiled(name).variants[0].compilation
    golden(f"levels_{name}", f"{compilation.tensor_ir}\n{compilation.tile_ir}")


def test_kernel_functions(golden: Callable[[str, str], None]) -> None:
    """Loops, branches and elements read, as Ascend C."""
    shown = []
    for name in ("shared_loop", "sequence"):
        text = compiled(name).variants[0].compilation.ascendc
        shown.append(text[text.index('extern "C"') :])
    golden("kernel_functions", "\n".join(shown))


def test_in_place_needs_no_workspace() -> None:
    """The same tensor read and written, row by row: one stage, sizes equal by preconditions."""
    batch = Batch()
    text = f"{HEADER}def k(x: {F}, o: {F}):\n    o[:] = pypto.softmax(x, -1)\n"
    program = batch.add(make_function(text, "k"), X, X).compilation.program
    assert program is not None and len(program.stages) == 1 and not program.workspace


# --- Ascend C ---


@pytest.mark.parametrize("name", KERNELS)
def test_emitted_text(name: str) -> None:
    text = compiled(name).variants[0].compilation.ascendc
    single = "SyncAll" not in text and len(re.findall(r"\)\.Process\(\);", text)) <= 2
    if single:
        assert "PIPE_ALL" not in text
    classes = text.partition('extern "C"')[0]
    for function in re.split(r"__aicore__ inline void ", classes)[1:]:
        # One copy per operand per step: none is repeated, none stands in a loop.
        copies = re.findall(r"DataCopyPad\((.*)\);", function)
        assert len(set(copies)) == len(copies)
        if function.startswith("Copy"):
            assert "for (" not in function
    # Where a step begins in global memory is counted in 64 bits.
    offsets = re.findall(r"(?:const|\() ?int64_t (?:row|begin|col|line|tile)\b", text)
    assert offsets and not re.search(r"u?int32_t (?:row|begin|col)\b", text)
    # Fixed repeat counts and strides stay within 8 bits; the others are guarded.
    for step in re.findall(r"RepeatParams \w+\{([^}]*)\}", text):
        for field in (f.strip() for f in step.split(",")):
            assert field in ("next", "below") or int(field) <= 255
    if "next{" in text or "uint8_t next" in text:
        assert "<= 255" in text


def test_rows_of_a_step_fit_a_repeat_count() -> None:
    for name in KERNELS:
        for stage in program_of(name).stages:
            for plan in stage.plans:
                assert plan.rows_max <= 255
                if plan.form == "columns":
                    assert plan.cols_max is not None and plan.cols_max * 4 // 32 <= 255


# --- the verifiers find what is wrong ---


def broken(name: str, change: Callable[[Plan], Plan]) -> Program:
    """The program with ``change`` made to the first plan."""
    program = program_of(name)
    stage = program.stages[0]
    changed = replace(stage, plans=(change(stage.plans[0]), *stage.plans[1:]))
    return replace(program, body=tuple(changed if n is stage else n for n in program.body))


def step_changed(plan: Plan, change: Callable[[Block], Block]) -> Plan:
    phase = plan.phases[0]
    return replace(plan, phases=(replace(phase, step=change(phase.step)), *plan.phases[1:]))


def without_barriers(block: Block) -> Block:
    return replace(block, body=tuple(i for i in block.body if not isinstance(i, Barrier)))


def reversed_body(block: Block) -> Block:
    return replace(block, body=block.body[::-1])


def freed_early(block: Block) -> Block:
    return replace(block, free_after=-1)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("chain", lambda p: step_changed(p, without_barriers), "needs a barrier"),
        ("chain", lambda p: step_changed(p, reversed_body), "is not there any more"),
        ("add", lambda p: step_changed(p, freed_early), "was given back"),
        ("add", lambda p: replace(p, step_max=4 * p.step_max), "needs .* bytes"),
        ("add", lambda p: replace(p, depth=9), "on-chip memory"),
        ("softmax", lambda p: replace(p, rows_max=4096), "needs .* bytes"),
    ],
)
def test_tile_verifier(name: str, change: Callable[[Plan], Plan], message: str) -> None:
    with pytest.raises(PyptoGeneralError, match=message):
        verify_tile(broken(name, change), target.get())


def test_tile_verifier_sees_stages() -> None:
    program = program_of("stages")
    quiet = replace(program, body=tuple(n for n in program.body if n is not Wait.CORES))
    with pytest.raises(PyptoGeneralError, match="without waiting"):
        verify_tile(quiet, target.get())
    late = replace(program, body=program.body[::-1])
    with pytest.raises(PyptoGeneralError, match="before it is written"):
        verify_tile(late, target.get())


def test_tensor_verifier() -> None:
    kernel = compiled("in_place").variants[0].compilation.kernel
    verify_tensor(kernel)
    with pytest.raises(PyptoGeneralError, match="before it is defined"):
        verify_tensor(replace(kernel, body=kernel.body[::-1]))
    with pytest.raises(PyptoGeneralError, match="defined twice"):
        verify_tensor(replace(kernel, body=(*kernel.body, kernel.body[0])))
    load = next(s for s in kernel.body if isinstance(s, Load))
    local = replace(load.buffer, param=None)
    changed = replace(kernel, locals=(local,), body=(replace(load, buffer=local),))
    with pytest.raises(PyptoGeneralError, match="read before it is written"):
        verify_tensor(changed)
    store = next(s for s in kernel.body if isinstance(s, Store))
    foreign = replace(store, buffer=local)
    with pytest.raises(PyptoGeneralError, match="is no buffer"):
        verify_tensor(replace(kernel, body=(load, foreign)))


@pytest.mark.parametrize("length", [600, 1500])
def test_long_chains(length: int) -> None:
    """No walk of the compiler is bounded by the depth of Python's own stack."""
    body = "\n    ".join(["t = x"] + ["t = t * 2 + x"] * (length // 2) + ["o[:] = t"])
    limit = sys.getrecursionlimit()
    text = f"{HEADER}def chain(x: {F}, o: {F}):\n    {body}\n"
    variant = Batch().add(make_function(text, "chain"), X, X.clone())
    assert variant.compilation.ascendc.count("Muls(") == length // 2
    assert sys.getrecursionlimit() == limit


def test_long_expressions() -> None:
    """Sums of numbers and of sizes, too."""
    sum_ = " + ".join(["x.shape[0] * s"] * 900)
    text = f"{HEADER}def scale(x: {F}, o: {F}, s: int):\n    o[:] = x * ({sum_})\n"
    Batch().add(make_function(text, "scale"), X, X.clone(), 3)
