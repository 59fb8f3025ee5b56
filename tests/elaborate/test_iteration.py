"""Loops, views and iterators see what Python's see: the same text is run by Python."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pypto.ir.tensor_print import print_kernel
from tests.elaborate.support import Workshop, body

SNIPPETS = """
a = [1, 2, 3, 4]
for v in a:
    a.pop()
    n = n * 10 + v
---
a = [1, 2, 3, 4]
for v in a:
    a[2] = 50
    n = n + v
---
a = [1, 2]
for v in a:
    n = n * 10 + v
    if len(a) < 5: a.append(v + 2)
---
a = [1, 2]
for v in a:
    n = n * 10 + v
    if len(a) < 5: a += [7]
---
a = [1, 2, 3]
for v in a:
    n = n * 10 + v
    if v == 1: a.insert(0, 5)
    if n > 10000: break
---
a = [1, 2, 3]
for v in a:
    for w in a:
        if len(a) < 6: a.append(w + 1)
    n = n * 10 + v
---
a = [5, 6]
for i, v in enumerate(a, 1):
    n = n * 10 + i * v
    if i < 4: a.append(i)
---
a = [1, 2, 3]
for v in reversed(a):
    a[0] = 7
    n = n * 10 + v
---
d = {"a": 1, "b": 2}
v, k, i = d.values(), d.keys(), d.items()
d["a"] = 5
d["c"] = 6
n = sum(v) * 100 + len(k) * 10 + len(i)
for key, item in i: n = n * 10 + item
for key, item in i: n = n * 10 + item
if k and "c" in k and 6 in v and ("a", 5) in i: n = n + 1000000
if "zz" in k or 77 in v: n = 0
---
d = {"a": 1, "b": 2}
v = d.values()
d.clear()
n = 1 if v else 2
---
d = {1: 10, 2: 20}
for key in d:
    d[key] = d[key] + 1
for key, value in d.items(): n = n * 100 + value
---
d = {1: 10, 2: 20}
for key in list(d):
    d[key + 10] = d[key] + 1
for value in reversed(d.values()): n = n * 100 + value
---
d = {1: 10, 2: 20}
n = len(d.keys() | {2, 3}) * 10 + len(d.keys() & {2})
---
d = {1: 10, 2: 20}
e = {**d}
e[1] = 5
n = d[1]
---
a = [1, 2]
z = zip(a, a)
a.append(3)
for p, q in z: n = n * 10 + p
for p, q in z: n = n * 10 + q
---
z = enumerate([4, 5])
for p, q in z: n = n * 10 + q
n = n * 10 + len(list(z))
---
z = reversed((1, 2, 3))
n = max(z) * 10 + len(list(z))
---
a = [1, 2, 3, 4]
z = reversed(a)
for p, q in zip(z, z): n = n * 100 + p * 10 + q
---
z = zip([1, 2, 3])
n = ((2,) in z) * 10 + len(tuple(z))
---
z = enumerate([0, 1, 0])
n = any(z) * 10 + len([*z])
---
z = enumerate((7, 8), start=3)
(i, v), (j, w) = z
n = i * 1000 + v * 100 + j * 10 + w
---
z = zip((1, 2), (3, 4), strict=True)
for a, b in z: n = n * 100 + a * 10 + b
---
z = zip()
n = (1 if z else 2) + len(list(z))
---
n = isinstance(zip(), zip) + 2 * isinstance({}.keys(), dict) + 4 * isinstance({1}, set)
---
n = ((1, 2) == range(1, 3)) + 2 * ((1, 2) == (1, 2)) + 4 * ([1] == {1: 2})
---
a = [3, 1, 2, 1]
a.remove(1)
n = a[0] * 100 + a[1] * 10 + a[2]
---
a = [3, 1, 2]
b = a
b.sort()
n = a[0] * 100 + a[1] * 10 + a[2]
b.sort(reverse=True)
n = n * 1000 + a[0] * 100 + a[1] * 10 + a[2]
---
s = {1}
t = s
s.add(2)
s.add(2)
s.discard(1)
s.discard(100)
s.update([5, 6], (7,))
s.remove(7)
s.difference_update({6})
n = sum(t) * 10 + len(s)
---
s = {1, 2}
t = s.copy()
t.clear()
n = len(s) * 10 + len(t) + s.isdisjoint({3})
---
s = set([1])
t = s | {2}
t.add(5)
n = sum(s) * 100 + sum(t)
---
s = {1}
t = s
s |= {2, 3}
s -= {1}
s ^= {3, 8}
s &= t
n = sum(t) * 10 + len(t)
---
d = {}
d[1, 2] = 3
d[(3,)] = 4
d[3,] += 1
n = d[(1, 2)] * 10 + d[3,]
---
d = {}
d.update({1: 2}, **{})
d.update([(3, 4), (1, 6)])
d.update([])
n = d[1] * 10 + d[3]
k, v = d.popitem()
n = n * 100 + k * 10 + v
d.clear()
n = n * 10 + len(d)
---
a = [1, 2, 3, 4, 5]
del a[0]
del a[-1], a[0:1]
d = {1: 2, (1, 2): 5}
del d[1]
n = a[0] * 100 + a[1] * 10 + len(d)
del d[1, 2]
n = n * 10 + len(d)
---
a = [1, 2, 3]
b = a
for v in b:
    del a[0]
    n = n * 10 + v
""".strip().split("\n---\n")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_as_python_does(shop: Workshop, snippet: str) -> None:
    scope: dict[str, Any] = {}
    exec("def f():\n    n = 0\n" + textwrap.indent(snippet, "    ") + "\n    return n", scope)
    made = shop.run(body("n = 0", *snippet.splitlines(), "o[:] = x + n"))
    assert f" add %0, {int(scope['f']())} :" in print_kernel(made.kernel)


def test_tensors_in_a_growing_list(shop: Workshop) -> None:
    lines = (
        "work, y = [x], x",
        "for t in work:",
        "    y = y + t",
        "    if len(work) < 3: work.append(t * 10)",
        "o[:] = y",
    )
    assert [line.split("@")[0].strip() for line in shop.ir(body(*lines)).splitlines()][1:] == [
        "%0 = load x[:]",
        "%1 = add %0, %0 : fp32[8]",
        "%2 = mul %0, 10 : fp32[8]",
        "%3 = add %1, %2 : fp32[8]",
        "%4 = mul %2, 10 : fp32[8]",
        "%5 = add %3, %4 : fp32[8]",
        "store o[:], %5",
    ]


REFUSED = {
    ("d = {'a': 1}", "for k in d: d[k + 'b'] = 1"): """\
ErrCode: F00002  RuntimeError: dictionary changed size during iteration
  --> k.py:5:14
  4 |     d = {'a': 1}
  5 |     for k in d: d[k + 'b'] = 1
    |              ^
  help: loop over a copy: list(d)""",
    ("d = {'a': 1, 'b': 2}", "for k, w in d.items(): d.pop(k)"): """\
ErrCode: F00002  RuntimeError: dictionary changed size during iteration
  --> k.py:5:17
  4 |     d = {'a': 1, 'b': 2}
  5 |     for k, w in d.items(): d.pop(k)
    |                 ^^^^^^^^^
  help: loop over a copy: list(d.items())""",
    ("s = {1, 2}", "for i, k in enumerate(s): s.add(i + 5)"): """\
ErrCode: F00002  RuntimeError: Set changed size during iteration
  --> k.py:5:27
  4 |     s = {1, 2}
  5 |     for i, k in enumerate(s): s.add(i + 5)
    |                           ^
  help: loop over a copy: list(s)""",
    ("a = [1]", "for v in a: a.append(v)"): """\
ErrCode: F00002  unrolled loops and calls take more than 100000 steps
  --> k.py:5:14
  4 |     a = [1]
  5 |     for v in a: a.append(v)
    |              ^
  help: use fewer steps: every step becomes statements of the kernel""",
    ("for a, b in zip([1], [], strict=True): n = 1",): """\
ErrCode: F00002  ValueError: zip() argument 2 is shorter than argument 1
  --> k.py:4:17
  3 | def k(x: T([8], FP32), o: T([8], FP32)):
  4 |     for a, b in zip([1], [], strict=True): n = 1
    |                 ^^^^^^^^^^^^^^^^^^^^^^^^^""",
    ("z = zip([1])", "n = len(z)"): """\
ErrCode: F00001  len does not take an iterator
  got       the iterator of zip(...)
  --> k.py:5:13
  4 |     z = zip([1])
  5 |     n = len(z)
    |             ^
  help: make a list of it first: list(...)""",
    ("z = {1: 2}.values()", "n = z[0]"): """\
ErrCode: F00001  the values of a dict of 1 cannot be indexed
  --> k.py:5:9
  4 |     z = {1: 2}.values()
  5 |     n = z[0]
    |         ^^^^
  help: make a list of it first: list(...)""",
    ("z = [1]", "for i in range(200): z = zip(z)", "for v in z: n = 1"): """\
ErrCode: F00002  more than 100 iterators in one another
  --> k.py:5:30
  4 |     z = [1]
  5 |     for i in range(200): z = zip(z)
    |                              ^^^^^^
  help: make a list of the inner ones: list(...)""",
}


@pytest.mark.parametrize("lines", REFUSED)
def test_what_is_refused(shop: Workshop, lines: tuple[str, ...]) -> None:
    assert shop.message(body(*lines, "o[:] = x")) == REFUSED[lines]


@pytest.mark.parametrize(
    "line",
    [
        "D.get(1).append(3)",
        "L[0:1][0].append(3)",
        "L.copy()[0].append(3)",
        "list(L)[0].append(3)",
        "for a in L: a.append(3)",
        "for a in D.values(): a.append(3)",
    ],
)
def test_items_of_captured_containers_stay(shop: Workshop, line: str) -> None:
    text = "L, D = [[1], [2]], {1: [2]}\n" + body(line, "o[:] = x")
    (diagnostic,) = shop.error(text).diagnostics
    where = "an item of 'D'" if line.startswith(("D", "for a in D")) else "an item of 'L'"
    where = "an object made outside" if "copy" in line else where
    assert diagnostic.message == (
        f"a kernel cannot change {where}: append would run once, while compiling"
    )
