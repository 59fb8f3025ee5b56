"""C++ names from Python names: legal, readable, without collisions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["Names", "identifier"]

_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const constexpr const_cast continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq
    half bfloat16_t Args main std AscendC block_idx block_num pipe args count rows cols pitch row
    col begin left stride full tail repeat step offset INFINITY NAN GM_ADDR unix linux
    """.split()
)


def identifier(name: str) -> str:
    """``name`` as a legal C++ identifier: ASCII, no reserved word, no leading underscore."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in text)
    text = re.sub(r"\W", "_", text).strip("_") or "v"
    text = re.sub(r"__+", "_", text)
    if text[0].isdigit():
        text = f"v{text}"
    # A leading capital is kept for the types and functions of Ascend C.
    if text in _RESERVED or text[0].isupper():
        text = f"{text[0].lower()}{text[1:]}" if text[0].isupper() else f"{text}Value"
        if text in _RESERVED:
            text = f"{text}Value"
    return text


class Names:
    """Hands out names that are unique in one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wanted: str) -> str:
        """``wanted`` as an identifier, numbered when it is taken."""
        return self.plain(identifier(wanted))

    def plain(self, wanted: str) -> str:
        """``wanted``, an identifier of ours, numbered when it is taken."""
        base = wanted
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}{number}", number + 1
        self._taken.add(name)
        return name
