"""Scopes: nesting, precedence, decorators, threads, tasks, the epoch."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import pypto
from pypto import _options
from pypto._options import Options
from pypto.error import FeKeyError, FeTypeError


def _stage() -> int:
    return int(_options.current().compile_stage)


def test_a_set_changes_the_innermost_scope_only() -> None:
    pypto.set_host_options(compile_stage=1)
    with pypto.options("outer", host_options={"compile_stage": 2}):
        assert _stage() == 2
        with pypto.options("inner", vec_tile_shapes=[8, 64]):
            assert _stage() == 2, "inner scopes inherit"
            pypto.set_host_options(compile_stage=3)
            assert _stage() == 3
            assert pypto.get_vec_tile_shapes() == [8, 64]
        assert _stage() == 2
        assert pypto.get_vec_tile_shapes() == []
    assert _stage() == 1


def test_a_scope_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), pypto.options(host_options={"compile_stage": 2}):
        _ = 1 // 0
    assert _stage() == 0


def test_one_options_object_can_be_entered_again_inside_itself() -> None:
    scope = pypto.options(host_options={"compile_stage": 2})
    with scope:
        pypto.set_host_options(compile_stage=4)
        with scope:
            assert _stage() == 2
        assert _stage() == 4
    assert _stage() == 0


def test_a_global_set_is_seen_through_open_scopes_and_threads() -> None:
    seen: list[int] = []
    with pypto.options(vec_tile_shapes=[64]):
        thread = threading.Thread(target=lambda: pypto.set_host_options(compile_stage=5))
        thread.start()
        thread.join()
        seen.append(_stage())
    assert seen == [5]


def test_a_scope_belongs_to_its_thread() -> None:
    seen: list[tuple[int, int]] = []
    epochs: list[int] = []

    def look() -> None:
        seen.append((_stage(), len(pypto.get_vec_tile_shapes())))
        epochs.append(_options.epoch())

    before = _options.epoch()
    with pypto.options(host_options={"compile_stage": 2}, vec_tile_shapes=[64]):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert _options.epoch() != before
    assert seen == [(0, 0)]
    assert epochs == [before], "other threads keep their options and their epoch"


def test_a_scope_belongs_to_its_task() -> None:
    async def stage(value: int) -> list[int]:
        found = []
        with pypto.options(host_options={"compile_stage": value}):
            for _ in range(3):
                await asyncio.sleep(0)
                found.append(_stage())
        return found

    async def both() -> list[list[int]]:
        return list(await asyncio.gather(stage(1), stage(2)))

    assert asyncio.run(both()) == [[1, 1, 1], [2, 2, 2]]


def test_epochs_identify_options() -> None:
    start = _options.epoch()
    with pypto.options(host_options={"compile_stage": 1}):
        first = _options.epoch()
        pypto.set_host_options(compile_stage=2)
        second = _options.epoch()
    assert _options.epoch() == start
    with pypto.options(host_options={"compile_stage": 1}):
        third = _options.epoch()
    pypto.set_host_options(compile_stage=3)
    changed = _options.epoch()
    pypto.reset_options()
    assert len({start, first, second, third, changed, _options.epoch()}) == 6


def test_changes_are_told() -> None:
    told: list[int] = []
    stop = _options.on_change(told.append)
    pypto.set_host_options(compile_stage=1)
    with pypto.options(vec_tile_shapes=[8]):
        pass
    pypto.reset_options()
    assert len(told) == 4
    assert told[0] == told[2]
    stop()
    pypto.set_host_options(compile_stage=1)
    assert len(told) == 4


def test_global_changes_are_told() -> None:
    told: list[int] = []
    stop = _options.on_global_change(lambda: told.append(_options.epoch() >> 32))
    pypto.set_host_options(compile_stage=1)
    with pypto.options(vec_tile_shapes=[8]):
        pypto.set_host_options(compile_stage=2)
        assert len(told) == 1
        pypto.reset_options()
    assert len(told) == 2 and told[0] != told[1]
    stop()
    pypto.set_host_options(compile_stage=1)
    assert len(told) == 2


def test_the_serial_of_a_scope_is_one_object_while_it_is_in_force() -> None:
    """The launcher compares identities first."""
    outside = _options.SCOPE_SERIAL.get()
    with pypto.options(vec_tile_shapes=[8]):
        inside = _options.SCOPE_SERIAL.get()
        with pypto.options(vec_tile_shapes=[16]):
            assert _options.SCOPE_SERIAL.get() not in (inside, outside)
        assert _options.SCOPE_SERIAL.get() is inside
        pypto.set_vec_tile_shapes(32)
        assert _options.SCOPE_SERIAL.get() != inside
    assert _options.SCOPE_SERIAL.get() is outside


def test_reset() -> None:
    pypto.set_host_options(compile_stage=1)
    with pypto.options(host_options={"compile_stage": 2}):
        with pypto.options(vec_tile_shapes=[8]):
            pypto.reset_options()
            assert _options.current() == Options()
        assert _stage() == 2
    assert _stage() == 0


def test_decorating_a_function() -> None:
    @pypto.options(host_options={"compile_stage": 2}, vec_tile_shapes=[8, 8])
    def f(x: int) -> tuple[int, int, str]:
        """Doc."""
        return x, _stage(), pypto.get_current_scope().name

    assert f(7) == (7, 2, "f")
    assert f.__name__ == "f" and f.__doc__ == "Doc."
    assert _stage() == 0
    attached: Options = f.__pypto_options__  # type: ignore[attr-defined]
    assert attached.vec_tile_shapes == (8, 8)


def test_stacked_decorators_inner_wins() -> None:
    @pypto.options("outer", host_options={"compile_stage": 1}, vec_tile_shapes=[8])
    @pypto.options("inner", host_options={"compile_stage": 2})
    def f() -> int:
        return _stage()

    assert f() == 2
    attached: Options = f.__pypto_options__  # type: ignore[attr-defined]
    assert attached.compile_stage == 2 and attached.vec_tile_shapes == (8,)


def test_decorating_a_kernel_asks_the_kernel() -> None:
    class Kernel:
        def __init__(self, own: Options | None = None) -> None:
            self.own = own

        def __call__(self) -> None: ...

        def with_options(self, values: Options) -> Kernel:
            return Kernel(values)

    kernel = pypto.options(host_options={"compile_stage": 4})(Kernel())
    assert kernel.own is not None and kernel.own.compile_stage == 4


def test_resolution_order() -> None:
    pypto.set_options(
        host_options={"compile_stage": 1},
        runtime_options={"run_mode": 0},
        debug_options={"compile_debug_mode": 1},
        vec_tile_shapes=[1],
    )
    attached = _options.validate("host_options", {"compile_stage": 3})
    decorator = {
        "host_options": {"compile_stage": 4},
        "runtime_options": {"run_mode": None},
        "pass_options": None,
    }
    with pypto.options(host_options={"compile_stage": 2}, debug_options={"compile_debug_mode": 2}):
        assert _options.resolve().compile_stage == 2
        assert _options.resolve(scope=attached).compile_stage == 3
        resolved = _options.resolve(decorator, scope=attached)
    assert resolved.compile_stage == 4
    assert resolved.compile_debug_mode == 2
    assert resolved.run_mode is pypto.RunMode.NPU, "None is dropped"
    assert resolved.vec_tile_shapes == (1,)
    assert _options.resolve(Options()).compile_stage == 1


def test_options_are_values() -> None:
    one = _options.validate_families(
        {"codegen_options": {"soc_version": "ascend910b3"}, "runtime_options": {"run_mode": 1}}
    )
    two = _options.validate_families(
        {"runtime_options": {"run_mode": pypto.RunMode.SIM},
         "codegen_options": {"soc_version": "ascend910b3"}}
    )  # fmt: skip
    assert one == two and hash(one) == hash(two)
    # Where a kernel runs is in its binary's key by the toolchain, not by this option.
    assert one.as_key() == "codegen_options.soc_version='ascend910b3'"
    with pytest.raises(AttributeError):
        one.given = ()  # type: ignore[misc]


def test_without_meaning_lists_what_was_given() -> None:
    values = _options.validate("pass_options", {"vec_nbuffer_setting": {"DEFAULT": 2}})
    assert [str(ignored) for ignored in values.without_meaning()] == [
        "pass_options.vec_nbuffer_setting={'DEFAULT': 2}: steers the subgraph passes of the"
        " reference; stages are formed by other rules here"
    ]


def test_current_scope_and_tree() -> None:
    pypto.set_host_options(compile_stage=1)
    with pypto.options("block", vec_tile_shapes=[8, 64]):
        scope = pypto.get_current_scope()
        assert scope.name == "block"
        assert scope.get_options("host")["compile_stage"] == 1
        assert scope.get_options("host_options") == pypto.get_host_options()
        assert scope.get_all()["tile_options.vec_tile_shapes"] == [8, 64]
        assert scope.has("pass_options.sg_set_scope") and not scope.has("nothing")
        assert pypto.get_options_tree() == (
            "global\n"
            "  host_options.compile_stage = 1\n"
            "  block\n"
            "    tile_options.vec_tile_shapes = [8, 64]"
        )
        with pytest.raises(FeKeyError):
            scope.get_options("hosts_of_angels")


@pytest.mark.parametrize("name", ["pass_option", "vec_tile_shape"])
def test_unknown_arguments_of_options(name: str) -> None:
    arguments: dict[str, Any] = {name: None}
    with pytest.raises(FeKeyError, match=f"did you mean '{name}s'"):
        pypto.options(**arguments)


def test_options_decorates_functions_only() -> None:
    with pytest.raises(FeTypeError, match="decorates functions and kernels"):
        pypto.options()(3)  # type: ignore[type-var]
    with pytest.raises(FeTypeError, match="name of an options scope"):
        pypto.options(lambda: None)  # type: ignore[arg-type]


def test_tiles_outside_a_kernel() -> None:
    pypto.set_vec_tile_shapes(1, pypto.SymbolicScalar(64))
    assert pypto.get_vec_tile_shapes() == [1, 64]
    with pytest.warns(pypto.PyptoWarning, match="cube_tile_shapes has no effect yet"):
        pypto.set_cube_tile_shapes([16, 32], [16, 64], [16, 32])
    assert pypto.get_cube_tile_shapes() == ([16, 32], [16, 64, 64], [16, 32], False)
    for wrong in ((), (0,), (-1, 8), (1,) * 6, (2**31,)):
        with pytest.raises(pypto.error.FeValueError):
            pypto.set_vec_tile_shapes(*wrong)
    for odd in ((True,), (1.5,), ("8",), ([8, 8],), (pypto.DT_FP32,)):
        with pytest.raises(FeTypeError):
            pypto.set_vec_tile_shapes(*odd)
    assert pypto.get_vec_tile_shapes() == [1, 64]


def test_print_options() -> None:
    with pytest.warns(pypto.PyptoWarning, match="tensor_print.edgeitems has no effect yet"):
        pypto.set_print_options(edgeitems=5)
    assert pypto.get_global_config("tensor_print.edgeitems") == 5
    assert pypto.get_global_config("tensor_print.linewidth") == 80


def test_operation_options() -> None:
    pypto.experimental.set_operation_options(combine_axis=True)
    assert pypto.experimental.get_operation_options() == {"combine_axis": True}
