"""What messages propose is a thing that there is: names, members, dtypes, tensors, axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pypto
from pypto.error import FeTypeError, PyptoError
from pypto.ir.dtype import DataType
from tests.elaborate.support import Workshop, body

# --- dtypes ---

MEANT = {
    "DT_FP32": ("float", "Float32", "float32", "fp32", "f32", "single", "torch.float32", "DT_FLOAT",
                "dt_fp32", float, torch.float32, torch.float, np.float32, np.dtype("f4")),
    "DT_FP16": ("half", "float16", "fp16", torch.half, np.half, np.dtype("float16")),
    "DT_BF16": ("bfloat16", "bf16", torch.bfloat16),
    "DT_DOUBLE": ("double", "float64", "fp64", torch.double, np.float64, np.dtype(float)),
    "DT_INT32": ("int", "int32", "i32", torch.int, np.int32, np.dtype("int32")),
    "DT_INT64": ("long", "int64", int, torch.long, np.int64, np.dtype("int64")),
    "DT_INT16": ("short", "int16", torch.short, np.int16),
    "DT_INT8": ("char", "int8", torch.int8, np.int8),
    "DT_UINT8": ("byte", "uint8", torch.uint8, np.uint8),
    "DT_UINT16": ("uint16", torch.uint16, np.uint16),
    "DT_BOOL": ("bool", bool, torch.bool, np.bool_, np.dtype(bool)),
    "DT_FP8E4M3": ("float8_e4m3fn", torch.float8_e4m3fn),
}  # fmt: skip
GIVEN = [(name, value) for name, values in MEANT.items() for value in values]
PLACES: dict[str, Callable[[Any], object]] = {
    "annotation": lambda dtype: pypto.Tensor([4], dtype),
    "element": lambda dtype: pypto.Element(dtype, 1),
    "bytes_of": lambda dtype: pypto.bytes_of(dtype),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_dtype_that_is_meant(place: str) -> None:
    for name, value in GIVEN:
        with pytest.raises(FeTypeError) as caught:
            PLACES[place](value)
        assert caught.value.diagnostics[0].help == f"did you mean pypto.{name}?", value


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [3, None, "complex64", torch.complex64, [1], object, "", "shape"])
def test_what_is_like_no_dtype(place: str, value: object) -> None:
    if place == "annotation" and value is None:
        return  # the call's
    with pytest.raises(FeTypeError) as caught:
        PLACES[place](value)
    usage = "pypto.element(dtype, value): pypto.element(pypto.DT_FP32, 2.0)"
    assert caught.value.diagnostics[0].help == (usage if place == "element" else None)


def test_dtypes_among_the_arguments_in_brackets() -> None:
    for name, value in GIVEN:
        if not isinstance(value, str):  # a string is the tensor's name there
            with pytest.raises(FeTypeError) as caught:
                pypto.Tensor[[4], value]
            assert caught.value.diagnostics[0].help == f"did you mean pypto.{name}?", value


def test_dtypes_inside_a_kernel(shop: Workshop) -> None:
    for write, use in (
        ("did you mean pypto.{}?", "pypto.tensor([4], {})"),
        ("write pypto.{}", "pypto.cast(x, {})"),
    ):
        given = [(n, v) for n, v in GIVEN if isinstance(v, str | type)]
        texts = [(n, repr(v) if isinstance(v, str) else v.__name__) for n, v in given]
        texts = [(n, t if t[0] == "'" or t in ("float", "int", "bool") else f"np.{t}")
                 for n, t in texts]  # fmt: skip
        lines = [f"a = {use.format(text)}" for _, text in texts]
        error = shop.error("import numpy as np\n" + body(*lines, "o[:] = x"))
        assert [d.help for d in error.diagnostics] == [write.format(name) for name, _ in texts]


# --- members of pypto ---


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ("pypto.CastMode.CAST_RINTT", "'pypto.CastMode' has no 'CAST_RINTT'",
         "did you mean 'pypto.CastMode.CAST_RINT'?"),
        ("pypto.CastMode.cast_floor", "'pypto.CastMode' has no 'cast_floor'",
         "did you mean 'pypto.CastMode.CAST_FLOOR'?"),
        ("pypto.CastMode.X", "'pypto.CastMode' has no 'X'",
         "it has CAST_NONE, CAST_RINT, CAST_ROUND, CAST_FLOOR, CAST_CEIL, CAST_TRUNC, CAST_ODD"),
        ("pypto.SaturationMode.X", "'pypto.SaturationMode' has no 'X'", "it has OFF, ON"),
        ("Mode.X", "'pypto.CastMode' has no 'X'",
         "it has CAST_NONE, CAST_RINT, CAST_ROUND, CAST_FLOOR, CAST_CEIL, CAST_TRUNC, CAST_ODD"),
        ("pypto.CastMode.CAST_RINT.foo", "'pypto.CastMode.CAST_RINT' has no 'foo'", None),
        ("pypto.DT_FP32.foo", "'pypto.DT_FP32' has no 'foo'", None),
        ("x.dtype.byte", "'pypto.DT_FP32' has no 'byte'", "did you mean 'pypto.DT_FP32.bytes'?"),
        ("pypto.dt_fp16", "'pypto' has no 'dt_fp16'", "did you mean 'pypto.DT_FP16'?"),
        ("pypto.frontend.X", "'pypto.frontend' has no 'X'", "it has dynamic, function, jit"),
    ],
)  # fmt: skip
def test_members(shop: Workshop, text: str, message: str, help: str | None) -> None:
    error = shop.error("Mode = pypto.CastMode\n" + body(f"a = {text}", "o[:] = x"))
    (diagnostic,) = error.diagnostics
    assert (diagnostic.message, diagnostic.help) == (message, help)


def test_no_enumeration_is_shown_as_an_object(shop: Workshop) -> None:
    enums = [n for n in dir(pypto) if isinstance(getattr(pypto, n), type(DataType))]
    assert len(enums) > 10
    error = shop.error(body(*(f"a = pypto.{name}.Zq" for name in enums), "o[:] = x"))
    messages = [f"'pypto.{name}' has no 'Zq'" for name in enums]
    assert [d.message for d in error.diagnostics] == messages


# --- local tensors ---


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["t = pypto.tensor([8], FP32)", "o[:] = t"], "t"),
        (["t = pypto.tensor([8], FP32)", "t = pypto.tensor([8], FP32)", "o[:] = t"], "t"),
        (["t = pypto.tensor([8], FP32, name='label')", "o[:] = pypto.exp(t)"], "t"),
        (["o[:] = x", "o = pypto.tensor([8], FP32)", "x[:] = o"], "o"),
    ],
)
def test_a_local_tensor_with_a_name(shop: Workshop, lines: list[str], name: str) -> None:
    diagnostic = shop.error(body(*lines)).diagnostics[0]
    assert diagnostic.message in (
        f"the local tensor '{name}' is read before it is written",
        "assigning to 'o' does not write the tensor: it only rebinds the name",
    )
    if diagnostic.message.startswith("the local"):
        assert diagnostic.help == f"write it first: {name}[:] = ..."


@pytest.mark.parametrize(
    "lines",
    [
        ["o[:] = pypto.tensor([8], FP32)"],
        ["o[:] = pypto.exp(pypto.tensor([8], FP32, name='label'))"],
        ["o.move(pypto.tensor([8], FP32))"],
        ["ts = [pypto.tensor([8], FP32)]", "o[:] = ts[0]"],
    ],
)
def test_a_local_tensor_without_a_name(shop: Workshop, lines: list[str]) -> None:
    (diagnostic,) = shop.error(body(*lines)).diagnostics
    assert diagnostic.message == "a local tensor is read before it is written"
    assert diagnostic.help == (
        "give it a name and write it first: t = pypto.tensor([8], pypto.DT_FP32), then t[:] = ..."
    )


# --- sizes and axes ---


@pytest.mark.parametrize(
    ("line", "message", "got"),
    [
        ("pypto.set_vec_tile_shapes(2**70)",
         "the size of the vector tile in axis 0 is too large", str(2**70)),
        ("pypto.set_vec_tile_shapes(8, 0)",
         "the size of the vector tile in axis 1 is not positive", "0"),
        ("pypto.set_vec_tile_shapes(-2**70)",
         "the size of the vector tile in axis 0 is not positive", str(-(2**70))),
        ("pypto.set_vec_tile_shapes(2.0)",
         "the size of the vector tile in axis 0 is no int", "2.0 (float)"),
        ("pypto.set_vec_tile_shapes(10**5000)",
         "the size of the vector tile in axis 0 is too large", "an int of 16610 bits"),
        ("a = pypto.tensor([8, 2**70], FP32)",
         "the size of the local tensor in axis 1 is too large", str(2**70)),
        ("a = pypto.tensor([-2], FP32)",
         "the size of the local tensor in axis 0 is negative", "-2"),
        ("a = pypto.tensor([None], FP32)",
         "the size of the local tensor in axis 0 is no int", "None (NoneType)"),
        ("a = x.shape[1]", "the shape has 1 axis: there is no axis 1", "1"),
        ("a = x.shape[-2]", "the shape has 1 axis: there is no axis -2", "-2"),
        ("a = [1, 2][2]", "the list has 2 items: there is none at 2", "2"),
        ("a = (1,)[-3]", "the tuple has 1 item: there is none at -3", "-3"),
    ],
)  # fmt: skip
def test_sizes_and_axes(shop: Workshop, line: str, message: str, got: str) -> None:
    (diagnostic,) = shop.error(body(line, "o[:] = x")).diagnostics
    assert (diagnostic.message, diagnostic.got) == (message, got)
    if "shape[" in line:
        assert diagnostic.help == "the annotation says how many axes a tensor has"


# --- decorators ---


@pypto.frontend.jit
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)) -> None:
    x[:] = x + 1


@pypto.frontend.function
def helper(x: pypto.Tensor([4], pypto.DT_FP32)) -> pypto.Tensor:
    return x + 1


@pytest.mark.parametrize(
    ("decorate", "message", "help"),
    [
        (lambda: pypto.frontend.jit(kernel), "'kernel' is a kernel already",
         "leave one pypto.frontend.jit out; give all options to the other, or to pypto.options"),
        (lambda: pypto.frontend.jit(debug_options={})(kernel), "'kernel' is a kernel already",
         "leave one pypto.frontend.jit out; give all options to the other, or to pypto.options"),
        (lambda: pypto.frontend.jit(staticmethod(kernel)), "'kernel' is a kernel already",
         "leave one pypto.frontend.jit out; give all options to the other, or to pypto.options"),
        (lambda: pypto.frontend.jit(helper),
         "'helper' is a helper, marked with pypto.frontend.function: no kernel",
         "leave one of the two decorators out"),
        (lambda: pypto.frontend.function(kernel),
         "pypto.frontend.function decorates a Python function",
         "leave one of the two decorators out"),
    ],
)  # fmt: skip
def test_decorating_twice(decorate: Callable[[], object], message: str, help: str) -> None:
    with pytest.raises(PyptoError) as caught:
        decorate()
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.message, diagnostic.help) == (message, help)
