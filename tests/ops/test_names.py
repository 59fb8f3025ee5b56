"""Names of Python in the generated text: whatever they are, they clash with nothing."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import torch

from pypto.build import steps
from pypto.build.toolchain import invoke
from pypto.codegen.names import identifier, kernel_name
from pypto.runtime.dispatch import PROCESS
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

_TENSOR = "pypto.Tensor([D, D, D], pypto.DT_FP32)"
_KERNEL = """
def {kernel}({x}: {tensor}, b: pypto.Tensor([D, 1, D], pypto.DT_FP32), {o}: {tensor}, {s}: {kind}):
    {t} = pypto.exp({x} * b)
    {o}[:] = {t} / pypto.sum({t}, -1, keepdim=True) + {t} * {s}
"""
_LIBRARY = (
    "exp malloc main memcpy abs log1p sinf printf free time write errno stdin assert linux NULL "
    "EOF int64_t uint8_t size_t half double CHAR_BIT M_PI max min M inQue2 x_ _x o0 axis0 kCols"
)


def _add(batch: Batch, kernel: str, x: str, o: str, t: str, s: str, kind: str) -> str:
    """Add a kernel of this name with these names of tensors, a local value and a scalar."""
    text = _KERNEL.format(kernel=kernel, x=x, o=o, t=t, s=s, kind=kind, tensor=_TENSOR)
    a, b = torch.ones(2, 3, 40), torch.ones(2, 1, 40)
    function = make_function(HEADER + text, kernel)
    variant = batch.add(function, a, b, a.clone(), {"int": 3, "float": 2.5}[kind])
    return variant.compilation.ascendc + variant.compilation.wrapper


def _words() -> list[str]:
    """Every identifier of the text of such kernels, and words of C and its library."""
    texts = [_add(Batch(), "kernel", "x", "o", "t", "s", kind) for kind in ("int", "float")]
    code = re.sub(r"//.*", "", "\n".join(texts))
    found = set(re.findall(r"[A-Za-z_]\w*", code)) | set(_LIBRARY.split())
    ours = {"b", "pypto", "pypto_kernel_kernel"}  # what the kernels below cannot be renamed to
    return sorted(w for w in found - ours if not keyword.iskeyword(w))


def _check(batch: Batch, directory: Path) -> None:
    """Let the compiler read all kernels of ``batch``, as one text."""
    for variant in batch.variants:
        text = variant.compilation.ascendc
        (directory / variant.compilation.source_file).write_text(text)
    wrapper = "\n".join(v.compilation.wrapper for v in batch.variants)
    (directory / "wrapper.cpp").write_text(wrapper)
    store, toolchain = PROCESS.lookup.store, PROCESS.lookup.toolchain
    (directory / "tools").symlink_to(steps.precompiled_header(store, toolchain, "fast"))
    (directory / "twin").symlink_to(steps.TWIN)
    flags = ("-include", f"tools/{steps.PRELUDE}", "-Itwin", "-fsyntax-only", "-Werror")
    command = (*steps.kernel_flags(toolchain, "fast"), *flags, "wrapper.cpp")
    invoke(toolchain, command, cwd=str(directory), what="the kernels")


def test_a_name_of_the_generated_text_can_be_any_name(tmp_path: Path) -> None:
    words = _words()
    assert len(words) > 100
    batch = Batch()
    made: set[str] = set()  # kernels of one text need names of their own
    for number, word in enumerate(words):
        taken = kernel_name(word) in made
        made.add(kernel_name(word))
        others = (words[(number + n) % len(words)] for n in range(1, 5))
        _add(batch, f"{word}_{number}" if taken else word, *others, ("int", "float")[number % 2])
    _check(batch, tmp_path)


def test_identifiers() -> None:
    assert identifier("inQue") == "inQueValue"
    assert identifier("axis12") == "axis12Value" and identifier("axis") == "axis"
    assert identifier("int64_t") == "int64_tValue" and identifier("x_t") == "x_t"
    assert identifier("KCols") == "kColsValue"
    assert identifier("größe") == "gru00f6u00dfe" and identifier("__x__") == "x"


def test_kernel_names() -> None:
    assert kernel_name("add_kernel") == "add_kernel"
    assert kernel_name("exp") == "expKernel" and kernel_name("sinf") == "sinfKernel"
    first, second = kernel_name("n" * 300), kernel_name("n" * 301)
    assert first != second and len(first) == len(second) == 80
    assert kernel_name("n" * 80) == "n" * 80
