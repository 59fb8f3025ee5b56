"""Formats of tensors: row by row works, the cube's fractal order is refused by name."""

from __future__ import annotations

import pytest
import torch

from tests.jit.support import Modules, refusal, result

X = torch.arange(8.0)
FORMS = (
    "T([8], FP32, format=F.{})",
    "T([8], FP32, '', F.{})",
    "T[[8], FP32, F.{}]",
    "T[[8], {{'format': F.{}, 'dtype': FP32}}]",
    "T(format=F.{})",
    "'T([8], FP32, format=F.{})'",
)


@pytest.mark.parametrize("form", FORMS[3:5])
def test_row_by_row_is_what_torch_has(modules: Modules, form: str) -> None:
    made = modules.make(f"""
        F = pypto.TileOpFormat
        @jit
        def k(x: {form.format("TILEOP_ND")}, o: T([8], FP32)):
            t = pypto.tensor([8], FP32, format=F.TILEOP_ND)
            t[:] = x
            o[:] = t + 211
    """)
    assert torch.equal(result(made.k), X + 211)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["call", "compile"])
def test_the_fractal_order_of_a_parameter(modules: Modules, form: str, way: str) -> None:
    annotation = form.format("TILEOP_NZ")
    made = modules.make(f"""
        F = pypto.TileOpFormat
        @jit
        def k(x: {annotation}, o: {annotation}):
            o[:] = x
    """)
    error = refusal(made.k, X, X.clone()) if way == "call" else made.k.compile().error
    assert isinstance(error, NotImplementedError)
    head = "def k(x: "
    columns = (len(head) + 1, len(head) + len(annotation) + len(", o: ") + 1)
    assert str(error) == "\n\n".join(
        f"ErrCode: F00005  the format TILEOP_NZ of parameter '{name}' of k() is not available in "
        "this version\n"
        f"  annotated at m1.py:7:{column}\n"
        "  help: leave the format out, and pass the tensor row by row (TILEOP_ND), as torch has it"
        for name, column in zip("xo", columns, strict=True)
    )


LOCAL = """
F = pypto.TileOpFormat
@jit
def k(x: T([8], FP32), o: T([8], FP32)):
    t = pypto.tensor([8], FP32, format={})
    t[:] = x
    o[:] = t
"""
MARKED = """
@pypto.frontend.function
def marked(t: T([8], FP32, format=pypto.TileOpFormat.TILEOP_NZ)):
    return t * 2
@jit
def k(x: T([8], FP32), o: T([8], FP32)):
    o[:] = marked(x)
"""


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        (
            LOCAL.format("F.TILEOP_NZ"),
            "the format TILEOP_NZ of a local tensor is not available in this version",
            "F.TILEOP_NZ",
        ),
        (
            MARKED,
            "the format TILEOP_NZ of 't' of the function 'marked' is not available in this version",
            "x",
        ),
        (LOCAL.format("'NZ'"), "the format of a local tensor is a pypto.TileOpFormat", "'NZ'"),
        (LOCAL.format("1"), "the format of a local tensor is a pypto.TileOpFormat", "1"),
    ],
)
def test_the_fractal_order_inside_a_kernel(
    modules: Modules, text: str, message: str, caret: str
) -> None:
    (diagnostic,) = refusal(modules.make(text).k, X, X.clone()).diagnostics
    assert diagnostic.message == message
    assert diagnostic.span is not None and diagnostic.span.text() == caret
