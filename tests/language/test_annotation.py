"""``pypto.Tensor`` in annotations: every form, and whole messages of what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto
from pypto import DT_BF16, DT_FP16, DT_FP32, DYN, DYNAMIC, STATIC, Tensor
from pypto.error import FeError, FeNotImplementedError, FeTypeError, FeValueError
from pypto.language.annotation import NamedAxis, TensorAnnotation
from pypto.language.builtin import annotation_of

ND, NZ = pypto.TileOpFormat.TILEOP_ND, pypto.TileOpFormat.TILEOP_NZ
N = pypto.SymbolicScalar("N")

_FORMS: list[tuple[Any, TensorAnnotation]] = [
    (Tensor([4, 8], DT_FP32), TensorAnnotation((4, 8), False, DT_FP32)),
    (Tensor((4, 8), DT_FP32), TensorAnnotation((4, 8), False, DT_FP32)),
    (Tensor([4, 8]), TensorAnnotation((4, 8), False)),
    (Tensor([0, 8]), TensorAnnotation((0, 8), False)),
    (Tensor([np.int64(4)]), TensorAnnotation((4,), False)),
    (Tensor([DYNAMIC, STATIC, 128], DT_BF16), TensorAnnotation((DYNAMIC, STATIC, 128), False,
                                                               DT_BF16)),
    (Tensor((DYNAMIC, DYN, STATIC), DT_BF16), TensorAnnotation((DYNAMIC, DYN, STATIC), False,
                                                               DT_BF16)),
    (Tensor([-1, 8]), TensorAnnotation((DYNAMIC, 8), False)),
    (Tensor([DYNAMIC, ...], DT_FP32), TensorAnnotation((DYNAMIC,), True, DT_FP32)),
    (Tensor([...], DT_FP32), TensorAnnotation(None, True, DT_FP32)),
    (Tensor([], DT_FP32), TensorAnnotation(None, True, DT_FP32)),
    (Tensor(dtype=DT_FP32), TensorAnnotation(None, True, DT_FP32)),
    (Tensor(), TensorAnnotation()),
    (pypto.tensor(), TensorAnnotation()),
    (pypto.tensor([4], DT_FP16), TensorAnnotation((4,), False, DT_FP16)),
    (Tensor([N, 8]), TensorAnnotation((NamedAxis("N"), 8), False)),
    (Tensor([pypto.frontend.dynamic("N"), 8]), TensorAnnotation((NamedAxis("N"), 8), False)),
    (Tensor([pypto.SymbolicScalar(8)]), TensorAnnotation((8,), False)),
    (Tensor([8], DT_FP32, "x", NZ), TensorAnnotation((8,), False, DT_FP32, NZ, "x")),
    (Tensor([8], name="x", format=ND), TensorAnnotation((8,), False, None, ND, "x")),
    (Tensor[[4, 8], DT_FP16], TensorAnnotation((4, 8), False, DT_FP16)),
    (Tensor[DT_FP16, (4, 8)], TensorAnnotation((4, 8), False, DT_FP16)),
    (Tensor[[4, 8]], TensorAnnotation((4, 8), False, DT_FP32)),
    (Tensor[[DYNAMIC, ...]], TensorAnnotation((DYNAMIC,), True, DT_FP32)),
    (Tensor[[4, 8], DT_FP16, NZ, "x"], TensorAnnotation((4, 8), False, DT_FP16, NZ, "x")),
    (Tensor[[4], {"dtype": DT_FP16, "name": "x"}], TensorAnnotation((4,), False, DT_FP16, None,
                                                                   "x")),
    (Tensor[{"shape": [4], "format": ND}], TensorAnnotation((4,), False, DT_FP32, ND)),
    (Tensor[DT_FP16], TensorAnnotation(None, True, DT_FP16)),
    (Tensor, TensorAnnotation()),
    (pypto.tensor, TensorAnnotation()),
]  # fmt: skip


def _fields(annotation: TensorAnnotation) -> tuple[object, ...]:
    return (
        annotation.shape,
        annotation.open,
        annotation.dtype,
        annotation.format,
        annotation.name,
    )


@pytest.mark.parametrize(("form", "expected"), _FORMS, ids=lambda v: str(v))
def test_forms(form: Any, expected: TensorAnnotation) -> None:
    found = annotation_of(form)
    assert found is not None
    assert _fields(found) == _fields(expected)
    assert [type(axis) for axis in found.shape or ()] == [type(a) for a in expected.shape or ()]


def test_what_is_no_annotation() -> None:
    for value in (int, None, "pypto.Tensor", DT_FP32, [4, 8], pypto.loop, object()):
        assert annotation_of(value) is None


def test_values() -> None:
    one, two = Tensor([N, ...], DT_FP32), Tensor((pypto.frontend.dynamic("N"), ...), DT_FP32)
    assert one == two and hash(one) == hash(two)
    assert one != Tensor([N], DT_FP32)
    assert Tensor([4, 8]).rank == 2 and one.rank is None and Tensor().rank is None
    with pytest.raises(AttributeError):
        one.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Tensor(), "pypto.Tensor()"),
        (Tensor(dtype=DT_FP16), "pypto.Tensor(dtype=pypto.DT_FP16)"),
        (
            Tensor([4, -1, STATIC, N, ...], DT_FP32),
            "pypto.Tensor([4, pypto.DYNAMIC, pypto.STATIC, pypto.frontend.dynamic('N'), ...], "
            "pypto.DT_FP32)",
        ),
        (
            Tensor([4], format=NZ, name="x"),
            "pypto.Tensor([4], format=pypto.TileOpFormat.TILEOP_NZ, name='x')",
        ),
    ],
    ids=["bare", "dtype", "axes", "format"],
)
def test_text(annotation: Tensor, text: str) -> None:
    assert repr(annotation) == str(annotation) == text
    names = {"pypto": pypto}
    assert eval(text, names) == annotation, "the text makes the same annotation"


_SHAPE_HELP = (
    "\n  help: an axis is a size, pypto.DYNAMIC, pypto.STATIC, -1, pypto.frontend.dynamic('n') "
    "or, in last place, ..."
)


@pytest.mark.parametrize(
    ("make", "cls", "text"),
    [
        (
            lambda: Tensor([4, True]),
            FeTypeError,
            "ErrCode: F00001  axis 1 of the shape is no axis\n  expected  an axis\n"
            "  got       True (bool)" + _SHAPE_HELP,
        ),
        (
            lambda: Tensor([4.0, 8]),
            FeTypeError,
            "ErrCode: F00001  axis 0 of the shape is no axis\n  expected  an axis\n"
            "  got       4.0 (float)" + _SHAPE_HELP,
        ),
        (
            lambda: Tensor(["N", 8]),
            FeTypeError,
            "ErrCode: F00001  axis 0 of the shape is no axis\n  expected  an axis\n"
            "  got       'N' (str)" + _SHAPE_HELP,
        ),
        (
            lambda: Tensor([4, -2]),
            FeValueError,
            "ErrCode: F00002  axis 1 of the shape is negative\n"
            "  expected  a size of 0 or more in 64 bits, or -1 for a dynamic axis\n  got       -2"
            + _SHAPE_HELP,
        ),
        (
            lambda: Tensor([..., 8]),
            FeValueError,
            "ErrCode: F00002  ... must be the last item of a shape\n"
            "  expected  ... in last place\n  got       ... at index 0 of 2 items\n"
            "  help: write pypto.STATIC or pypto.DYNAMIC for the axes before",
        ),
        (
            lambda: Tensor([N * 2, 8]),
            FeValueError,
            "ErrCode: F00002  axis 0 of the shape is an expression over sizes\n"
            "  expected  a size or a name\n  got       N*2\n"
            "  help: give the axis a name of its own; sizes are related inside the kernel",
        ),
        (
            lambda: Tensor([1, 2, 3, 4, 5, 6]),
            FeValueError,
            "ErrCode: F00002  a tensor has at most 5 axes\n"
            "  expected  a shape of 1 to 5 axes\n  got       6 axes",
        ),
        (
            lambda: Tensor(8, DT_FP32),
            FeTypeError,
            "ErrCode: F00001  the shape of a tensor annotation must be a list or tuple\n"
            "  expected  list or tuple of axes\n  got       8 (int)\n"
            "  help: write pypto.Tensor([8], ...)",
        ),
        (
            lambda: Tensor([8], "fp32"),
            FeTypeError,
            "ErrCode: F00001  the dtype of a tensor annotation must be a pypto.DataType\n"
            "  expected  pypto.DT_FP32, pypto.DT_FP16, ...\n  got       'fp32' (str)\n"
            "  help: did you mean pypto.DT_FP32?",
        ),
        (
            lambda: Tensor[[8], np.float16],
            FeTypeError,
            "ErrCode: F00001  the dtype of a tensor annotation must be a pypto.DataType\n"
            "  expected  pypto.DT_FP32, pypto.DT_FP16, ...\n"
            "  got       <class 'numpy.float16'> (type)\n"
            "  help: did you mean pypto.DT_FP16?",
        ),
        (
            lambda: Tensor[4, 8],
            FeTypeError,
            "ErrCode: F00001  the shape in pypto.Tensor[...] stands in brackets of its own\n"
            "  expected  pypto.Tensor[[sizes], dtype]\n  got       4 (int)\n"
            "  help: write pypto.Tensor[[4, 8], pypto.DT_FP32]",
        ),
        (
            lambda: Tensor[[8], 1.5],
            FeTypeError,
            "ErrCode: F00001  pypto.Tensor[...] cannot tell what this argument means\n"
            "  expected  a list (shape), DataType, TileOpFormat, str (name) or dict\n"
            "  got       1.5 (float)",
        ),
        (
            lambda: Tensor[[8], [4]],
            FeValueError,
            "ErrCode: F00002  the annotation gives its shape twice\n  got       [4]",
        ),
        (
            lambda: Tensor[[8], {"dtyp": DT_FP16}],
            FeValueError,
            "ErrCode: F00002  a tensor annotation has no field 'dtyp'\n"
            "  expected  one of shape, dtype, name, format\n  help: did you mean 'dtype'?",
        ),
        (
            lambda: Tensor([8], device="npu"),
            FeNotImplementedError,
            "ErrCode: F00005  'device' describes memory, which an annotation does not have\n"
            "  help: leave 'device' out",
        ),
        (
            lambda: Tensor([8], name=3),  # type: ignore[arg-type]
            FeTypeError,
            "ErrCode: F00001  the name of a tensor annotation must be a string\n"
            "  expected  str\n  got       3 (int)",
        ),
        (
            lambda: Tensor([8], format="NZ"),  # type: ignore[arg-type]
            FeTypeError,
            "ErrCode: F00001  the format must be a pypto.TileOpFormat\n"
            "  expected  TileOpFormat\n  got       'NZ' (str)",
        ),
    ],
)
def test_refused(make: Any, cls: type[FeError], text: str) -> None:
    with pytest.raises(cls) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize("item", [DT_FP32, ND, np.True_, None, [4], Ellipsis.__class__])
def test_what_is_no_axis(item: object) -> None:
    with pytest.raises(FeTypeError, match="axis 1 of the shape is no axis"):
        Tensor([8, item])


def test_sizes_are_64_bits() -> None:
    assert Tensor([2**63 - 1]).shape == (2**63 - 1,)
    with pytest.raises(FeValueError, match="axis 0 of the shape is too large"):
        Tensor([2**63])


def test_a_torch_dtype_is_refused_with_ours() -> None:
    class dtype:  # as torch.bfloat16 looks, without importing torch
        def __repr__(self) -> str:
            return "torch.bfloat16"

    with pytest.raises(FeTypeError, match=r"did you mean pypto\.DT_BF16\?"):
        _ = Tensor[[8], dtype()]


def test_operators_on_annotations() -> None:
    x: Any = Tensor([8], DT_FP32)
    uses = [
        lambda: x + x, lambda: 1 + x, lambda: x - 1, lambda: 1 - x, lambda: x * x, lambda: 2 * x,
        lambda: x / 2, lambda: 2 / x, lambda: x // 2, lambda: x % 2, lambda: x**2, lambda: x @ x,
        lambda: -x, lambda: +x, lambda: x < x, lambda: x <= x, lambda: x > x, lambda: x >= x,
        lambda: x[0], lambda: x.__setitem__(0, x),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(FeError, match="has a meaning only inside a kernel"):
            use()
