"""Canonical encoding: the same value gives the same bytes, another one other bytes."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto.build.encode import encode
from pypto.build.key import entry_key, probe_key
from pypto.error import FeTypeError, FeValueError


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Other(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Config:
    n: int
    scale: float


@dataclass(frozen=True)
class Twin:
    n: int
    scale: float


DISTINCT = [
    *(None, ..., True, False, 0, 1, -1, 255, 256, -128, -129, 2**64, 10**40),
    *(0.0, -0.0, 1.0, float("inf"), float("nan"), 1e-320, 0j, complex(0.0, -0.0), 1 + 0j),
    *("", "1", "a", "b", "é", "e\u0301", "\ud800", b"", b"1", b"a"),
    *((), (1,), (1, 2), ((1,), 2), ((1, 2),), (("a",), "b"), ("a", ("b",)), ("ab",), ("a", "b")),
    *([], [1], [1, 2], {}, {1: 2}, {"1": 2}, {1: 2, 3: 4}, {1: (2, 3)}, set(), {1}, {1, 2}),
    *(frozenset(), frozenset({1}), Colour.RED, Colour.BLUE, Other.RED),
    *(Config(1, 2.0), Config(1, 2), Config(2, 1.0), Twin(1, 2.0), (1, 2.0)),
    *((lambda x: x + 1).__code__, (lambda x: x + 2).__code__, (lambda x: x + 1.0).__code__),
]


def test_distinct_values_have_distinct_bytes() -> None:
    encoded = [encode(value) for value in DISTINCT]
    assert len(set(encoded)) == len(DISTINCT)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


def exact(value: object) -> object:
    """A form in which == is sameness of type and value."""
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(exact(one) for one in value)
    if isinstance(value, dict):
        return "dict", frozenset((exact(k), exact(v)) for k, v in value.items())
    if isinstance(value, float):
        return "float", value.hex() if value == value else "nan"
    return type(value).__name__, value


@settings(max_examples=200, deadline=None)
@given(values, values)
def test_bytes_are_equal_exactly_where_values_are(left: object, right: object) -> None:
    if exact(left) != exact(right):
        assert encode(left) != encode(right)
    else:
        assert encode(left) == encode(right) or "nan" in repr(left)


def test_order_of_dicts_and_sets_does_not_matter() -> None:
    assert encode({1: 2, "a": 3}) == encode({"a": 3, 1: 2})
    assert encode({"x", "y", "z"}) == encode({"z", "y", "x"})


def test_code_is_encoded_without_its_place() -> None:
    text = "def f(x):\n    return x + 1\n"
    here, there = {}, {}
    exec(compile(text, "a.py", "exec"), here)
    exec(compile("\n\n\n" + text, "elsewhere/b.py", "exec"), there)
    assert encode(here["f"].__code__) == encode(there["f"].__code__)


def test_unknown_types_are_refused_by_name() -> None:
    class Strange(int):
        pass

    for value in (object(), Strange(3), Config, {"x": [object()]}, range(3)):
        with pytest.raises(FeTypeError, match=r"A value of type .* cannot be part of a cache key"):
            encode(value)
    with pytest.raises(FeTypeError, match=r"Strange"):
        encode(Strange(3))


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(FeValueError, match="levels deep"):
        encode(endless)


def test_keys_differ_by_purpose_and_by_each_field() -> None:
    fields = {"a": 1, "b": "x", "c": (1, 2)}
    keys = {probe_key(fields), entry_key(fields)}
    for name, value in (("a", 1.0), ("a", True), ("b", b"x"), ("c", [1, 2]), ("d", None)):
        keys.add(entry_key({**fields, name: value}))
    assert len(keys) == 7
    assert all(len(key) == 64 for key in keys)


def test_keys_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from pypto.build.key import entry_key\n"
        "print(entry_key({'s': frozenset('abcdefgh'), 'd': {'x': 1, 'y': {2, 3, 'z'}}}))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
