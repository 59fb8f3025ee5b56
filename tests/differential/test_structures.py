"""Random programs over lists, dicts and objects that run-time loops and branches change.

Either a program computes what Python does, or it is refused because two names may have one object.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch

from pypto.error import PyptoError
from tests.differential.agree import agree_calls, count

PRELUDE = """
import dataclasses
@dataclasses.dataclass
class St:
    m: object
    l: object
def bump(q, t):
    q[0] = q[0] + t
def update(s, t):
    s.m = s.m + t
    return s
def pick(s, r, i, n):
    if i == n: return s
    return r
def fresh(s, i):
    return St(s.m + 1, s.l + i)
def k(x: T([4], FP32), o: T([4], FP32), n: int):
"""

TENSORS = ("a[0]", "b[0]", "st.m", "d['m']", "e[1].m", "sr.m")
NUMBERS = ("a[1]", "b[1]", "st.l", "d['l']", "e[1].l", "sr.l")
LISTS = ("a", "b", "e[0]", "d['q']")
OBJECTS = ("st", "sr", "e[1]")
REFUSED = ("may or may not be the object that", "changes the object that")
SIMPLE = (
    "{T} = {t} + {t}", "{T} = {t} - {t}", "{N} = ({m} + {m}) % 7", "{N} += 1",
    "{L} = [{t} + 1, {m}]",
    "{O} = St({t}, {m})", "{L} = {l}", "{O} = {q}", "bump({l}, {t})", "{O} = update({q}, {t})",
    "{O} = pick({q}, {q}, {m}, n)", "{O} = fresh({q}, {m})", "t = ({t} - 1, {m})",
    "d = {{'m': {t}, 'l': {m}, 'q': {l}}}", "{L}, {M} = {M}, {L}", "{T}, {U} = {U}, {T}",
    "{L} = {l} if {m} > {m} else {l}", "{O} = {q} if {m} > {m} else {q}",
    "{T} = {t} if {m} > {m} else {t}",
)  # fmt: skip


class Writer:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def text(self) -> str:
        draw = self.random.choice
        self.lines += ["a = [x * 1, 1]", draw(("b = a", "b = [x * 3, 2]")), "st = St(x * 2, 0)"]
        self.lines += [draw(("sr = st", "sr = St(x + 5, 3)"))]
        self.lines += [f"d = {{'m': x + 1, 'l': 1, 'q': {draw(('a', 'b', '[x * 2, 1]'))}}}"]
        self.lines += [f"e = [{draw(('a', '[x - 1, 4]'))}, {draw(('st', 'St(x - 2, 5)'))}]"]
        self.lines += ["t = (x, 1)"]
        for _ in range(self.random.randint(3, 6)):
            self.statement(0, [])
        self.lines.append(self.filled("o[:] = {t} + {t} * 3 + {t} * {m} + {m}", []))
        return PRELUDE + "".join(f"    {line}\n" for line in self.lines)

    def filled(self, pattern: str, loops: list[str]) -> str:
        draw = self.random.choice
        while "{" in pattern.replace("{{", ""):
            drawn = {
                "t": draw((*TENSORS, "t[0]", "x")), "m": draw((*NUMBERS, "t[1]", "n", "2", *loops)),
                "l": draw(LISTS), "q": draw(OBJECTS),
            }  # fmt: skip
            for name, value in drawn.items():
                pattern = pattern.replace(f"{{{name}}}", value, 1)
            for name, group in zip("TUNLMO", (TENSORS, TENSORS, NUMBERS, LISTS, LISTS, OBJECTS),
                                   strict=True):  # fmt: skip
                pattern = pattern.replace(f"{{{name}}}", draw(group))
        return pattern.replace("{{", "{").replace("}}", "}")

    def add(self, indent: int, pattern: str, loops: list[str]) -> None:
        self.lines.append("    " * indent + self.filled(pattern, loops))

    def block(self, indent: int, most: int, loops: list[str]) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(indent, loops)

    def statement(self, indent: int, loops: list[str]) -> None:
        draw = self.random.choice
        kind = draw(("if", "if", "loop", "range", "leave", *["simple"] * 11))
        if kind == "if" and indent < 3:
            self.add(indent, f"if {{m}} {draw(('>', '==', '<'))} {{m}}:", loops)
            self.block(indent + 1, 2, loops)
            if self.random.random() < 0.5:
                self.add(indent, "else:", loops)
                self.block(indent + 1, 2, loops)
        elif kind in ("loop", "range") and indent < 3:
            self.loops += 1
            index = f"i{self.loops}"
            bound = f"pypto.loop({draw(('3', 'n', '2'))})" if kind == "loop" else "range(2)"
            self.add(indent, f"for {index} in {bound}:", loops)
            self.block(indent + 1, 4, [*loops, index])
        elif kind == "leave" and loops:
            self.add(indent, "if {m} > {m}:", loops)
            self.add(indent + 1, draw(("break", "continue")), loops)
        elif kind == "leave" and self.random.random() < 0.3:
            self.add(indent, "if {m} > {m} + 3:", loops)
            self.add(indent + 1, "o[:] = {t}", loops)
            self.add(indent + 1, "return", loops)
        else:
            self.add(indent, draw(SIMPLE), loops)


def verdict(seed: int) -> str:
    """How one program ends: whether it agrees, or the message that refuses it."""
    text = Writer(seed).text()
    try:
        agree_calls(text, [(count(4), torch.zeros(4), n) for n in (0, 1, 2, 4)])
    except PyptoError as error:
        assert any(part in str(error) for part in REFUSED), f"{error}\n{text}"
        return "refused"
    return "agrees"


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_random_programs_over_structures(first: int) -> None:
    found = Counter(map(verdict, range(first, first + 40)))
    assert found["agrees"] > 30, found
