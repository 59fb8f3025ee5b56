"""The operations as a page of the documentation (``docs/operations.md``), with examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto.ir.dtype import DataType
from pypto.ops import registry
from pypto.ops.examples import EXAMPLES
from pypto.ops.spec import REQUIRED, OpSpec

__all__ = ["operations_page"]

_INTRODUCTION = """\
# Operations

This page is made from the registry of operations; `python -m pypto.ops.document` prints it.

An operation is called as `pypto.NAME(...)` inside a kernel; its first tensor may stand in front, as
in `x.exp()`. Operands of two shapes are broadcast as NumPy and torch do. Numbers beside a tensor
are taken in its dtype. Operands have one dtype: nothing is promoted silently.

*Meaning* is a torch expression. The number behind a dtype is how far a result may be from it,
computed in FP64 and rounded once, relative to the result; without one they agree to the bit. FP16
and BF16 are computed in FP32 and rounded once: one unit in the last place at most. Integers wrap.
"""
_TITLES = {
    "arithmetic": "Arithmetic", "functions": "Functions", "rounding": "Rounding and signs",
    "exponential": "Exponentials, logarithms and roots",
    "trigonometric": "Circular and hyperbolic functions", "gaussian": "Error functions",
    "comparison": "Comparisons", "logical": "Logical operations", "predicate": "Predicates",
    "selection": "Choosing", "bitwise": "Bits", "division": "Division with a remainder",
    "nn": "Neural networks", "reduction": "Reductions",
    "movement": "Moving elements", "creation": "Tensors made of positions",
    "quantization": "Quantization", "indexing": "Indexing",
}  # fmt: skip
# What the examples are given, where it is not _FLOATS.
_FLOATS = ("DT_FP32", [-1.5, -0.25, 0.5, 2.0], [0.5, 2.0, -0.25, 3.0])
_INPUTS: dict[str, tuple[str, list[float], list[float]]] = {
    "bitwise": ("DT_INT16", [12, -7, 1, 255], [10, 3, 4, 2]),
    "predicate": ("DT_FP32", [float("-inf"), -0.0, float("nan"), 2.0], []),
    "division": ("DT_INT32", [7, -7, 7, -9], [2, 2, -2, 3]),
    "comparison": ("DT_FP32", [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 4.0]),
    "logical": ("DT_INT32", [0, 0, 3, -1], [0, 2, 0, 5]),
}
# How an operation is called, where it is not by its operands alone.
_CALLS = {
    "axpy_": "pypto.axpy_(x, y, 2.0)", "cast": "pypto.cast(x, pypto.DT_INT32)",
    "pow": "pypto.pow(x, 2)",
    "round": "pypto.round(x, 1)", "clip": "pypto.clip(x, -1.0, 1.0)",
    "where": "pypto.where(x > y, x, y)", "fmod": "pypto.fmod(x, 2.0)", "prelu": "",
    "softmax": "pypto.softmax(x, -1)",
}  # fmt: skip


def _reduces(spec: OpSpec) -> bool:
    return any(p.name == "keepdim" for p in spec.params)


def _groups() -> dict[str, list[OpSpec]]:
    found: dict[str, list[OpSpec]] = {}
    for spec in map(registry.get, registry.names()):
        found.setdefault(spec.group, []).append(spec)
    return found


def _number(value: float) -> str:
    return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e+")


def _dtypes(spec: OpSpec) -> str:
    """The dtypes, those that are not exact with their error."""
    parts = []
    for dtype in sorted(spec.dtypes):
        relative = spec.tolerance.get(dtype, (0.0, 0.0))[0]
        parts.append(f"{dtype} ({_number(relative)})" if relative else str(dtype))
    return ", ".join(parts)


def _entry(spec: OpSpec) -> str:
    lines = [f"### {spec.name}", "", f"`{spec.usage}`", "", spec.doc, ""]
    lines.append(f"- Meaning: `{spec.torch}`")
    lines.append(f"- Dtypes: {_dtypes(spec)}")
    if spec.operator is not None:
        lines.append(f"- Operator: `{spec.operator}`")
    lines += [f"- {note}" for note in spec.notes]
    return "\n".join([*lines, ""])


def _call(spec: OpSpec) -> str:
    if spec.name in _CALLS:
        return _CALLS[spec.name]
    if any(p.kind == "dims" for p in spec.params):
        return f"pypto.{spec.name}(x, -1)"
    operands = [p for p in spec.params if p.kind in ("tensor", "operand")]
    needed = sum(p.default is REQUIRED for p in operands)
    return f"pypto.{spec.name}({', '.join('xyz'[:needed])})"


def _inputs(group: str) -> tuple[str, list[float], list[float]]:
    return _INPUTS.get(group, _FLOATS)


def _result(spec: OpSpec, dtype: DataType) -> DataType:
    booleans = ("comparison", "logical", "predicate")
    if spec.group in booleans:
        return DataType.DT_BOOL
    return DataType.DT_INT32 if spec.name in ("cast", "argmax", "argmin") else dtype


def _example(group: str, specs: list[OpSpec]) -> str:
    """A kernel that uses the operations of a group, and what it prints."""
    name, x, y = _inputs(group)
    dtype = DataType[name]
    used = [s for s in specs if dtype in s.dtypes and _call(s)]
    used.sort(key=lambda s: s.inplace is not None)  # what changes x comes last
    size = {s.name: 1 if _reduces(s) else len(x) for s in used}
    params = ["x: X", "y: X"] if y else ["x: X"]
    params += [f"{_variable(s)}: {_annotation(_result(s, dtype), size[s.name])}" for s in used]
    lines = ["import torch", "", "import pypto", "", f"X = pypto.Tensor([{len(x)}], pypto.{name})"]
    lines += ["", "", "@pypto.frontend.jit", f"def {group}("]
    lines += [f"    {p}," for p in params] + ["):"]
    lines += [f"    {_variable(s)}[:] = {_call(s)}" for s in used]
    lines += ["", ""]
    for label, values in (("x", x), ("y", y)):
        if values:
            lines.append(f"{label} = torch.tensor({_literal(values)}, dtype=torch.{_torch(dtype)})")
    lines.append("results = {")
    lines += [
        f'    "{s.name}": torch.empty({size[s.name]}, dtype=torch.{_torch(_result(s, dtype))}),'
        for s in used
    ]
    lines += ["}", f"{group}(x, {'y, ' if y else ''}*results.values())"]
    lines += [
        "for name, result in results.items():",
        "    print(name, [round(v, 4) for v in result.tolist()])",
    ]
    return "\n".join(["```python", *lines, "```", "", "```text", *_printed(group, used), "```", ""])


def _variable(spec: OpSpec) -> str:
    return f"{spec.name}_"


def _annotation(dtype: DataType, size: int) -> str:
    return f"pypto.Tensor([{size}], pypto.{dtype})"


def _torch(dtype: DataType) -> str:
    return dtype.torch_name or ""


def _literal(values: Iterable[float]) -> str:
    parts = [f'float("{v}")' if v != v or abs(v) == float("inf") else repr(v) for v in values]
    return f"[{', '.join(parts)}]"


def _printed(group: str, used: list[OpSpec]) -> list[str]:
    """What the example prints, by the meanings of the operations."""
    import torch

    name, x, y = _inputs(group)
    dtype = DataType[name]
    kind = getattr(torch, _torch(dtype))
    tensors = {"x": torch.tensor(x, dtype=kind), "y": torch.tensor(y or x, dtype=kind)}
    lines = []
    for spec in used:
        result = _meaning(spec, tensors, torch)
        values = [round(v, 4) for v in result.reshape(-1).tolist()]
        lines.append(f"{spec.name} {values}")
    return lines


def _meaning(spec: OpSpec, tensors: dict[str, Any], torch: Any) -> Any:
    """The result of the example's call."""
    special: dict[str, Any] = {
        "axpy_": lambda x, y: x + 2.0 * y, "cast": lambda x, y: x.to(torch.int32),
        "pow": lambda x, y: x**2,
        "round": lambda x, y: torch.round(x, decimals=1),
        "clip": lambda x, y: x.clamp(-1.0, 1.0), "where": lambda x, y: torch.where(x > y, x, y),
        "fmod": lambda x, y: torch.fmod(x, 2.0),
        "softmax": lambda x, y: torch.softmax(x, -1),
    }  # fmt: skip
    if spec.name in special:
        return special[spec.name](tensors["x"], tensors["y"])
    names = [p.name for p in spec.params if p.kind in ("tensor", "operand")]
    values = {p.name: p.default for p in spec.params if p.default is not REQUIRED}
    values |= dict(zip(names, (tensors["x"], tensors["y"]), strict=False)) if len(names) > 1 else {}
    values[names[0]] = tensors["x"]
    for param in spec.params:
        if param.default is not REQUIRED:
            values[param.name] = param.default
        elif param.kind == "dims":
            values[param.name] = -1
    return eval(spec.torch, {"torch": torch, **values})


def _written(text: str, output: str) -> str:
    """An example that was written by hand."""
    return f"```python\n{text}```\n\n```text\n{output}```\n"


def operations_page() -> str:
    """The text of ``docs/operations.md``."""
    parts = [_INTRODUCTION]
    for group, specs in _groups().items():
        parts.append(f"## {_TITLES.get(group, group)}\n")
        parts += [_entry(spec) for spec in specs]
        given = EXAMPLES.get(group)
        parts.append(_written(*given) if given else _example(group, specs))
    return "\n".join(parts)


if __name__ == "__main__":
    print(operations_page(), end="")
