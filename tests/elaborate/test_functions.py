"""Functions, lambdas, comprehensions and while: the same text is run by Python."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pypto.ir.tensor_print import print_kernel
from tests.elaborate.support import Workshop, body

OUTSIDE = """
def power(a, k):
    return 1 if k == 0 else a * power(a, k - 1)
def even(k): return True if k == 0 else odd(k - 1)
def odd(k): return False if k == 0 else even(k - 1)
def gather(*parts, scale=1, **named):
    return (sum(parts) + sum(named.values())) * scale + len(named)
def apply(f, *args, **kwargs): return f(*args, **kwargs)
def split(a, /, b=2, *, c=3): return {"a": a, "bc": [b, c]}
def adder(k):
    def add(a): return a + k
    return add
"""

SNIPPETS = """
i = 0
while i < 5:
    i += 1
    if i == 2: continue
    if i == 4: break
    n = n * 10 + i
else:
    n = -1
n = n * 10 + i
---
i = 3
while i:
    i -= 1
    n = n * 10 + i
else:
    n = n * 10 + 7
---
for i in range(3):
    if i == 5: break
else:
    n = 4
for i in range(3):
    if i == 1: break
else:
    n = 5
n = n * 10 + i
---
for i in range(3):
    while True:
        n += 1
        if n % 2: continue
        break
---
a = [i * j for i in range(4) if i for j in range(i) if j % 2]
n = sum(a) * 10 + len(a)
---
i = 9
a = [i for i in range(3)]
n = i * 10 + len(a)
---
a = [[j * i for j in range(i)] for i in range(4)]
n = sum(sum(b) for b in a)
---
d = {k: len(k) for k in ("a", "bb", "ccc") if k != "bb"}
s = {v % 2 for v in d.values()}
n = d["ccc"] * 10 + len(s)
---
a = [1, 2]
g = (v * 2 for v in a)
a.append(3)
n = sum(g) * 10 + len(list(g))
---
g = (n for _ in range(2))
n = 5
n = sum(g)
---
n = max(v % 5 for v in range(9)) * 10 + min(-v for v in (1, 2))
n += any(v > 3 for v in range(9)) + all(v > 3 for v in range(9)) * 2
---
n = len(",".join(str(v) for v in range(12))) + len(tuple(v for v in "abc"))
---
g = (v for v in range(10))
for a, b in zip(g, g): n = n * 10 + b - a
---
f = [lambda: i for i in range(3)]
n = f[0]() * 10 + f[1]()
---
f = [lambda i=i: i for i in range(3)]
n = f[0]() * 10 + f[1]()
---
a = 1
f = lambda b, c=a: a * 100 + b * 10 + c
a = 2
n = f(3) * 1000 + f(c=4, b=5)
---
def f(a):
    n = a + 1
    return n * m
m = 3
n = f(4)
---
def f(a, b=n, *c, d=4, **e):
    return a + 10 * b + 100 * sum(c) + 1000 * d + sum(e.values())
n = f(1) + f(1, 2, 3, 4, d=5, q=6)
---
def outer(k):
    def inner(): return k + m
    return inner
f, g = outer(1), outer(10)
m = 5
n = f() * 100 + g()
---
def fib(k): return k if k < 2 else fib(k - 1) + fib(k - 2)
n = fib(11)
---
def f(k):
    if k == 0: return 0
    return 1 + g(k - 1)
def g(k): return f(k)
n = f(90)
---
table = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
for key in ("add", "mul"): n = n * 10 + table[key](2, 3)
n += [lambda: 7][0]()
n += (lambda *a, **k: len(a) + len(k))(1, 2, z=3)
---
if (k := 3) > 2: n = k
a = [y := 1, y ** 2]
n = n * 100 + a[1] + sum((last := v) for v in range(4)) + last
---
i = 0
while (i := i + 1) < 4: n = n * 10 + i
---
n = power(2, 10) + even(7) + odd(7)
---
n = gather(1, 2, 3, scale=2, a=4, b=5) + gather() + gather(*[1, 2], **{"scale": 3, "z": 1})
---
n = apply(power, 2, 3) + apply(lambda a: a + 1, 1) + apply(gather, 1, scale=4)
---
d = split(1, c=5)
n = d["a"] * 100 + d["bc"][0] * 10 + d["bc"][1]
---
f, g = adder(1), adder(10)
n = f(1) * 100 + g(1)
---
def f(x):
    x = x + 1
    return x
n = f(3)
---
f = None
if not f: f = lambda: 8
n = f() if f else 0
---
def f():
    for i in range(9):
        if i == 4: return i
n = f() + (f() is None)
""".strip().split("\n---\n")


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_as_python_does(shop: Workshop, snippet: str) -> None:
    scope: dict[str, Any] = {}
    exec(OUTSIDE, scope)
    exec("def f():\n    n = 0\n" + textwrap.indent(snippet, "    ") + "\n    return n", scope)
    made = shop.run(OUTSIDE + body("n = 0", *snippet.splitlines(), "o[:] = x + n"))
    assert f" add %0, {int(scope['f']())} :" in print_kernel(made.kernel)


def test_tensors_in_functions_and_comprehensions(shop: Workshop) -> None:
    lines = (
        "scale = lambda t, by=2: t * by",
        "parts = [scale(t) for t in (x, x + 1)]",
        "def total(*tensors):",
        "    result = tensors[0]",
        "    for t in tensors[1:]: result = result + t",
        "    return result",
        "def write(t): o[:] = t",
        "write(total(*parts))",
    )
    assert [line.split("@")[0].strip() for line in shop.ir(body(*lines)).splitlines()][1:] == [
        "%0 = load x[:]",
        "%1 = add %0, 1 : fp32[8]",
        "%2 = mul %0, 2 : fp32[8]",
        "%3 = mul %1, 2 : fp32[8]",
        "%4 = add %2, %3 : fp32[8]",
        "store o[:], %4",
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["while True: pass"], "this loop never ends: nothing leaves it"),
        (["while x: pass"], "a tensor has no truth value"),
        (["t = [r for r in x]"], "a comprehension runs over range(...), lists"),
        (["t = [r for r in 3]"], "a comprehension runs over range(...), lists"),
        (["t = {r for r in (x, x)}"], "an item of a set needs a value that is known"),
        (["t = {r: 1 for r in (x, x)}"], "a key of a dict needs a value that is known"),
        (["t = [i for i in range(3)]", "o[:] = x * i"], "name 'i' is not defined"),
        (["def f(): return a", "t = f()", "a = 1"], "'a' has no value here"),
        (["def f():", "    t = a", "    a = 1", "f()"], "'a' has no value here"),
        (["f = lambda a: a", "t = f()"], "'<lambda>' misses the argument 'a'"),
        (["f = lambda: 1", "t = f(2)"], "'<lambda>' takes 0 positional arguments, got 1"),
        (["def f(a, /): return a", "t = f(a=1)"], "'f' has no parameter 'a' that can be given"),
        (["def f(a, **b): return a", "t = f(1, a=1)"], "'f' gets 'a' twice"),
        (["f = lambda a: f(a + 1)", "t = f(0)"], "'<lambda>' calls itself more than 100 levels"),
        (["t = [0]", "g = ((yield) for i in t)"], None),
        (["def f(): yield x", "t = f()"], "a kernel cannot use yield"),
        (["f = lambda: 1", "t = x * f"], "mul: 'other' must be a tensor or a number"),
        (["f = lambda: 1", "t = f.a"], "a lambda has no attribute 'a'"),
        (["f = lambda: 1", "t = f'{f}'"], "an f-string needs a value that is known"),
        (["def n(): return x", "t = range(n)"], "range(...) needs a value that is known"),
    ],
)
def test_refusals(shop: Workshop, lines: list[str], message: str | None) -> None:
    if message is None:
        with pytest.raises(SyntaxError):
            shop.module(body("o[:] = x", *lines))
        return
    (diagnostic,) = shop.error(body("o[:] = x", *lines)).diagnostics
    assert diagnostic.message.startswith(message)
    assert diagnostic.span is not None


def test_calls_that_double_do_not_take_forever(shop: Workshop) -> None:
    text = "def f(a):\n    b = f(a)\n    c = f(a)\n    return b + c\n"
    (diagnostic,) = shop.error(text + body("o[:] = f(x)")).diagnostics
    assert diagnostic.message == "'f' calls itself more than 100 levels deep"
    text = "def f(a, k):\n    if k: f(a, k - 1); f(a, k - 1)\n"
    found = shop.error(text + body("f(x, 90)", "o[:] = x")).diagnostics
    assert found[0].message == "unrolled loops and calls take more than 100000 steps"


def test_an_error_in_a_lambda_says_who_called_it(shop: Workshop) -> None:
    text = "def h(t):\n    f = lambda a: a + missing\n    return f(t)\n"
    (diagnostic,) = shop.error(text + body("o[:] = h(x)")).diagnostics
    assert [note.split(",")[0] for note in diagnostic.notes] == ["in '<lambda>'", "in 'h'"]


def test_a_condition_of_while_specialises(shop: Workshop) -> None:
    text = """
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            while n > 2: n -= 1
            o[:] = x * n
        """
    made = shop.run(text, n=5)
    assert made.specialised == {"n"} and " mul %0, 2 :" in print_kernel(made.kernel)
