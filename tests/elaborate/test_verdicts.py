"""Constructs that users of such tools stumble over: as Python means them, or refused by name."""

from __future__ import annotations

import asyncio
import linecache
import textwrap
from typing import Any

import pytest

from pypto.elaborate import KernelSource
from pypto.error import FeTypeError
from pypto.ir.tensor_print import print_kernel
from tests.differential.agree import agree, count
from tests.elaborate.support import HEADER, Workshop, body

# --- jumps and bodies ---

JUMPS = {
    "break in the inner of two loops": (
        ["for i in range(3):", "    for j in range(5):", "        if j == 2: break",
         "        n += 1", "    n += 100"], 306),
    "continue before a write": (
        ["for i in range(4):", "    if i % 2: continue", "    n += i"], 2),
    "break leaves else out": (
        ["for i in range(4):", "    if i == 3: break", "else: n = 9"], 0),
    "jump out of a branch in a while": (
        ["while True:", "    n += 1", "    if n < 5: continue", "    break"], 5),
    "an early return in a helper": (["n = early(2) + early(-1)"], 23),
    "a helper without return": (["n = 5 if nothing() is None else 6"], 5),
    "a chained comparison asks its middle once": (
        ["a = [1, 2]", "n = 1 if 0 < a.pop() < 5 and len(a) == 1 else 2"], 1),
    "a chain stops at a link that is false": (
        ["a = [1, 2]", "b = 3 < 2 < a.pop()", "n = len(a)"], 2),
    "precedence of not": (["n = (not 1 < 2) * 10 + (1 == 1 == 1) + (1 in (1, 2) in [True])"], 1),
}  # fmt: skip


@pytest.mark.parametrize("case", JUMPS)
def test_jumps(shop: Workshop, case: str) -> None:
    lines, wanted = JUMPS[case]
    helpers = (
        "def early(a):\n    if a < 0: return 3\n    return a * 10\n"
        "def nothing():\n    'a docstring alone'\n"
    )
    names: dict[str, Any] = {}
    function = "".join(f"    {line}\n" for line in ["n = 0", *lines, "return n"])
    exec(f"{helpers}def f():\n{function}", names)
    assert names["f"]() == wanted
    made = shop.ir(helpers + body("n = 0", *lines, "o[:] = x + n"))
    assert f" add %0, {wanted} :" in made


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["pass"], "the kernel 'k' writes none of its parameters"),
        (["'a docstring alone'"], "the kernel 'k' writes none of its parameters"),
        (["return"], "the kernel 'k' writes none of its parameters"),
        (["return", "o[:] = x"], "the kernel 'k' writes none of its parameters"),
        (["o[:] = x", "return x"], "a kernel returns nothing"),
    ],
)
def test_bodies_that_write_nothing(shop: Workshop, lines: list[str], message: str) -> None:
    assert [d.message for d in shop.error(body(*lines)).diagnostics] == [message]


def test_a_return_ends_the_kernel(shop: Workshop) -> None:
    text = shop.ir(body("o[:] = x", "if True:", "    return", "o[:] = x + 1"))
    assert text.count("store") == 1
    assert shop.ir(body("o[:] = x", "return None")).count("store") == 1


# --- what would act while compiling ---

ACTING = {
    "breakpoint()": "a kernel cannot call breakpoint",
    "input('?')": "a kernel cannot call input",
    "open('a')": "a kernel cannot call open",
    "logging.info('a')": "a kernel cannot call logging.info",
    "warnings.warn('a')": "a kernel cannot call warnings.warn",
    "random.random()": "a kernel cannot call random.random",
    "time.time()": "a kernel cannot call time.time",
    "datetime.datetime.now()": "cannot read 'datetime.datetime.now'",
    "os.getenv('A')": "a kernel cannot call os.getenv",
    "os.environ['A']": "cannot read os.environ['A']",
    "LIST.append(3)": "a kernel cannot change 'LIST'",
    "[LIST.append(i) for i in range(3)]": "a kernel cannot change 'LIST'",
    "(lambda: LIST.append(3))()": "a kernel cannot change 'LIST'",
    "list(map(LIST.append, [1]))": "a kernel cannot change 'LIST'",
    "next(SOURCE)": "next needs an iterator",
    "[i for i in SOURCE]": "a comprehension runs over range(...), lists",
    "eval('1')": "a kernel cannot call the built-in eval",
    "exec('1')": "a kernel cannot call the built-in exec",
    "globals()": "a kernel cannot call the built-in globals",
    "setattr(x, 'a', 1)": "a kernel cannot call the built-in setattr",
    "id(x)": "a kernel cannot call the built-in id",
    "type(x)": "a kernel cannot call type",
    "super()": "super() stands in no method",
    "torch.manual_seed(1)": "a kernel cannot call torch.manual_seed",
    "object()": "a kernel cannot make objects of the class object",
}


@pytest.mark.parametrize("line", ACTING)
def test_what_acts_is_refused(shop: Workshop, line: str) -> None:
    text = (
        "import datetime, logging, os, random, time, torch, warnings\n"
        "LIST = [1]\nSOURCE = iter([1, 2])\n"
    )
    (diagnostic,) = shop.error(text + body(line, "o[:] = x")).diagnostics
    assert diagnostic.message.startswith(ACTING[line])
    assert diagnostic.span is not None and diagnostic.help


# --- other forms ---


def test_async_kernels_and_type_comments(shop: Workshop) -> None:
    kernel = shop.module("async " + body("o[:] = x"))["k"]
    with pytest.raises(FeTypeError, match="is an async function: not a kernel"):
        KernelSource.capture(kernel)
    assert asyncio.iscoroutinefunction(kernel)
    text = shop.ir(body("y = x * 2  # type: int", "o[:] = y"))
    assert "store o[:], %1" in text


def test_a_kernel_of_exec_with_its_text_in_linecache(shop: Workshop) -> None:
    text = HEADER + "def make(m):\n    f = lambda t: t * m\n" + "".join(
        f"    {line}\n" for line in body("o[:] = f(x)").splitlines()
    ) + "    return k\n"  # fmt: skip
    filename = "<made by exec>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    three, four = names["make"](3), names["make"](4)
    for kernel, number in ((three, 3), (four, 4)):
        made = shop.elaborate(kernel)
        assert f" mul %0, {number} :" in print_kernel(made.kernel)
        assert sorted(map(str, made.reads)) == ["f", "f -> m"]


def test_a_kernel_in_a_class_uses_what_stands_there(shop: Workshop) -> None:
    text = """
        class Net:
            scale = 3
            @staticmethod
            def act(t): return t * Net.scale
            @staticmethod
            def k(x: T([8], FP32), o: T([8], FP32)):
                o[:] = Net.act(x)
        k = Net.k
        """
    made = shop.run(text)
    assert " mul %0, 3 :" in print_kernel(made.kernel)
    assert sorted(map(str, made.reads)) == ["Net.act", "Net.act -> Net.scale"]


def test_a_very_long_comprehension_and_chain(shop: Workshop) -> None:
    total = " + ".join(f"f{i}(1)" for i in range(300))
    text = "".join(f"f{i} = lambda t: t + {i}\n" for i in range(300))
    made = shop.ir(text + body(f"n = {total}", "o[:] = x + n"))
    assert f" add %0, {sum(range(300)) + 300} :" in made
    lines = ["a = [[i * j for i in range(50)] for j in range(50)]", "o[:] = x * len(a)"]
    assert " mul %0, 50 :" in shop.ir(body(*lines))


# --- comparisons, loops and printing, with values that only a call or the kernel knows ---

RUN_TIME = {
    "a chain": "o[:] = x + (3 if 0 < n < m else 7)",
    "a chain of equalities": "o[:] = x + (n == m == 2)",
    "not of a comparison": "o[:] = x + (3 if not n < m else 7)",
    "in a tuple": "o[:] = x + (3 if n in (1, m) else 7)",
    "not in a list": "o[:] = x + (3 if n not in [0, m] else 7)",
    "in a range": "o[:] = x + (3 if n in range(1, 3) else 7)",
    "a key of a dict": "o[:] = x + (3 if n in {2: 1} else 7)",
    "is None": "o[:] = x + (3 if n is None or x is None else 7)",
    "is not None": "o[:] = x + (3 if n is not None and o is not None else 7)",
    "the index of two nested loops": """
        for i in pypto.loop(m):
            for i in pypto.loop(2): o[i] = i + 10
            o += i""",
    "the index of two nested loops that are unrolled": """
        for i in range(2):
            for i in range(3): o[i] = i + 10
            o += i""",
    "an index behind its loop": """
        i = 3
        for i in pypto.loop(n): o[i] = i
        o += i""",
    "an index that the body sets": """
        for i in pypto.loop(n):
            i = i * 2
            o[i] = 10 + i""",
    "an index of an unrolled loop that the body sets": """
        for i in range(4):
            i = i * 2
            o[i] = 10 + i""",
    "a loop over the length of a parameter": """
        for i in range(n): o[i] = i + 10""",
    "a while loop that counts a parameter down": """
        while n > 0:
            n -= 1
            o += 1""",
    "a counter in a loop": """
        c = 0
        for i in pypto.loop(4): c += 1; o[i:i+1] = x[i:i+1] + c""",
    "a text with a parameter": "o[:] = x + len(f'{n + 10}')",
}  # fmt: skip


@pytest.mark.parametrize("case", RUN_TIME)
def test_what_a_call_decides(case: str) -> None:
    lines = textwrap.dedent(RUN_TIME[case].strip("\n")).splitlines()
    text = "def k(x: T([8], FP32), o: T([8], FP32), n: int, m: int):\n"
    text += "".join(f"    {line}\n" for line in (*lines, "o[:] = o"))
    for n, m in ((0, 2), (1, 2), (2, 2), (3, 2), (3, 4)):
        agree(text, count(8), count(8) * 10, n, m)


ON_THE_DEVICE = {
    "while i < 3: i += 1": (
        "the condition of a while statement needs a value that is known at compile time",
        "loops over range(...) and lists have indices that are known",
    ),
    "a = {}[f'{i}']": (
        "an index needs a value that is known at compile time",
        "loops over range(...) and lists have indices that are known",
    ),
    "a = f'{x}'": (
        "an f-string needs a value that is known at compile time",
        "the elements of a tensor are known only when the kernel runs",
    ),
    "assert i < n, 'too far'": (
        "an assertion on values that only the running kernel knows is not available",
        "check the values before the call, or write what went wrong into an output",
    ),
    "assert x, 'empty'": (
        "a tensor has no truth value: its elements are known only when the kernel runs",
        "compare sizes or parameters, or choose elementwise with an operation",
    ),
    "for j in n: o += j": (
        "a kernel can only loop over range(...), lists, tuples and dicts known at compile time",
        "count in the running kernel with pypto.loop(n), or unroll range(n)",
    ),
    "for row in x: o += row": (
        "a kernel can only loop over range(...), lists, tuples and dicts known at compile time",
        "operations take the whole tensor; its rows: for i in pypto.loop(x.shape[0])",
    ),
    "o += i is n": (
        "'is' compares identities, which numbers and strings do not reliably have",
        "write ==, or compare with None, True, False or an enum member",
    ),
    "print('a', file=3)": (
        "print in a kernel has no parameter 'file'",
        "it writes to standard output",
    ),
    "return x": ("a kernel returns nothing", "add a parameter for the result and write it: "
                 "out[:] = value"),
}  # fmt: skip


@pytest.mark.parametrize("line", ON_THE_DEVICE)
def test_what_no_compiler_can_know(shop: Workshop, line: str) -> None:
    text = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    for i in pypto.loop(4):\n"
    error = shop.error(f"{text}        {line}\n    o[:] = x\n", n=3)
    (found,) = error.diagnostics
    assert (found.message, found.help) == ON_THE_DEVICE[line]
    assert found.span is not None and found.span.line == 3


def test_assertions_on_arguments(shop: Workshop) -> None:
    """What the launch can check is checked there; what holds for all iterations needs no check."""
    text = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    "
    assert "require n < 9" in shop.ir(text + "assert n < 9, 'm'; o[:] = x")
    assert "require" not in shop.ir(
        text + "o[:] = x\n    for i in pypto.loop(4):\n        assert i < 4\n"
    )
    error = shop.error(text + "assert n < 3, f'got {n}'; o[:] = x", n=4)
    assert [d.message for d in error.diagnostics] == [
        "the assertion 'n < 3' does not hold: got 4"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "help"),
    [
        ("o = x", "write into it: o[:] = ..."),
        ("(o := x)", "write into it: o[:] = ..."),
        ("[o := x for i in range(2)]", "write into it: o[:] = ..."),
        ("for o in range(3): pass", "give the loop variable another name: 'o' is the tensor "
         "parameter"),
        ("for o in pypto.loop(3): pass", "give the loop variable another name: 'o' is the tensor "
         "parameter"),
        ("for t, o in [(x, x)]: pass", "give the loop variable another name: 'o' is the tensor "
         "parameter"),
        ("def o(): return x", "give the function another name: 'o' is the tensor parameter"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "o[:] = x"])
def test_another_meaning_for_the_name_of_an_output(
    shop: Workshop, before: str, line: str, help: str
) -> None:
    (diagnostic,) = shop.error(body(*([before] if before else []), line)).diagnostics
    assert diagnostic.message == (
        "assigning to 'o' does not write the tensor: it only rebinds the name"
    )
    assert diagnostic.help == help
    assert diagnostic.span is not None and diagnostic.span.text() == "o"


@pytest.mark.parametrize(
    "function",
    [
        ["    yield 1"],
        ["    nobody"],
        ["    if nobody: return 1"],
        ["    if nobody: return 1", "    return None"],
        ["    for i in range(2):", "        if nobody: return i", "    return 'a'"],
    ],
)
def test_a_function_with_an_error_has_no_value(shop: Workshop, function: list[str]) -> None:
    """What it would have returned is not known: its uses are no errors of their own."""
    error = shop.error(body("def f():", *function, "a = x * f()", "o[:] = x + f()"))
    assert len({d.message for d in error.diagnostics}) == 1
