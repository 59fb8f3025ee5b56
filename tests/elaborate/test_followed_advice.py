"""Messages about methods, deletions, attributes and callees: what they say is true, and helps."""

from __future__ import annotations

import pytest

from pypto.ir.tensor_print import print_kernel
from tests.elaborate.support import Workshop, body

NAMES = """\
import functools, operator
L = [1, 2]
D = {'a': 1}
L2 = [[1], [2]]
class Scale:
    __slots__ = ('n',)
    def __call__(self, t): return t * 2
scale = Scale()
"""

MESSAGES = {
    ("a = [1]", "a.__len__()"): """\
ErrCode: F00005  the method '__len__' of lists is not supported in kernels
  --> k.py:13:5
  12 |     a = [1]
  13 |     a.__len__()
     |     ^^^^^^^^^
  help: methods supported: append, clear, copy, count, extend, index, insert, pop, remove, \
reverse, sort""",
    ("a = [1]", "a.sorted()"): """\
ErrCode: F00007  a list of 1 has no attribute 'sorted'
  --> k.py:13:5
  12 |     a = [1]
  13 |     a.sorted()
     |     ^^^^^^^^""",
    ("a = [1]", "a.sort(key=len)"): """\
ErrCode: F00001  TypeError: object of type 'int' has no len()
  --> k.py:13:5
  12 |     a = [1]
  13 |     a.sort(key=len)
     |     ^^^^^^^^^^^^^^^""",
    ("a = [1]", "a.remove(2)"): """\
ErrCode: F00002  ValueError: 2 is not in the list
  --> k.py:13:5
  12 |     a = [1]
  13 |     a.remove(2)
     |     ^^^^^^^^^^^""",
    ("a = {}", "a.fromkeys([1])"): """\
ErrCode: F00005  the method 'fromkeys' of dicts is not supported in kernels
  --> k.py:13:5
  12 |     a = {}
  13 |     a.fromkeys([1])
     |     ^^^^^^^^^^
  help: fill a dict in a for statement: d[key] = value""",
    ("a = {}", "a.update(3)"): """\
ErrCode: F00001  update takes a dict, or pairs of a key and a value
  --> k.py:13:14
  12 |     a = {}
  13 |     a.update(3)
     |              ^""",
    ("s = {1}", "s.pop()"): """\
ErrCode: F00005  the method 'pop' of sets is not supported in kernels
  --> k.py:13:5
  12 |     s = {1}
  13 |     s.pop()
     |     ^^^^^
  help: a set has no order; take an item of sorted(...), or keep a list""",
    ("s = {1}", "s.add(x)"): """\
ErrCode: F00001  add needs a value that is known at compile time
  expected  a Python value
  got       a tensor fp32[8]
  --> k.py:13:11
  12 |     s = {1}
  13 |     s.add(x)
     |           ^
  help: the elements of a tensor are known only when the kernel runs""",
    ("b = 'abc'.encode()",): """\
ErrCode: F00005  the method 'encode' of strings is not supported in kernels
  --> k.py:12:9
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     b = 'abc'.encode()
     |         ^^^^^^^^^^^^
  help: keep the bytes outside the kernel, as a global or a parameter""",
    ("y = f'{zip([1])}'",): """\
ErrCode: F00001  an iterator has no text
  got       the iterator of zip(...)
  --> k.py:12:12
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     y = f'{zip([1])}'
     |            ^^^^^^^^
  help: make a list of it first: list(...)""",
    ("a = [1]", "del a[1]"): """\
ErrCode: F00002  IndexError: list assignment index out of range
  --> k.py:13:9
  12 |     a = [1]
  13 |     del a[1]
     |         ^^^^""",
    ("d = {}", "del d['a', 1]"): """\
ErrCode: F00002  KeyError: ('a', 1)
  --> k.py:13:9
  12 |     d = {}
  13 |     del d['a', 1]
     |         ^^^^^^^^^""",
    ("del L[0]",): """\
ErrCode: F00007  a kernel cannot change 'L', which stands outside of it
  --> k.py:12:9
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     del L[0]
     |         ^^^^
  help: make a new list or dict in the kernel, or change the object outside""",
    ("for a in (L2, L2)[0]: a.append(2)",): """\
ErrCode: F00007  a kernel cannot change an item of 'L2': append would run once, while \
compiling
  --> k.py:12:27
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     for a in (L2, L2)[0]: a.append(2)
     |                           ^^^^^^^^^^^
  help: make a new list or dict in the kernel, or change the object outside""",
    ("s = {1}", "s += {2}"): """\
ErrCode: F00001  TypeError: unsupported operand type(s) for +: 'set' and 'set'
  --> k.py:13:5
  12 |     s = {1}
  13 |     s += {2}
     |     ^^^^^^^^""",
    ("del x[0]",): """\
ErrCode: F00001  items of a tensor fp32[8] cannot be deleted
  expected  a list or dict made in the kernel
  --> k.py:12:9
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     del x[0]
     |         ^^^^""",
    ("del x.shape[0]",): """\
ErrCode: F00007  the shape of a tensor cannot be changed
  --> k.py:12:9
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     del x.shape[0]
     |         ^^^^^^^^^^
  help: copy it first: shape = list(x.shape)""",
    ("del scale.n",): """\
ErrCode: F00005  a kernel can only delete names and items of lists and dicts
  --> k.py:12:9
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     del scale.n
     |         ^^^^^^^
  help: keep the value in a name of its own: del name""",
    ("y = x + scale.n",): """\
ErrCode: F00007  cannot read 'scale.n': 'n' of the 'Scale' is not set
  --> k.py:12:13
  11 | def k(x: T([8], FP32), o: T([8], FP32)):
  12 |     y = x + scale.n
     |             ^^^^^^^
  help: set 'n' before the kernel is called, or pass the value as a parameter""",
}


@pytest.mark.parametrize("lines", MESSAGES)
def test_messages(shop: Workshop, lines: tuple[str, ...]) -> None:
    names = NAMES + body(*lines, "o[:] = x")
    assert shop.message(names) == MESSAGES[lines]


# --- what wraps a helper ---

WRAPPED = """\
import functools
def h(t, s, q=1): return t * s + q
@functools.lru_cache
def cached(t, s=2): return t * s
@functools.cache
def plain(n): return n + 4
p = functools.partial(h, s=3)
nested = functools.partial(p, q=5)
operation = functools.partial(pypto.mul, other=3.0)
both = functools.partial(cached, s=7)
gone = functools.partial(h, 3)
"""


@pytest.mark.parametrize(
    ("call", "same"),
    [
        ("p(x)", "h(x, 3)"),
        ("p(x, s=4)", "h(x, 4)"),
        ("nested(x)", "h(x, 3, 5)"),
        ("nested(x, q=6)", "h(x, 3, 6)"),
        ("operation(x)", "pypto.mul(x, 3.0)"),
        ("x * plain(5)", "x * 9"),
        ("both(x)", "x * 7"),
        ("gone(2, q=x)", "h(3, 2, x)"),
    ],
)
def test_partial_and_lru_cache(shop: Workshop, call: str, same: str) -> None:
    def lines(text: str) -> list[str]:
        made = print_kernel(shop.run(WRAPPED + body(f"o[:] = {text}")).kernel)
        return [line.split("@")[0].rstrip() for line in made.splitlines()]

    assert lines(call) == lines(same)


def test_partial_is_read(shop: Workshop) -> None:
    """The function and all arguments that a partial holds are part of what was captured."""
    made = shop.run(WRAPPED + body("o[:] = p(x) + gone(2, q=x)"))
    assert [str(read) for read in made.reads] == [
        "p.args", "p.keywords", "p.func", "p.keywords['s']", "p.func -> q", "gone.args",
        "gone.keywords", "gone.func", "gone.args[0]",
    ]  # fmt: skip


def test_partial_made_elsewhere(shop: Workshop) -> None:
    text = WRAPPED + "items = [p]\n" + body("for f in items: o[:] = f(x)")
    assert "store o[:]" in shop.ir(text)


# --- private names ---


def test_private_names(shop: Workshop) -> None:
    text = """\
    _Outer__n = 4
    def h(t, _Outer__s): return t + _Outer__s

    class _Outer:
        @staticmethod
        def k(__x: T([8], FP32), o: T([8], FP32), *, __dunder__: int = 3):
            __y = __x * 2
            __y += __n
            o[:] = h(__y, __s=__dunder__)

        def make():
            def k(__x: T([8], FP32), o: T([8], FP32)):
                o[:] = __x * __n
            return k

    def outside(__x: T([8], FP32), o: T([8], FP32)):
        o[:] = __x * 2

    k = _Outer.k
    inner = _Outer.make()
    """
    names = shop.module(text)
    assert print_kernel(shop.elaborate(names["k"], None, None).kernel).splitlines()[0] == (
        "kernel k(_Outer__x: fp32[8] read, o: fp32[8] write, __dunder__: int)"
    )
    assert "mul %0, 4 :" in print_kernel(shop.elaborate(names["inner"]).kernel)
    assert print_kernel(shop.elaborate(names["outside"]).kernel).startswith("kernel outside(__x:")


def test_private_name_that_is_missing(shop: Workshop) -> None:
    text = (
        "class C:\n"
        "    @staticmethod\n"
        "    def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "        o[:] = x * __missing\n"
        "k = C.k\n"
    )
    assert shop.message(text) == (
        "ErrCode: F00004  name '_C__missing' is not defined\n"
        "  --> k.py:6:20\n"
        "  5 |     def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "  6 |         o[:] = x * __missing\n"
        "    |                    ^^^^^^^^^\n"
        "  help: '__missing' means '_C__missing' inside the class C: define that, or use a name "
        "with one underscore"
    )


@pytest.mark.parametrize(
    "choice", ["sorted([a, b])[0]", "max(b, a)", "min([b, a], key=len)", "sorted([(5, a)])[0][1]"]
)
def test_the_same_lists_and_not_copies(shop: Workshop, choice: str) -> None:
    lines = ("a, b = [2], [3, 4]", f"({choice}).append(7)", "o[:] = x * (len(a) * 10 + len(b))")
    wanted = 13 if choice.startswith("max") else 22
    assert f" mul %0, {wanted} :" in shop.ir(body(*lines))
