"""Generated texts broken in systematic ways: the linter finds every one.

Each way makes one mutant for each place where it applies. What is counted is that some rule of the
expected ones reports it; a mutant that the linter overlooks fails the test with its difference.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator

import pytest

from pypto import target
from pypto.lint.interface import interface
from tests.lint.support import found
from tests.ops.test_levels import compiled

TEXTS = ("chain", "stages", "integers", "static_softmax")
INSTRUCTIONS = interface(target.get()).forms

Mutants = Iterator[str]


@functools.cache
def text_of(name: str) -> str:
    return compiled(name).variants[0].compilation.ascendc


def each(text: str, pattern: str, change: Callable[[re.Match[str]], str]) -> Mutants:
    """A mutant for every match of ``pattern``."""
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield text[: match.start()] + change(match) + text[match.end() :]


def in_kernel(text: str, line: str) -> str:
    """``text`` with ``line`` as the last one of the kernel function."""
    return f"{text.rstrip().removesuffix('}')}    {line}\n}}\n"


def removed_calls(text: str) -> Mutants:
    return each(text, r"^.*\.(EnQue|FreeTensor|InitBuffer)\(.*\n", lambda match: "")


def doubled_calls(text: str) -> Mutants:
    return each(text, r"^.*\.(EnQue|FreeTensor)\(.*\n", lambda match: match[0] * 2)


def forgotten_takes(text: str) -> Mutants:
    """A tensor that no queue gave."""
    return each(
        text, r"^( *LocalTensor<\w+> \w+) = \w+\.(AllocTensor|DeQue)<.*\n", lambda m: f"{m[1]};\n"
    )


def other_takes(text: str) -> Mutants:
    yield from each(text, r"\.AllocTensor<", lambda match: ".DeQue<")
    yield from each(text, r"\.DeQue<", lambda match: ".AllocTensor<")


def odd_sizes(text: str) -> Mutants:
    return each(text, r"(InitBuffer\(.*, \d+)\);", lambda match: f"{match[1]} + 4);")


def large_sizes(text: str) -> Mutants:
    return each(text, r"(InitBuffer\(.*?, )(\d+)\);", lambda match: f"{match[1]}188192);")


def small_sizes(text: str) -> Mutants:
    """A scratch buffer that ends before the last of what lies in it begins."""
    for part in re.finditer(r"^class .*?^};", text, re.MULTILINE | re.DOTALL):
        if "calc[" in part[0]:
            for mutant in each(part[0], r"InitBuffer\(calcBuf_, \d+\)", small_scratch):
                yield text[: part.start()] + mutant + text[part.end() :]


def small_scratch(match: re.Match[str]) -> str:
    return "InitBuffer(calcBuf_, 32)"


def many_buffers(text: str) -> Mutants:
    return each(text, r"(InitBuffer\(\w+, )\d+, \d+\);", lambda match: f"{match[1]}9, 64);")


def spare_buffers(text: str) -> Mutants:
    yield text.replace(
        "    Args args_;\n", "    Args args_;\n    TBuf<TPosition::VECCALC> spare_;\n", 1
    )
    yield text.replace(
        "    Args args_;\n", "    Args args_;\n    TQue<TPosition::VECIN, 1> spare_;\n", 1
    )


def narrow_offsets(text: str) -> Mutants:
    if re.search(r"_\[\w+ \* \w", text):
        yield re.sub(r"\bint64_t\b", "int32_t", text)


def wide_strides(text: str) -> Mutants:
    for match in re.finditer(r"RepeatParams(?: \w+)?\{([\d, ]+)\}", text):
        for field in re.finditer(r"\d+", match[1]):
            start = match.start(1) + field.start()
            yield text[:start] + "65536" + text[start + len(field[0]) :]


def shared_operands(text: str) -> Mutants:
    """A destination that is the source, where the instruction forbids it."""
    pattern = r"((?:Sigmoid<\w+, false>|Brcb)\()(\w+), (\w+)"
    return each(text, pattern, lambda match: f"{match[1]}{match[3]}, {match[3]}")


def shifted_operands(text: str) -> Mutants:
    """The destination of a library function one element further."""
    pattern = r"((?:Sigmoid<\w+, false>|Brcb|Cast)\()(\w+), "
    return each(text, pattern, lambda match: f"{match[1]}{match[2]}[1], ")


def other_types(text: str) -> Mutants:
    """An operand of a helper function of a type that its instructions do not take."""
    return each(text, r"(?<=const LocalTensor<)\w+(?=>& dst)", lambda match: "uint64_t")


def unknown_instructions(text: str) -> Mutants:
    return each(
        text, r"^( +)([A-Z]\w+)(?=\()", lambda m: f"{m[1]}{m[2]}" + "X" * (m[2] in INSTRUCTIONS)
    )


def more_arguments(text: str) -> Mutants:
    for match in re.finditer(r"^ +([A-Z]\w+)(?:<.*?>)?\((.*)\);", text, re.MULTILINE):
        if match[1] in INSTRUCTIONS:
            at = match.end(2)
            more = ", ".join("1" * 10)
            yield text[:at] + (", " if match[2] else "") + more + text[at:]


def other_barriers(text: str) -> Mutants:
    yield from each(text, r"PipeBarrier<PIPE_V>", lambda match: "PipeBarrier<PIPE_S>")
    yield from each(text, r"PipeBarrier<PIPE_V>", lambda match: "PipeBarrier")


def other_modes(text: str) -> Mutants:
    yield from each(text, r"RoundMode::CAST_\w+", lambda match: "RoundMode::CAST_ODD")
    yield from each(text, r"RoundMode::CAST_\w+", lambda match: "RoundMode::CAST_HYBRID")
    yield from each(text, r"CMPMODE::\w+", lambda match: "CMPMODE::UNORDERED")


def missing_marks(text: str) -> Mutants:
    yield from each(text, r"__aicore__ inline ", lambda match: "inline ")
    yield text.replace('extern "C" ', "")
    yield re.sub(r'(?<=extern "C" __global__ )__\w+__(\(.*?\))? ', "", text)


FOREIGN = {
    # a line in the kernel function: what finds it
    "double d = args.step;": "double-arithmetic",
    "float f = args.step * 0.1;": "double-arithmetic",
    "int32_t* p = new int32_t[4];": "dynamic-allocation",
    "delete &pipe;": "dynamic-allocation",
    "throw args.step;": "exception",
    "static int32_t calls = 0;": "mutable-static",
    "memset(nullptr, 0, 4);": "standard-library",
    "std::swap(args, args);": "standard-library",
    "SetFlag<HardEvent::V_S>(EVENT_ID0);": "sync-unpaired-flag",
    "WaitFlag<HardEvent::V_S>(EVENT_ID0);": "sync-unpaired-flag",
    "SetFlag<HardEvent::M_FIX>(0);": "sync-event",
    "SetFlag<HardEvent::V_S>(9);": "sync-flag-id",
    "SyncAll<false>();": "sync-all-kind",
    "pipe.AllocEventID<HardEvent::V_S>();": "sync-unreleased-event",
    "LocalTensor<float> l; LocalTensor<half> h; Mmad(l, h, h, MmadParams());": "wrong-core",
    "Undeclared(1);": "unknown-call",
    "pipe.Bogus();": "unknown-call",
    "Bogus<float> bogus;": "unknown-type",
    "args = bogus;": "unknown-name",
    "auto* p = dynamic_cast<TPipe*>(&pipe);": "rtti",
    "if (args.step {": "unreadable",
    "args.step;  // lint: off bogus": "unknown-rule",
}


def barriers_of_cores(text: str) -> Mutants:
    yield (
        text.replace("__mix__(0, 1)", "__vector__")
        if "SyncAll" in text
        else in_kernel(text, "SyncAll();")
    )


WAYS: dict[Callable[[str], Mutants], set[str]] = {
    removed_calls: {"sync-unpaired-queue", "buffer-uninitialised"},
    doubled_calls: {"sync-unpaired-queue"},
    forgotten_takes: {"sync-unpaired-queue"},
    other_takes: {"sync-unpaired-queue", "sync-queue-depth"},
    odd_sizes: {"buffer-size"},
    large_sizes: {"buffer-over-budget"},
    small_sizes: {"operand-bounds"},
    many_buffers: {"buffer-count"},
    spare_buffers: {"buffer-uninitialised"},
    narrow_offsets: {"offset-32-bit"},
    wide_strides: {"immediate-range"},
    shared_operands: {"operand-overlap"},
    shifted_operands: {"operand-alignment"},
    other_types: {"operand-type"},
    unknown_instructions: {"unknown-call"},
    more_arguments: {"argument-count"},
    other_barriers: {"sync-event", "template-count"},
    other_modes: {"rounding-mode", "unknown-name"},
    missing_marks: {"missing-aicore", "kernel-entry"},
    barriers_of_cores: {"sync-all-kind"},
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_found_unbroken(name: str) -> None:
    assert found(text_of(name)) == []


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_mutant_is_found(way: Callable[[str], Mutants]) -> None:
    count = 0
    for name in TEXTS:
        text = text_of(name)
        for mutant in way(text):
            if mutant == text:
                continue
            count += 1
            rules = found(mutant)
            assert WAYS[way] & set(rules), f"{rules}\n{_difference(text, mutant)}"
    assert count, "the way applies nowhere"


@pytest.mark.parametrize("line", FOREIGN)
def test_foreign_lines_are_found(line: str) -> None:
    assert all(FOREIGN[line] in found(in_kernel(text_of(name), line)) for name in TEXTS)


def _difference(text: str, mutant: str) -> str:
    return "\n".join(
        difflib.unified_diff(text.split("\n"), mutant.split("\n"), "text", "mutant", n=1)
    )
