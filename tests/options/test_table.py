"""Every option, one at a time: defaults, other allowed values, wrong types, ranges, names."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import pypto
from pypto import _options
from pypto._options.api import SETTERS
from pypto._options.check import check_value, thaw
from pypto._options.spec import Option
from pypto._options.table import FAMILIES, GLOBALS, OPTIONS, TILE_FAMILY
from pypto.error import FeKeyError, FeTypeError, FeValueError, PyptoWarning

EVERY = [*OPTIONS.values(), *GLOBALS.values()]
DICT_FAMILIES = [family for family in FAMILIES if family != TILE_FAMILY]

# An allowed value that is not the default, and one out of range (None: there is none).
_OTHER: dict[str, tuple[Any, Any]] = {
    "run_mode": (pypto.RunMode.SIM, 2),
    "soc_version": ("Ascend910B3", "ascend920b"),
    "precision": ("fused", "fussed"),
    "compile_stage": (pypto.CompStage.TILE_GRAPH, 6),
    "vec_nbuffer_setting": ({"DEFAULT": 2}, {"DEFAULT": 0}),
    "cube_l1_reuse_setting": ({"func1_0": (4, "left")}, {"DEFAULT": 1000000}),
    "cube_nbuffer_setting": ({3: 4}, {3: 4, "DEFAULT": 1}),
    "sg_set_scope": ((2, True, False), (-1, True, False)),
    "sg_set_ooo_scope": (7, 0),
    "pass_verify_error_tol": ([1e-2, 1e-3], [1e-3]),
    "vec_tile_shapes": ([1, 4, 1, 64], [1, 2, 3, 4, 5, 6]),
    "cube_tile_shapes": (([16, 64], [32, 64], [16, 128], True), ([16], [32, 64], [16, 128])),
    "conv_tile_shapes": (([1] * 8, [16] * 4), ([1] * 7, None)),
    "matrix_size": ([4, 5, 6], [4, 5]),
}


def _other(option: Option) -> tuple[Any, Any]:
    if option.name in _OTHER:
        return _OTHER[option.name]
    if option.kind == "bool":
        return not option.default, None
    if option.kind == "int":
        assert isinstance(option.default, int)
        step = -1 if option.default == option.high else 1
        bad = option.high + 1 if option.high is not None else None
        return option.default + step, -1 if option.low == 0 else bad
    if option.kind == "str":
        return (option.choices[-1], "?") if option.choices else ("other", None)
    assert option.kind == "strings", option
    return ["a", "b"], None


def _wrong_types(option: Option) -> list[object]:
    common: list[object] = [object(), 1.5]
    if option.kind == "bool":
        return [*common, 1, 0, "True"]
    if option.kind in ("int", "enum"):
        return [*common, True, "1", [1], pypto.DT_INT8]
    if option.kind == "str":
        return [*common, 1, b"x"]
    if option.kind == "counts":
        return [*common, [1], {"DEFAULT": "2"}, {"DEFAULT": True}, {1.5: 1}]
    if option.kind == "subgraph":
        return [*common, "1", (1, 0, 0), (1, True)]
    if option.kind == "strings":
        return [*common, "abc", ["a", 1]]
    return [*common, "abc", ["a", "b"], [True, True]]


def test_the_table_is_complete() -> None:
    counts = {family: len(options) for family, options in FAMILIES.items()}
    assert counts == {
        "runtime_options": 9,
        "codegen_options": 6,
        "host_options": 5,
        "pass_options": 17,
        "verify_options": 5,
        "debug_options": 3,
        "operation_options": 1,
        "tile_options": 4,
    }
    assert len(GLOBALS) == 15


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_a_row_is_consistent(option: Option) -> None:
    assert (option.why == "") == (option.state == "works")
    assert option.doc and option.type_text
    assert option.state == "works" or not option.affects_output
    hash(option.default)


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_the_default_is_accepted_and_changes_nothing(option: Option) -> None:
    if option.default is None:  # pypto decides: there is no value to give
        return
    given = thaw(option, option.default)
    assert check_value(option, given) == option.default
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if option.scope == "global":
            pypto.set_global_config(option.name, given)
            assert pypto.get_global_config(option.name) == given
            return
        values = _options.validate(option.family, {option.name: given})
        assert values.as_key() == ""
        assert values.without_meaning() == ()


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_another_value_is_kept_and_has_the_effect_its_state_says(option: Option) -> None:
    value, _ = _other(option)
    frozen = check_value(option, value)
    assert frozen != option.default
    hash(frozen)
    values = _options.Options.of({option.full_name: frozen})
    if option.scope == "scoped":
        assert ("=" in values.as_key()) == option.affects_output
        names = [ignored.name for ignored in values.without_meaning()]
        assert names == [option.full_name] * (option.state == "no_meaning")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            if option.scope == "global":
                pypto.set_global_config(option.name, value)
            elif option.family == TILE_FAMILY:
                pypto.set_options(**{option.name: value})
            else:
                pypto.set_options(**{option.family: {option.name: value}})
    messages = [str(w.message) for w in caught]
    expected = f"option {option.shown_name} has no effect yet: {option.why}"
    assert messages == [expected] * (option.state == "not_yet")
    assert all(w.category is PyptoWarning and w.filename == __file__ for w in caught)


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_a_wrong_type_is_refused_by_name(option: Option) -> None:
    for value in _wrong_types(option):
        with pytest.raises(FeTypeError) as caught:
            check_value(option, value)
        assert str(caught.value).startswith(f"ErrCode: F00001  option {option.shown_name}")
        assert "\n  expected  " in str(caught.value)
        assert "\n  got       " in str(caught.value)


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_a_value_out_of_range_is_refused(option: Option) -> None:
    _, bad = _other(option)
    if bad is None:  # every value of the type is allowed
        return
    with pytest.raises(FeValueError) as caught:
        check_value(option, bad)
    assert caught.value.code == "F00002"


@pytest.mark.parametrize("option", EVERY, ids=lambda o: o.full_name)
def test_a_misspelt_name_is_refused_with_the_nearest_one(option: Option) -> None:
    wrong = option.name + "x"
    with pytest.raises(FeKeyError) as caught:
        if option.scope == "global":
            pypto.set_global_config(wrong, 1)
        elif option.family == TILE_FAMILY:
            pypto.set_options(**{wrong: 1})
        else:
            _options.validate(option.family, {wrong: 1})
    assert f"did you mean '{option.name}'?" in str(caught.value)


def test_the_function_with_the_wrong_argument_is_named() -> None:
    for name, call in (("set_options", pypto.set_options), ("options", pypto.options)):
        with pytest.raises(FeKeyError) as caught:
            call(runtime_option={})
        assert str(caught.value) == (
            f"ErrCode: F00006  pypto.{name} has no argument 'runtime_option'\n"
            "  help: did you mean 'runtime_options'?"
        )


@pytest.mark.parametrize("family", DICT_FAMILIES)
def test_setter_and_getter_of_a_family(family: str) -> None:
    setter = next(f for f, name in SETTERS.items() if name == family)
    getter = getattr(_options, f"get_{family}")
    defaults = {key: thaw(o, o.default) for key, o in FAMILIES[family].items()}
    assert getter() == defaults
    arguments = {o.name for o in FAMILIES[family].values() if o.argument}
    assert arguments == set(inspect.signature(setter).parameters) - {"unknown"}
    setter(**dict.fromkeys(arguments))
    assert getter() == defaults, "None leaves an option alone"
    with pytest.raises(TypeError):
        setter(1)
    key = next(iter(sorted(arguments)))
    value = _other(FAMILIES[family][key])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PyptoWarning)
        setter(**{key: value})
    assert getter()[key] == value
    with pytest.raises(FeKeyError, match=f"key: {family}.nothing_like_it does not exist."):
        setter(nothing_like_it=None)


def test_getters_give_copies() -> None:
    pypto.get_pass_options()["cube_nbuffer_setting"]["DEFAULT"] = 9
    assert pypto.get_pass_options()["cube_nbuffer_setting"] == {"DEFAULT": 1}


def test_whole_messages() -> None:
    with pytest.raises(FeKeyError) as key:
        pypto.set_codegen_options(suport_dynamic_aligned=True)
    assert str(key.value) == (
        "ErrCode: F00006  key: codegen_options.suport_dynamic_aligned does not exist.\n"
        "  help: did you mean 'support_dynamic_aligned'?"
    )
    with pytest.raises(FeTypeError) as wrong:
        pypto.set_codegen_options(support_dynamic_aligned=1)  # type: ignore[arg-type]
    assert str(wrong.value) == (
        "ErrCode: F00001  option codegen_options.support_dynamic_aligned has the wrong type\n"
        "  expected  bool\n"
        "  got       1 (int)"
    )
    with pytest.raises(FeValueError) as range_:
        pypto.set_runtime_options(device_sched_mode=4)
    assert str(range_.value) == (
        "ErrCode: F00002  the value of option runtime_options.device_sched_mode is not within the"
        " range\n  expected  0..3\n  got       4"
    )
    with pytest.raises(FeTypeError) as element:
        pypto.set_verify_options(pass_verify_pass_filter=["a", 1])  # type: ignore[list-item]
    assert str(element.value) == (
        "ErrCode: F00001  option verify_options.pass_verify_pass_filter: element 1 has the wrong"
        " type\n  expected  str\n  got       1 (int)"
    )
    with pytest.raises(FeValueError) as chip:
        pypto.set_codegen_options(soc_version="ascend910_9329")
    assert "help: did you mean 'ascend910_9392'?" in str(chip.value)
    with pytest.raises(FeKeyError, match="options family 'codegen_option' does not exist"):
        _options.validate_families({"codegen_option": {}})
    with pytest.raises(FeTypeError, match="codegen_options must be a dict of options"):
        _options.validate("codegen_options", ["soc_version"])  # type: ignore[arg-type]


def test_an_error_leaves_everything_as_it_was() -> None:
    before = _options.epoch()
    with pytest.raises(FeValueError):
        pypto.set_host_options(compile_stage=3, compile_timeout=-1)
    assert pypto.get_host_options()["compile_stage"] == 0
    assert _options.epoch() == before


def test_enum_options_take_members_and_their_numbers_only() -> None:
    pypto.set_runtime_options(run_mode=1)
    assert _options.current().run_mode is pypto.RunMode.SIM
    pypto.set_host_options(compile_stage=pypto.CompStage.CODEGEN_BINARY)
    assert _options.current().compile_stage is pypto.CompStage.CODEGEN_BINARY
    with pytest.raises(FeTypeError):
        pypto.set_runtime_options(run_mode=pypto.CompStage.TENSOR_GRAPH)


def test_one_chip_has_one_value() -> None:
    def key(version: str) -> str:
        return _options.validate("codegen_options", {"soc_version": version}).as_key()

    assert key("") == key("ascend910b") == key("Ascend910B") == ""
    assert key("Ascend910B3") == key("ascend910b3") == "codegen_options.soc_version='ascend910b3'"
