"""Hello, world: add two tensors on the NPU's vector cores, or on the CPU where there is no NPU.

python samples/hello_world.py            run and compare with torch
python samples/hello_world.py --dump     also print the Ascend C that was compiled
"""

import torch

import pypto
from pypto.cli import sample_arguments


@pypto.frontend.jit
def add_kernel(
    input0: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
    input1: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
    out: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
):
    # The part of a tensor that a core works on at a time, one size per axis.
    pypto.set_vec_tile_shapes(1, 4, 1, 64)
    # A kernel returns nothing: it writes tensors that its caller made.
    out[:] = input0 + input1


def main() -> None:
    sample_arguments(__doc__)
    torch.manual_seed(0)
    input0 = torch.rand(1, 4, 1, 64)
    input1 = torch.rand(1, 4, 1, 64)
    out = torch.empty_like(input0)

    add_kernel(input0, input1, out)  # the first call compiles, further ones only run

    torch.testing.assert_close(out, input0 + input1, rtol=0, atol=0)
    print("input0 ", input0.flatten()[:4].tolist())
    print("input1 ", input1.flatten()[:4].tolist())
    print("out    ", out.flatten()[:4].tolist())
    print(f"hello_world: all {out.numel()} sums equal torch's")


if __name__ == "__main__":
    main()
