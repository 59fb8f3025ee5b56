"""Objects in kernels: methods of captured ones, and those that a kernel makes itself."""

from __future__ import annotations

from typing import Any

import pytest

from pypto.elaborate.captures import evaluate
from pypto.elaborate.rows import launcher_rows
from pypto.ir.tensor_print import print_kernel
from tests.elaborate.support import Workshop, body

OUTSIDE = '''
import dataclasses, enum, functools, pathlib
from typing import NamedTuple
class Base:
    bias = 3
    def scale(self, t, by=2): return t * self.n * by + self.bias
class Config(Base):
    def __init__(self, n): self.n = n
    @property
    def half(self): return self.n // 2
    @functools.cached_property
    def third(self): return self.n // 3
    @staticmethod
    def twice(t): return t + t
    @classmethod
    def make(cls, t): return t * cls.bias
    def __call__(self, t): return self.scale(t, by=5)
    def change(self): self.n = 3
    def __len__(self): return 3
cfg = Config(6)
LAYERS = [Config(1), Config(2)]
TABLE = {"a": Config(7), "b": cfg}
FUNCTIONS = {"double": lambda t: t * 2, "same": lambda t: t}
PAIR = (lambda t: t - 1, lambda t,
        k=9: t + k)
bound = cfg.scale
part = functools.partial(cfg.scale, by=7)
factor = 4
late = lambda t: t * factor
@dataclasses.dataclass
class State:
    m: object
    l: object = 15
    items: list = dataclasses.field(default_factory=list)
    other: int = dataclasses.field(default=2, kw_only=True)
    hidden: int = dataclasses.field(default=8, init=False)
    def step(self, t):
        self.m = self.m + t
        self.l += 1
        return self
    def __post_init__(self): self.extra = self.hidden + 1
@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int = 3
    def area(self): return self.n * self.n
frozen = Frozen(5)
class P(NamedTuple):
    a: object
    b: int = 2
class Mode(enum.Enum):
    A = 3
    def shifted(self): return self.value + 1
class Plain:
    def __init__(self, t, *more): self.t, self.more = t, more
    @property
    def double(self): return self.t * 2
class Empty: pass
class Slots:
    __slots__ = ("a",)
class Odd:
    def __new__(cls): return 3
'''  # fmt: skip

VALUES = [
    "cfg.scale(1) * 100 + cfg.half * 10 + cfg.third",
    "cfg.twice(4) + Config.twice(5) + cfg.make(2) + Config.make(3)",
    "cfg(1) + bound(2) + part(3)",
    "[layer.scale(1) for layer in LAYERS][1] * 10 + len(LAYERS)",
    "sum(c.half for c in TABLE.values()) + TABLE['a'].n + TABLE.get('b').n",
    "FUNCTIONS['double'](4) + FUNCTIONS.get('same')(5) + PAIR[0](6) + PAIR[1](7)",
    "sum(f(3) for f in PAIR) + [f(2) for k, f in FUNCTIONS.items()][0] + late(2)",
    "State(1).step(2).m + State(1).step(2).l + State(1, other=5).other + State(1).extra",
    "frozen.area() + Frozen().area() + Frozen(n=2).n",
    "P(4).a + P(4)[1] + P(b=7, a=1).b + len(P(1)) + sum(P(4)) + isinstance(P(1), tuple)",
    "Mode(3).shifted() + Mode.A.value",
    "Plain(4).double + len(Plain(1, 2, 3).more)",
    "isinstance(Plain(1), Plain) + 2 * isinstance(State(1), Plain) + isinstance(late, Plain)",
    "getattr(cfg, 'n') + getattr(cfg, 'zz', 4) + hasattr(cfg, 'n') * 10 + hasattr(cfg, 'zz')",
    "hasattr(cfg, 'scale') + getattr(State(1), 'l') + hasattr(State(1), 'q') + hasattr(P(1), 'b')",
    "functools.partial(cfg.scale, by=3)(1) + functools.reduce(lambda a, b: a * b, [2, 3], 4)",
    "sum(map(cfg.make, [1, 2])) + sum(filter(None, [0, 5])) + sum(map(max, [1, 5], [4, 2]))",
    "max([3, -4], key=abs) + min(['aa', 'b'], key=len).count('b') + max([], default=7)",
    "sorted([[2, 1], [1, 5]])[0][1] + sorted('bca', key=lambda c: -ord(c))[0].count('c')",
    "next(v for v in range(3) if v) + next(iter([4])) + next(iter([]), 9)",
    "callable(late) + 2 * callable(3) + 4 * callable(cfg) + 8 * callable(lambda: 1)",
    "(State(1) == State(1)) + 2 * (State(1) == State(2)) + 4 * (Plain(1) == Plain(1))",
    "(lambda s: (s is s) + 2 * (s == s) + 4 * (s is Plain(1)) + 8 * (s != s))(Plain(1))",
    "(lambda d: (d is d) + 2 * (d is {}))({})",
    "divmod(7, 2)[1] + bool([0]) + bool(0) + bool('a') + abs(-3) + round(2.6) + pow(2, 3)",
]  # fmt: skip


NUMERICS = (
    "import math, torch, numpy as np\n"
    "DT, HALF = torch.float32, torch.float16\nNF, NI = np.float32(2.5), np.int64(3)\n"
    "ND = np.dtype('float32')\n"
)
NUMBERS = [
    "(DT == torch.float32) + 2 * (DT is HALF) + 4 * (DT in (HALF, DT)) + 8 * (DT != HALF)",
    "(ND == np.float32) + 2 * (ND == np.int8)",
    "{torch.float32: 3, torch.float16: 4}[HALF] + [5, 6, 7, 8][NI] + (1, 2, 3, 4)[NI - 1]",
    "round(NF) + int(NF) + abs(-NI) + math.floor(NF) + NI // 2 + divmod(NI, 2)[0] + NI.item()",
    "sum(range(NI)) + DT.itemsize + DT.is_floating_point + ND.itemsize",
    "torch.finfo(HALF).max + np.iinfo(np.int8).max + torch.iinfo(torch.int8).bits",
    "len(f'{DT} {NF:.2f}') + len(str(NI)) + isinstance(NI, np.integer) + isinstance(NF, float)",
]


@pytest.mark.parametrize("expression", NUMBERS)
def test_numbers_and_dtypes_of_numpy_and_torch(shop: Workshop, expression: str) -> None:
    names: dict[str, Any] = {}
    exec(NUMERICS, names)
    wanted = int(eval(expression, names))
    made = shop.run(NUMERICS + body(f"n = int({expression})", "o[:] = x + n"))
    assert f" add %0, {wanted} :" in print_kernel(made.kernel)


@pytest.mark.parametrize("expression", VALUES)
def test_as_python_does(shop: Workshop, expression: str) -> None:
    names: dict[str, Any] = {}
    exec(OUTSIDE, names)
    wanted = int(eval(expression, names))
    made = shop.run(OUTSIDE + body(f"n = {expression}", "o[:] = x + n"))
    assert f" add %0, {wanted} :" in print_kernel(made.kernel)


def test_tensors_in_objects(shop: Workshop) -> None:
    lines = (
        "s = State(x)",
        "s.items.append(x)",
        "t = s",
        "t.step(x)",
        "p = P(s.m, 3)",
        "a, b = p",
        "o[:] = a * p.b + Plain(s.items[0]).double",
        "assert s is not None and s.l == 16",
    )
    assert [line.split("@")[0].strip() for line in shop.ir(OUTSIDE + body(*lines)).splitlines()][
        1:
    ] == [
        "%0 = load x[:]",
        "%1 = add %0, %0 : fp32[8]",
        "%2 = mul %1, 3 : fp32[8]",
        "%3 = mul %0, 2 : fp32[8]",
        "%4 = add %2, %3 : fp32[8]",
        "store o[:], %4",
    ]


CHANGES = {
    "cfg.scale(1)": ["cfg.n = 7", "Base.bias = 4", "Config.scale = lambda self, t: t",
                     "cfg.scale = lambda t: t", "cfg = Config(8)"],
    "cfg.half": ["cfg.n = 8", "Config.half = property(lambda self: 9)"],
    "cfg.twice(1)": ["Config.twice = staticmethod(lambda t: t)"],
    "Config.make(1)": ["Config.bias = 7", "Config.make = classmethod(lambda cls, t: t)"],
    "bound(1)": ["bound = Config(9).scale", "cfg.n = 12"],
    "late(1)": ["factor = 5", "late = lambda t: t"],
    "FUNCTIONS['same'](1)": ["FUNCTIONS['same'] = lambda t: t + 1"],
    "sum(f(1) for f in PAIR)": ["PAIR = PAIR[:1]"],
    "sum(c.n for c in LAYERS)": ["LAYERS.append(cfg)", "LAYERS[0].n = 5"],
    "getattr(cfg, 'zz', 4)": ["cfg.zz = 3"],
    "P(1).b": ["P = NamedTuple('P', [('a', int), ('c', int), ('b', int)])"],
    "State(1).l": ["State.__dataclass_fields__['l'].default = 3"],
    "Mode(3).value": ["Mode = enum.Enum('Mode', {'B': 3})"],
}  # fmt: skip


@pytest.mark.parametrize("expression", CHANGES)
def test_a_change_is_noticed(shop: Workshop, expression: str) -> None:
    for change in CHANGES[expression]:
        names = shop.module(OUTSIDE + body(f"n = {expression}", "o[:] = x + n"))
        kernel = names["k"]
        reads = shop.elaborate(kernel).reads
        assert all(evaluate(read, kernel) == read.digest for read in reads)
        if all(read.digest != "absent" for read in reads):
            launcher_rows(reads, kernel)
        exec(change, names)
        assert any(evaluate(read, kernel) != read.digest for read in reads), change


REFUSED = {
    "cfg.change()": "a kernel cannot set the attribute 'n' of",
    "t = Empty(1)": "'Empty' takes no arguments",
    "t = Odd()": "a kernel cannot make objects of the class Odd",
    "t = pathlib.Path('a')": "a kernel cannot call pathlib.Path",
    "t = State()": "'State' misses the argument 'm'",
    "t = State(1, 2, [], 4)": "'State' takes 3 positional arguments, got 4",
    "t = P()": "'P' misses the argument 'a'",
    "t = Frozen(); t.n = 4": "the dataclass 'Frozen' is frozen",
    "t = P(1); t.a = 4": "a kernel cannot set the attribute 'a' of a named tuple P",
    "t = Slots(); t.b = 4": "'Slots' has no slot 'b'",
    "t = Plain(1); t.double = 4": "'double' is a property of 'Plain'",
    "t = Plain(1).missing": "an object of the class Plain has no attribute 'missing'",
    "t = Plain(1) + 1": "the operator + needs a value that is known at compile time",
    "t = Plain(1)(2)": "an object of the class Plain has no attribute '__call__'",
    "t = cfg.missing": "cannot read 'cfg.missing'",
    "t = getattr(x, 'missing')": "a tensor has no attribute 'missing'",
    "t = getattr(cfg, 3)": "the name of an attribute is a string",
    "t = Mode(4)": "ValueError: 4 is not a valid Mode",
    "t = next([1])": "next needs an iterator",
    "t = next(iter([]))": "StopIteration",
    "t = sum(['a'], '')": "TypeError: sum() can't sum strings",
    "t = max([])": "ValueError: max",
    "t = functools.reduce(lambda a, b: a, [])": "reduce of no items needs a third argument",
    "t = functools.partial(3)": "partial needs a function",
    "t = map(1, [2]); u = list(t)": "'1' cannot be called",
    "t = sorted([1], wrong=2)": "sorted has no parameter 'wrong'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(shop: Workshop, line: str) -> None:
    (diagnostic,) = shop.error(OUTSIDE + body("o[:] = x", line)).diagnostics
    assert diagnostic.message.startswith(REFUSED[line])
    assert diagnostic.span is not None


def test_two_lambdas_that_look_alike(shop: Workshop) -> None:
    text = "fs = [lambda t: t + 1, lambda t: t + 2, lambda a, b=(lambda: 3): a + b()]\n"
    lines = body("o[:] = fs[0](x) * fs[1](x) * fs[2](x)")
    assert [w for w in shop.ir(text + lines).split("add")[1:] if " 1 " in w]
    made = shop.ir(text + lines)
    assert all(f"add %0, {n} :" in made for n in (1, 2, 3))


def test_run_time_numbers_in_folds(shop: Workshop) -> None:
    text = """
        def k(x: T([pypto.DYN, pypto.DYN], FP32), o: T([pypto.DYN, pypto.DYN], FP32)):
            n = sum(s for s in x.shape)
            assert all(s > 2 for s in x.shape) and any(s > 3 for s in x.shape)
            o[:] = x * (n + divmod(n, 4)[1] + max(s * 2 for s in x.shape))
        """
    made = shop.run(text)
    assert len(made.kernel.preconditions) >= 1
    assert "x.shape[0] + x.shape[1]" in print_kernel(made.kernel)


def test_print_shows_what_is_known(shop: Workshop) -> None:
    shown: list[str] = []
    from pypto.elaborate import KernelSource, elaborate
    from pypto.elaborate.annotations import signature_of

    text = """
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            print('sizes', x.shape, x.dtype, [1, 'a'], end='!')
            for i in range(n): print(f'{i=}', i, sep=';')
            o[:] = x
        """
    kernel = shop.module(text)["k"]
    elaborate(KernelSource.capture(kernel), signature_of(kernel), None, {"n": 2}, shown.append)
    assert "".join(shown) == "sizes [8] DT_FP32 [1, 'a']!i=0;0\ni=1;1\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("print(f'{[x]}')", "an f-string needs a value that is known at compile time"),
        ("print(1, file=3)", "print in a kernel has no parameter 'file'"),
        ("print(1, sep=3)", "'sep' of print is a string"),
        ("print(lambda: 1)", "print needs a value that is known at compile time"),
        ("print(zip())", "an iterator has no text"),
    ],
)
def test_print_refuses(shop: Workshop, line: str, message: str) -> None:
    text = f"def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    o[:] = x\n    {line}\n"
    (diagnostic,) = shop.error(text, n=3).diagnostics
    assert diagnostic.message.startswith(message)
