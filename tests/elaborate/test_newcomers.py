"""What newcomers write: the whole message of each, in one page to be read from top to bottom.

Each message says what is wrong, what was expected and found, where, and what to write instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from pypto.error import FeNotImplementedError, PyptoError
from pypto.language import contract
from pypto.language.builtin import BUILTINS
from pypto.ops import registry
from tests.elaborate.support import Workshop, body

HEADER = """\
import math, random
import numpy as np
import torch
import pypto
from pypto import Tensor as T, DT_FP32 as FP32
N, CONFIG, LIST = 4, {'a': 1}, [1, 2]
def helper(t, s): return t * s
"""

MISTAKES = [
    # results
    "return x",
    "o = x + 1",
    "o, = x,",
    "y = x + 1",
    # torch, NumPy and Python's own functions
    "o[:] = torch.exp(x)",
    "o[:] = np.maximum(x, 0)",
    "o[:] = math.exp(x)",
    "o[:] = exp(x)",
    "o[:] = max(x, 0)",
    "o[:] = sum(x)",
    "o[:] = float(x)",
    "o[:] = str(x)",
    "o[:] = x + torch.zeros(8)",
    "o[:] = x * random.random()",
    "print(f'{x}')",
    # methods and attributes of torch's tensors
    "o[:] = x.half()",
    "o[:] = x.mean(-1)",
    "o[:] = x.T",
    "o[:] = x.item()",
    "o.copy_(x)",
    "o[:] = x.size(0)",
    "o[:] = x.sofmax(-1)",
    "o[:] = x.whatever",
    # operations called wrongly
    "o[:] = pypto.sofmax(x, -1)",
    "o[:] = pypto.whatever(x)",
    "o[:] = pypto.sum(x)",
    "o[:] = pypto.add(x, x, alpha=2)",
    "o[:] = pypto.exp(1.0)",
    "o[:] = pypto.cast(x, torch.float16)",
    "o[:] = pypto.DT_FP16(x)",
    # parts and shapes
    "o[:, :] = x",
    "a, b = x",
    "x.shape[0] = 4",
    # what is stored
    "o[:] = 'a'",
    "o[:] = [1, 2]",
    "o[:] = pypto.exp",
    "o[:] = x.exp",
    "o.move(3)",
    # helpers and values from outside
    "o[:] = helper(x)",
    "o[:] = helper(x, 1, 2)",
    "o[:] = helper(x, q=3)",
    "CONFIG['a'] = 2",
    "LIST.append(3)",
    "o[:] = x + LIST[5]",
    "o[:] = x + CONFIG['b']",
    "o[:] = x + missing",
    "o[:] = x + None",
    # control flow
    "if x: o[:] = x",
    "while N: o[:] = x",
    "for row in x: o[:] = row",
    "try: o[:] = x\n    except ValueError: pass",
    "with torch.no_grad(): o[:] = x",
    "import math",
    "o[:] = [t for t in x][0]",
    "assert x.shape[0] == 9, 'nine are needed'",
]


def test_every_message(shop: Workshop, golden: Callable[[str, str], None]) -> None:
    page = []
    for number, mistake in enumerate(MISTAKES, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            names = shop.module(body(mistake), HEADER)
        with pytest.raises(PyptoError) as caught:
            shop.elaborate(names["k"])
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None
        text = str(caught.value).replace(f"{shop.directory}/", "")
        page.append(f"--- {number}: {type(caught.value).__name__} ---\n{text}\n")
    golden("errors/newcomers", "\n".join(page))


# --- what PyPTO's contract has, and this version not ---

NOT_YET = sorted(contract.OPERATIONS - set(registry.names()) - {b.name for b in BUILTINS})


@pytest.mark.skipif(not NOT_YET, reason="all operations are there")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("o[:] = pypto.{}(x)", "pypto.{} is not available in this version"),
        ("o[:] = x.{}()", "'{}' of a tensor is not available in this version"),
    ],
)
def test_operations_of_the_contract(shop: Workshop, line: str, message: str) -> None:
    for name in NOT_YET:
        (diagnostic,) = shop.error(body(line.replace("{}", name))).diagnostics
        assert (diagnostic.cls, diagnostic.code) == (FeNotImplementedError, "F00005")
        assert diagnostic.message == message.replace("{}", name)
        assert diagnostic.help is not None
