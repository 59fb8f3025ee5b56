"""Errors of helpers: exact place, the call that led there, remedy."""

from __future__ import annotations

import pytest

from pypto.error import FeError
from tests.elaborate.support import Workshop, body

# --- helpers ---

HELPERS = """
    def scale(a, by, *, plus=0):
        if by == 0:
            return a
        return a * by + plus
    def both(a): return scale(a, 2), scale(a, by=3, plus=1)
    def loop(a): return pool(a)
    def pool(a): return loop(a)
    def broken(a):
        b = a + missing
        import math
        return b
    def write(target, value):
        target[:] = value
        return
    def strict(a, /, b): return a + b
"""


def test_helpers_are_inlined(shop: Workshop) -> None:
    text = shop.ir(HELPERS + "    " + "\n    ".join(
        body("a, b = both(x)", "write(o, scale(a, 0) - b)", "write(value=o, target=o)").splitlines()
    ) + "\n")  # fmt: skip
    parts = [line.split(" : ")[0].split("  @")[0].strip() for line in text.splitlines()]
    assert parts[1:6] == [
        "%0 = load x[:]",
        "%1 = mul %0, 2",
        "%2 = add %1, 0",
        "%3 = mul %0, 3",
        "%4 = add %3, 1",
    ]


def helper_error(shop: Workshop, line: str) -> FeError:
    text = HELPERS + "".join("    " + s + "\n" for s in body("o[:] = x", line).splitlines())
    error = shop.error(text)
    assert isinstance(error, FeError)
    return error


def test_recursion_names_the_chain(shop: Workshop) -> None:
    (diagnostic,) = helper_error(shop, "t = loop(x)").diagnostics
    assert diagnostic.message == "'loop' calls itself more than 100 levels deep"
    assert diagnostic.notes[0] == "calls: k -> loop -> pool -> loop -> pool -> loop -> ... -> loop"
    assert diagnostic.notes[4] == "194 more calls between"


def test_an_error_in_a_helper_says_who_called_it(shop: Workshop) -> None:
    found = helper_error(shop, "t = broken(x)").diagnostics
    assert [d.message for d in found] == [
        "a kernel cannot use an import",
        "name 'missing' is not defined",
    ]
    for diagnostic in found:
        (note,) = diagnostic.notes
        assert note.startswith("in 'broken', called at ") and note.endswith("k.py:21:9")
        assert diagnostic.span is not None and diagnostic.span.source.label == "broken"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t = scale(x)", "'scale' misses the argument 'by'"),
        ("t = scale(x, 1, 2)", "'scale' takes 2 positional arguments, got 3"),
        ("t = scale(x, 1, by=2)", "'scale' gets 'by' twice"),
        ("t = scale(x, 1, wrong=2)", "'scale' has no parameter 'wrong' that can be given by name"),
        ("t = strict(a=x, b=x)", "'strict' has no parameter 'a' that can be given by name"),
        ("t = scale(*x)", "only a list or tuple can stand behind * in a call"),
        ("t = scale(**{1: 2})", "the keys of a dict behind ** must be strings"),
        ("t = x(1)", "'x' cannot be called"),
        ("t = 3(1)", "'3' cannot be called"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_wrong_calls(shop: Workshop, line: str, message: str) -> None:
    assert [d.message for d in helper_error(shop, line).diagnostics] == [message]


def test_a_kernel_does_not_call_a_kernel(shop: Workshop) -> None:
    text = """
        @pypto.frontend.jit
        def inner(x: T([8], FP32), o: T([8], FP32)): o[:] = x
        def k(x: T([8], FP32), o: T([8], FP32)):
            inner(x, o)
        """
    (diagnostic,) = shop.error(text).diagnostics
    assert diagnostic.message == "a kernel cannot call the kernel inner"
    assert diagnostic.help == "move the common part into a plain function that both kernels call"


def test_marked_functions_check_their_annotations(shop: Workshop) -> None:
    text = """
        @pypto.frontend.function
        def twice(a: T([8], FP32)): return a * 2
        @pypto.frontend.function
        def wide(a: T([16], FP32)): return a
        def k(x: T([8], FP32), o: T([8], FP32)):
            o[:] = twice(x)
            t = wide(x)
            t = twice(3)
        """
    error = shop.error(text)
    assert [d.message for d in error.diagnostics] == [
        "'a' of the function 'wide' has another shape",
        "'a' of the function 'twice' must be a tensor",
    ]
