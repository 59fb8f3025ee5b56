"""Parameters whose annotation names several kinds: ``Optional[int]``, ``int | float``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import pytest
import torch

from pypto.error import RtTypeError, RtValueError
from pypto.ir.signature import (
    ConstantSignature,
    ParameterSignature,
    ScalarSignature,
    plain_kinds,
)
from pypto.runtime.arguments import NO_DEFAULT, Parameter, classify
from tests.jit.support import Modules, watch

INT, FLOAT = ScalarSignature("int", True), ScalarSignature("float", True)
INT_ALONE, FLOAT_ALONE = ScalarSignature("int", False), ScalarSignature("float", False)
NONE = ConstantSignature(None)
OPTIONAL_INT: Any = Optional[int]  # noqa: UP045
OPTIONAL_FLOAT: Any = Optional[float]  # noqa: UP045
UNION: Any = Union[int, str]  # noqa: UP007


def one(annotation: object, value: object, default: object = NO_DEFAULT) -> ParameterSignature:
    parameter = Parameter("n", annotation, default, "kernel.py:4:20")
    return classify((parameter,), (value,)).parameters[0]


def test_kinds() -> None:
    none = type(None)
    assert plain_kinds(int) == (int,)
    assert plain_kinds(OPTIONAL_INT) == plain_kinds(int | None) == (int, none)
    assert plain_kinds(UNION) == (int, str)
    others: tuple[object, ...] = (list[int], int | list[int], int | torch.Tensor, Any, dict, "int")
    for other in (*others, None, none):
        assert plain_kinds(other) == ()


@pytest.mark.parametrize(
    ("annotation", "value", "signature"),
    [
        (OPTIONAL_INT, None, NONE),
        (OPTIONAL_INT, 3, INT),
        (int | None, True, INT),
        (int | None, np.int64(3), INT),
        (None | int, -(2**63), INT),
        (OPTIONAL_FLOAT, None, NONE),
        (OPTIONAL_FLOAT, 2, FLOAT),
        (float | None, np.float32(0.5), FLOAT),
        (bool | None, True, ConstantSignature(True)),
        (str | None, "sum", ConstantSignature("sum")),
        (UNION, 3, INT),
        (UNION, "sum", ConstantSignature("sum")),
        (float | str | None, 3, FLOAT),
        # A kind beside another one takes that kind alone: the launcher must tell them apart.
        (int | float, 3, INT_ALONE),
        (int | float, 0.5, FLOAT_ALONE),
        (bool | int, 3, INT_ALONE),
        (bool | int, True, ConstantSignature(True)),
        (bool | float | None, 2, FLOAT_ALONE),
    ],
)
def test_what_is_taken(annotation: object, value: object, signature: ParameterSignature) -> None:
    assert one(annotation, value) == signature


def test_none_as_the_default() -> None:
    for annotation in (int, float, bool, str):
        assert one(annotation, None, None) == NONE
        with pytest.raises(RtTypeError):
            one(annotation, None)


NOT_INT = "is no integer"


@pytest.mark.parametrize(
    ("annotation", "value", "message", "expected", "got", "help"),
    [
        (OPTIONAL_INT, 2.5, NOT_INT, "an int or None", "float 2.5", "int(n) cuts the fraction off"),
        (int | None, "two", NOT_INT, "an int or None", "str 'two'", None),
        (float | None, "two", "is no number", "a float or None", "str 'two'", None),
        (
            bool | None, 1, "is no bool", "True or False or None", "int 1", "bool(n) is its truth",
        ),
        (str | None, 1, "is no string", "a str or None", "int 1", None),
        (
            UNION, 2.5, "is no integer and no string", "an int or a str", "float 2.5",
            "int(n) cuts the fraction off",
        ),
        (int | float, None, "is no integer and no number", "an int or a float", "None", None),
        (
            int | None, torch.tensor(2), "is a tensor where a Python value belongs",
            "an int or None", "tensor of int64, shape [], on cpu",
            "n.item() is the number in a tensor of one element",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(
    annotation: object, value: object, message: str, expected: str, got: str, help: str | None
) -> None:
    with pytest.raises(RtTypeError) as caught:
        one(annotation, value)
    assert str(caught.value) == (
        f"ErrCode: F00001  argument 'n' {message}\n"
        f"  expected  {expected}\n"
        f"  got       {got}\n"
        "  annotated at kernel.py:4:20" + (f"\n  help: {help}" if help else "")
    )


@pytest.mark.parametrize("annotation", [OPTIONAL_INT, int | str, int | float])
def test_an_int_beyond_64_bits(annotation: object) -> None:
    with pytest.raises(RtValueError) as caught:
        one(annotation, 2**63)
    assert str(caught.value) == (
        "ErrCode: F00002  argument 'n' does not fit 64 bits\n"
        "  expected  an int from -2**63 to 2**63 - 1\n"
        "  got       int 9223372036854775808\n"
        "  annotated at kernel.py:4:20"
    )


KERNEL = """
from typing import Optional

@jit
def shift(x: T([8], FP32), o: T([8], FP32), n: Optional[int] = None, s: float | str = 3.0):
    y = x if n is None else x + n
    o[:] = y - 811 if isinstance(s, str) else y * s + 811
"""


def test_calls(tmp_path: Path) -> None:
    """None and a number are two binaries; numbers share one, that of ``compile``, and stay warm."""
    kernel = Modules(tmp_path).make(KERNEL).shift
    x, out = torch.arange(8.0), torch.empty(8)
    assert kernel.compile().state == "compiled"
    with watch() as seen:
        kernel(x, out)
        assert torch.equal(out, x * 3 + 811)
    assert seen.kernels == 0
    for n in (None, 3):
        kernel(x, out, n)
    kernel(x, out, 3, "minus")
    assert torch.equal(out, x + 3 - 811)
    with watch() as seen:
        for n in (None, 5, -7, True, None):
            kernel(x, out, n, 0.5)
            assert torch.equal(out, (x + (n or 0)) * 0.5 + 811)
    assert seen.commands == []
    for wrong in (2.5, "5", 2**63, torch.tensor(5)):
        for _ in range(2):
            with pytest.raises((RtTypeError, RtValueError)) as caught:
                kernel(x, out, wrong)
            assert "argument 'n'" in str(caught.value).splitlines()[0]
        kernel(x, out, 5)
