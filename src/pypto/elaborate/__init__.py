"""The front end: the captured Python text of a kernel becomes Tensor IR by partial evaluation.

Reading order: :mod:`source` (text), :mod:`parse` and :mod:`syntax` (tree), :mod:`machine` (state),
:mod:`expressions`, :mod:`statements`, :mod:`calls` (meaning), :mod:`driver` (the whole).
:mod:`captures` needs no libcst: a warm start evaluates captured reads with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto.elaborate.driver import Elaboration, elaborate
    from pypto.elaborate.source import KernelSource

__all__ = ["Elaboration", "KernelSource", "elaborate"]


def __getattr__(name: str) -> Any:
    # Imported when first used: a warm start needs `captures` and `source`, but no libcst.
    if name == "KernelSource":
        from pypto.elaborate.source import KernelSource

        return KernelSource
    if name in ("Elaboration", "elaborate"):
        from pypto.elaborate import driver

        return getattr(driver, name)
    raise AttributeError(f"module 'pypto.elaborate' has no attribute '{name}'")
