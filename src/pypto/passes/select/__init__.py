"""Instruction selection: the nodes of a stage become copies and instructions in blocks.

A plan has one of five forms. ``run``: all operands are one run of elements. ``rows``: a step takes
whole rows; values are full, one per row, one row for all, or single, and mixed operands use the
strided instruction forms. ``chunks``: rows do not fit, so each row is walked in chunks, once per
level of reductions; what a later pass needs is computed again. ``columns``: rows are reduced to
one; a strip of columns is walked row by row, once per level of reductions. ``tiles``: a step takes
rows and columns of a tile that is transposed on chip.

``places`` knows where values are; ``spread``, ``elementwise``, ``reductions`` and ``totals`` choose
instructions, ``copies`` the loads and stores; ``driver`` says which block each goes into.
"""

from pypto.passes.select.driver import select
from pypto.passes.select.reductions import SUMMED_ROWS

__all__ = ["SUMMED_ROWS", "select"]
