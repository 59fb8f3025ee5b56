"""Digests of trees and of token streams, and the memo behind them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pypto.build import key
from pypto.build.key import digest_tree, token_digest
from pypto.build.memo import Memo, file_state

PLAIN = """@jit
def k(x, o):
    n = 1 + 2
    if n > 1:
        o[:] = x * n
    return
"""

SAME = {
    "comments": PLAIN.replace("n = 1 + 2", "n = 1 + 2  # three\n    # more"),
    "blank lines": PLAIN.replace("    if", "\n\n    if"),
    "tabs": PLAIN.replace("    ", "\t"),
    "narrow": PLAIN.replace("    ", " "),
    "crlf": PLAIN.replace("\n", "\r\n"),
    "cr": PLAIN.replace("\n", "\r"),
    "continuation": PLAIN.replace("1 + 2", "1 + \\\n 2"),
    "spaces": PLAIN.replace("1 + 2", "1+2").replace("x, o", "x , o"),
    "no end": PLAIN.rstrip("\n"),
    "bom": "\ufeff" + PLAIN,
    "form feed": PLAIN.replace("    if", "\f    if"),
    "indented": "".join(f"    {line}\n" for line in PLAIN.splitlines()),
}

DIFFERENT = {
    "number": PLAIN.replace("1 + 2", "1 + 3"),
    "spelling": PLAIN.replace("1 + 2", "0x1 + 2"),
    "name": PLAIN.replace("x * n", "x * m"),
    "operator": PLAIN.replace("x * n", "x + n"),
    "structure": PLAIN.replace("    return", "        return"),
    "string": PLAIN.replace("return", "return '#'"),
    "string 2": PLAIN.replace("return", "return ' #'"),
    "statement": PLAIN.replace("    return\n", ""),
    "semicolon": PLAIN.replace("1 + 2\n", "1 + 2;\n"),
    "parentheses": PLAIN.replace("1 + 2", "(1 + 2)"),
}


@pytest.mark.parametrize("name", SAME)
def test_layout_does_not_matter(name: str) -> None:
    assert SAME[name] != PLAIN
    assert token_digest(SAME[name]) == token_digest(PLAIN)


def test_each_token_matters() -> None:
    digests = {token_digest(text) for text in DIFFERENT.values()}
    assert len(digests | {token_digest(PLAIN)}) == len(DIFFERENT) + 1


def test_lines_inside_brackets_do_not_matter() -> None:
    assert token_digest("f(a,\n   b)\n") == token_digest("f(a, b)\n")


@pytest.mark.parametrize("text", ["f(", "'''", "if x:\n        a\n    b\n"])
def test_text_without_tokens_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        token_digest(text)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("a")
    (root / "sub" / "b.py").write_text("b")
    (root / "note.txt").write_text("not counted")
    age(root)
    return root


def age(root: Path) -> None:
    """Make all files old enough for the memo to trust their times."""
    for number, path in enumerate(sorted(root.rglob("*.py"))):
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))


def digest(root: Path, memo: Memo | None = None) -> str:
    return digest_tree([("tree", str(root))], (".py",), memo or Memo(None))


def test_tree_digest_follows_names_and_contents(tree: Path, tmp_path: Path) -> None:
    before = digest(tree)
    (tree / "note.txt").write_text("changed")
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "x.py").write_text("x")
    assert digest(tree) == before
    moved = tmp_path / "elsewhere"
    tree.rename(moved)
    assert digest(moved) == before
    (moved / "a.py").write_text("c")
    changed = digest(moved)
    (moved / "a.py").rename(moved / "c.py")
    assert len({before, changed, digest(moved)}) == 3


def test_memo_saves_reading(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    real = key.file_digest
    monkeypatch.setattr(key, "file_digest", lambda path: reads.append(path) or real(path))
    memo = Memo(str(tmp_path / "memo"))
    first = digest(tree, memo)
    assert len(reads) == 2
    assert digest(tree, Memo(str(tmp_path / "memo"))) == first
    assert len(reads) == 2
    (tree / "a.py").write_text("longer than before")
    assert digest(tree, memo) != first
    assert len(reads) == 4


def test_memo_does_not_trust_a_fresh_file(tree: Path, tmp_path: Path) -> None:
    memo = Memo(str(tmp_path / "memo"))
    (tree / "a.py").write_text("1")
    first = digest(tree, memo)
    state = file_state(str(tree / "a.py"))
    (tree / "a.py").write_text("2")
    os.utime(tree / "a.py", ns=(state[2], state[2]))
    assert digest(tree, memo) != first


def test_memo_does_not_grow_for_ever(tree: Path, tmp_path: Path) -> None:
    memo = Memo(str(tmp_path / "memo"))
    state = file_state(str(tree / "a.py"))
    for number in range(1100):
        memo.put(str(number), (state,), "x")
    assert 500 <= len(os.listdir(tmp_path / "memo")) <= 1024


@pytest.mark.parametrize("damage", [b"", b"\0" * 80, b"0" * 64 + b"\nwrong"])
def test_damaged_memo_is_ignored(tree: Path, tmp_path: Path, damage: bytes) -> None:
    memo = Memo(str(tmp_path / "memo"))
    first = digest(tree, memo)
    (record,) = (tmp_path / "memo").iterdir()
    record.write_bytes(damage)
    assert digest(tree, memo) == first
