"""Every entry of the contract is in the twin and tested, or listed with the reason why not."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from .contract import ENTRIES, LACKING, Entry, Lacking, plain
from .harness import INCLUDE, PACKAGE

TESTS = {path.stem: path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")}
HEADERS = {path.name: path.read_text("utf-8") for path in INCLUDE.glob("*.h")}


def has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def test_every_instruction_is_listed_once() -> None:
    table = json.loads((PACKAGE / "data" / "instructions.json").read_text("utf-8"))
    listed = Counter([*(entry.name for entry in ENTRIES), *(entry.name for entry in LACKING)])
    assert [name for name, count in listed.items() if count > 1] == []
    assert [row["name"] for row in table["instructions"] if row["name"] not in listed] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_has_its_header_and_test(entry: Entry) -> None:
    assert has(HEADERS[entry.header], entry.mark)
    assert has(TESTS[entry.test], entry.mark)


@pytest.mark.parametrize("entry", LACKING, ids=lambda entry: entry.name)
def test_what_is_lacking_is_not_there(entry: Lacking) -> None:
    """So that an entry that is implemented leaves the list."""
    assert entry.reason
    name = plain(entry.name)
    if name not in {present.mark for present in ENTRIES} and " " not in entry.name:
        there = rf"(void|int64_t|uint8_t\*) {name}\(|define {name}\b"
        assert [header for header, text in HEADERS.items() if re.search(there, text)] == []
