"""Write the instruction table as the C++ that the checked twin is compiled with.

`python tools/twin_table.py` writes `src/pypto/twin/include/check/table.h` out of
`src/pypto/data/instructions.json`; a test compares the two. Prose of the table that a rule needs
is read here, and only here: a wording that is not known is an error.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, ClassVar

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pypto"
TABLE = SOURCE / "data" / "instructions.json"
HEADER = SOURCE / "twin" / "include" / "check" / "table.h"

_HARDWARE = {"C2": "BIAS", "C2PIPE2GM": "FIXBUF"}
_COUNTS = {
    None: "any",
    "count >= 0": "natural",
    "count >= 1": "positive",
    "count*S % 32 == 0": "blocks",
    "count*S % 256 == 0": "repeats",
}
_ALIAS = {
    None: "unknown",
    "exact": "exact",
    "exact, not for (float, half)": "one_size",
    "exact when both types have one size; widening no; narrowing unverified": "one_size",
    "no": "none",
    "not stated": "none",
    "general rule (docs); sizes differ, avoid": "none",
    "out == x": "exact",
}
_NORMAL = "normal mode"
_DOMAINS = {
    "abs x <= 65504": "-65504 <= x && x <= 65504",
    "abs x <= 1": "-1 <= x && x <= 1",
    "1 <= x <= 65504": "1 <= x && x <= 65504",
    "0.001 < abs x < 0.99": "(0.001 < x && x < 0.99) || (-0.99 < x && x < -0.001)",
    "x > 0": "x > 0",
}
_PIPED = {None: "none", "count": "count", "all": "all"}


def identifier(name: str) -> str:
    """The name of an instruction as C++ spells it: ``DataCopy(GM->UB)`` is DataCopy_GM_UB."""
    return re.sub(r"\W+", "_", name).strip("_")


def _mask(types: list[str], known: dict[str, int]) -> str:
    return hex(sum(1 << known[name] for name in types))


def _align(rule: object) -> str:
    """Bytes and sizes of an element: an alignment is bytes + sizes * S."""
    if isinstance(rule, int):
        return f"{{{rule}, 0}}"
    match = re.fullmatch(r"(?:(\d+)\*)?S", str(rule))
    if match is None:
        raise ValueError(f"alignment {rule!r} is not a number of bytes nor of elements")
    return f"{{0, {match[1] or 1}}}"


def _operand(operand: dict[str, Any], numbers: dict[str, int]) -> str:
    spaces = operand["space"].split("|")
    memory = " | ".join(f"in(Hardware::{_HARDWARE.get(space, space)})" for space in spaces)
    align = operand.get("align", 1)
    indexed = operand.get("align_index", align)
    local = operand.get("align_L0", align)
    kind = operand["type"]
    number = f"kTuple + {kind[1:]}" if re.fullmatch(r"T\d", kind) else str(numbers[kind])
    return (
        f'    {{"{operand["role"]}", {memory}, {number}, {_align(align)}, {_align(indexed)}, '
        f"{_align(local)}}},"
    )


class _Cpp(ast.NodeVisitor):
    """A formula of the table as C++, over the members of ``ScratchFacts``."""

    names: ClassVar[dict[str, str]] = {
        "n": "f.count", "count": "f.count", "S": "f.size", "E": "f.lanes", "e": "f.block",
        "outter": "f.rows", "inner": "f.columns",
    }  # fmt: skip
    functions: ClassVar[dict[str, str]] = {"up": "round_to", "max": "larger_of"}
    operators: ClassVar[dict[type[ast.AST], str]] = {
        ast.Add: "+",
        ast.Mult: "*",
        ast.Gt: ">",
        ast.Eq: "==",
    }

    def __init__(self, let: dict[str, str]) -> None:
        self.let = let

    def visit_Expression(self, node: ast.Expression) -> str:
        return str(self.visit(node.body))

    def visit_Constant(self, node: ast.Constant) -> str:
        return str(node.value)

    def visit_Name(self, node: ast.Name) -> str:
        if node.id in self.let:
            return f"({self.visit(ast.parse(self.let[node.id], mode='eval'))})"
        return str(self.names[node.id])

    def visit_BinOp(self, node: ast.BinOp) -> str:
        operator = self.operators[type(node.op)]
        return f"({self.visit(node.left)} {operator} {self.visit(node.right)})"

    def visit_Compare(self, node: ast.Compare) -> str:
        operator = self.operators[type(node.ops[0])]
        return f"({self.visit(node.left)} {operator} {self.visit(node.comparators[0])})"

    def visit_IfExp(self, node: ast.IfExp) -> str:
        return f"({self.visit(node.test)} ? {self.visit(node.body)} : {self.visit(node.orelse)})"

    def visit_Call(self, node: ast.Call) -> str:
        assert isinstance(node.func, ast.Name)
        if node.func.id == "ceil":  # always of a quotient
            (quotient,) = node.args
            assert isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div)
            return f"ceil_div({self.visit(quotient.left)}, {self.visit(quotient.right)})"
        arguments = ", ".join(str(self.visit(argument)) for argument in node.args)
        return f"{self.functions[node.func.id]}({arguments})"

    def generic_visit(self, node: ast.AST) -> Any:
        raise ValueError(f"{ast.dump(node)} is not part of a formula that is known here")


def _scratch(row: dict[str, Any], numbers: dict[str, int]) -> str | None:
    """The least size in bytes of the buffer for intermediate results, of instructions that the
    twin has; None where there is none or the twin lacks the instruction."""
    rule = row.get("tmp")
    if rule is None or row["group"] not in ("adv-math", "adv-activation", "reduce"):
        return None
    if rule.get("let", {}).keys() & {"B,S_,H", "R,C"} or "K" in str(rule.get("min")):
        return None

    def cpp(formula: str) -> str:
        visitor = _Cpp(rule.get("let", {}))
        return str(visitor.visit(ast.parse(formula, mode="eval")))

    if "by_dtype" in rule:
        least = {types: cpp(sizes["min"]) for types, sizes in rule["by_dtype"].items()}
        if any("," in types for types in least):
            return None  # of several types: an instruction that the twin lacks
        return (
            "".join(f"f.type == {numbers[name]} ? {size} : " for name, size in least.items()) + "0"
        )
    if "no_index" in rule:
        text = f"f.indexed ? {cpp(rule['with_index'])} : {cpp(rule['no_index'])}"
    elif "first_axis" in rule:
        text = f"f.last_axis ? {cpp(rule['min'])} : {cpp(rule['first_axis'])}"
    else:
        text = cpp(rule["min"])
    return f"({text}) * f.size" if rule["unit"] == "elements" else text


def _range(low: int, high: int) -> str:
    return f"{low}, {high}"


def _field(name: str, field: dict[str, Any]) -> str:
    if "values" in field:
        low, high = min(field["values"]), max(field["values"])
        allowed = hex(sum(1 << value for value in field["values"]))
    else:
        # A field without a range holds what its bits hold; 64 bits and more are not looked at.
        low, high = field.get("range", (0, (1 << field["bits"]) - 1))
        allowed = "0"
        if high >= 1 << 62:
            low, high = -(1 << 62), 1 << 62
    unit = field.get("unit", "")
    return f'    {{"{name}", {_range(low, high)}, {allowed}, "{unit}"}},'


def _stride_field(name: str, field: dict[str, Any]) -> str:
    if "range" in field:
        low, high = map(int, field["range"].split(".."))
    else:
        low, high = 0, (1 << field["bits"]) - 1
    if name == "dstBlkStride":
        low = 1  # as in the parameter structs: 0 is undefined
    return f'    {{"{name}", {_range(low, high)}, 0, "{field["unit"]}"}},'


def _forms(row: dict[str, Any]) -> str:
    """Which forms need normal mode on entry: those of a count, those of repeats."""
    needing = [name for name, form in row["forms"].items() if form.get("entry") == _NORMAL]
    for name, form in row["forms"].items():
        if form.get("entry", _NORMAL) != _NORMAL:
            raise ValueError(f"{row['name']}, {name}: entry {form['entry']!r} is not known")
    count = any(name.startswith("count") for name in needing)
    repeat = any(name.startswith("repeat") for name in needing)
    return f"{str(count).lower()}, {str(repeat).lower()}"


def render() -> str:
    """The text of the header."""
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    rows = data["instructions"]
    names: dict[str, str] = data["meta"]["dtype_names"]
    numbers = {name: number for number, name in enumerate(names)}
    structs = {
        name: fields for name, fields in data["param_structs"].items() if name != "MrgSort4Info"
    }
    operands: list[str] = []
    tuples: list[str] = []
    fields: list[str] = []
    struct_rows: list[str] = []
    strides: dict[str, str] = {}
    for name, struct in structs.items():
        struct_rows.append(f'    {{"{name}", {len(fields)}, {len(struct)}}},')
        fields += [_field(field, facts) for field, facts in struct.items()]
    for row in rows:
        key = json.dumps(row.get("strides"))
        if "strides" in row and key not in strides:
            strides[key] = str(len(struct_rows))
            struct_rows.append(f'    {{"", {len(fields)}, {len(row["strides"])}}},')
            fields += [_stride_field(field, facts) for field, facts in row["strides"].items()]
    lines = []
    scratch: list[str] = []
    for row in rows:
        formula = _scratch(row, numbers)
        if formula is not None and formula not in scratch:
            scratch.append(formula)
        first, types = len(operands), len(tuples)
        operands += [
            _operand(o, numbers) for o in row.get("operands", ()) if o["space"] != "scalar"
        ]
        tuples += [_tuple(t, numbers) for t in row.get("dtypes", ())]
        overlap = row.get("overlap", {})
        low, high = row.get("repeat", (0, 255))
        accumulates = overlap.get("accumulate", [])
        cores = {"AIV": 1, "AIC": 2, "both": 3}[row["core"]]
        lines.append(
            f'    {{"{row["name"]}", {cores}, {first}, {len(operands) - first}, '
            f"{types}, {len(tuples) - types}, {low}, {high}, "
            f"Count::{_COUNTS[row.get('count', {}).get('expr')]}, "
            f"Alias::{_ALIAS[overlap.get('alias')]}, "
            f"{_mask(accumulates if isinstance(accumulates, list) else [], numbers)}, "
            f"{_forms(row)}, "
            f"{str(overlap.get('tmp') == 'may equal dst or src').lower()}, "
            f"{strides.get(json.dumps(row.get('strides')), -1)}, "
            f"{-1 if formula is None else scratch.index(formula)}, "
            f"{list(_DOMAINS).index(row['domain']) if 'domain' in row else -1}, "
            f"Piped::{_PIPED[row.get('needs_tpipe')]}}},"
        )
    modes = data["enums"]["RoundMode"]
    casts = [
        f"    {{{numbers[c['dst']]}, {numbers[c['src']]}, {_modes(c, modes)}}},"
        for c in data["cast"]
    ]
    return _TEXT.format(
        apis="\n".join(f"    {identifier(row['name'])}," for row in rows),
        structs="\n".join(f"    {name}," for name in structs),
        types="\n".join(
            f"template <>\ninline constexpr uint8_t type_of<{cpp}> = {numbers[name]};"
            for name, cpp in names.items()
        ),
        names=", ".join(f'"{cpp}"' for cpp in names.values()),
        sizes=", ".join(str(_SIZES[name]) for name in names),
        operands="\n".join(operands),
        tuples="\n".join(tuples),
        fields="\n".join(fields),
        struct_rows="\n".join(struct_rows),
        casts="\n".join(casts),
        scratch="\n".join(
            f"    [](const ScratchFacts& f) -> int64_t {{ return {formula}; }},"
            for formula in scratch
        ),
        domains="\n".join(
            f'    {{"{text}", [](double x) {{ return {cpp}; }}}},' for text, cpp in _DOMAINS.items()
        ),
        rows="\n".join(lines),
    )


_SIZES = {
    "half": 2, "float": 4, "bf16": 2, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4,
    "uint32": 4, "int64": 8, "uint64": 8, "double": 8, "bool": 1, "int4": 1,
}  # fmt: skip


def _modes(cast: dict[str, Any], enum: dict[str, int]) -> str:
    if "mode ignored" in cast.get("note", ""):
        return hex((1 << len(enum)) - 1)
    return hex(sum(1 << enum[f"CAST_{mode}"] for mode in cast["modes"]))


def _tuple(types: list[str], numbers: dict[str, int]) -> str:
    codes = [str(numbers[name]) for name in types] + ["kNoType"] * (3 - len(types))
    return f"    {{{', '.join(codes)}}},"


_TEXT = """\
/* Checked twin: the instruction table. Written by tools/twin_table.py. */
#ifndef PYPTO_TWIN_CHECK_TABLE_H
#define PYPTO_TWIN_CHECK_TABLE_H

#include "../types.h"

namespace pypto_twin {{
namespace check {{

/* The instructions, by their place in the table. */
enum class Api : uint16_t {{
{apis}
}};

/* Structs of parameters. */
enum class Struct : int8_t {{
    none = -1,
{structs}
}};

/* Types by number. */
constexpr uint8_t kNoType = 255;
template <typename T>
inline constexpr uint8_t type_of = kNoType;
{types}

#if defined(PYPTO_TWIN_SUPPORT)
using AscendC::Hardware;

constexpr const char* kTypeNames[] = {{{names}}};
constexpr uint8_t kTypeSizes[] = {{{sizes}}};

/* A multiple of so many bytes, and of so many elements. */
struct Alignment {{
    uint16_t bytes, elements;
}};

constexpr uint16_t in(Hardware memory)
{{
    return static_cast<uint16_t>(1u << static_cast<uint32_t>(memory));
}}

/* A tensor operand: where it may lie and start (in forms that return an index; in L0). Its type is
 * a number, or a place in a row of types. */
constexpr uint8_t kTuple = 100;
struct OperandRow {{
    const char* role;
    uint16_t memories;
    uint8_t type;
    Alignment align, align_index, align_L0;
}};
constexpr OperandRow kOperandRows[] = {{
{operands}
}};

/* Types that an instruction takes together: T0, T1, T2. */
struct TypesRow {{
    uint8_t types[3];
}};
constexpr TypesRow kTypesRows[] = {{
{tuples}
}};

/* A parameter and its range; `values` has a bit for each that is allowed, or is 0 for all. */
struct FieldRow {{
    const char* name;
    int64_t low, high;
    uint64_t values;
    const char* unit;
}};
constexpr FieldRow kFieldRows[] = {{
{fields}
}};

struct StructRow {{
    const char* name;
    uint16_t first;
    uint8_t fields;
}};
constexpr StructRow kStructRows[] = {{
{struct_rows}
}};

/* Pairs of types of Cast, and their modes as bits. */
struct CastRow {{
    uint8_t dst, src;
    uint8_t modes;
}};
constexpr CastRow kCastRows[] = {{
{casts}
}};

/* What a count must be: not negative, at least 1, whole blocks or repeats. */
enum class Count : uint8_t {{ any, natural, positive, blocks, repeats }};

/* Whether a source may be the destination: element by element, or between one size only. */
enum class Alias : uint8_t {{ unknown, exact, one_size, none }};

/* What the size of a buffer for intermediate results depends on: elements, bytes of one, those of
 * a repeat and of a block; rows and columns of a matrix; the type. */
struct ScratchFacts {{
    int64_t count, size, lanes, block, rows, columns;
    uint8_t type;
    bool indexed, last_axis;
}};
constexpr int64_t ceil_div(int64_t a, int64_t b) {{ return (a + b - 1) / b; }}
constexpr int64_t round_to(int64_t a, int64_t b) {{ return ceil_div(a, b) * b; }}
constexpr int64_t larger_of(int64_t a, int64_t b) {{ return a > b ? a : b; }}

/* The least size in bytes. */
constexpr int64_t (*kScratch[])(const ScratchFacts&) = {{
{scratch}
}};

/* Values that a function is documented for. */
struct Domain {{
    const char* text;
    bool (*has)(double);
}};
constexpr Domain kDomains[] = {{
{domains}
}};

/* Forms that are not for kernels without a TPipe. */
enum class Piped : uint8_t {{ none, count, all }};

struct ApiRow {{
    const char* name;
    uint8_t cores; /* bit 0: AIV, bit 1: AIC */
    uint16_t first_operand;
    uint8_t operands;
    uint16_t first_types;
    uint8_t types;
    int64_t least_repeat, most_repeat;
    Count count;
    Alias alias;
    uint16_t accumulates; /* types on which the second source may stay and be the destination */
    bool count_normal, repeat_normal; /* forms that need normal mask mode */
    bool tmp_aliases;
    int8_t strides; /* a struct row without name, or -1 */
    int8_t tmp;     /* a formula of the buffer for intermediate results, or -1 */
    int8_t domain;  /* of the source, or -1 */
    Piped piped;
}};
constexpr ApiRow kApiRows[] = {{
{rows}
}};
#endif

}}  // namespace check
}}  // namespace pypto_twin

#endif
"""


if __name__ == "__main__":
    HEADER.write_text(render(), encoding="utf-8")
