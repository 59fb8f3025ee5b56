"""Preconditions: ``raise`` and ``assert`` on what is known at launch, shapes inside branches."""

from __future__ import annotations

import pytest

from pypto.ir.evaluation import evaluate
from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop

HEAD = (
    "from pypto import DT_INT32 as I32\n"
    "def k(x: T([8], FP32), o: T([8], FP32), q: T([4], I32), n: int, m: int):\n"
)


def conditions(shop: Workshop, *lines: str, head: str = HEAD) -> list[str]:
    made = shop.run(head + "".join(f"    {line}\n" for line in lines))
    return [f"{p.condition}: {p.message}" for p in made.kernel.preconditions]


@pytest.mark.parametrize(
    "lines, wanted",
    [
        (["if n < 3: raise ValueError('small')"], ["not(n < 3): ValueError: small"]),
        (["if n > 3:", "    pass", "else: raise KeyError"], ["n > 3: KeyError"]),
        (
            ["if n > 3:", "    if m: raise ValueError(f'{1}')"],
            ["not(n > 3) or not(m != 0): ValueError: 1"],
        ),
        (["if n > 3:", "    assert m > n, 'm'"], ["not(n > 3) or (m > n): m"]),
        (["if n > 3:", "    assert 1 > 2"],
         ["not(n > 3): the assertion '1 > 2' does not hold"]),
        (["for i in pypto.loop(n):", "    assert m > 1"], ["not(0 < n) or (m > 1): assert m > 1"]),
        (["for i in pypto.loop(4):", "    assert m > 1"], ["m > 1: assert m > 1"]),
        (["for i in pypto.loop(4):", "    assert i < 4"], []),
        (["for i in pypto.loop(n):", "    raise ValueError('x')"], ["not(0 < n): ValueError: x"]),
        (["if n > 3:", "    return", "raise ValueError('n')"], ["n > 3: ValueError: n"]),
        (
            ["def check(v):", "    if v < 2: raise ValueError('two')", "    return v",
             "o += check(n) + check(m)"],
            ["not(n < 2): ValueError: two", "not(m < 2): ValueError: two"],
        ),
        (
            ["def fail(v):", "    raise ValueError(v)", "o += n if n > 2 else fail('v')"],
            ["n > 2: ValueError: v"],
        ),
    ],
)  # fmt: skip
def test_calls_that_a_kernel_refuses(shop: Workshop, lines: list[str], wanted: list[str]) -> None:
    assert conditions(shop, "o[:] = x", *lines) == wanted


def test_a_raise_leaves_nothing_behind(shop: Workshop) -> None:
    assert shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            t = pypto.tensor([8], FP32)
            if n < 3:
                t[:] = x
                raise ValueError('n')
            t[:] = x * n
            if n < 9:
                mode = 2
            else:
                raise ValueError('too large')
            o[:] = t * [1, 3, 5][mode]
        """) == (
        "kernel k(x: fp32[8] read, o: fp32[8] write, n: int)\n"
        "  local t: fp32[8]\n"
        "  require not(n < 3)\n"
        "  require n < 9\n"
        "  %1 = load x[:]            @k+6\n"
        "  %2 = mul %1, n : fp32[8]  @k+6\n"
        "  store t[:], %2            @k+6\n"
        "  %3 = load t[:]            @k+11\n"
        "  %4 = mul %3, 5 : fp32[8]  @k+11\n"
        "  store o[:], %4            @k+11\n"
    )  # fmt: skip


def test_values_of_the_side_that_runs() -> None:
    text = """
        def k(x: T([6], FP32), o: T([6], FP32), n: int):
            if n < 9:
                t, c = x * 2, [x + 1]
            else:
                raise ValueError('too large')
            o[:] = t * (n if n > 0 else 1) + (x if n < 9 else 1 / 0)
        """
    agree(text.replace("1 / 0", "x"), count(6), count(6), 3)


def test_a_raise_under_what_only_the_kernel_knows(shop: Workshop) -> None:
    assert shop.message(HEAD + "    if q[0] > n: raise ValueError('no')\n    o[:] = x\n") == (
        "ErrCode: F00005  a raise on values that only the running kernel knows is not available\n"
        "  expected  a condition on sizes and scalar arguments, and no other conditions around it\n"
        "  got       q_element > n\n"
        "  --> k.py:5:18\n"
        "  4 | def k(x: T([8], FP32), o: T([8], FP32), q: T([4], I32), n: int, m: int):\n"
        "  5 |     if q[0] > n: raise ValueError('no')\n"
        "    |                  ^^^^^^^^^^^^^^^^^^^^^^\n"
        "  'q_element' is an element of 'q', read at k.py:5:8\n"
        "  help: check the values before the call, or write what went wrong into an output"
    )  # fmt: skip


def test_an_assert_on_what_only_the_kernel_knows(shop: Workshop) -> None:
    text = HEAD + "    o[:] = x\n    for i in pypto.loop(n):\n        {}\n"
    for line in ("assert q[i] > 0", "assert i < m, 'i'"):
        message = shop.message(text.format(line))
        assert "an assertion on values that only the running kernel knows is not available" in (
            message
        )
        assert "loop" in message or "element" in message


def test_shapes_count_where_they_are_reached(shop: Workshop) -> None:
    head = "def k(x: T([pypto.DYNAMIC], FP32), o: T([pypto.DYNAMIC], FP32), n: int):\n"
    assert conditions(shop, "if n > 3: o[:] = x * 2", head=head) == [
        "not(n > 3) or (x.shape[0] == o.shape[0]): storing into 'o' needs x.shape[0] == o.shape[0]"
    ]


def test_the_parts_of_sizes_that_differ(shop: Workshop) -> None:
    head = "def k(x: T([pypto.DYNAMIC], FP32), y: T([pypto.DYNAMIC], FP32)):\n"
    lines = ["for i in pypto.loop(8):", "    y[i:] = x[i:] * 2"]
    assert conditions(shop, *lines, head=head) == [
        "x.shape[0] == y.shape[0]: storing into 'y' needs max(x.shape[0] + (i*-1), 0) == "
        "max(y.shape[0] + (i*-1), 0)"
    ]


def test_conditions_as_the_launch_code_computes_them(shop: Workshop) -> None:
    made = shop.run(HEAD + "    o[:] = x\n    if n > 3:\n        assert 6 // n == m\n").kernel
    (condition,) = made.preconditions
    for n, m, wanted in ((3, 0, True), (0, 0, True), (6, 1, True), (6, 2, False)):
        assert evaluate(condition.condition, lambda s: {"n": n, "m": m}[s.name]) is wanted  # noqa: B023


def test_a_list_that_a_side_makes(shop: Workshop) -> None:
    text = HEAD + "    {}\n    if n > 3:\n        t = [x * 2]\n    else: return\n    o[:] = t[0]\n"
    assert " mul " in shop.ir(text.format("pass"))
