"""Static rules over Ascend C text: ``pypto lint FILE.cpp``, and the check of every dump in tests.

Nothing of this is loaded when kernels compile or run. ``docs/lint.md`` lists the rules;
:func:`check` applies them to a text.
"""

from __future__ import annotations

from pypto.lint.check import Report, check
from pypto.lint.rules import RULES

__all__ = ["RULES", "Report", "check"]
