"""The page of the language is the language, and every public name is on some page."""

from __future__ import annotations

import re
from pathlib import Path

import pypto
from pypto.elaborate import tensors
from pypto.language.builtin import BUILTINS
from pypto.language.document import named, reference_page
from pypto.ops import registry

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "reference.md"


def test_page() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), (
        "write it anew: python -m pypto.language.document > docs/reference.md"
    )


def _documented() -> set[str]:
    """Names with an entry: a title, or the first cell of a row of a table of names."""
    operations = (DOCS / "operations.md").read_text(encoding="utf-8")
    return set(named()) | set(re.findall(r"^### (\w+)$", operations, re.MULTILINE))


def test_every_public_name_has_an_entry() -> None:
    # Members and other names of a thing are told where the thing is.
    page = PAGE.read_text(encoding="utf-8")
    told = {
        n for n in (*pypto._MEMBERS, "Element", "SymbolicScalar", "jit") if f"`pypto.{n}`" in page
    }
    told |= {"Tensor"} if "`pypto.Tensor(...)`" in page else set()
    missing = set(pypto.__all__) - _documented() - told
    assert missing == set()
    assert {one.name for one in BUILTINS} <= _documented()


def test_every_member_of_tensors_has_an_entry() -> None:
    methods = {name for name in registry.names() if registry.method(name) is not None}
    members = {f"Tensor.{name}" for name in (*tensors._PROPERTIES, *tensors._OWN_METHODS)}
    documented = _documented()
    others = {f"Tensor.{one.name}" for one in BUILTINS} & members
    assert {one.removeprefix("Tensor.") for one in others} <= documented
    assert members - others <= documented
    assert methods <= documented


def test_names_of_the_modules_have_entries() -> None:
    documented = _documented()
    assert {f"frontend.{name}" for name in pypto.frontend.__all__} <= documented
    assert {f"distributed.{name}" for name in pypto.distributed.__all__} <= documented
