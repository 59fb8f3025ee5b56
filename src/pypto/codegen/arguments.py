"""The by-value argument struct of a kernel: which sizes and scalars it holds, under which names."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from pypto.codegen.names import Names, identifier
from pypto.codegen.values import literal, narrowed
from pypto.codegen.views import FieldView
from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, Symbol, as_int

__all__ = ["Arguments", "Derived"]


@dataclass(frozen=True, slots=True)
class Derived:
    """A field that the launch code chooses: a step size, a pitch or the width of a strip.

    ``kind``: ``step``, ``width`` or ``pitch``; ``plan`` numbers the plan it belongs to.
    """

    kind: str
    plan: int


@dataclass(slots=True)
class Arguments:
    """Collects the fields of ``Args`` while code is generated; equal expressions share a field."""

    names: Names = dataclasses.field(default_factory=Names)
    fields: list[FieldView] = dataclasses.field(default_factory=list)
    sources: dict[str, Expr | Derived] = dataclasses.field(default_factory=dict)
    _known: dict[tuple[str, Expr], str] = dataclasses.field(default_factory=dict)

    def size(self, expr: Expr, wanted: str, dtype: str = "int64_t") -> str:
        """C++ of an integer: a number when it is known, else a field of ``args_``."""
        known = as_int(expr)
        if known is not None:
            return str(known)
        return f"args_.{self.field(expr, wanted, dtype)}"

    def scalar(self, expr: Expr, dtype: DataType) -> str:
        """C++ of a scalar operand in the type of ``dtype``."""
        if isinstance(expr, Const):
            return literal(expr.value, dtype)
        if dtype.is_float:
            name = self.field(expr, _scalar_name(expr), "float")
            text = f"args_.{name}"
            return text if dtype == DataType.DT_FP32 else narrowed(text, dtype)
        name = self.field(expr, _scalar_name(expr), dtype.cpp)
        return f"args_.{name}"

    def derived(self, kind: str, plan: int) -> str:
        """A field that the launch code computes; returns its name."""
        name = self.names.plain(kind)
        comment = {
            "step": "how much of the space one step takes",
            "width": "how many columns of the space one step takes",
            "pitch": "elements from one row to the next in on-chip memory",
        }[kind]
        self.fields.append(FieldView("uint32_t", name, comment))
        self.sources[name] = Derived(kind, plan)
        return name

    def workspace(self, wanted: str, comment: str) -> str:
        """A field that says where in the workspace something lies, in bytes; returns its name."""
        name = self.names.plain(wanted)
        self.fields.append(FieldView("uint64_t", name, comment))
        return name

    def field(self, expr: Expr, wanted: str, dtype: str) -> str:
        """The name of the field that holds ``expr``, which is known at launch."""
        key = (dtype, expr)
        if key not in self._known:
            name = self.names.plain(wanted)
            self._known[key] = name
            self.fields.append(FieldView(dtype, name, str(expr)))
            self.sources[name] = expr
        return self._known[key]


def _scalar_name(expr: Expr) -> str:
    inner = expr
    while not isinstance(inner, Symbol) and getattr(inner, "op", "") in ("to_float", "to_int"):
        inner = inner.args[0]  # type: ignore[attr-defined]
    named = isinstance(inner, Symbol) and inner.axis is None
    return identifier(inner.name) if named and isinstance(inner, Symbol) else "scalar"
