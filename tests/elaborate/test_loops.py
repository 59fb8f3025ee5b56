"""Loops of the running kernel: bounds, indices, and what goes from iteration to iteration."""

from __future__ import annotations

import pytest

from pypto.error import FeTypeError, FeValueError, PyptoError
from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop, body


def test_a_loop_as_printed(shop: Workshop) -> None:
    assert shop.ir("""
        def k(x: T([128, 64], FP32), o: T([64], FP32)):
            acc = x[0] * 0
            c = 0
            for i in pypto.loop(128):
                acc = acc + x[i]
                c += 1
            o[:] = acc / c
        """) == (
        "kernel k(x: fp32[128,64] read, o: fp32[64] write)\n"
        "  local acc: fp32[64]\n"
        "  %0 = load x[0:+1, 0:+64] axes (1)                           @k+2\n"
        "  %1 = mul %0, 0 : fp32[64]                                   @k+2\n"
        "  store acc[:], %1                                            @k+5\n"
        "  for i in 0 : 128 : 1 carry c (0 -> c + 1 -> c_2)            @k+4\n"
        "    %2 = load acc[:]                                          @k+5\n"
        "    %3 = load x[i:+1, 0:+64] axes (1)                         @k+5\n"
        "    %4 = add %2, %3 : fp32[64]                                @k+5\n"
        "    store acc[:], %4                                          @k+4\n"
        "  %5 = load acc[:]                                            @k+4\n"
        "  %6 = div %5, c_2, precision_type=HIGH_PRECISION : fp32[64]  @k+7\n"
        "  store o[:], %6                                              @k+7\n"
    )  # fmt: skip


BOUNDS = ["4", "1, 4", "0, 5, 2", "5, 0, -2", "n", "n - 1, -1, -1", "s, n", "0, n, s", "n, s, -1"]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_are_those_of_range(bounds: str) -> None:
    text = f"""
        def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([6, 4], FP32), s: int):
            n = x.shape[0]
            t = 0
            for i in pypto.loop({bounds}):
                o[i] = o[i] * 10 + i
                t = t * 10 + i
            o[:] = o + t
        """
    for size, s in ((5, 1), (5, 2), (1, 3), (0, 1)):
        agree(text, count(size, 4), count(6, 4), s)


PROGRAMS = {
    "an int that becomes a float": ("c = 0", "c = c + 0.5", "o[:] = x * c"),
    "a truth value": ("c = False", "c = not c", "o[:] = x * (2 if c else 3)"),
    "a truth value that becomes an int": ("c = True", "c = c + i", "o[:] = x * c"),
    "two numbers that change places": ("a, b = 1, 2", "a, b = b, a + b", "o[:] = x * a + b"),
    "a tuple": ("c = (1, x * 2)", "c = (c[0] + 1, c[1] + c[0])", "o[:] = c[1] * c[0]"),
    "a number that is set before it is read": ("c = 1", "c = i; o += c", "o[:] = o * c"),
    "a parameter": ("c = s", "c = c * 2", "o[:] = x * c"),
    "a tensor": ("c = x + 1", "c = c * 2", "o[:] = c"),
    "a tensor that is set before it is read": ("c = x + 1", "c = x * i; o += c", "o += c"),
    "a local tensor that is written": (
        "c = pypto.tensor([4], FP32); c[:] = 1", "c[:] = c + x", "o[:] = c"),
    "a local tensor that is replaced": (
        "c = pypto.tensor([4], FP32); c[:] = 1", "c = c + x", "o[:] = c"),
    "a tensor that is only read": ("c = x + 1", "o += c", "o += c"),
    "two tensors that change places": (
        "a, b = x + 1, x * 3", "a, b = b, a + b", "o[:] = a - b"),
    "an augmented assignment": ("c = x * 0", "c += x", "o[:] = c"),
    "a parameter that is rebound": ("y = x", "x = x * 2", "o[:] = x + y"),
    "a loop in a loop": (
        "c = 0; t = x", "for j in pypto.loop(i): t = t + j; c += 1", "o[:] = t * c"),
    "the index": ("i = 7", "o += i", "o[:] = o * i"),
    "a string that stays": ("c = 'a'", "c = 'a'; o += len(c)", "o += len(c)"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_carried(name: str) -> None:
    before, inside, behind = PROGRAMS[name]
    lines = [*inside.split("; ")] if "for" not in inside else [inside]
    text = (
        "def k(x: T([4], FP32), o: T([4], FP32), s: int):\n"
        f"    {before}\n    for i in pypto.loop(s):\n"
        + "".join(f"        {line}\n" for line in lines)
        + f"    {behind}\n"
    )
    for s in (0, 1, 3):
        agree(text, count(4), count(4), s)


def test_a_loop_for_each_factor() -> None:
    text = """
        def k(x: T([pypto.DYNAMIC], FP32), o: T([32], FP32)):
            c = 0
            for i, k in pypto.loop_unroll(1, x.shape[0], 2, unroll_list=[4, 2]):
                for j in range(k):
                    o[i + 2 * j] = k
                c += k
            o += c
        """
    for size in (0, 1, 2, 8, 14, 17, 23, 32):
        agree(text, count(size), count(32))


def test_values_that_a_loop_sets_first() -> None:
    text = """
        def k(x: T([4], FP32), o: T([4], FP32)):
            for i in pypto.loop(3):
                c, t = i * 2, x + i
            o[:] = t * c + i
        """
    agree(text, count(4), count(4))


def test_a_valid_size_that_changes() -> None:
    text = """
        def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([pypto.DYNAMIC, 4], FP32)):
            t = x[0:4]
            for i in pypto.loop(2):
                t = t + x[0:4]
                t = t + x[0:4]
            o[0:4] = t
        """
    for size in (2, 4, 6):
        agree(text, count(size, 4), count(size, 4))


# --- errors ---


def test_a_value_of_a_loop_that_may_not_run(shop: Workshop) -> None:
    text = """
        def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([4], FP32)):
            for i in pypto.loop(x.shape[0]):
                last = x[i] + 1
            o[:] = last
        """
    assert shop.message(text) == (
        "ErrCode: F00002  'last' may have no value here: the loop that sets it may run zero times\n"
        "  --> k.py:7:12\n"
        "  6 |         last = x[i] + 1\n"
        "  7 |     o[:] = last\n"
        "    |            ^^^^\n"
        "  the loop is at k.py:5:14\n"
        "  help: give 'last' a value before the loop"
    )


def test_a_name_that_changes_what_it_is(shop: Workshop) -> None:
    text = """
        def k(x: T([4], FP32), o: T([4], FP32)):
            acc = None
            for i in pypto.loop(4):
                acc = x if acc is None else acc + x
            o[:] = acc
        """
    assert shop.message(text) == (
        "ErrCode: F00001  the loop changes what 'acc' is\n"
        "  expected  None (NoneType), as before the loop\n"
        "  got       a tensor fp32[4] at the end of an iteration\n"
        "  --> k.py:7:9\n"
        "  6 |     for i in pypto.loop(4):\n"
        "  7 |         acc = x if acc is None else acc + x\n"
        "    |         ^^^\n"
        "  the loop is at k.py:6:14\n"
        "  help: give 'acc' a tensor instead of None: pypto.zeros([4], pypto.DT_FP32)"
    )


def test_a_name_that_an_inner_branch_changes(shop: Workshop) -> None:
    message = shop.message("""
        def k(x: T([4], FP32), o: T([4], FP32)):
            acc = x * 1
            for i in pypto.loop(4):
                if i > 2:
                    acc = acc[0:2] * 2
            o[0:2] = acc
        """)
    assert "'acc' is set at k.py:8:13 where the condition holds" in message


def test_a_while_loop_over_a_dynamic_size(shop: Workshop) -> None:
    message = shop.message("""
        def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([pypto.DYNAMIC, 4], FP32)):
            i = 0
            while i < x.shape[0]:
                o[i] = x[i]
                i += 1
        """)
    assert "for i in pypto.loop(...), left by break, loops on the device" in message


def test_a_python_value_is_needed(shop: Workshop) -> None:
    text = """
        def k(x: T([4], FP32), o: T([4], FP32)):
            sizes = [1, 2, 3]
            for i in pypto.loop(3):
                o[:] = x * sizes[i]
        """
    assert shop.message(text) == (
        "ErrCode: F00001  an index needs a value that is known at compile time\n"
        "  expected  a Python value\n"
        "  got       i, which only the running kernel knows\n"
        "  --> k.py:7:26\n"
        "  6 |     for i in pypto.loop(3):\n"
        "  7 |         o[:] = x * sizes[i]\n"
        "    |                          ^\n"
        "  'i' is the index of the loop at k.py:6:14\n"
        "  help: loops over range(...) and lists have indices that are known"
    )


@pytest.mark.parametrize(
    ("call", "cls", "message"),
    [
        ("loop()", FeTypeError, "loop takes 1 to 3 bounds, got 0"),
        ("loop(1.5)", FeTypeError, "loop: 'stop' must be an int"),
        ("loop(x, 4)", FeTypeError, "loop: 'start' must be an int"),
        ("loop(0, 4, 0)", FeValueError, "the step of a loop is 0"),
        ("loop(4, unroll=2)", FeTypeError, "loop has no parameter 'unroll'"),
        ("loop(4, unroll_list=[0])", FeValueError, "unroll_list is a list of positive ints"),
        ("loop(4, idx_name=3)", FeTypeError, "idx_name is a string"),
        ("loop_unroll(4, parallel=True)", FeTypeError, "loop_unroll has no parameter 'parallel'"),
    ],
)
def test_refusals(shop: Workshop, call: str, cls: type[PyptoError], message: str) -> None:
    error = shop.error(body(f"for i in pypto.{call}: o[:] = x", "o[:] = x"))
    assert isinstance(error, cls)
    assert [d.message for d in error.diagnostics] == [message]


def test_a_step_that_may_be_zero_is_a_precondition(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32), s: int):
            for i in pypto.loop(0, 8, s):
                o[:] = x * i
        """)
    assert "require s != 0" in made
