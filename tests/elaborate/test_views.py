"""Views, reshapes, and tensors that a kernel makes."""

from __future__ import annotations

import pytest

from pypto.error import (
    DtypeError,
    FeTypeError,
    FeValueError,
    PyptoError,
    ShapeError,
)
from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop, body

HEAD = "def k(x: T([pypto.DYNAMIC, 8], FP32), o: T([pypto.DYNAMIC, 8], FP32), s: int):\n"

BODIES = {
    "a view": ["o[0:2] = pypto.view(x, [2, 8], [1, 0]) + 1"],
    "a view that is written": ["t = o.view([2, 8], [s, 0])", "t[:] = x[0:2]", "t += 1"],
    "a view of a view": ["t = pypto.view(x, [3, 8], [1, 0])", "o[0:2] = t.view([2, 8], [1, 0])"],
    "a view with a valid shape": [
        "t = pypto.view(x, [4, 8], [0, 0], valid_shape=[s, 8]) * 2",
        "pypto.assemble(t, [0, 0], o)"],
    "assemble": ["pypto.assemble(x[0:2] + 1, [s, 0], o)"],
    "assemble of several": ["pypto.assemble([(x[0:1], [s, 0]), (x[1:2] * 2, [0, 0])], o)"],
    "assemble as a method": ["o.assemble(x[0:2], [1, 0])"],
    "zeros and ones": ["t = pypto.zeros([8])", "t += pypto.ones(8, dtype=FP32)", "o[:] = t"],
    "full": ["t = pypto.full([4, 8], s + 0.5, FP32)", "o[0:4] = t"],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BODIES))
def test_agrees_with_torch(name: str) -> None:
    text = HEAD + "".join(f"    {line}\n" for line in BODIES[name])
    for s in (1, 2):
        agree(text, count(4, 8), count(4, 8) * 10, s)


def test_a_reshape_is_another_shape_of_the_memory(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([4, 8], FP32), o: T([4, 8], FP32)):
            a = x.reshape([2, 2, 8])
            o[2:4].reshape([16])[:] = pypto.reshape(x[1:3], [-1])
            o[0:2] = pypto.transpose(a, 0, 1)[0]
            o[0] = (x[0:1] + 1).reshape([8])
        """)
    assert "view a: fp32[2,2,8] of x from 0" in made
    assert "of x from 8" in made and "of o from 16" in made
    assert "= load a[0:+2, 0:+1, 0:+8] axes (0, 2)" in made


def test_a_part_with_gaps_is_copied_before_its_shape_changes(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([4, 8], FP32), o: T([16], FP32)):
            o[:] = x[:, 2:6].reshape([16])
        """)
    assert "local x_2: fp32[4,4]" in made
    assert "of x_2 from 0" in made


@pytest.mark.parametrize(
    ("line", "cls", "message"),
    [
        ("pypto.view(x, [4], [0, 0])", ShapeError,
         "offsets has one number for each axis of the tensor"),
        ("pypto.view(x, [s], [0])", FeTypeError, "the shape of a view is a list of ints"),
        ("pypto.view(1, [4], [0])", FeTypeError, "view takes a tensor"),
        ("pypto.view(x, [4])", FeTypeError, "view misses the argument 'offsets'"),
        ("pypto.view(x, dtype=4)", FeTypeError, "the dtype of a view is a pypto dtype"),
        ("x.view(pypto.DT_BOOL)", DtypeError, "the bytes of a tensor are no truth values"),
        ("x.view(pypto.DT_FP8)", DtypeError, "a view does not take DT_FP8 on this target"),
        ("x[1:4].view(pypto.DT_INT64)", ShapeError,
         "an element of DT_INT64 is 2 of DT_FP32: 1 cannot be divided by 2"),
        ("x[0:3].view(pypto.DT_INT64)", ShapeError,
         "an element of DT_INT64 is 2 of DT_FP32: 3 cannot be divided by 2"),
        ("x.reshape([2, 4])[:, 1].view(pypto.DT_INT16)", ShapeError,
         "the last axis of this part does not lie side by side in memory"),
        ("x.reshape([3])", ShapeError, "reshape keeps the number of elements"),
        ("x.reshape([-1, -1])", FeValueError,
         "a shape has sizes of 0 or more, and one -1 at most"),
        ("x[s:s + 4].reshape([4])", ShapeError,
         "reshape of a tensor that is valid in part needs a valid_shape"),
        ("x.reshape([2, 4]).permute([0, 0])", FeValueError, "perm names every axis once"),
        ("x.unsqueeze(3)", FeValueError, "unsqueeze: 'dim' is out of range"),
        ("o.assemble(x.reshape([2, 4]), [0])", ShapeError,
         "assemble puts a tensor into one of the same rank"),
        ("pypto.assemble([x], o)", FeTypeError,
         "assemble takes pairs of a tensor and its offsets"),
        ("pypto.full([4], 'a', FP32)", FeTypeError,
         "full: 'fill_value' must be a number"),
    ],
)  # fmt: skip
def test_refusals(shop: Workshop, line: str, cls: type[PyptoError], message: str) -> None:
    text = body(f"t = {line}", "o[:] = x").replace("):", ", s: int):")
    error = shop.error(text)
    assert isinstance(error, cls)
    assert [d.message for d in error.diagnostics] == [message]
