"""Kernels that would take too long to compile are refused, at the place that makes them long."""

from __future__ import annotations

from pypto.elaborate.builder import MAX_STATEMENTS
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
    assert len(error.diagnostics) <= 100


def test_a_long_loop_of_numbers_is_no_kernel_code(shop: Workshop) -> None:
    text = body("n = 0", "for i in range(50_000): n = n + 1", "o[:] = x * n")
    assert "50000" in shop.ir(text)
