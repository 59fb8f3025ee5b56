"""Branches of the running kernel: both sides are read, names merge where they are read behind."""

from __future__ import annotations

import pytest
import torch

from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop


def test_a_branch_as_printed(shop: Workshop) -> None:
    assert shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            c, d, t = 1, 2, x
            if n > 3:
                c, d = n, 3
                t = x * 2
            o[:] = t + c
        """) == (
        "kernel k(x: fp32[8] read, o: fp32[8] write, n: int)\n"
        "  local t: fp32[8]\n"
        "  if n > 3                    @k+3\n"
        "    %0 = load x[:]            @k+5\n"
        "    %1 = mul %0, 2 : fp32[8]  @k+5\n"
        "    store t[:], %1            @k+6\n"
        "  else                        @k+3\n"
        "    %2 = load x[:]            @k+6\n"
        "    store t[:], %2            @k+6\n"
        "  c = n or 1                  @k+3\n"
        "  %3 = load t[:]              @k+6\n"
        "  %4 = add %3, c : fp32[8]    @k+6\n"
        "  store o[:], %4              @k+6\n"
    )  # fmt: skip


BODIES = {
    "one side": "if n > 1: o[:] = x",
    "two sides": """
        if n > 1: o[:] = x
        else: o[:] = x * 2""",
    "three sides": """
        if n > 1: c = 3
        elif q[0] == n: c = n
        else: c = 2.5
        o[:] = x * c""",
    "a branch in a branch": """
        t, c = x, 0
        if n > 0:
            if q[1] > n:
                t = x + 1
            else:
                c = 5
        o[:] = t * c""",
    "names that change places": """
        a, b = x * 1, x * 2
        if n > 1: a, b = b, a
        o[:] = a - b * 2""",
    "a tuple": """
        p = (1, x)
        if n > 1: p = (n, x + 1)
        o[:] = p[1] * p[0]""",
    "a value of one object": """
        mode = 'a'
        if n > 1: mode = 'a'
        o[:] = x * len(mode)""",
    "a local tensor that both sides write": """
        t = pypto.tensor([6], FP32)
        if n > 1: t[:] = x
        else: t[:] = 1
        o[:] = t""",
    "a float parameter": """
        if f: o[:] = x * f""",
    "a ternary of tensors": "o[:] = x + 1 if n > 1 else x[:] * 2",
    "a ternary of elements": "o[:] = x * (q[n] if n < 3 else 7)",
    "a guarded element": """
        if n < 3 and q[n] > 1: o[:] = x
        if n >= 3 or q[n] > 1: o += 2""",
    "a function that returns early": """
        def larger(a, b):
            if a > b:
                return a
            return b
        o[:] = x * larger(n, q[0])""",
    "a function that returns tensors": """
        def pick(t):
            if n == 0:
                return t
            elif n == 1:
                t = t * 2
                return t + 1
            t = t * 3
            return t
        o[:] = pick(x) + pick(x + 1)""",
    "a kernel that ends early": """
        o[:] = x
        if n > 1: return
        o += 1
        if q[0] > 1: return
        o += 1""",
    "break": """
        c = 0
        for i in pypto.loop(6):
            c += 1
            if i == n: break
            o[i] = x[i] * c
        o += c""",
    "break in a branch": """
        t = x
        for i in pypto.loop(6):
            if i >= n:
                t = t + 1
                if q[0] > 1:
                    break
                t = t * 2
            t = t + i
        o[:] = t""",
    "continue": """
        c = 0
        for i in pypto.loop(6):
            if i == n: continue
            c += i
            o[i] = c
        o += c""",
    "break of an inner loop": """
        c = 0
        for i in pypto.loop(3):
            for j in pypto.loop(5):
                if j > i + n: break
                c += 1
            c *= 2
        o += c""",
    "break of an unrolled loop": """
        c = 1
        for j in range(4):
            if j == n: break
            c = c * 2 + j
        o += c""",
    "continue of an unrolled loop": """
        c = 1
        for j in range(4):
            if j == n: continue
            c = c * 2 + j
        o += c""",
    "else of a loop": """
        for i in pypto.loop(4):
            if i == n: break
        else:
            o += 5
        for i in range(2):
            if i == n: break
        else:
            o += 7""",
    "return out of a loop": """
        def first(limit):
            for i in pypto.loop(3):
                if q[i] > limit:
                    return i
            return 9
        o += first(n)""",
    "the first and the last iteration": """
        for i in pypto.loop(1, 6, 2):
            if pypto.is_loop_begin(i): o[:] = x
            o += i
            if pypto.is_loop_end(i): o *= 2""",
    "return out of two loops, of a part that the end cuts": """
        def pick(limit):
            for i in pypto.loop(3):
                if q[i] > limit:
                    for j in pypto.loop(n):
                        return x[j : j + 1] * 5
            return x[0:1] * 2
        o[0:1] = pick(2)""",
    "a part that one side cuts": """
        t = x[0:4]
        if n > 1: t = x[2:6] + 0
        o[0:4] = t""",
    "chained comparisons, in and not": """
        if 0 < n < q[2] and n in (1, 2) and not n == q[0]: o[:] = x""",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BODIES))
def test_agrees_with_torch(name: str) -> None:
    body = BODIES[name].strip("\n")
    lines = body.splitlines()
    indent = "    " if "\n" in BODIES[name] else ""
    text = "def k(x: T([6], FP32), q: T([3], I32), o: T([6], FP32), n: int, f: float):\n"
    text += "\n".join(line.removeprefix("    ") if indent else "    " + line for line in lines)
    for n in range(4):
        q = torch.tensor([2, 1, 3], dtype=torch.int32)
        agree(text + "\n    o[:] = o\n", count(6), q, count(6) * 10, n, n - 1.5)


# --- errors ---


def test_a_name_that_one_side_sets(shop: Workshop) -> None:
    assert shop.message("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            if n > 3:
                t = x * 2
            o[:] = t
        """) == (
        "ErrCode: F00002  't' may have no value here: the branch does not set it where the "
        "condition does not hold\n"
        "  --> k.py:7:12\n"
        "  6 |         t = x * 2\n"
        "  7 |     o[:] = t\n"
        "    |            ^\n"
        "  the branch is at k.py:5:8\n"
        "  help: set 't' on both sides, or before the branch"
    )


def test_sides_of_different_kinds(shop: Workshop) -> None:
    assert shop.message("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            t = x * 2
            if n > 3:
                t = x[0:4]
            o[:] = t
        """) == (
        "ErrCode: F00001  't' has different kinds of values on the two sides of a run-time branch\n"
        "  expected  two numbers, two tensors of one dtype and shape, or one and the same object\n"
        "  got       a tensor fp32[4] where the condition holds, a tensor fp32[8] where not\n"
        "  --> k.py:8:12\n"
        "  7 |         t = x[0:4]\n"
        "  8 |     o[:] = t\n"
        "    |            ^\n"
        "  the branch is at k.py:6:8\n"
        "  't' is set at k.py:7:9 where the condition holds\n"
        "  help: use another name than 't' for one of the two, or write both into parts of one "
        "local tensor: pypto.tensor(shape, dtype)"
    )


@pytest.mark.parametrize(
    ("first", "second", "advice"),
    [
        ("x * 2", "pypto.cast(x, pypto.DT_FP16)", "cast one of the two: pypto.cast(..., pypto."),
        ("None", "x * 2", "give 't' a tensor instead of None: pypto.zeros([8], pypto.DT_FP32)"),
        ("x * 2", "3", "make a tensor of the number: pypto.full([8], number, pypto.DT_FP32)"),
        ("None", "n + 1", "give 't' a number instead of None"),
        ("'a'", "x * 2", "use the value inside the branch, or make both sides of one kind"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_how_to_make_one_kind(
    shop: Workshop, first: str, second: str, advice: str, swapped: bool
) -> None:
    """The same advice whichever side has which value."""
    before, inside = (second, first) if swapped else (first, second)
    lines = (f"t = {before}", "if n > 3:", f"    t = {inside}", "o[:] = x + t")
    head = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    "
    assert f"  help: {advice}" in shop.message(head + "\n    ".join(lines))


def test_a_function_that_returns_two_kinds(shop: Workshop) -> None:
    assert shop.message("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            def f():
                if n > 3:
                    return x
            o[:] = f()
        """) == (
        "ErrCode: F00001  the function returns different kinds of values on the two sides of a "
        "run-time branch\n"
        "  expected  two numbers, two tensors of one dtype and shape, or one and the same object\n"
        "  got       None (NoneType) where control goes on, a tensor fp32[8] where an earlier "
        "return ends it\n"
        "  --> k.py:8:12\n"
        "  7 |             return x\n"
        "  8 |     o[:] = f()\n"
        "    |            ^^^\n"
        "  help: return a tensor instead of None: pypto.zeros([8], pypto.DT_FP32)"
    )


def test_a_jump_that_keeps_a_name_as_it_was(shop: Workshop) -> None:
    message = shop.message("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            t = x
            for i in range(3):
                if n > i:
                    continue
                t = 3
            o[:] = t
        """)
    assert (
        "  got       an int where control goes on, a tensor fp32[8] where break, continue or "
        "return comes before\n"
    ) in message
    assert "  help: make a tensor of the number: pypto.full([8], number, pypto.DT_FP32)" in message


def test_a_name_that_is_not_used_may_differ(shop: Workshop) -> None:
    assert "store o[:]" in shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            t = None
            if n > 3:
                t = x * 2
                o[:] = t
        """)


def test_a_list_that_a_side_changes(shop: Workshop) -> None:
    error = shop.error("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            steps = [1]
            if n > 3:
                steps.append(2)
            o[:] = x * len(steps)
        """)
    assert [d.message for d in error.diagnostics] == [
        "'steps' would have other items on the two sides of a run-time branch"
    ]


def test_the_index_of_another_loop(shop: Workshop) -> None:
    assert shop.message("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            for i in pypto.loop(8):
                if pypto.is_loop_begin(i + 1):
                    o[:] = x
        """) == (
        "ErrCode: F00001  is_loop_begin takes the index of a run-time loop\n"
        "  got       the run-time int i + 1\n"
        "  --> k.py:6:32\n"
        "  5 |     for i in pypto.loop(8):\n"
        "  6 |         if pypto.is_loop_begin(i + 1):\n"
        "    |                                ^^^^^\n"
        "  help: for i in pypto.loop(...): if pypto.is_loop_begin(i): ..."
    )


def test_a_side_that_never_runs_proves_nothing(shop: Workshop) -> None:
    """What cannot hold is no fact: sizes of that side would ask things of every call."""
    level = shop.ir("""
        def k(x: T([pypto.DYNAMIC, 8], FP32), q: T([4], pypto.DT_INT32), s: int,
              o: T([pypto.DYNAMIC, 8], FP32)):
            k = q[0] % 3 - 7
            o[2:] = (x[2:] if s >= k > 3 else x[2:] + x[2:]) + 1
        """)
    assert [line.strip() for line in level.split("\n") if "require" in line] == [
        "require max(x.shape[0] + -2, 0) == max(o.shape[0] + -2, 0)"
    ]
