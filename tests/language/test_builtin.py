"""Builtins, helper markers, elements, the platform."""

from __future__ import annotations

from typing import Any

import pytest

import pypto
from pypto.error import FeError, FeNotImplementedError, FeTypeError, FeValueError
from pypto.language.builtin import BUILTINS, Builtin
from pypto.language.function import Function

_ONLY_INSIDE = (
    "loop", "loop_unroll", "is_loop_begin", "is_loop_end", "set_semantic_label", "view", "assemble",
    "reshape", "permute", "transpose", "unsqueeze", "zeros", "ones", "full",
)  # fmt: skip


def test_every_builtin_is_public_and_itself() -> None:
    assert len({b.name for b in BUILTINS}) == len(BUILTINS) == 25
    for builtin in BUILTINS:
        assert getattr(pypto, builtin.name) is builtin
        assert builtin.doc and builtin.usage.startswith(f"pypto.{builtin.name}(")


@pytest.mark.parametrize("name", _ONLY_INSIDE)
def test_outside_a_kernel(name: str) -> None:
    builtin: Builtin = getattr(pypto, name)
    with pytest.raises(FeError) as caught:
        builtin(4)
    assert str(caught.value) == (
        f"ErrCode: F00007  pypto.{name} may only be used inside a kernel\n"
        "  help: decorate the function with @pypto.frontend.jit and call that"
    )


def test_the_others_work_outside() -> None:
    assert {b.name for b in BUILTINS if b.outside is None} == set(_ONLY_INSIDE)
    assert pypto.cond(True) is True
    assert pypto.get_cube_tile_shapes() == ([], [], [], False)
    assert pypto.get_conv_tile_shapes() == (None, None, False)


def test_bytes_of() -> None:
    assert [pypto.bytes_of(d) for d in (pypto.DT_FP32, pypto.DT_BF16, pypto.DT_INT4)] == [4, 2, 1]
    with pytest.raises(FeTypeError, match="bytes_of takes a dtype"):
        pypto.bytes_of("fp32")  # type: ignore[arg-type]


def test_element() -> None:
    element = pypto.Element(pypto.DT_FP16, 1.5)
    assert (element.dtype, element.value) == (pypto.DT_FP16, 1.5)
    assert pypto.element is pypto.Element
    assert repr(element) == "pypto.Element(pypto.DT_FP16, 1.5)"
    with pytest.raises(FeValueError):
        pypto.Element(pypto.DT_FP16, "1.5")  # type: ignore[arg-type]
    with pytest.raises(FeTypeError):
        pypto.Element("fp16", 1.5)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        element.value = 2  # type: ignore[misc]


def test_function_marks_a_helper() -> None:
    def helper(x: pypto.Tensor) -> Any:
        """Doc."""
        return x

    marked = pypto.frontend.function(helper)  # type: ignore[arg-type]
    assert isinstance(marked, Function)
    assert marked.function is helper
    assert marked.__name__ == "helper" and marked.__doc__ == "Doc."
    with pytest.raises(FeError, match="'helper' may only be called inside a kernel"):
        marked(1)
    with pytest.raises(FeTypeError, match="without parentheses"):
        pypto.frontend.function("helper")  # type: ignore[arg-type]


def test_platform() -> None:
    assert pypto.platform.npuarch == "DAV_2201"
    pypto.platform.npuarch = "dav-2201"
    with pytest.raises(FeNotImplementedError, match="DAV_3510"):
        pypto.platform.npuarch = "DAV_3510"
    with pytest.raises(FeTypeError):
        pypto.platform.npuarch = 3  # type: ignore[assignment]


def test_contract_values_of_enumerations() -> None:
    assert [m.value for m in pypto.CastMode] == list(range(7))
    assert pypto.CastMode.CAST_ODD == 6 and pypto.CastMode.CAST_ROUND == 2
    assert (pypto.RunMode.NPU, pypto.RunMode.SIM) == (0, 1)
    assert [s.value for s in pypto.CompStage] == list(range(6))
    assert [m.name for m in pypto.OpType] == ["EQ", "NE", "LT", "LE", "GT", "GE"]
    assert [m.name for m in pypto.StatusType] == ["DYN", "DYNAMIC", "STATIC"]
    assert pypto.DYN is not pypto.DYNAMIC and pypto.DYN.is_dynamic and pypto.DYNAMIC.is_dynamic
    assert not pypto.STATIC.is_dynamic
    assert pypto.DataType.DT_BOTTOM == 24 and pypto.DT_FP8E4M3 == 17
