"""Errors of the front end: exact place, what is wrong, remedy; all of a kernel together."""

from __future__ import annotations

import pytest

from pypto.error import FeNameError, FeTypeError, ParserError, TileError
from pypto.ir.dtype import DataType
from pypto.ir.signature import CallSignature, TensorSignature
from tests.elaborate.support import Workshop, body

# --- rebinding an output ---


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("o = x + 1", 5),
        ("o = o + x", 5),
        ("o, t = x, x", 5),
        ("t, (a, o) = x, (x, x)", 12),
        ("for o in [x]: pass", 9),
        ("o: T = x", 5),
        ("t = o = x", 9),
    ],
)
def test_rebinding_an_output_is_refused(shop: Workshop, line: str, column: int) -> None:
    error = shop.error(body(line))
    (diagnostic,) = error.diagnostics
    assert isinstance(error, ParserError) and diagnostic.code == "F00007"
    assert diagnostic.message == (
        "assigning to 'o' does not write the tensor: it only rebinds the name"
    )
    another = "give the loop variable another name: 'o' is the tensor parameter"
    assert diagnostic.help == (another if "for" in line else "write into it: o[:] = ...")
    assert diagnostic.span is not None and diagnostic.span.column + 1 == column


def test_rebinding_an_output_that_is_written_as_well(shop: Workshop) -> None:
    error = shop.error(body("o[:] = x", "o = o + 1", "t = o"))
    assert len(error.diagnostics) == 1


def test_rebinding_an_input_is_plain_python(shop: Workshop) -> None:
    text = shop.ir(body("x = x * 2", "x = x + 1", "o[:] = x"))
    assert "store o[:], %2" in text


def test_walrus_on_an_output(shop: Workshop) -> None:
    error = shop.error(body("(o := x)"))
    assert [d.message for d in error.diagnostics] == [
        "assigning to 'o' does not write the tensor: it only rebinds the name"
    ]


def test_augmented_assignment_writes_into_a_tensor(shop: Workshop) -> None:
    assert shop.ir(body("o += x")).splitlines()[-1].startswith("  store o[:], %2")
    assert shop.ir(body("o[:] += x")).splitlines()[-1].startswith("  store o[:], %2")


# --- augmented assignment to a result that has another name ---


def test_augmented_assignment_to_a_shared_result(shop: Workshop) -> None:
    """torch would change 'y' as well, a rebinding would not: a reader can rely on neither."""
    assert shop.message(body("y = x + 1", "z = y", "z += 1", "o[:] = y * z")) == (
        "ErrCode: F00007  'z +=' gives 'z' a new tensor, and the old one is used later by another "
        "name; in torch that name would have the new values\n"
        "  --> k.py:6:5\n"
        "  5 |     z = y\n"
        "  6 |     z += 1\n"
        "    |     ^^^^^^\n"
        "  the old tensor is used at k.py:7:12\n"
        "  help: write z = z + ..., which leaves the old tensor as it is"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["y = z = x + 1", "y *= 2", "o[:] = z"],
        ["y = x + 1", "t = [y]", "y -= 2", "o[:] = t[0]"],
        ["y = x + 1", "t = {'a': y}", "t['a'] /= 2", "o[:] = pypto.exp(y)"],
        ["acc = x * 0", "for i in range(3):", "    old = acc", "    acc += x", "o[:] = acc - old"],
    ],
)
def test_other_forms_of_a_shared_result(shop: Workshop, lines: list[str]) -> None:
    first = shop.error(body(*lines)).diagnostics[0]
    assert "new tensor" in first.message or "result of an operation" in first.message


def test_a_helper_that_changes_its_callers_result(shop: Workshop) -> None:
    text = "def add(t):\n    t += 1\n    return t\n" + body(
        "y = x * 2", "z = add(y)", "o[:] = y * z"
    )
    assert shop.message(text) == (
        "ErrCode: F00007  't +=' gives 't' a new tensor, and the old one is used later by another "
        "name; in torch that name would have the new values\n"
        "  --> k.py:4:5\n"
        "  3 | def add(t):\n"
        "  4 |     t += 1\n"
        "    |     ^^^^^^\n"
        "  in 'add', called at k.py:8:9\n"
        "  the old tensor is used at k.py:9:12\n"
        "  help: write t = t + ..., which leaves the old tensor as it is"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["y = x + 1", "y += 1", "o[:] = y"],
        ["y = x + 1", "z = y", "z += y", "z *= z", "o[:] = z"],  # 'y' is not used any more
        ["y = x + 1", "z = y", "z += 1", "y = z", "o[:] = y * z"],
        ["y = x + 1", "z = y", "z += 1", "o[:] = z.reshape if False else z", "n = y.shape[0]"],
        ["acc = x * 0", "for i in range(3):", "    acc += x", "o[:] = acc"],
        ["y = x", "y += 1", "o[:] = x * y"],  # a parameter: written, as in torch
    ],
)
def test_results_that_may_be_rebound(shop: Workshop, lines: list[str]) -> None:
    assert "store o[:]" in shop.ir(body(*lines))


# --- names ---


def test_unknown_names_suggest_the_nearest(shop: Workshop) -> None:
    message = shop.message(body("o[:] = pypt.exp(x)", "y = pypto.expp(x)"))
    assert message == (
        "ErrCode: F00004  name 'pypt' is not defined\n"
        "  --> k.py:4:12\n"
        "  3 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "  4 |     o[:] = pypt.exp(x)\n"
        "    |            ^^^^\n"
        "  help: did you mean 'pypto'?\n"
        "\n"
        "ErrCode: F00004  'pypto' has no 'expp'\n"
        "  --> k.py:5:9\n"
        "  4 |     o[:] = pypt.exp(x)\n"
        "  5 |     y = pypto.expp(x)\n"
        "    |         ^^^^^^^^^^\n"
        "  help: did you mean 'pypto.exp'?"
    )


def test_a_local_read_before_it_is_set(shop: Workshop) -> None:
    error = shop.error(body("if False:", "    t = x", "o[:] = t"))
    assert isinstance(error, FeNameError)
    assert error.diagnostics[0].message == (
        "'t' has no value here: no statement that runs before sets it"
    )


def test_one_error_does_not_breed_others(shop: Workshop) -> None:
    error = shop.error(
        body("a = nobody", "b = a + 1", "c, d = b, x", "c += 1", "o[:] = c", "t = x.missing")
    )
    assert [d.message for d in error.diagnostics] == [
        "name 'nobody' is not defined",
        "a tensor has no attribute 'missing'",
    ]


def test_errors_come_in_source_order(shop: Workshop) -> None:
    error = shop.error(body("a = one", "while True: pass", "b = two", "c = [i for i in x]"))
    lines = [d.span.line for d in error.diagnostics if d.span]
    assert lines == [2, 3, 4, 5]
    assert type(error) is FeNameError


# --- tiles ---


@pytest.mark.parametrize(
    ("arguments", "cls", "message"),
    [
        ("0", TileError, "the size of the vector tile in axis 0 is not positive"),
        ("8, -1", TileError, "the size of the vector tile in axis 1 is not positive"),
        ("1.5", FeTypeError, "the size of the vector tile in axis 0 is no int"),
        ("True", FeTypeError, "the size of the vector tile in axis 0 is no int"),
        ("'8'", FeTypeError, "the size of the vector tile in axis 0 is no int"),
        ("", TileError, "a vector tile has 1 to 5 sizes, got 0"),
        ("1, 2, 3, 4, 5, 6", TileError, "a vector tile has 1 to 5 sizes, got 6"),
        ("[8]", FeTypeError, "the size of the vector tile in axis 0 is no int"),
        ("x", FeTypeError, "a tile size needs a value that is known at compile time"),
        ("shape=8", FeTypeError, "set_vec_tile_shapes has no parameter 'shape'"),
    ],
)
def test_tiles_that_are_refused(
    shop: Workshop, arguments: str, cls: type[Exception], message: str
) -> None:
    error = shop.error(body(f"pypto.set_vec_tile_shapes({arguments})", "o[:] = x"))
    assert isinstance(error, cls)
    assert [d.message for d in error.diagnostics] == [message]


def test_tile_from_a_tuple(shop: Workshop) -> None:
    made = shop.run(body("s = (4, 8)", "pypto.set_vec_tile_shapes(*s)", "o[:] = x + 1"))
    assert made.kernel.body[1].tile == (4, 8)


def test_unknown_option_whole_message(shop: Workshop) -> None:
    message = shop.message(body("pypto.set_codegen_options(support_dynamik=True)", "o[:] = x"))
    assert message == (
        "ErrCode: F00006  key: codegen_options.support_dynamik does not exist.\n"
        "  --> k.py:4:5\n"
        "  3 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "  4 |     pypto.set_codegen_options(support_dynamik=True)\n"
        "    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: did you mean 'support_dynamic_aligned'?"
    )


# --- annotations ---

TENSOR = TensorSignature(DataType.DT_FP32, (8,), (None,))
TWO = CallSignature(("x", "o"), (TENSOR, TENSOR), (0, 1))


@pytest.mark.parametrize(
    "annotation",
    [
        "T([8], FP32)", "T[[8], FP32]", "'T([8], FP32)'", "Mat", "T([N], FP32)", "T", "T()",
        "pypto.tensor()", "'Mat'", "pypto.Tensor", "T([8])",
    ],
)  # fmt: skip
def test_annotations_that_say_a_tensor(shop: Workshop, annotation: str) -> None:
    names = shop.module(f"""
        N = 8
        Mat = T([8], FP32)
        def k(x: {annotation}, o: {annotation}): o[:] = x
        """)
    assert len(shop.elaborate(names["k"], TWO).kernel.body) == 2


def test_future_annotations(shop: Workshop) -> None:
    header = "from __future__ import annotations\nimport pypto\nfrom pypto import Tensor as T\n"
    names = shop.module("def k(x: T([8], pypto.DT_FP32), o: T): o[:] = x\n", header)
    assert len(shop.elaborate(names["k"], TWO).kernel.body) == 2


@pytest.mark.parametrize(
    ("annotation", "message", "got"),
    [
        ("torch.Tensor", "the annotation of 'x' says no tensor", "torch.Tensor"),
        ("int", "the annotation of 'x' says no tensor", "builtins.int"),
        (
            "typing.Optional[T]",
            "the annotation of 'x' must be the tensor annotation itself",
            "typing.Optional[pypto.language.annotation.Tensor]",
        ),
        (
            "typing.Annotated[T, 1]",
            "the annotation of 'x' must be the tensor annotation itself",
            "typing.Annotated[pypto.language.annotation.Tensor, 1]",
        ),
        (
            "'Nobody'",
            "the annotation of 'x' cannot be evaluated: NameError: name 'Nobody' is not defined",
            None,
        ),
    ],
)
def test_annotations_that_do_not(
    shop: Workshop, annotation: str, message: str, got: str | None
) -> None:
    names = shop.module(f"""
        import typing, torch
        def k(x: {annotation}, o: T): o[:] = x
        """)
    with pytest.raises(FeTypeError) as caught:
        shop.elaborate(names["k"], TWO)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.message, diagnostic.got) == (message, got)
    assert diagnostic.span is not None and diagnostic.span.text() == f"x: {annotation}"


def test_a_return_annotation(shop: Workshop) -> None:
    error = shop.error("def k(x: T([8], FP32), o: T([8], FP32)) -> T: o[:] = x\n")
    assert [d.message for d in error.diagnostics] == ["a kernel returns nothing"]
    assert "store" in shop.ir("def k(x: T([8], FP32), o: T([8], FP32)) -> None: o[:] = x\n")


# --- other constructs ---


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["assert 1 == 2, f'm{1 + 1}'"], "the assertion '1 == 2' does not hold: m2"),
        (["raise ValueError('bad', 3)"], "ValueError: bad, 3"),
        (["raise KeyError"], "KeyError"),
        (["a, b = 1, 2, 3"], "this value has 3 items, and 2 names stand on the left"),
        (["a, b = x"], "this value cannot be unpacked into 2 names"),
        (
            ["for r in x: pass"],
            "a kernel can only loop over range(...), lists, tuples and dicts known at compile time",
        ),
        (
            ["if x: pass"],
            "a tensor has no truth value: its elements are known only when the kernel runs",
        ),
        (["for i in range(10 ** 7): pass"], "range(0, 10000000) is too long for compile time"),
        (["a = 10 ** 10 ** 10"], "the result of ** is too large for compile time"),
        (["a = 'x' * 10 ** 9"], "the result of * is too large for compile time"),
        (["a = [1][2]"], "the list has 1 item: there is none at 2"),
        (["a = 1 + 'a'"], "TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
        (
            ["a = 1", "if a is 1: pass"],
            "'is' compares identities, which numbers and strings do not reliably have",
        ),
        (["a = setattr(x, 'shape', 1)"], "a kernel cannot call the built-in setattr"),
        (["a = type(x)"], "a kernel cannot call type"),
        (["x.shape[0] = 3"], "the shape of a tensor cannot be changed"),
        (["x.shape.append(3)"], "the shape of a tensor cannot be changed"),
        (["pypto.options(vec_tile_shapes=[3])"], "a kernel cannot call pypto.options"),
        (["pypto.set_options(8)"], "pypto.set_options takes keyword arguments only"),
        (
            ["pypto.set_options(vec_tile_shapes=[0])"],
            "the size of the vector tile in axis 0 is not positive",
        ),
        (["a = max(x, 1)"], "max does not take a tensor"),
        (["a = x @ x"], "the operator @ on tensors is not available yet"),
        (["a = x + 10 ** 30"], "add: 'other' does not fit into 64 bits"),
        (["a = pypto.add(x)"], "add misses the argument 'other'"),
        (["a = pypto.sum(x, 1.5)"], "sum: 'dim' must be an int or a list of ints"),
        (["a = pypto.cast(x, 'fp16')"], "cast: 'dtype' must be a pypto dtype"),
        (["a = pypto.cast(x, pypto.DT_FP16, 1)"], "cast: 'mode' must be a pypto.CastMode"),
        (["a = pypto.sum(x, -1, 1)"], "sum: 'keepdim' must be True or False"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_refusals(shop: Workshop, lines: list[str], message: str) -> None:
    error = shop.error(body("o[:] = x", *lines))
    assert [d.message for d in error.diagnostics] == [message]
    assert error.diagnostics[0].span is not None


def test_a_control_flow_that_python_decides(shop: Workshop) -> None:
    text = shop.ir(body(
        "total = 0",
        "for i, (a, b) in enumerate(zip([1, 2, 3, 4], (5, 6, 7, 8))):",
        "    if i == 1: continue",
        "    if i == 3: break",
        "    total += a * b",
        "names = {'k': [x, total], **{'j': 2}}",
        "first, last = names['k'][0], names['k'][-1]",
        "o[:] = first * (last if 'j' in names and 0 < last <= 26 else 0)",
        "if last == 26: return",
        "o[:] = x",
    ))  # fmt: skip
    assert [line.split("  @")[0].strip() for line in text.splitlines()[1:]] == [
        "%0 = load x[:]",
        "%1 = mul %0, 26 : fp32[8]",
        "store o[:], %1",
    ]


# --- characters of other widths ---


@pytest.mark.parametrize(
    ("line", "start", "carets"),
    [
        ("甲 = '加'; o[:] = missing", 22, 7),  # 2 cells each
        ("t = 'ｆｕｌｌ'; o[:] = missing", 27, 7),
        ("t = '🎉'; o[:] = missing", 21, 7),
        ("t = 'e\u0301e'; o[:] = missing", 21, 7),  # a combining accent
        ("t = '🎉\u200d🎉'; o[:] = missing", 23, 7),
        ("t = 'é'; o[:] = missing", 20, 7),
        ("t = '\tä\t'; o[:] = missing", 26, 7),
        ("t\t= '加'; o[:] = missing", 23, 7),
        ("o[:] = pypto.加(x)", 11, 8),
    ],
)
def test_carets_stand_below_what_they_mean(
    shop: Workshop, line: str, start: int, carets: int
) -> None:
    lines = shop.message(body(line)).splitlines()
    shown = next(n for n, text in enumerate(lines) if text.startswith("  4 | "))
    assert lines[shown] == "  4 | " + f"    {line}".expandtabs(4)
    assert lines[shown + 1] == f"    | {' ' * start}{'^' * carets}"


def test_a_wide_message(shop: Workshop) -> None:
    assert shop.message("def 加(甲: T([8], FP32), o: T([8], FP32)):\n\to[:] = 甲 + 乙\n", "加") == (
        "ErrCode: F00004  name '乙' is not defined\n"
        "  --> k.py:4:13\n"
        "  3 | def 加(甲: T([8], FP32), o: T([8], FP32)):\n"
        "  4 |     o[:] = 甲 + 乙\n"
        "    |                 ^^\n"
        "  help: define it, or pass it as a parameter"
    )


def test_control_characters_are_shown_as_spaces(shop: Workshop) -> None:
    lines = shop.message(body("t = '\x1b[31m\x08'; o[:] = missing")).splitlines()
    assert lines[3:5] == [
        "  4 |     t = ' [31m '; o[:] = missing",
        "    |                          ^^^^^^^",
    ]


# --- size ---


def test_three_thousand_statements(shop: Workshop) -> None:
    made = shop.run(body(*(["o[:] = x + 1"] * 3000)))
    assert len(made.kernel.body) == 6001


def test_no_more_than_a_hundred_errors_are_shown(shop: Workshop) -> None:
    error = shop.error(body(*(f"o[:] = x + a{i}" for i in range(500))))
    assert len(error.diagnostics) == 100


@pytest.mark.parametrize(
    "line",
    [
        "o[:] = " + "(" * 190 + "x" + ")" * 190,
        "o[:] = " + " + ".join(["x"] * 300),
        "a = " + " ".join(["'s'"] * 1000) + "; assert len(a) == 1000; o[:] = x",
        "o[:] = " + "-" * 80 + "x",
        "o[:] = x * (" + " + ".join(["1"] * 300) + ")",
    ],
)
def test_deep_expressions(shop: Workshop, line: str) -> None:
    import sys

    limit = sys.getrecursionlimit()
    assert "store o[:]" in shop.ir(body(line))
    assert sys.getrecursionlimit() == limit
