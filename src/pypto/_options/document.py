"""The option table as a page of the documentation (``docs/options.md``)."""

from __future__ import annotations

from collections.abc import Iterable

from pypto._options.check import thaw
from pypto._options.spec import Option
from pypto._options.table import FAMILIES, GLOBALS, TILE_FAMILY

__all__ = ["options_page"]

_STATES = {"works": "works", "not_yet": "not yet", "no_meaning": "no meaning here"}

_INTRODUCTION = """\
# Options

This page is made from the option table; `python -m pypto._options.document` prints it.

Options are set globally (`pypto.set_*_options(...)`, `pypto.set_options(...)`), for a scope
(`with pypto.options(...):`, `@pypto.options(...)`) or for one kernel (`@pypto.frontend.jit(...)`).
The kernel's own win over those of the scope, inner scopes over outer ones, and scopes over what is
set globally. A scope belongs to the thread that opened it. `PYPTO_RUN_MODE=sim` or `npu` in the
environment wins over `run_mode` everywhere.

* **works**: does what it says.
* **not yet**: accepted; setting it to anything but its default gives one warning.
* **no meaning here**: accepted, so that kernels written for the reference run; there is nothing on
  this target that it could change.

*Output* says whether the compiled kernel depends on the option: then it is part of the cache key.
An unknown key, a value of the wrong type and a value out of range are errors.
"""


def options_page() -> str:
    """The whole page, Markdown."""
    parts = [_INTRODUCTION]
    for family, options in FAMILIES.items():
        title = "Tiles" if family == TILE_FAMILY else f"`{family}`"
        parts.append(_section(title, options.values()))
    parts.append(_section("`pypto.set_global_config(key, value)`", GLOBALS.values()))
    return "\n".join(parts)


def _section(title: str, options: Iterable[Option]) -> str:
    rows = [
        "| key | type | allowed | default | state | output | meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    for option in options:
        default = thaw(option, option.default)
        meaning = f"{option.doc} ({option.why})" if option.why else option.doc
        cells = (
            f"`{option.name}`",
            option.type_text,
            option.range_text,
            f"`{default!r}`",
            _STATES[option.state],
            "yes" if option.affects_output else "no",
            meaning,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return f"## {title}\n\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(options_page(), end="")
