"""Users' classes: special methods, ``super()``, ``with``; decorators, and ``nonlocal``."""

from __future__ import annotations

import pytest

from tests.differential.agree import HEADER, TWINS, agree_calls, agree_compiled, count
from tests.elaborate.support import Workshop

CLASSES = '''
import functools


class Pair:
    """Two tensors that calculate together."""

    def __init__(self, a, b):
        self.items = [a, b]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value * 2

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, item):
        return item < 2

    def __call__(self, t, by=2):
        return self.items[0] * t + by

    def __add__(self, other):
        return Pair(self.items[0] + other, self.items[1] + other)

    def __radd__(self, other):
        return Pair(other + self.items[0], other * self.items[1])

    def __iadd__(self, other):
        self.items[0] = self.items[0] + other
        return self

    def __mul__(self, other):
        return NotImplemented

    def __neg__(self):
        return Pair(-self.items[0], -self.items[1])

    def __bool__(self):
        return False

    def __lt__(self, other):
        return other > 3

    def __eq__(self, other):
        return len(self) == other


class Scale:
    factor = 3

    def __rmul__(self, other):
        return other * self.factor

    def __getitem__(self, key):
        return key[0] * 10 + key[1]

    def __len__(self):
        return 0

    def __enter__(self):
        return self.factor

    def __exit__(self, kind, error, trace):
        return None


SCALE = Scale()


class Base:
    def __init__(self, by):
        super().__init__()
        self.by = by

    def apply(self, t):
        return t * self.by

    @classmethod
    def name(cls, t):
        return t + 1


class Left(Base):
    def apply(self, t):
        return super().apply(t) + 10


class Right(Base):
    def apply(self, t):
        return super().apply(t) * 100

    @classmethod
    def name(cls, t):
        return super().name(t) * 2


class Both(Left, Right):
    def __init__(self, by, more):
        super().__init__(by)
        self.more = more

    def apply(self, t):
        return super(Both, self).apply(t) + self.more


BOTH = Both(2, 5)


class Counted:
    """Adds to ``out`` when it is entered and left."""

    def __init__(self, out, by):
        self.out, self.by = out, by

    def __enter__(self):
        self.out += self.by
        return self

    def __exit__(self, *error):
        self.out *= 2


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **named):
        return function(function(*args, **named))

    return wrapper


def plus(by):
    def decorate(function):
        return lambda t: function(t) + by

    return decorate


def applied(function, t, *more):
    for other in more:
        t = other(t)
    return function(t)


def doubled(t):
    return t * 2


HELPERS = {"a": doubled, "b": [doubled, lambda t: t + 3]}
'''

BODIES = {
    "len, bool, in and comparison": """
        p = Pair(x, x)
        c = len(p) * 10
        if not p:
            c += 1
        if 1 in p:
            c += 2
        if 5 not in p:
            c += 4
        c += 8 if p == 2 else 0
        c += 16 if p < 7 else 0
        c += 32 if 7 > p else 0
        c += 64 if not SCALE else 0
        o[:] = x * c
        """,
    "items": """
        p = Pair(x, x + 1)
        p[1] = p[0] + n
        o[:] = p[1] + p[0] + SCALE[n, 3] * x
        for t in p:
            o += t
        a, b = p
        o += a * b
        """,
    "operators": """
        p = x + 0
        q = Pair(x, x * 2) + 1
        q = 3 + q
        q += x
        q = -q
        o[:] = q[0] * q[1] + p * 0 + n * SCALE
        """,
    "calls": """
        p = Pair(x, x)
        o[:] = p(x) + p(x, by=n)
        """,
    "super of an object that the kernel makes": """
        b = Both(3, n)
        o[:] = b.apply(x) + Both.name(x)
        """,
    "super of an object from outside": """
        o[:] = BOTH.apply(x) + BOTH.name(x)
        """,
    "with": """
        o[:] = x
        with Counted(o, 1) as c, SCALE as f:
            o += f * c.by
        """,
    "with, left by break and return": """
        def f(n):
            for j in range(3):
                with Counted(o, j + 1):
                    if j == 1:
                        break
                    o[:] = o + 1
            with Counted(o, 7):
                if n > 2:
                    return 5
                o[:] = o * 3
            return 6
        o[:] = x
        o += f(n)
        """,
    "with in a loop of the device": """
        o[:] = x
        for i in pypto.loop(3):
            with Counted(o, 1):
                if i == n:
                    continue
                o += i
        """,
    "decorators": """
        @plus(3)
        @twice
        def f(t):
            return t * 2
        @functools.lru_cache(maxsize=None)
        def g(t):
            return t + 1
        @functools.cache
        def h(t):
            return t + 1
        o[:] = f(x) + g(x) * h(x)
        """,
    "functions as values": """
        def local(t, k=2):
            return t * k
        o[:] = applied(doubled, x, local, lambda t: t + n, functools.partial(local, k=5))
        o += applied(HELPERS["b"][1], x, HELPERS["a"], *HELPERS["b"], Pair(x, x), BOTH.apply)
        """,
    "nonlocal": """
        c, t = 1, x
        def step(k):
            nonlocal c, t
            c = c + k
            t = t * 2
        step(2)
        step(n)
        o[:] = t + c
        """,
    "nonlocal in a loop of the device": """
        c, t = 1, x * 1
        def step(k):
            nonlocal c, t
            c += k
            if c > 5:
                t = t + c
        for i in pypto.loop(n):
            step(i)
            step(2)
        o[:] = t + c
        """,
    "nonlocal in a branch, and a return under a condition": """
        c = 0
        def step(k):
            nonlocal c
            if k > 2:
                c = 7
                return k
            c += 100
            return c
        d = 0
        if n > 1:
            d = step(n)
        o[:] = x * c + d
        """,
    "nonlocal of functions in one another": """
        c = 1
        def outer():
            d = 2
            def inner():
                nonlocal c, d
                c, d = c + d, c
                return reader()
            def reader():
                return c * 10 + d
            r = inner() + inner()
            return r * 1000 + d
        o[:] = x * outer() + c
        """,
}


@pytest.mark.parametrize("name", BODIES)
def test_agrees_with_python(name: str) -> None:
    text, header = text_of(name)
    agree_calls(text, [(count(8), count(8) * 100, n) for n in (0, 1, 2, 4)], header)


def text_of(name: str) -> tuple[str, str]:
    head = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n"
    return head + BODIES[name].replace("\n        ", "\n    "), HEADER + CLASSES


@pytest.mark.parametrize("kind", TWINS)
def test_on_the_twin(kind: str) -> None:
    names = ["with, left by break and return", "nonlocal in a loop of the device", "operators"]
    cases = [(text_of(name)[0], [(count(8), count(8), n) for n in (1, 4)]) for name in names]
    agree_compiled(cases, kind, HEADER + CLASSES)


REFUSED = {
    "for t in BOTH: pass": "a kernel can only loop over range(...), lists, tuples and dicts known",
    "o[:] = x * Pair(x, x)": "mul: 'other' must be a tensor or a number",
    "o[:] = Pair(x, x) * 3": "the operator * of this object does not take the other operand",
    "with BOTH: pass": "with needs an object whose class defines __enter__ and __exit__ in Python",
    "y = super().apply": "super() stands in no method",
    "y = BOTH.apply(x); y = super(Left, x)": "super needs an object of the class",
    "y = super(Base, BOTH).other": "no class behind 'Base' has 'other'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(shop: Workshop, line: str) -> None:
    head = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n"
    text = f"{CLASSES}\n{head}    {line}\n    o[:] = x\n"
    assert REFUSED[line] in shop.message(text)


def test_nonlocal_through_a_region_of_another_function(shop: Workshop) -> None:
    text = """
        def maybe(f, n):
            if n > 1:
                f()
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            c = 1
            def step():
                nonlocal c
                c = 2
            maybe(step, n)
            o[:] = x * c
        """
    message = shop.message(text)
    assert "'c' of 'k' is set inside a run-time loop or branch of 'maybe'" in message
    assert "return the new value, and assign it where the name belongs" in message


def test_nonlocal_of_a_function_around_the_kernel(shop: Workshop) -> None:
    text = """
        def make():
            c = 1
            def k(x: T([8], FP32), o: T([8], FP32)):
                def step():
                    nonlocal c
                    c = 2
                step()
                o[:] = x * c
            return k
        k = make()
        """
    assert "a kernel may not rebind 'c', a variable of the function around it" in shop.message(text)


def test_an_output_that_a_nonlocal_name_rebinds(shop: Workshop) -> None:
    text = """
        def k(x: T([8], FP32), o: T([8], FP32)):
            def f():
                nonlocal o
                o = x * 2
            f()
        """
    assert "assigning to 'o' does not write the tensor" in shop.message(text)


def test_a_method_of_a_base_that_changes_is_noticed(shop: Workshop) -> None:
    """What super() has read is a captured read."""
    text = CLASSES + "\ndef k(x: T([8], FP32), o: T([8], FP32)):\n    o[:] = BOTH.apply(x)\n"
    made = shop.run(text)
    paths = [str(read) for read in made.reads]
    assert "BOTH.__class__.__mro__[1].apply" in paths and "BOTH.__class__.__mro__[3].apply" in paths
