"""Assignments to more than one name, and what happens to statements that are left out."""

from __future__ import annotations

import libcst as cst
import pytest

from pypto.elaborate.diagnostics import Poisoned
from pypto.elaborate.statements import STATEMENTS
from pypto.error import VerifyError
from tests.elaborate.support import Workshop, body


def runs(shop: Workshop, *lines: str) -> str:
    """Tensor IR of a kernel whose assertions hold while it is compiled."""
    return shop.ir(body(*lines, "o[:] = x"))


@pytest.mark.parametrize(
    ("target", "value", "result"),
    [
        ("a, *b", "1, 2, 3", "(a, b) == (1, [2, 3])"),
        ("*a, b", "[1, 2, 3]", "(a, b) == ([1, 2], 3)"),
        ("a, *b, c", "1, 2", "(a, b, c) == (1, [], 2)"),
        ("[*a]", "range(3)", "a == [0, 1, 2]"),
        ("*a,", "'xyz'", "a == ['x', 'y', 'z']"),
        ("a, (b, *c)", "1, (2, 3)", "(a, b, c) == (1, 2, [3])"),
        ("(a, *b), c", "(1, 2, 3), 4", "(a, b, c) == (1, [2, 3], 4)"),
        ("[a, [b, *c]]", "[1, [2, 3, 4]]", "(a, b, c) == (1, 2, [3, 4])"),
        ("*(a, b), c", "1, 2, 3", "(a, b, c) == (1, 2, 3)"),
    ],
)
def test_starred_targets(shop: Workshop, target: str, value: str, result: str) -> None:
    assert runs(shop, f"{target} = {value}", f"assert {result}")
    assert runs(shop, f"for {target} in [({value})]: pass", f"assert {result}")


def test_a_starred_target_gets_tensors_and_a_list_of_its_own(shop: Workshop) -> None:
    text = shop.ir(body("t = (x, x)", "a, *b = t", "b.append(a)", "o[:] = b[0] + b[1]"))
    assert "add %0, %0" in text
    assert runs(shop, "t = [1, 2]", "*b, = t", "b.append(3)", "assert len(t) == 2")


def test_the_product_of_unpacked_numbers_is_not_lost(shop: Workshop) -> None:
    lines = ["o[:] = x", "a, (b, *c) = 1, (2, 3)", "o[:] = x * b"]
    assert shop.ir(body(*lines)).count("store o[:]") == 2


def test_too_few_items_for_a_starred_target(shop: Workshop) -> None:
    assert shop.message(body("o[:] = x", "a, (b, *c, d) = 1, [2]", "a, *b = x")) == (
        "ErrCode: F00002  this value has 1 items, and at least 2 names stand on the left\n"
        "  expected  at least 2 items\n"
        "  got       a list of 1\n"
        "  --> k.py:5:21\n"
        "  4 |     o[:] = x\n"
        "  5 |     a, (b, *c, d) = 1, [2]\n"
        "    |                     ^^^^^^\n"
        "\n"
        "ErrCode: F00001  this value cannot be unpacked into at least 1 name\n"
        "  expected  a tuple or list of at least 1\n"
        "  got       a tensor fp32[8]\n"
        "  --> k.py:6:13\n"
        "  5 |     a, (b, *c, d) = 1, [2]\n"
        "  6 |     a, *b = x\n"
        "    |             ^\n"
        "  help: a kernel cannot take the rows of a tensor apart"
    )


def test_a_starred_output_is_a_rebinding(shop: Workshop) -> None:
    (diagnostic,) = shop.error(body("t, *o = x, x")).diagnostics
    assert diagnostic.message == (
        "assigning to 'o' does not write the tensor: it only rebinds the name"
    )


# --- statements that are left out ---


@pytest.mark.parametrize("lines", [["o[:] = x", "pass", "o[:] = x * 2"], ["o[:] = x", "pass"]])
def test_no_statement_is_left_out_in_silence(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    def forget(frame: object, node: object) -> None:
        raise Poisoned

    monkeypatch.setitem(STATEMENTS, cst.Pass, forget)
    error = shop.error(body(*lines))
    line = lines.index("pass") + 4
    assert type(error) is VerifyError
    message = str(error).replace(f"{shop.directory}/", "")
    assert message == (
        "ErrCode: FB0001  this statement was left out without a message: this is a defect of "
        "pypto\n"
        f"  --> k.py:{line}:5\n"
        f"  {line - 1} |     o[:] = x\n"
        f"  {line} |     pass\n"
        "    |     ^^^^\n"
        "  help: please report it with the text of the kernel"
    )
