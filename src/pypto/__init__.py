"""pypto: Ascend NPU kernels in Python.

Public names are imported when they are first used (PEP 562): ``import pypto`` alone loads nothing
but this file. ``_MODULES`` says where each name comes from; operations (``pypto.add``, ...) come
from the registry, so that an operation is added in one place.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for True; ``typing`` is not imported for it
if TYPE_CHECKING:
    from typing import Any

    from pypto import distributed as distributed
    from pypto import error as error
    from pypto import experimental as experimental
    from pypto import frontend as frontend
    from pypto._jit import jit as jit
    from pypto._options import CompStage as CompStage
    from pypto._options import PassConfigKey as PassConfigKey
    from pypto._options import RunMode as RunMode
    from pypto._options import get_codegen_options as get_codegen_options
    from pypto._options import get_current_scope as get_current_scope
    from pypto._options import get_debug_options as get_debug_options
    from pypto._options import get_global_config as get_global_config
    from pypto._options import get_host_options as get_host_options
    from pypto._options import get_options_tree as get_options_tree
    from pypto._options import get_pass_config as get_pass_config
    from pypto._options import get_pass_configs as get_pass_configs
    from pypto._options import get_pass_default_config as get_pass_default_config
    from pypto._options import get_pass_options as get_pass_options
    from pypto._options import get_runtime_options as get_runtime_options
    from pypto._options import get_verify_options as get_verify_options
    from pypto._options import options as options
    from pypto._options import reset_options as reset_options
    from pypto._options import set_codegen_options as set_codegen_options
    from pypto._options import set_debug_options as set_debug_options
    from pypto._options import set_global_config as set_global_config
    from pypto._options import set_host_options as set_host_options
    from pypto._options import set_options as set_options
    from pypto._options import set_pass_config as set_pass_config
    from pypto._options import set_pass_default_config as set_pass_default_config
    from pypto._options import set_pass_options as set_pass_options
    from pypto._options import set_print_options as set_print_options
    from pypto._options import set_runtime_options as set_runtime_options
    from pypto._options import set_verify_options as set_verify_options
    from pypto.error import PyptoError as PyptoError
    from pypto.error import PyptoWarning as PyptoWarning
    from pypto.ir.dtype import DataType as DataType
    from pypto.language.annotation import Tensor as Tensor
    from pypto.language.builtin import assemble as assemble
    from pypto.language.builtin import bytes_of as bytes_of
    from pypto.language.builtin import ceildiv as ceildiv
    from pypto.language.builtin import cond as cond
    from pypto.language.builtin import full as full
    from pypto.language.builtin import get_conv_tile_shapes as get_conv_tile_shapes
    from pypto.language.builtin import get_cube_tile_shapes as get_cube_tile_shapes
    from pypto.language.builtin import get_vec_tile_shapes as get_vec_tile_shapes
    from pypto.language.builtin import is_loop_begin as is_loop_begin
    from pypto.language.builtin import is_loop_end as is_loop_end
    from pypto.language.builtin import loop as loop
    from pypto.language.builtin import loop_unroll as loop_unroll
    from pypto.language.builtin import max as max
    from pypto.language.builtin import min as min
    from pypto.language.builtin import ones as ones
    from pypto.language.builtin import permute as permute
    from pypto.language.builtin import reshape as reshape
    from pypto.language.builtin import set_conv_tile_shapes as set_conv_tile_shapes
    from pypto.language.builtin import set_cube_tile_shapes as set_cube_tile_shapes
    from pypto.language.builtin import set_matrix_size as set_matrix_size
    from pypto.language.builtin import set_semantic_label as set_semantic_label
    from pypto.language.builtin import set_vec_tile_shapes as set_vec_tile_shapes
    from pypto.language.builtin import tensor as tensor
    from pypto.language.builtin import transpose as transpose
    from pypto.language.builtin import unsqueeze as unsqueeze
    from pypto.language.builtin import view as view
    from pypto.language.builtin import zeros as zeros
    from pypto.language.element import Element as Element
    from pypto.language.elsewhere import normal as normal
    from pypto.language.elsewhere import quant_mx as quant_mx
    from pypto.language.elsewhere import scaled_mm as scaled_mm
    from pypto.language.elsewhere import uniform as uniform
    from pypto.language.enums import AtomicRMWMode as AtomicRMWMode
    from pypto.language.enums import AtomicType as AtomicType
    from pypto.language.enums import CachePolicy as CachePolicy
    from pypto.language.enums import CastMode as CastMode
    from pypto.language.enums import ConvReLuType as ConvReLuType
    from pypto.language.enums import DequantScaleRoundingMode as DequantScaleRoundingMode
    from pypto.language.enums import LogBaseType as LogBaseType
    from pypto.language.enums import LogLevel as LogLevel
    from pypto.language.enums import OpType as OpType
    from pypto.language.enums import OutType as OutType
    from pypto.language.enums import PrecisionType as PrecisionType
    from pypto.language.enums import ReduceMode as ReduceMode
    from pypto.language.enums import ReLuType as ReLuType
    from pypto.language.enums import SatStatus as SatStatus
    from pypto.language.enums import SaturationMode as SaturationMode
    from pypto.language.enums import ScatterMode as ScatterMode
    from pypto.language.enums import StatusType as StatusType
    from pypto.language.enums import TileOpFormat as TileOpFormat
    from pypto.language.enums import TopKAlgo as TopKAlgo
    from pypto.language.enums import TransMode as TransMode
    from pypto.language.platform import platform as platform
    from pypto.language.symbolic import SymbolicScalar as SymbolicScalar

    element = Element
    symbolic_scalar = SymbolicScalar

    DT_INT4 = DataType.DT_INT4
    DT_INT8 = DataType.DT_INT8
    DT_INT16 = DataType.DT_INT16
    DT_INT32 = DataType.DT_INT32
    DT_INT64 = DataType.DT_INT64
    DT_FP8 = DataType.DT_FP8
    DT_FP16 = DataType.DT_FP16
    DT_FP32 = DataType.DT_FP32
    DT_BF16 = DataType.DT_BF16
    DT_HF4 = DataType.DT_HF4
    DT_HF8 = DataType.DT_HF8
    DT_UINT8 = DataType.DT_UINT8
    DT_UINT16 = DataType.DT_UINT16
    DT_UINT32 = DataType.DT_UINT32
    DT_UINT64 = DataType.DT_UINT64
    DT_BOOL = DataType.DT_BOOL
    DT_DOUBLE = DataType.DT_DOUBLE
    DT_FP8E4M3 = DataType.DT_FP8E4M3
    DT_FP8E5M2 = DataType.DT_FP8E5M2
    DT_FP8E8M0 = DataType.DT_FP8E8M0
    DT_FP4_E2M1X2 = DataType.DT_FP4_E2M1X2
    DT_FP4_E1M2X2 = DataType.DT_FP4_E1M2X2
    DT_FP4_E2M1 = DataType.DT_FP4_E2M1
    DT_FP4_E1M2 = DataType.DT_FP4_E1M2
    DT_BOTTOM = DataType.DT_BOTTOM

    DYN = StatusType.DYN
    DYNAMIC = StatusType.DYNAMIC
    STATIC = StatusType.STATIC
    ROUND_UP = DequantScaleRoundingMode.ROUND_UP
    ROUND_DOWN = DequantScaleRoundingMode.ROUND_DOWN


def _names(module: str, names: str) -> dict[str, tuple[str, str]]:
    return {name: (module, name) for name in names.split()}


# Where each public name comes from: module, and name there ("" is the module itself).
_MODULES: dict[str, tuple[str, str]] = {
    "distributed": ("pypto.distributed", ""),
    "error": ("pypto.error", ""),
    "experimental": ("pypto.experimental", ""),
    "frontend": ("pypto.frontend", ""),
    "jit": ("pypto._jit", "jit"),
    **_names("pypto.error", "PyptoError PyptoWarning"),
    **_names("pypto.ir.dtype", "DataType"),
    **_names(
        "pypto._options",
        """CompStage PassConfigKey RunMode get_codegen_options get_current_scope get_debug_options
        get_global_config get_host_options get_options_tree get_pass_config get_pass_configs
        get_pass_default_config get_pass_options get_runtime_options get_verify_options options
        reset_options set_codegen_options set_debug_options set_global_config set_host_options
        set_options set_pass_config set_pass_default_config set_pass_options set_print_options
        set_runtime_options set_verify_options""",
    ),
    **_names("pypto.language.annotation", "Tensor"),
    **_names(
        "pypto.language.builtin",
        """assemble bytes_of ceildiv cond full get_conv_tile_shapes get_cube_tile_shapes
        get_vec_tile_shapes is_loop_begin is_loop_end loop loop_unroll max min ones permute reshape
        set_conv_tile_shapes set_cube_tile_shapes set_matrix_size set_semantic_label
        set_vec_tile_shapes tensor transpose unsqueeze view zeros""",
    ),
    **_names("pypto.language.element", "Element"),
    **_names(
        "pypto.language.elsewhere",
        "normal quant_mx scaled_mm uniform",
    ),
    **_names(
        "pypto.language.enums",
        """AtomicRMWMode AtomicType CachePolicy CastMode ConvReLuType DequantScaleRoundingMode
        LogBaseType LogLevel OpType OutType PrecisionType ReLuType ReduceMode SatStatus
        SaturationMode ScatterMode StatusType TileOpFormat TopKAlgo TransMode""",
    ),
    **_names("pypto.language.platform", "platform"),
    **_names("pypto.language.symbolic", "SymbolicScalar"),
    "element": ("pypto.language.element", "Element"),
    "symbolic_scalar": ("pypto.language.symbolic", "SymbolicScalar"),
}

# Members of enumerations that are public names themselves: the enumeration and its members.
_MEMBERS: dict[str, str] = {
    **dict.fromkeys(
        """DT_INT4 DT_INT8 DT_INT16 DT_INT32 DT_INT64 DT_FP8 DT_FP16 DT_FP32 DT_BF16 DT_HF4 DT_HF8
        DT_UINT8 DT_UINT16 DT_UINT32 DT_UINT64 DT_BOOL DT_DOUBLE DT_FP8E4M3 DT_FP8E5M2 DT_FP8E8M0
        DT_FP4_E2M1X2 DT_FP4_E1M2X2 DT_FP4_E2M1 DT_FP4_E1M2 DT_BOTTOM""".split(),
        "DataType",
    ),
    **dict.fromkeys(("DYN", "DYNAMIC", "STATIC"), "StatusType"),
    **dict.fromkeys(("ROUND_UP", "ROUND_DOWN"), "DequantScaleRoundingMode"),
}


# Direct submodules. The import system asks for them as attributes before it imports them; the
# answer must not import the registry.
_ROOMS = frozenset(
    """build cli codegen compiler data distributed elaborate error experimental frontend ir language
    lint ops passes precision profile runtime target templates twin""".split()
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [n for n in __dir__() if not n.startswith("_")]
    value = _find(name)
    globals()[name] = value  # the next use finds it without coming here
    return value


def _find(name: str) -> Any:
    from importlib import import_module

    if name in _MEMBERS:
        return getattr(__getattr__(_MEMBERS[name]), name)
    if name in _MODULES:
        from pypto._collector import CollectorPause

        module, attribute = _MODULES[name]
        with CollectorPause():
            found = import_module(module)
        return getattr(found, attribute) if attribute else found
    if not name.startswith("_") and name not in _ROOMS:
        operation = import_module("pypto.ops.registry").operations().get(name)
        if operation is not None:
            return operation
        missing = import_module("pypto.language.contract").missing(name)
        if missing is not None:
            raise AttributeError(missing)
    raise AttributeError(f"module 'pypto' has no attribute '{name}'")


def __dir__() -> list[str]:
    from pypto.ops.registry import operations

    return sorted({*_MODULES, *_MEMBERS, *operations(), "__version__"})
