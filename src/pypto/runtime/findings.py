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

__all__ = ["Finding", "diagnostics", "read_findings", "unlawful"]

_QUEUE = "AllocTensor, EnQue, DeQue, FreeTensor: in this order, once each per tensor"
_FLAG = "each SetFlag needs exactly one WaitFlag of the same event and id, after it"
_CROSS = "each CrossCoreSetFlag of the cores of a mode needs one CrossCoreWaitFlag of each receiver"
_CACHE = (
    "call DataCacheCleanAndInvalid on both sides of a hand-over between the scalar unit and others"
)
_HELP = {
    "race": "order the two: a PipeBarrier of the pipe for instructions of one pipe, an event or a "
    "queue between pipes, SyncAll between cores",
    "race-tile": "give each step of the loop to one core",
    "race-update": "use SetAtomicAdd, or give each core bytes of its own",
    "bounds": "keep within the memory of the target; the rest belongs to the library",
    "buffer-bounds": "keep within the buffer that InitBuffer made, or the size that the tensor was "
    "given; or make it larger",
    "buffer-freed": "call InitBuffer again after Reset, and take the tensor from there",
    "no-buffer": "use memory that InitBuffer has handed out",
    "undefined-store": "write every element before it is stored, or store only those that were "
    "written; DataCopyPad can fill the rest of a last block (isPad)",
    "undefined-scalar": "write the element before the scalar unit reads it",
    "undefined-offset": "write every offset that the instruction follows",
    "undefined-mask": "write every bit that the instruction looks at",
    "deadlock": "each wait needs its signal: EnQue before DeQue, FreeTensor before AllocTensor, "
    "SetFlag before WaitFlag, SyncAll on every core",
    "stopped": "the launch ends here: the twin cannot compute what the device would",
    "gm-bounds": "keep within the tensors that the kernel is given, and what SetGlobalBuffer "
    "says of them",
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
    "cast-mode": "use a mode that the pair of types has, or convert in two steps",
    "compare-mode": "cast to float first, or compare for equality",
    "select-mode": "use the mode that fits the operands",
    "gather-offset": "offsets count bytes: multiply indices by the size of an element",
    "atomic-type": "set the atomic of the type that is copied, and SetAtomicNone afterwards",
    "tmp-size": "make the buffer larger; the size is in the table of instructions",
    "overlap": "use another buffer for the result, or start both at the same element",
    "kernel-kind": "state the kind that the kernel needs: __mix__(0, 1) for vector cores that wait "
    "for one another",
    "core-state": "begin with a TPipe; or with InitSocState() and end with PipeBarrier<PIPE_ALL>()",
    "sync-all": "every core of the launch calls SyncAll equally often, those without work too",
    "sync-memory": "give it 32 bytes a core of both, those of GM filled with 0 beforehand",
    "queue-full": "free a tensor of the queue first, or give InitBuffer more buffers",
    "queue-depth": "take a tensor out with DeQue first",
    "queue-events": "free tensors first: each position has 8 events",
    "pipe-buffers": "use fewer and larger buffers: 64 in all",
    "pipe-memory": "use smaller buffers, or call Reset between parts of the kernel",
    "pipe-twice": "hand the one TPipe to all parts of the kernel, or end the first one before",
    "pipe-static": "take the tensor from a TBuf, or do without TPipe: InitSocState() first",
    "unit-flag": "give Mmad and Fixpipe the same, or order them with an M_FIX event",
    "flag-id": "take ids from FetchEventID or AllocEventID, and release them",
    "flag-owner": "take ids from FetchEventID, or from AllocEventID until ReleaseEventID",
    "cross-flag-full": "let the receivers answer with a flag of their own before the 16th",
    "cross-flag-id": "use flags 0 to 10, or 15",
    "cache-line": "let the scalar units of two cores, and copies, write different 64-byte lines",
    "needs-tpipe": "make a TPipe, or use forms of repeats and masks of the basic instructions",
    "deq-scale": "SetDeqScale(half) first, once in the kernel",
    "domain": "keep the values within it; --assume domain=any takes the function to be as torch's",
    "flag-wait-first": "SetFlag first, then WaitFlag",
    "scalar-division": "test the divisor first; the device stops the kernel or gives any number",
    "scalar-memory": "keep pointers within the tensors that the kernel is given",
    "scalar-stack": "use loops for recursion, and on-chip memory for large arrays",
    "scalar-trap": "look for undefined behaviour of C++ there, which the device need not stop at",
    "timeout": "give the loop an end; a kernel that only takes long needs a larger "
    "PYPTO_TWIN_TIMEOUT (seconds of processor time; 0: no limit)",
    "refused": "the core ends here: the twin cannot compute what the device would",
}
_HELP_OF_FAMILY = {"queue": _QUEUE, "flag": _FLAG, "cross": _CROSS, "cache": _CACHE}
_NOWHERE = "the place is not known: that takes addr2line, of binutils, on PATH"
_MARK = re.compile(r"//\s+@([^\s@+]+)\+(\d+)")
_HEADS = ("    __aicore__", "__aicore__", "class ")
_INIT_BUFFER = re.compile(r"\bInitBuffer\(\s*([\w.>\-\[\]]+)\s*,")


class _Place(Record):
    """A line of the Ascend C."""

    line: int


class Finding(Record):
    """One broken rule, as often as it was broken at these places of the kernel.

    ``memory`` says which bytes the first time was about, ``tile`` in which step of the core's loop:
    the how-manieth tensor of the queue ``counter``, from 0. ``cores``: all cores, the first one
    first; ``tiles``: how many steps of theirs. Places stand innermost first."""

    rule: str
    message: str
    memory: str
    cores: tuple[str, ...]
    tiles: int
    tile: int | None
    here: tuple[_Place, ...]
    other: tuple[_Place, ...]
    buffer: tuple[_Place, ...]
    counter: tuple[_Place, ...]


def read_findings(library: ctypes.CDLL, path: str, source: str) -> list[Finding]:
    """What this thread's launches of the binary ``library``, loaded from ``path``, have found since
    it was asked last: by cores, then in program order. ``source``: the file of its text."""
    take = library.pypto_check_report
    take.restype = ctypes.c_char_p
    rows = [line.split("\t") for line in take().decode().splitlines()]
    base = _base(path)
    stacks = [tuple(stack.split()) for row in rows for stack in row[6:10]]
    places = _places(path, base, tuple(dict.fromkeys(stacks)), source)
    return [
        Finding(
            rule,
            message,
            memory,
            tuple(cores.split(",")),
            int(tiles),
            int(tile) if tile else None,
            *(tuple(places[tuple(stack.split())]) for stack in row_stacks),
        )
        for rule, cores, message, memory, tiles, tile, *row_stacks in rows
    ]


def _base(path: str) -> int:
    """Where the library at ``path`` is loaded."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            if line.rstrip("\n").endswith(path):
                return int(line.partition("-")[0], 16)
    return 0


_Stack = tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def _places(
    path: str, base: int, stacks: tuple[_Stack, ...], source: str
) -> dict[_Stack, Sequence[_Place]]:
    """The lines of ``source`` that stacks of return addresses stand for."""
    offsets = {address: int(address, 16) - base - 1 for stack in stacks for address in stack}
    asked = [address for address, offset in offsets.items() if offset >= 0]  # else another library
    lines: dict[str, list[_Place]] = {}
    if asked:
        lines = _lines(path, {address: hex(offsets[address]) for address in asked}, source)
    return {stack: [p for a in stack for p in lines.get(a, ())] for stack in stacks}


def _lines(path: str, offsets: dict[str, str], source: str) -> dict[str, list[_Place]]:
    """For each address the lines of ``source`` there, those of inlined functions first."""
    told = _told(["-a", "-i", "-e", path, *offsets.values()])
    if told is None:
        return {}  # _diagnostic says so: a finding without its place is still one
    # "0x<offset>", then lines of "file:line"
    parts = re.split(r"^0x[0-9a-f]+$\n", told, flags=re.MULTILINE)[1:]
    found: dict[str, list[_Place]] = {}
    for address, part in zip(offsets, parts, strict=True):
        places = found[address] = []
        for where in part.splitlines():
            file, _, line = where.partition(" ")[0].rpartition(":")
            if os.path.basename(file) == source and line.isdigit():
                places.append(_Place(int(line)))
    return found


def _told(arguments: list[str]) -> str | None:
    """What addr2line, or LLVM's of the same form, says; None where there is none."""
    for program in ("addr2line", "llvm-addr2line"):
        try:
            done = subprocess.run(
                [program, *arguments], stdout=subprocess.PIPE, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return done.stdout
    return None


def unlawful(name: str, entry: Entry, text: str, source: str, kernel: Kernel | None) -> VerifyError:
    """The error for all that was found. ``text`` is the Ascend C in the file ``source``; ``kernel``
    leads to the Python, where it is known."""
    path = entry.path("kernel.so")
    found = read_findings(ctypes.CDLL(path), path, source)
    return VerifyError(diagnostics(name, found, text, source, kernel))


def diagnostics(
    name: str, found: Iterable[Finding], text: str, source: str, kernel: Kernel | None = None
) -> list[Diagnostic]:
    """What is told of ``found``, in words; arguments as for :func:`unlawful`."""
    lines = text.splitlines()
    sources = {} if kernel is None else _sources(kernel)
    return [_diagnostic(name, one, lines, source, sources) for one in found]


def _sources(kernel: Kernel) -> dict[str, SourceText]:
    from pypto.ir.tensor import walk

    spans: Iterable[Span] = (kernel.span, *(statement.span for statement in walk(kernel.body)))
    return {span.source.label: span.source for span in spans}


def _diagnostic(
    name: str, found: Finding, lines: list[str], file: str, sources: dict[str, SourceText]
) -> Diagnostic:
    help = _HELP.get(found.rule) or _HELP_OF_FAMILY.get(found.rule.partition("-")[0])
    notes = [] if found.here else [_NOWHERE]
    notes += _shown(found.here, lines, file)
    notes += [f"and       {place}" for place in _shown(found.other, lines, file)]
    memory = ": ".join(part for part in (_buffer_name(found.buffer, lines), found.memory) if part)
    notes += [memory] if memory else []
    notes.append(_times(found, lines))
    return Diagnostic(
        VerifyError,
        VerifyError.default_code,
        f"{name}: {found.message} [{found.rule}]",
        _span(found.here, lines, sources),
        help=help,
        notes=tuple(notes),
    )


def _shown(places: tuple[_Place, ...], lines: list[str], file: str) -> list[str]:
    """The line of a place, and the one that called the function there."""
    told = [(place.line, _line(lines, place.line)) for place in places]
    return [f"{file}:{number}  {text}" for number, text in told if text][:2]


def _buffer_name(places: tuple[_Place, ...], lines: list[str]) -> str:
    """What the text calls the queue or TBuf that an InitBuffer made; empty when it is not told."""
    if not places:
        return ""
    names = _INIT_BUFFER.findall(_line(lines, places[0].line))
    where = f"InitBuffer in line {places[0].line}"
    return f"{names[0]} ({where})" if len(names) == 1 else where


def _times(found: Finding, lines: list[str]) -> str:
    """On which cores and in which steps, and whether there are more."""
    text = found.cores[0]
    if found.tile is not None:
        text += f", tile {found.tile}"
        if found.counter:
            names = _INIT_BUFFER.findall(_line(lines, found.counter[0].line))
            text += f" of {names[0]}" if len(names) == 1 else ""
    if len(found.cores) > 1:
        text += f"; also on {_cores(found.cores[1:])}"
    if found.tiles > 1:
        text += f"; {found.tiles} tiles in all"
    return text


def _cores(names: tuple[str, ...]) -> str:
    """``core 1, core 2, core 3`` as ``core 1-3``."""
    runs: list[tuple[str, int, int]] = []
    for name in names:
        unit, _, number = name.rpartition(" ")
        if runs and runs[-1][0] == unit and runs[-1][2] == int(number) - 1:
            runs[-1] = (unit, runs[-1][1], int(number))
        else:
            runs.append((unit, int(number), int(number)))
    return ", ".join(f"{u} {a}" if a == b else f"{u}s {a}-{b}" for u, a, b in runs)


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _span(
    places: tuple[_Place, ...], lines: list[str], sources: dict[str, SourceText]
) -> Span | None:
    """The Python statement of the innermost place that has one.

    That is the last comment before it in its function. Loads and stores have none: they belong to
    the first and the last statement of their stage, which the comment before its class lists."""
    for place in places:
        number = min(place.line, len(lines))
        while number > 0 and not lines[number - 1].startswith(_HEADS):
            span = _marked(lines[number - 1], sources)
            if span is not None:
                return span
            number -= 1
    for place in places:
        number = min(place.line, len(lines))
        store = False
        while number > 0 and not lines[number - 1].startswith("class "):
            store = store or lines[number - 1].startswith("    __aicore__ inline void CopyOut")
            number -= 1
        statements = []
        while number > 1 and lines[number - 2].startswith("//"):
            number -= 1
            statements.append(_marked(lines[number - 1], sources))
        spans = [span for span in statements if span is not None]
        if spans:
            return spans[0 if store else -1]
    return None


def _marked(line: str, sources: dict[str, SourceText]) -> Span | None:
    """The statement that a comment in the Ascend C names."""
    mark = _MARK.search(line)
    if mark is None or mark[1] not in sources:
        return None
    source = sources[mark[1]]
    at = int(mark[2])
    stripped = source.lines[at - 1]
    start = len(stripped) - len(stripped.lstrip())
    return Span(source, at, start, at, len(stripped.rstrip()))
