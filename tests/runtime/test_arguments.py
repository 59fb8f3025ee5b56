"""Binding, checking and classifying the arguments of a call."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional

import numpy as np
import pytest
import torch
import torch.autograd.forward_ad as forward_ad

from pypto.error import FeTypeError, PyptoRtError, RtTypeError, RtValueError
from pypto.ir.dtype import DataType
from pypto.ir.signature import ConstantSignature, ScalarSignature, TensorSignature
from pypto.language.annotation import NamedAxis, Tensor
from pypto.language.enums import StatusType
from pypto.runtime.arguments import (
    NO_DEFAULT,
    Parameter,
    bind,
    classify,
    parameters_of,
    plain_scalars,
    variant_params,
)

FP32 = DataType.DT_FP32
IS_TENSOR = "is a tensor where a Python value belongs"
DYNAMIC, STATIC = StatusType.DYNAMIC, StatusType.STATIC


def three(x: Any, y: Any, scale: Any = 2.0) -> None: ...


THREE = parameters_of(three)


def test_bind() -> None:
    assert bind("k", THREE, (1, 2), {}) == (1, 2, 2.0)
    assert bind("k", THREE, (1,), {"scale": 3, "y": 2}) == (1, 2, 3)
    assert bind("k", (), (), {}) == ()


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (1, 2, 3, 4),
            {},
            "ErrCode: F00001  k() got too many arguments\n"
            "  expected  2 to 3 arguments (x, y, and optionally scale)\n"
            "  got       4 arguments",
        ),
        (
            (1, 2, 3, 4),
            {"x": 1},
            "ErrCode: F00001  k() got too many arguments\n"
            "  expected  2 to 3 arguments (x, y, and optionally scale)\n"
            "  got       4 arguments by position\n\n"
            "ErrCode: F00001  k() got two values for 'x'\n"
            "  expected  one value for each parameter\n"
            "  got       one by position 1 and one by keyword",
        ),
        (
            (1,),
            {},
            "ErrCode: F00001  k() misses the argument 'y'\n"
            "  expected  2 to 3 arguments (x, y, and optionally scale)\n"
            "  got       1 argument (x)",
        ),
        (
            (),
            {},
            "ErrCode: F00001  k() misses the arguments 'x' and 'y'\n"
            "  expected  2 to 3 arguments (x, y, and optionally scale)\n"
            "  got       no arguments",
        ),
        (
            (1, 2),
            {"x": 3},
            "ErrCode: F00001  k() got two values for 'x'\n"
            "  expected  one value for each parameter\n"
            "  got       one by position 1 and one by keyword",
        ),
        (
            (1, 2),
            {"scal": 3},
            "ErrCode: F00001  k() has no parameter 'scal'\n"
            "  expected  one of x, y, scale\n"
            "  got       scal=...\n"
            "  help: did you mean 'scale'?",
        ),
        (
            (1, 2, 3),
            {"scal": 3},  # scale has a value: it cannot be meant
            "ErrCode: F00001  k() has no parameter 'scal'\n"
            "  expected  one of x, y, scale\n"
            "  got       scal=...",
        ),
        (
            (1,),
            {"Y": 3, "scale": 1},
            "ErrCode: F00001  k() has no parameter 'Y'\n"
            "  expected  one of x, y, scale\n"
            "  got       Y=...\n"
            "  help: did you mean 'y'?\n\n"
            "ErrCode: F00001  k() misses the argument 'y'\n"
            "  expected  2 to 3 arguments (x, y, and optionally scale)\n"
            "  got       2 arguments (x, scale)",
        ),
    ],
)
def test_bind_refuses(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(RtTypeError) as caught:
        bind("k", THREE, args, kwargs)
    assert str(caught.value) == message


def test_bind_reports_all_that_is_wrong() -> None:
    with pytest.raises(RtTypeError) as caught:
        bind("k", THREE, (), {"z": 1})
    assert [d.message for d in caught.value.diagnostics] == [
        "k() has no parameter 'z'",
        "k() misses the arguments 'x' and 'y'",
    ]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ((), "no arguments"),
        ((Parameter("x"),), "1 argument (x)"),
        ((Parameter("x"), Parameter("y"), Parameter("z")), "3 arguments (x, y, z)"),
        ((Parameter("n", default=1),), "at most 1 argument (optionally n)"),
        (
            (Parameter("x"), Parameter("n", default=1), Parameter("m", default=None)),
            "1 to 3 arguments (x, and optionally n, m)",
        ),
    ],
)
def test_how_many_arguments(parameters: tuple[Parameter, ...], expected: str) -> None:
    with pytest.raises(RtTypeError) as caught:
        bind("k", parameters, (1,) * 9, {})
    assert str(caught.value).splitlines()[1] == f"  expected  {expected}"


def test_parameters_of() -> None:
    size = 8
    alias = Tensor([size], FP32)

    def kernel(x: alias, y: Tensor([size], FP32), n: int, flag: bool = True) -> None:  # type: ignore
        print(size)

    kernel.__annotations__["x"] = alias
    found = parameters_of(kernel, "file.py:3:1")
    assert [p.name for p in found] == ["x", "y", "n", "flag"]
    assert (found[0].tensor, found[1].tensor) == (alias, alias)
    assert (found[2].annotation, found[3].annotation, found[3].default) == (int, bool, True)
    assert found[0].notes == ("annotated at file.py:3:1",)
    assert Parameter("x", Tensor).tensor is not None
    assert not Parameter("x").annotated


def no_name(x: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (lambda *args: None, "variadic positional parameter 'args'"),
        (lambda **kwargs: None, "variadic keyword parameter 'kwargs'"),
        (lambda *, x: None, "keyword-only parameter 'x'"),
        (lambda x, /: None, "positional-only parameter 'x'"),
        (no_name, "annotation of parameter 'x' of no_name() cannot be evaluated"),
    ],
)
def test_parameters_of_refuses(function: Any, part: str) -> None:
    with pytest.raises(FeTypeError) as caught:
        parameters_of(function)
    assert part in str(caught.value)


def one(annotation: Any, value: Any, where: str | None = None) -> Any:
    parameter = Parameter("x", annotation, where=where)
    return classify((parameter,), (value,)).parameters[0]


def free(value: Any) -> Any:
    return classify((Parameter("x"),), (value,)).parameters[0]


class Level(enum.Enum):
    LOW = 1


class Count(enum.IntEnum):
    ONE = 1


def test_kinds_without_annotation() -> None:
    narrow_int, narrow_float = ScalarSignature("int", False), ScalarSignature("float", False)
    assert free(3) == free(np.int16(3)) == narrow_int
    assert free(0.5) == free(np.float32(0.5)) == free(np.float64(1)) == narrow_float
    for value in (True, None, "a", (1, 2), [1], {"a": 1}, FP32, Level.LOW, Count.ONE, int):
        assert free(value) == ConstantSignature(value)
        assert free(value).value is value
    assert free(np.bool_(True)).value is True
    found = free(torch.zeros(2, 3))
    assert found == TensorSignature(FP32, (2, 3), (None, None))
    array = np.zeros(3)
    assert free(array) == ConstantSignature(array)


def test_kinds_by_annotation() -> None:
    wide_int, wide_float = ScalarSignature("int", True), ScalarSignature("float", True)
    assert one(int, 3) == one(int, True) == one(int, np.int64(3)) == one(int, Count.ONE) == wide_int
    assert one(float, 3) == one(float, 0.5) == one(float, np.float32(1)) == wide_float
    assert one(bool, True) == ConstantSignature(True)
    assert one(str, "a") == ConstantSignature("a")


@pytest.mark.parametrize(
    ("annotation", "value", "error", "message"),
    [
        (int, 2.5, RtTypeError, "argument 'x' is no integer"),
        (int, "3", RtTypeError, "argument 'x' is no integer"),
        (int, None, RtTypeError, "argument 'x' is no integer"),
        (int, np.array(3), RtTypeError, "argument 'x' is no integer"),
        (bool, 1, RtTypeError, "argument 'x' is no bool"),
        (bool, "False", RtTypeError, "argument 'x' is no bool"),
        (bool, None, RtTypeError, "argument 'x' is no bool"),
        (bool | None, 0.0, RtTypeError, "argument 'x' is no bool"),
        (str, 3, RtTypeError, "argument 'x' is no string"),
        (str, b"a", RtTypeError, "argument 'x' is no string"),
        (str, None, RtTypeError, "argument 'x' is no string"),
        (int, 2**63, RtValueError, "argument 'x' does not fit 64 bits"),
        (int, -(2**63) - 1, RtValueError, "argument 'x' does not fit 64 bits"),
        (float, "1.0", RtTypeError, "argument 'x' is no number"),
        (float, 1j, RtTypeError, "argument 'x' is no number"),
        (float, np.array([1.0]), RtTypeError, "argument 'x' is no number"),
        (float, 10**400, RtValueError, "argument 'x' is too large for a float"),
        (
            int,
            torch.tensor(3),
            RtTypeError,
            "argument 'x' is a tensor where a Python value belongs",
        ),
        (
            float,
            torch.ones(2),
            RtTypeError,
            "argument 'x' is a tensor where a Python value belongs",
        ),
    ],
)
def test_scalars_that_are_refused(
    annotation: Any, value: Any, error: type[PyptoRtError], message: str
) -> None:
    with pytest.raises(error) as caught:
        one(annotation, value)
    assert caught.value.diagnostics[0].message == message


def test_flags_and_names() -> None:
    def kinds(annotation: object, value: object, default: object = NO_DEFAULT) -> object:
        signature = classify((Parameter("x", annotation, default),), (value,))
        (found,) = signature.parameters
        assert isinstance(found, ConstantSignature)
        return found.value

    assert kinds(bool, True) is True
    assert kinds(bool, np.bool_(False)) is False
    assert kinds(str, "fast") == "fast"
    assert kinds(bool, None, None) is None
    for annotation in (bool | None, Optional[bool], str | None):  # noqa: UP045
        assert kinds(annotation, None) is None
    with pytest.raises(RtTypeError) as caught:
        kinds(bool, 1)
    assert str(caught.value) == (
        "ErrCode: F00001  argument 'x' is no bool\n"
        "  expected  True or False\n"
        "  got       int 1\n"
        "  help: bool(x) is its truth"
    )


def test_tensor_for_a_scalar_suggests_item() -> None:
    with pytest.raises(RtTypeError) as caught:
        one(float, torch.tensor(3.0), "kernel.py:4:20")
    assert str(caught.value) == (
        "ErrCode: F00001  argument 'x' is a tensor where a Python value belongs\n"
        "  expected  a float\n"
        "  got       tensor of float32, shape [], on cpu\n"
        "  annotated at kernel.py:4:20\n"
        "  help: x.item() is the number in a tensor of one element"
    )


def test_tensor_for_another_annotation() -> None:
    assert refusal(torch.Tensor, torch.zeros(2)) == (
        "ErrCode: F00001  argument 'x' is a tensor, and its annotation torch.Tensor is none of a "
        "tensor\n"
        "  expected  pypto.Tensor(shape, dtype) or pypto.Tensor in the annotation\n"
        "  got       tensor of float32, shape [2], on cpu\n"
        "  annotated at kernel.py:3:9\n"
        "  help: write `x: pypto.Tensor`, or leave the annotation out"
    )
    assert one(Any, torch.zeros(2)) == one(object, torch.zeros(2)) == free(torch.zeros(2))
    assert one(Any, 3) == free(3)


def test_too_large_without_annotation() -> None:
    with pytest.raises(RtValueError, match="does not fit 64 bits"):
        free(2**70)


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


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(PyptoRtError) as caught:
        one(annotation, value, "kernel.py:3:9")
    return str(caught.value)


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


REFUSED: list[tuple[Any, str, str | None]] = [
    (lambda: [1.0], "is no tensor", "torch.tensor(x) makes a tensor of it"),
    (lambda: 3.0, "is no tensor", "torch.tensor(x) makes a tensor of it"),
    (lambda: None, "is no tensor", None),
    (lambda: "text", "is no tensor", None),
    (lambda: torch.zeros(4, 1), "has the wrong rank", None),
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


def test_all_problems_are_reported() -> None:
    parameters = (Parameter("x", Tensor([2], FP32)), Parameter("n", int), Parameter("y", Tensor))
    with pytest.raises(RtValueError) as caught:
        classify(parameters, (torch.zeros(3), "a", 3))
    assert [d.message for d in caught.value.diagnostics] == [
        "argument 'x' has the wrong size in axis 0",
        "argument 'n' is no integer",
        "argument 'y' is no tensor",
    ]


def alias(*tensors: torch.Tensor) -> tuple[int, ...]:
    parameters = tuple(Parameter(f"t{i}", Tensor) for i in range(len(tensors)))
    return classify(parameters, tensors).alias


def test_alias_classes() -> None:
    x, y = torch.zeros(4), torch.zeros(4)
    assert alias(x, y, x) == (0, 1, 0)
    assert alias(x, x[:], y) == (0, 0, 1)
    assert alias(x, x[1:], x[:3]) == (0, 1, 2)
    assert alias(x, x.view(2, 2)) == (0, 1)
    assert alias(x, x.view(torch.int32)) == (0, 1)
    assert alias(x, torch._neg_view(x)) == (0, 1)
    assert alias(x[:0], x[:0]) == (0, 1)
    square = torch.zeros(2, 2)
    assert alias(square, square.t(), square.t()) == (0, 1, 1)


def test_plain_scalars_and_specialisation() -> None:
    parameters = (Parameter("a", int), Parameter("b", float), Parameter("c"), Parameter("d"))
    values = (True, 3, np.int8(4), "x")
    signature = classify(parameters, values)
    plain = plain_scalars(signature, values)
    assert plain == (1, 3.0, 4, "x")
    assert [type(v) for v in plain] == [int, float, int, str]
    special = signature.specialised({"a": 1, "d": "y"})
    assert special.get("a") == ConstantSignature(1)
    assert special.get("d") == ConstantSignature("x")
    assert special.get("b") == ScalarSignature("float", True)
    with pytest.raises(KeyError):
        special.get("e")


@dataclasses.dataclass
class Config:
    size: int
    names: list[str]


def test_variant_params() -> None:
    config = Config(3, ["a"])
    parameters = (
        Parameter("x", Tensor([DYNAMIC, 3], DataType.DT_BF16)),
        Parameter("n", int),
        Parameter("f"),
        Parameter("c"),
        Parameter("d"),
        Parameter("e"),
    )
    values = (torch.zeros(2, 3, dtype=torch.bfloat16), 1, 0.5, (1, "a"), config, torch.int8)
    found = variant_params(classify(parameters, values))
    assert found[:4] == (
        ("tensor", (4, 16), (-1, 3)),
        ("int", True),
        ("float", False),
        ("constant", (1, "a")),
    )
    assert found[5] == ("constant", torch.int8)
    compare = found[4][2]
    assert compare(config) and compare(Config(3, ["a"]))
    assert not compare(Config(3, ["b"])) and not compare(Config(True, ["a"])) and not compare(None)
    config.names.append("b")
    assert not compare(config)
