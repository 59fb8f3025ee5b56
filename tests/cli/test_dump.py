"""What a process was asked to show, and how it shows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pypto import _dump, _paths
from pypto._dump import DumpRequest
from pypto.error import FeValueError, PyptoGeneralError

LEVELS = {"tensor": "T\n", "tile": "L", "ascendc": "A\n"}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    _dump._set.clear()
    _dump._written.clear()
    _dump._environment_request.cache_clear()


def _ask_by_environment(monkeypatch: pytest.MonkeyPatch, text: str) -> DumpRequest | None:
    _dump._environment_request.cache_clear()
    monkeypatch.setenv("PYPTO_DUMP", text)
    return _dump.request()


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", ("ascendc",)),
        ("ascendc", ("ascendc",)),
        ("tile, tensor", ("tensor", "tile")),
        ("all", ("tensor", "tile", "ascendc")),
    ],
)
def test_levels(text: str, levels: tuple[str, ...]) -> None:
    assert _dump.parse_levels(text) == levels


def test_unknown_level() -> None:
    with pytest.raises(FeValueError) as caught:
        _dump.parse_levels("tensor,cpp")
    assert str(caught.value) == (
        "ErrCode: F00002  'cpp' is not a level that can be shown\n"
        "  expected  a comma-separated list of tensor, tile, ascendc; or all\n"
        "  got       'tensor,cpp'"
    )


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", None),
        ("0", None),
        ("1", DumpRequest(("ascendc",))),
        ("tile", DumpRequest(("tile",))),
        ("all:some/folder", DumpRequest(("tensor", "tile", "ascendc"), "some/folder")),
        (":folder", DumpRequest(("ascendc",), "folder")),
    ],
)
def test_environment(
    monkeypatch: pytest.MonkeyPatch, text: str, request_: DumpRequest | None
) -> None:
    assert _ask_by_environment(monkeypatch, text) == request_


def test_environment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _ask_by_environment(monkeypatch, "tile")
    monkeypatch.setenv("PYPTO_DUMP", "tensor")
    assert _dump.request() == first


def test_program_wins_over_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    _dump.set_request(DumpRequest(("tensor",)))
    assert _ask_by_environment(monkeypatch, "tile") == DumpRequest(("tensor",))


def test_prints_the_requested_levels(capsys: pytest.CaptureFixture[str]) -> None:
    _dump.set_request(DumpRequest(_dump.LEVELS))
    _dump.show(LEVELS, "k")
    assert capsys.readouterr().out == "=== Tensor IR of k ===\nT\n=== Tile IR of k ===\nL\nA\n"


def test_shows_what_there_is_after_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    _dump.set_request(DumpRequest(_dump.LEVELS))
    _dump.show({"tensor": "T"}, "k")
    assert capsys.readouterr().out == "=== Tensor IR of k ===\nT\n"


def test_shows_nothing_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    _dump._environment_request.cache_clear()
    _dump.show(LEVELS, "k")
    assert capsys.readouterr().out == ""


def test_writes_files(tmp_path: Path) -> None:
    _dump.set_request(DumpRequest(("tile", "ascendc"), str(tmp_path / "a" / "b")))
    _dump.show(LEVELS, "k")
    _dump.show(LEVELS, "k")  # the same text again: the same file
    _dump.show({**LEVELS, "ascendc": "other\n"}, "k")
    _dump.show(LEVELS, "outer.<locals>.加")
    written = {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()}
    assert written == {
        "k.tile.txt": "L\n",
        "k.cpp": "A\n",
        "k-2.cpp": "other\n",
        "outer__locals__加.tile.txt": "L\n",
        "outer__locals__加.cpp": "A\n",
    }


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    target = file / "below"
    _dump.set_request(DumpRequest(("ascendc",), str(target)))
    with pytest.raises(PyptoGeneralError) as caught:
        _dump.show(LEVELS, "k")
    assert str(caught.value) == (
        f"ErrCode: F00003  The Ascend C of 'k' cannot be written to {target / 'k.cpp'}: {file} is "
        "not a directory\n"
        "  help: name a directory that you can write: --dump-dir DIR, or PYPTO_DUMP=LEVELS:DIR."
    )
    assert caught.value.__suppress_context__
    with pytest.raises(PyptoGeneralError) as caught:
        _dump.write(LEVELS, "k", str(file))
    assert str(caught.value) == (
        f"ErrCode: F00003  The Tensor IR of 'k' cannot be written to {file / 'k.tensor.txt'}: "
        f"{file} is not a directory\n"
        "  help: the option compile_debug_mode asks for it: give TILE_FWK_OUTPUT_DIR (mode 1) or "
        "ASCEND_WORK_PATH (mode 2) a directory that you can write."
    )


def test_file_that_cannot_be_written(tmp_path: Path) -> None:
    target = tmp_path / "k.cpp"
    target.mkdir()
    with pytest.raises(PyptoGeneralError) as caught:
        _dump.write_file(str(target), "A", "The text", "name another.")
    assert str(caught.value) == (
        f"ErrCode: F00003  The text cannot be written to {target}: {target} is a directory\n"
        "  help: name another."
    )


def test_names_that_are_no_text_are_written(tmp_path: Path) -> None:
    _dump.write_file(str(tmp_path / "k.cpp"), "// \udcff.py", "The text", "name another.")
    assert (tmp_path / "k.cpp").read_text() == "// \\udcff.py"


def test_unknown_level_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FeValueError) as caught:
        _ask_by_environment(monkeypatch, "cpp:folder")
    assert str(caught.value) == (
        "ErrCode: F00002  'cpp' is not a level that can be shown\n"
        "  expected  a comma-separated list of tensor, tile, ascendc; or all\n"
        "  got       'cpp'\n"
        "  in the variable PYPTO_DUMP=cpp:folder"
    )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("made/below", None),
        ("file", "{}/file is not a directory"),
        ("file/below/it", "{}/file is not a directory"),
        ("dangling", "{}/dangling is not a directory"),
        ("circle/below", "its symbolic links lead in a circle"),
    ],
)
def test_directories(tmp_path: Path, path: str, why: str | None) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    found = _paths.directory_problem(str(tmp_path / path))
    assert found == (None if why is None else why.format(tmp_path))
    assert (tmp_path / path).is_dir() == (why is None)


def test_directory_closed_to_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_paths.os, "access", lambda path, mode: False)
    assert _paths.directory_problem(str(tmp_path)) == "Permission denied"


def test_writes_all_levels(tmp_path: Path) -> None:
    _dump.write(LEVELS, "k", str(tmp_path))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "k.tensor.txt": "T\n",
        "k.tile.txt": "L\n",
        "k.cpp": "A\n",
    }


def test_debug_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILE_FWK_OUTPUT_DIR", "runs")
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)
    _dump.debug_directory.cache_clear()
    try:
        assert _dump.debug_directory(fixed=True) == str(tmp_path / "pypto")
        made = Path(_dump.debug_directory(fixed=False))
        assert made.parent == tmp_path / "runs"
        assert made.name.startswith("output_") and made.name.endswith(f"_{os.getpid()}")
        assert _dump.debug_directory(fixed=False) == str(made)
    finally:
        _dump.debug_directory.cache_clear()
