"""The project's own files agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pypto

REPOSITORY = Path(__file__).parent.parent.parent
PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def _name(requirement: str) -> str:
    return re.split(r"[\s\[<>=~!;]", requirement, maxsplit=1)[0].lower()


def test_every_data_file_is_packaged() -> None:
    package = REPOSITORY / "src" / "pypto"
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["pypto"]
    packaged = {path for pattern in patterns for path in package.glob(pattern)}
    data = {
        path
        for directory in ("data", "runtime", "templates", "twin")
        for path in (package / directory).glob("**/*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    # The folder of templates is a link, which a recursive glob may pass by.
    data |= {path for path in (package / "templates").glob("*/*") if path.is_file()}
    assert {path.relative_to(package).as_posix() for path in data - packaged} == set()
    assert {"kernel_operator.h", "launcher.c"} <= {path.name for path in packaged}


def test_version() -> None:
    assert PROJECT["project"]["version"] == pypto.__version__


def test_constraints_pin_every_direct_dependency() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {_name(text) for text in PROJECT["project"]["dependencies"]}
    wanted |= {_name(text) for texts in extras.values() for text in texts} - {"pypto"}
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    pinned = {_name(line) for line in lines if "==" in line}
    assert wanted == pinned


def test_npu_packages_are_never_required() -> None:
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = {
        _name(text) for texts in (PROJECT["project"]["dependencies"], *extras) for text in texts
    }
    assert not named & {"torch_npu", "torch-npu"}
