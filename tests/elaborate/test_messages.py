"""Mistakes in calls, parts, formats and loops: the whole message of each, on one page."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable

import pytest

from pypto.error import FeError, FeNotImplementedError, FeTypeError, PyptoError
from pypto.language.elsewhere import ELSEWHERE, Elsewhere
from tests.elaborate.support import Workshop, body

HEADER = """\
import numpy as np
import torch
import pypto
from pypto import Tensor as T, DT_FP32 as FP32, DYNAMIC as D
"""
HEAD = """\
def k(x: T([16, 64], FP32), h: T([16, 64], pypto.DT_FP16), d: T([D, 64], FP32),
      b: T([16, 64], pypto.DT_INT8), o: T([16, 64], FP32), n: int, f: float):
"""
LOOP = "for i in pypto.loop(4):\n    "

MISTAKES = [
    # arguments of operations
    "o[:] = pypto.sum(x, axis=1)",
    "o[:] = pypto.sum(x, 1, keepdims=True)",
    "o[:] = pypto.add(x, x, out=o)",
    "o[:] = x * pypto.element(pypto.DT_INT32, 2)",
    "o[:] = x * pypto.element(2.0, FP32)",
    "o[:] = x + np.float32(2)",
    "o[:] = pypto.conv(x, x)",
    "o[:] = pypto.exp(x, h)",
    "o[:] = pypto.cast(x, FP32, 'floor')",
    "o[:] = pypto.maximum(1, 2)",
    "o[:] = pypto.full([16, 64], 'a', FP32)",
    "o[:] = x * x.dim()",
    "t = pypto.Tensor([16, 64], FP32)",
    "print(n, sep=1)",
    # what is stored
    "o[:, 0:1] = pypto.sum(x, -1)",
    "o[:] = x[:, 0:32]",
    "o[0:4] = x[0:8]",
    "o[:] = x.transpose(0, 1)",
    "b[:] = 3.5",
    # parts and shapes
    "o[:] = x[[0, 1]]",
    "o[:] = x[1.5]",
    "o[:] = x[f]",
    "o[:] = pypto.view(x, [16], [0, 0])",
    "o[:] = pypto.view(x, [-1, 64], [0, 0])",
    "o[:] = pypto.view(x, [n, 64], [0, 0])",
    "o[:] = pypto.view(x, 16, 0)",
    "o[:] = pypto.reshape(x, [10, 10])",
    "o[:] = pypto.reshape(x, [-1, -1])",
    "o[:] = x.reshape(64, 16)",
    "o[:] = pypto.permute(x, [0, 0])",
    "o[:] = pypto.transpose(x, 0, 5)",
    "o[:] = pypto.unsqueeze(x, 5)",
    "t = pypto.zeros(16, 64, FP32)",
    "t = pypto.zeros([16, 64], FP32)",
    # what is valid in part, and what only the running kernel knows
    "t = pypto.view(d, [16, 64], [n, 0])\no[:] = t.reshape([64, 16])",
    LOOP + "m = d.shape[0] // 2\n    o[i * m : (i + 1) * m + 1] = x[0:4]",
    # formats
    LOOP + "print(f'{i:03d}')",
    LOOP + "print(f'{x[i, 0]:.3e}')",
    # loops
    "for i in range(d.shape[0]): o[i] = d[i]",
    "for i in range(n): o[i] = x[i]",
    "for i in pypto.loop_unroll(4, unroll_list=[2]): o[i] = x[i]",
    "for i, k in pypto.loop(4): o[i] = x[i]",
]


def test_every_message(shop: Workshop, golden: Callable[[str, str], None]) -> None:
    page = []
    for number, mistake in enumerate(MISTAKES, 1):
        text = HEAD + textwrap.indent(f"{mistake}\no[:] = o", "    ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            kernel = shop.module(text, HEADER)["k"]
        with pytest.raises(PyptoError) as caught:
            shop.elaborate(kernel)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None
        assert diagnostic.help or diagnostic.expected
        text = str(caught.value).replace(f"{shop.directory}/", "")
        page.append(f"--- {number}: {type(caught.value).__name__} ---\n{text}\n")
    golden("errors/messages", "\n".join(page))


@pytest.mark.parametrize(
    ("annotation", "help"),
    [
        ("pypto.Tensor(16, 64)", "write pypto.Tensor([16, 64], pypto.DT_FP32)"),
        ("pypto.Tensor(16)", "write pypto.Tensor([16], ...)"),
    ],
)
def test_shapes_without_brackets(shop: Workshop, annotation: str, help: str) -> None:
    with pytest.raises(FeTypeError) as caught:
        shop.module(f"def k(x: {annotation}): x[:] = x")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "the shape of a tensor annotation must be a list or tuple"
    assert diagnostic.help == help


@pytest.mark.parametrize("annotation", ["torch.Tensor", "np.ndarray", "FP32", "[16, 64]"])
def test_annotations_that_mean_a_tensor(shop: Workshop, annotation: str) -> None:
    kernel = shop.module(f"def k(x: {annotation}, o: T([4], FP32)): o[:] = x", HEADER)["k"]
    with pytest.raises(PyptoError) as caught:
        shop.elaborate(kernel)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help == "annotate it with pypto.Tensor(shape, dtype) if it is a tensor"


# --- what another target has ---

LATER = {"DT_FP8E4M3", "DT_FP8E5M2", "DT_FP8E8M0", "DT_HF8"}
LATER |= {"DT_FP4_E2M1X2", "DT_FP4_E1M2X2", "DT_FP4_E2M1", "DT_FP4_E1M2"}


@pytest.mark.parametrize("name", ELSEWHERE, ids=lambda one: one.name)
def test_names_of_another_target(shop: Workshop, name: Elsewhere) -> None:
    call = f"pypto.{name.name}(x)"
    message = shop.message(body(f"o[:] = {call}"))
    assert message == (
        f"ErrCode: F00005  pypto.{name.name} {name.why}\n"
        f"  expected  {name.expected}\n"
        "  got       ascend910b\n"
        "  --> k.py:4:12\n"
        "  3 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
        f"  4 |     o[:] = {call}\n"
        f"    |            {'^' * len(call)}\n"
        f"  help: {name.instead}"
    )
    assert "950 only" in name.why or "distributed" in name.name
    with pytest.raises(FeNotImplementedError, match=f"pypto.{name.name} "):
        name()


def test_a_method_of_another_target(shop: Workshop) -> None:
    text = "exists on Ascend 950 only: its FP8 and FP4 blocks"
    assert f"pypto.quant_mx {text}" in shop.message(body("o[:] = x.quant_mx()"))
    assert isinstance(shop.error(body("q = pypto.distributed.shmem")), FeError)


@pytest.mark.parametrize("dtype", sorted(LATER))
@pytest.mark.parametrize(
    "line",
    [
        "o[:] = pypto.cast(x, {})",
        "t = pypto.tensor([8], {}); t[:] = 1",
        "t = pypto.tensor([8], {}); t[:] = x.view({})",
        "t = pypto.full([8], 0, {})",
    ],
)
def test_dtypes_of_another_target(shop: Workshop, line: str, dtype: str) -> None:
    (diagnostic,) = shop.error(body(line.replace("{}", f"pypto.{dtype}"))).diagnostics
    assert diagnostic.code == "FC0001"
    assert diagnostic.message.endswith(f"{dtype}, which exists on Ascend 950 only")
