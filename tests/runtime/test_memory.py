"""Copies for tensors that a kernel cannot use as they stand, run through real launches."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

from pypto.error import PyptoRtError, RtValueError
from pypto.language.annotation import Tensor
from pypto.runtime.arguments import Parameter, classify, normalise, variant_params
from pypto.runtime.memory import overlaps_itself, share_elements

from .launching import Kernels

ABO = tuple(Parameter(name, Tensor) for name in "abo")
O = frozenset("o")  # noqa: E741


def run_add(kernels: Kernels, a: Any, b: Any, o: Any, **options: Any) -> Any:
    """``o = a + b`` as a dispatcher's fallback does it; the variant that ran."""
    values = (a, b, o)
    signature = classify(ABO, values, options.get("staging"))
    prepared = normalise("add", ABO, values, O, **options)
    variant = kernels.variant(
        "add_kernel",
        variant_params(signature),
        ints=tuple(("size", 0, axis) for axis in range(1)),
        alias=signature.alias,
    )
    assert variant(prepared.args) is True
    prepared.finish()
    return variant


def test_nothing_to_do(kernels: Kernels) -> None:
    a, b, o = torch.ones(4), torch.ones(4), torch.zeros(4)
    prepared = normalise("add", ABO, (a, b, o), O)
    assert all(x is y for x, y in zip(prepared.args, (a, b, o), strict=True))
    assert prepared.stores == ()
    run_add(kernels, a, b, a)
    assert a.tolist() == [2.0] * 4


def test_strided_inputs_and_output(kernels: Kernels) -> None:
    memory = torch.arange(24.0)
    out = torch.full((9,), -1.0)
    run_add(kernels, memory[::6], memory[1::6], out[1::2])
    assert out.tolist() == [-1, 1, -1, 13, -1, 25, -1, 37, -1]
    run_add(kernels, torch.ones(1).expand(4), torch.full((4,), 2.0), out[::2][:4])
    assert out.tolist() == [3, 1, 3, 13, 3, 25, 3, 37, -1]


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_copies_stay_on_the_device_of_the_tensor(kernels: Kernels, device: str) -> None:
    memory, out = torch.arange(24.0), torch.full((9,), -1.0)
    shared = memory.as_strided((4, 2), (1, 2))
    with torch.device(device):
        run_add(kernels, memory[::6], torch.ones(1, device="cpu").expand(4), out[1::2])
        run_add(kernels, memory[1:5], memory[2:6], memory[0:4])
        assert share_elements(memory[::2], memory[::3])
        assert not share_elements(memory[::2], memory[1::2])
        assert overlaps_itself(shared)
    assert out.tolist() == [-1, 1, -1, 7, -1, 13, -1, 19, -1]
    assert memory[:5].tolist() == [3, 5, 7, 9, 4]


def test_negated_views(kernels: Kernels) -> None:
    a, b, o = torch.ones(4), torch.full((4,), 3.0), torch.zeros(4)
    run_add(kernels, torch._neg_view(a), b, torch._neg_view(o))
    assert o.tolist() == [-2.0] * 4


def test_input_that_overlaps_the_output_keeps_its_values(kernels: Kernels) -> None:
    memory = torch.arange(8.0)
    expected = memory[:4] + memory[2:6]
    run_add(kernels, memory[:4], memory[2:6], memory[1:5])
    assert memory[1:5].tolist() == expected.tolist()


def test_strided_alias_of_the_output_shares_its_copy(kernels: Kernels) -> None:
    memory = torch.arange(8.0)
    values = (memory[::2], torch.ones(4), memory[::2])
    prepared = normalise("add", ABO, values, O, whole=O)
    assert prepared.args[0] is prepared.args[2]
    run_add(kernels, *values, whole=O)
    assert memory.tolist() == [1, 1, 3, 3, 5, 5, 7, 7]


def test_old_values_of_outputs() -> None:
    memory = torch.arange(8.0)
    values = (torch.ones(4), torch.ones(4), memory[::2])
    kept = normalise("add", ABO, values, O).args[2]
    assert isinstance(kept, torch.Tensor) and kept.tolist() == [0, 2, 4, 6]
    prepared = normalise("add", ABO, values, O, whole=O)
    assert isinstance(prepared.args[2], torch.Tensor) and prepared.args[2].is_contiguous()
    assert [store.target is values[2] for store in prepared.stores] == [True]


def test_outputs_of_one_matrix(kernels: Kernels) -> None:
    matrix = torch.zeros(4, 2)
    two = (Parameter("o", Tensor), Parameter("p", Tensor))
    prepared = normalise("k", two, (matrix[:, 0], matrix[:, 1]), frozenset("op"))
    first, second = prepared.args
    assert isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
    first.fill_(1)
    second.fill_(2)
    prepared.finish()
    assert matrix.tolist() == [[1, 2]] * 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda m: (m[:4], torch.zeros(1).expand(4)),
            "argument 'p' is written by k() and its elements share memory",
        ),
        (
            lambda m: (m.as_strided((3, 3), (2, 1)), torch.zeros(1)),
            "argument 'o' is written by k() and its elements share memory",
        ),
        (
            lambda m: (m[:4], m[3:7]),
            "arguments 'o' and 'p' are both written by k() and share memory",
        ),
        (
            lambda m: (m[:4], m[:4]),
            "arguments 'o' and 'p' are both written by k() and share memory",
        ),
        (
            lambda m: (m[::2], m[1:5]),
            "arguments 'o' and 'p' are both written by k() and share memory",
        ),
        (
            lambda m: (m[:4], m.view(torch.int16)[3:5]),
            "arguments 'o' and 'p' are both written by k() and share memory",
        ),
    ],
)
def test_outputs_that_are_refused(make: Any, message: str) -> None:
    two = (Parameter("o", Tensor, where="k.py:1:2"), Parameter("p", Tensor))
    values = make(torch.zeros(12))
    with pytest.raises(RtValueError) as caught:
        normalise("k", two, values, frozenset("op"))
    assert caught.value.diagnostics[0].message == message


def test_message_of_an_expanded_output() -> None:
    parameters = (Parameter("o", Tensor, where="k.py:1:2"),)
    with pytest.raises(RtValueError) as caught:
        normalise("k", parameters, (torch.zeros(1).expand(4),), O)
    assert str(caught.value) == (
        "ErrCode: F00002  argument 'o' is written by k() and its elements share memory\n"
        "  expected  a tensor whose elements are all apart\n"
        "  got       tensor of float32, shape [4], on cpu, strides [0]\n"
        "  annotated at k.py:1:2\n"
        "  help: pass o.clone() or an unexpanded tensor"
    )


def test_huge_expanded_output_is_refused_at_once() -> None:
    huge = torch.zeros(1, dtype=torch.int8).expand(2**31 + 8)
    with pytest.raises(RtValueError, match="share memory"):
        normalise("k", (Parameter("o", Tensor),), (huge,), O)


def test_written_views_under_no_grad(kernels: Kernels) -> None:
    leaf = torch.zeros(8, requires_grad=True)
    with torch.no_grad():
        run_add(kernels, torch.ones(4), torch.ones(4), leaf[::2])
    assert leaf.tolist() == [2, 0] * 4
    assert leaf.requires_grad


class NpuTensor(torch.Tensor):
    """Stands for a tensor of a device: only the staging may look at its memory."""


class FakeNpu:
    def __init__(self) -> None:
        self.fetched = 0
        self.stored = 0

    def covers(self, tensor: torch.Tensor) -> bool:
        return isinstance(tensor, NpuTensor)

    def fetch(self, tensor: torch.Tensor) -> torch.Tensor:
        self.fetched += 1
        return tensor.as_subclass(torch.Tensor).clone(memory_format=torch.contiguous_format)

    def store(self, host: torch.Tensor, tensor: torch.Tensor) -> None:
        self.stored += 1
        tensor.as_subclass(torch.Tensor).copy_(host)


def on_npu(tensor: torch.Tensor) -> Any:
    return tensor.as_subclass(NpuTensor)


def test_staging(kernels: Kernels) -> None:
    device = FakeNpu()
    memory = torch.zeros(8)
    o = on_npu(memory[::2])
    run_add(kernels, on_npu(torch.ones(4)), torch.ones(4), o, staging=device)
    assert memory.tolist() == [2, 0] * 4
    assert (device.fetched, device.stored) == (2, 1)
    run_add(kernels, o, torch.ones(4), o, staging=device)
    assert memory.tolist() == [3, 0] * 4
    assert (device.fetched, device.stored) == (3, 2)
    with pytest.raises(PyptoRtError, match="a subclass of torch"):
        run_add(kernels, o, o, o)


def test_device_staging_covers_its_device_only() -> None:
    from pypto.runtime.cpu import DeviceStaging

    x = torch.arange(6.0).view(2, 3).t()
    assert not DeviceStaging().covers(x)
    host = DeviceStaging("cpu")
    assert host.covers(x) and not host.covers(x.as_subclass(NpuTensor))
    copy = host.fetch(x)
    assert copy.is_contiguous() and torch.equal(copy, x)
    host.store(torch.zeros(3, 2), x)
    assert x.abs().sum() == 0


SHAPES = st.integers(1, 3).flatmap(
    lambda rank: st.tuples(
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank),
        st.lists(st.integers(0, 6), min_size=rank, max_size=rank),
        st.integers(0, 20),
    )
)


def elements(shape: list[int], strides: list[int], start: int) -> list[int]:
    found = [start]
    for size, stride in zip(shape, strides, strict=True):
        found = [place + i * stride for place in found for i in range(size)]
    return found


@pytest.mark.property
@hypothesis.given(SHAPES, SHAPES)
def test_overlap_is_exact(one: Any, two: Any) -> None:
    memory = torch.zeros(128)
    a, b = (memory.as_strided(*view) for view in (one, two))
    places_a, places_b = elements(*one), elements(*two)
    assert share_elements(a, b) == bool(set(places_a) & set(places_b))
    assert overlaps_itself(a) == (len(set(places_a)) < len(places_a))
