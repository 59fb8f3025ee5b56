"""One mistake is one message: what follows from it is not reported beside it."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop, body

# Refused statements that give names values, and the names.
BINDING = {
    "import math": "math",
    "import math as m": "m",
    "import os.path": "os",
    "import os.path as p, math": "p math",
    "from math import pi": "pi",
    "from math import pi as a, e as b": "a b",
    "@y\n    def f(t): return t": "f",
    "class A: pass": "A",
    "if (n := pypto.exq(x)) > 2: pass": "n",
    "with open('a') as a: b = a": "a b",
    "with open('a') as (a, [b, *c]), open('b') as d: pass": "a b c d",
    "try: a = 1\n    except ValueError as e: b = 2\n    else: c = 3\n    finally: d = 4":
        "a b c d e",
    "try: a = 1\n    except* ValueError as e: b = 2": "a b e",
    "with x: a, (b, *c) = 1, (2, 3)": "a b c",
    "for i in range(2): pass\n    else: a = pypto.exq(x)": "a",
    "for i in range(2): pass\n    else:\n        for b in pypto.exq(x): import math": "b math",
    "match x:\n        case [a, *b]: c = 1\n        case {'k': d, **e}: pass\n"
    "        case str(f) | int(f): pass\n        case (1 | 2) as g: pass\n        case h: pass":
        "a b c d e f g h",
    "y = [pypto.exq(x) for n in range(3)]": "y",
    "y = [(last := pypto.exq(n)) for n in range(3)]": "y last",
    "y = lambda t=pypto.exq(x): t": "y",
    "y: float = yes if (yes := pypto.exq(x)) else 2": "y yes",
    "y = z = pypto.exq(x)": "y z",
}  # fmt: skip


@pytest.mark.parametrize("statement", BINDING)
def test_names_that_a_refused_statement_sets(shop: Workshop, statement: str) -> None:
    names = BINDING[statement].split()
    uses = [f"o[:] = x * {name}" for name in names]
    uses += [f"o[:] = {name}.some[0](x) + 1" for name in names]
    uses += [f"if {name}: v = x" for name in names]
    uses += [f"for w in {name}: o[:] = w * v" for name in names]
    uses += [f"del {name}" for name in names]
    last = 2 + statement.count("\n")
    for diagnostic in shop.error(body(statement, *uses)).diagnostics:
        assert diagnostic.span is not None and diagnostic.span.line <= last, diagnostic.message


HELPER = "def fill(t, value):\n    t[:] = value\n"


@pytest.mark.parametrize(
    "lines",
    [
        ("x = x * 2", "with x: o[:] = x"),
        ("x = x * 2", "with x: fill(o, x)"),
        ("x = x * 2", "with x: o.move(x)"),
        ("x = x * 2", "fill(o, pypto.exq(x))"),
        ("x = x * 2", "o[:] = pypto.exq(x)"),
        ("y = pypto.exq(x)", "x = 3", "o[:] = y * x"),
        ("with x: y = x", "x = 3", "o[:] = y * x"),
        ("with x: fill(o, x)",),
        ("t = pypto.tensor([8], FP32)", "with x: fill(t, x)", "o[:] = x"),
        ("t = pypto.tensor([8], FP32)", "with x: t[:] = x", "o[:] = t"),
    ],
)
def test_what_a_refused_statement_would_have_done(shop: Workshop, lines: tuple[str, ...]) -> None:
    (diagnostic,) = shop.error(HELPER + body(*lines)).diagnostics
    assert "with needs an object" in diagnostic.message or "'exq'" in diagnostic.message


def test_an_output_that_is_rebound_is_still_reported(shop: Workshop) -> None:
    error = shop.error(body("import math", "o = x * math.pi"))
    assert len(error.diagnostics) == 1, "nobody knows what would have happened"
    error = shop.error(body("import math", "o = x * 2"))
    assert [d.message for d in error.diagnostics] == [
        "a kernel cannot use an import",
        "assigning to 'o' does not write the tensor: it only rebinds the name",
    ]
