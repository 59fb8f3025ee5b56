"""The kernel language over torch: kernels with results that are known by hand."""

from __future__ import annotations

from typing import Any

import torch

from tests.differential import shim

HEADER = "import pypto\n"


def ran(body: str, *values: Any, names: str = "x, o") -> tuple[Any, ...]:
    """``values`` after the kernel of these lines."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    shim.run(f"{HEADER}def k({names}):\n{lines}", "k", values)
    return values


def count(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def test_a_counter_goes_from_iteration_to_iteration() -> None:
    body = "c = 0\nfor i in pypto.loop(4):\n    c += 1\n    o[i:i+1] = x[i:i+1] + c"
    _, o = ran(body, torch.zeros(4), torch.zeros(4))
    assert o.tolist() == [1, 2, 3, 4]


def test_slices_clip_and_alias() -> None:
    body = "v = o[2:9]\no[:] = x\nv[1:] = v[:2] + 10\no[3:][:] = o[3:] * 2"
    _, o = ran(body, count(5), torch.zeros(5))
    assert o.tolist() == [0, 1, 2, 24, 26]


def test_results_of_operations_are_written_into() -> None:
    _, o = ran("v = x + 1\nw = v\nv[1:] = x[1:] * 3\no[:] = w", count(3), count(3))
    assert o.tolist() == [1, 3, 6]


def test_in_place_addition() -> None:
    body = "v = x + 1\nw = v\nv += 1\no += w\no[1:] += v[1:]"
    _, o = ran(body, torch.zeros(3), torch.zeros(3))
    assert o.tolist() == [1, 3, 3]


def test_loop_ends_are_known() -> None:
    body = (
        "for i in pypto.loop(1, 8, 3):\n"
        "    if pypto.is_loop_begin(i):\n        o[i] = 1\n"
        "    if pypto.is_loop_end(i):\n        o[i] = 2\n"
    )
    _, o = ran(body, count(9), torch.zeros(9))
    assert o.tolist() == [0, 1, 0, 0, 0, 0, 0, 2, 0]


def test_unrolled_loops_go_from_large_factors_to_small() -> None:
    body = (
        "for i, k in pypto.loop_unroll(11, unroll_list=[2, 4]):\n"
        "    for j in range(k):\n        o[i + j] = k"
    )
    _, o = ran(body, count(1), torch.zeros(11))
    assert o.tolist() == [4] * 8 + [2] * 2 + [1]


def test_elements_are_numbers() -> None:
    body = "if x[1] == 4 and 0 < x[0] < 9:\n    o[x[0]] = float(x[1])"
    _, o = ran(body, torch.tensor([2, 4], dtype=torch.int32), torch.zeros(3))
    assert o.tolist() == [0, 0, 4]


def test_views_and_assembly() -> None:
    body = (
        "t = pypto.full([2, 2], 7, pypto.DT_FP32)\n"
        "t[:] = pypto.view(x, [2, 2], [1, 2])\n"
        "pypto.assemble(t, [0, 1], o)\n"
        "pypto.assemble([(t[0:1], [2, 0]), (pypto.zeros([1, 1]), [2, 2])], o)"
    )
    _, o = ran(body, count(3, 4), torch.full((3, 3), 9.0))
    assert o.tolist() == [[9, 6, 7], [9, 10, 11], [6, 7, 0]]


def test_a_valid_shape_limits_a_view() -> None:
    body = "v = pypto.view(x, [4], [1], valid_shape=[2])\no[:] = pypto.sum(v, -1)"
    _, o = ran(body, count(9), torch.zeros(1))
    assert o.item() == 3


def test_new_local_tensors_hold_nothing_useful() -> None:
    (o,) = ran("t = pypto.tensor([2], pypto.DT_FP32)\no[:] = t", torch.zeros(2), names="o")
    assert o.isnan().all()


def test_helpers_and_annotations_of_the_text() -> None:
    text = (
        "import pypto\n"
        "def twice(a, times=2):\n    return a * times\n"
        "@pypto.frontend.jit\n"
        "def k(x: pypto.Tensor([pypto.DYNAMIC], pypto.DT_FP32), o):\n"
        "    o[:] = twice(x) + twice(x, times=3)\n"
    )
    o = torch.zeros(3)
    shim.run(text, "k", (count(3), o))
    assert o.tolist() == [0, 5, 10]
