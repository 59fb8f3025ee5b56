"""What one option is."""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

from pypto._record import Record

__all__ = ["Frozen", "Kind", "Option", "Scope", "State"]

State = Literal["works", "not_yet", "no_meaning"]
"""``works``; ``not_yet``: accepted with one warning; ``no_meaning``: accepted, there is nothing on
this target that it could steer."""

Scope = Literal["scoped", "global"]
"""``scoped``: belongs to the innermost options scope; ``global``: to the process."""

Kind = Literal[
    "bool", "int", "str", "enum", "strings", "floats", "counts", "subgraph", "vec_tile",
    "cube_tile", "conv_tile", "sizes",
]  # fmt: skip
"""How a value is checked: see :mod:`pypto._options.check`. ``strings`` and ``floats`` are lists;
``counts`` maps a label to a merge count."""

Frozen: TypeAlias = "bool | int | float | str | tuple[Frozen, ...] | None"
"""An option's value as it is kept: immutable, hashable. Dicts become sorted pairs."""


class Option(Record):
    """One key of one family.

    ``default`` is frozen; None means that pypto decides. ``low``/``high`` bound an int, ``choices``
    a string, ``length`` a list. ``enum``: the values by name. ``affects_output``: the compiled
    kernel depends on it, so it is part of the cache key. ``why``: what a user should know when the
    option does nothing. ``argument``: the family's setter has it as an argument.
    """

    family: str
    name: str
    kind: Kind
    default: Frozen
    doc: str
    state: State
    why: str = ""
    affects_output: bool = False
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None
    enum: type[enum.IntEnum] | None = None
    scope: Scope = "scoped"
    argument: bool = True

    @property
    def full_name(self) -> str:
        return f"{self.family}.{self.name}"

    @property
    def shown_name(self) -> str:
        """The name in messages; a tile belongs to no family that a person could write."""
        if self.family == "tile_options":
            return f"pypto.set_{self.name}"
        return self.full_name

    @property
    def type_text(self) -> str:
        """The type as a person reads it."""
        return (
            _TYPE_TEXT.get(self.kind) or f"int or pypto.{self.enum.__name__ if self.enum else ''}"
        )

    @property
    def range_text(self) -> str:
        """What is allowed, as a person reads it; empty when the type says it all."""
        if self.enum is not None:
            return ", ".join(f"{m.value} ({m.name})" for m in self.enum)
        if self.choices:
            return ", ".join(f'"{c}"' for c in self.choices)
        if self.low is not None and self.high is not None:
            return f"{self.low}..{self.high}"
        if self.low is not None:
            return f"{self.low} or more"
        return _RANGE_TEXT.get(self.kind, "")


_TYPE_TEXT: dict[str, str] = {
    "bool": "bool",
    "int": "int",
    "str": "str",
    "strings": "list of str",
    "floats": "list of float",
    "counts": "dict of str to int",
    "subgraph": "int or (int, bool, bool)",
    "vec_tile": "list of int",
    "cube_tile": "(m, k, n, enable_split_k)",
    "conv_tile": "(tile_l1_info, tile_l0_info)",
    "sizes": "list of int",
}

_RANGE_TEXT: dict[str, str] = {
    "counts": "merge counts of 1 or more; keys all labels or all ints",
    "subgraph": "id -1..2147483647; flags only with an id of 0 or more",
    "vec_tile": "1 to 5 sizes of 1 or more",
    "cube_tile": "m and n: [L0, L1]; k: 2 or 3 values; all 1 or more",
    "sizes": "[m, k, n], each 1 or more",
}
