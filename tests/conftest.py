"""Fixtures and settings that all tests share.

* One kernel cache a run: the controlling process makes a temporary directory and names it in
  ``PYPTO_CACHE_DIR``; the workers of pytest-xdist inherit it. Every run starts from an empty cache.
* ``PYPTO_VERIFY``: each level of each compilation is checked for what it promises.
* Hypothesis repeats the same examples on every run; ``--hypothesis-profile=fuzz`` tries new ones.
* ``--twin=checked`` runs kernels on the checked twin: a broken rule of the device is an error.
* ``--mutation`` runs the tests marked so: minutes of work on what is checked in slices by default.
* ``--stress`` runs the tests marked so with many more processes, threads and rounds.
* ``golden`` compares a text with ``tests/golden/<name>.txt``; ``--update-golden`` writes it.
"""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

GOLDEN = Path(__file__).parent / "golden"

# What may be set from outside; the rest of the settings would change what tests see.
_KEPT = ("PYPTO_COMPILE_TIMEOUT", "PYPTO_NUM_THREADS", "PYPTO_TWIN", "PYPTO_ASSUME")

_run_cache = pytest.StashKey[str]()

hypothesis.settings.register_profile(
    "default", derandomize=True, deadline=None, max_examples=60, database=None
)
hypothesis.settings.register_profile(
    "fuzz", deadline=None, max_examples=3000, print_blob=True, database=None
)
hypothesis.settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the files of tests/golden instead of comparing with them",
    )
    parser.addoption(
        "--stress",
        type=int,
        nargs="?",
        const=0,
        metavar="SEED",
        help="run the tests marked stress at full length; without SEED with a new one, printed",
    )

    parser.addoption(
        "--twin",
        choices=("fast", "checked", "shuffled", "naive"),
        default=None,
        help="the build of the twin that kernels run on",
    )
    parser.addoption(
        "--mutation",
        action="store_true",
        help="run the tests marked mutation: each synchronisation of many kernels taken away",
    )
    parser.addoption(
        "--assume",
        action="append",
        metavar="RULE=CHOICE",
        help="what a rule of the device that is not known is taken to be; see docs/twin.md",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "property: a property test, beside hypothesis' own mark")
    config.addinivalue_line("markers", "stress: many processes or rounds, more with --stress")
    config.addinivalue_line("markers", "mutation: minutes of work, with --mutation only")
    if not hasattr(config, "workerinput"):
        root = tempfile.mkdtemp(prefix="pypto-tests-")
        config.stash[_run_cache] = root
        for name in [name for name in os.environ if name.startswith("PYPTO_")]:
            if name not in _KEPT:
                del os.environ[name]
        os.environ["PYPTO_CACHE_DIR"] = os.path.join(root, "cache")
        os.environ["PYPTO_VERIFY"] = "1"
        if config.getoption("--twin") is not None:
            os.environ["PYPTO_TWIN"] = config.getoption("--twin")
        if config.getoption("--assume"):
            os.environ["PYPTO_ASSUME"] = " ".join(config.getoption("--assume"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--mutation"):
        left_out = [item for item in items if item.get_closest_marker("mutation")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_unconfigure(config: pytest.Config) -> None:
    root = config.stash.get(_run_cache, None)
    if root is not None:
        shutil.rmtree(root)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Iterator[Callable[[str, str], None]]:
    """``golden(name, text)`` fails unless ``text`` is what ``tests/golden/<name>.txt`` holds."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        text = text if text.endswith("\n") else text + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == expected:
            return
        shown = path.relative_to(GOLDEN.parent.parent).as_posix()
        difference = "".join(
            difflib.unified_diff(
                expected.splitlines(keepends=True), text.splitlines(keepends=True), shown, "now"
            )
        )
        pytest.fail(
            f"{difference}\n{shown} differs; if the new text is right:\n"
            f"  python -m pytest '{request.node.nodeid}' --update-golden",
            pytrace=False,
        )

    yield compare
