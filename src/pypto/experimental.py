"""``pypto.experimental``: parts of the contract that may change."""

from __future__ import annotations

from pypto._options import get_operation_options, set_operation_options
from pypto.language.elsewhere import online_softmax, online_softmax_update

__all__ = [
    "get_operation_options",
    "online_softmax",
    "online_softmax_update",
    "set_operation_options",
]
