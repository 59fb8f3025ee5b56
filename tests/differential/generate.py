"""Whole kernels: parameters, statements, outputs that show what was computed."""

from __future__ import annotations

from tests.differential.control import Control
from tests.differential.draft import ONE, Axis, Number, Tensor, static
from tests.differential.expressions import COUNT
from tests.differential.program import HEADER, NAMED, Parameter, Program
from tests.ops.programs import Chooser

HELPERS = {
    "scaled": "def scaled(a, b, c=2):\n    return a * c + b\n",
    "chosen": "def chosen(a, b, c):\n    if c > 2:\n        return a + b\n    return a - b\n",
    "both": "def both(a, b):\n    return a + b, a - b\n",
    "larger": "def larger(a, b):\n    if a > b:\n        return a\n    return b\n",
    "doubled_into": "@pypto.frontend.function\n"
    "def doubled_into(target, value):\n    target[:] = value + value\n",
}

# What must be used often enough among many programs.
KINDS = (
    "loop with constant bounds", "loop with dynamic bounds", "loop with a step", "nested loop",
    "loop with a negative step", "loop bounded by a parameter", "loop bounded by an element",
    "loop bounded by an outer index", "loop over tiles", "loop over rows",
    "loop_unroll", "name of a loop", "loop with factors",
    "break", "continue", "index behind its loop", "break in a Python loop",
    "continue in a Python loop", "python loop over range", "python loop over tensors", "while",
    "if", "elif", "condition on an index", "condition on a size", "condition on a parameter",
    "condition on an element", "chained comparison", "and, or, not", "in",
    "is_loop_begin, is_loop_end", "ternary of numbers", "ternary of tensors",
    "number of both branches", "tensor of both branches", "carried int", "carried float",
    "carried tensor", "rebinding of a tensor", "local tensor", "zeros, ones, full",
    "static slice", "slice with an open end", "slice with a negative bound", "int index",
    "slice from a run-time start", "slice from a start of either sign", "slice by an index", "tile",
    "tile with min in its bound", "row by an index", "row by a slice",
    "view with sizes and offsets", "named view", "read-modify-write", "write of a region",
    "write of a number", "write into a view", "broadcast write", "element write", "element read",
    "move", "assemble", "helper of tensors", "helper of numbers", "helper that writes",
    "early return", "return from the kernel",
    "tuple of tensors", "list comprehension", "dict of tensors", "nested function", "swap",
    "index assigned in its loop", "elementwise operation", "elementwise function",
    "number beside a tensor", "row reduction", "cast", "floor division and modulo", "min and max",
)  # fmt: skip


class Writer(Control):
    """Draws one program. A smaller ``size`` makes shorter ones."""

    def __init__(self, chooser: Chooser, name: str, size: int = 14) -> None:
        super().__init__(chooser)
        self.kernel_name = name
        self.budget = self.pick(3, size)
        self.dtype = chooser.choose(["DT_FP32", "DT_FP32", "DT_INT32", "DT_FP16"])
        dynamic = bool(self.pick(0, 2))
        rows: str | int = "n" if dynamic else self.pick(2, 9)
        columns: str | int = "m" if dynamic and self.one_in(2) else self.pick(2, 17)
        self.rows = _axis(rows, "n", positive=False)
        self.columns = _axis(columns, "m", positive=True)
        self.parameters: list[Parameter] = []
        both = (self.rows, self.columns)
        for name, axes, sizes in (
            ("x", both, (rows, columns)), ("y", both, (rows, columns)),
            ("w", (self.columns,), (columns,)), ("g", (self.rows, ONE), (rows, 1)),
            ("o", both, (rows, columns)), ("p", (self.rows, ONE), (rows, 1)),
        ):  # fmt: skip
            self.parameters.append(Parameter(name, sizes, self.dtype))
            writable = name in "op" or self.one_in(4)
            self.tensors.append(Tensor(name, axes, self.dtype, True, writable))
        self.parameters += [Parameter(n, (COUNT,), "DT_INT32", "index") for n in "qu"]
        self.parameters += [Parameter("s", kind="int"), Parameter("z", kind="float")]
        self.numbers += [Number("n", low=0), Number("m", low=1), Number("s")]
        self.numbers.append(Number("z", "float"))

    def write_program(self) -> Program:
        self.line("n, m = x.shape")
        if self.one_in(30):  # of two axes: an operation on one axis refuses it
            tile = 8 if self.dtype != "DT_FP16" else 16
            self.line(f"pypto.set_vec_tile_shapes({self.pick(1, 4)}, {tile * self.pick(1, 2)})")
        while self.budget > 0:
            self.statement()
        if self.one_in(8):
            self.use("return from the kernel")
            self.line("o[:] = o * 2")
            self.line(f"if {self.condition()}:")
            self.line("    return")
        self.outputs()
        named = bool(self.pick(0, 9))
        header = ", ".join(p.annotated(named) for p in self.parameters)
        text = HEADER + NAMED * named + "".join(HELPERS[h] for h in sorted(self.helpers))
        text += f"def {self.kernel_name}({header}):\n" + "\n".join(self.lines) + "\n"
        return Program(self.kernel_name, text, tuple(self.parameters), self.kinds)

    def outputs(self) -> None:
        """What the last names hold goes into the outputs."""
        for axes, target in (((self.rows, self.columns), "o"), ((self.rows, ONE), "p")):
            made = [t for t in self.plain() if t.axes == axes and t.name not in "xywgop"]
            for tensor in made[-3:]:
                self.line(f"{target} += {tensor.name}")
        self.line("o[:] = o + 1")  # a kernel writes something
        names = [n for n in self.numbers if n.kind == "int" and n.name not in "nms"]
        floats = [n for n in self.numbers if n.kind == "float" and n.name != "z"]
        for number in names[-3:]:
            self.line(f"p += {number.name}")
        if self.dtype != "DT_INT32":
            for number in floats[-2:]:
                self.line(f"p[:] = p * 2 + {number.name}")


def _axis(size: str | int, name: str, *, positive: bool) -> Axis:
    return static(size) if isinstance(size, int) else Axis(name, name, None, positive)


def write(chooser: Chooser, name: str = "kernel", size: int = 14) -> Program:
    """One program; the same decisions give the same program."""
    return Writer(chooser, name, size).write_program()
