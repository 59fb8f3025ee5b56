"""Parts of tensors: what slices mean, where they are valid, what is refused."""

from __future__ import annotations

import pytest
import torch

from pypto.error import FeNotImplementedError, FeTypeError, FeValueError, PyptoError, ShapeError
from tests.differential.agree import agree, count
from tests.elaborate.support import Workshop, body

_INDEXED = "a tensor cannot be indexed by this in this version"


def test_a_tile_that_may_be_cut_off(shop: Workshop) -> None:
    text = """
        def k(x: T([pypto.DYNAMIC, 8], FP32), o: T([pypto.DYNAMIC, 8], FP32)):
            for i in pypto.loop(pypto.ceildiv(x.shape[0], 4)):
                o[i * 4 : (i + 1) * 4] = x[i * 4 : (i + 1) * 4] * 2
        """
    made = shop.ir(text)
    assert "= load x[i*4:+min(4, x.shape[0] + (i*-4)), 0:+8]" in made
    assert "= mul %0, 2 : fp32[4,8] valid [min(4, x.shape[0] + (i*-4)),8]" in made
    for size in (0, 1, 4, 7):
        agree(text, count(size, 8), count(size, 8))


def test_tiles_that_fit_are_whole(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([pypto.DYNAMIC, 8], FP32), o: T([pypto.DYNAMIC, 8], FP32)):
            for i in pypto.loop(x.shape[0] // 4):
                o[i * 4 : (i + 1) * 4] = x[i * 4 : (i + 1) * 4] * 2
        """)
    assert "= load x[i*4:+4, 0:+8]" in made
    assert "fp32[4,8]  " in made


SLICES = [
    "[:]", "[...]", "[1:3]", "[-3:-1]", "[2:]", "[:-2]", "[:100]", "[-100:2]", "[4:2]", "[0]",
    "[-1]", "[1:2, 3]", "[:, 2:5]", "[..., 1]", "[1, ..., 1:3]", "[s:s + 2]", "[s:]", "[:s]",
    "[s]", "[s - 2]", "[s - 3 : s - 1]", "[s:4, :s]", "[1:5][1:3]", "[1:5][-1]", "[:, 1:][s]",
    "[s:s + 4][1:]", "[s:s + 4][:-1]", "[s:s + 4][-2:]", "[0:n]", "[n - 2 : n]", "[n - 9 : n]",
]  # fmt: skip


@pytest.mark.parametrize("slice", SLICES)
@pytest.mark.parametrize("size", [6, "pypto.DYNAMIC"])
def test_slices_are_those_of_torch(slice: str, size: object) -> None:
    text = f"""
        def k(x: T([{size}, 6], FP32), o: T([{size}, 6], FP32), s: int):
            n = x.shape[0]
            o{slice} = x{slice} + 1
            o{slice} += 2
            part = o{slice}
            o[:] = x
            part[:] = part * 2
        """
    for s in (1, 2, 3, 4, -1):
        agree(text, count(6, 6), count(6, 6) * 100, s)


@pytest.mark.parametrize(
    ("line", "cls", "message"),
    [
        ("o[0:4:2] = x", FeNotImplementedError, "a slice of a tensor takes every element"),
        ("o[8] = 1.0", FeValueError, "the index 8 is outside axis 0"),
        ("o[:] = x[-9]", FeValueError, "the index -9 is outside axis 0"),
        ("o[None] = x", FeNotImplementedError, _INDEXED),
        ("o[True] = 1.0", FeNotImplementedError, _INDEXED),
        ("o[x] = x", FeNotImplementedError, _INDEXED),
        ("o[0.5] = 1.0", FeTypeError, "an index must be an int"),
        ("o['a':] = x", FeTypeError, "a bound of a slice must be an int"),
        ("o[0, 0] = x", ShapeError, "too many indices"),
        ("o[0:2] = x[0:3]", ShapeError, "the value does not fit into 'o'"),
    ],
)  # fmt: skip
def test_refusals(shop: Workshop, line: str, cls: type[PyptoError], message: str) -> None:
    error = shop.error(body(line, "o[:] = x"))
    assert isinstance(error, cls)
    assert [d.message for d in error.diagnostics] == [message]


def test_the_whole_message_of_an_index(shop: Workshop) -> None:
    assert shop.message(body("o[:] = x", "o[8] = 1.0")) == (
        "ErrCode: F00008  the index 8 is outside axis 0\n"
        "  expected  an index of -8 … 7\n"
        "  got       8\n"
        "  --> k.py:5:7\n"
        "  4 |     o[:] = x\n"
        "  5 |     o[8] = 1.0\n"
        "    |       ^"
    )


def test_sizes_that_cannot_be_proved(shop: Workshop) -> None:
    assert shop.message("""
        def k(x: T([8, 8], FP32), o: T([8, 8], FP32)):
            for i in pypto.loop(8):
                for j in pypto.loop(8):
                    o[i:] = x[j:]
        """) == (
        "ErrCode: F0000B  storing into 'o' needs (j*-1) + 8 == (i*-1) + 8, which cannot be proved: "
        "it depends on values that only the running kernel knows\n"
        "  got       i == j\n"
        "  --> k.py:7:13\n"
        "  6 |         for j in pypto.loop(8):\n"
        "  7 |             o[i:] = x[j:]\n"
        "    |             ^^^^^^^^^^^^^\n"
        "  help: use slices of constant length: x[i * T : (i + 1) * T]"
    )  # fmt: skip


def test_a_result_of_an_operation_is_cut(shop: Workshop) -> None:
    made = shop.ir(body("y = x + 1", "o[0:4] = y[4:8]", "o[4:8] = y[0:4]"))
    assert made.count("local y: fp32[8]") == 1
    assert "store y[:], %1" in made
    assert "= load y[4:+4]" in made


def test_an_element_is_a_number_or_a_tensor() -> None:
    text = """
        def k(x: T([6], FP32), q: T([3], I32), o: T([6], FP32)):
            o[:] = x * x[1] + q[0]
            o[q[1]] = x[q[0] - 1] + 1
        """
    agree(text, count(6), count(3, dtype=torch.int32), count(6))


def test_an_element_where_an_operation_takes_a_tensor(shop: Workshop) -> None:
    made = shop.ir(body("o[2:3] = pypto.exp(x[1])"))
    assert "%0 = load x[1:+1] axes (-)" in made
    assert "%1 = exp %0" in made


@pytest.mark.parametrize("line", ["o[n:] = x[:1]", "o[x.shape[0]:] = x[:1]", "o[n:n + 3] = x[:1]"])
def test_a_row_that_there_may_be_is_repeated(line: str) -> None:
    """A tensor without rows gives none; with rows its first one goes everywhere."""
    text = f"""
        N = pypto.frontend.dynamic("N")
        def k(x: T([N, 3], FP32), o: T([N, 3], FP32), n: int):
            {line}
        """
    for size in (0, 1, 4):
        for n in (0, 2, 7):
            agree(text, count(size, 3), count(size, 3) * 10, n)


def test_a_slice_with_a_fixed_end_takes_as_many_rows_as_it_says() -> None:
    text = """
        def k(x: T([pypto.DYNAMIC, 3], FP32), o: T([pypto.DYNAMIC, 3], FP32)):
            o[:2] = x
        """
    agree(text, count(2, 3), count(4, 3) * 10)
