"""Breaks kernels: a few random changes of tokens or of nodes of the syntax tree.

The result is text that Python compiles; what it means, if anything, is left to chance.
"""

from __future__ import annotations

import ast
import copy
import io
import random
import tokenize
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

from tests.broken.corpus import Kernel

__all__ = ["broken"]

EXPRESSIONS = (
    """
x ; o ; n ; f ; t ; i ; 0 ; 1 ; -1 ; 2.5 ; True ; None ; 'ab' ; [] ; () ; {} ; ... ; x.shape
x.shape[0] ; x[0] ; x[:] ; x[i] ; x[1:] ; x[n:] ; x[i:i+1] ; x[-1] ; x[::2] ; x[n,...] ; o[0:n]
x.dtype ; pypto ; pypto.exp ; pypto.loop(4) ; pypto.loop(n) ; range(3) ; range(n) ; [x,o]
(x,1) ; {'a':x} ; {1,2} ; [t,n] ; lambda:x ; lambda*a:a ; (lambda:n)() ; [i*2 for i in range(3)]
(t:=x) ; x+1 ; x*n ; n//0 ; n%i ; n**-1 ; 2**n ; n<1 ; n<i<3 ; x<1 ; not(n) ; not(x) ; n and 1
n or x ; 10**20 ; 1<<70 ; f/0 ; x@o ; x.view([2,2],[0,0]) ; x.reshape([-1]) ; x.transpose(0,1)
x.unsqueeze(0) ; pypto.zeros([8],pypto.DT_FP32) ; pypto.tensor([4],pypto.DT_FP32) ; pypto.sum(x)
pypto.sum(x,-1,True) ; pypto.cast(x,pypto.DT_FP16) ; pypto.min(n,i) ; pypto.is_loop_begin(i)
pypto.is_loop_end(i) ; pypto.cond(n) ; max(n,i) ; len(x) ; int(n) ; int(x) ; float(n) ; bool(x)
abs(i) ; str(n) ; f'{n}' ; f'{x}{i}' ; iter([x]) ; next(iter([x])) ; zip([x],[o]) ; dict(a=x)
enumerate([x]) ; isinstance(x,int) ; getattr(x,'shape') ; Box(x) ; Box(n).size()
Box(x).grown.part ; Pair(x,1) ; helper ; helper(x) ; helper(n,x) ; deep(3) ; deep(n) ; LIST
TABLE[1] ; LIST[i] ; nobody ; nobody.part ; print(n) ; math.pi ; math.floor(n) ; q[0] ; q[n]
q[i] ; x[q[0]] ; sorted([n,1]) ; sum([x,o]) ; x.move(o) ; (yield) ; (await(x)) ; *x
pypto.symbolic_scalar('v') ; pypto.loop_unroll(n,unroll_list=[2,1]) ; pypto.ceildiv(n,2)
""".strip()
    .replace("\n", " ; ")
    .split(" ; ")
)

STATEMENTS = """
t = x
t = n
t += 1
x = x + 1
o = x
o[:] = x
o[i] = t
o[n:] = x[:1]
t[:] = o
n, t = t, n
t = i = None
del t
del x
break
continue
return
return t
pass
raise ValueError(n)
raise
assert n > 1, n
assert i < 3
assert x
global n
import math
for i in pypto.loop(n): t = i
for i in pypto.loop(3, n, -1): n += 1
for i in range(2): t = t
for t in [x, o, n]: o[:] = t
for i, k in pypto.loop_unroll(n, unroll_list=[2, 1]): t = k
while n: n -= 1
while True: break
if n: t = x
if n > 1: return
if x: pass
with x: pass
try: t = 1\nexcept ValueError: pass
def helper(a, *b, c=n): return a
def helper(): yield n
class Box: pass
pypto.set_vec_tile_shapes(8)
pypto.set_vec_tile_shapes(n, i)
LIST.append(n)
TABLE[n] = x
helper(o)
print(t, i)
Box(x).part = n
x.part = 3
(t := t)
t: int
""".strip().splitlines()  # fmt: skip

HEADS = (
    "for i in pypto.loop(n):", "if n > 1:", "for i in range(2):", "if n: pass\nelse:", "if i:",
    "def helper(x):", "while n:",
)  # fmt: skip
WRAPPERS = (
    "[{}]", "({}, 1)", "-{}", "not {}", "{}[0]", "{}[i]", "{}[1:]", "{}.shape", "{} + 1", "{} * x",
    "helper({})", "({} if n else x)", "(lambda: {})()", "f'{{{}}}'", "len({})", "pypto.loop({})",
    "[{} for i in range(2)]", "{} and {}", "*{}", "Box({}).part",
)  # fmt: skip
OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.BitAnd,
    ast.LShift,
)  # fmt: skip
COMPARISONS = (ast.Lt, ast.Eq, ast.NotEq, ast.In, ast.Is, ast.NotIn)
ATTRIBUTES = "shape dtype loop exp sum move view part size a items T".split()
NAMES = "x o n f t i q a b c acc k LIST helper pypto nobody self math".split()


def broken(kernel: Kernel, pick: random.Random) -> str:
    """The text of ``kernel`` with one to three changes in the functions that it may change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        while True:
            text = kernel.text
            for _ in range(pick.choice((1, 1, 2, 3))):
                change = pick.choice((_tokens, _nodes, _nodes))
                text = _compiling(text, lambda t, c=change: c(t, kernel.changed, pick))
            if text != kernel.text:
                return text


def _compiling(text: str, change: Callable[[str], str]) -> str:
    """The first result of ``change`` that Python compiles; after thirty, ``text`` itself."""
    for _ in range(30):
        try:
            changed = change(text)
            compile(changed, "<kernel>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            continue
        return changed
    return text


# --- tokens ---


def _tokens(text: str, functions: frozenset[str], pick: random.Random) -> str:
    """One token taken out, doubled, exchanged with its neighbour or replaced by another."""
    spans = [(n.body[0].lineno, n.end_lineno or 0) for n in _functions(ast.parse(text), functions)]
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    places = [
        at
        for at, token in enumerate(tokens)
        if token.type not in layout and any(a <= token.start[0] <= b for a, b in spans)
    ]
    at = pick.choice(places)
    (line, start), (_, end) = tokens[at].start, tokens[at].end
    if tokens[at].start[0] != tokens[at].end[0]:
        raise ValueError("a token of several lines")
    word = tokens[at].string
    other = tokens[pick.choice(places)].string
    new = pick.choice(("", f"{word} {word}", other, other, f"{word} {other}", pick.choice(NAMES)))
    lines = text.splitlines(keepends=True)
    lines[line - 1] = lines[line - 1][:start] + new + lines[line - 1][end:]
    return "".join(lines)


# --- nodes ---


def _functions(tree: ast.Module, names: frozenset[str]) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name in names]


def _nodes(text: str, functions: frozenset[str], pick: random.Random) -> str:
    tree = ast.parse(text)
    function = pick.choice(_functions(tree, functions))
    change = pick.choice((_statement, _expression, _expression, _small))
    change(function, pick)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for one in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(one, name, None)
            if isinstance(block, list) and block:
                yield block


def _statement(function: ast.FunctionDef, pick: random.Random) -> None:
    """A statement taken out, doubled, moved, wrapped, or a new one put in."""
    blocks = list(_blocks(function))
    block, other = pick.choice(blocks), pick.choice(blocks)
    at, to = pick.randrange(len(block)), pick.randrange(len(other) + 1)
    match pick.randrange(6):
        case 0:
            block[at : at + 1] = [] if len(block) > 1 else [ast.Pass()]
        case 1:
            other.insert(to, copy.deepcopy(block[at]))
        case 2:
            block[at], other[to - 1] = copy.deepcopy(other[to - 1]), copy.deepcopy(block[at])
        case 3:
            (wrapper,) = ast.parse(f"{pick.choice(HEADS)}\n    pass").body
            inner = list(_blocks(wrapper))[-1]
            inner[:] = copy.deepcopy(block[at:])
            block[at:] = [wrapper]
        case _:
            other[to:to] = ast.parse(pick.choice(STATEMENTS)).body


def _places(node: ast.AST) -> Iterator[tuple[Callable[[ast.expr], None], ast.expr]]:
    """Each expression, and what puts another in its place."""
    for one in ast.walk(node):
        for name, value in ast.iter_fields(one):
            if isinstance(value, ast.expr):
                yield (lambda new, one=one, name=name: setattr(one, name, new)), value
            elif isinstance(value, list):
                for at, part in enumerate(value):
                    if isinstance(part, ast.expr):
                        yield (lambda new, v=value, at=at: v.__setitem__(at, new)), part


def _expression(function: ast.FunctionDef, pick: random.Random) -> None:
    """An expression replaced by another of the kernel, by a stock one, or put into one."""
    body = ast.Module(function.body, [])
    places = list(_places(body))
    if not places:
        raise ValueError("no expression")
    put, old = pick.choice(places)
    new = copy.deepcopy(pick.choice(places)[1])
    if pick.random() < 0.6:
        new = cast(Any, ast.parse(f"({pick.choice(EXPRESSIONS)})")).body[0].value
    if pick.random() < 0.25:
        text = pick.choice(WRAPPERS).replace("{}", f"({ast.unparse(old)})")
        new = cast(Any, ast.parse(f"f({text})")).body[0].value.args[0]
    put(new)


def _small(function: ast.FunctionDef, pick: random.Random) -> None:
    """A name, a number, an operator, an attribute or an argument changed."""
    nodes = [n for statement in function.body for n in ast.walk(statement)]
    node = pick.choice(nodes)
    match node:
        case ast.Name():
            node.id = pick.choice(NAMES)
        case ast.Constant():
            node.value = pick.choice((0, 1, -1, 3, 8, 2**40, 2**70, 1.5, 1e300, None, True, "a"))
        case ast.BinOp():
            node.op = pick.choice(OPERATORS)()
        case ast.Compare():
            node.ops[0] = pick.choice(COMPARISONS)()
        case ast.Attribute():
            node.attr = pick.choice(
                "shape dtype loop exp sum move view part size a items T".split()
            )
        case ast.Call() if node.args:
            del node.args[pick.randrange(len(node.args))]
        case ast.Call():
            node.args.append(ast.Name(pick.choice(NAMES)))
        case ast.Slice():
            bounds = (None, ast.Name("n"), ast.Name("i"), ast.Constant(0), ast.Constant(99))
            setattr(node, pick.choice(("lower", "upper", "step")), pick.choice(bounds))
        case ast.keyword():
            node.arg = pick.choice(("dim", "axis", "name", "step", None))
        case ast.Tuple() | ast.List() if node.elts:
            del node.elts[pick.randrange(len(node.elts))]
        case _:
            raise ValueError("nothing to change")
