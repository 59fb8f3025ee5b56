"""Lists, dicts and objects that run-time loops and branches change or replace."""

from __future__ import annotations

import pytest

from tests.elaborate.support import Workshop

HEAD = """
import dataclasses
@dataclasses.dataclass
class St:
    m: object
    l: object
def other(x):
    @dataclasses.dataclass
    class St:
        m: object
        l: object
    return St
Other = other(None)
def k(x: T([8], FP32), o: T([8], FP32), n: int):
"""


def program(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def test_places_are_carried_as_names_are(shop: Workshop) -> None:
    named = shop.ir(program(
        "m, l = x * 2, 0",
        "for i in pypto.loop(n):",
        "    m = m + x",
        "    l = l + i",
        "o[:] = m * l",
    ))  # fmt: skip
    held = shop.ir(program(
        "a = [x * 2, 0]",
        "for i in pypto.loop(n):",
        "    a[0] = a[0] + x",
        "    a[1] = a[1] + i",
        "o[:] = a[0] * a[1]",
    ))  # fmt: skip

    def operations(text: str) -> list[str]:
        return [line.split()[2] for line in text.splitlines() if " = " in line]

    assert operations(named) == operations(held)
    assert held.count("carry") == named.count("carry")


def test_places_that_nothing_changes_stay_known(shop: Workshop) -> None:
    text = shop.ir(program(
        "d = {'m': x * 2, 'size': 4}",
        "for i in pypto.loop(n):",
        "    d['m'] = d['m'] + pypto.full([8], 1.0, FP32)[0 : 2 * d['size']]",
        "o[:] = d['m']",
    ))  # fmt: skip
    assert "carry" not in text
    text = shop.ir(program(
        "st = St(x * 2, 4)",
        "for i in pypto.loop(n):",
        "    st = St(st.m + pypto.full([2 * st.l], 1.0, FP32), 4)",
        "o[:] = st.m",
    ))  # fmt: skip
    assert "carry" not in text


MISTAKES = {
    "a list that grows in a loop": (
        ["a = [x]", "for i in pypto.loop(n):", "    a.append(x + i)", "o[:] = a[0]"],
        "the run-time loop changes which items 'a' has", "a list of 2 at the end of an iteration",
        "a.append(x + i)",
    ),
    "a key that a side adds": (
        ["d = {'m': x}", "if n > 3:", "    d['l'] = x * 2", "o[:] = d['m']"],
        "'d' would have other items on the two sides of a run-time branch",
        "a dict of 'm', 'l' where the condition holds, a dict of 'm' where not", "d['l']",
    ),
    "an attribute that a side adds": (
        ["st = St(x, 0)", "if n > 3:", "    st.extra = x * 2", "o[:] = st.extra"],
        "'st.extra' may have no value here: the branch does not set it where the condition does "
        "not hold", None, "st.extra",
    ),
    "lists of two lengths": (
        ["if n > 3:", "    a = [x]", "else:", "    a = [x, x]", "o[:] = a[0]"],
        "'a' has different kinds of values on the two sides of a run-time branch",
        "a list of 1 where the condition holds, a list of 2 where not", "a",
    ),
    "classes of one name": (
        ["if n > 3:", "    a = St(x, 1)", "else:", "    a = Other(x, 1)", "o[:] = a.m"],
        "'a' has different kinds of values on the two sides of a run-time branch",
        "an object of the class k.St with m, l where the condition holds, an object of the class "
        "k.other.<locals>.St with m, l where not", "a",
    ),
    "an object of another class in a loop": (
        ["a = St(x, 1)", "for i in pypto.loop(n):", "    a = Other(a.m, 1)", "o[:] = a.m"],
        "the loop changes what 'a' is",
        "an object of the class k.other.<locals>.St with m, l at the end of an iteration", None,
    ),
    "a leaf of another dtype": (
        ["st = St(x, 0)", "for i in pypto.loop(n):", "    st.m = pypto.cast(st.m, pypto.DT_FP16)",
         "o[:] = st.m"],
        "the loop changes what 'st.m' is", "a tensor fp16[8] at the end of an iteration", None,
    ),
    "a set": (
        ["s = {1}", "if n > 3:", "    s.add(2)", "o[:] = x"],
        "a set of 1 made outside of a run-time loop or branch cannot be changed inside", None,
        "s.add(2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MISTAKES)
def test_structures_that_differ(shop: Workshop, what: str) -> None:
    lines, message, got, place = MISTAKES[what]
    (diagnostic,) = shop.error(program(*lines)).diagnostics
    assert diagnostic.message == message
    assert diagnostic.got is None or diagnostic.got == got
    assert diagnostic.got is None or diagnostic.expected != diagnostic.got
    assert place is None or (diagnostic.span is not None and diagnostic.span.text() == place)


ALIASES = {
    "the object before a branch": (
        ["st = St(x, 0)", "keep = st", "if n > 3:", "    st = St(x * 2, 1)", "st.m = st.m + 1",
         "o[:] = {}.m"], "keep", "st",
    ),
    "the object before a loop": (
        ["st = St(x, 0)", "keep = st", "for i in pypto.loop(n):", "    st = St(st.m + x, i)",
         "keep.m = x * 3", "o[:] = {}.m"], "st", "keep",
    ),
    "an object that is chosen": (
        ["a, b = [x], [x * 2]", "c = a if n > 3 else b", "c[0] = x * 3", "o[:] = {}[0]"], "b", "c",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ALIASES)
def test_objects_that_may_be_one(shop: Workshop, what: str) -> None:
    lines, lost, kept = ALIASES[what]
    *before, last = lines
    (diagnostic,) = shop.error(program(*before, last.format(lost))).diagnostics
    assert "may or may not be the object that" in diagnostic.message
    assert diagnostic.span is not None and diagnostic.span.text().startswith(lost)
    assert "store o" in shop.ir(program(*before, last.format(kept)))


def test_a_list_that_may_be_another_does_not_grow(shop: Workshop) -> None:
    lines = ("a, b = [x], [x * 2]", "c = a if n > 3 else b", "c.append(x)", "o[:] = c[1]")
    assert "may or may not be the object that" in shop.message(program(*lines))
    lines = ("c = [x] if n > 3 else [x * 2]", "c.append(x)", "o[:] = c[0] + len(c)")
    assert "store o" in shop.ir(program(*lines))


def test_an_iteration_changes_what_two_names_share(shop: Workshop) -> None:
    message = shop.message(program(
        "a, b = [x * 1], [x * 2]",
        "for i in pypto.loop(n):",
        "    a[0] = a[0] + 1",
        "    a = [b[0] * 2]",
        "    b = a",
        "o[:] = a[0] + b[0]",
    ))  # fmt: skip
    assert "an iteration changes the object that 'a' may share with another name" in message
    assert "--> k.py:19:9" in message


def test_what_a_failed_loop_changes_is_told_once(shop: Workshop) -> None:
    lines = ("a = []", "for i in pypto.loop(n):", "    a.append(x * 2)", "o[:] = a[0]")
    assert len(shop.error(program(*lines)).diagnostics) == 1


def test_one_list_by_several_names_in_a_helper(shop: Workshop) -> None:
    text = HEAD.replace("def k(", "def change(a, n):\n    if n > 3: a[0] = a[0] * 2\ndef k(")
    lines = ("a = [x * 1]", "b = (a, 1)", "change(b[0], n)", "o[:] = a[0]")
    assert "if n > 3" in shop.ir(text + "".join(f"    {line}\n" for line in lines))


def test_objects_are_replaced(shop: Workshop) -> None:
    lines = ("st = dataclasses.replace(St(x, 2), l=3)", "o[:] = st.m * st.l")
    assert "mul %0, 3 :" in shop.ir(program(*lines))
    message = shop.message(program("st = dataclasses.replace(St(x, 2), q=3)", "o[:] = st.m"))
    assert "'q'" in message
    assert "replace() takes an object of a dataclass" in shop.message(
        program("o[:] = dataclasses.replace(x, m=3)")
    )
