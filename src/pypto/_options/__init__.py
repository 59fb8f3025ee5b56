"""Options: all families and keys in one table, checked, scoped, resolved to one value.

:mod:`~pypto._options.table` is the table, :mod:`~pypto._options.check` checks values,
:mod:`~pypto._options.value` has the immutable :class:`Options`, :mod:`~pypto._options.state` the
scopes, :mod:`~pypto._options.api` the public functions.
"""

from __future__ import annotations

from pypto._options.api import (
    SETTERS,
    ConfigScope,
    get_codegen_options,
    get_current_scope,
    get_debug_options,
    get_global_config,
    get_host_options,
    get_operation_options,
    get_options_tree,
    get_pass_options,
    get_runtime_options,
    get_verify_options,
    options,
    reset_options,
    set_codegen_options,
    set_debug_options,
    set_global_config,
    set_host_options,
    set_operation_options,
    set_options,
    set_pass_options,
    set_print_options,
    set_runtime_options,
    set_tiles,
    set_verify_options,
)
from pypto._options.modes import CompStage, PassConfigKey, RunMode
from pypto._options.passes import (
    PassConfigs,
    get_pass_config,
    get_pass_configs,
    get_pass_default_config,
    set_pass_config,
    set_pass_default_config,
)
from pypto._options.state import SCOPE_SERIAL, current, epoch, on_change, resolve, validate_families
from pypto._options.value import Ignored, Options, validate

__all__ = [
    "SCOPE_SERIAL",
    "SETTERS",
    "CompStage",
    "ConfigScope",
    "Ignored",
    "Options",
    "PassConfigKey",
    "PassConfigs",
    "RunMode",
    "current",
    "epoch",
    "get_codegen_options",
    "get_current_scope",
    "get_debug_options",
    "get_global_config",
    "get_host_options",
    "get_operation_options",
    "get_options_tree",
    "get_pass_config",
    "get_pass_configs",
    "get_pass_default_config",
    "get_pass_options",
    "get_runtime_options",
    "get_verify_options",
    "on_change",
    "options",
    "reset_options",
    "resolve",
    "set_codegen_options",
    "set_debug_options",
    "set_global_config",
    "set_host_options",
    "set_operation_options",
    "set_options",
    "set_pass_config",
    "set_pass_default_config",
    "set_pass_options",
    "set_print_options",
    "set_runtime_options",
    "set_tiles",
    "set_verify_options",
    "validate",
    "validate_families",
]
