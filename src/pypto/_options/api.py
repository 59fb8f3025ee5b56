"""The public functions that set, scope and show options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pypto._options import state
from pypto._options.check import by_keyword, check_value, find_option, thaw, warn_not_yet
from pypto._options.modes import CompStage, RunMode
from pypto._options.spec import Frozen
from pypto._options.table import FAMILIES, GLOBALS, OPTIONS, TILE_FAMILY
from pypto._options.value import Options, validate

__all__ = [
    "SETTERS",
    "ConfigScope",
    "get_codegen_options",
    "get_current_scope",
    "get_debug_options",
    "get_global_config",
    "get_host_options",
    "get_operation_options",
    "get_options_tree",
    "get_pass_options",
    "get_runtime_options",
    "get_verify_options",
    "options",
    "reset_options",
    "set_codegen_options",
    "set_debug_options",
    "set_global_config",
    "set_host_options",
    "set_operation_options",
    "set_options",
    "set_pass_options",
    "set_print_options",
    "set_runtime_options",
    "set_tiles",
    "set_verify_options",
]

_Families = Mapping[str, object] | None
_F = TypeVar("_F", bound=Callable[..., Any])


# --- one setter and one getter for each family ---


@by_keyword
def set_codegen_options(
    *,
    support_dynamic_aligned: bool | None = None,
    soc_version: str | None = None,
    enable_pmu_trace: bool | None = None,
    vf_options: str | None = None,
    precision: str | None = None,
    **unknown: object,
) -> None:
    """Set code generation options in the current scope; None leaves an option alone."""
    _set("codegen_options", locals())


@by_keyword
def set_host_options(
    *,
    compile_stage: CompStage | int | None = None,
    compile_monitor_enable: int | None = None,
    compile_timeout: int | None = None,
    compile_timeout_stage: int | None = None,
    compile_monitor_print_interval: int | None = None,
    **unknown: object,
) -> None:
    """Set options of the compilation in the current scope; None leaves an option alone."""
    _set("host_options", locals())


@by_keyword
def set_pass_options(
    *,
    vec_nbuffer_setting: dict[Any, Any] | None = None,
    cube_l1_reuse_setting: dict[Any, Any] | None = None,
    cube_nbuffer_setting: dict[Any, Any] | None = None,
    sg_set_scope: int | tuple[int, bool, bool] | None = None,
    sg_set_ooo_scope: int | None = None,
    ooo_sched_mode: str | None = None,
    auto_mix_partition: int | None = None,
    sg_set_tunevf_mode: int | None = None,
    enable_slice: bool | None = None,
    **unknown: object,
) -> None:
    """Set pass options in the current scope; None leaves an option alone."""
    _set("pass_options", locals())


@by_keyword
def set_runtime_options(
    *,
    run_mode: RunMode | int | None = None,
    device_sched_mode: int | None = None,
    stitch_function_max_num: int | None = None,
    max_workspace_kb: int | None = None,
    valid_shape_optimize: int | None = None,
    ready_on_host_tensors: list[str] | None = None,
    device_sched_parallelism: int | None = None,
    launch_sched_aicpu_num: int | None = None,
    launch_early_mode: int | None = None,
    **unknown: object,
) -> None:
    """Set options of the launch in the current scope; None leaves an option alone."""
    _set("runtime_options", locals())


@by_keyword
def set_verify_options(
    *,
    enable_pass_verify: bool | None = None,
    pass_verify_save_tensor: bool | None = None,
    pass_verify_save_tensor_dir: str | None = None,
    pass_verify_pass_filter: list[str] | None = None,
    pass_verify_error_tol: list[float] | None = None,
    **unknown: object,
) -> None:
    """Set verification options in the current scope; None leaves an option alone."""
    _set("verify_options", locals())


@by_keyword
def set_debug_options(
    *,
    compile_debug_mode: int | None = None,
    runtime_debug_mode: int | None = None,
    dump_pass_graph: list[str] | None = None,
    **unknown: object,
) -> None:
    """Set debugging options in the current scope; None leaves an option alone."""
    _set("debug_options", locals())


@by_keyword
def set_operation_options(*, combine_axis: bool | None = None, **unknown: object) -> None:
    """Set options of operations in the current scope; None leaves an option alone."""
    _set("operation_options", locals())


def get_codegen_options() -> dict[str, Any]:
    """Code generation options in force."""
    return state.current().family("codegen_options")


def get_host_options() -> dict[str, Any]:
    """Options of the compilation in force."""
    return state.current().family("host_options")


def get_pass_options() -> dict[str, Any]:
    """Pass options in force."""
    return state.current().family("pass_options")


def get_runtime_options() -> dict[str, Any]:
    """Options of the launch in force."""
    return state.current().family("runtime_options")


def get_verify_options() -> dict[str, Any]:
    """Verification options in force."""
    return state.current().family("verify_options")


def get_debug_options() -> dict[str, Any]:
    """Debugging options in force."""
    return state.current().family("debug_options")


def get_operation_options() -> dict[str, Any]:
    """Options of operations in force."""
    return state.current().family("operation_options")


SETTERS: dict[Callable[..., None], str] = {
    set_codegen_options: "codegen_options",
    set_host_options: "host_options",
    set_pass_options: "pass_options",
    set_runtime_options: "runtime_options",
    set_verify_options: "verify_options",
    set_debug_options: "debug_options",
    set_operation_options: "operation_options",
}
"""Setters and their family: inside a kernel the compiler evaluates a call by ``validate``."""


def _set(family: str, arguments: dict[str, Any]) -> None:
    unknown = arguments.pop("unknown")
    state.set_here(validate(family, {**arguments, **unknown}))


# --- all families at once ---


@by_keyword
def set_options(
    *,
    codegen_options: _Families = None,
    host_options: _Families = None,
    pass_options: _Families = None,
    runtime_options: _Families = None,
    verify_options: _Families = None,
    operation_options: _Families = None,
    debug_options: _Families = None,
    vec_tile_shapes: object = None,
    cube_tile_shapes: object = None,
    conv_tile_shapes: object = None,
    matrix_size: object = None,
    **unknown: object,
) -> None:
    """Set options of several families, and tiles, in the current scope."""
    state.set_here(_collect("set_options", locals()))


def set_tiles(**tiles: object) -> None:
    """Set tiles (``vec_tile_shapes``, ...) in the current scope; None leaves a tile alone."""
    state.set_here(_tiles(tiles))


def reset_options() -> None:
    """Everything back to defaults: the process and the scopes open here."""
    state.reset()


class options:
    """A nested scope of options: ``with pypto.options(...):`` or ``@pypto.options(...)``.

    Families are dicts of options; ``vec_tile_shapes``, ``cube_tile_shapes`` (a
    ``(m, k, n[, enable_split_k])`` tuple), ``conv_tile_shapes`` and ``matrix_size`` are tiles for
    kernels that set none. What is set inside ends with the scope.

    Decorating a function runs each call in a scope of its own (that of a generator or coroutine is
    left while it waits) and leaves ``__pypto_options__`` (an :class:`Options`) on it for ``jit`` to
    find; decorating a kernel gives the kernel that :meth:`with_options` makes of it. The scope's
    name defaults to the function's.
    """

    def __init__(
        self,
        name: str = "",
        codegen_options: _Families = None,
        host_options: _Families = None,
        pass_options: _Families = None,
        runtime_options: _Families = None,
        verify_options: _Families = None,
        operation_options: _Families = None,
        debug_options: _Families = None,
        vec_tile_shapes: object = None,
        cube_tile_shapes: object = None,
        conv_tile_shapes: object = None,
        matrix_size: object = None,
        **unknown: object,
    ) -> None:
        arguments = locals()
        del arguments["self"], arguments["name"]
        if not isinstance(name, str):
            from pypto._options.refuse import refuse_type

            refuse_type("the name of an options scope must be a string", "str", name)
        self.name = name
        self.values = _collect("options", arguments)
        self._open: list[tuple[state.Scope | None, int]] = []

    def __enter__(self) -> options:
        self._open.append(state.enter(self.name or "options", self.values))
        return self

    def __exit__(self, *exception: object) -> None:
        state.leave(self._open.pop())

    def __call__(self, function: _F) -> _F:
        with_options = getattr(function, "with_options", None)
        if with_options is not None and not isinstance(function, type):
            decorated: _F = with_options(self.values)
            return decorated
        from pypto._options.decorate import scoped

        name = self.name or getattr(function, "__name__", "options")
        return scoped(function, name, self.values)  # type: ignore[return-value]


def _collect(function: str, arguments: dict[str, Any]) -> Options:
    """Checked options of keyword arguments that are families and tiles."""
    unknown = arguments.pop("unknown")
    for name in unknown:
        from pypto._options.refuse import refuse_argument

        known = (*(f for f in FAMILIES if f != TILE_FAMILY), *FAMILIES[TILE_FAMILY])
        refuse_argument(function, name, known)
    tiles = {key: arguments.pop(key) for key in FAMILIES[TILE_FAMILY]}
    return state.validate_families(arguments).merged(_tiles(tiles))


def _tiles(tiles: Mapping[str, object]) -> Options:
    known = FAMILIES[TILE_FAMILY]
    checked: dict[str, Frozen] = {}
    for key, value in tiles.items():
        if value is not None:
            option = find_option(key, known, "")
            checked[option.full_name] = check_value(option, value)
    return Options.of(checked)


# --- what is in force ---


class ConfigScope:
    """Read access to the options in force when it was made."""

    __slots__ = ("_options", "name")

    def __init__(self, name: str, values: Options) -> None:
        self.name = name
        self._options = values

    def get_all(self) -> dict[str, Any]:
        """Every option by ``family.key``."""
        return {name: self._options.get(name) for name in OPTIONS}

    def has(self, key: str) -> bool:
        """True when ``family.key`` exists."""
        return key in OPTIONS

    def get_options(self, prefix: str) -> dict[str, Any]:
        """The options of one family (``pass_options``, or ``pass``), by key."""
        family = prefix.rstrip(".")
        found = family if family in FAMILIES else f"{family}_options"
        if found not in FAMILIES:
            from pypto._options.refuse import refuse_name

            refuse_name(f"options family '{prefix}' does not exist", prefix, FAMILIES)
        return self._options.family(found)

    def __repr__(self) -> str:
        return f"ConfigScope({self.name!r})"


def get_current_scope() -> ConfigScope:
    """The innermost scope, with all that it inherits."""
    return ConfigScope(state.scopes()[-1][0], state.current())


def get_options_tree() -> str:
    """The scopes in force, outermost first, each with what was set in it."""
    lines: list[str] = []
    for depth, (name, own) in enumerate(state.scopes()):
        lines.append("  " * depth + name)
        lines += ["  " * (depth + 1) + f"{key} = {own.get(key)!r}" for key, _ in own.given]
    return "\n".join(lines)


# --- process-wide keys ---

_globals: dict[str, Frozen] = {}


def set_global_config(key: str, value: object) -> None:
    """Set a process-wide key, such as ``simulation.accuracy_level``."""
    option = find_option(key, GLOBALS, "")
    checked = check_value(option, value)
    warn_not_yet(option, checked)
    _globals[key] = checked


def get_global_config(key: str) -> Any:
    """The value of a process-wide key."""
    option = find_option(key, GLOBALS, "")
    return thaw(option, _globals.get(key, option.default))


@by_keyword
def set_print_options(
    *,
    edgeitems: int | None = None,
    precision: int | None = None,
    threshold: int | None = None,
    linewidth: int | None = None,
    **unknown: object,
) -> None:
    """Set how tensors are printed; None leaves a setting alone."""
    arguments = locals()
    for name, value in {**arguments.pop("unknown"), **arguments}.items():
        if value is not None:
            set_global_config(f"tensor_print.{name}", value)
