"""Results of operations that are written into: local tensors, which all names and parts see."""

from __future__ import annotations

import pytest
import torch

from tests.differential.agree import TWINS, agree_calls, agree_compiled, count
from tests.elaborate.support import Workshop

PROGRAMS = {
    "a region": ("a = x * 2", "a[:, 0:2] = x[:, 2:4]", "o[:] = a"),
    "other names and parts": (
        "a = x * 2", "b = a", "c = a[1:3]", "r = a.reshape([16])", "a[:, 0:2] = x[:, 2:4] * 5",
        "o[:] = a + b", "o[0:2] = o[0:2] + c", "o[3] = r[0:4]",
    ),
    "read before in a loop": (
        "a = x * 2", "for i in pypto.loop(n):", "    o[i] = a[i] + a[0]",
        "    a[0] = a[0] + x[i]", "o[3] = a[0]",
    ),
    "on one side of a branch": ("a = x * 2", "if n > 2:", "    a[1:3] = x[0:2]", "o[:] = a"),
    "each of an unrolled loop": (
        "for j in range(4):", "    t = x[j:j+1] * 2", "    t[:, 0:1] = 7.0", "    o[j:j+1] = t",
    ),
    "augmented": ("a = x * 2", "a[:, 0:2] += 3", "a[1] *= 2", "o[:] = a"),
    "an item of a list": (
        "s = [x * 2, 1]", "t = s[0]", "s[0][0:1] = x[1:2]", "o[:] = s[0] + t",
    ),
    "in a helper": (
        "def f(t):", "    t[0] = t[0] * 0", "    return t", "a = x + 1", "o[:] = f(a) + a",
    ),
    "carried by a loop": (
        "a = x * 1", "for i in pypto.loop(n):", "    a = a * 2", "    a[0:1] = x[1:2] + i",
        "o[:] = a",
    ),
    "all of it": ("a = x * 2", "b = a", "a[:] = x", "o[:] = b"),
    "doubled in place": ("a = x + 1", "b = a", "a += a", "b[:] = a", "o[:] = b"),
    "made in a loop": (
        "for i in pypto.loop(4):", "    t = x[i] * 2", "    t[0:2] = 1.5", "    o[i] = t",
    ),
}  # fmt: skip

HEAD = "def k(x: T([4, 4], FP32), o: T([4, 4], FP32), n: int):\n"


def program(lines: tuple[str, ...]) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def calls() -> list[tuple[object, ...]]:
    return [(count(4, 4), torch.zeros(4, 4), n) for n in (0, 3, 4)]


@pytest.mark.parametrize("what", PROGRAMS)
def test_writes_into_results(what: str) -> None:
    agree_calls(program(PROGRAMS[what]), calls())


@pytest.mark.parametrize("kind", TWINS)
def test_writes_into_results_compiled(kind: str) -> None:
    agree_compiled([(program(lines), calls()) for lines in PROGRAMS.values()], kind)


def test_what_is_not_written_into_stays_a_value(shop: Workshop) -> None:
    text = shop.ir(program(("a = x * 2", "b = x * 3", "a[0] = x[1]", "o[:] = a + b")))
    assert text.count("  local ") == 1


def test_a_merged_value_is_not_written_into(shop: Workshop) -> None:
    lines = ("a = x * 2", "if n > 2:", "    a = x * 3", "a[0] = x[1]", "o[:] = a")
    message = shop.message(program(lines))
    assert "'a' is the result of an operation and cannot be written into" in message
    assert "make it a tensor of its own first: a = a * 1" in message
    lines = (*lines[:3], "a = a * 1", *lines[3:])
    assert "store a_2[0:+1, 0:+4]" in shop.ir(program(lines))
