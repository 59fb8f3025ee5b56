"""Captured reads: recorded, told apart, evaluated again, refused."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import subprocess
import sys
import textwrap
import types
from typing import Any

import pytest

from pypto.elaborate.captures import (
    ABSENT,
    CapturedRead,
    Unreadable,
    evaluate,
    static_attribute,
)
from pypto.elaborate.digests import Undigestible, digest
from pypto.elaborate.rows import launcher_rows
from pypto.error import PyptoError
from tests.elaborate.support import Workshop, body

SETTINGS = """
    import dataclasses, enum, math, types
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2
    @dataclasses.dataclass
    class Config:
        N: int = 4
        inner: object = None
    cfg = Config(4, Config(5))
    SIZES = [2, 3]
    TABLE = {"a": 6}
    space = types.SimpleNamespace(depth=types.SimpleNamespace(n=7))
    K = 2
    def deeper(a): return a * K
    def h(a, factor=3): return deeper(a) * factor
    """


def reads_of(shop: Workshop, *lines: str) -> tuple[dict[str, Any], dict[str, CapturedRead]]:
    names = shop.module(textwrap.dedent(SETTINGS) + body(*lines))
    made = shop.elaborate(names["k"])
    return names, {str(read): read for read in made.reads}


def test_each_read_is_recorded_by_its_path(shop: Workshop) -> None:
    _, reads = reads_of(
        shop,
        "o[:] = x * cfg.N + SIZES[0] + TABLE['a'] + cfg.inner.N + space.depth.n + math.pi",
        "o[:] = h(o)",
    )
    assert sorted(reads) == [
        "SIZES[0]", "TABLE['a']", "cfg.N", "cfg.inner.N", "h", "h -> deeper", "h -> deeper -> K",
        "h -> factor", "math.pi", "space.depth.n",
    ]  # fmt: skip


CHANGES = {
    "cfg.N": "cfg.N = 5",
    "cfg.inner.N": "cfg.inner = Config(6)",
    "SIZES[0]": "SIZES[0] = 9",
    "TABLE['a']": "TABLE['a'] = 6.0",
    "K": "K = 3",
    "h": "def h(a, factor=3): return a",
    "h -> deeper": "def deeper(a): return a + K",
    "h -> deeper -> K": "K = True",
    "h -> factor": "h.__defaults__ = (4,)",
    "space.depth.n": "space.depth = types.SimpleNamespace(n=8)",
    "Colour.RED": "Colour = enum.Enum('Colour', {'RED': 3})",
}


@pytest.mark.parametrize("path", sorted(CHANGES))
def test_a_change_is_noticed_by_value_and_by_pointer(shop: Workshop, path: str) -> None:
    use = {"Colour.RED": "t = 1 if Colour.RED is Colour.BLUE else 2", "K": "t = K"}
    line = use.get(path, f"t = {path}" if not path.startswith("h") else "t = h(x)")
    names, reads = reads_of(shop, line, "assert t is not None", "o[:] = x")
    read, function = reads[path], names["k"]
    assert evaluate(read, function) == read.digest
    rows = launcher_rows(tuple(reads.values()), function)
    assert rows is not None
    assert all(_row_holds(row) for row in rows)
    exec(CHANGES[path], names)
    assert evaluate(read, function) != read.digest
    assert not all(_row_holds(row) for row in rows)


def _row_holds(row: tuple[Any, ...]) -> bool:
    """What the launcher does with a row."""
    container, key, *expected = row
    if key is Ellipsis:
        return bool(container == expected[0])
    if isinstance(container, types.CellType):
        return container.cell_contents is expected[0]
    if isinstance(container, dict):
        found = container.get(key, Unreadable)
    elif isinstance(container, list):
        found = container[key]
    else:
        found = getattr(container, key)
    return found is (expected[0] if expected else Unreadable)


def test_a_comment_in_a_helper_changes_nothing(shop: Workshop) -> None:
    names, reads = reads_of(shop, "o[:] = h(x)")
    text = "def h(a, factor=3):\n    # a comment\n\n    return deeper(a) * factor"
    exec(compile(text, "other.py", "exec", dont_inherit=True), names)
    assert evaluate(reads["h"], names["k"]) == reads["h"].digest


def test_a_built_in_that_is_shadowed_later(shop: Workshop) -> None:
    names, reads = reads_of(shop, "o[:] = x * len(SIZES)")
    rows = launcher_rows(tuple(reads.values()), names["k"])
    assert rows is not None and all(_row_holds(row) for row in rows)
    names["len"] = sum
    assert evaluate(reads["len"], names["k"]) != reads["len"].digest
    assert not all(_row_holds(row) for row in rows)
    del names["SIZES"]
    assert evaluate(reads["SIZES"], names["k"]) == ABSENT


def test_a_whole_list_is_compared_by_value(shop: Workshop) -> None:
    names, reads = reads_of(shop, "for n in SIZES: o[:] = x * n")
    rows = launcher_rows(tuple(reads.values()), names["k"])
    assert rows is not None
    assert (names["SIZES"], Ellipsis, names["SIZES"]) in rows
    names["SIZES"].append(4)
    assert evaluate(reads["SIZES"], names["k"]) != reads["SIZES"].digest


def test_closure_cells(shop: Workshop) -> None:
    names = shop.module("""
        def make(n):
            def k(x: T([8], FP32), o: T([8], FP32)):
                o[:] = x * n
            def rebind(value):
                nonlocal n
                n = value
            return k, rebind
        k, rebind = make(2)
        """)
    (read,) = shop.elaborate(names["k"]).reads
    assert read.path == (("cell", "n"),)
    rows = launcher_rows((read,), names["k"])
    assert rows is not None and _row_holds(rows[0])
    names["rebind"](3)
    assert evaluate(read, names["k"]) != read.digest and not _row_holds(rows[0])


def test_reads_survive_json(shop: Workshop) -> None:
    names, reads = reads_of(shop, "o[:] = h(x) * cfg.N * SIZES[0]")
    for read in reads.values():
        again = CapturedRead.from_json(json.loads(json.dumps(read.to_json())))
        assert again == read and evaluate(again, names["k"]) == read.digest
    for wrong in (None, [], [[["attr"]], "x"], [[["code", "x"]], "x"], [[["attr", "x"]], 3]):
        with pytest.raises(ValueError, match="no captured read"):
            CapturedRead.from_json(wrong)


class _Two(enum.Enum):
    A = 1
    B = 1.0
    C = 2


@dataclasses.dataclass
class _Point:
    x: object
    y: object = None


def test_values_that_differ_have_different_digests() -> None:
    import numpy
    import torch

    import pypto

    values = [
        True, 1, 1.0, 0, 0.0, -0.0, math.inf, math.nan, None, "1", b"1", (1,), [1], (1.0,), (True,),
        {"a": 1}, {"a": True}, {"b": 1}, {1}, frozenset({1}), (1, (2,)), ((1, 2),), range(3), ...,
        1j, _Two.A, _Two.C, _Point(1), _Point(1.0), _Point(1, 2), types.SimpleNamespace(x=1),
        numpy.float32(1), numpy.float64(1), numpy.int64(1), numpy.dtype("float32"),
        numpy.dtype("<f8"), torch.float32, torch.float16, pypto.DT_FP32, pypto.DT_FP16, pypto.add,
        pypto.sub, pypto.set_vec_tile_shapes, pypto.Tensor((4,), pypto.DT_FP32),
        pypto.Tensor((5,), pypto.DT_FP32), pypto.Tensor, int, float, math, len, math.sin, math.cos,
        pypto.CastMode.CAST_RINT, 2**70, -1, "", (), [], {},
    ]  # fmt: skip
    digests = [digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [digest(value) for value in values]


def test_digests_do_not_depend_on_the_process() -> None:
    code = "from pypto.elaborate.digests import digest; print(digest({1, 'a', (2.5, None)}))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert runs[0] == runs[1] == digest({1, "a", (2.5, None)}) + "\n"


def test_values_that_cannot_be_captured() -> None:
    import torch

    circle: list[object] = []
    circle.append(circle)
    for value in (torch.zeros(2), open, object(), circle, list(range(300)), [].append):
        if value is open:
            continue
        with pytest.raises(Undigestible):
            digest(value)


class _Clever:
    plain = 3

    def __init__(self) -> None:
        self.stored = 4

    @property
    def computed(self) -> int:
        return 5


class _Dynamic:
    def __getattr__(self, name: str) -> int:
        return 6


class _Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 7


def test_only_stored_attributes_are_read() -> None:
    clever = _Clever()
    assert static_attribute(clever, "plain") == 3
    assert static_attribute(clever, "stored") == 4
    assert static_attribute(_Slotted(), "n") == 7
    assert static_attribute(_Two.A, "value") == 1
    for value, name, words in (
        (clever, "computed", "is a property"),
        (_Dynamic(), "n", "in __getattr__"),
        (clever, "__init__", "is no stored value: it runs code"),
        (clever, "nothing", "has no attribute"),
    ):
        with pytest.raises(Unreadable, match=words):
            static_attribute(value, name)


REFUSED = {
    "t = clever.slow": "cannot read 'clever.slow': 'slow' is a property of 'Clever': it runs code "
    "when read",
    "t = BIG[3]": "cannot read BIG[3]: it has more than 256 items; pass it as an argument",
    "SIZES.append(1)": "a kernel cannot change 'SIZES': append would run once, while compiling",
    "SIZES[0] = 1": "a kernel cannot change 'SIZES', which stands outside of it",
    "s = SIZES; s += [1]": "a kernel cannot change 'SIZES' in place",
    "cfg.N = 1": "a kernel cannot set the attribute 'N' of Config(N=4) (Config)",
    "t = random.random()": "a kernel cannot call random.random: its result would be frozen into "
    "the compiled kernel",
    "t = time.time()": "a kernel cannot call time.time: its result would be frozen into the "
    "compiled kernel",
    "t = os.environ['HOME']": "cannot read os.environ['HOME']: indexing a '_Environ' runs code",
    "t = random.randint(1, 2)": "a kernel cannot call random.randint: its result would be frozen",
    "t = os.getcwd()": "a kernel cannot call os.getcwd: it depends on the process, not on its "
    "arguments",
    "t = x * weights": "add: 'other' must be a tensor or a number",
    "t = torch.zeros(2)": "a kernel cannot call torch.zeros: it would run once, while compiling",
    "logging.info('x')": "a kernel cannot call logging.info",
    "t = int(weights)": "a kernel cannot use the captured value 'weights'",
    "t = Meta(3)": "a kernel cannot make objects of the class Meta",
    "t = clever + 1": "a kernel cannot use the captured value 'clever'",
}


@pytest.mark.parametrize("line", sorted(REFUSED))
def test_impure_code_is_refused_by_name(shop: Workshop, line: str) -> None:
    text = textwrap.dedent("""
        import abc, dataclasses, logging, os, random, time, torch
        SIZES = [1, 2]
        BIG = list(range(300))
        weights = torch.ones(3)
        @dataclasses.dataclass
        class Config:
            N: int = 4
        cfg = Config()
        class Clever:
            slow = property(abs)
        class Meta(metaclass=abc.ABCMeta): pass
        clever = Clever()
        """)
    error = shop.error(text + body("o[:] = x", line))
    (diagnostic,) = error.diagnostics
    wanted = REFUSED[line].replace("add: 'other'", "mul: 'other'")
    assert diagnostic.message.startswith(wanted)
    assert diagnostic.span is not None and diagnostic.span.line == 3
    assert diagnostic.help


def test_shadowing(shop: Workshop) -> None:
    made = shop.run("""
        import pypto as p
        from pypto import add as sum
        def exp(a): return a - 1
        def k(x: T([8], FP32), exp2: T([8], FP32), o: T([8], FP32)):
            pypto = sum(x, exp2)
            o[:] = p.exp(exp(pypto))
        """)
    assert [s.op for s in made.kernel.body if hasattr(s, "op")] == ["add", "sub", "exp"]
    assert sorted(str(read) for read in made.reads) == ["exp", "p", "sum"]


def test_a_parameter_named_like_a_helper(shop: Workshop) -> None:
    error = shop.error("""
        def h(a): return a
        def k(h: T([8], FP32), o: T([8], FP32)):
            o[:] = h(h)
        """)
    assert [d.message for d in error.diagnostics] == ["'h' cannot be called"]
    assert isinstance(error, PyptoError)


def test_captures_load_without_libcst() -> None:
    code = (
        "import sys, pypto.elaborate.captures; "
        "print(sorted({'libcst', 'jinja2', 'numpy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
