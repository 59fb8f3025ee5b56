"""Whatever a kernel says, the answer is Tensor IR or a PyptoError with a place."""

from __future__ import annotations

import random

import pytest

from pypto.error import PyptoError
from tests.elaborate.support import Workshop

HEAD = '''
import dataclasses, enum, functools, math, os, typing
class Mode(enum.IntEnum):
    A = 3
def h(a, b=2): return a if b else (a, b)
def rec(a): return rec(a)
D = {"a": 1, 2: [3]}
L = [1, 2.5, "s", None]
class Bad:
    def fail(self, *rest): raise RuntimeError("user code ran")
    __getattr__ = __eq__ = __hash__ = __bool__ = __repr__ = __len__ = __iter__ = __add__ = fail
bad = Bad()
class Plain:
    def __init__(self, a, *rest): self.a, self.rest = a, rest
    def grow(self, by=1): self.a = self.a + by; return self
    @property
    def twice(self): return self.a * 2
plain = Plain(3)
@dataclasses.dataclass
class Data:
    a: object
    b: int = 2
class Pair(typing.NamedTuple):
    a: object
    b: int = 2
F = [lambda a: a * 2, h, plain.grow, functools.partial(h, b=0)]
'''  # fmt: skip

LEAVES = (
    ["x", "n", "t"] * 6
    + ["o", "f", "1", "0", "-2", "2.5", "True", "None", "'ab'", "[x, n]", "(1, x)", "{'a': x}"]
    + ["{1, 2}", "L", "D", "Mode.A", "pypto", "pypto.exp", "FP32", "T", "h", "rec", "math.pi"]
    + ["len", "print", "x.shape", "x.dtype", "x.exp", "bad", "bad.q", "...", "b'z'", "1j"]
    + ["plain", "Plain", "Data", "Pair", "F", "F[0]", "plain.grow", "plain.twice", "lambda: x"]
    + ["range(3)", "int", "undefined", "os.environ", "f'{n}'", "10 ** 20", "[]", "x.shape[0]"]
)
SIGNS = [*"+ - * / // % ** @ & | ^ << >> < <= > >= == != is in and or".split(), "not in"]
CALLS = (
    "h abs max min len pypto.add pypto.sum pypto.cast pypto.tensor int float list dict zip "
    "enumerate sorted str isinstance range pypto.min math.sqrt round pypto.softmax "
    "Plain Data Pair F[0] F[2] F[3] map filter any all sum next iter getattr hasattr callable "
    "functools.partial functools.reduce divmod bool print Mode plain.grow (lambda *a, **k: a)"
).split()
NAMES = (
    "shape dtype append get items T exp sum real move format join copy __class__ a b grow twice"
).split()


def expression(pick: random.Random, depth: int) -> str:
    if depth <= 0:
        return pick.choice(LEAVES)
    a, b, c = (expression(pick, depth - 1) for _ in range(3))
    forms = [
        f"({a} {pick.choice(SIGNS)} {b})",
        f"({pick.choice(['-', '+', '~', 'not '])}{a})",
        f"{a}[{pick.choice([b, ':', '1:', '...', ':, :', '::2'])}]",
        f"{pick.choice([*CALLS, a])}({pick.choice(['', '*', 'input='])}{b})",
        f"{pick.choice(CALLS)}({b}, {pick.choice(['', '*', 'dim='])}{c})",
        f"({a} if {b} else {c})",
        f"{a}.{pick.choice(NAMES)}",
        f"[{a}, {b}]",
        f"({a} < {b} < {c})",
        f"[{a} for t in {b} if {c}]",
        f"({a} for t, n in {b})",
        f"{{{a}: {b} for t in {c}}}",
        f"{{{a} for t in range(3) for n in {b}}}",
        f"(lambda t, *a, q={a}, **k: {b})",
        f"(lambda t=x: {a})({b})",
        f"(w := {a})",
        f"{pick.choice(['sorted', 'max', 'min'])}({a}, key={b})",
        f"f'{{{a}!r:{{{b}}}}}'",
    ]
    return pick.choice(forms)


def statement(pick: random.Random, depth: int, indent: str = "    ") -> str:
    value = expression(pick, depth)
    inner = indent + "    "
    forms = [
        f"o[:] = {value}",
        f"t = {value}",
        f"t {pick.choice(['+=', '*=', '//=', '|='])} {value}",
        f"if {value}:\n{inner}t = {expression(pick, 1)}",
        f"while {value}:\n{inner}t = {expression(pick, 1)}\n{inner}break\n{indent}else: t = 1",
        f"for t in {value}: pass\n{indent}else: t = {expression(pick, 1)}",
        f"def f(t, *a, q={expression(pick, 1)}):\n{inner}return {value}\n"
        f"{indent}t = f({expression(pick, 1)})",
        f"t = Data({value})\n{indent}t.{pick.choice(NAMES)} = {expression(pick, 1)}",
        f"t = Plain({value}).grow({expression(pick, 1)}).twice",
        f"print({value})",
        f"for t in {value}:\n{inner}o[:] = x * t",
        f"a, t = {value}",
        f"{pick.choice(['t', 'x', 'L', 'D'])}[{expression(pick, 1)}] = {value}",
        f"assert {value}, {expression(pick, 1)}",
        f"pypto.set_vec_tile_shapes({value})",
        value,
    ]
    return indent + pick.choice(forms) + "\n"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_random_kernels_are_answered_or_refused(shop: Workshop, seed: int) -> None:
    pick = random.Random(seed)
    answered = refused = 0
    while answered + refused < 60:
        text = HEAD + "def k(x: T([8], FP32), o: T([8], FP32), n: int, f: float):\n    t = 1\n"
        text += statement(pick, pick.choice([1, 1, 2])) + "    o[:] = x\n"
        try:
            names = shop.module(text)
        except SyntaxError:
            continue
        try:
            shop.elaborate(names["k"], n=2, f=1.5)
            answered += 1
        except PyptoError as error:
            assert all(d.span is not None and d.message for d in error.diagnostics)
            refused += 1
    assert answered and refused
