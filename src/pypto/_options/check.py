"""Checks of option values: from what a user gives to an immutable value, or an error."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, ParamSpec, TypeGuard

from pypto import target
from pypto._options.spec import Frozen, Option
from pypto._options.table import FAMILIES, TILE_FAMILY
from pypto._spelling import nearest
from pypto.error import Diagnostic, FeKeyError, FeTypeError, FeValueError, PyptoWarning

__all__ = ["by_keyword", "check_family", "check_value", "find_option", "thaw", "warn_not_yet"]

MAX_TILE_RANK = 5
MAX_TILE = 2147483647  # elements along one axis of a tile

_P = ParamSpec("_P")

_warned: set[str] = set()  # options that this process was warned about


def by_keyword(setter: Callable[_P, None]) -> Callable[_P, None]:
    """A setter that says how options are written where it is given them by position."""

    @functools.wraps(setter)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> None:
        if args:
            from pypto._options.refuse import refuse_positional

            refuse_positional(setter.__name__, args)
        setter(*args, **kwargs)

    return called


def find_option(name: str, known: Mapping[str, Option], prefix: str) -> Option:
    """The option ``name``; FeKeyError with the nearest known name when there is none."""
    option = known.get(name) if isinstance(name, str) else None
    if option is None:
        from pypto._options.refuse import where

        near = nearest(str(name), known)
        help = f"did you mean '{near}'?" if near else f"known keys: {', '.join(sorted(known))}"
        message = f"key: {prefix}{name} does not exist."
        help = where(str(name)) or help
        raise FeKeyError([Diagnostic(FeKeyError, "F00006", message, help=help)])
    return option


def check_family(family: str, values: object) -> dict[str, Frozen]:
    """Checked values of one family by ``family.key``; None as a value means *not given*.

    ``values`` is a mapping of keys to values or None. Raises FeKeyError, FeTypeError, FeValueError.
    """
    known = FAMILIES.get(family)
    if known is None or family == TILE_FAMILY:
        names = [name for name in FAMILIES if name != TILE_FAMILY]
        near = nearest(family, names)
        help = f"did you mean '{near}'?" if near else f"families: {', '.join(names)}"
        message = f"options family '{family}' does not exist"
        raise FeKeyError([Diagnostic(FeKeyError, "F00006", message, help=help)])
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        _refuse_type(f"{family} must be a dict of options", "dict", values)
    checked: dict[str, Frozen] = {}
    for key, value in values.items():
        option = find_option(key, known, f"{family}.")
        if value is not None:
            checked[option.full_name] = check_value(option, value)
    return checked


def check_value(option: Option, value: object) -> Frozen:
    """``value`` as it is kept. FeTypeError or FeValueError when it is not allowed."""
    return _CHECKS[option.kind](option, value)


def warn_not_yet(option: Option, value: Frozen) -> None:
    """Say once in a process that an option that was set does nothing yet."""
    if option.state == "not_yet" and value != option.default and option.full_name not in _warned:
        _warned.add(option.full_name)
        message = f"option {option.shown_name} has no effect yet: {option.why}"
        from pypto._warn import warn

        warn(message, PyptoWarning)


def thaw(option: Option, value: Frozen) -> Any:
    """A kept value as users see it: lists and dicts are fresh copies."""
    if option.kind in ("strings", "floats", "vec_tile", "sizes") and isinstance(value, tuple):
        return list(value)
    if option.kind == "counts" and isinstance(value, tuple):
        return dict(value)  # type: ignore[arg-type]
    return value


# --- one check for each kind ---


def _bool(option: Option, value: object) -> Frozen:
    if not isinstance(value, bool):
        _wrong_type(option, value)
    return value


def _int(option: Option, value: object) -> Frozen:
    if not _is_int(value):
        _wrong_type(option, value)
    _in_range(option, value)
    if option.name == "sg_set_ooo_scope" and value == 0:
        _out_of_range(option, value, "-1 or 1..100000")
    return value


def _str(option: Option, value: object) -> Frozen:
    if not isinstance(value, str):
        _wrong_type(option, value)
    if option.choices and value not in option.choices:
        near = nearest(value, [choice for choice in option.choices if choice])
        _out_of_range(option, value, f"one of {option.range_text}", near)
    if option.name == "soc_version":
        name = target.canonical_name(value)  # refuses an unknown chip
        return "" if name == target.DEFAULT else name  # one chip, one value
    return value


def _enum(option: Option, value: object) -> Frozen:
    assert option.enum is not None
    if not isinstance(value, option.enum) and not _is_int(value):
        _wrong_type(option, value)
    if value not in {int(member) for member in option.enum}:
        _out_of_range(option, value, option.range_text)
    return int(value)


def _strings(option: Option, value: object) -> Frozen:
    return tuple(_element(option, i, v, str, "str") for i, v in _items(option, value))


def _floats(option: Option, value: object) -> Frozen:
    found = tuple(
        float(_element(option, i, v, (int, float), "float")) for i, v in _items(option, value)
    )
    if option.length is not None and len(found) != option.length:
        _out_of_range(option, value, f"a list of {option.length} values")
    for item in found:
        if not 0 <= item < float("inf"):
            _out_of_range(option, value, "finite values of 0 or more")
    return found


def _counts(option: Option, value: object) -> Frozen:
    if not isinstance(value, dict):
        _wrong_type(option, value)
    for key in value:
        if not isinstance(key, str) and not _is_int(key):
            _refuse_type(f"option {option.shown_name}: a key is no label", "str or int", key)
    if len({isinstance(key, str) for key in value}) > 1:
        _out_of_range(option, value, "keys that are all labels or all ints")
    return tuple((key, _count(option, key, value[key])) for key in sorted(value))


def _count(option: Option, key: str | int, value: object) -> Frozen:
    sided = option.name == "cube_l1_reuse_setting" and isinstance(value, tuple)
    if sided and isinstance(value, tuple):
        if len(value) != 2 or value[1] not in ("auto", "left", "right"):
            _out_of_range(option, value, "(count, side), side one of auto, left, right")
        return _count(option, key, value[0]), str(value[1])
    if not _is_int(value):
        _refuse_type(f"option {option.shown_name}: the count of {key!r} is no int", "int", value)
    if value < 1 or (option.high is not None and value > option.high):
        _out_of_range(option, value, f"1..{option.high}" if option.high else "1 or more")
    return value


def _subgraph(option: Option, value: object) -> Frozen:
    parts = value if isinstance(value, (tuple, list)) else (value, False, False)
    if len(parts) != 3:
        _wrong_type(option, value)
    scope, parallel, joining = parts
    if not _is_int(scope) or not isinstance(parallel, bool) or not isinstance(joining, bool):
        _wrong_type(option, value)
    if not -1 <= scope <= 2147483647 or (scope == -1 and (parallel or joining)):
        _out_of_range(option, value, option.range_text)
    return scope, parallel, joining


def _vec_tile(option: Option, value: object) -> Frozen:
    sizes = _positive(option, value)
    if not 1 <= len(sizes) <= MAX_TILE_RANK:
        _out_of_range(option, value, option.range_text)
    return sizes


def _sizes(option: Option, value: object) -> Frozen:
    sizes = _positive(option, value)
    if len(sizes) != 3:
        _out_of_range(option, value, option.range_text)
    return sizes


def _cube_tile(option: Option, value: object) -> Frozen:
    if not isinstance(value, (tuple, list)) or len(value) not in (3, 4):
        _wrong_type(option, value)
    m, k, n = (_positive(option, part) for part in value[:3])
    split = value[3] if len(value) == 4 else False
    if not isinstance(split, bool):
        _refuse_type(f"option {option.shown_name}: enable_split_k is no bool", "bool", split)
    if len(m) != 2 or len(n) != 2 or len(k) not in (2, 3):
        _out_of_range(option, value, option.range_text)
    return m, (k if len(k) == 3 else (*k, k[-1])), n, split


_L1_FIELDS = (
    "tileHin", "tileHout", "tileWin", "tileWout", "tileCinFmap", "tileCinWeight", "tileN",
    "tileBatch",
)  # fmt: skip
_L0_FIELDS = ("tileH", "tileW", "tileK", "tileN")


def _conv_tile(option: Option, value: object) -> Frozen:
    if not isinstance(value, (tuple, list)) or len(value) not in (1, 2):
        _wrong_type(option, value)
    second = value[1] if len(value) == 2 else None
    l0 = None if second is None else _fields(option, second, _L0_FIELDS)
    return _fields(option, value[0], _L1_FIELDS), l0


def _fields(option: Option, value: object, names: tuple[str, ...]) -> tuple[int, ...]:
    """The sizes of a tile given as an object with those attributes, or in their order."""
    if not isinstance(value, (tuple, list)):
        if any(not hasattr(value, name) for name in names):
            _refuse_type(f"option {option.shown_name}: no tile", ", ".join(names), value)
        value = [getattr(value, name) for name in names]
    sizes = _positive(option, value)
    if len(sizes) != len(names):
        _out_of_range(option, value, f"{len(names)} sizes: {', '.join(names)}")
    return sizes


def _positive(option: Option, value: object) -> tuple[int, ...]:
    found = []
    for index, item in _items(option, value):
        if not _is_int(item):
            _element_type(option, index, item, "int")
        if not 1 <= item <= MAX_TILE:
            _out_of_range(option, item, f"sizes of 1..{MAX_TILE} (element {index})")
        found.append(int(item))
    return tuple(found)


_CHECKS: dict[str, Callable[[Option, object], Frozen]] = {
    "bool": _bool,
    "int": _int,
    "str": _str,
    "enum": _enum,
    "strings": _strings,
    "floats": _floats,
    "counts": _counts,
    "subgraph": _subgraph,
    "vec_tile": _vec_tile,
    "cube_tile": _cube_tile,
    "conv_tile": _conv_tile,
    "sizes": _sizes,
}


# --- helpers ---


def _is_int(value: object) -> TypeGuard[int]:
    """An int that is no bool and no enumerator: True is not 1 to an option."""
    return isinstance(value, int) and not isinstance(value, (bool, enum.Enum))


def _in_range(option: Option, value: Any) -> None:
    too_low = option.low is not None and value < option.low
    if too_low or (option.high is not None and value > option.high):
        _out_of_range(option, value, option.range_text)


def _items(option: Option, value: object) -> Iterable[tuple[int, Any]]:
    if not isinstance(value, (list, tuple)):
        _wrong_type(option, value)
    return enumerate(value)


def _element(
    option: Option, index: int, value: Any, cls: type | tuple[type, ...], expected: str
) -> Any:
    if not isinstance(value, cls) or isinstance(value, bool):
        _element_type(option, index, value, expected)
    return value


def _element_type(option: Option, index: int, value: object, expected: str) -> NoReturn:
    _refuse_type(f"option {option.shown_name}: element {index} has the wrong type", expected, value)


def _wrong_type(option: Option, value: object) -> NoReturn:
    _refuse_type(f"option {option.shown_name} has the wrong type", option.type_text, value)


def _refuse_type(message: str, expected: str, value: object) -> NoReturn:
    got = f"{value!r} ({type(value).__name__})"
    raise FeTypeError([Diagnostic(FeTypeError, "F00001", message, None, expected, got)])


def _out_of_range(
    option: Option, value: object, expected: str, near: str | None = None
) -> NoReturn:
    message = f"the value of option {option.shown_name} is not within the range"
    help = f"did you mean '{near}'?" if near else None
    raise FeValueError(
        [Diagnostic(FeValueError, "F00002", message, None, expected, repr(value), help)]
    )
