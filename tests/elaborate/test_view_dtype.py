"""``view`` with a dtype: the bytes of memory as elements of another dtype, as torch shows them."""

from __future__ import annotations

import pytest
import torch

from tests.differential.agree import agree, agree_compiled, count
from tests.elaborate.support import Workshop

HEAD = (
    "def k(x: T([pypto.DYNAMIC, 64], FP32), o: T([pypto.DYNAMIC, 64], FP32),\n"
    "      i: T([pypto.DYNAMIC, 64], pypto.DT_INT32), h: T([pypto.DYNAMIC, 128], pypto.DT_FP16),\n"
    "      b: T([pypto.DYNAMIC, 256], pypto.DT_INT8), n: int):\n"
)
BODIES = {
    "of equal width, both ways": """
        i[:] = x.view(pypto.DT_INT32) + 1
        pypto.view(i, dtype=FP32)[1:3, 0:8] = x[0:2, 8:16]
        o.view(pypto.DT_INT32)[:] = i * 2""",
    "narrower and wider": """
        h[:] = pypto.view(x, dtype=pypto.DT_FP16)
        h.view(FP32)[1:2, 0:4] = 3.0
        o[:] = pypto.view(h, dtype=FP32)
        b[:, 0:128] = h[:, 0:64].view(pypto.DT_INT8)
        h[:] = b.view(pypto.DT_FP16)""",
    "parts, and a view of a view": """
        h[0:1, 4:8].view(pypto.DT_INT16)[:] = 7
        t = h[1:3, 16:32].view(pypto.DT_INT32).view(pypto.DT_BF16)
        o[0:2, 0:16] = pypto.cast(t, FP32)
        i[n] = h[n].view(pypto.DT_INT32)""",
    "the result of an operation": """
        t = x * 2 + 1
        i[:] = t.view(pypto.DT_INT32)
        o[:] = (i + 1).view(FP32)""",
    "elements": """
        v = x.view(pypto.DT_INT32)
        if v[0, 1] > 1065353216:
            o[0] = v[0, 0] - v[1, 1]
        o[1, 3] = h.view(pypto.DT_INT16)[n, 2]""",
    "two views that meet": """
        w = h.view(FP32)
        h[:, 0:64] = 1.5
        o[:] = w
        w[:, 0:16] = x[:, 0:16]
        o += h.view(FP32)
        h[:, 2:66] = h[:, 0:64]""",
    "loops": """
        for r in pypto.loop(x.shape[0]):
            i[r] = x[r].view(pypto.DT_INT32) + r
            h.view(FP32)[r, 0:32] = x[r, 32:64]
            o[r] = h[r].view(FP32)
        for r in pypto.loop(1, x.shape[0]):
            h.view(FP32)[r] = o[r - 1]
            o[r] = h[r].view(FP32) + 1""",
    "a column, of the same width": """
        o[:, 3] = i[:, 5].view(FP32)
        i[:, 1:2] = x.view(pypto.DT_INT32)[:, 2:3]""",
    "a reshape of a reshape": """
        c = pypto.tensor([4, 64], FP32)
        c[:] = x[0:4]
        a = c[1:3].reshape([128])
        t = a[64:].reshape([8, 8]).view(pypto.DT_INT16)
        h[0:8, 0:16] = t.view(pypto.DT_FP16)""",
}


def values(n: int = 1) -> tuple[object, ...]:
    x = torch.linspace(-9, 9, 512).reshape(8, 64)
    return (
        x, x * 3 + 0.5, count(8, 64, dtype=torch.int32) * 1000003,
        count(8, 128, dtype=torch.float16) / 7, count(8, 256, dtype=torch.int8), n,
    )  # fmt: skip


def kernel(name: str) -> str:
    return HEAD + "".join(f"{line[4:]}\n" for line in BODIES[name].split("\n")[1:])


@pytest.mark.parametrize("name", BODIES)
def test_the_front_end_agrees_with_torch(name: str) -> None:
    agree(kernel(name), *values())


@pytest.mark.parametrize("kind", ["fast", "checked"])
def test_compiled_it_agrees_with_torch(kind: str) -> None:
    agree_compiled([(kernel(name), [values(), values(2)]) for name in BODIES], kind)


def test_what_every_call_is_asked(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([pypto.DYNAMIC], pypto.DT_INT8), o: T([pypto.DYNAMIC], pypto.DT_INT32)):
            o[:] = x.view(pypto.DT_INT32)
        """)
    assert "require (x.shape[0]%4) == 0" in made
