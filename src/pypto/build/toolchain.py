"""The host C++ compiler: finding it, telling it from others, and running it.

The compiler is `CXX` (which may hold arguments), else the first of c++, g++, clang++ on `PATH`.
Its identity is what its version, target and arguments say, never where it is installed. A wrapper
script counts as the program that it shows itself to be: it is looked at again only when the file
itself changes.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pypto._record import Record
from pypto.build import isa
from pypto.build.environment import Environment, environment
from pypto.build.memo import FileState, Memo, file_state
from pypto.error import BuildError, Diagnostic, PyptoError

if TYPE_CHECKING:
    from pypto.build import process

__all__ = ["CompilerError", "HostToolchain", "find_host_toolchain", "invoke"]

_CANDIDATES = ("c++", "g++", "clang++")

# No -ffast-math, at compile or link time: it would flush subnormals in the whole process.
_FAST_MATH = frozenset(
    {
        "-ffast-math",
        "-Ofast",
        "-funsafe-math-optimizations",
        "-ffinite-math-only",
        "-fassociative-math",
        "-freciprocal-math",
        "-fno-signed-zeros",
        "-mdaz-ftz",
    }
)
_COMPILE_FLAGS = (
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fopenmp-simd",
    # Only the kernel's table is exported: calls inside the twin need no detour for interposition.
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
)


class CompilerError(BuildError):
    """The compiler ran and failed.

    ``output`` is what it printed (bounded), ``command`` what was run, ``source`` the directory
    where the compiled text is or was.
    """

    def __init__(
        self, message: Sequence[Diagnostic], output: str, command: str, source: str
    ) -> None:
        super().__init__(message)
        self.output = output
        self.command = command
        self.source = source

    def moved(self, source: str) -> CompilerError:
        """The same error with the compiled text kept in ``source``."""
        old, new = f"source    {self.source}", f"source    {source}"
        diagnostics = [
            replace(one, notes=tuple(new if note == old else note for note in one.notes))
            for one in self.diagnostics
        ]
        return CompilerError(diagnostics, self.output, self.command, source)

    def __reduce__(self) -> tuple[type[PyptoError], tuple[object, ...]]:  # type: ignore[override]
        return type(self), (self.diagnostics, self.output, self.command, self.source)


class HostToolchain(Record):
    """One host compiler as it is used.

    ``command``: absolute path and the arguments of CXX. ``kind``: gcc or clang. ``version``: first
    line of ``--version``. ``isa``: level name. ``flags``: of each kernel compilation.
    ``libraries``: what a kernel is linked with. ``identity``: hex digest of all that can change a
    binary. ``timeout``: seconds that one run may take.
    """

    command: tuple[str, ...]
    kind: str
    version: str
    major: int
    isa: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    identity: str
    timeout: float


class _Facts(Record):
    """What the compiler says about itself; independent of its path."""

    version_text: str
    major: int
    target: str
    has_vector_math: bool

    def to_text(self) -> str:
        return f"{self.major}\n{self.target}\n{int(self.has_vector_math)}\n{self.version_text}"

    @classmethod
    def from_text(cls, text: str) -> _Facts:
        major, target, vector_math, version = text.split("\n", 3)
        return cls(version, int(major), target, vector_math == "1")


def find_host_toolchain(memo: Memo, settings: Environment | None = None) -> HostToolchain:
    """The compiler of this process. Raises BuildError where there is none or it does not work.

    The file is looked at on each call (one stat), so a compiler that was replaced is seen; the
    compiler itself is started only when ``memo`` does not know the file's state.
    """
    settings = settings if settings is not None else environment()
    path, arguments = _locate(settings.cxx, settings.path)
    # `CXX="ccache g++"`: the programs that the arguments name count as well.
    named = (_which(word, settings.path) for word in arguments if not word.startswith("-"))
    try:
        states = tuple(file_state(one) for one in (path, *named) if one is not None)
    except OSError as error:
        from pypto.build.compiler_errors import missing

        tried = [f"{error.filename}: {error.strerror}"]
        raise missing(settings.cxx, tried, settings.path) from error
    return _describe(_MemoRef(memo), path, arguments, states, isa.host_isa(), settings.timeout)


class _MemoRef:
    """Carries the memo past the cache of ``_describe``: equal to every other one."""

    __slots__ = ("memo",)

    def __init__(self, memo: Memo) -> None:
        self.memo = memo

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _MemoRef)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=16)
def _describe(
    reference: _MemoRef,
    path: str,
    arguments: tuple[str, ...],
    states: tuple[FileState, ...],
    level: str,
    timeout: float,
) -> HostToolchain:
    command = (path, *arguments)
    topic = "compiler with major\0" + "\0".join(arguments)
    stored = reference.memo.get(topic, states)
    if stored is None:
        facts = _ask(command, timeout)
        reference.memo.put(topic, states, facts.to_text())
    else:
        facts = _Facts.from_text(stored)
    kind = "clang" if "clang" in facts.version_text.lower() else "gcc"
    version = facts.version_text.partition("\n")[0]
    major = facts.major
    flags = (*_COMPILE_FLAGS, *isa.march_flags(level, kind, major), *_thread_flags(kind, level))
    libraries = _libraries(kind, facts.has_vector_math)
    told = (facts.to_text(), *arguments, *flags, *libraries)
    identity = hashlib.sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest()
    return HostToolchain(command, kind, version, major, level, flags, libraries, identity, timeout)


def _thread_flags(kind: str, level: str) -> tuple[str, ...]:
    """Descriptors make access to the twin's per-thread state cheap; aarch64 has them by default."""
    return ("-mtls-dialect=gnu2",) if kind == "gcc" and level.startswith("x86-64") else ()


def _libraries(kind: str, has_vector_math: bool) -> tuple[str, ...]:
    """What to link a kernel with; with all symbols defined, a missing one shows at build time."""
    vector_math = ("-lmvec",) if has_vector_math else ()
    if kind != "gcc":
        return (*vector_math, "-lm", "-Wl,-z,defs")
    # Kernels use neither libstdc++ nor start-up files; without them, linking takes half the time.
    # libgcc stands on both sides of libc because some of its parts need libc themselves.
    return ("-nostdlib", *vector_math, "-lm", "-lgcc", "-lc", "-lgcc", "-Wl,-z,defs")


def _refuse_fast_math(cxx: str, words: list[str]) -> None:
    bad = [word for word in words if word in _FAST_MATH]
    if bad:
        from pypto.build.compiler_errors import fast_math

        raise fast_math(cxx, bad[0])


def _locate(cxx: str | None, search_path: str) -> tuple[str, tuple[str, ...]]:
    """Absolute path and arguments of the compiler. Raises BuildError."""
    if cxx is None:
        for name in _CANDIDATES:
            path = _which(name, search_path)
            if path is not None:
                return path, ()
        from pypto.build.compiler_errors import missing

        raise missing(None, [f"{name}: not on PATH" for name in _CANDIDATES], search_path)
    words = _words(cxx, search_path)
    path = _which(words[0], search_path)
    if path is None:
        from pypto.build.compiler_errors import missing, quoting_advice

        where = "no executable file" if os.sep in words[0] else "not on PATH"
        help = quoting_advice(cxx, _executable)
        raise missing(cxx, [f"{words[0]}: {where}"], search_path, help)
    return path, tuple(words[1:])


def _words(cxx: str, search_path: str) -> list[str]:
    """CXX as a shell splits it: at least one word. Raises BuildError."""
    import shlex

    try:
        words = shlex.split(cxx)
    except ValueError as error:
        from pypto.build.compiler_errors import missing

        tried = [f"CXX cannot be split into words: {error}"]
        raise missing(cxx, tried, search_path, "close the quotation in CXX.") from None
    _refuse_fast_math(cxx, words)
    if not words:
        from pypto.build.compiler_errors import missing

        raise missing(cxx, ["CXX holds no word"], search_path)
    return words


def _which(name: str, search_path: str) -> str | None:
    if os.sep in name:
        return os.path.abspath(name) if _executable(name) else None
    for directory in search_path.split(os.pathsep):
        path = os.path.join(os.path.abspath(directory or "."), name)
        if _executable(path):
            return path
    return None


def _executable(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def _ask(command: tuple[str, ...], timeout: float) -> _Facts:
    version, errors = _question(command, "--version", timeout)
    plain = _pathless(version)
    major = _major(plain.partition("\n")[0])
    if major == 0:
        from pypto.build.compiler_errors import unusable

        raise unusable(command, "--version", errors + version, "its version cannot be read")
    target = _question(command, "-dumpmachine", timeout)[0].strip()
    # The name comes back unchanged where the library is not found.
    library = _question(command, "-print-file-name=libmvec.so", timeout)[0].strip()
    return _Facts(plain, major, target, os.path.isabs(library))


def _pathless(version: str) -> str:
    """The version text without what depends on name and place of the program.

    GNU compilers begin with the name they were called by; clang tells its directory.
    """
    import re

    lines = [line for line in version.strip().splitlines() if not line.startswith("InstalledDir:")]
    if not lines:
        return ""
    return "\n".join([re.sub(r"^\S+ (?=\()", "g++ ", lines[0]), *lines[1:]])


def _question(command: tuple[str, ...], argument: str, timeout: float) -> tuple[str, str]:
    """What the compiler answers, and what it printed besides (the loader's warnings, say)."""
    from pypto.build import process  # not on the path of a warm kernel
    from pypto.build.compiler_errors import unusable

    full = (*command, argument)
    try:
        done = process.run(full, cwd=None, timeout=min(timeout, 60.0), apart=True)
    except OSError as error:
        raise unusable(command, argument, "", str(error.strerror or error)) from error
    if not done.ok:
        printed, ending = done.errors + done.output, _ending(done, min(timeout, 60.0))
        raise unusable(command, argument, printed, ending, done.status is None)
    return done.output, done.errors


def _major(version: str) -> int:
    import re

    found = re.search(r"(?:^|[ -])(\d+)\.\d+", re.sub(r"\([^)]*\)", "", version))
    return int(found[1]) if found else 0


def invoke(
    toolchain: HostToolchain,
    arguments: Sequence[str],
    *,
    cwd: str,
    what: str,
    source: str | None = None,
) -> str:
    """Run the compiler in ``cwd``; what it printed (warnings). ``what`` names the thing compiled,
    ``source`` the directory of its text if that is not ``cwd``.

    Raises CompilerError where it fails or takes longer than the toolchain's time-out, and OSError
    where the file system is the reason.
    """
    import shlex

    from pypto.build import process  # not on the path of a warm kernel
    from pypto.build.compiler_errors import compiler_error, unusable

    command = (*toolchain.command, *arguments)
    try:
        done = process.run(command, cwd=cwd, timeout=toolchain.timeout)
    except (FileNotFoundError, PermissionError) as error:
        if os.path.isdir(cwd):
            raise unusable(toolchain.command, "", "", str(error.strerror)) from error
        raise
    ending = "" if done.ok else _ending(done, toolchain.timeout)
    if done.ok and "-o" in arguments:
        result = arguments[arguments.index("-o") + 1]
        if not os.path.exists(os.path.join(cwd, result)):
            ending = f"exit status 0, but it wrote no {result}"
    if not ending:
        return done.output
    _raise_place_error(done.output, cwd)
    raise compiler_error(
        what,
        ending,
        done.status is None,
        toolchain.version,
        shlex.join(command),
        done.output,
        done.dropped,
        source if source is not None else cwd,
    )


def _raise_place_error(output: str, cwd: str) -> None:
    import errno

    for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        if os.strerror(code) in output:
            raise OSError(code, os.strerror(code), cwd)


def _ending(done: process.Completed, timeout: float) -> str:
    if done.status is None:
        return f"stopped after {timeout:g} seconds (PYPTO_COMPILE_TIMEOUT sets the limit)"
    if done.status < 0:
        return f"killed by signal {-done.status}"
    return f"exit status {done.status}"
