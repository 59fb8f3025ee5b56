"""What loops and branches hand on: tensors that are copies of parts, sizes, names without value."""

from __future__ import annotations

import textwrap

import pytest
import torch

from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop

HEAD = (
    "from pypto import DT_INT32 as I32\n"
    "def k(x: T([8, 4], FP32), y: T([8, 4], FP32), o: T([8, 4], FP32), q: T([8], I32), n: int):\n"
)
DYNAMIC = "def k(x: T([D, 4], FP32), y: T([D, 4], FP32), o: T([D, 4], FP32)):\n"


def kernel(text: str, head: str = HEAD) -> str:
    head = head.replace("D,", "pypto.DYNAMIC,")
    return head + textwrap.indent(textwrap.dedent(text), "    ")


def values(n: int = 3) -> tuple[object, ...]:
    q = torch.tensor([2, 1, 3, 0, 1, 2, 3, 4], dtype=torch.int32)
    return count(8, 4), count(8, 4) * 10, count(8, 4) * 100, q, n


# --- copies of parts ---

STALE = {
    "a branch": """
        p = y[0:2]
        if n > 1:
            p = x[0:2]
        x[0] = 5
        o[:2] = p""",
    "a ternary, in a later iteration": """
        p = x[0:2] if n > 1 else y[0:2]
        for i in pypto.loop(3):
            o[i : i + 2] = p
            x[0] = 5""",
    "a loop": """
        p = x[0:2]
        for i in pypto.loop(3):
            p = x[i : i + 2]
        x[1:3] = 100
        o[:2] = p""",
    "a loop that starts with a part": """
        p = x[0:2]
        for i in pypto.loop(3):
            x[0] = 5
            p = p * 2""",
    "a loop that hands on a part": """
        p = y[0:2] * 1
        for i in pypto.loop(3):
            x[i] = 5
            o[i] = p[0]
            p = x[i : i + 2]""",
    "a merge of a merge": """
        p = x[0:2] if n > 1 else y[0:2]
        if q[0] > 7:
            p = p * 1
        x[0] = 5
        o[:2] = p""",
}


@pytest.mark.parametrize("name", STALE)
def test_a_copy_that_torch_would_change(shop: Workshop, name: str) -> None:
    message = "may be a part of 'x', which was written since; in torch it would have the new"
    assert message in shop.message(kernel(STALE[name]))


def test_the_whole_message_of_a_stale_copy(shop: Workshop) -> None:
    assert shop.message(kernel(STALE["a branch"])) == (
        "ErrCode: F00007  'p' may be a part of 'x', which was written since; in torch it would "
        "have the new elements\n"
        "  --> k.py:10:5\n"
        "   9 |     x[0] = 5\n"
        "  10 |     o[:2] = p\n"
        "     |     ^^^^^^^^^\n"
        "  'x' is written at k.py:9:5\n"
        "  help: use it before the write, or make it the result of an operation, which is a new "
        "tensor: t = part * 1"
    )


FRESH = {
    "used before the write": """
        p = x[0:2] if n > 1 else y[0:2]
        o[:2] = p
        x[0] = 5""",
    "a running value that is written back": """
        t = o[0:2]
        for i in pypto.loop(3):
            t = t + x[i : i + 2]
            o[0:2] = t""",
    "another buffer is written": """
        p = x[0:2] if n > 1 else y[0:2]
        for i in pypto.loop(3):
            o[i : i + 2] = p + o[i : i + 2]""",
    "a part in the same loop": """
        for i in pypto.loop(3):
            p = x[i : i + 2] if q[i] > 1 else y[0:2]
            o[i : i + 2] = p
            x[i] = 5""",
}


@pytest.mark.parametrize("name", FRESH)
def test_copies_that_nothing_changes(name: str) -> None:
    agree(kernel(FRESH[name]), *values())


# --- names without a value ---


@pytest.mark.parametrize("loop", ["pypto.loop(3)", "range(3)"])
@pytest.mark.parametrize("leave", ["break", "continue"])
def test_a_name_that_a_jump_leaves_without_a_value(shop: Workshop, loop: str, leave: str) -> None:
    text = f"""
        for i in {loop}:
            if q[i] > 2: {leave}
            c = i
        o[:] = x * c"""
    message = shop.message(kernel(text))
    assert "'c' may have no value here: break or continue may come before it is set" in message
    agree(kernel(text.replace("for", "c = 7\n        for", 1)), *values())


@pytest.mark.parametrize("loop", ["pypto.loop(3)", "range(3)"])
def test_a_return_leaves_no_name_behind(loop: str) -> None:
    text = f"""
        def f():
            for i in {loop}:
                if q[i] == 3: return 8
                c = i
            return c
        o[:] = x * f()"""
    agree(kernel(text), *values())


# --- sizes ---

EQUAL = {
    "a branch": """
        v = x * 3
        if x.shape[0] > 2:
            v = y
        o[:] = v + x""",
    "a loop": """
        v = y
        for i in pypto.loop(x.shape[0]):
            v = v + x
        o[:] = v""",
    "a loop that may not run": """
        v = y
        for i in pypto.loop(x.shape[0]):
            v = x * i
        o[:] = v""",
    "a branch in a loop": """
        for i in pypto.loop(x.shape[0]):
            v = x * i if i > 2 else y
            o[:] = v""",
    "what no call gets to": """
        n = x.shape[0]
        if n < 2:
            if n > 5:
                o[3:] = x[3:] + y[:-3]
                o[n - 9 : n] = x[n - 9 : n]
                for i in pypto.loop(3 - n):
                    o[i - n : i] = x[-3:-2]
        o[:2] = x[:2]""",
    "the last ones of both": """
        n = x.shape[0]
        if n > 3:
            b = x[-3:] + 1
        else:
            b = y[-3:] + 0
        o[-3:] = b""",
    "a value from before, in a loop that may not run": """
        v = x + 0
        w = x[: x.shape[0] - 1] * 2
        for i in pypto.loop(x.shape[0] - 2):
            t = v[0]
            u = w[i]
            o += y
            o[0] = t + u
            o[: y.shape[0] - 1] = w""",
    "a branch that not all calls take": """
        v = x[2:] + 0
        for i in pypto.loop(2):
            if x.shape[0] < 3:
                o[:] = x
            else:
                v = pypto.maximum(v * 2, y[: x.shape[0] - 2])
                o[2:] = v""",
    "facts that contradict each other": """
        for i in pypto.loop(x.shape[0]):
            if i % 2 <= 3:
                continue
            y[-2:] *= x[-2:]
        o[:] = x""",
}


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("size", [1, 3, 4, 8])
def test_tensors_of_sizes_that_a_call_makes_equal(name: str, size: int) -> None:
    tensors = count(size, 4), count(size, 4) * 10, count(size, 4) * 100
    agree(kernel(EQUAL[name], DYNAMIC), *tensors)


def test_the_precondition_of_a_merge(shop: Workshop) -> None:
    made = shop.run(kernel(EQUAL["a branch"], DYNAMIC)).kernel
    (first, *_) = made.preconditions
    # Where the second side runs; the first has the sizes that the tensor gets.
    assert str(first.condition) == "(x.shape[0] > 2) or (y.shape[0] == x.shape[0])"
    assert first.message == (
        "the sides of the branch give 'v' tensors of different sizes: "
        "y.shape[0] == x.shape[0] is needed"
    )


def test_a_size_that_only_a_side_knows(shop: Workshop) -> None:
    text = """
        t = x[0:2]
        if n > 1:
            t = x[: q[0]] * 2
        o[:2] = t"""
    assert "the size of 't' is known only inside the branch" in shop.message(kernel(text))


def test_memory_of_a_size_that_only_the_kernel_knows(shop: Workshop) -> None:
    text = """
        for i in pypto.loop(n):
            if q[i] > 1:
                t = x[q[i] :] * 2
                o[0] = t[1]"""
    assert "    local t: fp32[8,4]" in shop.ir(kernel(text))
    agree(kernel(text), *values())


EXCLUSIVE = {
    "two sides of a branch": """
        p = x[0:2] if n > 1 else y[0:2]
        if n > 2:
            x[0] = 5
        else:
            o[:2] = p""",
    "sides of sides": """
        p = x[0:2] if n > 1 else y[0:2]
        if q[0] > 2:
            if q[1] > 2:
                x[0] = 5
            o[0] = 1
        elif q[2] > 1:
            for i in pypto.loop(2):
                o[i : i + 2] = p""",
    "of each iteration": """
        for i in pypto.loop(3):
            p = x[i : i + 2] if q[i] > 1 else y[0:2]
            if q[i] > 2:
                x[0] = 5
            else:
                o[i : i + 2] = p""",
}


@pytest.mark.parametrize("name", EXCLUSIVE)
def test_a_write_and_a_use_on_different_sides(name: str) -> None:
    for n in (0, 2, 3):
        agree(kernel(EXCLUSIVE[name]), *values(n))


STILL_STALE = {
    "a copy from before the loop": """
        p = x[0:2] if n > 1 else y[0:2]
        for i in pypto.loop(3):
            if q[i] > 2:
                x[0] = 5
            else:
                o[i : i + 2] = p""",
    "the use comes first": """
        p = x[0:2] if n > 1 else y[0:2]
        for i in pypto.loop(3):
            if q[i] > 2:
                o[i : i + 2] = p
            else:
                x[0] = 5""",
    "behind the branch": """
        p = x[0:2] if n > 1 else y[0:2]
        if n > 2:
            x[0] = 5
        else:
            o[:2] = 3
        o[:2] = p""",
}


@pytest.mark.parametrize("name", STILL_STALE)
def test_sides_that_both_run(shop: Workshop, name: str) -> None:
    assert "may be a part of 'x', which was written since" in shop.message(
        kernel(STILL_STALE[name])
    )


def test_what_only_the_running_kernel_reaches_is_asked_of_every_call(shop: Workshop) -> None:
    text = """
        if {condition}:
            o[:] = x + y"""
    asked = "every call is asked, since only the running kernel knows whether it gets here"
    for condition, told in (("x[0, 0] > 1", True), ("x.shape[0] > 1", False)):
        made = shop.run(kernel(text.format(condition=condition), DYNAMIC)).kernel
        messages = [p.message for p in made.preconditions]
        assert messages and all((asked in message) is told for message in messages)
