"""Options: given to the decorator, for a `with` block, or for the rest of the program.

The nearest one wins: inside the kernel, then the decorator, then `pypto.options(...)`, then the
setters. An option that this version accepts without effect says so once, as a PyptoWarning.
"""

import warnings

import torch

import pypto
from pypto.cli import sample_arguments

SHAPE = (32, 256)


@pypto.frontend.jit(
    host_options={},
    pass_options={},
    runtime_options={"run_mode": pypto.RunMode.SIM},  # the CPU twin, even where there is an NPU
    verify_options={},
    debug_options={},
)
def double(x: pypto.Tensor(SHAPE, pypto.DT_FP32), out: pypto.Tensor(SHAPE, pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(8, 64)
    out[:] = x * 2


@pypto.frontend.jit
def square(x: pypto.Tensor(SHAPE, pypto.DT_FP32), out: pypto.Tensor(SHAPE, pypto.DT_FP32)):
    out[:] = x * x  # sets no tile: takes that of its caller's scope, else a default


def main() -> None:
    sample_arguments(__doc__)
    x = torch.arange(32 * 256, dtype=torch.float32).reshape(SHAPE)
    out = torch.empty_like(x)

    double(x, out)
    torch.testing.assert_close(out, x * 2, rtol=0, atol=0)
    print("decorator: double runs with run_mode SIM")

    with pypto.options(vec_tile_shapes=[4, 128], runtime_options={"run_mode": 1}):
        square(x, out)
    torch.testing.assert_close(out, x * x, rtol=0, atol=0)
    print("scope:     square takes the tile (4, 128) of the block around its call")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pypto.set_codegen_options(support_dynamic_aligned=True, precision="fused")
    print("setter:    codegen options are", pypto.get_codegen_options())
    for warning in caught:
        print("warning:  ", warning.message)
    pypto.reset_options()

    try:
        pypto.set_codegen_options(support_dynamic_alinged=True)
    except pypto.error.PyptoError as error:
        print("\nA misspelt key is refused:\n")
        print(error)
    print("\noptions: done")


if __name__ == "__main__":
    main()
