"""Kernels that would take too long to compile are refused, at the place that makes them long."""

from __future__ import annotations

import pytest

from pypto.elaborate import builder, machine
from pypto.elaborate.builder import MAX_STATEMENTS
from pypto.error import FeValueError
from tests.elaborate.support import Workshop, body


def test_an_unrolled_loop_of_too_many_operations(shop: Workshop) -> None:
    error = shop.error(body("y = x", "for i in range(90_000): y = y + 1", "o[:] = y"))
    first = str(error).replace(f"{shop.directory}/", "").split("\n\n")[0]
    assert first == (
        f"ErrCode: F00002  a kernel of more than {MAX_STATEMENTS} operations takes too long to "
        "compile\n"
        "  --> k.py:5:33\n"
        "  4 |     y = x\n"
        "  5 |     for i in range(90_000): y = y + 1\n"
        "    |                                 ^^^^^\n"
        "  help: a loop over range(...) is unrolled: every step adds its operations; use fewer "
        "steps, or several kernels"
    )
    assert len(error.diagnostics) == 1, "the loop ends there"


def test_too_many_loads_and_stores(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_COPIES", 500)
    error = shop.error(body("nobody", "for i in range(9999): o[0] = x[0]", "o[:] = also"))
    assert [d.message for d in error.diagnostics] == [
        "name 'nobody' is not defined",
        "a kernel of more than 500 loads and stores takes too long to compile",
        "name 'also' is not defined",
    ]


def test_a_long_loop_of_numbers_is_no_kernel_code(shop: Workshop) -> None:
    text = body("n = 0", "for i in range(50_000): n = n + 1", "o[:] = x * n")
    assert "50000" in shop.ir(text)


@pytest.mark.parametrize("line", ["for j in pypto.loop(n): o[j] = n", "if q > n: o[0] = x[0]"])
def test_a_loop_that_unrolls_run_time_regions_without_end(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """They take longer than plain steps."""
    monkeypatch.setattr(machine, "MAX_STEPS", 2000)
    text = "def k(x: T([8], FP32), o: T([8], FP32), q: int):\n    n = x.shape[0]\n"
    text += "    for i in range(9999):\n"
    (diagnostic,) = shop.error(f"{text}        {line}\n").diagnostics
    assert diagnostic.message == "unrolled loops and calls take more than 2000 steps"
    shown = text.replace("9999", "80")
    shop.ir(f"{shown}        {line}\n")


def test_many_names_that_are_alike(shop: Workshop) -> None:
    """Each loop's index has a name of its own."""
    made = shop.ir(body("for i in range(60):", "    for j in pypto.loop(8): o[j] = i"))
    indices = [line.split()[1] for line in made.splitlines() if line.startswith("  for ")]
    assert indices == ["j", *(f"j_{number}" for number in range(2, 61))]


def test_a_while_loop_that_changes_nothing(shop: Workshop) -> None:
    """Refused after one step, not after as many as a kernel may have."""
    text = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    m = x.shape[0]\n"
    assert shop.message(f"{text}    while m > n: o += 1\n", n=3) == (
        "ErrCode: F00002  this loop never ends: its body leaves 'm' and 'n' unchanged\n"
        "  --> k.py:5:11\n"
        "  4 |     m = x.shape[0]\n"
        "  5 |     while m > n: o += 1\n"
        "    |           ^^^^^\n"
        "  help: change what the condition reads, or leave the loop with break"
    )
    for line in ("m -= 1", "m = n", "n, m = m, n", "if m > 3: break", "(m := m - 1)"):
        assert "store o" in shop.ir(f"{text}    while m > n:\n        o += 1; {line}\n".replace(
            "o += 1; if", "o += 1\n        if"), n=3)  # fmt: skip


@pytest.mark.parametrize("condition", ["True", "1", "not False"])
def test_a_loop_that_nothing_leaves(shop: Workshop, condition: str) -> None:
    with pytest.raises(FeValueError, match="this loop never ends: nothing leaves it"):
        shop.ir(f"""
            def k(x: T([8], FP32), o: T([8], FP32)):
                while {condition}:
                    o[:] = x
            """)
