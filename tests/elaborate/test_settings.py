"""How far tile shapes and options reach that a kernel sets between its statements."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop

HEAD = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n    pypto.set_vec_tile_shapes(8)\n"


def tiles(shop: Workshop, *lines: str) -> list[str]:
    """The tile of each operation, in order."""
    made = shop.ir(HEAD + "".join(f"    {line}\n" for line in lines))
    return [line.split("tile (")[1].split(")")[0] for line in made.split("\n") if "tile (" in line]


REGIONS = {
    "a loop": ["for i in pypto.loop(8):"],
    "a side of a branch": ["if n > 1:"],
    "the other side": ["if n > 1: pass", "else:"],
    "a loop in a branch": ["if n > 1:", "  for i in pypto.loop(8):"],
    "a loop with factors": ["for i in pypto.loop(8, unroll_list=[8]):"],
}


@pytest.mark.parametrize("name", REGIONS)
def test_a_tile_ends_with_a_run_time_region(shop: Workshop, name: str) -> None:
    head = REGIONS[name]
    inside = "  " * sum(line.startswith("  ") for line in head) + "  "
    body = [f"{inside}pypto.set_vec_tile_shapes(16)", f"{inside}o[:] = x * 2"]
    times = 8 if "factors" in name else 1
    assert tiles(shop, *head, *body, "o[:] = o + 1") == ["16"] * times + ["8"]


STAYS = {
    "an if that is decided while compiling": ["if x.shape[0] == 8:"],
    "a loop of Python": ["for j in range(1):"],
    "a helper": ["def f(): pypto.set_vec_tile_shapes(16); o[:] = x * 2", "f()"],
}


@pytest.mark.parametrize("name", STAYS)
def test_a_tile_stays_behind_what_python_runs(shop: Workshop, name: str) -> None:
    lines = STAYS[name]
    if name != "a helper":
        lines = [*lines, "  pypto.set_vec_tile_shapes(16)", "  o[:] = x * 2"]
    assert tiles(shop, *lines, "o[:] = o + 1") == ["16", "16"]


def test_a_ternary_and_a_tile(shop: Workshop) -> None:
    lines = ["def f(t): pypto.set_vec_tile_shapes(16); return t * 2"]
    lines += ["o[:] = f(x) if n > 1 else x", "o[:] = o + 1"]
    assert tiles(shop, *lines) == ["16", "8"]


def test_options_of_statements_end_with_the_region_and_others_hold_for_the_kernel(
    shop: Workshop,
) -> None:
    made = shop.run(
        HEAD
        + "    pypto.set_pass_options(sg_set_scope=3)\n"
        + "    for i in pypto.loop(8):\n"
        + "        pypto.set_pass_options(sg_set_scope=4)\n"
        + "        pypto.set_host_options(compile_stage=4)\n"
        + "        o[:] = x * i\n"
    )
    assert made.options.get("pass_options.sg_set_scope") == (3, False, False)
    assert made.options.get("host_options.compile_stage") == 4


def test_an_option_that_was_not_set_before(shop: Workshop) -> None:
    made = shop.run(
        HEAD
        + "    if n > 2:\n"
        + "        pypto.set_pass_options(sg_set_scope=4)\n"
        + "        o[:] = x\n"
    )
    assert made.options.given == ()
