"""Records mean what frozen, slotted dataclasses mean."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from pypto._record import Record


class Point(Record):
    """A record."""

    x: int
    y: int | None = None
    tags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Twin:
    """The same as a dataclass."""

    x: int
    y: int | None = None
    tags: tuple[str, ...] = ()


class Named(Point):
    """A record of a record, with methods of its own."""

    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


class Unique(Record, eq=False):
    """Equal to itself alone."""

    x: int


def test_as_a_dataclass() -> None:
    pairs = [
        (Point(1), Twin(1)),
        (Point(1, 2, ("a",)), Twin(1, 2, ("a",))),
        (Point(y=3, x=4), Twin(y=3, x=4)),
    ]
    for point, twin in pairs:
        assert repr(point) == repr(twin).replace("Twin", "Point")
        assert dataclasses.asdict(point) == dataclasses.asdict(twin)
        assert hash(point) == hash(twin)
        assert pickle.loads(pickle.dumps(point)) == point == copy.copy(point)
    other: object = Twin(1)
    assert Point(1) != other and Point(1) != Point(2) and Point(1) == Point(1, None)
    assert dataclasses.replace(Point(1), y=2) == Point(1, 2)
    assert dataclasses.is_dataclass(Point) and not hasattr(Point(1), "__dict__")
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, (), 4), {}, "takes 3 arguments but 4 were given"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
        ((1,), {"z": 1}, "unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments(args: tuple[int, ...], kwargs: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*args, **kwargs)  # type: ignore[arg-type]


def test_frozen() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_inheritance_and_own_methods() -> None:
    named = Named(1, 2, (), "n")
    assert (named.x, named.y, named.name, repr(named)) == (1, 2, "n", "n")
    assert named == Named(5, name="n") and hash(named) == hash("n")
    first = Unique(1)
    assert first == first and first != Unique(1) and len({first, Unique(1)}) == 2


def test_fields_keep_their_order_and_defaults() -> None:
    described = dataclasses.fields(Named)
    assert [(f.name, f.type) for f in described] == [
        ("x", "int"),
        ("y", "int | None"),
        ("tags", "tuple[str, ...]"),
        ("name", "str"),
    ]
    assert described[0].default is dataclasses.MISSING and described[1].default is None
    assert Named.__match_args__ == ("x", "y", "tags", "name")  # type: ignore[attr-defined]
    assert dataclasses.replace(Named(1, name="n"), x=2).x == 2


class Kept(Record):
    """A record that keeps something beside its values."""

    __slots__ = ("_sum",)
    x: int


def test_what_is_kept_beside_the_values_is_no_field() -> None:
    kept = Kept(1)
    object.__setattr__(kept, "_sum", 5)
    assert kept == Kept(1) and [f.name for f in dataclasses.fields(kept)] == ["x"]
    assert not hasattr(copy.copy(kept), "_sum") and not hasattr(kept, "__dict__")


def test_what_records_are_not() -> None:
    with pytest.raises(TypeError, match="plain fields only"):

        class Lists(Record):
            x: list[int] = dataclasses.field(default_factory=list)

    with pytest.raises(TypeError, match="no __post_init__"):

        class Checked(Record):
            def __post_init__(self) -> None: ...
