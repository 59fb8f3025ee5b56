"""The words of an Ascend C text, with the places they stand at.

Comments and preprocessor lines are kept apart: the parser sees neither.
"""

from __future__ import annotations

import bisect
import re

from pypto._record import Record

__all__ = ["Comment", "Tokens", "tokenize"]

_WORD = re.compile(
    r"""
    (?P<space>\s+|\\\r?\n)
  | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.]|'(?=\w))*)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?)
  | (?P<character>'(?:\\.|[^'\\\n])*'?)
  | (?P<mark>::|->|\+\+|--|<<=|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\w\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"[ \t]*\#(?:\\\r?\n|/\*.*?\*/|[^\n])*", re.DOTALL)


class Comment(Record):
    """A comment: its line (1-based), its text without the marks, and whether it stands alone."""

    line: int
    text: str
    alone: bool


class Tokens:
    """A text as words. ``kinds``: name, number, string, character, mark; ``end`` at the end.

    ``words`` and ``starts`` (offsets) run beside ``kinds``. ``directives``: offset and text of each
    preprocessor line, joined where a backslash continues it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.words: list[str] = []
        self.starts: list[int] = []
        self.comments: list[Comment] = []
        self.directives: list[tuple[int, str]] = []
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line (1-based) and column (0-based) of a character."""
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1]

    def place(self, index: int) -> tuple[int, int]:
        """Line (1-based) and column (0-based) of a word."""
        return self.position(self.starts[index])

    def stop(self, index: int) -> tuple[int, int]:
        """Where a word ends."""
        return self.position(self.starts[index] + len(self.words[index]))

    def joined(self, index: int) -> bool:
        """Whether word ``index`` and the next one touch."""
        return self.starts[index] + len(self.words[index]) == self.starts[index + 1]


def tokenize(text: str) -> Tokens:
    """The words of ``text``; every character that is none of ours is a mark of its own."""
    tokens = Tokens(text)
    kinds, words, starts = tokens.kinds, tokens.words, tokens.starts
    add_kind, add_word, add_start = kinds.append, words.append, starts.append
    match = _WORD.match
    at, length, fresh = 0, len(text), True
    while at < length:
        if fresh:  # nothing but white space on this line so far
            directive = _DIRECTIVE.match(text, at)
            if directive is not None:
                tokens.directives.append((at, directive[0].replace("\\\n", " ").strip()))
                at = directive.end()
                continue
        found = match(text, at)
        if found is None:
            raise AssertionError("every character is part of some word")
        kind = found.lastgroup or ""
        end = found.end()
        if kind == "space":
            fresh = fresh or "\n" in found[0]
        elif kind == "comment":
            _comment(tokens, at, found[0], fresh)
        else:
            fresh = False
            add_kind(kind)
            add_word(found[0])
            add_start(at)
        at = end
    add_kind("end")
    add_word("")
    add_start(length)
    return tokens


def _comment(tokens: Tokens, at: int, text: str, alone: bool) -> None:
    line = tokens.position(at)[0]
    body = text[2:].removesuffix("*/") if text.startswith("/*") else text[2:]
    for number, row in enumerate(body.split("\n")):
        tokens.comments.append(Comment(line + number, row.strip(" *\t\r"), alone))
