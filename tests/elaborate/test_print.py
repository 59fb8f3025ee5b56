"""``print`` of run-time numbers and tensors: text, order, and what is refused."""

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

ROW = " ".join(map(str, range(0, 16, 2)))
TENSORS = {
    "a value, a part and a parameter": (
        "t = x * 2\nprint('t', t[0:2, 0:4], n)\no[:] = t + 1\nprint([o[1, :8], z], t[0:1, :8])\n",
        "t fp32[2, 4] 3\nDumpTensor desc=3 count=8\n0 2 4 6 128 130 132 134\n"
        "[fp32[8], 2.500000] fp32[1, 8]\n"
        "DumpTensor desc=5 count=8\n129 131 133 135 137 139 141 143\n"
        f"DumpTensor desc=5 count=8\n{ROW}\n",
    ),
    "before and after a write": (
        "o[:] = x\nprint(o[1, 0:3], end='')\no[:] = x + 1\nprint(o[1, 0:3])\n",
        "fp32[3]DumpTensor desc=3 count=3\n64 65 66\n"
        "fp32[3]\nDumpTensor desc=5 count=3\n65 66 67\n",
    ),
    "a loop that all cores run": (
        "for i in pypto.loop(3):\n    print(o[i, i : i + 2], i)\n    o[i] = x[i] * 3\n"
        "    print(o[i, 0:3].view([2], [0], valid_shape=[i]))\n",
        "fp32[2] 0\nDumpTensor desc=3 count=2\n0 0\nfp32[0]\n"
        "fp32[2] 1\nDumpTensor desc=3 count=2\n0 0\nfp32[1]\nDumpTensor desc=5 count=1\n192\n"
        "fp32[2] 2\nDumpTensor desc=3 count=2\n0 0\n"
        "fp32[2]\nDumpTensor desc=5 count=2\n384 387\n",
    ),
    "another shape, of numbers and truth values": (
        "t = pypto.reshape(x, [-1, 2])\nb = t[1:3] > 3\nprint(b)\n"
        "w = pypto.cast(t, pypto.DT_INT32)\nprint(w[3:5])\no[:] = x\n",
        "bool[2, 2]\nDumpTensor desc=4 count=4\n0 0 1 1\n"
        "int32[2, 2]\nDumpTensor desc=6 count=4\n6 7 8 9\n",
    ),
    "an accumulator that would stay on chip": (
        "for i in pypto.loop(x.shape[0] // 2):\n    acc = pypto.tensor([64], pypto.DT_FP32)\n"
        "    acc[:] = 0\n    for j in pypto.loop(2):\n        acc[:] = acc + x[i * 2 + j]\n"
        "        print(acc[:3], i, j)\n    o[i] = acc\n",
        "fp32[3] 0 0\nDumpTensor desc=7 count=3\n0 1 2\n"
        "fp32[3] 0 1\nDumpTensor desc=7 count=3\n64 66 68\n"
        "fp32[3] 1 0\nDumpTensor desc=7 count=3\n128 129 130\n"
        "fp32[3] 1 1\nDumpTensor desc=7 count=3\n320 322 324\n",
    ),
    "a loop that would be cut into strips": (
        "acc = pypto.tensor([x.shape[0], 64], pypto.DT_FP32)\nacc[:] = 0\n"
        "for j in pypto.loop(3):\n    acc[:] = acc + x\n    print(acc[1:2, 0:2])\no[:] = acc\n",
        "".join(f"fp32[1, 2]\nDumpTensor desc=6 count=2\n{64 * k} {65 * k}\n" for k in (1, 2, 3)),
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
    lines = (*LINES.values(), *TENSORS.values())
    made = [(add(batch, text, f"k{at}"), want) for at, (text, want) in enumerate(lines)]
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


def test_a_large_tensor_is_printed_as_far_as_a_call_goes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    batch = Batch("checked")
    variant = add(batch, "print(x)\no[:] = x\n", "k")
    batch.build()
    capfd.readouterr()
    assert variant.run(*values(200)) == 0
    shape, head, first, *rest = capfd.readouterr().out.splitlines()
    assert (shape, head) == ("fp32[200, 64]", "DumpTensor desc=2 count=7680")
    assert first == "0 1 2 3 4 5 6 7" and rest[-1].endswith(" 7679") and len(rest) == 959


def test_what_is_printed_is_in_global_memory() -> None:
    """No loop with it is cut into strips, and it does not stay on chip."""
    for name in ("stay on chip", "strips"):
        text = next(text for key, (text, _) in TENSORS.items() if name in key)
        plain = "\n".join(line for line in text.split("\n") if "print" not in line)
        printing, silent = (add(Batch(), lines, "k").compilation for lines in (text, plain))
        assert "DumpTensor(acc" in printing.ascendc and "strip *" not in printing.ascendc
        assert printing.program is not None and silent.program is not None
        held = [b.name for b in printing.program.workspace]
        assert held[0] == "acc" and not silent.program.workspace


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
    "print(f'{x}')": "an f-string needs a value that is known at compile time",
    "print(pypto.tensor([8], pypto.DT_FP32))": "a local tensor is read before it is written",
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


def test_a_tensor_with_gaps_behind_its_rows_is_refused(shop: Workshop) -> None:
    d = "[pypto.DYNAMIC, pypto.DYNAMIC]"
    text = f"def k(x: T({d}, FP32), o: T({d}, FP32)):\n    print(x[0:8, 0:8])\n    o[:] = x\n"
    message = shop.message(text)
    assert "a tensor whose rows are valid in part cannot be printed" in message
    assert "print its rows one by one: t[i]" in message
