"""Tensors as arguments: sizes, dtypes, and all that a kernel cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.autograd.forward_ad as forward_ad

from pypto.error import PyptoRtError, RtTypeError, RtValueError
from pypto.ir.dtype import DataType
from pypto.ir.signature import ConstantSignature, TensorSignature
from pypto.language.annotation import NamedAxis, Tensor
from pypto.language.enums import StatusType
from pypto.runtime.arguments import (
    Parameter,
    classify,
)

from .binding import one, refusal

DYNAMIC, STATIC = StatusType.DYNAMIC, StatusType.STATIC
FP32 = DataType.DT_FP32


@pytest.mark.parametrize(
    ("annotation", "shape", "sizes", "names"),
    [
        (Tensor(), (2, 3), (2, 3), (None, None)),
        (Tensor, (2, 3), (2, 3), (None, None)),
        (Tensor([2, 3], FP32), (2, 3), (2, 3), (None, None)),
        (Tensor([DYNAMIC, -1], FP32), (2, 3), (None, None), (None, None)),
        (Tensor([STATIC, StatusType.DYN], FP32), (2, 3), (2, None), (None, None)),
        (Tensor([NamedAxis("n"), 3], FP32), (2, 3), (None, 3), ("n", None)),
        (Tensor([DYNAMIC, ...], FP32), (2, 3, 4), (None, 3, 4), (None, None, None)),
        (Tensor([...], FP32), (7,), (7,), (None,)),
        (Tensor([1], FP32), (), (1,), (None,)),
        (Tensor([0], FP32), (0,), (0,), (None,)),
    ],
)
def test_sizes(annotation: Any, shape: Any, sizes: Any, names: Any) -> None:
    assert one(annotation, torch.zeros(shape)) == TensorSignature(FP32, sizes, names)


@pytest.mark.parametrize("dtype", [d for d in DataType if d.torch_name is not None])
def test_dtypes(dtype: DataType) -> None:
    assert dtype.torch_name is not None
    value = torch.empty(2, dtype=getattr(torch, dtype.torch_name))
    assert one(Tensor([2], dtype), value).dtype is dtype
    assert one(Tensor(), value).dtype is dtype


def test_wrong_dtype() -> None:
    assert refusal(Tensor([2, 3], FP32), torch.zeros(2, 3, dtype=torch.float64)) == (
        "ErrCode: F00001  argument 'x' has the wrong dtype\n"
        "  expected  tensor of float32, shape [2, 3]\n"
        "  got       tensor of float64, shape [2, 3], on cpu\n"
        "  annotated at kernel.py:3:9\n"
        "  help: x.to(torch.float32)"
    )


def test_values_that_cannot_be_shown() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise LookupError

        def __eq__(self, other: object) -> bool:
            raise LookupError

    assert "got       Silent <" in refusal(Tensor([2], FP32), Silent())
    assert isinstance(one(Silent(), 3), ConstantSignature)


def test_swapped_axes() -> None:
    assert refusal(Tensor([2, 3], FP32), torch.zeros(3, 2)) == (
        "ErrCode: F00002  argument 'x' has the wrong size in axis 0\n"
        "  expected  tensor of float32, shape [2, 3]\n"
        "  got       tensor of float32, shape [3, 2], on cpu\n"
        "  annotated at kernel.py:3:9\n"
        "  help: its axes are swapped: x.t() has this shape"
    )


def test_numpy_array() -> None:
    assert refusal(Tensor([DYNAMIC, 3], FP32), np.zeros((2, 3), np.float32)) == (
        "ErrCode: F00001  argument 'x' is no tensor\n"
        "  expected  tensor of float32, shape [DYNAMIC, 3]\n"
        "  got       numpy ndarray of float32, shape [2, 3]\n"
        "  annotated at kernel.py:3:9\n"
        "  help: torch.from_numpy(x) shares the array's memory"
    )


def test_requires_grad() -> None:
    leaf = torch.zeros(2, requires_grad=True)
    assert refusal(Tensor([2], FP32), leaf) == (
        "ErrCode: F00001  argument 'x' requires grad, and a kernel records no gradient\n"
        "  expected  a tensor that needs no gradient, or grad mode off\n"
        "  got       tensor of float32, shape [2], on cpu\n"
        "  annotated at kernel.py:3:9\n"
        "  help: call it inside torch.no_grad(), or pass x.detach()"
    )
    with torch.no_grad():
        assert one(Tensor([2], FP32), leaf).sizes == (2,)
    with torch.inference_mode():
        assert one(Tensor([2], FP32), leaf).sizes == (2,)
    assert one(Tensor([2], FP32), leaf.detach()).sizes == (2,)


class Sub(torch.Tensor):
    pass


class DTensor(torch.Tensor):
    pass


def fake() -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(4)


def released(size: int) -> torch.Tensor:
    value = torch.ones(4)
    value.untyped_storage().resize_(size)
    return value


OPEN = "; the shape [...] in the annotation takes any number of axes"
REFUSED: list[tuple[Any, str, str | None]] = [
    (lambda: [1.0], "is no tensor", "torch.tensor(x) makes a tensor of it"),
    (lambda: 3.0, "is no tensor", "torch.tensor(x) makes a tensor of it"),
    (lambda: None, "is no tensor", None),
    (lambda: "text", "is no tensor", None),
    (
        lambda: torch.zeros(4, 1),
        "has the wrong rank",
        f"x.squeeze(1) has one less, that of size 1{OPEN}",
    ),
    (
        lambda: torch.zeros(4, 2),
        "has the wrong rank",
        f"x.flatten(0, 1) makes one of the first 2{OPEN}",
    ),
    (
        lambda: torch.zeros(4, 1, 1),
        "has the wrong rank",
        f"x.flatten(0, 2) makes one of the first 3{OPEN}",
    ),
    (lambda: torch.zeros(3), "has the wrong size in axis 0", None),
    (lambda: torch.zeros(4, dtype=torch.int32), "has the wrong dtype", "x.to(torch.float32)"),
    (
        lambda: torch.zeros(4, dtype=torch.complex64),
        "has the wrong dtype",
        "x.real and x.imag are its parts, torch.view_as_real(x) holds both",
    ),
    (lambda: torch.zeros(4).to_sparse(), "has layout sparse_coo", "x.to_dense()"),
    (lambda: torch.zeros(4).to_mkldnn(), "has layout _mkldnn", "x.to_dense()"),
    (
        lambda: torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.qint8),
        "is quantised",
        "x.dequantize() or x.int_repr()",
    ),
    (lambda: torch.zeros(4, device="meta"), "is on the meta device: it has no data", None),
    (fake, "is a FakeTensor: it has no data", None),
    (
        lambda: torch.zeros(4).as_subclass(Sub),
        "is of Sub, a subclass of torch.Tensor that may give it another meaning",
        "x.as_subclass(torch.Tensor) is the plain tensor",
    ),
    (
        lambda: torch.zeros(4).as_subclass(DTensor),
        "is distributed",
        "x.to_local() is the part of this process",
    ),
    (lambda: released(0), "has lost its memory", None),
    (lambda: released(12), "has lost its memory", None),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_tensors_that_are_refused(number: int) -> None:
    make, message, help = REFUSED[number]
    with pytest.raises(PyptoRtError) as caught:
        one(Tensor([4], FP32), make())
    found = caught.value.diagnostics[0]
    assert (found.message, found.help) == (f"argument 'x' {message}", help)
    assert found.expected is not None and found.got is not None


@pytest.mark.filterwarnings("ignore")
def test_nested_and_complex_without_annotation() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    assert "is nested" in refusal(Tensor(), nested)
    complex_message = refusal(Tensor(), torch.zeros(2, dtype=torch.complex64))
    assert "has dtype complex64, which no kernel takes" in complex_message
    assert "has too many axes" in refusal(Tensor(), torch.zeros((1,) * 6))
    absent = refusal(Tensor([2], DataType.DT_INT4), torch.zeros(2, dtype=torch.int8))
    assert "cannot have dtype DT_INT4: torch has no such dtype" in absent


def test_transformed_tensors() -> None:
    seen = []

    def call(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), pytest.raises(RtTypeError) as caught:
            one(Tensor([3], FP32), x)
        seen.append(caught.value.diagnostics[0].message)
        help = "call the kernel outside of it, with an axis more for what vmap maps over"
        assert caught.value.diagnostics[0].help == help
        return x.sum()

    torch.vmap(call)(torch.ones(2, 3))
    torch.func.grad(call)(torch.ones(3))
    assert len(seen) == 2
    assert all("no memory of its own" in message for message in seen)


@pytest.mark.filterwarnings("ignore")
def test_functional_tensors() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        with pytest.raises(RtTypeError) as caught:
            one(Tensor([3], FP32), x)
        assert str(caught.value) == (
            "ErrCode: F00001  argument 'x' stands for another tensor, as inside "
            "torch.func.functionalize\n"
            "  expected  tensor of float32, shape [3]\n"
            "  got       tensor of float32, shape [3], on cpu\n"
            "  help: call the kernel outside of it"
        )
        return x * 1

    torch.func.functionalize(call)(torch.ones(3))


@pytest.mark.filterwarnings("ignore")  # torch scripts functions
def test_tangents() -> None:
    with forward_ad.dual_level():
        x = torch.ones(3)
        one(Tensor([3], FP32), x)
        dual = forward_ad.make_dual(x, torch.ones(3))
        with torch.no_grad(), pytest.raises(RtTypeError) as caught:
            one(Tensor([3], FP32), dual)
        assert str(caught.value) == (
            "ErrCode: F00001  argument 'x' has a tangent (forward-mode differentiation), and a "
            "kernel computes none\n"
            "  expected  a tensor without a tangent\n"
            "  got       tensor of float32, shape [3], on cpu\n"
            "  help: torch.autograd.forward_ad.unpack_dual(x).primal, or give the tangent in jvp() "
            "of a torch.autograd.Function"
        )
        one(Tensor([3], FP32), forward_ad.unpack_dual(dual).primal)
    one(Tensor([3], FP32), dual)


def test_named_axes() -> None:
    annotation = Tensor([NamedAxis("n"), DYNAMIC], FP32)
    parameters = (Parameter("x", annotation), Parameter("y", annotation))
    classify(parameters, (torch.zeros(3, 4), torch.zeros(3, 5)))
    with pytest.raises(RtValueError) as caught:
        classify(parameters, (torch.zeros(3, 4), torch.zeros(2, 4)))
    assert str(caught.value) == (
        "ErrCode: F00002  argument 'y' has size 2 in axis 0, and axes named 'n' must be equal\n"
        "  expected  3, as axis 0 of 'x'\n"
        "  got       tensor of float32, shape [2, 4], on cpu"
    )


def test_a_tensor_of_too_few_or_too_many_axes() -> None:
    with pytest.raises(RtValueError) as caught:
        one(Tensor([4, 4, 4], FP32), torch.zeros(4))
    help = caught.value.diagnostics[0].help
    assert help == f"x.unsqueeze(0).unsqueeze(0) has 2 more, of size 1{OPEN}"
    with pytest.raises(RtValueError) as caught:
        one(Tensor(dtype=FP32), torch.zeros(1, 2, 3, 1, 2, 3, 1))
    assert caught.value.diagnostics[0].help == "x.flatten(0, 2) makes one of the first"
