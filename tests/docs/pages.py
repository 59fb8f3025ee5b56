"""Reads the fenced blocks of a Markdown page, and runs the Python ones.

The Python blocks of a page are one program: they run in order, in one process and one namespace. A
block of kind ``text`` that follows a Python block at once is what that block prints. Each block is
a file ``example.py`` of its own, so that lines in error messages count from the block's first line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "python_blocks", "run_python"]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Kernels print to the file descriptor, past Python's sys.stdout: that is what is read.
_RUNNER = """
import json, os, sys, tempfile
namespace = {"__name__": "example"}
report = os.fdopen(os.dup(1), "w")
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        try:
            exec(code, namespace)
        finally:
            os.dup2(report.fileno(), 1)
        printed.seek(0)
        print(json.dumps(printed.read().decode()), file=report, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its kind, its text, and the line of the page on which the text begins."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of ``page`` in order."""
    source = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], source.count("\n", 0, found.start(2)) + 1)
        for found in _FENCE.finditer(source)
    ]


def python_blocks(page: Path) -> list[tuple[Block, str | None]]:
    """The Python blocks of ``page``, each with the output that the page shows, if it shows any."""
    found = blocks(page)
    lines = page.read_text(encoding="utf-8").splitlines()
    pairs: list[tuple[Block, str | None]] = []
    for number, block in enumerate(found):
        if block.kind != "python":
            continue
        following = found[number + 1] if number + 1 < len(found) else None
        expected = None
        if following is not None and following.kind == "text":
            end = block.line + block.text.count("\n")  # the closing fence
            between = lines[end : following.line - 2]
            expected = following.text if not any(between) else None
        pairs.append((block, expected))
    return pairs


def run_python(page: Path, directory: Path) -> list[tuple[Block, str | None, str]]:
    """Run the page's Python blocks: each with the output shown and the output it has.

    ``directory`` receives the blocks; paths into it are cut from the output.
    """
    pairs = python_blocks(page)
    files = []
    for number, (block, _) in enumerate(pairs):
        file = directory / str(number) / "example.py"
        file.parent.mkdir()
        file.write_text(block.text, encoding="utf-8")
        files.append(str(file))
    done = subprocess.run(
        [sys.executable, "-u", "-c", _RUNNER, *files],
        cwd=directory,
        capture_output=True,
        text=True,
    )
    outputs = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        failed = pairs[len(outputs)][0]
        raise AssertionError(f"{page.name}:{failed.line} fails:\n{done.stderr}")
    # Shown absolute or relative to the working directory, which is ``directory``.
    inside = re.compile(rf"(?:{re.escape(str(directory))}/)?\d+/(?=example\.py)")
    return [
        (block, expected, inside.sub("", output))
        for (block, expected), output in zip(pairs, outputs, strict=True)
    ]
