"""The programs of the user document on compiling and executing, as it prints them."""

from __future__ import annotations

from typing import Any

import torch

import pypto
from tests.jit.support import Modules, entries, watch

IMPORTS = "import pypto\nimport torch\n"

ONE_INPUT = """\
def add_kernel(input: pypto.Tensor, out: pypto.Tensor):
    # Tiling setting
    pypto.set_vec_tile_shapes(1, 4, 1, 64)
    out[:] = input + 1
"""

TWO_INPUTS = """\
def add_kernel(input0: pypto.Tensor, input1: pypto.Tensor, out: pypto.Tensor):
     # Tiling setting
     pypto.set_vec_tile_shapes(1, 4, 1, 64)
     out[:] = input0 + input1
"""

DECORATED = """\
@pypto.frontend.jit
def add_kernel(
    input0: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
    input1: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
    out: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
):
     # Tiling setting
     pypto.set_vec_tile_shapes(1, 4, 1, 64)
     out[:] = input0 + input1
"""

CONDITIONAL = """\
@pypto.frontend.jit(
    host_options={},
    pass_options={},
    runtime_options={},
    verify_options={},
    debug_options={}
)
def advanced_function(input0, input1):
    # 实现自定义计算逻辑
    pass
"""

SETTING = "pypto.set_codegen_options(support_dynamic_aligned=True)\n"

SEVERAL = """\
def add_core(input0: pypto.Tensor, input1: pypto.Tensor, output: pypto.Tensor, val: int, add1_flag: bool = False):
    pypto.set_vec_tile_shapes(1, 4, 1, 64)
    if add1_flag:
        t3 = input0 + input1
        output[:] = t3 + val
    else:
        output[:] = input0 + input1

@pypto.frontend.jit
def add_kernel_true(
    input0: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    input1: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    output: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    val: int
):
    add_core(input0, input1, output, val, True)


@pypto.frontend.jit
def add_kernel_false(
    input0: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    input1: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    output: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
    val: int
):
    add_core(input0, input1, output, val, False)


#使用这两个函数
def add_add1flag_false(input_data0, input_data1, val=0):
    output_data = torch.empty_like(input_data0)
    add_kernel_false(input_data0, input_data1, output_data, val)
    return output_data

def add_add1flag_true(input_data0, input_data1, val=0):
    output_data = torch.empty_like(input_data0)
    add_kernel_true(input_data0, input_data1, output_data, val)
    return output_data
"""  # noqa: E501

USE = """
add_add1flag_false(input_data0, input_data1, val)
add_add1flag_true(input_data0, input_data1, val)
"""


def _module(modules: Modules, text: str) -> Any:
    return modules.make("", raw=(IMPORTS + text).encode())


def _tensors(rows: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    count = rows * 256
    first = torch.arange(float(count)).reshape(rows, 4, 1, 64)
    return first, 0.5 - first


def test_a_plain_function_becomes_a_kernel_by_the_call_of_jit(modules: Modules) -> None:
    x, y = _tensors(2)  # not the shape of the decorated kernel below, which is the same otherwise
    one = pypto.frontend.jit(_module(modules, ONE_INPUT).add_kernel)
    out = torch.empty_like(x)
    one(x, out)
    assert torch.equal(out, x + 1)
    two = pypto.frontend.jit(_module(modules, TWO_INPUTS).add_kernel)
    two(x, y, out)
    assert torch.equal(out, x + y)


def test_first_call_compiles_and_later_calls_use_the_binary(modules: Modules) -> None:
    module = _module(modules, DECORATED)
    x, y = _tensors()
    out = torch.empty_like(x)
    before = entries()
    with watch() as first:
        module.add_kernel(x, y, out)
    assert torch.equal(out, x + y)
    assert len(entries() - before) == first.kernels == 1
    with watch() as later:
        for shift in range(3):
            module.add_kernel(x + shift, y, out)
            assert torch.equal(out, x + shift + y)
    assert (later.commands, len(entries() - before)) == ([], 1)


def test_options_of_the_decorator(modules: Modules) -> None:
    function = _module(modules, CONDITIONAL).advanced_function
    assert repr(function) == "<pypto kernel advanced_function>"
    x, y = _tensors()
    # The placeholder has no computation yet, and says so when it is called.
    with watch() as seen:
        try:
            function(x, y)
        except pypto.PyptoError as error:
            message = str(error).splitlines()[0]
    assert message == (
        "ErrCode: F00007  the kernel 'advanced_function' writes none of its parameters"
    )
    assert seen.commands == []


def test_options_by_function(options: object, modules: Modules) -> None:
    before = pypto.get_codegen_options()
    _module(modules, SETTING)
    after = pypto.get_codegen_options()
    assert after == {**before, "support_dynamic_aligned": True}


def test_several_kernels_in_one_program(modules: Modules) -> None:
    module = _module(modules, SEVERAL)
    before = entries()
    for rows, val in ((1, 0), (2, 3), (5, -7)):
        module.input_data0, module.input_data1 = _tensors(rows)
        module.val = val
        exec(USE, vars(module))
        x, y = module.input_data0, module.input_data1
        assert torch.equal(module.add_add1flag_true(x, y, val), x + y + val)
        assert torch.equal(module.add_add1flag_false(x, y, val), x + y)
        assert torch.equal(module.add_add1flag_true(x, y), x + y)
    # One binary for each of the two kernels: rows and val are arguments of the call.
    assert len(entries() - before) == 2
