"""What the functions of the language take, refuse and do: the entries of ``docs/reference.md``.

Signature and first sentence of an entry are those of the function itself (``builtin.BUILTINS`` and
docstrings); ``document.py`` prints the page, and the tests run its examples.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PREAMBLE", "SECTIONS", "Entry", "Section"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One public name: ``notes`` are its parameters, what it means and what it refuses.

    ``signature`` and ``doc`` stand for those of a public object that carries none. ``prints`` is
    the output of ``example``.
    """

    name: str
    notes: tuple[str, ...] = ()
    example: str = ""
    prints: str = ""
    signature: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Entries of one subject, behind an introduction; later ones share the last one's example."""

    title: str
    text: str
    entries: tuple[Entry, ...]


PREAMBLE = """\
import torch

import pypto

D, F32, I32 = pypto.DYNAMIC, pypto.DT_FP32, pypto.DT_INT32
Rows = pypto.Tensor([D, 4], F32)


def run(kernel, *arguments):
    out = torch.zeros(4, 4)
    kernel(torch.arange(16.0).reshape(4, 4), out, *arguments)
    for row in out.tolist():
        print(row)
"""


def _kernel(name: str, *lines: str, more: str = "", arguments: str = "") -> str:
    """A kernel of the preamble's shapes with these lines, and its run."""
    head = f"@pypto.frontend.jit\ndef {name}(x: Rows, out: Rows{more}):\n"
    return head + "".join(f"    {line}\n" for line in lines) + f"\n\nrun({name}{arguments})\n"


_LOOPS = (
    Entry(
        "loop",
        (
            "`start`, `stop`, `step`: ints or run-time ints, as of `range`; a negative `step`"
            " counts down.",
            "`unroll_list`: factors; a core runs so many iterations one after the other. It changes"
            " no result.",
            "`parallel=True`: a promise that iterations do not depend on each other; where they are"
            " seen to be independent, cores share them without it.",
            "`idx_name` names the index in dumps. `name` and `submit_before_loop` have no meaning"
            " here: every dependence is found.",
            "`break`, `continue` and `return` work in it, also under run-time conditions.",
            "Refused: bounds that are no ints, a `step` of 0, factors that are no positive ints.",
        ),
        _kernel(
            "every_second",
            "for i in pypto.loop(0, x.shape[0], 2):",
            "    out[i] = x[i] * 10",
        ),
        "[0.0, 10.0, 20.0, 30.0]\n[0.0, 0.0, 0.0, 0.0]\n[80.0, 90.0, 100.0, 110.0]\n"
        "[0.0, 0.0, 0.0, 0.0]\n",
    ),
    Entry(
        "loop_unroll",
        (
            "Yields `(i, k)`: the body does the work of the `k` iterations from `i` on. `k` is a"
            " Python int, a factor of `unroll_list` or 1; the body is read once for each.",
            "The other parameters are those of `loop`; `parallel` is none.",
            "Refused: another number of targets than two.",
        ),
        _kernel(
            "pairs",
            "for i, k in pypto.loop_unroll(3, unroll_list=[2]):",
            "    out[i : i + k] = x[i : i + k] + k",
        ),
        "[2.0, 3.0, 4.0, 5.0]\n[6.0, 7.0, 8.0, 9.0]\n[9.0, 10.0, 11.0, 12.0]\n"
        "[0.0, 0.0, 0.0, 0.0]\n",
    ),
    Entry(
        "is_loop_begin",
        (
            "`index`: the index of a run-time loop around, the name itself.",
            "Refused: any other number, `i + 1` too.",
        ),
    ),
    Entry(
        "is_loop_end",
        ("`index`: as above. Under `loop_unroll`: in the part behind which nothing follows.",),
        _kernel(
            "total",
            "sum = pypto.zeros(1, 4)",
            "for i in pypto.loop(x.shape[0]):",
            "    if pypto.is_loop_begin(i):",
            "        sum[:] = x[i : i + 1]",
            "    else:",
            "        sum[:] = sum + x[i : i + 1]",
            "    if pypto.is_loop_end(i):",
            "        out[0:1] = sum",
        ),
        "[24.0, 28.0, 32.0, 36.0]\n[0.0, 0.0, 0.0, 0.0]\n[0.0, 0.0, 0.0, 0.0]\n"
        "[0.0, 0.0, 0.0, 0.0]\n",
    ),
    Entry(
        "cond",
        (
            "`condition`: what an `if` takes. A run-time condition is a branch of the running"
            " kernel with and without it; it is accepted for kernels that mark theirs.",
        ),
        _kernel(
            "clipped",
            "if pypto.cond(n > 2):",
            "    out[:] = x + n",
            "else:",
            "    out[:] = -x",
            more=", n: int",
            arguments=", 3",
        ),
        "[3.0, 4.0, 5.0, 6.0]\n[7.0, 8.0, 9.0, 10.0]\n[11.0, 12.0, 13.0, 14.0]\n"
        "[15.0, 16.0, 17.0, 18.0]\n",
    ),
)

_MADE = (
    Entry(
        "tensor",
        (
            "`shape`: a list or tuple of 1 to 5 sizes, ints or run-time sizes of parameters."
            " `dtype`: a `pypto.DataType`. `name`: for dumps; else the variable's.",
            "`format`: `pypto.TileOpFormat.TILEOP_ND` or nothing.",
            "Refused: negative sizes, `-1` too; reading what no statement before has written.",
        ),
    ),
    Entry(
        "zeros",
        (
            "`size`: ints, or one list of them. `dtype` goes by name.",
            "Refused: as `tensor`, and dtypes that no instruction fills: all but FP32, FP16, BF16,"
            " INT32 and INT16.",
        ),
    ),
    Entry("ones", ("As `zeros`.",)),
    Entry(
        "full",
        (
            "`size`: a list. `fill_value`: a number, known or not. `dtype` is needed.",
            "`valid_shape`: as of `view`.",
        ),
        _kernel(
            "filled",
            "t = pypto.tensor([1, 4], F32)",
            "t[:] = x[1:2]",
            "out[0:1] = t",
            "out[1:2] = pypto.zeros(1, 4) + pypto.ones([1, 4], dtype=F32)",
            "out[2:4] = pypto.full([2, 4], 0.5, F32)",
        ),
        "[4.0, 5.0, 6.0, 7.0]\n[1.0, 1.0, 1.0, 1.0]\n[0.5, 0.5, 0.5, 0.5]\n[0.5, 0.5, 0.5, 0.5]\n",
    ),
)

_PARTS = (
    Entry(
        "view",
        (
            "`shape`: ints, one for each axis. `offsets`: ints or run-time ints, elements from the"
            " start of the tensor. What lies outside the tensor is not valid: neither read nor"
            " written.",
            "`valid_shape`: how much of the part holds elements, where that is data: ints or"
            " run-time ints, one for each axis, of 0 to the size of the axis.",
            "`dtype`: the bytes as elements of that dtype, as torch's `t.view(dtype)`; alone, in"
            " place of shape and offsets.",
            "The part is no copy: it sees later writes, and `part[:] = ...` writes the tensor. Also"
            " `x.view(shape, offsets)`.",
            "Refused: run-time numbers in `shape`, another number of axes, DT_BOOL as `dtype`.",
        ),
        _kernel(
            "window",
            "for i in pypto.loop(2):",
            "    part = pypto.view(x, [3, 4], [i * 3, 0])  # the second has one valid row",
            "    pypto.view(out, [3, 4], [i * 3, 0])[:] = part * 2",
        ),
        "[0.0, 2.0, 4.0, 6.0]\n[8.0, 10.0, 12.0, 14.0]\n[16.0, 18.0, 20.0, 22.0]\n"
        "[24.0, 26.0, 28.0, 30.0]\n",
    ),
    Entry(
        "assemble",
        (
            "`input`: a tensor of the rank and dtype of `out`, written at `offsets`; or a list of"
            " `(tensor, offsets)` pairs, written in order. What lies outside of `out` is not"
            " written.",
            "It returns nothing. Also `out.assemble(input, offsets)`. `parallel` is accepted:"
            " dependences are found.",
            "Refused: another rank or dtype, another number of offsets.",
        ),
        _kernel(
            "placed",
            "pypto.assemble(x[0:2], [2, 0], out)",
            "pypto.assemble([(x[3:4], [0, 0]), (x[2:3], [1, 0])], out)",
        ),
        "[12.0, 13.0, 14.0, 15.0]\n[8.0, 9.0, 10.0, 11.0]\n[0.0, 1.0, 2.0, 3.0]\n"
        "[4.0, 5.0, 6.0, 7.0]\n",
    ),
    Entry(
        "reshape",
        (
            "`shape`: ints or run-time ints whose product is the number of elements; one may be -1."
            " Elements stay in their order, row by row. Also `x.reshape(shape)`.",
            "`valid_shape`: needed where the tensor is valid in part. `inplace` is accepted: no"
            " element is copied where the tensor lies in one piece.",
            "Refused: another number of elements, which a call is asked where sizes are dynamic.",
        ),
        _kernel("halves", "wide = x.reshape([-1, 8])", "out[0:2] = wide[:, 4:8]"),
        "[4.0, 5.0, 6.0, 7.0]\n[12.0, 13.0, 14.0, 15.0]\n[0.0, 0.0, 0.0, 0.0]\n"
        "[0.0, 0.0, 0.0, 0.0]\n",
    ),
    Entry(
        "permute",
        (
            "`perm`: every axis once, the old axes in their new order, as torch's. Also"
            " `x.permute(perm)`.",
        ),
    ),
    Entry(
        "transpose",
        ("`dim0`, `dim1`: axes, from 0 or from the last, -1. Also `x.transpose(dim0, dim1)`.",),
    ),
    Entry(
        "unsqueeze",
        (
            "`dim`: where the new axis stands, of `-rank - 1` to `rank`. Also `x.unsqueeze(dim)`.",
            "All three give views, as torch has them: reading copies, and they may be written.",
        ),
        _kernel("turned", "t = x.unsqueeze(0).permute([0, 2, 1])", "out[:] = t[0]"),
        "[0.0, 4.0, 8.0, 12.0]\n[1.0, 5.0, 9.0, 13.0]\n[2.0, 6.0, 10.0, 14.0]\n"
        "[3.0, 7.0, 11.0, 15.0]\n",
    ),
)

_MEMBERS = (
    Entry(
        "Tensor.shape",
        ("Sizes, a tuple: Python ints, or run-time ints for dynamic axes.",),
        doc="The sizes.",
    ),
    Entry("Tensor.dtype", doc="The dtype, a `pypto.DataType`."),
    Entry("Tensor.dim", doc="The number of axes, an int (no method, unlike torch's)."),
    Entry("Tensor.name", doc="The name of the parameter or local tensor; '' for a result."),
    Entry(
        "Tensor.move",
        (
            "`other`: a tensor that fits or broadcasts; it stays valid.",
            "Refused: numbers (write `out[:] = 0`), another dtype or shape.",
        ),
        _kernel("moved", "if out.dtype == x.dtype and out.dim == 2:", "    out.move(x + 1)"),
        "[1.0, 2.0, 3.0, 4.0]\n[5.0, 6.0, 7.0, 8.0]\n[9.0, 10.0, 11.0, 12.0]\n"
        "[13.0, 14.0, 15.0, 16.0]\n",
        "(other)",
        "Writes a tensor, as `out[:] = other` does.",
    ),
)

_NUMBERS = (
    Entry(
        "element",
        (
            "`dtype`: a `pypto.DataType`; `value`: an int or float. Both are attributes.",
            "Beside a tensor it must have the tensor's dtype; a plain number takes it by itself."
            " `pypto.Element` is the same class.",
        ),
        signature="(dtype, value)",
    ),
    Entry(
        "min",
        ("`a`, `b`: ints, floats or run-time numbers of one kind. Python's `min` does the same.",),
    ),
    Entry("max", ("As `min`.",)),
    Entry("ceildiv", ("`a`, `b`: ints or run-time ints; `b` is not 0.",), signature="(a, b)"),
    Entry(
        "bytes_of",
        ("`dtype`: a `pypto.DataType`.",),
        _kernel(
            "numbers",
            "n = pypto.min(pypto.ceildiv(x.shape[0], 3), 8)",
            "out[:] = x * pypto.element(F32, 0.5) + n * pypto.bytes_of(x.dtype)",
        ),
        "[8.0, 8.5, 9.0, 9.5]\n[10.0, 10.5, 11.0, 11.5]\n[12.0, 12.5, 13.0, 13.5]\n"
        "[14.0, 14.5, 15.0, 15.5]\n",
        "(dtype)",
    ),
    Entry(
        "symbolic_scalar",
        (
            "`pypto.SymbolicScalar` is the same class. Inside a kernel sizes, indices and run-time"
            " ints need no such object: they are calculated with as they are.",
            "`is_concrete()`, `concrete()`: whether the value is known, and the value;"
            " `int(s)` and `bool(s)` are it, too. FeValueError where it is not known.",
            "`is_symbol()`, `is_immediate()`, `is_expression()`: one name, a number, or a"
            " combination. `name`: the name, else None.",
            "`min(other)`, `max(other)`; `simplify()` is the scalar itself; `as_variable()` does"
            " nothing.",
            "`SymbolicScalar.tenary(condition, then, other)`: one of two."
            " `SymbolicScalar.check(conditions)`: a `pypto.SatStatus`, whether all can hold.",
            "Refused: floats and strings as operands, a literal divisor of 0; in kernels, names.",
        ),
        'n = pypto.symbolic_scalar("n")\n'
        "blocks = (n + 7) // 8\n"
        "print(blocks, blocks.is_concrete(), n.is_symbol())\n"
        "print(pypto.symbolic_scalar(-7) // 2, pypto.max(n, 2), pypto.symbolic_scalar(5) + 1)\n"
        "print(pypto.SymbolicScalar.check([n > 2, pypto.symbolic_scalar(1) > 2]).name)\n",
        "(n + 7)//8 False True\n-4 max(n, 2) 6\nUNSAT\n",
        "(value=0, known=None)",
    ),
)

_TILES = (
    Entry(
        "set_vec_tile_shapes",
        (
            "`shapes`: 1 to 5 ints of 1 or more, the last axis last; elements, not bytes. It is a"
            " hint, needed nowhere, for the operations that follow, as far as Python would run"
            " them.",
            "Refused: run-time sizes, another number of sizes than an operation has axes, a last"
            " size that is neither whole 32-byte blocks nor the whole axis, a tile that does not"
            " fit on chip ([Tiles](kernels.md#tiles)).",
        ),
    ),
    Entry(
        "get_vec_tile_shapes",
        ("A list of ints, empty where none is set.",),
        _kernel(
            "tiled",
            "pypto.set_vec_tile_shapes(2, 64)",
            "rows, columns = pypto.get_vec_tile_shapes()",
            "out[:] = x * rows",
        ),
        "[0.0, 2.0, 4.0, 6.0]\n[8.0, 10.0, 12.0, 14.0]\n[16.0, 18.0, 20.0, 22.0]\n"
        "[24.0, 26.0, 28.0, 30.0]\n",
    ),
    Entry("set_semantic_label", ("`label`: a string. It changes nothing here.",)),
    Entry("set_cube_tile_shapes", ("Outside kernels alone, until there are matrix products.",)),
    Entry("get_cube_tile_shapes", ("As above.",)),
    Entry("set_conv_tile_shapes", ("As above.",)),
    Entry("get_conv_tile_shapes", ("As above.",)),
    Entry("set_matrix_size", ("As above.",)),
)

_DECORATORS = (
    Entry(
        "frontend.jit",
        (
            "Also `pypto.jit`. The options are dicts, listed in [options.md](options.md).",
            "`kernel.compile(shapes={name: sizes}, values={name: value})` compiles without a call"
            " and returns a report.",
            "Refused: methods, lambdas, generators, coroutines; arguments it does not have.",
        ),
        signature="(func=None, *, runtime_options=None, codegen_options=None, ...)",
    ),
    Entry(
        "frontend.function",
        (
            "Its parameters' annotations are checked at each use: dtype, rank, and sizes that are"
            " numbers. A plain function needs no decorator.",
        ),
        signature="(function)",
    ),
    Entry(
        "frontend.dynamic",
        ("`name`: a string. In the kernel a global of that value is the size.",),
        'n = pypto.frontend.dynamic("n")\n\n\n'
        "@pypto.frontend.function\n"
        "def half_of(t: pypto.Tensor([D, 4], F32)):\n"
        "    return t * 0.5\n\n\n"
        "@pypto.frontend.jit\n"
        "def same_rows(x: pypto.Tensor([n, 4], F32), out: pypto.Tensor([n, 4], F32)):\n"
        "    out[:] = half_of(x) + n\n\n\n"
        "run(same_rows)\n",
        "[4.0, 4.5, 5.0, 5.5]\n[6.0, 6.5, 7.0, 7.5]\n[8.0, 8.5, 9.0, 9.5]\n"
        "[10.0, 10.5, 11.0, 11.5]\n",
        "(name)",
    ),
)

_PRINT = (
    Entry(
        "print",
        (
            "`values`: what Python prints, run-time numbers and tensors among it; `sep`, `end`:"
            " strings known while compiling. `file` and `flush` are none of it.",
            "What is known while compiling is printed once for each compilation. Text with"
            " run-time numbers is printed by the running kernel, through the device's `printf`; in"
            " f-strings they take no format, `:d` or `:f`.",
            "A tensor is named by dtype and shape, its elements follow through `DumpTensor`, at"
            " most 30 KB of them. Refused: tensors in f-strings, and those whose rows are valid in"
            " part; [Loops, branches and parts](kernels.md#loops-branches-and-parts-of-tensors).",
        ),
        _kernel(
            "told",
            'print("columns", x.shape[1])',
            "for i in pypto.loop(2):",
            '    print(f"row {i:d}, first {x[i, 0]:f}")',
            "out[:] = x",
        ),
        "columns 4\nrow 0, first 0.000000\nrow 1, first 4.000000\n"
        "[0.0, 1.0, 2.0, 3.0]\n[4.0, 5.0, 6.0, 7.0]\n[8.0, 9.0, 10.0, 11.0]\n"
        "[12.0, 13.0, 14.0, 15.0]\n",
        "(*values, sep=' ', end='\\n')",
        "Python's `print`, in kernels.",
    ),
)

SECTIONS: tuple[Section, ...] = (
    Section("Loops and conditions", "", _LOOPS),
    Section("Local tensors", "Made in a kernel, written and read like parameters.", _MADE),
    Section(
        "Parts and shapes",
        "`x[a:b, i]` is a part, too: [Loops, branches and parts]"
        "(kernels.md#loops-branches-and-parts-of-tensors).",
        _PARTS,
    ),
    Section(
        "Members of tensors",
        "Beside these: `assemble`, `permute`, `reshape`, `transpose`, `unsqueeze` and `view` as"
        " above, and the [operations](operations.md).",
        _MEMBERS,
    ),
    Section("Numbers", "", _NUMBERS),
    Section(
        "Tiles and labels",
        "Outside a kernel they set what kernels begin with that set none.",
        _TILES,
    ),
    Section("Decorators", "", _DECORATORS),
    Section("Output", "", _PRINT),
)
