"""Every example of the documents runs and prints what the page shows."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import blocks, run_python

REPOSITORY = Path(__file__).parent.parent.parent
PAGES = sorted(
    page.relative_to(REPOSITORY).as_posix()
    for page in (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"))
)
PROMPT = "$ "


def _commands(page: str) -> list[str]:
    """What the page shows a reader typing: lines of ``console`` blocks that begin with ``$``."""
    return [
        line.removeprefix(PROMPT)
        for block in blocks(REPOSITORY / page)
        if block.kind == "console"
        for line in block.text.splitlines()
        if line.startswith(PROMPT)
    ]


@pytest.mark.parametrize("page", PAGES)
def test_python_examples(page: str, tmp_path: Path) -> None:
    for block, shown, printed in run_python(REPOSITORY / page, tmp_path):
        if shown is not None:
            assert printed == shown, f"{page}:{block.line} prints something else"


def test_pages_have_examples() -> None:
    kinds = [block.kind for page in PAGES for block in blocks(REPOSITORY / page)]
    assert kinds.count("python") >= 5


@pytest.mark.parametrize(
    ("page", "command"), [(page, command) for page in PAGES for command in _commands(page)]
)
def test_commands(page: str, command: str, tmp_path: Path) -> None:
    command, _, comment = command.partition("  # exit code ")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        "PYPTO_DUMP": "",
    }
    if "cache rm" in command:  # not the one that the other tests of this run use
        environment["PYPTO_CACHE_DIR"] = str(tmp_path / "cache")
    done = subprocess.run(
        ["bash", "-c", command.replace("OUT", shlex.quote(str(tmp_path)))],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == int(comment or 0), f"{page}: {command}\n{done.stdout}"


def test_ci_runs_the_command_of_the_readme() -> None:
    shown = [block for block in blocks(REPOSITORY / "README.md") if block.kind == "sh"]
    tests = shown[1].text.strip()
    assert "\n" not in tests
    assert tests in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_first_command_runs_the_sample() -> None:
    shown = [block for block in blocks(REPOSITORY / "README.md") if block.kind == "sh"]
    assert shown[0].text.strip().endswith(".venv/bin/pypto run samples/hello_world.py --dump")
