"""What the checked twin has found: rules of the device that a kernel broke, with their places.

A kernel's binary reports return addresses. They become lines of the Ascend C by ``addr2line``,
which comes with the assembler that compilers use, and the comments there lead to the Python.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pypto._record import Record
from pypto.build.record import Entry
from pypto.error import Diagnostic, SourceText, Span, VerifyError

if TYPE_CHECKING:
    from pypto.ir.tensor import Kernel

__all__ = ["findings", "unlawful"]

_HELP = {
    "race": "order the two: a PipeBarrier of the pipe for instructions of one pipe, an event or a "
    "queue between pipes, SyncAll between cores",
    "bounds": "keep within the memory of the target; the rest belongs to the library",
    "buffer-bounds": "keep within the buffer that InitBuffer made, or make it larger",
    "gm-bounds": "keep within the tensors that the kernel is given",
    "core-kind": "put it under `if ASCEND_IS_AIV` or `if ASCEND_IS_AIC`, or launch another kind",
    "operand-memory": "give it a tensor in the memory that the instruction works on",
    "align": "begin the tensor, or the part of it, at such a multiple",
    "dtype": "cast first, or reinterpret the tensor as a type of the same size",
    "count": "give a count that the instruction takes, and handle the rest apart",
    "repeat": "cut the work into several calls, or use the form with a count",
    "parameter": "the field keeps only its low bits: cut the work into calls whose values fit",
    "mask-length": "a mask counts the lanes of one repeat: use more repeats",
    "mask-bits": "a mask has one bit for each lane of a repeat",
    "mask-mode": "SetMaskNorm first, or isSetMask = false with SetVectorMask",
    "overlap": "use another buffer for the result, or start both at the same element",
}
_NOWHERE = "the place is not known: that takes addr2line, of binutils, on PATH"
_PROTOCOL = "AllocTensor, EnQue, DeQue, FreeTensor: in this order, once each per tensor"
_FLAGS = "each SetFlag needs exactly one WaitFlag of the same event and id"
_MARK = re.compile(r"//\s+@([^\s@+]+)\+(\d+)")


class _Place(Record):
    """A line of the Ascend C; ``function`` is the one that it stands in."""

    function: str
    line: int


class _Finding(Record):
    """One broken rule: the places (innermost first) of the instruction, and of the other one."""

    rule: str
    core: str
    text: str
    here: tuple[_Place, ...]
    other: tuple[_Place, ...]


def findings(entry: Entry, source: str) -> list[_Finding]:
    """What the binary of ``entry`` has found since it was asked last. ``source``: the file of its
    text."""
    path = entry.path("kernel.so")
    take = ctypes.CDLL(path).pypto_check_report
    take.restype = ctypes.c_char_p
    lines = take().decode().splitlines()
    base = _base(path)
    found = []
    for line in lines:
        rule, core, text, here, other = line.split("\t")
        stacks = (
            tuple(_places(path, base, tuple(stack.split()), source)) for stack in (here, other)
        )
        found.append(_Finding(rule, core, text, *stacks))
    return found


def _base(path: str) -> int:
    """Where the library at ``path`` is loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            if line.rstrip("\n").endswith(path):
                return int(line.partition("-")[0], 16)
    return 0


@functools.lru_cache(maxsize=1024)
def _places(path: str, base: int, stack: tuple[str, ...], source: str) -> Sequence[_Place]:
    """The lines of ``source`` that a stack of return addresses stands for."""
    offsets = (int(address, 16) - base - 1 for address in stack)
    addresses = [hex(offset) for offset in offsets if offset >= 0]  # others lie in other libraries
    if not addresses:
        return []
    command = ["addr2line", "-i", "-f", "-C", "-e", path, *addresses]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []  # _diagnostic says so: a finding without its place is still one
    told = done.stdout.splitlines()
    places = []
    for function, where in zip(told[::2], told[1::2], strict=False):
        file, _, line = where.partition(" ")[0].rpartition(":")
        if os.path.basename(file) == source and line.isdigit():
            places.append(_Place(function.partition("(")[0].rpartition("::")[2], int(line)))
    return places


def unlawful(name: str, entry: Entry, text: str, source: str, kernel: Kernel | None) -> VerifyError:
    """The error for all that was found. ``text`` is the Ascend C in the file ``source``; ``kernel``
    leads to the Python, where it is known."""
    lines = text.splitlines()
    sources = {} if kernel is None else _sources(kernel)
    found = findings(entry, source)
    return VerifyError([_diagnostic(name, one, lines, source, sources) for one in found])


def _sources(kernel: Kernel) -> dict[str, SourceText]:
    spans: Iterable[Span] = (kernel.span, *(statement.span for statement in kernel.body))
    return {span.source.label: span.source for span in spans}


def _diagnostic(
    name: str, found: _Finding, lines: list[str], file: str, sources: dict[str, SourceText]
) -> Diagnostic:
    help = _HELP.get(found.rule)
    if help is None:
        help = _PROTOCOL if found.rule.startswith("queue") else _FLAGS
    notes = [] if found.here else [_NOWHERE]
    notes += [f"{file}:{place.line}  {_line(lines, place.line)}" for place in found.here[:2]]
    if found.other:
        notes += [f"and       {file}:{p.line}  {_line(lines, p.line)}" for p in found.other[:2]]
    notes.append(f"core {found.core}")
    return Diagnostic(
        VerifyError,
        VerifyError.default_code,
        f"{name}: {found.text} [{found.rule}]",
        _span(found.here, lines, sources),
        help=help,
        notes=tuple(notes),
    )


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _span(
    places: tuple[_Place, ...], lines: list[str], sources: dict[str, SourceText]
) -> Span | None:
    """The Python statement of the last comment before a place, the innermost one that has any."""
    for place in places:
        for number in range(min(place.line, len(lines)), 0, -1):
            line = lines[number - 1]
            mark = _MARK.search(line)
            if mark is not None and mark[1] in sources:
                source = sources[mark[1]]
                at = int(mark[2])
                stripped = source.lines[at - 1]
                start = len(stripped) - len(stripped.lstrip())
                return Span(source, at, start, at, len(stripped.rstrip()))
            if line.startswith(("    __aicore__", "__aicore__", "class ")):
                break
    return None
