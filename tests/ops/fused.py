"""Kernels that users write as several operations, and that must become one stage."""

from __future__ import annotations

from dataclasses import dataclass

import torch

__all__ = ["FUSED", "Fused"]

ROWS, COLS = 6, 256


@dataclass(frozen=True)
class Fused:
    """``body`` over ``x`` (and ``y``, ``z`` of its shape), weights ``g``, ``b``, outputs ``o`` (of
    ``out``) and, where ``scales``, ``s``. ``casts``: how many a step needs in FP32 and in FP16."""

    params: str
    body: str
    casts: tuple[int, int]
    out: str | None = None

    def text(self, name: str, dtype: str) -> str:
        shapes = {"g": f"[{COLS}]", "b": f"[{COLS}]", "s": "[D, 1]"}
        dtypes = {"s": "FP32", "o": self.out or dtype}
        types = {
            p: f"pypto.Tensor({shapes.get(p, f'[D, {COLS}]')}, pypto.DT_{dtypes.get(p, dtype)})"
            for p in self.params
        }
        params = ", ".join(f"{p}: {types[p]}" for p in self.params)
        lines = "".join(f"    {line}\n" for line in self.body.strip().splitlines())
        return f"def {name}({params}):\n{lines}"

    def values(self, dtype: torch.dtype) -> list[torch.Tensor]:
        torch.manual_seed(3)
        made = {p: torch.randn(ROWS, COLS).to(dtype) for p in "xyz"}
        made |= {p: torch.randn(COLS).to(dtype) for p in "gb"}
        out = dtype if self.out is None else torch.int8
        made |= {"o": torch.zeros(ROWS, COLS, dtype=out), "s": torch.zeros(ROWS, 1)}
        return [made[p] for p in self.params]


FUSED = {
    "softmax": Fused(
        "xo",
        "e = pypto.exp(x - pypto.amax(x, -1, keepdim=True))\n"
        "o[:] = e / pypto.sum(e, -1, keepdim=True)",
        (0, 6),
    ),
    "log_softmax": Fused(
        "xo",
        "d = x - pypto.amax(x, -1, keepdim=True)\n"
        "o[:] = d - pypto.log(pypto.sum(pypto.exp(d), -1, keepdim=True))",
        (0, 6),
    ),
    "layer_norm": Fused(
        "xgbo",
        "c = x - pypto.sum(x, -1, keepdim=True) * (1.0 / x.shape[1])\n"
        "v = pypto.sum(c * c, -1, keepdim=True) * (1.0 / x.shape[1])\n"
        "o[:] = c * pypto.rsqrt(v + 1e-5) * g + b",
        (0, 8),
    ),
    "rms_norm": Fused(
        "xgo",
        "v = pypto.sum(x * x, -1, keepdim=True) * (1.0 / x.shape[1])\n"
        "o[:] = x * pypto.rsqrt(v + 1e-6) * g",
        (0, 6),
    ),
    "swiglu": Fused("xyo", "o[:] = x * pypto.sigmoid(x) * y", (0, 2)),
    "gelu": Fused(
        "xo",
        "u = pypto.tanh(0.7978845608 * (x + 0.044715 * x * x * x))\no[:] = 0.5 * x * (1.0 + u)",
        (0, 6),
    ),
    "rotary": Fused(
        "xyzo",
        "h = x.shape[1] // 2\n"
        "p, q = x[:, :h], x[:, h:]\n"
        "o[:, :h] = p * y[:, :h] - q * z[:, :h]\n"
        "o[:, h:] = q * y[:, h:] + p * z[:, h:]",
        (0, 0),
    ),
    "quantize": Fused(
        "xos",
        "f = pypto.cast(x, pypto.DT_FP32)\n"
        "scale = pypto.amax(pypto.abs(f), -1, keepdim=True) * (1.0 / 127)\n"
        "s[:] = scale\n"
        "o[:] = pypto.cast(pypto.clip(pypto.round(f / scale), -128, 127), pypto.DT_INT8)",
        (5, 6),
        out="INT8",
    ),
}
