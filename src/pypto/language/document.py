"""The names of the language that are no operations, as a page (``docs/reference.md``)."""

from __future__ import annotations

import enum
import inspect
import operator

import pypto
from pypto import _options
from pypto.ir.dtype import DataType, stored_dtypes
from pypto.language import enums
from pypto.language.elsewhere import ELSEWHERE
from pypto.language.reference import PREAMBLE, SECTIONS, Entry, Section

__all__ = ["named", "reference_page"]

_INTRODUCTION = """\
# Reference

This page is made from the language itself; `python -m pypto.language.document` prints it. It has
every public name that is no operation; these are in [operations.md](operations.md).

Sizes and offsets count elements, axes count from 0 or, as -1, from the last one. A *run-time int*
is a number that only a call or the running kernel knows: an `int` parameter, a dynamic size, the
index of a loop, an element of an integer tensor. Parameters that are tensors are annotated with
`pypto.Tensor(...)`, in [these forms](getting-started.md#parameters). The examples share this
beginning:
"""

_DTYPES = """\
## Dtypes

Members of `pypto.DataType`, and names of `pypto` themselves. *Memory*: kernels can read, copy and
write tensors of it; which operations take it is said at [each](operations.md).

| dtype | bytes | torch | in kernels |
|---|---|---|---|
"""
_ENUMERATIONS = """\
## Enumerations

`pypto.DYN`, `pypto.DYNAMIC`, `pypto.STATIC`, `pypto.ROUND_UP` and `pypto.ROUND_DOWN` are members
that are names of `pypto`, too.

| name | members | what it says |
|---|---|---|
"""
_OTHERS = """\
## Options

[options.md](options.md) has every key and what it does. `with pypto.options(...)` sets for a block,
`@pypto.options(...)` for a function, a setter for what follows: the process outside kernels, the
statements behind it inside. A getter gives a dict of what is in force.

| name | meaning |
|---|---|
"""
_ERRORS = """\
## Errors and modules

| name | meaning |
|---|---|
| `PyptoError` | what every refusal is; `error.diagnostics` has its parts |
| `PyptoWarning` | the category of warnings |
| `error` | the module of the classes of errors: `FeTypeError` is a `TypeError`, and so on |
| `frontend` | the module of the decorators |
| `experimental` | names that may change: `get_operation_options`, `set_operation_options` |
| `platform` | `platform.npuarch`: the architecture that kernels are compiled for |
"""
_ELSEWHERE = """\
## Names of other targets

They can be imported; a kernel that calls one is refused, and told what to write instead.

| name | why it is not here | instead |
|---|---|---|
"""


def named() -> frozenset[str]:
    """The names that have an entry of their own on the page."""
    page = reference_page()
    rows = (
        line.partition("`")[2].partition("`")[0] for line in page.splitlines() if line[:3] == "| `"
    )
    titles = (line.removeprefix("### ") for line in page.splitlines() if line[:4] == "### ")
    return frozenset({*rows, *titles})


def _subject(entry: Entry) -> tuple[str, str]:
    """Signature and first sentence, of the public object where it has them."""
    owner = "" if entry.name in ("print",) or entry.name[:7] == "Tensor." else "pypto."
    if entry.doc:
        return f"{owner}{entry.name.replace('Tensor.', 'x.')}{entry.signature}", entry.doc
    found = operator.attrgetter(entry.name)(pypto)
    signature = getattr(found, "signature", "") or entry.signature
    text = getattr(found, "doc", None) or inspect.getdoc(found) or ""
    return f"pypto.{entry.name}{signature}", text.partition("\n\n")[0].replace("\n", " ").replace(
        "``", "`"
    )


def _entry(entry: Entry) -> str:
    signature, doc = _subject(entry)
    lines = [f"### {entry.name}", "", f"`{signature}`", "", doc, ""]
    lines += [f"- {note}" for note in entry.notes]
    lines += [""] * bool(entry.notes)
    if entry.example:
        lines += ["```python", entry.example.rstrip("\n"), "```", ""]
    if entry.prints:
        lines += ["```text", entry.prints.rstrip("\n"), "```", ""]
    return "\n".join(lines)


def _section(section: Section) -> str:
    text = f"{section.text}\n\n" if section.text else ""
    return f"## {section.title}\n\n{text}" + "\n".join(map(_entry, section.entries))


def _dtype_rows() -> str:
    def state(dtype: DataType) -> str:
        if dtype in stored_dtypes:
            return "memory"
        return "Ascend 950 only" if "950" in dtype.absent else "none"

    return (
        "".join(
            f"| `{one}` | {one.bytes} | {one.torch_name or ''} | {state(one)} |\n"
            for one in DataType
            if one is not DataType.DT_BOTTOM
        )
        + "| `DT_BOTTOM` |  |  | the end of the list |\n"
    )


def _enumerations() -> str:
    kinds = [getattr(enums, name) for name in enums.__all__]
    kinds += [_options.CompStage, _options.RunMode, _options.PassConfigKey, DataType]
    rows = []
    for kind in sorted(kinds, key=lambda one: one.__name__):
        assert issubclass(kind, enum.Enum)
        members = "the dtypes above" if kind is DataType else ", ".join(one.name for one in kind)
        doc = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
        rows.append(f"| `{kind.__name__}` | {members} | {doc.replace('``', '`')} |\n")
    return "".join(rows)


def _option_rows() -> str:
    rows = []
    for name in sorted(pypto._MODULES):
        module, attribute = pypto._MODULES[name]
        found = getattr(pypto, name)
        if module == "pypto._options" and (name == "options" or not isinstance(found, type)):
            doc = (inspect.getdoc(found) or "").partition("\n\n")[0].replace("\n", " ")
            rows.append(f"| `{attribute}` | {doc.replace('``', '`').replace('|', '/')} |\n")
    return "".join(rows)


def _elsewhere() -> str:
    rows = "".join(f"| `{one.name}` | {one.why} | {one.instead} |\n" for one in ELSEWHERE)
    return f"{rows}| `distributed` | the module of the names above that begin so |  |\n"


def reference_page() -> str:
    """The text of ``docs/reference.md``."""
    parts = [_INTRODUCTION, f"```python\n{PREAMBLE}```\n", *map(_section, SECTIONS)]
    parts += [_DTYPES + _dtype_rows(), _ENUMERATIONS + _enumerations(), _OTHERS + _option_rows()]
    parts += [_ERRORS, _ELSEWHERE + _elsewhere()]
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference_page(), end="")
