"""The table of all options: one row for each key of the public contract, and our own."""

from __future__ import annotations

from functools import partial

from pypto._options.modes import CompStage, RunMode
from pypto._options.spec import Option

__all__ = ["FAMILIES", "GLOBALS", "OPTIONS", "TILE_FAMILY"]

_INT_MAX = 2147483647

_SCHEDULER = "steers the device scheduler of the reference; a kernel here is one launch"
_GRAPH = "steers the subgraph passes of the reference; stages are formed by other rules here"
_950 = "exists on Ascend 950 only"
_MONITOR = "compilation is not monitored yet"
_VERIFY = "verification is not implemented yet"

_MATRIX = "matrix products and convolutions are not implemented yet"

_runtime = partial(Option, "runtime_options")
_codegen = partial(Option, "codegen_options")
_host = partial(Option, "host_options")
_pass = partial(Option, "pass_options", state="no_meaning")
_json_pass = partial(Option, "pass_options", state="no_meaning", why=_GRAPH, argument=False)
_verify = partial(Option, "verify_options", state="not_yet", why=_VERIFY)
_debug = partial(Option, "debug_options")
_operation = partial(Option, "operation_options")
_tile = partial(Option, "tile_options")
_global = partial(Option, "global", scope="global")
_scheduler = partial(_runtime, state="no_meaning", why=_SCHEDULER)

_RUNTIME = (
    _runtime(
        "run_mode", "enum", None,
        "where kernels run; None: on the device that the tensors are on",
        "works", enum=RunMode,
    ),
    _scheduler("device_sched_mode", "int", 0, "order of ready tasks on the device", low=0, high=3),
    _scheduler(
        "stitch_function_max_num", "int", 128, "root functions merged into one device task",
        low=1, high=1024,
    ),
    _scheduler(
        "max_workspace_kb", "int", 0, "workspace ceiling of a device task in KB; 0: off",
        low=0, high=_INT_MAX,
    ),
    _runtime(
        "valid_shape_optimize", "int", 0,
        "1: full-size loop blocks with static shapes, edge blocks dynamic", "no_meaning",
        why="full and edge tiles share one code here", low=0, high=1,
    ),
    _scheduler("ready_on_host_tensors", "strings", (), "parameters known on the host early"),
    _scheduler(
        "device_sched_parallelism", "int", 1,
        "iterations of pypto.loop(parallel=True) in flight", low=1, high=8,
    ),
    _scheduler(
        "launch_sched_aicpu_num", "int", 7,
        "scheduler threads; a value out of range means automatic",
    ),
    _scheduler(
        "launch_early_mode", "int", 0, "start of the scheduler before the cores", low=0, high=2
    ),
)  # fmt: skip

_CODEGEN = (
    _codegen(
        "support_dynamic_aligned", "bool", False,
        "promises that dynamic last axes are aligned", "no_meaning",
        why="generated code is right for any length, aligned or not",
    ),
    _codegen(
        "enable_pmu_trace", "bool", False, "time stamps around every leaf function", "no_meaning",
        why=_950,
    ),
    _codegen(
        "soc_version", "str", "", "the chip to compile for; empty: ascend910b", "works",
        affects_output=True,
    ),
    _codegen(
        "vf_options", "str", "", "options of the vector-fusion compiler", "no_meaning", why=_950
    ),
    _codegen(
        "vf_compiler", "bool", True, "the vector-fusion compiler", "no_meaning", why=_950,
        argument=False,
    ),
    _codegen(
        "precision", "str", "torch",
        "16-bit floats: torch rounds after every operation, fused keeps float between fused ones"
        " (an addition of pypto)",
        "not_yet", why="16-bit floats are rounded after every operation for now",
        choices=("torch", "fused"),
    ),
)  # fmt: skip

_HOST = (
    _host(
        "compile_stage", "enum", 0,
        "the stage after which compilation stops; all but 0 skip the launch", "works",
        enum=CompStage,
    ),
    _host(
        "compile_monitor_enable", "int", 1,
        "0 off, 1 overrun of the total limit, 2 also progress and stages", "not_yet",
        why=_MONITOR, low=0, high=2,
    ),
    _host(
        "compile_timeout", "int", 600,
        "seconds of compilation before a warning; 0: never", "not_yet",
        why=_MONITOR, low=0, high=_INT_MAX,
    ),
    _host(
        "compile_timeout_stage", "int", 0,
        "seconds of one stage before a warning; 0: never", "not_yet",
        why=_MONITOR, low=0, high=_INT_MAX,
    ),
    _host(
        "compile_monitor_print_interval", "int", 60, "seconds between progress reports",
        "not_yet", why=_MONITOR, low=0, high=_INT_MAX,
    ),
)  # fmt: skip

_PASS = (
    _pass("vec_nbuffer_setting", "counts", (), "equal vector subgraphs fused into one", why=_GRAPH),
    _pass(
        "cube_l1_reuse_setting", "counts", (), "cube subgraphs fused that share a load",
        why=_GRAPH, high=1000000 - 1,
    ),
    _pass(
        "cube_nbuffer_setting", "counts", (("DEFAULT", 1),), "equal cube subgraphs fused into one",
        why=_GRAPH,
    ),
    _pass(
        "sg_set_scope", "subgraph", (-1, False, False),
        "neighbouring operations forced into one subgraph", why=_GRAPH,
    ),
    _pass(
        "auto_mix_partition", "int", 0, "cube and vector subgraphs merged", why=_950, low=0, high=1
    ),
    _pass(
        "sg_set_ooo_scope", "int", -1, "operations kept adjacent in a mixed subgraph: -1 or"
        " 1..100000", why=_950, low=-1, high=100000,
    ),
    _pass(
        "ooo_sched_mode", "str", "", "scheduler of mixed subgraphs", why=_950,
        choices=("", "GAPMIN", "HLF"),
    ),
    _pass("sg_set_tunevf_mode", "int", 0, "reordering for vector fusion", why=_950, low=0, high=2),
    _pass("enable_slice", "bool", False, "slice handling of the reference", why=_GRAPH),
    _json_pass("pg_parallel_lower_bound", "int", 20, "subgraphs wanted at least"),
    _json_pass("pg_lower_bound", "int", 512, "least cost of a subgraph"),
    _json_pass(
        "pg_partition_algorithm", "str", "Iso", "how the graph is cut",
        choices=("Iso", "OspSarkar", "OspBsp"),
    ),
    _json_pass("mg_copyin_upper_bound", "int", 104857600, "bytes copied into merged subgraphs"),
    _json_pass(
        "mg_vec_parallel_lb", "int", 48, "vector subgraphs kept apart at least", low=1, high=48
    ),
    _json_pass(
        "copyout_resolve_coalescing", "int", 0, "copies resolved together", low=0, high=1000000
    ),
    _json_pass("ooo_sort_mode_aic", "str", "", "order of operations on cube cores"),
    _json_pass("ooo_sort_mode_aiv", "str", "", "order of operations on vector cores"),
)  # fmt: skip

_VERIFY_KEYS = (
    _verify("enable_pass_verify", "bool", False, "switches on all verification"),
    _verify("pass_verify_save_tensor", "bool", False, "stores interpreted tensors"),
    _verify("pass_verify_save_tensor_dir", "str", "", "directory of the verification's output"),
    _verify(
        "pass_verify_pass_filter", "strings",
        (
            "ExpandFunction", "ProcessAtomic", "L1CopyInReuseMerge", "InferDynShape",
            "PreGraphProcess", "InferParamIndex", "CodegenPreproc",
        ),
        'passes to check; ["all"]: every pass, []: the tensor graph only',
    ),
    _verify(
        "pass_verify_error_tol", "floats", (0.001, 0.001), "[relative, absolute] tolerance",
        length=2,
    ),
)  # fmt: skip

_DEBUG = (
    _debug(
        "compile_debug_mode", "int", 0,
        "1 writes every level of the compiler, 2 keeps the device source at a fixed place",
        "works", low=0, high=2,
    ),
    _debug(
        "runtime_debug_mode", "int", 0,
        "1 trace of a run, 2 core model, 3 dependency check, 4 bounds check", "not_yet",
        why="runs are not instrumented yet", low=0, high=4,
    ),
    _debug(
        "dump_pass_graph", "strings", (), "passes whose result is written", "not_yet",
        why="single passes are not dumped yet",
    ),
)  # fmt: skip

_OPERATION = (
    _operation(
        "combine_axis", "bool", False,
        "a size-1 last axis is broadcast inside the instruction", "no_meaning",
        why="how an axis is broadcast is decided for each operation here",
    ),
)  # fmt: skip

_TILE = (
    _tile(
        "vec_tile_shapes", "vec_tile", None, "vector tile of kernels that set none", "works",
        affects_output=True,
    ),
    _tile(
        "cube_tile_shapes", "cube_tile", None, "matrix tile of kernels that set none", "not_yet",
        why=_MATRIX,
    ),
    _tile(
        "conv_tile_shapes", "conv_tile", None, "convolution tiles of kernels that set none",
        "not_yet", why=_MATRIX,
    ),
    _tile(
        "matrix_size", "sizes", None, "[m, k, n] of a matrix product before reshaping", "not_yet",
        why=_MATRIX,
    ),
)  # fmt: skip

_CONFIG = (
    _global("host.strategy", "str", "PVC2_OOO", "pass strategy", "no_meaning", why=_GRAPH),
    _global(
        "codegen.parallel_compile", "int", 128, "compilations at once", "no_meaning",
        why="a kernel is one compilation", low=1,
    ),
    _global(
        "codegen.fixed_output_path", "bool", False, "device source at a fixed place", "not_yet",
        why="use debug_options.compile_debug_mode=2",
    ),
    _global(
        "codegen.force_overwrite", "bool", True, "device source is overwritten", "not_yet",
        why="use debug_options.compile_debug_mode",
    ),
    _global(
        "simulation.accuracy_level", "int", 1, "detail of the reference's simulator",
        "no_meaning", why="the CPU twin computes what the instructions compute", low=0, high=2,
    ),
    _global(
        "simulation.sim_mode", "int", 0, "kind of the reference's simulator", "no_meaning",
        why="there is one CPU twin",
    ),
    _global("pass.pass_thread_num", "int", 1, "threads of the passes", "no_meaning", why=_GRAPH),
    _global("pass.enable_vf", "bool", True, "vector fusion", "no_meaning", why=_950),
    _global(
        "pass.default_pass_configs.dump_graph", "bool", False, "graphs are dumped", "not_yet",
        why="use debug_options.compile_debug_mode=1",
    ),
    _global(
        "pass.default_pass_configs.print_graph", "bool", False, "graphs are printed", "not_yet",
        why="use debug_options.compile_debug_mode=1",
    ),
    _global(
        "pass.default_pass_configs.dump_pass_time_cost", "bool", True, "time of passes",
        "no_meaning", why=_GRAPH,
    ),
    *(
        _global(
            f"tensor_print.{name}", "int", default, doc, "not_yet",
            why="tensors inside kernels are not printed yet", low=0,
        )
        for name, default, doc in (
            ("edgeitems", 3, "elements at the ends of a shortened axis"),
            ("precision", 4, "digits after the point"),
            ("threshold", 1000, "elements before an axis is shortened"),
            ("linewidth", 80, "characters a line"),
        )
    ),
)  # fmt: skip

TILE_FAMILY = "tile_options"

OPTIONS: dict[str, Option] = {
    option.full_name: option
    for option in (
        *_RUNTIME, *_CODEGEN, *_HOST, *_PASS, *_VERIFY_KEYS, *_DEBUG, *_OPERATION, *_TILE,
    )
}  # fmt: skip
"""Scoped options by ``family.key``."""

FAMILIES: dict[str, dict[str, Option]] = {}
"""Scoped options by family, then by key."""
for _option in OPTIONS.values():
    FAMILIES.setdefault(_option.family, {})[_option.name] = _option

GLOBALS: dict[str, Option] = {option.name: option for option in _CONFIG}
"""Keys of ``set_global_config``."""
