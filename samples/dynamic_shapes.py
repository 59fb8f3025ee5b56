"""Sizes that change from call to call: DYNAMIC axes, and sizes read inside a kernel.

An axis of an annotation is a number (checked at each call), STATIC (any size; each new one
compiles) or DYNAMIC (any size; all of them share one binary).
"""

import torch

import pypto
from pypto.cli import sample_arguments


@pypto.frontend.jit
def scale_rows(
    x: pypto.Tensor([pypto.DYNAMIC, pypto.DYNAMIC], pypto.DT_FP32),
    weight: pypto.Tensor([pypto.DYNAMIC, 1], pypto.DT_FP32),
    out: pypto.Tensor([pypto.DYNAMIC, pypto.DYNAMIC], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(16, 64)
    # weight has one value a row; the axis of size 1 broadcasts, as in torch. That x and weight have
    # equally many rows cannot be known here: it is checked at each call.
    out[:] = x * weight


def main() -> None:
    sample_arguments(__doc__)
    torch.manual_seed(0)
    for rows, columns in [(1, 1), (16, 64), (17, 65), (5, 1000), (0, 64)]:
        x = torch.randn(rows, columns)
        weight = torch.randn(rows, 1)
        out = torch.empty_like(x)
        scale_rows(x, weight, out)
        torch.testing.assert_close(out, x * weight, rtol=0, atol=0)
        print(f"{rows:3} x {columns:<5} equal to torch")

    try:
        scale_rows(torch.zeros(4, 8), torch.zeros(3, 1), torch.zeros(4, 8))
    except pypto.error.PyptoError as error:
        print("\nA call whose sizes do not fit is refused before anything is written:\n")
        print(error)
    else:
        raise AssertionError("sizes that do not fit were accepted")
    print("\ndynamic_shapes: done")


if __name__ == "__main__":
    main()
