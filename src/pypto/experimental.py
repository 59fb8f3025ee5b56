"""``pypto.experimental``: parts of the contract that may change."""

from __future__ import annotations

from pypto._options import get_operation_options, set_operation_options

__all__ = ["get_operation_options", "set_operation_options"]
