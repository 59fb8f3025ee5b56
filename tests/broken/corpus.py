"""Kernels to break: of the samples, of the generator of programs, and one for each construct."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pypto.elaborate import syntax
from tests.differential.generate import write
from tests.elaborate import test_branches, test_loops
from tests.ops.programs import Seeded

__all__ = ["Kernel", "constructs", "generated", "samples"]

HEADER = '''
import dataclasses, math, typing
import pypto
from pypto import Tensor as T, DT_FP32 as FP32, DT_INT32 as I32
LIST, TABLE = [1, 2, 3], {1: 2, "a": 3}
class Box:
    """An object of a captured class, or one that the kernel makes."""
    def __init__(self, part, other=2): self.part, self.other = part, other
    def size(self): return self.other + 1
    def set(self, part): self.part = part; return self
    @property
    def grown(self): return Box(self.part, self.other + 1)
@dataclasses.dataclass
class Data:
    a: object
    b: int = 2
class Pair(typing.NamedTuple):
    a: object
    b: int = 2
box = Box(3)
def helper(a, b=2, *rest):
    if b > 2:
        return a + b
    return a * b
def deep(a): return 1 if a < 1 else a * deep(a - 1)
'''.lstrip()  # fmt: skip
HEAD = "def k(x: T([8], FP32), q: T([4], I32), o: T([8], FP32), n: int, f: float):\n"


@dataclass(frozen=True, slots=True)
class Kernel:
    """``names`` are the kernels in ``text``; ``changed`` the functions that may be changed."""

    title: str
    text: str
    names: tuple[str, ...] = ("k",)
    changed: frozenset[str] = frozenset({"k"})
    values: dict[str, object] = field(default_factory=lambda: {"n": 2, "f": 1.5})


BODIES = {
    "loops": """
        acc, c = x * 0, 0
        for i in pypto.loop(n):
            for j in pypto.loop(i, 8, 2):
                acc = acc + x * j
                c += 1
                if c > 5: break
            if i == 3: continue
            o[i] = c
        o[:] = acc / (c + 1)""",
    "branches": """
        if n > 2 and q[0] < 3:
            t, c = x * 2, 1
        elif f:
            t, c = x + f, q[n]
        else:
            t, c = x, 2.5
        o[:] = t * c if n != 1 else x""",
    "parts": """
        t = x[2:6]
        a = x.view([4], [n])
        b = x.reshape([2, 2, 2]).transpose(0, 1)[1, :, 0]
        for i in pypto.loop(2):
            o[i*4:(i+1)*4] = x[i*4:min((i+1)*4, n)] + t
        o[0:4] += a
        o[4:6] = b
        o[-1] = x[0] + x[..., n]""",
    "comprehensions": """
        a = [x * i for i in range(4) if i % 2]
        b = {i: x + i for i in range(3)}
        c = sum(i * j for i in range(3) for j in LIST)
        d = {i for i in (n, 1)} if False else {1, 2}
        o[:] = a[0] + b[2] * c + len(d)""",
    "closures": """
        def twice(a, *b, c=n, **d):
            def inner(e): return e * c + len(b)
            return inner(a) + len(d)
        g = lambda t, u=2: t * u
        for i in pypto.loop(3):
            o[:] = twice(x, 1, 2, z=3) + g(x, i)
        o += sorted([g(3), 1], key=lambda v: -v)[0]""",
    "objects": """
        a = Box(x, n)
        b = Data(x, b=4)
        c = Pair(x)
        b.b += 1
        a.set(b.a * b.b)
        for i in pypto.loop(2):
            d = Box(x * i)
            o[:] = d.part + a.grown.size() + box.part + c.b
        p, r = c
        o += p * r""",
    "loop_unroll": """
        c = 0
        for i, u in pypto.loop_unroll(0, n, 1, unroll_list=[4, 2, 1], name='u', idx_name='i'):
            for j in range(u):
                o[i + j] = u
            c += u
        for i in pypto.loop(4, unroll_list=[2], submit_before_loop=True):
            if pypto.is_loop_begin(i): o[i] = c
            if pypto.is_loop_end(i): o += 1""",
    "raise and assert": """
        assert n > 0, f'n is {n}'
        if n > 6: raise ValueError('too many', n)
        for i in pypto.loop(3):
            assert i < 3
            if n > 5: raise RuntimeError
        def check(a, limit=8):
            assert a < limit, 'large'
            return a
        o[:] = x * check(n)""",
    "containers": """
        a, (b, *c), d = x, [1, n, f], {'u': x, 'v': [1, 2]}
        d['v'].append(3)
        d['w'] = c
        for key, value in d.items(): print(key)
        for e, (g, h) in enumerate(zip([1, 2], (x, o))): a = a + g
        s = [*c, 1, *range(2)]
        o[:] = a * b + len(s) + max(s[2:]) + d['v'][-1]""",
    "early ends": """
        def pick(a, b):
            for i in pypto.loop(4):
                if q[i] > b:
                    return a[i:i+1] * 1
            else:
                b += 1
            c = 0
            while c < 3: c += 1
            return a[0:1] * b + c
        o[0:1] = pick(x, 2)
        if n < 1: return
        o += 1""",
    "local tensors": """
        acc = pypto.zeros(8)
        m = pypto.tensor([8], FP32)
        m[:] = pypto.full([8], -1.0, FP32)
        for i in pypto.loop(q[0]):
            m[:] = pypto.maximum(m, x * i)
            acc[:] = acc * pypto.exp(m) + pypto.sum(x, 0, True)
            m.move(acc + 1)
        o[:] = acc / m""",
    "strings and numbers": """
        s = f'{n:>3}{TABLE["a"]!r}' + 'x' * 2
        c = int(math.sqrt(16)) + divmod(7, 2)[1] + round(2.5) + len(s)
        c = (c << 2) | 1 if isinstance(c, int) and s.endswith('x') else 0
        c += deep(3) + helper(n, b=3) + (n if n in (1, 2) else -n) // 3 % 2
        del s
        o[:] = pypto.cast(pypto.cast(x, pypto.DT_FP16), FP32) * c ** 2""",
}  # fmt: skip


@cache
def constructs() -> tuple[Kernel, ...]:
    """Kernels of this page, of the tests of loops and branches, and of the tables of constructs."""
    bodies = {**BODIES, **{f"branch: {a}": b for a, b in test_branches.BODIES.items()}}
    for row in (*syntax.STATEMENTS, *syntax.EXPRESSIONS, *syntax.OPERATORS, *syntax.NOT_SUPPORTED):
        bodies[f"construct: {row.nodes}"] = "\n" + row.example + "\no[:] = x"
    for name, (before, inside, behind) in test_loops.PROGRAMS.items():
        inner = inside.replace("; ", "\n    ") if "for" not in inside else inside
        bodies[f"carried: {name}"] = (
            f"\ns = n\n{before}\nfor i in pypto.loop(s):\n    {inner}\n{behind}"
        )
    made = [
        Kernel(
            title,
            HEADER + HEAD + textwrap.indent(textwrap.dedent(_lines(body)), "    ") + "\n",
            changed=frozenset({"k", "helper", "deep"}),
        )
        for title, body in bodies.items()
    ]
    return tuple(kernel for kernel in made if _compiles(kernel.text))


def _lines(body: str) -> str:
    return body.strip("\n") if body.startswith("\n") else body.strip()


def _compiles(text: str) -> bool:
    try:
        compile(text, "<kernel>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@cache
def samples() -> tuple[Kernel, ...]:
    """The kernels of ``samples/`` as plain functions, without what runs them."""
    made = []
    for path in sorted((Path(__file__).parents[2] / "samples").glob("*.py")):
        tree = ast.parse(path.read_text())
        names = []
        kept: list[ast.stmt] = []
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                if any(
                    ast.unparse(d).startswith("pypto.frontend.jit") for d in node.decorator_list
                ):
                    names.append(node.name)
                    node.decorator_list = []
            elif not isinstance(node, ast.Import | ast.Assign):
                continue
            kept.append(node)
        tree.body = kept
        reached = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | set(names)
        functions = {n.name for n in kept if isinstance(n, ast.FunctionDef)} & reached
        text = ast.unparse(tree) + "\n"
        values = {"val": 2, "n": 2, "scale": 1.5}
        made.append(Kernel(path.stem, text, tuple(names), frozenset(functions), values))
    return tuple(made)


def generated(seed: int) -> Kernel:
    """The program of this seed that the generator writes."""
    program = write(Seeded(seed), "k", 6)
    values: dict[str, object] = {"s": 2, "z": 1.5}
    names = frozenset({"k", "scaled", "chosen", "both", "larger", "doubled_into"})
    return Kernel(f"generated {seed}", program.text, changed=names, values=values)
