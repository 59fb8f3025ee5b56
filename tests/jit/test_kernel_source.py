"""Where a kernel's text may come from and how it may be written, up to the numbers it computes."""

from __future__ import annotations

import importlib
import linecache
import py_compile
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import pypto
from tests.jit.support import HEADER, Modules, X, entries, refusal, result, watch


def test_decorators_above_and_below(modules: Modules) -> None:
    """The innermost function is the kernel: wrappers below ``jit`` do not run, those above do."""
    made = modules.make("""
        import functools

        seen = []

        def trace(tag, f):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*arguments, **named):
                    seen.append(tag)
                    return function(*arguments, **named)
                return wrapper
            return decorate

        @trace(tag="def x", f=lambda q: (q[0], (1)))
        @jit
        @trace(tag="def y(", f=lambda q: (q[0], (1)))
        def k(x: T([8], FP32), o: T([8], FP32)): pypto.set_vec_tile_shapes(8); o[:] = x + 101
    """)
    assert torch.equal(result(made.k), X + 101)
    assert torch.equal(result(made.k), X + 101)
    assert made.seen == ["def x"] * 2


def test_a_wrapper_that_hides_its_function(modules: Modules) -> None:
    """Without ``functools.wraps`` the wrapper itself is what ``jit`` is given."""
    made = modules.make("""
        def trace(function):
            def wrapper(*arguments):
                return function(*arguments)
            return wrapper

        @jit
        @trace
        def k(x: T([8], FP32), o: T([8], FP32)): o[:] = x + 101
    """)
    assert str(refusal(made.k, X, X.clone())) == (
        "ErrCode: F00001  the kernel wrapper() has the variadic positional parameter 'arguments'\n"
        "  expected  parameters that can be given by position and by name\n"
        "  got       *arguments\n"
        "  defined at m1.py:6:18\n"
        "  help: write one plain parameter for each argument; if a decorator below jit made "
        "wrapper(), give it functools.wraps, or put it above jit"
    )


def test_notebook_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell run again under another name of its own is another kernel with the same text."""
    kernels = []
    for number, value in ((1, 102), (2, 103)):
        name = f"<ipython-input-{number}-pypto>"
        text = (
            f"{HEADER}@jit\n"
            "def k(x: T([8], FP32), o: T([8], FP32)):\n"
            f"    # cell {number}\n"
            f"    o[:] = x + {value}\n"
        )
        monkeypatch.setitem(
            linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name)
        )
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, name, "exec", dont_inherit=True), scope)
        kernels.append(scope["k"])
    assert torch.equal(result(kernels[0]), X + 102)
    assert torch.equal(result(kernels[1]), X + 103)


def test_text_that_python_does_not_keep() -> None:
    scope: dict[str, Any] = {}
    exec(f"{HEADER}@jit\ndef k(x: T([8], FP32), o: T([8], FP32)):\n    o[:] = x\n", scope)
    error = refusal(scope["k"], X, X.clone())
    assert str(error) == (
        "ErrCode: F00005  the source of 'k' is not available: it was made by exec or eval from a "
        "string, which Python does not keep\n"
        "  help: define it in a file (or a notebook cell) that Python can read"
    )


# --- text that does not lie in a file of its own works, or is refused, cached or not ---

MODULE = (
    HEADER
    + """
def helper(a):
    return a * 2

@jit
def k(x: T([8], FP32), o: T([8], FP32)):
    o[:] = helper(x) + 120

@jit
def other(x: T([8], FP32), o: T([8], FP32)):
    o[:] = missing
"""
)


@pytest.fixture
def imported(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Import ``shipped`` from a directory or archive of the working directory."""
    monkeypatch.syspath_prepend(str(modules.directory))

    def load(place: str, name: str = "shipped") -> Any:
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(modules.directory / place))
            return importlib.import_module(name)

    yield load
    sys.modules.pop("shipped", None)


def _compiled(directory: Path, text: str, name: str = "shipped") -> None:
    """``directory`` holds the module as a ``.pyc`` file alone."""
    directory.mkdir(exist_ok=True)
    source = directory / f"{name}.py"
    source.write_text(text)
    py_compile.compile(str(source), cfile=str(directory / f"{name}.pyc"), doraise=True)
    source.unlink()


def test_a_zip_import(modules: Modules, imported: Callable[..., Any]) -> None:
    with zipfile.ZipFile(modules.directory / "a.zip", "w") as archive:
        archive.writestr("shipped.py", MODULE)
    made = imported("a.zip")
    assert torch.equal(result(made.k), X * 2 + 120)
    assert str(refusal(made.other, X, X.clone())) == (
        "ErrCode: F00004  name 'missing' is not defined\n"
        "  --> a.zip/shipped.py:14:12\n"
        "  13 | def other(x: T([8], FP32), o: T([8], FP32)):\n"
        "  14 |     o[:] = missing\n"
        "     |            ^^^^^^^\n"
        "  help: define it, or pass it as a parameter"
    )


NO_TEXT = (
    "ErrCode: F00005  the source of '{name}' is not available: there is no file "
    "{file} (only compiled code was loaded)\n"
    "{place}"
    "  help: define it in a file (or a notebook cell) that Python can read"
)


@pytest.mark.parametrize("warm", [False, True])
def test_compiled_code_without_source(
    modules: Modules, imported: Callable[..., Any], warm: bool
) -> None:
    """Refused, also when a module of the same code has left its binary in the cache."""
    text = MODULE.replace("120", f"12{1 + warm}")
    if warm:
        modules.directory.joinpath("full").mkdir()
        modules.directory.joinpath("full", "shipped.py").write_text(text)
        assert torch.equal(result(imported("full").k), X * 2 + 122)
    _compiled(modules.directory / "bare", text)
    with zipfile.ZipFile(modules.directory / "b.zip", "w") as archive:
        archive.write(modules.directory / "bare" / "shipped.pyc", "shipped.pyc")
    for place in ("bare", "b.zip"):
        made = imported(place)
        message = NO_TEXT.format(name="k", file=modules.directory / "bare" / "shipped.py", place="")
        assert str(refusal(made.k, X, X.clone())) == message
        assert str(made.k.compile().error) == message


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_a_helper_without_source(
    modules: Modules, imported: Callable[..., Any], warm: bool, marked: bool
) -> None:
    """The same of what a kernel calls; the message names the call."""
    mark = "import pypto\n@pypto.frontend.function\n" if marked else ""
    helper = f"{mark}def helper(a):\n    return a * {3 + warm} + {marked}\n"
    text = f"{HEADER}from helping import helper\n\n@jit{MODULE.split('@jit')[1]}"
    modules.directory.joinpath("shipped.py").write_text(text)
    if warm:
        modules.directory.joinpath("helping.py").write_text(helper)
        assert torch.equal(result(imported(".").k), X * 4 + marked + 120)
        modules.directory.joinpath("helping.py").unlink()
    _compiled(modules.directory / "bare", helper, "helping")
    sys.modules.pop("helping", None)
    made = imported("bare")
    try:
        assert str(refusal(made.k, X, X.clone())) == NO_TEXT.format(
            name="helper",
            file=modules.directory / "bare" / "helping.py",
            place="  --> shipped.py:8:12\n"
            "  7 | def k(x: T([8], FP32), o: T([8], FP32)):\n"
            "  8 |     o[:] = helper(x) + 120\n"
            "    |            ^^^^^^^^^\n",
        )
    finally:
        sys.modules.pop("helping", None)


DEF = b"def k(x: T([8], FP32), o: T([8], FP32)):"
LAYOUTS = {
    "plain": DEF + b"\n    y = x + 104\n    o[:] = y\n",
    "crlf": DEF + b"\r\n    y = x + 104\r\n    o[:] = y\r\n",
    "tabs": DEF + b"\n\ty = x + 104\n\to[:] = y\n",
    "no newline": DEF + b"\n    y = x + 104\n    o[:] = y",
    "form feed": b"\x0c" + DEF + b"\n    y = x + 104\n    o[:] = y\n",
    "joined": DEF + b" y = x + 104; o[:] = y\n",
    "continued": DEF.replace(b", o", b", \\\n o") + b"\n  y = x \\\n   + 104\n  o[:] = y\n",
    "comments": DEF + b"  # one\n  # two\n\n  y = x + 104\n  o[:] = y\n",
    "nested": b"if True:\n  " + DEF + b"\n     y = x + 104\n     o[:] = y\n",
}


def test_layout_is_not_in_the_key(modules: Modules) -> None:
    """Every way of writing one kernel finds the binary that the first of them made."""
    before = entries()
    keys = {}
    for name, text in LAYOUTS.items():
        bom = b"\xef\xbb\xbf" if name == "crlf" else b""
        made = modules.make("", raw=bom + HEADER.encode() + text + b"\nk = jit(k)\n")
        assert torch.equal(result(made.k), X + 104), name
        report = made.k.compile()
        keys[name] = report.key
        assert report.state == "cached", name
    assert len(set(keys.values())) == len(entries() - before) == 1


def test_other_encodings(modules: Modules) -> None:
    text = (
        HEADER + "@jit\ndef k(x: T([8], FP32), o: T([8], FP32)):\n    é = x + 105\n    o[:] = é\n"
    )
    made = modules.make("", raw=b"# -*- coding: latin-1 -*-\n" + text.encode("latin-1"))
    assert torch.equal(result(made.k), X + 105)


def test_unicode_names(modules: Modules) -> None:
    made = modules.make('''
        @jit
        def 加(x: T([8], FP32), 出: T([8], FP32)):
            """中文 🎉"""
            ﬁ = x + 1  # 注释
            fi = ﬁ + 105
            出[:] = fi
    ''')
    assert torch.equal(result(made.加), X + 106)


def test_names_with_combining_characters(modules: Modules) -> None:
    made = modules.make("""
        def cafe\u0301(t):
            return t + 107

        @jit
        def re\u0301sume\u0301(x: T([8], FP32), o: T([8], FP32)):
            o[:] = cafe\u0301(x)
    """)
    assert torch.equal(result(made.résumé), X + 107)


def test_text_that_is_hostile_to_templates(modules: Modules) -> None:
    made = modules.make(r'''
        @jit
        def k(x: T([8], FP32), o: T([8], FP32)):
            """{{ x }} {% raw %} */ ??/ " ' \\"""
            s = "{{ x }} {% raw %} */ ??/"  # {{ y }} */ ??/ \
            # a backslash ends this comment \
            o[:] = x + len("{{ x }} */")  # */ int main() {{{ \
    ''')
    assert torch.equal(result(made.k), X + 10)
    written = Path(made.k.compile().path, "k.cpp").read_text()
    assert "o[:] = x + len('{{ x }} */')" in written
    assert "{% endraw %}" not in written


def test_places_of_a_kernel_in_a_class(modules: Modules) -> None:
    made = modules.make("""
        class A:
            @jit
            def plain(x: T([8], FP32), o: T([8], FP32)):
                o[:] = x + 107

            @staticmethod
            @jit
            def static(x: T([8], FP32), o: T([8], FP32)):
                o[:] = x + 107

            class B:
                @jit
                @staticmethod
                def inner(x: T([8], FP32), o: T([8], FP32)):
                    o[:] = x + 107
    """)
    for kernel in (made.A.plain, made.A().plain, made.A.static, made.A().static, made.A.B.inner):
        assert torch.equal(result(kernel), X + 107)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = jit(lambda x, o: o.move(x))", "a lambda cannot be a kernel"),
        ("a, b = jit(lambda x: x), jit(lambda o: o)", "a lambda cannot be a kernel"),
        (
            "class A:\n    @jit\n    def m(self, x: T([8], FP32)): x[:] = x",
            "the method 'A.m' cannot be a kernel",
        ),
        (
            "class A:\n    @jit\n    @classmethod\n    def m(cls, x: T([8], FP32)): x[:] = x",
            "a classmethod cannot be a kernel",
        ),
        (
            "import functools\ndef f(x, o): o[:] = x\nk = jit(functools.partial(f, 1))",
            "functools.partial cannot be a kernel",
        ),
        ("@jit\nasync def k(x, o): o[:] = x", "'k' is an async function: not a kernel"),
        ("@jit\ndef k(x, o): yield x", "'k' is a generator function: not a kernel"),
        ("class C: pass\nk = jit(C)", "the class 'C' cannot be a kernel"),
    ],
)
def test_what_cannot_be_decorated(modules: Modules, text: str, message: str) -> None:
    with pytest.raises(pypto.error.FeTypeError) as caught:
        modules.make(text)
    assert str(caught.value).splitlines()[0] == f"ErrCode: F00001  {message}"


def test_names_that_hide_others(modules: Modules) -> None:
    made = modules.make("""
        import pypto as p
        from pypto import add as sum

        def exp(a):
            return a + 100

        def h(a):
            return a

        @p.frontend.jit
        def k(x: T([8], FP32), h: T([8], FP32)):
            pypto = 8
            h[:] = sum(exp(x), pypto)
    """)
    assert torch.equal(result(made.k), X + 108)


def test_equal_names_in_one_program(modules: Modules) -> None:
    """Kernels of one name, in two modules and from one factory, have their own binaries."""
    one = modules.kernel("o[:] = x + 109")
    two = modules.kernel("o[:] = x + 110")
    made = modules.make("""
        def make(c):
            @jit
            def k(x: T([8], FP32), o: T([8], FP32)):
                o[:] = x + c

            def change(value):
                nonlocal c
                c = value

            return k, change
    """)
    (three, change), (four, _) = made.make(111), made.make(112)
    for kernel, added in ((one, 109), (two, 110), (three, 111), (four, 112), (one, 109)):
        assert torch.equal(result(kernel), X + added)
    change(113)
    assert torch.equal(result(three), X + 113)
    assert torch.equal(result(four), X + 112)
    with watch() as seen:
        change(111)
        assert torch.equal(result(three), X + 111)
    assert seen.commands == []
