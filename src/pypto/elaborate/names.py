"""Names of the text as Python sees them: it reads identifiers in their NFKC form."""

from __future__ import annotations

__all__ = ["normal"]


def normal(name: str) -> str:
    """``name`` in the form in which Python compares it."""
    if name.isascii():
        return name
    import unicodedata  # loaded only for names that are not ASCII

    return unicodedata.normalize("NFKC", name)
