"""What the reference allows a kernel to compute."""

from __future__ import annotations

import torch

from tests.ops.batch import make_function
from tests.ops.checks import HEADER
from tests.ops.reference import difference, interpret

INF, NAN = float("inf"), float("nan")


def test_the_order_of_a_sum_may_decide_between_infinity_and_nan() -> None:
    text = (
        "def k(x: pypto.Tensor, o: pypto.Tensor):\n    s = pypto.sum(x, -1, True)\n    o[:] = s + s"
    )
    x = torch.tensor([[3e38, 3e38, -INF], [3e38, 1.0, -INF], [1.0, 2.0, 3.0]])
    _, want = interpret(make_function(HEADER + text, "k"), (x, torch.zeros(3, 1)))
    for first, rest, allowed in ((-INF, -INF, True), (NAN, -INF, True), (-INF, NAN, False)):
        got = torch.tensor([[first], [rest], [12.0]])
        assert (difference("o", got, want) is None) == allowed
