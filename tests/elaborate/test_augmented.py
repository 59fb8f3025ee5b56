"""``target op= value``: in place where Python and torch do so, else refused; never in silence."""

from __future__ import annotations

import pytest

from pypto.ir.tensor import Kernel
from tests.elaborate.support import Workshop, body

# --- tensors that an item holds ---


def stores(kernel: Kernel) -> list[str]:
    """Names of what is written, in order."""
    return [s.buffer.name for s in kernel.body if type(s).__name__ == "Store"]


SIGNS = ["+", "-", "*", "/", "**"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("before", "target"),
    [
        ("t = [x, o]", "t[1]"),
        ("t = [x, o]", "t[-1]"),
        ("t = {'a': o}", "t['a']"),
        ("t = {(1, 2): [o]}", "t[1, 2][0]"),
        ("t = (o,)", "t[0][:]"),
        ("t = o", "t"),
        ("t = [o]", "t[0][...]"),
    ],
)
def test_items_that_are_parameters_are_written(
    shop: Workshop, before: str, target: str, sign: str
) -> None:
    kernel = shop.run(body(before, "o[:] = x", f"{target} {sign}= 2", "o += x")).kernel
    assert stores(kernel) == ["o", "o", "o"]
    assert shop.ir(body(before, "o[:] = x", f"{target} {sign}= 2")) == shop.ir(
        body(before, "o[:] = x", f"o {sign}= 2")
    )


def test_an_input_is_written_through_a_list(shop: Workshop) -> None:
    lines = ["a = [x]", "a[0] += 1", "o[:] = x"]
    assert stores(shop.run(body(*lines)).kernel) == ["x", "o"]


def test_a_loop_accumulates_in_an_item(shop: Workshop) -> None:
    lines = ["t = {'acc': o}", "for i in range(3):", "    t['acc'] += x"]
    assert stores(shop.run(body(*lines)).kernel) == ["o"] * 3


def test_a_local_tensor_in_a_list_is_written(shop: Workshop) -> None:
    lines = ["t = pypto.tensor([8], FP32)", "a = [t]", "t[:] = x", "a[0] *= 2", "o[:] = t"]
    assert stores(shop.run(body(*lines)).kernel) == ["t", "t", "o"]


def test_an_item_that_is_a_result_gets_the_new_one(shop: Workshop) -> None:
    assert "store o[:], %2" in shop.ir(body("t = [x + 1]", "t[0] += 1", "o[:] = t[0]"))
    (diagnostic,) = shop.error(body("y = x + 1", "t = [y]", "t[0] += 1", "o[:] = y")).diagnostics
    assert diagnostic.message.startswith("'t[0] +=' gives 't[0]' a new tensor")


def test_an_item_of_a_tuple(shop: Workshop) -> None:
    """Python writes the tensor and then raises TypeError."""
    assert shop.message(body("t = (o,)", "o[:] = x", "t[0] += 1")) == (
        "ErrCode: F00001  items of a tuple of 1 cannot be assigned\n"
        "  expected  a tensor, or a list or dict made in the kernel\n"
        "  --> k.py:6:5\n"
        "  5 |     o[:] = x\n"
        "  6 |     t[0] += 1\n"
        "    |     ^^^^\n"
        "  help: name the item first: item = t[0]; item += ..."
    )


# --- containers ---

HELPERS = """
def triple(t): t *= 3
def merge(d): d |= {'z': 1}
OUTER = [[1], [2]]
FIXED = frozenset({1})
TABLE = {'a': [1]}
"""


@pytest.mark.parametrize(
    "lines",
    [
        ["a = [1]", "b = a", "a *= 2", "assert b == [1, 1]"],
        ["a = [1, 2]", "b = a", "a *= 0", "assert b == []"],
        ["a = [1]", "b = a", "a += a", "assert b == [1, 1]"],
        ["a = [1]", "b = [a]", "b[0] += (2,)", "assert a == [1, 2]"],
        ["a = [1]", "b = {'k': a}", "b['k'] *= 2", "a += 'z'", "assert b['k'] == [1, 1, 'z']"],
        ["a = [1]", "triple(a)", "assert a == [1, 1, 1]"],
        ["a = {}", "merge(a)", "assert a['z'] == 1"],
        ["a = {1: 1}", "b = a", "a |= {2: 2}", "assert len(b) == 2 and b[2] == 2"],
        ["a = {1: 1}", "b = a", "a = a | {2: 2}", "assert len(b) == 1 and len(a) == 2"],
        ["c = [1]", "a = {1: c} | TABLE", "c += [2]", "assert a[1] == [1, 2]"],
        ["a = (1,)", "b = a", "a += (2,)", "a *= 2", "assert a == (1, 2, 1, 2) and b == (1,)"],
        ["a = FIXED", "a |= {2}", "assert len(a) == 2 and len(FIXED) == 1"],
        ["a = {1}", "b = a", "a = a | {2}", "assert len(b) == 1 and isinstance(b, set)"],
        ["a = {1, 2}", "b = a", "a |= {3}", "a -= {1}", "assert b == {2, 3} and len(a) == 2"],
        ["a = {1, 2}", "b = [a]", "b[0] &= {2, 4}", "a ^= {4}", "assert a == {2, 4}"],
        ["a, b = [0, 0], [0, 1]", "a[b.pop()] += 5", "assert a == [0, 5] and b == [0]"],
        ["a, b = {1: 2}, [1]", "a[b.pop()] *= 5", "assert a[1] == 10 and b == []"],
        ["a = [[0], [1]]", "a.pop()[0] += 1", "assert a == [[0]]"],
        ["a = {}", "a[1, 2] = 3", "a[1,] = 4", "a[1, 2] += 1", "assert a[1, 2] + a[1,] == 8"],
        ["a = [1]", "for v in a: a += [v + 1] if len(a) < 4 else []", "assert v == 4"],
        ["a = [1, 2, 3]", "n = 0", "for v in a:", "    n += v", "    a.pop()", "assert n == 3"],
    ],
)
def test_as_python_does(shop: Workshop, lines: list[str]) -> None:
    exec(HELPERS + "\n".join(lines), {})  # the assertions hold in Python
    assert "store" in shop.ir(HELPERS + body(*lines, "o[:] = x"))


@pytest.mark.skipif("sys.version_info < (3, 11)", reason="new in Python 3.11")
def test_a_star_in_brackets(shop: Workshop) -> None:
    lines = ["t = [1]", "d = {(1, 2): 3, (1,): 4}", "d[*t] += d[*t, 2]", "assert d[1,] == 7"]
    assert "store" in shop.ir(body(*lines, "o[:] = x"))


@pytest.mark.parametrize(
    ("line", "message", "help"),
    [
        ("a = OUTER; a *= 2", "a kernel cannot change 'OUTER' in place",
         "write name = a * ..., which makes a new list"),
        ("a = TABLE; a |= {}", "a kernel cannot change 'TABLE' in place",
         "write name = a | ..., which makes a new dict"),
        ("TABLE['a'] += [2]", "a kernel cannot change an item of 'TABLE' in place",
         "write name = TABLE['a'] + ..., which makes a new list"),
        ("for v in OUTER: v += [1]", "a kernel cannot change an item of 'OUTER' in place",
         "write name = v + ..., which makes a new list"),
        ("a = {**TABLE}; a['a'] += [1]", "a kernel cannot change a list made outside in place",
         "write name = a['a'] + ..., which makes a new list"),
        ("a = {}; a.update(TABLE); a['a'] *= 2",
         "a kernel cannot change a list made outside in place",
         "write name = a['a'] * ..., which makes a new list"),
        ("a = [1, 2]; a[:1] += [3]", "a slice of a list cannot be assigned",
         "assign the items one by one, or make a new list"),
        ("a = ([1],); a[0] += [2]", "items of a tuple of 1 cannot be assigned",
         "name the item first: item = a[0]; item += ..."),
        ("a = [1]; a *= 1.5", "a list is repeated by an int", None),
        ("a = [1]; a += x", "only a list or tuple can be added to a list", None),
        ("a = [1]; a -= [1]", "TypeError: unsupported operand type(s) for -: 'list' and 'list'",
         None),
        ("a = {}; a |= [1]", "only a dict can be merged into a dict", None),
        ("a = [1]; a *= 10 ** 9", "the repeated list is too long for compile time", None),
        ("x.shape *= 2", "the shape of a tensor cannot be changed",
         "copy it first: shape = list(x.shape)"),
        ("x.dim += 1", "a kernel cannot set the attribute 'dim' of a tensor fp32[8]",
         "keep the value in a name of its own"),
    ],
)  # fmt: skip
def test_what_is_refused(shop: Workshop, line: str, message: str, help: str | None) -> None:
    (diagnostic,) = shop.error(HELPERS + body("o[:] = x", line)).diagnostics
    assert (diagnostic.message, diagnostic.help) == (message, help)


def test_a_dict_that_grows_in_its_own_loop(shop: Workshop) -> None:
    assert shop.message(body("o[:] = x", "a = {1: 1}", "for v in a: a |= {v + 1: 2}")) == (
        "ErrCode: F00002  RuntimeError: dictionary changed size during iteration\n"
        "  --> k.py:6:14\n"
        "  5 |     a = {1: 1}\n"
        "  6 |     for v in a: a |= {v + 1: 2}\n"
        "    |              ^\n"
        "  help: loop over a copy: list(a)"
    )
