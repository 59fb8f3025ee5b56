"""``pypto doctor``: what this machine has, and what keeps kernels from running on it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pypto.error import PyptoError

__all__ = ["cann_problems", "doctor_command"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. ``state``: ok, problem (kernels cannot run here) or absent (of
    something that only NPUs need)."""

    subject: str
    state: str
    text: str


def doctor_command() -> int:
    """Print all findings, problems first; 1 if there is a problem, else 0."""
    from rich.text import Text

    from pypto.cli.output import console

    shown = console(soft_wrap=True)
    findings = sorted(_findings(), key=lambda finding: finding.state != "problem")
    styles = {"ok": "green", "problem": "bold red", "absent": "yellow"}
    for finding in findings:
        first, *rest = finding.text.splitlines() or [""]
        line = Text(f"{finding.state:8}", styles[finding.state])
        line.append(f"{finding.subject:10}", "bold")
        line.append(first, "")
        shown.print(line)
        for further in rest:
            shown.print(Text(" " * 18 + further))
    problems = sum(finding.state == "problem" for finding in findings)
    if problems:
        shown.print(f"\n{problems} problem{'s' if problems > 1 else ''}, the first one on top")
        return 1
    shown.print("\nKernels compile and run on this CPU. Nothing here has been tried on an NPU.")
    return 0


def _findings() -> Iterator[Finding]:
    yield Finding("pypto", "ok", f"{_version('pypto')}, Python {platform.python_version()}")
    for subject, check in (
        ("cache", _cache),
        ("compiler", _compiler),
        ("tools", _tools),
        ("torch", _torch),
        ("torch_npu", _torch_npu),
        ("CANN", _cann),
    ):
        yield _guarded(subject, check)


def _guarded(subject: str, check: Callable[[], str | Finding]) -> Finding:
    """What ``check`` finds: it returns that, or a text, or raises a PyptoError that says why not.

    One check that fails in a way that nobody thought of leaves the others their say.
    """
    try:
        found = check()
    except PyptoError as error:
        return Finding(subject, "problem", str(error))
    except Exception as error:
        text = f"this check failed: {type(error).__name__}: {error}"
        return Finding(subject, "problem", f"{text}\nthis is a bug of pypto: please report it")
    return found if isinstance(found, Finding) else Finding(subject, "ok", found)


def _cache() -> str:
    from pypto.build.store import open_store

    store = open_store()
    root = store.write_root()
    if root == store.wanted:
        return root
    return f"{store.wanted} cannot be used; this process uses {root}, which is removed at its end"


def _compiler() -> str:
    from pypto.build.store import open_store
    from pypto.build.toolchain import find_host_toolchain

    toolchain = find_host_toolchain(open_store().memo)
    return (
        f"{toolchain.version}\n{shlex.join(toolchain.command)}\n"
        f"instruction set {toolchain.isa}\nflags {' '.join(toolchain.flags)}"
    )


def _tools() -> str:
    from pypto.build.steps import HeadersMissingError, launcher_module, prepare
    from pypto.build.store import open_store
    from pypto.build.toolchain import CompilerError, find_host_toolchain
    from pypto.runtime.tools import plain_launcher_wanted

    store = open_store()
    toolchain = find_host_toolchain(store.memo)
    prepare(store, toolchain, launcher=False)
    built = "runtime library and precompiled twin are built"
    if plain_launcher_wanted():
        return f"{built}\nthe launcher is the slower one in Python: PYPTO_LAUNCHER asks for it"
    try:
        launcher_module(store, toolchain)
    except (HeadersMissingError, CompilerError) as error:
        return f"{built}\nthe launcher is the slower one in Python, because:\n{error}"
    return "runtime library, launcher and precompiled twin are built"


def _torch() -> Finding:
    version = _version("torch")
    if version is None:
        return Finding(
            "torch",
            "problem",
            "not installed; kernels take its tensors: pip install 'pypto[torch]'",
        )
    return Finding("torch", "ok", version)


def _torch_npu() -> Finding:
    version = _version("torch_npu") or _version("torch-npu")
    if version is None:
        return Finding("torch_npu", "absent", "not installed; only NPUs need it")
    return Finding("torch_npu", "ok", version)


def _cann() -> Finding:
    problems = cann_problems()
    if problems:
        return Finding("CANN", "absent", "\n".join((*problems, "only NPUs need it")))
    return Finding("CANN", "ok", os.environ["ASCEND_HOME_PATH"])


def cann_problems() -> list[str]:
    """What is missing here to build or run kernels for an NPU; nothing missing: []."""
    problems = []
    home = os.environ.get("ASCEND_HOME_PATH", "")
    if not home:
        problems.append("CANN is not set up: ASCEND_HOME_PATH is not set")
    elif not os.path.isdir(home):
        problems.append(f"ASCEND_HOME_PATH names {home}, which is not a directory")
    if shutil.which("bisheng") is None and not _bisheng_in(home):
        problems.append("the compiler bisheng is neither in CANN nor on PATH")
    if _version("torch_npu") is None and _version("torch-npu") is None:
        problems.append(f"torch_npu is not installed for {sys.executable}")
    return problems


def _bisheng_in(home: str) -> bool:
    machine = f"{platform.machine()}-linux"
    places = (f"{machine}/ccec_compiler/bin", f"{machine}/bin", "compiler/bin", "bin", "tools/bin")
    return any(os.access(os.path.join(home, place, "bisheng"), os.X_OK) for place in places if home)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
