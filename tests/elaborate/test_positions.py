"""Places of nodes are those that libcst gives, for every construct and layout."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

import pypto
from pypto._recursion import deep_recursion
from pypto.elaborate.positions import Positions

FILES = sorted((Path(pypto.__file__).parent / "elaborate").glob("*.py"))
LAYOUTS = {
    "comments, continued lines": "def f(a,  # one\n    b):\n\n    # two\n    return (a\n +b)  \n",
    "several statements in a line": "if x: a = 1; b = 2 ;\nelse :\n  pass\n",
    "line ends of Windows": "def f():\r\n    x = 1\r\n    y = '''a\r\nb'''\r\n",
    "line ends of old": "x = 1\ry = 2\r",
    "tabs and form feeds": "if x:\n\ty = 1\n\x0cz = 2\n",
    "text in several lines": 'x = """a\nb\n""" + y\n',
    "decorators and types": "@a\n@ b (1)\nasync def f[T](*, x: int = 1) -> T: ...\n",
    "letters beyond ASCII": "größe = 'ä\U0001f600' + é\n",
    "nothing": "",
    "no line end": "x = 1",
    "match": "match x:\n  case [1, *_] | {'a': b}:\n    pass\n  case C(d=1) as e if e: pass\n",
    "lambdas and comprehensions": "f = lambda a, /, *b: [i for i in a if i async for j in k]\n",
    "try": "try:\n    pass\nexcept (A, B) as c:\n    pass\nelse:\n    pass\nfinally:\n    pass\n",
}


def agree(code: str) -> None:
    with deep_recursion():
        module = cst.parse_module(code)
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        expected = wrapper.resolve(PositionProvider)
        positions = Positions(module)
    assert expected
    for node, place in expected.items():
        start, end = place.start, place.end
        assert positions[node] == (start.line, start.column, end.line, end.column), node


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    agree(LAYOUTS[name])


def test_python_of_all_kinds() -> None:
    for file in FILES[::6]:
        agree(file.read_text())
