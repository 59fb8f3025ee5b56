"""Tensors at a launch: what is run as it stands, and what is left to the slow path."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward_ad

from .launching import FP32, Kernels, Refused


def triple(n: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.arange(float(n)), torch.full((n,), 2.0), torch.zeros(n)


def ran(dispatch: Any, *args: Any) -> bool:
    before = dispatch.fallbacks
    result = dispatch(*args)
    assert (result is None) == (dispatch.fallbacks == before)
    return result is None


DTYPES = [
    (torch.int8, (0, 8)), (torch.int16, (0, 16)), (torch.int32, (0, 32)), (torch.int64, (0, 64)),
    (torch.uint8, (1, 8)), (torch.uint16, (1, 16)), (torch.uint32, (1, 32)),
    (torch.uint64, (1, 64)), (torch.float16, (2, 16)), (torch.float32, (2, 32)),
    (torch.float64, (2, 64)), (torch.bfloat16, (4, 16)), (torch.bool, (6, 8)),
    (torch.float8_e4m3fn, (10, 8)), (torch.float8_e5m2, (12, 8)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DTYPES)))
def test_each_dtype_fits_itself_alone(kernels: Kernels, number: int) -> None:
    spec = ("tensor", DTYPES[number][1], (0,))
    dispatch = kernels.dispatcher(kernels.variant("echo_kernel", (spec,)), names=("o",))
    fits = [dtype for dtype, _ in DTYPES if ran(dispatch, torch.empty(0, dtype=dtype))]
    assert fits == [DTYPES[number][0]]


def test_ranks_and_sizes(kernels: Kernels) -> None:
    tensor = ("tensor", FP32, (-1, 3))
    variant = kernels.variant(
        "sum_kernel", (tensor, tensor, ("int", True)), ints=(("scalar", 2),) * 2
    )
    dispatch = kernels.dispatcher(variant, names=("a", "o", "n"))
    for shape, fits in (((2, 3), True), ((1, 3), True), ((3, 2), False), ((3,), False),
                        ((1, 2, 3), False), ((1,) * 8 + (3,), False)):  # fmt: skip
        assert ran(dispatch, torch.zeros(shape), torch.zeros(shape), 2) is fits


def test_zero_dimensional_tensor_has_one_element(kernels: Kernels) -> None:
    a, b, o = (torch.tensor(value) for value in (1.5, 2.0, 0.0))
    assert ran(kernels.dispatcher(kernels.add((1,))), a, b, o)
    assert o.item() == 3.5
    assert not ran(kernels.dispatcher(kernels.add((2,))), a, b, o)


@pytest.mark.parametrize("shape", [(0,), (0, 8), (8, 0)])
def test_no_launch_where_nothing_is_written(kernels: Kernels, shape: tuple[int, ...]) -> None:
    tensor = ("tensor", FP32, (-1,) * len(shape))
    variant = kernels.variant("add_kernel", (tensor,) * 3, ints=(("size", 0, 0),))
    dispatch = kernels.dispatcher(variant)
    assert ran(dispatch, *(torch.zeros(shape) for _ in range(3)))
    assert variant.launches == 0
    full = [torch.ones([size or 2 for size in shape]) for _ in range(3)]
    assert ran(dispatch, *full)
    assert ran(dispatch, *(torch.zeros(shape) for _ in range(3)))
    assert variant.launches == 1


def test_empty_input_with_written_elements_is_launched(kernels: Kernels) -> None:
    tensor = ("tensor", FP32, (-1,))
    variant = kernels.variant(
        "sum_kernel", (tensor, tensor, ("int", True)), ints=(("scalar", 2), ("size", 0, 0))
    )
    dispatch = kernels.dispatcher(variant, names=("a", "o", "n"))
    assert ran(dispatch, torch.zeros(0), torch.zeros(3), 2)
    assert variant.launches == 1


def test_conditions_hold_for_empty_outputs(kernels: Kernels) -> None:
    """A kernel with conditions on its sizes decides itself, whatever it would write."""
    tensor = ("tensor", FP32, (-1,))
    for conditional in (False, True):
        variant = kernels.variant("refuse_kernel", (tensor, tensor), conditional=conditional)
        dispatch = kernels.dispatcher(variant, names=("a", "o"))
        if conditional:
            with pytest.raises(Refused):
                dispatch(torch.zeros(3), torch.zeros(0))
        else:
            assert ran(dispatch, torch.zeros(3), torch.zeros(0))


def test_contiguity(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    assert not ran(dispatch, torch.zeros(8)[::2], b, o)
    assert not ran(dispatch, torch.zeros(1).expand(4), b, o)
    assert not ran(dispatch, a, b, torch.zeros(4, 2)[:, 1])
    assert ran(dispatch, torch.zeros(8)[2:6], b, o)
    one = torch.zeros(1, 7)[:, 3]  # stride 7, size 1
    assert one.stride() == (7,)
    assert ran(dispatch, one, torch.zeros(1), torch.zeros(1))
    tensor = ("tensor", FP32, (-1, -1))
    square = kernels.variant("add_kernel", (tensor,) * 3, ints=(("size", 0, 0),))
    matrix = kernels.dispatcher(square)
    x, y, z = (torch.rand(3, 4) for _ in range(3))
    assert not ran(matrix, x.t(), y.t(), z.t().contiguous())
    assert ran(matrix, x, y, z)
    assert ran(matrix, x[1:2], y[1:2], z[1:2])
    assert not ran(matrix, x[:, 1:], y[:, 1:], z[:, 1:].contiguous())


def other_tensors() -> dict[str, Any]:
    x = torch.ones(4)
    released = torch.ones(4)
    released.untyped_storage().resize_(0)

    class Sub(torch.Tensor):
        pass

    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(4)
    return {
        "double": x.double(),
        "complex": torch.ones(4, dtype=torch.complex64),
        "negated view": torch._neg_view(x),
        "imaginary part": torch.ones(4, dtype=torch.complex64).conj().imag,
        "imaginary part of one": torch.ones(1, dtype=torch.complex64).conj().imag,
        "sparse": x.to_sparse(),
        "sparse rows": torch.eye(4).to_sparse_csr(),
        "quantised": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        "meta": torch.ones(4, device="meta"),
        "mkldnn": x.to_mkldnn(),
        "released": released,
        "zeros without memory": torch._efficientzerotensor((4,)),
        "subclass": x.as_subclass(Sub),
        "fake": fake,
        "huge expanded": torch.ones(1).expand(2**62),
        "array": x.numpy(),
        "list": [1.0] * 4,
        "none": None,
        "number": 1.0,
        "requires grad": torch.ones(4, requires_grad=True),
        "result of a gradient graph": torch.ones(4, requires_grad=True) * 2,
    }


OTHERS = [
    "double", "complex", "negated view", "imaginary part", "imaginary part of one", "sparse",
    "sparse rows", "quantised", "meta", "mkldnn", "released", "zeros without memory", "subclass",
    "fake", "huge expanded", "array", "list", "none", "number", "requires grad",
    "result of a gradient graph",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_everything_else_is_left_to_the_slow_path(kernels: Kernels, name: str) -> None:
    others = other_tensors()
    assert list(others) == OTHERS
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    assert not ran(dispatch, others[name], b, o)
    assert not ran(dispatch, a, b, others[name])
    assert o.tolist() == [0.0] * 4
    assert ran(dispatch, a, b, o)


def test_transformed_tensors_have_no_memory(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add((3,)))
    seen = []

    def call(x: torch.Tensor) -> torch.Tensor:
        seen.append(ran(dispatch, x, x, torch.zeros(3)))
        return x.sum()

    torch.vmap(call)(torch.ones(2, 3))
    torch.func.grad(call)(torch.ones(3))
    assert seen == [False, False]


def test_parameter_of_a_module(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    weight = torch.nn.Parameter(a)
    assert not ran(dispatch, weight, b, o)
    with torch.no_grad():
        assert ran(dispatch, weight, b, o)
    assert ran(dispatch, torch.nn.Parameter(a, requires_grad=False), b, o)
    assert o.tolist() == [2, 3, 4, 5]


def test_gradients(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    leaf = torch.ones(4, requires_grad=True)
    assert not ran(dispatch, leaf, b, o)
    assert not ran(dispatch, a, b, leaf)
    with torch.no_grad():
        assert ran(dispatch, leaf, b, o)
        assert ran(dispatch, a, b, leaf)
    assert leaf.tolist() == [2, 3, 4, 5]
    with torch.inference_mode():
        assert ran(dispatch, leaf, b, o)
        made = torch.zeros(4)
        assert ran(dispatch, a, b, made)
    assert made.tolist() == [2, 3, 4, 5]
    assert ran(dispatch, made, b, torch.zeros(4))
    assert ran(dispatch, leaf.detach(), b, o)


@pytest.mark.filterwarnings("ignore")  # torch scripts functions
def test_levels_of_forward_mode(kernels: Kernels) -> None:
    """In a level any tensor may have a tangent: the slow path looks. Outside, nothing changes."""
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, torch.ones(4))
        assert not ran(dispatch, dual, b, o)
        assert not ran(dispatch, a, b, o)
        assert dispatch.run((a, b, o))
    before = dispatch.fallbacks
    assert ran(dispatch, a, b, o)
    assert ran(dispatch, dual, b, o)
    assert dispatch.fallbacks == before


def test_saved_tensor_written_by_a_kernel(kernels: Kernels) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    a, b, saved = triple()
    weight = torch.ones(4, requires_grad=True)
    loss = (weight * saved).sum()
    before = [t._version for t in (a, b, saved)]
    assert ran(dispatch, a, b, saved)
    assert [t._version for t in (a, b, saved)] == [before[0], before[1], before[2] + 1]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]
    view = torch.zeros(8)[:4]
    assert view._base is not None
    assert ran(dispatch, a, b, view)
    assert view._base._version == 1


def test_alias_patterns(kernels: Kernels) -> None:
    apart = kernels.add()
    in_place = kernels.add(alias=(0, 1, 0))
    a, b, o = triple()
    assert ran(kernels.dispatcher(apart), a, b, o)
    assert ran(kernels.dispatcher(apart), a, a, o)  # inputs may share
    assert not ran(kernels.dispatcher(apart), a, b, a)
    assert not ran(kernels.dispatcher(in_place), a, b, o)
    assert not ran(kernels.dispatcher(in_place), b, a, a)
    dispatch = kernels.dispatcher(apart, in_place)
    assert ran(dispatch, a, b, a)
    assert ran(dispatch, a, b, a[:])  # another object, the same memory
    assert a.tolist() == [4, 5, 6, 7]
    assert (apart.launches, in_place.launches) == (2, 2)


def test_inputs_that_must_be_the_same(kernels: Kernels) -> None:
    same = kernels.dispatcher(kernels.add(alias=(0, 0, 1)))
    a, b, o = triple()
    assert ran(same, a, a, o)
    assert not ran(same, a, b, o)
    assert not ran(same, torch.zeros(8)[:4], torch.zeros(8)[:4], o)


@pytest.mark.parametrize("shift", [1, 3, -1, -3])
def test_partial_overlap(kernels: Kernels, shift: int) -> None:
    memory = torch.zeros(16)
    b = torch.ones(4)
    for variant in (kernels.add(), kernels.add(alias=(0, 1, 0))):
        dispatch = kernels.dispatcher(variant)
        assert not ran(dispatch, memory[8 + shift : 12 + shift], b, memory[8:12])
        assert not ran(dispatch, b, memory[8 + shift : 12 + shift], memory[8:12])
    neighbours = kernels.dispatcher(kernels.add())
    assert ran(neighbours, memory[4:8], memory[12:16], memory[8:12])


def test_same_address_of_another_shape_is_no_alias(kernels: Kernels) -> None:
    flat, square = ("tensor", FP32, (-1,)), ("tensor", FP32, (-1, -1))
    variant = kernels.variant(
        "sum_kernel", (flat, square, ("int", True)), ints=(("scalar", 2),) * 2, alias=(0, 0)
    )
    x = torch.zeros(4)
    dispatch = kernels.dispatcher(variant, names=("a", "o", "n"))
    assert not ran(dispatch, x, x.view(2, 2), 2)


def test_huge_tensors(kernels: Kernels) -> None:
    spec = ("tensor", (0, 8), (-1,))
    dispatch = kernels.dispatcher(kernels.variant("echo_kernel", (spec,)), names=("o",))
    assert not ran(dispatch, torch.empty(2**31 + 8, dtype=torch.int8, device="meta"))
    assert not ran(dispatch, torch.zeros(1, dtype=torch.int8).expand(2**31 + 8))
    square = ("tensor", (2, 16), (-1, -1))
    wide = kernels.dispatcher(kernels.variant("echo_kernel", (square,)), names=("o",))
    assert not ran(wide, torch.zeros(1, 1, dtype=torch.float16).expand(65536, 65536))
    assert not ran(wide, torch.zeros(1, 1, dtype=torch.float16).expand(2**31, 2**31))
    # An empty tensor whose other sizes overflow is empty all the same.
    assert ran(wide, torch.empty_strided((0, 2**62), (1, 1), dtype=torch.float16))


def test_interpreter_lock_is_released_for_large_tensors(kernels: Kernels) -> None:
    elements = kernels.launcher.RELEASE_GIL_ABOVE // 4 + 1
    dispatch = kernels.dispatcher(
        kernels.variant("gate_kernel", (("tensor", FP32, (-1,)),)), names=("o",)
    )
    gate = ctypes.c_int32.in_dll(ctypes.CDLL(str(kernels.path)), "gate")
    gate.value = 0
    opener = threading.Timer(0.05, lambda: setattr(gate, "value", 1))
    opener.start()
    # Without the release the timer could not run, the kernel would give up and be explained.
    assert ran(dispatch, torch.zeros(elements))
    opener.join()
    assert ran(dispatch, torch.zeros(4))
    gate.value = 0


def test_tensor_changed_by_the_conversion_of_a_scalar(kernels: Kernels) -> None:
    """Scalars are converted before tensors are read: conversion may run any code."""
    tensor = ("tensor", FP32, (-1,))
    variant = kernels.variant(
        "scale_kernel",
        (tensor, tensor, ("float", True), ("int", True)),
        ints=(("size", 0, 0), ("scalar", 3)),
        floats=(2,),
    )
    dispatch = kernels.dispatcher(variant, names=("x", "o", "f", "k"))
    x, o = torch.ones(1000), torch.zeros(1000)

    class Shrinking:
        def __index__(self) -> int:
            x.resize_(2)
            return 1

    assert ran(dispatch, x, o, 2.0, Shrinking())
    assert o[:3].tolist() == [3.0, 3.0, 0.0]
