"""Where the cache is, and what happens where it cannot be."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pypto.build import inspect, place, steps
from pypto.build.environment import read_environment
from pypto.build.kernel import BINARY, build_kernel
from pypto.build.manifest import ManifestRow, add_row, read_rows
from pypto.build.store import CacheStore
from pypto.error import BuildError, PyptoGeneralError

from .support import fork, join, real_compiler, texts_of, toolchain_for, write_script

KEY = "d" * 64
NOBODY = 65534


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"PYPTO_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a/b"),
        ({"PYPTO_CACHE_DIR": "~/b", "HOME": "/h"}, "/h/b"),
        ({"PYPTO_CACHE_DIR": "/a/../c/", "HOME": "/h"}, "/c"),
        ({"PYPTO_CACHE_DIR": "", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/pypto"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/pypto"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h/"}, "/h/.cache/pypto"),
        ({"HOME": "relative"}, None),
    ],
)
def test_where_the_cache_is(environ: dict[str, str], expected: str | None) -> None:
    assert read_environment(environ).cache_dir == expected


def test_a_relative_cache_directory_is_fixed_at_the_start() -> None:
    assert read_environment({"PYPTO_CACHE_DIR": "c"}).cache_dir == os.path.abspath("c")


def test_relative_directory_in_a_working_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(PyptoGeneralError) as caught:
        read_environment({"PYPTO_CACHE_DIR": "c"})
    assert str(caught.value) == (
        "ErrCode: F00003  PYPTO_CACHE_DIR names c in the working directory, which was removed\n"
        "  help: change to another directory, or name the path from / on."
    )


def test_without_home_the_user_database_answers() -> None:
    import pwd

    home = pwd.getpwuid(os.getuid()).pw_dir
    assert read_environment({}).cache_dir == f"{home}/.cache/pypto"


def fill(directory: str) -> dict[str, object]:
    Path(directory, "kernel.so").write_bytes(b"binary")
    return {}


def use_degraded(root: str | None) -> dict[str, object]:
    """Build, reload and list in a cache that cannot be written; how often it warned."""
    built = 0

    def build(directory: str) -> dict[str, object]:
        nonlocal built
        built += 1
        return fill(directory)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            store = CacheStore(root)
            entry = store.get_or_build(KEY, "add", build)
            add_row(store, KEY, ManifestRow(1, KEY))
            found = store.load(KEY)
        store.get_or_build_tool(KEY, "tool", build)
        rows = len(read_rows(store, KEY))
    root_of_entry = Path(entry.directory).parents[2]
    return {
        "built": built,
        "found": found is not None and found.read("kernel.so") == b"binary",
        "rows": rows,
        "warnings": [str(one.message) for one in caught],
        "places": {one.filename for one in caught},
        "root": str(root_of_entry),
        "mode": stat.S_IMODE(root_of_entry.stat().st_mode),
    }


def check_degraded(answer: dict[str, object], reason: str) -> None:
    assert answer["built"] == 2  # the entry and the tool, each once
    assert answer["found"] is True and answer["rows"] == 1
    assert answer["mode"] == 0o700
    assert answer["places"] == {__file__}  # the line of the user, not one of ours
    messages = answer["warnings"]
    assert isinstance(messages, list) and len(messages) == 1
    assert reason in messages[0] and "Set PYPTO_CACHE_DIR" in messages[0]


@pytest.fixture
def open_tmp() -> Iterator[Path]:
    """A directory that an unprivileged user can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="pypto-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def as_nobody(action: Callable[[], object]) -> object:
    """Run in a child without privileges (root may write anywhere)."""
    if os.geteuid() != 0:
        return join(fork(action))

    def unprivileged() -> object:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        return action()

    return join(fork(unprivileged))


def own(path: Path) -> Path:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path


def test_no_home_at_all() -> None:
    check_degraded(use_degraded(None), "no home directory")


def test_home_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    root = read_environment({"HOME": str(tmp_path / "home")}).cache_dir
    check_degraded(use_degraded(root), "Not a directory")


def test_the_cache_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("x")
    check_degraded(use_degraded(str(tmp_path / "cache")), "is not a directory")


def test_the_cache_is_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "cache").symlink_to(tmp_path / "nowhere")
    check_degraded(use_degraded(str(tmp_path / "cache")), "File exists")


def test_a_room_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "entries").write_text("x")
    check_degraded(use_degraded(str(tmp_path)), "entries is not a directory")


def test_links_that_go_round(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_degraded(use_degraded(str(tmp_path / "a")), "Too many levels of symbolic links")


def test_a_path_too_long(tmp_path: Path) -> None:
    check_degraded(use_degraded(str(tmp_path / ("x" * 300))), "File name too long")


def test_a_read_only_cache(open_tmp: Path) -> None:
    root = own(open_tmp / "cache") if (open_tmp / "cache").mkdir() is None else open_tmp
    root.chmod(0o500)
    check_degraded(as_nobody(lambda: use_degraded(str(root))), "Permission denied")  # type: ignore[arg-type]


def test_a_closed_parent(open_tmp: Path) -> None:
    answer = as_nobody(lambda: use_degraded(str(open_tmp / "sub" / "cache")))
    if os.geteuid() != 0:
        pytest.skip("needs a directory of another user")
    check_degraded(answer, "Permission denied")  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_the_directory_of_another_user(open_tmp: Path, mode: int) -> None:
    root = open_tmp / "cache"
    root.mkdir()
    os.chown(root, 12345, 12345)
    root.chmod(mode)
    check_degraded(
        as_nobody(lambda: use_degraded(str(root))),  # type: ignore[arg-type]
        "belongs to user id 12345",
    )
    check_degraded(use_degraded(str(root)), "belongs to user id 12345")  # root likewise


def test_a_read_only_cache_serves_what_it_has(open_tmp: Path) -> None:
    root = open_tmp / "cache"
    store = CacheStore(str(root))
    store.get_or_build(KEY, "add", fill)
    add_row(store, KEY, ManifestRow(1, KEY))
    for directory, _, names in os.walk(root):
        os.chmod(directory, 0o555)
        for name in names:
            os.chmod(os.path.join(directory, name), 0o444)

    def use() -> tuple[bool, int, bool]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store = CacheStore(str(root))
            found = store.get_or_build(KEY, "add", fill).directory.startswith(str(root))
            rows = len(read_rows(store, KEY))
            return found, rows, inspect.verify(store) == ()

    try:
        assert as_nobody(use) == (True, 1, True)
    finally:
        for directory, _, _ in os.walk(root):
            os.chmod(directory, 0o755)


@pytest.mark.parametrize("part", ["", "meta.json", "kernel.so"])
def test_an_unreadable_entry_is_rebuilt(open_tmp: Path, part: str) -> None:
    open_tmp.chmod(0o777)
    root = open_tmp / "cache"

    def use() -> tuple[bool, bool, bool]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store = CacheStore(str(root))
            entry = store.get_or_build(KEY, "add", fill)
            os.chmod(os.path.join(entry.directory, part), 0)
            lost = store.load(KEY) is None
            again = store.get_or_build(KEY, "add", fill)
            return lost, again.directory == entry.directory, inspect.verify(store) == ()

    assert as_nobody(use) == (True, True, True)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
@pytest.mark.parametrize("room", ["", "entries"])
def test_a_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int, room: str) -> None:
    root = tmp_path / "cache"
    CacheStore(str(root)).get_or_build(KEY, "add", fill)
    target = root / room if room else root
    target.chmod(mode)
    if mode == 0o1777 and not room:
        assert CacheStore(str(root)).load(KEY) is not None  # sticky and our own
        return
    with pytest.raises(PyptoGeneralError) as caught:
        CacheStore(str(root))
    assert str(caught.value) == (
        f"ErrCode: F00003  The cache directory {target} can be written by other users, "
        "who could plant binaries there\n"
        "  expected  a directory that only you can write, such as mode 0700\n"
        f"  got       mode {mode:04o}\n"
        f"  help: run `chmod go-w '{target}'`, or set PYPTO_CACHE_DIR to a directory of your own."
    )


@pytest.mark.parametrize("umask", [0o077, 0o002, 0o000])
def test_the_umask_does_not_matter(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        root = tmp_path / "cache"
        store = CacheStore(str(root))
        store.memo.put("topic", (("x", 1, 2, 3),), "text")  # what is written first in practice
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        entry = store.get_or_build(KEY, "add", fill)
        assert CacheStore(str(root)).load(KEY) == entry
    finally:
        os.umask(before)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["x" * 250, "with spaces and 'quotes\"", "缓存-ünï-🙂", "a=b,c:d"])
def test_unusual_paths_compile(sources: Path, tmp_path: Path, name: str) -> None:
    store = CacheStore(str(tmp_path / name))
    toolchain = toolchain_for(store, real_compiler())
    entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
    assert entry.directory.startswith(str(tmp_path / name))
    assert entry.files[BINARY].size > 0


def test_a_disk_that_is_full_from_the_start(open_tmp: Path) -> None:
    """A quota of nothing: a small tmpfs where the system allows one."""
    root = open_tmp / "cache"
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k,mode=0700", "tmpfs", str(root)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a file system here")
    try:
        check_degraded(use_degraded(str(root)), "No space left on device")
    finally:
        subprocess.run(["umount", str(root)], check=True)


def test_a_disk_that_fills_up_while_publishing(tmp_path: Path) -> None:
    store = CacheStore(str(tmp_path / "cache"))
    store.get_or_build("e" * 64, "before", fill)
    attempts = []

    def build(directory: str) -> dict[str, object]:
        attempts.append(directory)
        if directory.startswith(str(tmp_path)):
            raise OSError(28, "No space left on device", directory)
        return fill(directory)

    with pytest.warns(RuntimeWarning, match="No space left on device") as caught:
        entry = store.get_or_build(KEY, "add", build)
        assert store.get_or_build(KEY, "add", build) == entry
    assert len(caught) == 1 and len(attempts) == 2
    assert store.load("e" * 64) is not None  # what is there still serves


def test_a_disk_that_fills_up_while_compiling(
    sources: Path, tmp_path: Path, compiler: object
) -> None:
    script = write_script(
        tmp_path / "cxx",
        f'case "$PWD$*" in {tmp_path}/cache*-o*)\n'
        'echo "as: No space left on device"; exit 1;; esac\n'
        f'exec {real_compiler()} "$@"\n',
    )
    store = CacheStore(str(tmp_path / "cache"))
    toolchain = toolchain_for(store, str(script))
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        entry = build_kernel(store, toolchain, KEY, "k", lambda: (texts_of("k"), {}))
    assert not entry.directory.startswith(str(tmp_path))
    assert "prelude.h" in os.listdir(steps.precompiled_header(store, toolchain))


def test_no_room_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(root: str) -> None:
        raise OSError(28, "No space left on device", root)

    monkeypatch.setattr(place, "probe_root", full)
    store = CacheStore(str(tmp_path / "cache"))
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(BuildError, match=r"There is no directory to build in[\s\S]*TMPDIR"),
    ):
        store.get_or_build(KEY, "add", fill)


def test_a_forked_child_has_a_private_directory_of_its_own() -> None:
    parent = use_degraded(None)
    child = join(fork(lambda: use_degraded(None)))
    assert isinstance(child, dict)
    check_degraded(child, "no home directory")
    assert child["root"] != parent["root"]
    assert os.path.isdir(str(parent["root"]))  # not removed by the child's end
