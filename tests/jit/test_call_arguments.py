"""What a call may give to a kernel: memory of every kind, scalars, keywords; and refusals."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import pypto
from tests.jit.support import Modules, Watched, refusal, watch

KERNELS = """
D = pypto.DYNAMIC

@jit
def add(a: T([D, 8], FP32), b: T([D, 8], FP32), o: T([D, 8], FP32)):
    o[:] = a + b + 301

@jit
def scale(x: T([8], FP32), o: T([8], FP32), s: float = 2.0, n: int = 1, flag: bool = False,
          extra=None):
    if flag:
        o[:] = x * s + n
    else:
        o[:] = x * s - n

@jit
def rows(a: T([D, 8], FP32), o: T([D], FP32)):
    o[:] = pypto.sum(a, -1)

@jit
def peak(a: T([D, D], FP32), o: T([D], FP32)):
    o[:] = pypto.amax(a, -1)

@jit
def update(x: T([8], FP32), o: T([8], FP32)):
    o[:] = o + x

@jit
def one(x: T([1], FP32), o: T([1], FP32)):
    o[:] = x + 1
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Modules(tmp_path_factory.mktemp("kernels")).make(KERNELS, name="kernels")


def _pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(32.0).reshape(4, 8), torch.linspace(-3, 3, 32).reshape(4, 8)


# --- memory ---


def test_an_output_that_is_an_input(made: Any) -> None:
    a, b = _pair()
    for first, second in ((b, b), (b, a), (a, b)):
        out = b.clone()
        expected = (out if first is b else first) + (out if second is b else second) + 301
        made.add(out if first is b else first, out if second is b else second, out)
        assert torch.equal(out, expected)


def test_views_of_one_tensor(made: Any) -> None:
    whole = torch.arange(64.0).reshape(8, 8)
    before = whole.clone()
    made.add(whole[:4], whole[:4], whole[4:])
    assert torch.equal(whole[4:], before[:4] * 2 + 301)
    assert torch.equal(whole[:4], before[:4])


def test_an_output_that_overlaps_an_input_partly(made: Any) -> None:
    """The input has its old values, as if it had been read whole before the first write."""
    whole, b = torch.arange(64.0).reshape(8, 8), _pair()[1]
    before = whole.clone()
    made.add(whole[0:4], b, whole[2:6])
    assert torch.equal(whole[2:6], before[0:4] + b + 301)
    assert torch.equal(whole[:2], before[:2])
    assert torch.equal(whole[6:], before[6:])


@pytest.mark.parametrize("offset", [0, 1])
def test_tensors_that_are_not_dense(made: Any, offset: int) -> None:
    a, b = _pair()
    across = a.t().contiguous().t()
    wide = torch.zeros(4, 16)
    out = wide[:, offset::2]
    made.add(across, b.flip(1).flip(1), out)
    assert torch.equal(out, a + b + 301)
    assert not wide[:, 1 - offset :: 2].any()


def test_another_default_device(made: Any) -> None:
    """Dense copies are where their tensors are."""
    a, b = _pair()
    wide = torch.zeros(4, 16)
    with torch.device("meta"):
        made.add(a.t().contiguous().t(), b[:1].expand(4, 8), wide[:, ::2])
    assert torch.equal(wide[:, ::2], a + b[:1] + 301)


@pytest.mark.filterwarnings("ignore")
def test_functional_tensors(made: Any) -> None:
    a, b = _pair()
    made.add(a, b, a.clone())
    said = []

    def call(x: torch.Tensor) -> torch.Tensor:
        said.append(str(refusal(made.add, x, b, torch.zeros(4, 8))).splitlines()[0])
        return x * 1

    torch.func.functionalize(call)(a)
    assert said == [
        "ErrCode: F00001  argument 'a' stands for another tensor, as inside "
        "torch.func.functionalize",
    ]


def test_an_output_that_is_read_and_not_dense(made: Any) -> None:
    wide = torch.ones(16)
    made.update(torch.arange(8.0), wide[::2])
    assert torch.equal(wide[::2], torch.arange(8.0) + 1)
    assert torch.equal(wide[1::2], torch.ones(8))


def test_expanded_tensors(made: Any) -> None:
    a, b = _pair()
    out = torch.empty(4, 8)
    made.add(a[:1].expand(4, 8), b, out)
    assert torch.equal(out, a[:1] + b + 301)
    error = refusal(made.add, a, b, torch.zeros(1, 8).expand(4, 8))
    assert str(error) == (
        "ErrCode: F00002  argument 'o' is written by add() and its elements share memory\n"
        "  expected  a tensor whose elements are all apart\n"
        "  got       tensor of float32, shape [4, 8], on cpu, strides [0, 1]\n"
        f"  annotated at {_file(made)}:8:52\n"
        "  help: pass o.clone() or an unexpanded tensor"
    )


def _file(made: Any) -> str:
    from pypto.error import shown_file

    return shown_file(made.__file__)


def test_one_binary_serves_every_number_of_rows(made: Any) -> None:
    with watch() as seen:
        for count in (0, 1, 7, 8, 9, 1000):
            a = torch.arange(count * 8.0).reshape(count, 8)
            out = torch.empty_like(a)
            made.add(a, a, out)
            assert torch.equal(out, a + a + 301)
    assert seen.kernels <= 1


def test_empty_tensors(made: Any) -> None:
    empty = torch.empty(0, 8)
    for _ in range(2):
        made.rows(empty, torch.empty(0))
        sums = torch.empty(2)
        made.rows(torch.ones(2, 8), sums)
        assert torch.equal(sums, torch.tensor([8.0, 8.0]))


def test_empty_outputs_excuse_no_wrong_shape(made: Any) -> None:
    """With nothing to write, the sizes must fit all the same: on the first call and later."""
    made.add(torch.empty(0, 8), torch.empty(0, 8), torch.empty(0, 8))
    made.peak(torch.empty(0, 5), torch.empty(0))
    for _ in range(2):
        error = refusal(made.add, torch.empty(3, 8), torch.empty(2, 8), torch.empty(0, 8))
        assert "3" in str(error)
        refusal(made.peak, torch.empty(5, 0), torch.empty(0))
        made.peak(torch.empty(0, 5), torch.empty(0))


def test_one_element(made: Any) -> None:
    for shape in ((), (1,)):
        out = torch.zeros(shape)
        made.one(torch.full(shape, 3.0), out)
        assert out.item() == 4
        assert out.shape == shape


def test_sizes_beyond_memory(made: Any) -> None:
    huge = torch.empty(1, dtype=torch.float32).expand(2**40, 8)
    error = refusal(made.add, huge, torch.empty(4, 8), torch.empty(4, 8))
    assert str(error) == (
        "ErrCode: F00002  argument 'a' is not dense, and there is no memory for a dense copy\n"
        "  expected  35184372088832 bytes of memory\n"
        "  got       tensor of float32, shape [1099511627776, 8], on cpu, strides [0, 0]\n"
        f"  annotated at {_file(made)}:8:12\n"
        "  help: pass dense tensors of sizes that fit the memory"
    )
    out = torch.empty(1).expand(2**40, 8)
    assert "its elements share memory" in str(refusal(made.add, huge, huge, out))


# --- scalars and keywords ---


def test_scalars_and_keywords(made: Any) -> None:
    x, out = torch.arange(8.0), torch.empty(8)

    def call(*arguments: Any, **named: Any) -> torch.Tensor:
        made.scale(*arguments, **named)
        return out.clone()

    assert torch.equal(call(x, out), x * 2 - 1)
    assert torch.equal(call(o=out, x=x), x * 2 - 1)
    assert torch.equal(call(x, out, 3), x * 3 - 1)
    assert torch.equal(call(x, o=out, n=5, flag=True), x * 2 + 5)
    assert torch.equal(call(x, out, numpy.float32(1.5), numpy.int64(3)), x * 1.5 - 3)
    assert torch.equal(call(x, out, 1.5, True), x * 1.5 - 1)
    with watch() as seen:
        for number in range(5):
            expected = x * (number + 0.5) - number
            assert torch.equal(call(x, out, number + 0.5, number), expected)
    assert seen.commands == []


def _tensor(**fields: Any) -> torch.Tensor:
    return torch.zeros(4, 8, **fields)


class Odd(torch.Tensor):
    """A subclass that may mean anything."""


WRONG: list[tuple[Any, str, str]] = [
    (lambda a: a.numpy(), "F00001", "argument 'a' is no tensor"),
    (lambda a: a.tolist(), "F00001", "argument 'a' is no tensor"),
    (lambda a: None, "F00001", "argument 'a' is no tensor"),
    (lambda a: a.double(), "F00001", "argument 'a' has the wrong dtype"),
    (lambda a: a.to(torch.complex64), "F00001", "argument 'a' has the wrong dtype"),
    (lambda a: a[0], "F00002", "argument 'a' has the wrong rank"),
    (lambda a: a[:, :4], "F00002", "argument 'a' has the wrong size in axis 1"),
    (lambda a: a.to_sparse(), "F00001", "argument 'a' has layout sparse_coo"),
    (lambda a: a.to("meta"), "F00001", "argument 'a' is on the meta device: it has no data"),
    (
        lambda a: a.as_subclass(Odd),
        "F00001",
        "argument 'a' is of Odd, a subclass of torch.Tensor that may give it another meaning",
    ),
    (
        lambda a: a.clone().requires_grad_(),
        "F00001",
        "argument 'a' requires grad, and a kernel records no gradient",
    ),
]


@pytest.mark.parametrize(("change", "code", "message"), WRONG)
def test_wrong_tensors(made: Any, change: Any, code: str, message: str) -> None:
    """Refused cold and after a call that was right, for inputs and outputs."""
    a, b = _pair()
    wrong = change(a)
    for _ in range(2):
        error = refusal(made.add, wrong, b, a.clone())
        assert str(error).splitlines()[0] == f"ErrCode: {code}  {message}"
        error = refusal(made.add, a, b, wrong)
        assert str(error).splitlines()[0].startswith(f"ErrCode: {code}  argument 'o'")
        made.add(a, b, torch.empty(4, 8))


def test_a_tensor_that_has_lost_its_memory(made: Any) -> None:
    a, b = _pair()
    lost = torch.empty(4, 8)
    lost.untyped_storage().resize_(0)
    assert str(refusal(made.add, lost, b, a)).splitlines()[0] == (
        "ErrCode: F00002  argument 'a' has lost its memory"
    )


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"n": 2.5}, "F00001  argument 'n' is no integer"),
        ({"flag": 1}, "F00001  argument 'flag' is no bool"),
        ({"flag": "no"}, "F00001  argument 'flag' is no bool"),
        ({"n": 2**70}, "F00002  argument 'n' does not fit 64 bits"),
        ({"s": "a"}, "F00001  argument 's' is no number"),
        ({"s": torch.tensor(2.0)}, "F00001  argument 's' is a tensor where a Python value belongs"),
        (
            {"extra": object()},
            "F00001  argument 'extra' cannot be a constant of a kernel: builtins.object: its "
            "value cannot be told from its content",
        ),
        ({"k": 1}, "F00001  scale() has no parameter 'k'"),
        ({"x": torch.zeros(8)}, "F00001  scale() got two values for 'x'"),
    ],
)
def test_wrong_values(made: Any, named: dict[str, Any], message: str) -> None:
    x = torch.zeros(8)
    made.scale(x, torch.empty(8))
    error = refusal(made.scale, x, torch.empty(8), **named)
    assert str(error).splitlines()[0] == f"ErrCode: {message}"


# --- autograd ---


def test_gradients(made: Any) -> None:
    leaf = torch.ones(8, requires_grad=True)
    out = torch.zeros(8)
    with torch.no_grad():
        made.update(leaf, out)
        made.update(out, leaf)
    with torch.inference_mode():
        made.update(leaf, out)
    assert torch.equal(out, torch.full((8,), 3.0))
    assert leaf.grad is None
    for arguments in ((leaf, out), (out, leaf)):
        assert "requires grad" in str(refusal(made.update, *arguments))


def test_autograd_sees_the_write(made: Any) -> None:
    leaf, saved = torch.ones(8, requires_grad=True), torch.ones(8)
    total = (leaf * saved).sum()
    made.update(torch.ones(8), saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()  # type: ignore[no-untyped-call]


def test_a_warm_call_opens_no_file(made: Any) -> None:
    a, b = _pair()
    out = torch.empty(4, 8)
    made.add(a, b, out)
    with watch() as seen:
        for _ in range(100):
            made.add(a, b, out)
            made.add(a, b, o=out)
    assert seen == Watched([], [])


def test_errors_are_of_the_classes_that_python_has() -> None:
    assert issubclass(pypto.error.RtTypeError, TypeError)
    assert issubclass(pypto.error.RtValueError, ValueError)
