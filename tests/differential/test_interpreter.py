"""The interpreter of Tensor IR: IR written by hand with results that are known by hand."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from pypto.ir.expr import Variable, apply, const
from pypto.ir.tensor import Carried, For, If, LoadScalar, Merge, Precondition, Statement
from pypto.ir.verify import verify_tensor
from tests.differential.hand_made import (
    I32,
    SPAN,
    Size,
    buffer,
    compute,
    expr,
    kernel,
    load,
    size_of,
    store,
    value,
    variable,
)
from tests.differential.interpreter import Fault, Refused, interpret
from tests.elaborate.support import Workshop

N = size_of("x", 0, 0)
I = variable("i")  # noqa: E741


def loop(
    body: list[Statement],
    stop: Size,
    start: Size = 0,
    step: Size = 1,
    index: Variable = I,
    **rest: object,
) -> For:
    return For(index, expr(start), expr(stop), expr(step), tuple(body), SPAN, **rest)  # type: ignore[arg-type]


def count(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def test_a_tail_is_stored_as_far_as_it_goes() -> None:
    x, o = buffer("x", N, param=0), buffer("o", N, param=1)
    inside = apply("min", 4, apply("sub", N, I))
    part, twice = value(4, valid=[inside]), value(4, valid=[inside])
    body = [
        load(part, x, [(I, inside)]),
        compute(twice, "add", part, part),
        store(o, twice, [(I, inside)]),
    ]
    made = kernel([x, o], loop(body, N, step=4))
    verify_tensor(made)
    for size in (0, 1, 4, 7, 12):
        got = torch.zeros(size)
        interpret(made, [count(size), got])
        assert got.tolist() == [2 * n for n in range(size)]


def test_scalars_are_carried_and_merged_until_a_loop_ends() -> None:
    x, o = buffer("x", 8, dtype=I32, param=0), buffer("o", 1, dtype=I32, param=1)
    element, merged = variable("e"), variable("m")
    inner, after = variable("c"), variable("c_2")
    flag, end = variable("f", "bool"), variable("f_2", "bool")
    body: list[Statement] = [
        LoadScalar(element, x, (I,), SPAN),
        If(
            apply("gt", element, 2), (), (), SPAN,
            (Merge(merged, apply("mul", element, 10), const(1)),),
        ),
    ]  # fmt: skip
    made = value(1, dtype=I32)
    carried = (Carried(inner, const(0), apply("add", inner, merged), after),)
    until = Carried(flag, const(False), apply("eq", element, 9), end)
    whole = kernel(
        [x, o],
        loop(body, 8, carried=carried, until=until),
        compute(made, "fill", after),
        store(o, made),
    )
    verify_tensor(whole)
    got = torch.zeros(1, dtype=torch.int32)
    interpret(whole, [torch.tensor([1, 3, 2, 9, 5, 5, 5, 5], dtype=torch.int32), got])
    assert got.item() == 1 + 30 + 1 + 90


@pytest.mark.parametrize("bounds", [(0, 5, 1), (4, -1, -1), (1, 6, 2), (3, 3, 1), (5, 0, -3)])
def test_loops_count_as_range_does(bounds: tuple[int, int, int]) -> None:
    o = buffer("o", 8, param=0)
    made = value(1)
    start, stop, step = bounds
    body = [compute(made, "fill", apply("add", I, 1)), store(o, made, [(I, 1)])]
    got = torch.zeros(8)
    interpret(kernel([o], loop(body, stop, start, step)), [got])
    assert got.tolist() == [n + 1 if n in range(start, stop, step) else 0 for n in range(8)]


def test_axes_of_regions() -> None:
    x, o = buffer("x", 3, 4, param=0), buffer("o", 4, 1, param=1)
    row, column = value(1, 4), value(1, 4)
    made = kernel(
        [x, o],
        load(row, x, [(2, 1), (0, 4)], (None, 1)),
        compute(column, "add", row, 1),
        store(o, column, None, (1, 0)),
    )
    verify_tensor(made)
    got = torch.zeros(4, 1)
    interpret(made, [count(3, 4), got])
    assert got.flatten().tolist() == [9, 10, 11, 12]


def test_views_share_the_memory_of_their_base() -> None:
    x, o = buffer("x", 12, param=0), buffer("o", 2, 3, param=1)
    view = buffer("v", 2, 3, base=x, offset=const(4))
    one, other = value(2, 3), value(1)
    made = kernel(
        [x, o],
        compute(other, "fill", -1), store(view, other, [(1, 1), (2, 1)]),
        load(one, view), store(o, one),
        locals=[view],
    )  # fmt: skip
    verify_tensor(made)
    x_now, got = count(12), torch.zeros(2, 3)
    interpret(made, [x_now, got])
    assert got.tolist() == [[4, 5, 6], [7, 8, -1]] and x_now[9] == -1


def test_locals_of_a_loop_are_new_in_each_iteration() -> None:
    o, local = buffer("o", 2, param=0), buffer("t", 2)
    part, made = value(1), value(2)
    body = [
        compute(part, "fill", 1), store(local, part, [(I, 1)]),
        load(made, local), store(o, made),
    ]  # fmt: skip
    with pytest.raises(Fault, match="unwritten elements are stored into o"):
        interpret(kernel([o], loop(body, 2, locals=(local,))), [torch.zeros(2)])


def test_unwritten_elements_may_be_computed_with_but_not_stored() -> None:
    o, local = buffer("o", 2, param=0), buffer("t", 3)
    two, three, twice, total = value(2), value(3), value(3), value(1)
    start = [
        compute(two, "fill", 4), store(local, two, [(0, 2)]), load(three, local),
        compute(twice, "add", three, three),
    ]  # fmt: skip
    again, part = buffer("u", 3), value(2)
    good = kernel(
        [o], *start, store(again, twice), load(part, again, [(0, 2)]), store(o, part),
        locals=[local, again],
    )  # fmt: skip
    got = torch.zeros(2)
    interpret(good, [got])
    assert got.tolist() == [8, 8]
    summed = [compute(total, "sum", twice, dim=-1, keepdim=True), store(o, total)]
    with pytest.raises(Fault, match="unwritten elements are stored into o"):
        interpret(kernel([o], *start, *summed, locals=[local]), [torch.zeros(2)])


def test_operations_use_the_valid_part_alone() -> None:
    x, o = buffer("x", 6, param=0), buffer("o", 1, param=1)
    short, long, both = value(4, valid=[2]), value(4), value(4, valid=[2])
    total = value(1)
    made = kernel(
        [x, o],
        load(short, x, [(4, 2)]), load(long, x, [(0, 4)]),
        compute(both, "mul", long, short), compute(total, "sum", both, dim=-1, keepdim=True),
        store(o, total),
    )  # fmt: skip
    got = torch.zeros(1)
    interpret(made, [count(6), got])
    assert got.item() == 0 * 4 + 1 * 5


@pytest.mark.parametrize("offset, size", [(-1, 2), (3, 2), (0, 5)])
def test_regions_outside_a_buffer(offset: int, size: int) -> None:
    x, o = buffer("x", 4, param=0), buffer("o", 4, param=1)
    part, run_time = value(size), variable("i")
    body = [load(part, x, [(run_time, size)])]
    made = kernel([x, o], loop(body, offset + 1, offset, index=run_time))
    with pytest.raises(Fault, match="leaves x"):
        interpret(made, [count(4), count(4)])


def test_types_that_do_not_say_what_is_there() -> None:
    x, o = buffer("x", 4, param=0), buffer("o", 4, param=1)
    wrong = value(3)
    with pytest.raises(Fault, match="its type says"):
        interpret(kernel([x, o], load(wrong, x)), [count(4), count(4)])
    three = value(3)
    body = [load(three, x, [(0, 3)]), store(o, three)]
    with pytest.raises(Fault, match=r"\[3\] goes into \[4\]"):
        interpret(kernel([x, o], *body), [count(4), count(4)])


def test_elements_outside_a_buffer_or_unwritten() -> None:
    x, local = buffer("x", 4, dtype=I32, param=0), buffer("t", 4, dtype=I32)
    for source, index, text in ((x, 4, "outside"), (x, -1, "outside"), (local, 0, "written")):
        made = kernel([x], LoadScalar(variable("e"), source, (const(index),), SPAN), locals=[local])
        with pytest.raises(Fault, match=text):
            interpret(made, [torch.zeros(4, dtype=torch.int32)])


def test_preconditions() -> None:
    x = buffer("x", N, param=0)
    needs = Precondition(apply("gt", N, 2), "x is too short", SPAN)
    made = dataclasses.replace(kernel([x]), preconditions=(needs,))
    interpret(made, [count(3)])
    with pytest.raises(Refused, match="x is too short"):
        interpret(made, [count(2)])


def test_expressions_that_are_not_reached() -> None:
    o = buffer("o", 1, param=0)
    made, n = value(1), variable("n")
    guarded = apply("select", apply("eq", n, 0), 7, apply("floordiv", 1, n))
    body = [compute(made, "fill", guarded), store(o, made)]
    got = torch.zeros(1)
    interpret(kernel([o], loop(body, 1, index=n)), [got])
    assert got.item() == 7


def test_ir_of_the_front_end(tmp_path: object) -> None:
    shop = Workshop(tmp_path)  # type: ignore[arg-type]
    text = (
        "D = pypto.DYNAMIC\n"
        "def k(x: T([D, D], FP32), o: T([D, 1], FP32), n: int):\n"
        "    t = pypto.tensor([x.shape[0], 1], FP32)\n"
        "    t[:] = pypto.sum(x * n, -1, keepdim=True)\n"
        "    t += 1\n"
        "    o[:] = t\n"
    )
    made = shop.run(text, n=3).kernel
    got = torch.zeros(2, 1)
    interpret(made, [count(2, 3), got, 3])
    assert got.flatten().tolist() == [10, 37]
