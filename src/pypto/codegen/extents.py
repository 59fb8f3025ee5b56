"""The extents of a plan in C++: sizes, the part that a step or a copy covers, and where it lies."""

from __future__ import annotations

from pypto.codegen.device import Members
from pypto.codegen.views import ConstantView
from pypto.ir.dtype import DataType
from pypto.ir.expr import Expr, as_int, const, variables_of
from pypto.ir.tile import Copy, Kind, Plan

__all__ = ["TILE_SIZES", "Extents"]

TILE_SIZES = "uint32_t rows, uint32_t cols, uint32_t pitch, uint32_t tall"
"""Of a tile: its size, and how far its rows, or its columns, lie apart on chip."""


class Extents:
    """Each size is a constant of the class, where it is known, or a field of ``args_``.

    ``total``: of a run; ``rows``, ``cols``, ``pitch`` and ``outer`` of the other forms.
    """

    def __init__(self, plan: Plan, number: int, members: Members) -> None:
        self.plan = plan
        self.members = members
        self.constants: dict[str, ConstantView] = {}
        self.width = ""  # field with the columns of a strip
        space = plan.space
        if plan.form == "run":
            self.total = self._size(space.cols, "total", "kTotal", "elements")
            self.rows = self.cols = self.pitch = ""
        else:
            self.total = ""
            self.rows = self._size(space.rows, "rows", "kRows", "rows of the space")
            self.cols = self._size(space.cols, "cols", "kCols", "columns")
            self.pitch = self._pitch(number)
        self.outer = tuple(
            self._size(s, f"outer{n}", f"kOuter{n}", "outer axis")
            for n, s in enumerate(space.outer)
        )

    def _size(self, expr: object, wanted: str, constant: str, comment: str) -> str:
        text = self.members.size(expr, wanted)  # type: ignore[arg-type]
        if not text.isdigit():
            return text
        self.constants[constant] = ConstantView("int64_t", constant, text, comment)
        return constant

    def _pitch(self, number: int) -> str:
        if self.plan.form in ("chunks", "tiles"):
            return "pitch" if self.plan.form == "tiles" else ""
        if self.plan.form == "columns":
            self.width = self.members.arguments.derived("width", number)
            return f"args_.{self.width}"
        pitch = self.plan.pitch
        if pitch is None:
            return f"args_.{self.members.arguments.derived('pitch', number)}"
        if pitch == as_int(self.plan.space.cols):
            return "kCols"
        self.constants["kPitch"] = ConstantView(
            "uint32_t", "kPitch", str(pitch), "elements; keeps rows 32-byte aligned"
        )
        return "kPitch"

    def _cols32(self) -> str:
        """Columns of a step as uint32: the constant, or the step's own variable."""
        if self.plan.form in ("chunks", "tiles", "columns"):
            return "cols"
        return "kCols" if self.cols == "kCols" else f"static_cast<uint32_t>({self.cols})"

    @property
    def position(self) -> str:
        """Parameters that say where a step is."""
        outer = "".join(f"int64_t axis{n}, " for n in range(len(self.outer)))
        return {
            "run": "int64_t begin, uint32_t count",
            "rows": f"{outer}int64_t row, uint32_t rows",
            "chunks": f"{outer}int64_t row, int64_t col, uint32_t cols",
            "tiles": f"{outer}int64_t row, int64_t col, {TILE_SIZES}",
            "columns": f"{outer}int64_t row, uint32_t rows, int64_t col, uint32_t cols",
        }[self.plan.form]

    @property
    def tile_position(self) -> str:
        outer = "".join(f"int64_t axis{n}, " for n in range(len(self.outer)))
        columns = self.plan.form == "columns"
        return f"{outer}int64_t col, uint32_t cols" if columns else f"{outer}int64_t row"

    @property
    def amount(self) -> str:
        """Parameters that say how much a step takes."""
        return {
            "run": "uint32_t count", "rows": "uint32_t rows", "chunks": "uint32_t cols",
            "columns": "uint32_t rows, uint32_t cols", "tiles": TILE_SIZES,
        }[self.plan.form]  # fmt: skip

    def elements(self, kind: Kind, dtype: DataType) -> str:
        """Elements that an instruction works on."""
        if kind is Kind.ONE:
            return "1"
        if kind is Kind.ONE_BLOCKS:
            return str(32 // dtype.bytes)
        if kind is Kind.FOLD:
            return str(256 // dtype.bytes)
        if kind in (Kind.FOLD_TWICE, Kind.ONE_TOTALS):
            return str(512 // dtype.bytes)
        if self.plan.form == "run":
            return "count"
        if self.plan.form == "chunks":
            return "cols"
        if kind is Kind.COL:
            return "rows"
        return self._cols32() if kind is Kind.ROW else f"rows * {self.pitch}"

    def repeats(self, kind: Kind, dtype: DataType) -> str:
        """Elements in the whole repeats that hold what an instruction works on."""
        lanes = 256 // dtype.bytes
        count = self.elements(kind, dtype)
        if count.isdigit():
            return str(-(-int(count) // lanes) * lanes)
        return f"({count} + {lanes - 1}) / {lanes} * {lanes}"

    def words(self, kind: Kind, bits: int) -> str:
        """16-bit words of elements that take ``bits`` each."""
        count = self.elements(kind, DataType.DT_UINT16)
        if bits % 16 == 0:
            return count if bits == 16 else f"{count} * {bits // 16}"
        per = 16 // bits
        if count.isdigit():
            return str(-(-int(count) // per))
        return f"({count} + {per - 1}) / {per}"

    def dimensions(self, kind: Kind) -> tuple[str, ...]:
        """(rows, cols, pitch) for a helper."""
        rows = "1" if kind is Kind.ROW else "rows"
        return rows, self._cols32(), self.pitch

    def place(self, copy: Copy, member: str) -> str:
        """``member[index]`` of a copy."""
        form = self.plan.form
        if form == "run":
            return f"{member}[begin]" if copy.has_col and copy.kind is Kind.FULL else member
        text = self._dense_index(copy) if copy.dense else self._strided_index(copy)
        return f"{member}[{text}]" if text else member

    def _indices(self) -> list[str]:
        return [*(f"axis{n}" for n in range(len(self.outer))), "row"]

    def _dense_index(self, copy: Copy) -> str:
        """By Horner's rule over the axes that the tensor has."""
        text = ""
        sizes = [*self.outer, self.rows]
        for stride, index, size in zip(copy.strides, self._indices(), sizes, strict=False):
            if stride is not None:
                text = index if not text else f"({text} * {size} + {index})"
        if copy.has_col:
            text = f"{text} * {self.cols}" if text else ""
            if self.plan.form in ("chunks", "columns"):
                text = f"{text} + col" if text else "col"
        if text.startswith("(") and text.endswith(")") and text.count("(") == 1:
            text = text[1:-1]
        return text

    def _strided_index(self, copy: Copy) -> str:
        parts = []
        for stride, index in zip(copy.strides, self._indices(), strict=False):
            if stride is not None:
                size = self._stride(stride)
                parts.append(index if size == "1" else f"{index} * {size}")
        if copy.has_col and self.plan.form in ("chunks", "tiles", "columns"):
            apart = self._stride(copy.strides[-1] or const(1))
            parts.append("col" if apart == "1" else f"col * {apart}")
        return " + ".join(parts)

    def _stride(self, stride: Expr) -> str:
        """C++ of a stride: that of the columns or of a constant, where it is one."""
        space = self.plan.space
        if stride == space.cols:
            return self.cols
        if self.plan.form == "tiles" and stride == space.rows:
            return self.rows
        return self.members.size(stride, "stride")

    @property
    def _row_length(self) -> str:
        """Columns of a row that a step takes."""
        return "cols" if self.plan.form == "columns" else self.cols

    def run(self, copy: Copy) -> tuple[str, str, str, str]:
        """(blocks, bytes of one, gap in global memory in bytes, gap on chip in 32-byte blocks)."""
        size = f"sizeof({copy.local.dtype.cpp})"
        kind = copy.kind
        if kind is Kind.ONE:
            return "1", size, "0", "0"
        if self.plan.form == "run":
            return "1", f"static_cast<uint32_t>(count * {size})", "0", "0"
        if self.plan.form == "tiles":
            return self._tile(copy, size)
        if self.plan.form == "chunks":
            return "1", f"static_cast<uint32_t>(cols * {size})", "0", "0"
        if kind is Kind.COL:
            return "1", f"static_cast<uint32_t>(rows * {size})", "0", "0"
        if kind is Kind.ROW:
            length = f"{self._row_length} * {size}"
            fixed = self._row_length == "kCols"
            return "1", length if fixed else f"static_cast<uint32_t>({length})", "0", "0"
        return self._rows(copy, size)

    def _rows(self, copy: Copy, size: str) -> tuple[str, str, str, str]:
        """Rows that lie apart, on chip by the pitch, in global memory by their stride."""
        width = copy.local.dtype.bytes
        columns = self.plan.form == "columns"
        gap = "0" if copy.dense and not columns else self._row_gap(copy, size)
        rows = "static_cast<uint16_t>(rows)"
        if self._row_length == "kCols":
            cols, pitch = as_int(self.plan.space.cols) or 0, self.plan.pitch or 0
            if pitch == cols and gap == "0":
                return "1", f"static_cast<uint32_t>(rows * kCols * {size})", "0", "0"
            blocks = (pitch * width - -(-cols * width // 32) * 32) // 32
            return rows, f"kCols * {size}", gap, str(blocks)
        apart = "0"
        # A pitch chosen at launch is that of the rows where all runs have rows of one length.
        exact = self.plan.pitch is None and not variables_of(self.plan.space.cols)
        if width * self.plan.align != 32 or columns or not exact:
            taken = f"({self._row_length} * {size} + 31) / 32"
            apart = f"static_cast<uint32_t>({self.pitch} * {size} / 32 - {taken})"
        return rows, f"static_cast<uint32_t>({self._row_length} * {size})", gap, apart

    def _tile(self, copy: Copy, size: str) -> tuple[str, str, str, str]:
        """A tile of the space: its rows, or its columns where those lie side by side in memory."""
        across = copy.kind is Kind.TURNED
        count, length, pitch = ("cols", "rows", "tall") if across else ("rows", "cols", "pitch")
        stride = copy.strides[-1 if across else -2]
        assert stride is not None
        gap = f"static_cast<uint32_t>(({self._stride(stride)} - {length}) * {size})"
        apart = f"{pitch} * {size} / 32 - ({length} * {size} + 31) / 32"
        return (
            f"static_cast<uint16_t>({count})", f"static_cast<uint32_t>({length} * {size})", gap,
            f"static_cast<uint32_t>({apart})",
        )  # fmt: skip

    def _row_gap(self, copy: Copy, size: str) -> str:
        """Bytes of global memory between the end of a row and the start of the next one."""
        stride, cols = copy.strides[-2], self.plan.space.cols
        if self.plan.form == "columns":
            stride_text = "0" if stride is None else self._stride(stride)
            return f"static_cast<uint32_t>(({stride_text} - cols) * {size})"
        if stride is None or stride == cols:
            return "0"
        known, width = as_int(stride), as_int(cols)
        if known is not None and width is not None:
            return str((known - width) * copy.local.dtype.bytes)
        return f"static_cast<uint32_t>(({self._stride(stride)} - {self.cols}) * {size})"
