"""Where a kernel's text is found, how it is cut out, and what is no kernel at all."""

from __future__ import annotations

import functools
import linecache
import subprocess
import sys
import textwrap
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pypto.elaborate.parse import parse
from pypto.elaborate.source import KernelSource, token_digest
from pypto.error import FeTypeError, ParserError, PyptoError
from pypto.ir.tensor_print import print_kernel
from tests.elaborate.support import HEADER, Workshop, body


def lines(function: Any) -> list[str]:
    return list(KernelSource.capture(function).text().lines)


# --- decorators ---


def test_decorators_above_and_below_with_lambdas_and_the_word_def(shop: Workshop) -> None:
    names = shop.module("""
        import functools
        def trace(tag, f):
            def wrap(function):
                @functools.wraps(function)
                def inner(*args, **kwargs):
                    return function(*args, **kwargs)
                return inner
            return wrap
        @trace(tag="def x", f=lambda q: (q[0], (1)))
        @trace(
            tag="def y(", f=lambda q: [q],
        )
        def k(x: T([8, 8], FP32), o: T([8, 8], FP32)): pypto.set_vec_tile_shapes(8, 8); o[:] = x + 1
        after = 1
        """)
    assert lines(names["k"]) == [
        "def k(x: T([8, 8], FP32), o: T([8, 8], FP32)): "
        "pypto.set_vec_tile_shapes(8, 8); o[:] = x + 1"
    ]
    assert print_kernel(shop.elaborate(names["k"]).kernel).splitlines()[2:] == [
        "  %1 = add %0, 1 : fp32[8,8] tile (8,8)  @k+1",
        "  store o[:], %1                         @k+1",
    ]


def test_two_functions_that_start_on_one_line(shop: Workshop) -> None:
    names = shop.module("""
        def first(f):
            return lambda g: g
        @first(lambda: 0)
        def k(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x
        """)
    assert lines(names["k"])[0].startswith("def k(")


# --- where text is and is not ---


def test_exec_of_a_string_has_no_text() -> None:
    names: dict[str, Any] = {}
    exec(HEADER + body("o[:] = x"), names)
    source = KernelSource.capture(names["k"])
    with pytest.raises(ParserError) as caught:
        source.text()
    assert str(caught.value) == (
        "ErrCode: F00005  the source of 'k' is not available: it was made by exec or eval from a "
        "string, which Python does not keep\n"
        "  help: define it in a file (or a notebook cell) that Python can read"
    )


def test_notebook_cell_is_read_from_linecache() -> None:
    name = "<ipython-input-7-abcdef>"
    text = HEADER + body("o[:] = x")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    try:
        names: dict[str, Any] = {}
        exec(compile(text, name, "exec"), names)
        assert lines(names["k"]) == body("o[:] = x").splitlines()
    finally:
        del linecache.cache[name]


SCRIPT = """
import sys
from pypto.elaborate import KernelSource
from pypto.error import ParserError
try:
    print("lines", len(KernelSource.capture(k).text().lines))
except ParserError as error:
    print(error.diagnostics[0].message)
"""


def python(*arguments: str, stdin: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], input=stdin, capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_python_c_keeps_its_text() -> None:
    assert python("-c", HEADER + body("o[:] = x") + SCRIPT) == "lines 2"


def test_standard_input_does_not() -> None:
    got = python("-", stdin=HEADER + body("o[:] = x") + SCRIPT)
    assert got == (
        "the source of 'k' is not available: it was typed at the interactive prompt or read from "
        "standard input"
    )


def test_zip_import_with_a_form_feed(tmp_path: Path) -> None:
    text = HEADER + "def other():\n    pass\n\x0c\n" + body("'a\x0cb'", "o[:] = x")
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.writestr("inside.py", text)
    code = "import sys; sys.path.insert(0, 'pack.zip'); from inside import k\n"
    assert python("-c", code + SCRIPT, cwd=tmp_path) == "lines 3"


def test_compiled_code_without_source(tmp_path: Path) -> None:
    import py_compile

    (tmp_path / "only.py").write_text(HEADER + body("o[:] = x"))
    py_compile.compile(str(tmp_path / "only.py"), str(tmp_path / "only.pyc"), dfile="gone/only.py")
    (tmp_path / "only.py").unlink()
    got = python("-c", "from only import k\n" + SCRIPT, cwd=tmp_path)
    assert got == (
        "the source of 'k' is not available: there is no file gone/only.py "
        "(only compiled code was loaded)"
    )


def test_text_that_changed_since_it_was_loaded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(HEADER + body("o[:] = x"))
    code = textwrap.dedent("""
        import late
        open("late.py", "a").close()
        text = open("late.py").read().replace("o[:] = x", "o[:] = x + 1")
        open("late.py", "w").write(text)
        k = late.k
        """)
    got = python("-c", code + SCRIPT, cwd=tmp_path)
    assert got.endswith("is not the one it was loaded from")


# --- what is no kernel ---


class _Holder:
    def method(self, x: Any) -> None: ...

    @classmethod
    def of_class(cls, x: Any) -> None: ...

    @staticmethod
    def static(x: Any, o: Any) -> None:
        o[:] = x

    class Nested:
        @staticmethod
        def member(x: Any, o: Any) -> None:
            o[:] = x


def _generator(x: Any) -> Any:
    yield x


async def _coroutine(x: Any) -> None: ...


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda x, o: o.move(x), "a lambda cannot be a kernel"),
        (functools.partial(max, 1), "functools.partial cannot be a kernel"),
        (_Holder.method, "the method '_Holder.method' cannot be a kernel"),
        (_Holder().method, "the bound method '_Holder.method' cannot be a kernel"),
        (_Holder.__dict__["of_class"], "a classmethod cannot be a kernel"),
        (_Holder.of_class, "the bound method '_Holder.of_class' cannot be a kernel"),
        (_Holder, "the class '_Holder' cannot be a kernel"),
        (len, "an object of type 'builtin_function_or_method' cannot be a kernel"),
        (_generator, "'_generator' is a generator function: not a kernel"),
        (_coroutine, "'_coroutine' is an async function: not a kernel"),
    ],
)
def test_not_a_kernel(target: object, message: str) -> None:
    with pytest.raises(FeTypeError) as caught:
        KernelSource.capture(target)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message and diagnostic.help


@pytest.mark.parametrize(
    "target", [_Holder.static, _Holder.__dict__["static"], _Holder.Nested.member]
)
def test_static_methods_are_functions(target: object) -> None:
    assert lines(target)[0].lstrip().startswith("def ")
    assert parse(KernelSource.capture(target)).span  # an indented function parses in place


# --- layout ---

PLAIN = HEADER + body("a = x + 1", "o[:] = a * nobody")
TABS = PLAIN.replace("    ", "\t")
LAYOUTS: dict[str, tuple[bytes, int]] = {
    "plain": (PLAIN.encode(), 16),
    "crlf": (PLAIN.replace("\n", "\r\n").encode(), 16),
    "bom": (b"\xef\xbb\xbf" + PLAIN.encode(), 16),
    "tabs": (TABS.encode(), 13),
    "form feed": (PLAIN.replace("def k", "\x0cdef k").encode(), 16),
    "latin-1": (
        b"# -*- coding: latin-1 -*-\n" + PLAIN.replace("a =", "\xe9 =").replace(" a ", " \xe9 ")
        .encode("latin-1"),
        16,
    ),
    "no newline at the end": (PLAIN.rstrip("\n").encode(), 16),
    "continuation": (PLAIN.replace("a = x + 1", "a = x \\\n        + 1").encode(), 16),
}  # fmt: skip


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_layouts_parse_alike_and_keep_columns(shop: Workshop, layout: str) -> None:
    data, column = LAYOUTS[layout]
    names = shop.module("", raw=data)
    with pytest.raises(PyptoError) as caught:
        shop.elaborate(names["k"])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "name 'nobody' is not defined"
    assert diagnostic.span is not None
    assert diagnostic.span.column + 1 == column
    assert diagnostic.span.text() == "nobody"
    if layout not in ("latin-1", "tabs"):
        plain = token_digest(PLAIN.splitlines()[2:])
        assert parse(KernelSource.capture(names["k"])).digest == plain


def test_semicolons_and_a_body_on_the_line_of_def(shop: Workshop) -> None:
    error = shop.error("def k(x: T([8], FP32), o: T([8], FP32)): a = x; o[:] = b; o[:] = c\n")
    found = [(d.span.column, d.message) for d in error.diagnostics if d.span]
    assert found == [(55, "name 'b' is not defined"), (65, "name 'c' is not defined")]


def test_an_indented_function_ends_at_a_foreign_dedent(shop: Workshop) -> None:
    names = shop.module("""
        if True:
          if True:
                def k(x: T([8], FP32), o: T([8], FP32)):
                        '''doc
        outdented in a string
                        '''
                        o[:] = x
                        # comment
          after = 1
        """)
    assert lines(names["k"])[-1].strip() == "o[:] = x"
    store = shop.elaborate(names["k"]).kernel.body[-1]
    assert (store.span.line, store.span.column, store.span.text()) == (5, 16, "o[:] = x")


# --- names and text ---


def test_unicode_names_are_compared_in_normal_form(shop: Workshop) -> None:
    names = shop.module("""
        def 加(ﬁ: T([8], FP32), 出: T([8], FP32)):
            '''说明 😀'''
            # 注释
            出[:] = fi + 未知
        """)
    with pytest.raises(PyptoError) as caught:
        shop.elaborate(names["加"])
    assert str(caught.value).replace(f"{shop.directory}/", "") == (
        "ErrCode: F00004  name '未知' is not defined\n"
        "  --> k.py:7:17\n"
        "  6 |     # 注释\n"
        "  7 |     出[:] = fi + 未知\n"
        "    |                  ^^^^\n"
        "  help: define it, or pass it as a parameter"
    )


EVERYWHERE = """
import math as NAMEm
NAMEg = 2.0
class Box:
    pass
box = Box()
box.NAMEa = 3.0
def NAMEh(t, NAMEp=1.0):
    return t * NAMEp
def maker():
    NAMEc = 4.0
    def k(NAMEx: T([8], FP32), NAMEo: T([8], FP32)):
        NAMEl = NAMEx * NAMEg * box.NAMEa
        NAMEl += NAMEh(NAMEl, NAMEp=5.0) * NAMEc * NAMEm.pi
        for NAMEi in range(2):
            NAMEl = NAMEl + NAMEi
        (NAMEt, *NAMEs) = [NAMEl, dict(NAMEk=6.0)]
        NAMEn: float = NAMEs[0]["WANTEDk"]
        NAMEr = NAMEt
        del NAMEt
        NAMEo[:] = NAMEh(NAMEr) * NAMEn
    return k
k = maker()
def NAME(x: T([8], FP32), o: T([8], FP32)):
    o[:] = x
"""


@pytest.mark.parametrize(
    "written",
    [
        "caf\u00e9",
        "cafe\u0301",
        "\ufb01",
        "\u212b",
        "A\u030a",
        "\u1112\u1161",
        "\u2118",
        "a\u00b7b",
    ],
    ids=ascii,
)
def test_names_in_every_form_of_unicode(shop: Workshop, written: str) -> None:
    """The same kernel whatever spelling stands in the text, and Python agrees that it is one."""
    wanted = unicodedata.normalize("NFKC", written)
    composed = EVERYWHERE.replace("NAME", wanted).replace("WANTED", wanted)
    text = EVERYWHERE.replace("NAME", written).replace("WANTED", wanted)
    assert shop.ir(text) == shop.ir(composed)
    assert shop.ir(text, wanted) == shop.ir(composed, wanted)


def test_private_names_in_every_form_of_unicode(shop: Workshop) -> None:
    text = """
        class Cafe\u0301:
            def k(x: T([8], FP32), o: T([8], FP32)):
                __e\u0301 = x
                _\uff3fi = x
                o[:] = __\u00e9 + __i + __o\u0301
        k = Caf\u00e9.k
        """
    (diagnostic,) = shop.error(text).diagnostics
    assert diagnostic.message == "name '_Caf\u00e9__\u00f3' is not defined"
    assert diagnostic.help == (
        "'__\u00f3' means '_Caf\u00e9__\u00f3' inside the class Caf\u00e9: define that, or use a "
        "name with one underscore"
    )


def test_errors_name_what_python_names(shop: Workshop) -> None:
    text = "def k(x: T([8], FP32), oe\u0301: T([8], FP32)):\n    oe\u0301 = x\n    x.se\u0301 = 1\n"
    first, second = shop.error(text).diagnostics
    assert first.message == (
        "assigning to 'o\u00e9' does not write the tensor: it only rebinds the name"
    )
    assert second.message.startswith("a kernel cannot set the attribute 's\u00e9' of a tensor")


def test_tabs_in_a_caret_line(shop: Workshop) -> None:
    assert shop.message("def k(x: T([8], FP32), o: T([8], FP32)):\n\to[:] = x +\tnobody\n") == (
        "ErrCode: F00004  name 'nobody' is not defined\n"
        "  --> k.py:4:13\n"
        "  3 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
        "  4 |     o[:] = x +  nobody\n"
        "    |                 ^^^^^^\n"
        "  help: define it, or pass it as a parameter"
    )


def test_template_like_text_is_plain_text(shop: Workshop) -> None:
    made = shop.run(body('a = "{{ x }} {% raw %} */ ??/"  # \\', "assert len(a) == 24", "o[:] = x"))
    assert len(made.kernel.body) == 2


# --- token digests ---


def test_digest_ignores_comments_and_layout() -> None:
    plain = token_digest(["def k(x):", "    a = x", "    return a"])
    assert plain == token_digest(
        ["def k( x ):  # why", "", "  # more", "  a = \\", "    x", "  return a"]
    )
    assert plain != token_digest(["def k(x):", "    a = x", "    return x"])
    assert plain != token_digest(["def k(x):", "    a = x;  return a", "    pass"])
    assert token_digest(["def k():", "  if a:", "    b", "  c"]) != token_digest(
        ["def k():", "  if a:", "    b", "    c"]
    )
