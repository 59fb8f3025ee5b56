"""Binding, checking and classifying the arguments of a call."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Optional

import numpy as np
import pytest
import torch

from pypto.error import FeTypeError, PyptoRtError, RtTypeError, RtValueError
from pypto.ir.dtype import DataType
from pypto.ir.signature import ConstantSignature, ScalarSignature, TensorSignature
from pypto.language.annotation import Tensor
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

from .binding import one, refusal

FP32 = DataType.DT_FP32
IS_TENSOR = "is a tensor where a Python value belongs"
DYNAMIC = StatusType.DYNAMIC


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
