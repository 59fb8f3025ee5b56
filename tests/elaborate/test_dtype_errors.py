"""Dtypes that do not fit: the cast that is proposed compiles."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop

# --- dtypes ---

DTYPES = {
    "h": "pypto.DT_FP16",
    "b": "pypto.DT_BF16",
    "f": "FP32",
    "i": "pypto.DT_INT32",
    "s": "pypto.DT_INT16",
    "c": "pypto.DT_INT8",
    "u": "pypto.DT_UINT8",
    "l": "pypto.DT_INT64",
}
OPERANDS = ", ".join(f"{name}: T([8], {dtype})" for name, dtype in DTYPES.items())


def dtype_error(shop: Workshop, line: str) -> str:
    return shop.message(f"def k({OPERANDS}):\n    {line}\n    f[:] = f\n")


def test_the_narrower_operand_is_to_be_cast(shop: Workshop) -> None:
    assert dtype_error(shop, "y = h + f") == (
        "ErrCode: FC0001  add: operands have different dtypes\n"
        "  expected  one dtype\n"
        "  got       DT_FP16 for 'input' and DT_FP32 for 'other'\n"
        "  --> k.py:4:9\n"
        f"  3 | {f'def k({OPERANDS}):'[:200]} ...\n"
        "  4 |     y = h + f\n"
        "    |         ^\n"
        "  help: cast to the wider dtype: pypto.cast(h, pypto.DT_FP32)"
    )


@pytest.mark.parametrize(
    ("line", "carets", "help"),
    [
        ("y = f * pypto.exp(h)", "pypto.exp(h)", "pypto.cast(pypto.exp(h), pypto.DT_FP32)"),
        ("y = h - b", "h - b", "pypto.cast(h, pypto.DT_FP32) and pypto.cast(b, pypto.DT_FP32)"),
        ("y = pypto.maximum(i, h)", "i", "pypto.cast(i, pypto.DT_FP16)"),
        ("y = pypto.maximum(i, b)", "i", "pypto.cast(i, pypto.DT_BF16)"),
        ("y = s + i", "s", "pypto.cast(s, pypto.DT_INT32)"),
        ("y = pypto.pow(c, u)", "pypto.pow(c, u)",
         "pypto.cast(c, pypto.DT_INT16) and pypto.cast(u, pypto.DT_INT16)"),
        ("f += h", "h", "pypto.cast(h, pypto.DT_FP32)"),
        ("h += f", "h", "pypto.cast(h, pypto.DT_FP32)"),
        ("y = h.add(f)", "h.add(f)", "pypto.cast(…, pypto.DT_FP32)"),
        ("y = f + (h * 2 + h * 3 + h * 4 + h * 5 + h * 6 + h * 7)",
         "h * 2 + h * 3 + h * 4 + h * 5 + h * 6 + h * 7", "pypto.cast(…, pypto.DT_FP32)"),
    ],
)  # fmt: skip
def test_the_proposed_cast(shop: Workshop, line: str, carets: str, help: str) -> None:
    (diagnostic,) = shop.error(f"def k({OPERANDS}):\n    {line}\n    f[:] = f\n").diagnostics
    assert diagnostic.help == f"cast to the wider dtype: {help}"
    assert diagnostic.span is not None and diagnostic.span.text() == carets


@pytest.mark.parametrize(
    ("line", "help"),
    [
        ("y = c + 1", "cast the operand: pypto.cast(c, pypto.DT_INT16)"),
        ("y = pypto.exp(i)", "cast the operand: pypto.cast(i, pypto.DT_FP32)"),
        ("y = l + l", "cast the operand: pypto.cast(l, pypto.DT_INT32)"),
        ("y = i + 0.5", "use an int, or cast the tensor: pypto.cast(i, pypto.DT_FP32)"),
        ("y = pypto.abs(i)", "write pypto.maximum(i, -i)"),
        ("y = pypto.abs(i + i)", "write pypto.maximum(x, -x), where x is i + i"),
        ("y = pypto.abs(l)",
         "write pypto.maximum(x, -x), where x is pypto.cast(l, pypto.DT_INT32)"),
    ],
)  # fmt: skip
def test_the_way_to_a_dtype_that_is_taken(shop: Workshop, line: str, help: str | None) -> None:
    (diagnostic,) = shop.error(f"def k({OPERANDS}):\n    {line}\n    f[:] = f\n").diagnostics
    assert diagnostic.help == help


@pytest.mark.parametrize("name", ["numel", "nelement"])
def test_the_number_of_elements(shop: Workshop, name: str) -> None:
    head = "def k(x: T([4, pypto.DYNAMIC], FP32), o: T([4, pypto.DYNAMIC], FP32)):\n"
    assert shop.message(f"{head}    o[:] = x * x.{name}()\n") == (
        f"ErrCode: F00007  a tensor has no attribute '{name}'\n"
        "  --> k.py:4:16\n"
        f"  3 | {head}"
        f"  4 |     o[:] = x * x.{name}()\n"
        f"    |                {'^' * len(f'x.{name}')}\n"
        "  help: write x.shape[0] * x.shape[1]"
    )


def test_every_proposed_cast_is_one_that_compiles(shop: Workshop) -> None:
    """Whatever two dtypes meet, the help's own words make the addition legal."""
    for a in "hbfis":
        for b in "hbfis":
            if a == b:
                continue
            head = f"def k({OPERANDS}):\n    f[:] = f\n"
            (diagnostic,) = shop.error(f"{head}    y = {a} + {b}\n").diagnostics
            assert diagnostic.help is not None
            casts = diagnostic.help.removeprefix("cast to the wider dtype: ").split(" and ")
            terms = {name: name for name in (a, b)}
            for cast in casts:
                terms[next(n for n in terms if f"({n}," in cast)] = cast
            assert "add" in shop.ir(f"{head}    y = {terms[a]} + {terms[b]}\n")
