"""The extents of a plan in C++: sizes, the part that a step or a copy covers, and where it lies."""

from __future__ import annotations

from pypto.codegen.arguments import Arguments
from pypto.codegen.views import ConstantView
from pypto.ir.dtype import DataType
from pypto.ir.expr import as_int
from pypto.ir.tile import Copy, Kind, Plan

__all__ = ["Extents"]


class Extents:
    """Each size is a constant of the class, where it is known, or a field of ``args_``.

    ``total``: of a run; ``rows``, ``cols``, ``pitch`` and ``outer`` of the other forms.
    """

    def __init__(self, plan: Plan, number: int, arguments: Arguments) -> None:
        self.plan = plan
        self.arguments = arguments
        self.constants: dict[str, ConstantView] = {}
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
        text = self.arguments.size(expr, wanted)  # type: ignore[arg-type]
        if text.startswith("args_."):
            return text
        self.constants[constant] = ConstantView("int64_t", constant, text, comment)
        return constant

    def _pitch(self, number: int) -> str:
        if self.plan.form == "chunks":
            return ""
        cols = as_int(self.plan.space.cols)
        if cols is None:
            return f"args_.{self.arguments.derived('pitch', number)}"
        pitch = -(-cols // self.plan.align) * self.plan.align
        if pitch == cols:
            return "kCols"
        self.constants["kPitch"] = ConstantView(
            "uint32_t", "kPitch", str(pitch), "elements; keeps rows 32-byte aligned"
        )
        return "kPitch"

    def _cols32(self) -> str:
        """Columns of a step as uint32: the constant, or the step's own variable."""
        if self.plan.form == "chunks":
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
        }[self.plan.form]

    @property
    def tile_position(self) -> str:
        outer = "".join(f"int64_t axis{n}, " for n in range(len(self.outer)))
        return f"{outer}int64_t row"

    def elements(self, kind: Kind, dtype: DataType) -> str:
        """Elements that an instruction works on."""
        if kind is Kind.ONE:
            return "1"
        if kind is Kind.ONE_BLOCKS:
            return str(32 // dtype.bytes)
        if kind is Kind.FOLD:
            return str(256 // dtype.bytes)
        if kind is Kind.FOLD_TWICE:
            return str(512 // dtype.bytes)
        if self.plan.form == "run":
            return "count"
        if self.plan.form == "chunks":
            return "cols"
        if kind is Kind.COL:
            return "rows"
        return self._cols32() if kind is Kind.ROW else f"rows * {self.pitch}"

    def dimensions(self, kind: Kind) -> tuple[str, ...]:
        """(rows, cols, pitch) for a helper."""
        rows = "1" if kind is Kind.ROW else "rows"
        return rows, self._cols32(), self.pitch

    def place(self, copy: Copy, member: str) -> str:
        """``member[offset]`` of a copy: by Horner's rule over the axes that the tensor has."""
        form = self.plan.form
        if form == "run":
            return f"{member}[begin]" if copy.has_col and copy.kind is Kind.FULL else member
        text = ""
        sizes = [*self.outer, self.rows]
        indices = [*(f"axis{n}" for n in range(len(self.outer))), "row"]
        for present, index, size in zip([*copy.outer, copy.has_row], indices, sizes, strict=True):
            if present:
                text = index if not text else f"({text} * {size} + {index})"
        if copy.has_col:
            text = f"{text} * {self.cols}" if text else ""
            if form == "chunks":
                text = f"{text} + col" if text else "col"
        if text.startswith("(") and text.endswith(")") and text.count("(") == 1:
            text = text[1:-1]
        return f"{member}[{text}]" if text else member

    def run(self, copy: Copy) -> tuple[str, str, str]:
        """(blocks, bytes of one, UB gap in 32-byte blocks) of a copy."""
        size = f"sizeof({copy.local.dtype.cpp})"
        kind, width = copy.kind, copy.local.dtype.bytes
        if kind is Kind.ONE:
            return "1", size, "0"
        if self.plan.form == "run":
            return "1", f"static_cast<uint32_t>(count * {size})", "0"
        if self.plan.form == "chunks":
            return "1", f"static_cast<uint32_t>(cols * {size})", "0"
        if kind is Kind.COL:
            return "1", f"static_cast<uint32_t>(rows * {size})", "0"
        if self.cols == "kCols":
            cols = as_int(self.plan.space.cols) or 0
            pitch = -(-cols // self.plan.align) * self.plan.align
            if kind is Kind.FULL and pitch == cols:
                return "1", f"static_cast<uint32_t>(rows * kCols * {size})", "0"
            blocks = (pitch * width - -(-cols * width // 32) * 32) // 32
            rows = "1" if kind is Kind.ROW else "static_cast<uint16_t>(rows)"
            return rows, f"kCols * {size}", str(blocks) if kind is Kind.FULL else "0"
        rows = "1" if kind is Kind.ROW else "static_cast<uint16_t>(rows)"
        gap = "0"
        if kind is Kind.FULL and width * self.plan.align != 32:
            taken = f"({self.cols} * {size} + 31) / 32"
            gap = f"static_cast<uint32_t>({self.pitch} * {size} / 32 - {taken})"
        return rows, f"static_cast<uint32_t>({self.cols} * {size})", gap
