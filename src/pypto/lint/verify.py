"""The check of generated text that a compilation makes of itself (``PYPTO_VERIFY=1``)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pypto.error import Diagnostic, PyptoGeneralError
from pypto.lint.check import Report, check
from pypto.target import Target

__all__ = ["verify_ascendc"]


def verify_ascendc(text: str, filename: str, target: Target, located: Callable[[str], str]) -> None:
    """Raise PyptoGeneralError when a rule finds something in a generated text.

    ``located`` fills in the files and lines of Python: the text itself names neither. Texts that
    were checked before in this process are not checked again.
    """
    if not _checked(text, target).problems:
        return
    code = PyptoGeneralError.default_code
    raise PyptoGeneralError(
        [
            Diagnostic(
                PyptoGeneralError,
                code,
                f"Ascend C: {problem.rule}: {problem.message}",
                problem.span,
                help=problem.help,
                notes=(f"python: {problem.python}", *problem.notes)
                if problem.python
                else problem.notes,
            )
            for problem in check(located(text), filename, target).problems
        ]
    )


@functools.lru_cache(maxsize=256)
def _checked(text: str, target: Target) -> Report:
    return check(text, "", target)
