"""``print`` of run-time numbers: text, order, and what is refused."""

from __future__ import annotations

import pytest
import torch

from pypto.elaborate.printing import joined_text
from pypto.ir.expr import const
from tests.elaborate.support import Workshop, body
from tests.ops.batch import Batch, Variant, make_function
from tests.ops.checks import HEADER

KINDS = ("fast", "checked", "shuffled")
F = "pypto.Tensor([D, 64], pypto.DT_FP32)"
LINES = {
    "numbers": (
        "print('100%', n, z, n > 2, n + 1, -n, sep='|')\n"
        "print(f'{n} {n:d} {z:f} {n=} {\"a\":>3} {{}} \\t\"?? ü\\\\', end='.\\n')\n"
        "o[:] = x\n",
        '100%|3|2.500000|True|4|-3\n3 3 2.500000 n=3   a {} \t"?? ü\\.\n',
    ),
    "lists and sizes": (
        "print(x.shape, (n,), [n, 'a', (z, 1)], {'k': n})\no[:] = x\n",
        "[4, 64] (3,) [3, 'a', (2.500000, 1)] {'k': 3}\n",
    ),
    "the value at that place": (
        "c = 0\nfor i in pypto.loop(3):\n    c += i\n    print(i, c, x[i, 1])\n    c *= 2\n"
        "    if c > 3: print('large', c)\nprint('end', c)\no[:] = x * c\n",
        "0 0 1.000000\n1 1 65.000000\n2 4 129.000000\nlarge 8\nend 8\n",
    ),
    "an element before and after a write": (
        "o[:] = x\nprint(o[1, 0])\no[:] = x + 1\nprint(o[1, 0])\n",
        "64.000000\n65.000000\n",
    ),
    "a long line": ("print('a' * 300, n)\no[:] = x\n", "a" * 300 + " 3\n"),
    "a helper": (
        "def note(t, by=2):\n    print(f'{by}', n)\n    return t * by\n"
        "o[:] = note(x) + note(x, n)\n",
        "2 3\n3 3\n",
    ),
}

SHARED = """print('a')
for i in pypto.loop(x.shape[0]):
    o[i] = x[i]
    print('row', i, end=' ')
    print('of', n)
print('b', n)
"""


def add(batch: Batch, lines: str, name: str) -> Variant:
    shown = "".join(f"    {line}\n" for line in lines.split("\n"))
    text = f"{HEADER}def {name}(x: {F}, o: {F}, n: int, z: float):\n{shown}"
    return batch.add(make_function(text, name), *values(4))


def values(rows: int) -> tuple[object, ...]:
    return torch.arange(rows * 64.0).reshape(rows, 64), torch.zeros(rows, 64), 3, 2.5


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    batch = Batch(kind)
    made = [(add(batch, text, f"k{at}"), want) for at, (text, want) in enumerate(LINES.values())]
    shared = add(batch, SHARED, "shared")
    batch.build()
    capfd.readouterr()
    for variant, want in made:
        for blocks in (1, 3):
            assert variant.run(*values(4), blocks=blocks) == 0
            assert capfd.readouterr().out == want
    rows = [f"row {i} of 3\n" for i in range(20)]
    for _ in range(3):
        assert shared.run(*values(20), blocks=4) == 0
        found = capfd.readouterr().out
        if kind == "shuffled":  # on as many cores as it likes
            assert sorted(found.splitlines(True)) == sorted([*rows, "b 3\n"])
        else:  # each core has five rows; what all run is printed by the first one
            assert found == "".join([*rows[:5], "b 3\n", *rows[5:]])


def test_the_text_of_a_kernel(shop: Workshop) -> None:
    made = shop.ir(body("for i in pypto.loop(8):", "    print('i', i)", "    o[i] = x[i]"))
    assert 'print "i ", i, "\\n"' in made
    variant = add(Batch(), "print('a', n)\no[:] = x\n", "k")
    assert "if (GetBlockIdx() == 0) {" in variant.compilation.ascendc
    assert 'AscendC::printf("a %ld\\n", args.n);' in variant.compilation.ascendc


def test_no_stage_is_cut_for_it() -> None:
    plain = add(Batch(), "t = x * 2\no[:] = t + 1\n", "k").compilation.program
    printing = add(Batch(), "t = x * 2\nprint(n)\no[:] = t + 1\n", "k").compilation.program
    assert plain is not None and printing is not None
    assert len([*plain.stages]) == len([*printing.stages]) == 1


REFUSED = {
    "print(f'{x.shape[0]:5}')": "the device cannot print a run-time int in the format '5'",
    "print(f'{x[0]:.3f}')": "the device cannot print a run-time float in the format '.3f'",
    "print(f'{x[0] > 2:d}')": "the device cannot print a run-time bool in the format 'd'",
    "print(f'{z:.3f}')": "the format '.3f' needs the value of 'z' at compile time",
    "print(f'{(n, 1):>9}')": "a text with run-time numbers takes no format",
    "print([1, (x,)])": "printing a tensor is not available in this version",
    "print(1, end=f'{x.shape[0]}')": "'end' of print needs a value that is known at compile time",
    "a = {}; a[f'{x.shape[0]}'] = 1": "needs a value that is known at compile time",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(shop: Workshop, line: str) -> None:
    d = "[pypto.DYNAMIC]"
    text = f"def k(x: T({d}, FP32), o: T({d}, FP32), n: int, z: float):\n    {line}\n    o[:] = x\n"
    assert REFUSED[line] in shop.message(text)


def test_a_text_that_is_needed_while_compiling_specialises(shop: Workshop) -> None:
    text = (
        "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n"
        "    o[:] = x * {'w2': 5, 'w3': 7}[f'w{n}']\n"
    )
    assert shop.run(text, n=3).specialised == {"n"}
    assert "mul %0, 7" in shop.ir(text, n=3)


def test_texts_that_follow_each_other_are_one() -> None:
    assert joined_text(["a", "", "b", const(1), "", "c"]) == ("ab", const(1), "c")
