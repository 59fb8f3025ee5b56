"""Calls of ``pypto.set_vec_tile_shapes`` and of the setters for matrix tiles."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop, body

HELP = "pypto.set_vec_tile_shapes(16, 64): one size per axis, the last axis last"

REFUSED = {
    "0": ("the size of the vector tile in axis 0 is not positive", "0"),
    "16, -8": ("the size of the vector tile in axis 1 is not positive", "-8"),
    "8.0": ("the size of the vector tile in axis 0 is no int", "8.0 (float)"),
    "True": ("the size of the vector tile in axis 0 is no int", "True (bool)"),
    "'8'": ("the size of the vector tile in axis 0 is no int", "'8' (str)"),
    "None": ("the size of the vector tile in axis 0 is no int", "None (NoneType)"),
    "[8]": ("the size of the vector tile in axis 0 is no int", "[8] (list)"),
    "": ("a vector tile has 1 to 5 sizes, got 0", None),
    "1, 1, 1, 1, 1, 8": ("a vector tile has 1 to 5 sizes, got 6", None),
    "8, tile=3": ("set_vec_tile_shapes has no parameter 'tile'", None),
}


@pytest.mark.parametrize("sizes", REFUSED)
def test_sizes_that_are_none(shop: Workshop, sizes: str) -> None:
    (found,) = shop.error(body(f"pypto.set_vec_tile_shapes({sizes})", "o[:] = x + 1")).diagnostics
    assert (found.message, found.got) == REFUSED[sizes]
    assert found.help == HELP and found.span is not None and found.span.line == 2


def test_sizes_that_only_the_running_kernel_knows(shop: Workshop) -> None:
    lines = "for i in pypto.loop(4):", "    pypto.set_vec_tile_shapes(i)", "o[:] = x"
    (found,) = shop.error(body(*lines)).diagnostics
    assert found.message == "a tile size needs a value that is known at compile time"
    assert found.got == "i, which only the running kernel knows"
    (found,) = shop.error(body("pypto.set_vec_tile_shapes(x)", "o[:] = x")).diagnostics
    assert (found.message, found.got) == (
        "a tile size needs a value that is known at compile time",
        "a tensor fp32[8]",
    )


def test_the_tile_of_an_operation_is_the_last_one_set_before_it(shop: Workshop) -> None:
    lines = (
        "s = (16,)", "y = x * 2", "pypto.set_vec_tile_shapes(*s)", "y = y * 3",
        "pypto.set_vec_tile_shapes(24)", "y = y * 4", "o[:] = y", "pypto.set_vec_tile_shapes(32)",
    )  # fmt: skip
    tiles = [line.partition(" tile ")[2].split()[:1] for line in shop.ir(body(*lines)).splitlines()
             if " mul " in line]  # fmt: skip
    assert tiles == [[], ["(16)"], ["(24)"]]


def test_a_tile_that_a_branch_sets_ends_with_the_branch(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32), n: int):
            pypto.set_vec_tile_shapes(8)
            if n > 2:
                pypto.set_vec_tile_shapes(16)
                o[:] = x * n
            o[:] = o + 1
        """)
    assert made.count("tile (16)") == made.count("tile (8)") == 1


def test_a_parameter_as_a_tile_becomes_part_of_the_specialisation(shop: Workshop) -> None:
    text = "def k(x: T([8], FP32), o: T([8], FP32), n: int):\n"
    text += "    pypto.set_vec_tile_shapes(n); o[:] = x * 2\n"
    made = shop.run(text, n=16)
    assert made.specialised == {"n"}


@pytest.mark.parametrize("sizes", ["[16, 32], [16, 64], [16, 16]", "[15, 1], [0, 64], [16, 8]"])
def test_matrix_tiles_are_refused_by_name(shop: Workshop, sizes: str) -> None:
    """No operation of this version is computed by the matrix unit."""
    lines = f"pypto.set_cube_tile_shapes({sizes})", "o[:] = pypto.matmul(x, x, FP32)"
    assert [d.message for d in shop.error(body(*lines)).diagnostics] == [
        "pypto.set_cube_tile_shapes is not available in this version",
        "pypto.matmul is not available in this version",
    ]
