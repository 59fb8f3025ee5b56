"""Loops with a list of factors: ``pypto.loop(unroll_list=...)`` and ``pypto.loop_unroll``."""

from __future__ import annotations

import pytest
import torch

from tests.differential.agree import TWINS, agree_calls, agree_compiled, count
from tests.elaborate.support import Workshop
from tests.passes.test_loops import outline, program_of

HEAD = "def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([pypto.DYNAMIC, 4], FP32), s: int):\n"

BODIES = {
    "rows of their own": """
        for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
            o[i] = x[i] * 2 + i
        """,
    "tiles, the last one shorter": """
        for i in pypto.loop((x.shape[0] + 2) // 3, unroll_list=[2]):
            o[i * 3 : (i + 1) * 3] = x[i * 3 : (i + 1) * 3] + i
        """,
    "what goes from iteration to iteration": """
        acc = x[0] * 0
        c = 0
        for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
            acc = acc * 2 + x[i]
            c += i
        o[0] = acc + c
        """,
    "names that iterations set": """
        assert x.shape[0] > 0
        for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
            t = x[i] * 2
            u = i + 1
        o[0] = t + u + i
        """,
    "break, continue and else": """
        acc = x[0] * 0
        c = 0
        for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
            if i == s:
                break
            if i % 3 == 1:
                continue
            acc = acc * 2 + x[i]
            c += i
        else:
            c += 100
        o[0] = acc + c
        """,
    "a break that is certain": """
        for i in pypto.loop(x.shape[0], unroll_list=[2]):
            o[i] = x[i] + 1
            break
        else:
            o[0] += 100
        """,
    "return": """
        def first(s):
            for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
                if i == s:
                    return x[i] * 2
            return x[0] * 3
        o[0] = first(s)
        """,
    "the first and the last iteration": """
        for i in pypto.loop(x.shape[0], unroll_list=[4, 2]):
            if pypto.is_loop_begin(i):
                o[0] = i + 5
            if pypto.is_loop_end(i):
                o[0] += i + 50
            if pypto.cond(i > s):
                o[0] += i
        """,
    "falling, by two, and by a step that only the call knows": """
        c = 0
        for i in pypto.loop(x.shape[0] - 1, -1, -2, unroll_list=[3]):
            o[0] = o[0] * 3 + x[i]
            if pypto.is_loop_end(i):
                o[0] += c
            c += i
        for i in pypto.loop(0, x.shape[0], s, unroll_list=[2]):
            o[0] = o[0] * 3 + x[i]
        """,
    "loops in one another": """
        for i in pypto.loop(x.shape[0], unroll_list=[2]):
            for j in pypto.loop(i, unroll_list=[3]):
                if j == s:
                    break
                o[i] += x[j]
        """,
    "loop_unroll: break, continue and else": """
        c = 0
        for i, k in pypto.loop_unroll(x.shape[0], unroll_list=[4, 2]):
            if i > s:
                continue
            if k == 2:
                break
            c = c * 10 + k
        else:
            c += 1000
        o[0] = x[0] * c
        """,
    "loop_unroll: break under a run-time condition": """
        for i, k in pypto.loop_unroll(x.shape[0], unroll_list=[4, 2]):
            if i + k > s + 1:
                break
            o[i : i + k] = x[i : i + k] * k
        """,
    "loop_unroll: return": """
        def first(s):
            for i, k in pypto.loop_unroll(x.shape[0], unroll_list=[4, 2]):
                if i + k > s:
                    return x[i] * k
            return x[0] * 3
        o[0] = first(s)
        """,
    "loop_unroll: the first and the last part": """
        for i, k in pypto.loop_unroll(x.shape[0], unroll_list=[4, 2]):
            if pypto.is_loop_begin(i):
                o[0] += i + 5
            if pypto.is_loop_end(i):
                o[0] += (i + 5) * k
            if pypto.cond(i > s):
                o[0] += k
        """,
}
ON_TWINS = (
    "rows of their own", "what goes from iteration to iteration", "names that iterations set",
    "break, continue and else", "return", "the first and the last iteration",
    "loop_unroll: break under a run-time condition", "loop_unroll: return",
)  # fmt: skip
SIZES = (7, 1, 2, 3, 8, 11)
INTS = (2, 1, 5, 20)


def calls(sizes: tuple[int, ...] = SIZES) -> list[tuple[object, ...]]:
    return [(count(n, 4), count(n, 4) * 100, s) for n in sizes for s in INTS]


def text_of(name: str) -> str:
    return HEAD + BODIES[name].replace("\n        ", "\n    ")


@pytest.mark.parametrize("name", BODIES)
def test_means_what_the_plain_loop_means(name: str) -> None:
    agree_calls(text_of(name), calls())


@pytest.mark.parametrize("kind", TWINS)
def test_on_the_twin(kind: str) -> None:
    agree_compiled([(text_of(name), calls((7, 3, 1))) for name in ON_TWINS], kind)


def test_the_loops_that_are_made(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([pypto.DYNAMIC, 4], FP32), o: T([pypto.DYNAMIC, 4], FP32)):
            for i in pypto.loop(x.shape[0], unroll_list=[2]):
                o[i] = x[i]
        """)
    assert "for i in 0 : (x.shape[0]//2)*2 : 2 " in made
    assert "for i_2 in (x.shape[0]//2)*2 : " in made
    assert made.count("= load x[i:") == made.count("= load x[i + 1:") == 1
    assert made.count("= load x[i_2:") == 1


def test_parts_that_cannot_run_are_left_out(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([8, 4], FP32), o: T([8, 4], FP32)):
            for i in pypto.loop(8, unroll_list=[4, 2]):
                o[i] = x[i]
        """)
    assert "for i in 0 : 8 : 4" in made and made.count("for ") == 1


def test_the_body_of_a_loop_without_iterations_is_read(shop: Workshop) -> None:
    text = """
        def k(x: T([8, 4], FP32), o: T([8, 4], FP32)):
            for i in pypto.loop(0, unroll_list=[2]):
                o[i] = nothing
            o[:] = x
        """
    assert "name 'nothing' is not defined" in shop.message(text)


def test_only_the_index_itself_has_a_begin(shop: Workshop) -> None:
    text = """
        def k(x: T([8, 4], FP32), o: T([8, 4], FP32)):
            for i in pypto.loop(8, unroll_list=[2]):
                if pypto.is_loop_begin(i + 1):
                    o[i] = x[i]
        """
    assert "is_loop_begin takes the index of a run-time loop" in shop.message(text)


def test_a_message_counts_once(shop: Workshop) -> None:
    text = """
        def k(x: T([8, 4], FP32), o: T([8, 4], FP32)):
            for i in pypto.loop(8, unroll_list=[4, 2]):
                o[i] = x[i] + 'a'
        """
    assert len(shop.error(text).diagnostics) == 1


def test_iterations_that_are_run_together_are_still_shared_by_the_cores() -> None:
    body = (
        "for i in pypto.loop(x.shape[0], unroll_list=[4]):\n"
        "    o[i : i + 1, :] = x[i : i + 1, :] * 2"
    )
    assert outline(program_of(body).body) == "shared i (stage stage stage stage) shared i_2 (stage)"


def test_what_an_iteration_sets_ends_with_it(shop: Workshop) -> None:
    made = shop.ir("""
        def k(x: T([8], FP32), o: T([8], FP32)):
            pypto.set_vec_tile_shapes(8)
            for i in pypto.loop(8, unroll_list=[2]):
                o[:] = o * i
                pypto.set_vec_tile_shapes(16)
                o[:] = o + 1
        """)
    muls = [line for line in made.split("\n") if "= mul" in line]
    assert len(muls) == 2 and all("tile (8)" in line for line in muls)


def test_values_before_the_first_part_runs() -> None:
    """Two iterations, where the factor asks for four."""
    text = HEAD + (
        "    t = x[0:2]\n    for i in pypto.loop(x.shape[0], unroll_list=[4]):\n"
        "        t = t + x[i]\n    o[0:2] = t\n"
    )
    agree_calls(text, [(count(n, 4), torch.zeros(n, 4), 1) for n in (2, 4, 5)])
