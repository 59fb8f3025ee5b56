"""Small texts around the lines that a test is about."""

from __future__ import annotations

from pathlib import Path

from pypto import target
from pypto.lint import check

__all__ = ["HEAD", "KERNELS", "file", "found", "kernel", "shown"]

KERNELS = Path(__file__).parents[1] / "twin" / "complete"

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'

_KERNEL = """\
extern "C" __global__ %s void example(GM_ADDR x, GM_ADDR y, uint32_t n)
{
    TPipe pipe;
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer((__gm__ float*)x, n);
    gy.SetGlobalBuffer((__gm__ float*)y, n);
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 8192);
    LocalTensor<float> a = buf.Get<float>(), b = a[1024];
%s
}
"""


def file(text: str) -> str:
    """``text`` behind the usual head."""
    return HEAD + text


def kernel(body: str, kind: str = "__vector__", before: str = "") -> str:
    """A kernel around ``body``, which finds ``gx``, ``gy``, ``a``, ``b``, ``n`` and ``pipe``."""
    lines = "\n".join(f"    {line}" if line else "" for line in body.strip("\n").split("\n"))
    return file(before + _KERNEL % (kind, lines))


def shown(text: str) -> str:
    """All that is found in ``text``, as it is printed."""
    return check(text, "example.cpp", target.get()).render()


def found(text: str) -> list[str]:
    """The rules that ``text`` breaks, in its order."""
    return [problem.rule for problem in check(text, "example.cpp", target.get()).problems]
