"""Tensor IR of whole kernels, as printed."""

from __future__ import annotations

import pytest

from pypto.error import (
    DtypeError,
    FeTypeError,
    FeValueError,
    ParserError,
    PyptoWarning,
    ShapeError,
)
from pypto.ir.dtype import DataType
from pypto.ir.signature import CallSignature, TensorSignature
from tests.elaborate.support import Workshop, body

DOCUMENT = """
    def add_core(input0: pypto.Tensor, input1: pypto.Tensor, output: pypto.Tensor, val: int,
                 add1_flag: bool = False):
        pypto.set_vec_tile_shapes(1, 4, 1, 64)
        if add1_flag:
            t3 = input0 + input1
            output[:] = t3 + val
        else:
            output[:] = input0 + input1

    def add_kernel_true(
        input0: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        input1: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        output: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        val: int
    ):
        add_core(input0, input1, output, val, True)

    def add_kernel_false(
        input0: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        input1: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        output: pypto.Tensor([pypto.DYNAMIC, 4, 1, 64], pypto.DT_FP32),
        val: int
    ):
        add_core(input0, input1, output, val, False)

    def add_kernel(
        input0: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
        input1: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
        out: pypto.Tensor((1, 4, 1, 64), pypto.DT_FP32),
    ):
         # Tiling setting
         pypto.set_vec_tile_shapes(1, 4, 1, 64)
         out[:] = input0 + input1

    def add_one(input: pypto.Tensor, out: pypto.Tensor):
        # Tiling setting
        pypto.set_vec_tile_shapes(1, 4, 1, 64)
        out[:] = input + 1

    def advanced_function(input0, input1):
        # 实现自定义计算逻辑
        pass
    """


def tensors(names: str, *sizes: int | None, alias: tuple[int, ...] = ()) -> CallSignature:
    each = TensorSignature(DataType.DT_FP32, sizes, (None,) * len(sizes))
    split = tuple(names.split())
    return CallSignature(split, (each,) * len(split), alias or tuple(range(len(split))))


def test_helper_inlined_flag_folded_scalar_at_run_time(shop: Workshop) -> None:
    assert shop.ir(DOCUMENT, "add_kernel_true") == (
        "kernel add_kernel_true(input0: fp32[input0.shape[0],4,1,64] read, "
        "input1: fp32[input1.shape[0],4,1,64] read, "
        "output: fp32[output.shape[0],4,1,64] write, val: int)\n"
        "  require input0.shape[0] == input1.shape[0]\n"
        "  require input1.shape[0] == output.shape[0]\n"
        "  %0 = load input0[:]                                              @add_core+5\n"
        "  %1 = load input1[:]                                              @add_core+5\n"
        "  %2 = add %0, %1 : fp32[input1.shape[0],4,1,64] tile (1,4,1,64)   @add_core+5\n"
        "  %3 = add %2, val : fp32[input1.shape[0],4,1,64] tile (1,4,1,64)  @add_core+6\n"
        "  store output[:], %3                                              @add_core+6\n"
    )


def test_the_other_branch(shop: Workshop) -> None:
    text = shop.ir(DOCUMENT, "add_kernel_false")
    assert text.count(" = add ") == 1 and "@add_core+8" in text and "val: int" in text


def test_static_shapes(shop: Workshop) -> None:
    assert shop.ir(DOCUMENT, "add_kernel") == (
        "kernel add_kernel(input0: fp32[1,4,1,64] read, input1: fp32[1,4,1,64] read, "
        "out: fp32[1,4,1,64] write)\n"
        "  %0 = load input0[:]                               @add_kernel+8\n"
        "  %1 = load input1[:]                               @add_kernel+8\n"
        "  %2 = add %0, %1 : fp32[1,4,1,64] tile (1,4,1,64)  @add_kernel+8\n"
        "  store out[:], %2                                  @add_kernel+8\n"
    )


def test_bare_annotations_take_the_calls_shape(shop: Workshop) -> None:
    names = shop.module(DOCUMENT)
    made = shop.elaborate(names["add_one"], tensors("input out", 1, 4, 1, 64))
    assert made.kernel.params[0].buffer is not None
    assert str(made.kernel.params[0].buffer.type) == "fp32[1,4,1,64]"
    assert [type(s).__name__ for s in made.kernel.body] == ["Load", "Compute", "Store"]


def test_a_kernel_that_writes_nothing(shop: Workshop) -> None:
    names = shop.module(DOCUMENT)
    with pytest.raises(ParserError) as caught:
        shop.elaborate(names["advanced_function"], tensors("input0 input1", 4))
    assert str(caught.value).replace(f"{shop.directory}/", "") == (
        "ErrCode: F00007  the kernel 'advanced_function' writes none of its parameters\n"
        "  --> k.py:43:1\n"
        "  43 | def advanced_function(input0, input1):\n"
        "     | ^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: write the result into a parameter: input1[:] = value"
    )


def test_named_axes_share_a_symbol(shop: Workshop) -> None:
    text = shop.ir("""
        N = pypto.frontend.dynamic("N")
        def k(x: T([N, 8], FP32), y: T([N, 8], FP32), o: T([N, 8], FP32)):
            o[:] = x + y
        """)
    assert text.splitlines()[0] == (
        "kernel k(x: fp32[N,8] read, y: fp32[N,8] read, o: fp32[N,8] write)"
    )
    # The symbol is the first tensor's size; every call checks that the others have it, too.
    required = [line.strip() for line in text.splitlines() if "require" in line]
    assert required == ["require N == y.shape[0]", "require N == o.shape[0]"]


def test_a_named_axis_is_a_size_in_the_body(shop: Workshop) -> None:
    text = shop.ir("""
        N = pypto.frontend.dynamic("N")
        M = pypto.frontend.dynamic("M")
        def k(x: T([N, 8], FP32), o: T([N, 8], FP32)):
            o[:] = x * (N + 1)
        """)
    assert "mul %0, N + 1" in text
    error = shop.error("""
        N = pypto.frontend.dynamic("N")
        M = pypto.frontend.dynamic("M")
        def k(x: T([N, 8], FP32), o: T([N, 8], FP32)):
            o[:] = x * M
        """)
    assert error.diagnostics[0].got == "SymbolicScalar('M') (SymbolicScalar)"


def test_a_write_through_an_alias_is_read_back(shop: Workshop) -> None:
    names = shop.module(body("o[:] = x + 1", "o[:] = x + 1"))
    made = shop.elaborate(names["k"], tensors("x o", 8, alias=(0, 0))).kernel
    assert [type(s).__name__ for s in made.body] == ["Load", "Compute", "Store"] * 2
    apart = shop.elaborate(names["k"], tensors("x o", 8)).kernel
    assert [type(s).__name__ for s in apart.body].count("Load") == 1


def test_writes_end_what_was_loaded(shop: Workshop) -> None:
    text = shop.ir(body("t = pypto.tensor([8], FP32)", "t[:] = x", "t += x", "o.move(t)"))
    assert [line.split("  @")[0].strip() for line in text.splitlines()[1:]] == [
        "local t: fp32[8]",
        "%0 = load x[:]",
        "store t[:], %0",
        "%1 = load t[:]",
        "%2 = add %1, %0 : fp32[8]",
        "store t[:], %2",
        "%3 = load t[:]",
        "store o[:], %3",
    ]


def test_values_are_named_after_the_python_names(shop: Workshop) -> None:
    made = shop.run(body("first = x + 1", "second: T = first * 2", "second += 1", "o[:] = second"))
    names = [s.result.name for s in made.kernel.body if hasattr(s, "result")]
    assert names == ["x", "first", "second", "second"]


def test_tile_in_force_and_its_place(shop: Workshop) -> None:
    made = shop.run(body("y = x + 1", "pypto.set_vec_tile_shapes(8)", "o[:] = y * 2"))
    first, second = (s for s in made.kernel.body if hasattr(s, "tile"))
    assert first.tile is None and second.tile == (8,)
    assert second.tile_span is not None and second.tile_span.line == 3


def test_default_tile_comes_from_the_options(shop: Workshop) -> None:
    import pypto
    from pypto import _options

    with pypto.options(vec_tile_shapes=[4]):
        options = _options.current()
    names = shop.module(body("o[:] = x + 1"))
    made = shop.elaborate(names["k"], options=options)
    assert made.kernel.body[1].tile == (4,)


def test_options_set_in_the_kernel(shop: Workshop) -> None:
    made = shop.run(body("pypto.set_codegen_options(support_dynamic_aligned=True)", "o[:] = x"))
    assert made.options.get("codegen_options.support_dynamic_aligned") is True


def test_an_option_without_effect_yet_warns_once(shop: Workshop) -> None:
    from pypto._options import check

    line = "pypto.set_verify_options(enable_pass_verify=True)"
    check._warned.discard("verify_options.enable_pass_verify")
    with pytest.warns(PyptoWarning, match="verify_options.enable_pass_verify has no effect yet"):
        shop.run(body(line, "o[:] = x"))
    shop.run(body(line, "o[:] = x"))


def test_all_options_at_once(shop: Workshop) -> None:
    line = "pypto.set_options(vec_tile_shapes=[4], codegen_options={'precision': 'torch'})"
    made = shop.run(body(line, "o[:] = x + 1"))
    assert made.options.get("codegen_options.precision") == "torch"
    assert made.kernel.body[1].tile == (4,)


def test_assertion_over_sizes_is_a_precondition(shop: Workshop) -> None:
    made = shop.run("""
        def k(x: T([pypto.DYNAMIC], FP32), o: T([8], FP32)):
            assert x.shape[0] == 8, f"x must have {o.shape[0]} elements"
            o[:] = x
        """)
    (condition, *rest) = made.kernel.preconditions
    assert str(condition.condition) == "x.shape[0] == 8" and not rest
    assert condition.message == "x must have 8 elements"


@pytest.mark.parametrize(
    ("line", "cls", "message"),
    [
        (
            "o[:] = pypto.cast(x, pypto.DT_FP16)",
            DtypeError,
            "'o' and the value stored into it have different dtypes",
        ),
        ("o[:] = w", ShapeError, "the value does not fit into 'o'"),
        ("o[:] = 'a'", FeTypeError, "only a tensor or a number can be stored into 'o'"),
        ("o.move(3.0)", FeTypeError, "only a tensor can be moved into 'o'"),
        (
            "(x + 1)[:] = x",
            FeTypeError,
            "'x + 1' is the result of an operation and cannot be written into",
        ),
        ("o[:, :] = x", ShapeError, "too many indices"),
        ("o[0:2] = x", ShapeError, "the value does not fit into 'o'"),
        ("o[:] = x[0:2]", ShapeError, "the value does not fit into 'o'"),
        (
            "t = pypto.tensor([8], FP32); o[:] = t",
            FeValueError,
            "the local tensor 't' is read before it is written",
        ),
    ],
)
def test_stores_that_are_refused(
    shop: Workshop, line: str, cls: type[Exception], message: str
) -> None:
    error = shop.error(f"""
        def k(x: T([8], FP32), w: T([4, 8], FP32), o: T([8], FP32)):
            {line}
        """)
    assert isinstance(error, cls)
    assert [d.message for d in error.diagnostics] == [message]


def test_store_of_another_dtype_whole_message(shop: Workshop) -> None:
    assert shop.message(body("o[:] = pypto.cast(x, pypto.DT_FP16)")) == (
        "ErrCode: FC0001  'o' and the value stored into it have different dtypes\n"
        "  expected  DT_FP32\n"
        "  got       DT_FP16\n"
        "  --> k.py:4:5\n"
        "  3 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "  4 |     o[:] = pypto.cast(x, pypto.DT_FP16)\n"
        "    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: cast the value: pypto.cast(value, pypto.DT_FP32)"
    )
