"""What is known while a kernel's text is written: names in sight, sizes, indentation.

Two axes have equal sizes in every call exactly when their keys are equal. A part of an axis has a
key of its own, made of the text of the slice; texts of slices mention only names that do not
change while the part is in sight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.ops.programs import Chooser


@dataclass(frozen=True, slots=True)
class Axis:
    """``text``: an expression of the size, where there is one; ``static``: the size itself."""

    key: str
    text: str | None = field(default=None, compare=False)
    static: int | None = field(default=None, compare=False)
    positive: bool = field(default=False, compare=False)


def static(size: int) -> Axis:
    return Axis(str(size), str(size), size, size > 0)


ONE = static(1)
Axes = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in sight. ``memory``: a parameter or local tensor, which can be written;
    ``writable`` is false for what other expressions rely on. ``level``: loops around its birth."""

    name: str
    axes: Axes
    dtype: str
    memory: bool = False
    writable: bool = True
    level: int = 0


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar in sight; ``frozen``: never assigned again where it is in sight. ``low`` and
    ``high`` bound it, where that is known."""

    name: str
    kind: str = "int"
    frozen: bool = True
    low: int | None = None
    high: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to take a part of the axis ``of`` (a key): the text in the brackets and the axis that
    is left, None where an index drops it. ``start`` and ``extent`` say the same for views."""

    of: str
    text: str
    axis: Axis | None
    kind: str
    start: str | None = None
    extent: int | None = None


@dataclass(slots=True)
class Loop:
    """A loop of the language around the place that is being written."""

    index: str
    jumps: bool = False  # something may leave an iteration early
    whole: bool = True  # False: some of its iterations are taken together


class Draft:
    """The text so far and what is in sight behind it."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.lines: list[str] = []
        self.indent = 1
        self.kinds: Counter[str] = Counter()
        self.tensors: list[Tensor] = []
        self.numbers: list[Number] = []
        self.cuts: list[Cut] = []
        self.loops: list[Loop] = []
        self.helpers: set[str] = set()
        self.dtype = "DT_FP32"
        self._names: Counter[str] = Counter()

    # --- decisions ---

    def one_in(self, count: int) -> bool:
        return self.chooser.number(1, count) == count

    def pick(self, low: int, high: int) -> int:
        return self.chooser.number(low, high)

    # --- text ---

    def use(self, kind: str) -> None:
        self.kinds[kind] += 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def name(self, stem: str) -> str:
        self._names[stem] += 1
        return f"{stem}{self._names[stem]}"

    @property
    def level(self) -> int:
        return len(self.loops)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Names made inside are out of sight behind it."""
        before = (list(self.tensors), list(self.numbers), list(self.cuts))
        self.indent += 1
        length = len(self.lines)
        yield
        if len(self.lines) == length:
            self.line("pass")
        self.indent -= 1
        self.tensors, self.numbers, self.cuts = before

    @contextmanager
    def loop(self, index: str) -> Iterator[Loop]:
        """The body of a loop of the language."""
        made = Loop(index)
        with self.block():
            self.loops.append(made)
            yield made
            self.loops.pop()

    # --- what is in sight ---

    def memory(self) -> list[Tensor]:
        return [t for t in self.tensors if t.memory and t.writable and t.dtype == self.dtype]

    def ints(self, *, frozen: bool = False, within: tuple[int, int] | None = None) -> list[str]:
        """Names of int scalars; ``within``: known to lie there, ends included."""
        return [
            n.name
            for n in self.numbers
            if n.kind == "int"
            and (n.frozen or not frozen)
            and (within is None or _lies(n, *within))
        ]


def _lies(number: Number, low: int, high: int) -> bool:
    if number.low is None or number.high is None:
        return False
    return low <= number.low and number.high <= high


def shown(parts: Sequence[str]) -> str:
    return ", ".join(parts)
