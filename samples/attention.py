"""Loops: attention over a sequence whose length is known at the call only, a few queries at a time.

The outer loop goes over blocks of queries. Its iterations are independent, so the cores share them.
The inner loop goes over the keys and carries a running maximum, a running sum and the output
accumulated so far, as online softmax does: no row of scores is ever stored. `lengths` says how many
keys each block of queries sees; it is read on the device. `--dump=tile` shows which loop the cores
share.
"""

import torch

import pypto
from pypto.cli import sample_arguments

WIDTH, BLOCK = 64, 8
F32 = pypto.DT_FP32
KEYS = pypto.frontend.dynamic("keys")  # the same in both tensors: each call is checked


@pypto.frontend.jit
def attention_kernel(
    q: pypto.Tensor([pypto.DYNAMIC, WIDTH], F32),
    k: pypto.Tensor([KEYS, WIDTH], F32),
    v: pypto.Tensor([KEYS, WIDTH], F32),
    lengths: pypto.Tensor([pypto.DYNAMIC], pypto.DT_INT32),
    out: pypto.Tensor([pypto.DYNAMIC, WIDTH], F32),
):
    for i in pypto.loop(pypto.ceildiv(q.shape[0], BLOCK)):
        rows = q[i * BLOCK : (i + 1) * BLOCK, :]  # the last block may have fewer
        largest = pypto.full([BLOCK, 1], -1e30, F32)
        total = pypto.zeros(BLOCK, 1)
        gathered = pypto.zeros(BLOCK, WIDTH)
        for j in pypto.loop(pypto.min(lengths[i], k.shape[0])):
            score = pypto.sum(rows * k[j : j + 1, :], dim=-1, keepdim=True)
            raised = pypto.maximum(largest, score)
            kept, new = pypto.exp(largest - raised), pypto.exp(score - raised)
            total[:] = total * kept + new
            gathered[:] = gathered * kept + new * v[j : j + 1, :]
            largest[:] = raised
        out[i * BLOCK : (i + 1) * BLOCK, :] = gathered / total


def expected(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    seen = lengths.repeat_interleave(BLOCK)[: len(q), None] > torch.arange(len(k))
    return (q @ k.T).masked_fill(~seen, float("-inf")).softmax(-1) @ v


def main() -> None:
    sample_arguments(__doc__)
    torch.manual_seed(0)
    for queries, keys in ((8, 16), (21, 50), (64, 33)):
        q = torch.randn(queries, WIDTH)
        k, v = torch.randn(2, keys, WIDTH)
        blocks = -(-queries // BLOCK)
        lengths = torch.randint(1, keys + 1, (blocks,), dtype=torch.int32)
        out = torch.empty_like(q)
        attention_kernel(q, k, v, lengths, out)
        torch.testing.assert_close(out, expected(q, k, v, lengths), rtol=1e-4, atol=1e-5)
        print(f"{queries:2} queries, {keys:2} keys: equal to torch")
    print("attention: done")


if __name__ == "__main__":
    main()
