"""Constructs that users of such tools stumble over: as Python means them, or refused by name."""

from __future__ import annotations

import asyncio
import linecache
from typing import Any

import pytest

from pypto.elaborate import KernelSource
from pypto.error import FeTypeError
from pypto.ir.tensor_print import print_kernel
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
    "super()": "a kernel cannot make objects of the class super",
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
