"""Several kernels from one function: a flag that is known at compile time selects the branch.

``add_core`` is an ordinary function. Both kernels call it, each with another flag, and the compiler
reads it as part of the kernel: ``add_kernel_false`` holds no trace of the addition of ``val``. The
first axis is DYNAMIC, so one binary serves every size; ``val`` is an argument at run time, so one
binary serves every value.
"""

import torch

import pypto
from pypto.cli import sample_arguments


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


def add_add1flag_false(input_data0, input_data1, val=0):
    output_data = torch.empty_like(input_data0)
    add_kernel_false(input_data0, input_data1, output_data, val)
    return output_data

def add_add1flag_true(input_data0, input_data1, val=0):
    output_data = torch.empty_like(input_data0)
    add_kernel_true(input_data0, input_data1, output_data, val)
    return output_data


def main() -> None:
    sample_arguments(__doc__)
    torch.manual_seed(0)
    for rows in (1, 3, 32):
        for val in (0, 1, -7):
            input_data0 = torch.rand(rows, 4, 1, 64)
            input_data1 = torch.rand(rows, 4, 1, 64)
            without = add_add1flag_false(input_data0, input_data1, val)
            with_val = add_add1flag_true(input_data0, input_data1, val)
            sums = input_data0 + input_data1
            torch.testing.assert_close(without, sums, rtol=0, atol=0)
            torch.testing.assert_close(with_val, sums + val, rtol=0, atol=0)
            print(f"rows {rows:2}  val {val:2}  {without[0, 0, 0, 0]:.4f}  {with_val[0, 0, 0, 0]:.4f}")
    print("multi_jit: both kernels equal torch for every size and value")


if __name__ == "__main__":
    main()
