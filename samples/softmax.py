"""A fused row reduction: five operations, one pass over memory.

The kernel is written as its formula. The compiler puts the five operations into one stage: a core
reads some whole rows, keeps every intermediate on chip, and writes the result. `--dump` shows it.
"""

import torch

import pypto
from pypto.cli import sample_arguments


@pypto.frontend.jit
def softmax_kernel(
    x: pypto.Tensor([pypto.DYNAMIC, 300], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, 300], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(8, 64)  # a hint: a reduction widens it to whole rows
    row_max = pypto.amax(x, dim=-1, keepdim=True)  # subtracted so that exp cannot overflow
    sub = x - row_max
    exp = pypto.exp(sub)
    esum = pypto.sum(exp, dim=-1, keepdim=True)
    out[:] = exp / esum


def main() -> None:
    sample_arguments(__doc__)
    torch.manual_seed(0)
    for rows in (1, 8, 1000):  # the first axis is DYNAMIC: one compilation serves all of them
        x = torch.randn(rows, 300) * 20
        out = torch.empty_like(x)
        softmax_kernel(x, out)
        torch.testing.assert_close(out, torch.softmax(x, dim=-1))
        worst = (out.sum(dim=-1) - 1).abs().max().item()
        print(
            f"rows {rows:4}: equal to torch.softmax; row sums differ from 1 by at most {worst:.1e}"
        )
    print("softmax: done")


if __name__ == "__main__":
    main()
