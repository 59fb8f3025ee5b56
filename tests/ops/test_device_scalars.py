"""Scalars that the running kernel computes from a loop's index mean what Python means."""

from __future__ import annotations

import pytest
import torch

from pypto.error import FeNotImplementedError
from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER

INTS = (
    "i - n * 3 + 2", "n - 2 * i", "-i", "-3 * i - n", "(i + n) * (i - 2)", "(i - n) * (n - i) * 2",
    "i * i", "i ** 3", "i // n - i % n", "(2 - i) // n", "(2 - i) % n", "(i - 3) % (-2)",
    "abs(i - 4)", "min(i, n, 2) - max(i - 1, n)", "int(z * i)", "i if i > 2 else n",
    "(i if i % 2 == 0 else -i) - 1", "1 if i > 1 and (i < 4 or n == i) else 0",
    "1 if not (i == 2 or i == 3) else 5", "2 if 1 < i <= n + 1 else 3",
)  # fmt: skip
FLOATS = (
    "z / (i + 1)", "z - (i - z)", "z // (i + 1)", "-z // (i + 1)", "z % (i + 1)", "-z % (i + 1)",
    "z ** i", "z ** (i - 2)", "abs(z - i * 2)", "min(z, 2.0 * i)", "z if i > 2 else 1.5",
    "float(i) * 0.5 - z", "(i + 1) / (z + i)",
)  # fmt: skip


def test_expressions() -> None:
    batch = Batch()
    made = []
    for number, text in enumerate((*INTS, *FLOATS)):
        source = (
            f"{HEADER}def k{number}(o: pypto.Tensor([D, 1], pypto.DT_FP32), n: int, z: float):\n"
            f"    for i in pypto.loop(o.shape[0]):\n        o[i : i + 1, :] = {text}\n"
        )
        function = make_function(source, f"k{number}")
        made.append((text, batch.add(function, torch.zeros(7, 1), 3, 7.25)))
    batch.build()
    for text, variant in made:
        o = torch.zeros(7, 1)
        assert variant.run(o, 3, 7.25) == 0
        want = [float(eval(text, {}, {"i": i, "n": 3, "z": 7.25})) for i in range(7)]
        torch.testing.assert_close(o[:, 0], torch.tensor(want), rtol=2e-6, atol=0, msg=text)


READ = (
    torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8,
)  # fmt: skip


@pytest.mark.parametrize("kind", ["fast", "checked"])
def test_elements_of_every_dtype(kind: str) -> None:
    batch = Batch(kind)
    made = []
    for dtype in READ:
        name = str(dtype).removeprefix("torch.").replace("float", "fp").replace("bfp", "bf")
        source = (
            f"{HEADER}def k_{name}(x: pypto.Tensor([D, D], pypto.DT_{name.upper()}),"
            " o: pypto.Tensor([D], pypto.DT_FP32)):\n"
            "    s = x[0, 1]\n"
            "    for i in pypto.loop(o.shape[0]):\n"
            "        if x[i, 0] > 2:\n            s = x[i, 1]\n"
            "        o[i : i + 1] = s\n"
        )
        x = torch.tensor([[3, 1], [1, 7], [5, 2], [4, 6]], dtype=dtype)
        made.append((batch.add(make_function(source, f"k_{name}"), x, torch.zeros(4)), x))
    batch.build()
    for variant, x in made:
        o = torch.zeros(4)
        assert variant.run(x, o) == 0
        assert o.tolist() == [1, 1, 2, 6], x.dtype


def test_a_broken_power_is_refused() -> None:
    text = (
        f"{HEADER}def k(o: pypto.Tensor([D, 1], pypto.DT_FP32), z: float):\n"
        "    for i in pypto.loop(o.shape[0]):\n        o[i : i + 1, :] = (z * i) ** 2.5\n"
    )
    with pytest.raises(FeNotImplementedError) as refusal:
        Batch().add(make_function(text, "k"), torch.zeros(7, 1), 7.25)
    assert "a running kernel raises numbers to whole powers only" in str(refusal.value)
    assert "got       2.5 (float)" in str(refusal.value)
