"""The kernels of the file or module that ``pypto compile`` is given."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from pypto.cli.files import check_text, opening_problem

__all__ = ["NotPossible", "OfTheModule", "kernels_of"]


class NotPossible(Exception):
    """What was asked for cannot be done; the text says what is missing or wrong."""


class OfTheModule(Exception):
    """The module raised the cause of this while it was imported. ``place``: what was given."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


def kernels_of(text: str) -> dict[str, Any]:
    """The kernels that ``text`` (``FILE_OR_MODULE[:KERNEL]``) means, by name.

    Raises NotPossible; OfTheModule for what the module raises itself; ParserError for a file that
    is no Python text.
    """
    place, colon, wanted = text.rpartition(":")
    if not colon or os.path.lexists(text):
        place, wanted = text, ""
    module = _load(place)
    from pypto._jit import JitFunction
    from pypto.elaborate.names import normal

    wanted = normal(wanted)
    found = {name: value for name, value in vars(module).items() if isinstance(value, JitFunction)}
    if not found:
        raise NotPossible(f"{place} has no kernel: no function with @pypto.frontend.jit")
    if not wanted:
        return found
    if wanted not in found:
        raise NotPossible(f"{place} has no kernel '{wanted}'; it has {', '.join(sorted(found))}")
    return {wanted: found[wanted]}


def _load(place: str) -> ModuleType:
    if os.path.isdir(place) and (os.sep in place or not place.isidentifier()):
        raise NotPossible(f"{place} is a directory; name a file in it, or a module")
    is_file = os.path.lexists(place) and not os.path.isdir(place)
    if is_file or place.endswith(".py") or os.sep in place:
        return _load_file(place)
    if not all(part.isidentifier() for part in place.split(".")):
        raise NotPossible(f"'{place}' is neither a Python file nor the name of a module")
    sys.path.insert(0, _absolute(os.curdir))
    spec = _find(place)
    if spec.origin is not None and spec.origin.endswith(".py"):
        check_text(spec.origin)
    with _imported(place):
        return importlib.import_module(place)


def _load_file(path: str) -> ModuleType:
    problem = opening_problem(path, regular=True)
    if problem is not None:
        raise NotPossible(problem)
    if not path.endswith(".py"):
        raise NotPossible(f"{path} is not a Python file: its name does not end in .py")
    check_text(path)
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(_absolute(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _imported(path):
        spec.loader.exec_module(module)
    return module


def _find(name: str, *, package: bool = False) -> ModuleSpec:
    """Where the module is; the packages it is in are imported."""
    above = name.rpartition(".")[0]
    if above:
        _find(above, package=True)
        with _imported(above):
            importlib.import_module(above)
    try:
        spec = importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):  # in a module that is no package; `__main__`
        spec = None
    if spec is None:
        what = f"module '{name}'" if above or package else f"module and no file '{name}'"
        raise NotPossible(f"there is no {what}")
    return spec


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:
        raise NotPossible("the working directory was removed; change to another one") from None


@contextlib.contextmanager
def _imported(place: str) -> Iterator[None]:
    """Turns what a module raises while it is imported into OfTheModule; not an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise OfTheModule(place) from error
