"""Arguments that the option functions and ``jit`` do not have: where they belong."""

from __future__ import annotations

from typing import Any

import pytest

import pypto
from pypto.error import FeKeyError, FeTypeError, FeValueError

jit: Any = pypto.frontend.jit
TILE = (
    "vec_tile_shapes is a tile: pypto.set_vec_tile_shapes(...) inside the kernel, or "
    "pypto.options(vec_tile_shapes=...)"
)
STAGE = "compile_stage is an option of host_options: host_options={'compile_stage': ...}"


@pytest.mark.parametrize(
    ("arguments", "help"),
    [
        ({"vec_tile_shapes": [8]}, TILE),
        ({"compile_stage": 1}, STAGE),
        ({"runtime_option": {}}, "did you mean 'runtime_options'?"),
        (
            {"foo": 3},
            "known: host_options, codegen_options, pass_options, runtime_options, verify_options, "
            "debug_options, new_ir, create_new_logical_tensor",
        ),
    ],
)
def test_arguments_that_jit_has_not(arguments: dict[str, Any], help: str) -> None:
    with pytest.raises(FeKeyError) as caught:
        jit(**arguments)
    (name,) = arguments
    assert str(caught.value) == (
        f"ErrCode: F00006  pypto.frontend.jit has no argument '{name}'\n  help: {help}"
    )


def test_jit_of_no_function() -> None:
    with pytest.raises(FeTypeError) as caught:
        jit({"run_mode": 1})
    assert str(caught.value) == (
        "ErrCode: F00001  pypto.frontend.jit makes kernels of functions\n"
        "  expected  function\n"
        "  got       {'run_mode': 1} (dict)\n"
        "  help: options go by name: @pypto.frontend.jit(runtime_options={...})"
    )


@pytest.mark.parametrize(
    "setter",
    [*pypto._options.SETTERS, pypto.set_options, pypto.set_print_options],
    ids=lambda setter: setter.__name__,
)
def test_options_by_position(setter: Any) -> None:
    with pytest.raises(FeTypeError) as caught:
        setter({"run_mode": 1, "other": "x"})
    name = setter.__name__
    assert str(caught.value) == (
        f"ErrCode: F00001  pypto.{name} takes options by name\n"
        "  expected  keyword arguments\n"
        "  got       {'run_mode': 1, 'other': 'x'} (dict)\n"
        f"  help: write pypto.{name}(run_mode=1, other='x'), or pypto.{name}(**options)"
    )
    with pytest.raises(FeTypeError, match=rf"help: write pypto.{name}\(name=value\)$"):
        setter(3)


def test_an_option_of_another_family() -> None:
    with pytest.raises(FeKeyError) as caught:
        pypto.set_runtime_options(compile_stage=1)
    assert str(caught.value) == (
        f"ErrCode: F00006  key: runtime_options.compile_stage does not exist.\n  help: {STAGE}"
    )
    with pytest.raises(FeKeyError, match="vec_tile_shapes is a tile: "):
        jit(pass_options={"vec_tile_shapes": [8]})
    with pytest.raises(FeKeyError) as caught:
        pypto.options(run_mode=1)
    assert str(caught.value) == (
        "ErrCode: F00006  pypto.options has no argument 'run_mode'\n"
        "  help: run_mode is an option of runtime_options: runtime_options={'run_mode': ...}"
    )


def test_print_options_that_do_not_exist() -> None:
    with pytest.raises(FeKeyError) as caught:
        pypto.set_print_options(edgeitem=3)
    assert str(caught.value) == (
        "ErrCode: F00006  key: tensor_print.edgeitem does not exist.\n"
        "  help: did you mean 'tensor_print.edgeitems'?"
    )


def test_tiles_are_named_as_they_are_set() -> None:
    with pytest.raises(FeValueError) as caught:
        pypto.set_vec_tile_shapes(0, 8)
    assert str(caught.value) == (
        "ErrCode: F00002  the value of option pypto.set_vec_tile_shapes is not "
        "within the range\n"
        "  expected  sizes of 1..2147483647 (element 0)\n"
        "  got       0"
    )
    with pytest.raises(FeTypeError) as wrong:
        pypto.options(matrix_size="8")
    assert str(wrong.value) == (
        "ErrCode: F00001  option pypto.set_matrix_size has the wrong type\n"
        "  expected  list of int\n"
        "  got       '8' (str)"
    )
