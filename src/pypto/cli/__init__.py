"""The command ``pypto``: run a program and show its kernels, compile ahead, look after the cache.

Exit codes: 0 done; 1 something failed (a kernel that cannot be built, a problem found); 2 wrong
usage, or not possible on this machine; 130 interrupted. ``run`` gives the program's own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypto import __version__
from pypto.error import PyptoError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["main", "sample_arguments"]

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended, as shells give it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments`` (default: those of the process); the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["run"] and given[1:2] not in (["-h"], ["--help"]):
        # The program's arguments are its own, so argparse does not see them.
        from pypto.cli.run import run

        return run(given[1:])
    from pypto.cli.output import abandon, of_output

    try:
        try:
            return _main(given)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if not of_output(error):
            raise
        abandon(error)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(given: list[str]) -> int:
    from pypto.cli.frames import plain_warnings

    if given[:1] == ["run"]:
        from pypto.cli.run import HELP

        sys.stdout.write(HELP)
        return 0
    parsed = _parser().parse_args(given)
    try:
        with plain_warnings():
            return _dispatch(parsed)
    except PyptoError as error:
        print(error, file=sys.stderr)
        return 1


class _Parser(argparse.ArgumentParser):
    """A parser that says when its help cannot be written, which argparse passes over."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if message:
            (file or sys.stderr).write(message)


def _dispatch(parsed: argparse.Namespace) -> int:
    if parsed.command == "compile":
        from pypto.cli.compile import compile_command

        return compile_command(parsed)
    if parsed.command == "cache":
        from pypto.cli.cache import cache_command

        return cache_command(parsed)
    if parsed.command == "lint":
        from pypto.cli.lint import lint_command

        return lint_command(parsed)
    from pypto.cli.doctor import doctor_command

    return doctor_command()


def _parser() -> argparse.ArgumentParser:
    from pypto.cli.run import USAGE

    parser = _Parser(
        prog="pypto",
        description="Compile Python kernels to Ascend C and run them on an NPU or on this CPU.",
    )
    parser.add_argument("--version", action="version", version=f"pypto {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", usage=USAGE, help="run a program and show what it compiles")

    compile_parser = commands.add_parser("compile", help="build kernels ahead of their first call")
    compile_parser.add_argument(
        "module", metavar="FILE_OR_MODULE[:KERNEL]", help="a file, or a module's dotted name"
    )
    compile_parser.add_argument(
        "--target",
        choices=("cpu", "npu", "source"),
        default="cpu",
        help="what to build for; source: the Ascend C text alone (default: cpu)",
    )
    compile_parser.add_argument("--arch", help="chip, such as ascend910b or ascend910_93")
    compile_parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=4,8",
        help="sizes of a tensor parameter whose annotation leaves them open; may be repeated",
    )
    compile_parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter that is no tensor, read as its annotation says: 4, 0.5, true, "
        "text; may be repeated",
    )
    compile_parser.add_argument(
        "--output", metavar="DIR", help="where --target source writes (default: here)"
    )
    compile_parser.add_argument(
        "-j", "--jobs", type=int, metavar="N", help="compilations at once (default: all cores)"
    )

    cache_parser = commands.add_parser("cache", help="show or clear the cache of kernels")
    actions = cache_parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("info", help="where it is and how much it holds")
    actions.add_parser("list", help="all kernels, last used first")
    actions.add_parser("verify", help="check every file against its checksum")
    remove = actions.add_parser("rm", help="remove kernels")
    remove.add_argument("name", nargs="*", help="kernel names, or keys (8 digits are enough)")
    remove.add_argument("--all", action="store_true", help="remove all kernels")

    lint_parser = commands.add_parser("lint", help="check Ascend C text against static rules")
    lint_parser.add_argument(
        "file", nargs="*", metavar="FILE.cpp", help="Ascend C text; - is standard input"
    )
    lint_parser.add_argument(
        "--rules", action="store_true", help="list the rules with their reasons, and check nothing"
    )
    lint_parser.add_argument(
        "--disable",
        action="append",
        default=[],
        metavar="RULE",
        help="leave out a rule, or several with commas between them; may be repeated",
    )
    lint_parser.add_argument(
        "--target", default="", metavar="CHIP", help="chip whose memories and limits hold"
    )

    commands.add_parser("doctor", help="check compiler, CANN, torch and cache; first problem first")
    return parser


def sample_arguments(description: str | None) -> None:
    """Read the command line of a sample: ``--dump[=LEVELS]`` and ``--dump-dir DIR``."""
    from pypto import _dump, _paths

    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dump",
        nargs="?",
        const="ascendc",
        metavar="LEVELS",
        help=f"print the compiled kernels: {', '.join(_dump.LEVELS)} or all (default: ascendc)",
    )
    parser.add_argument("--dump-dir", metavar="DIR", help="write them to files in DIR instead")
    parsed = parser.parse_args()
    if parsed.dump is None and parsed.dump_dir is None:
        return
    try:
        levels = _dump.parse_levels(parsed.dump or "")
    except PyptoError as error:
        parser.error(str(error))
    if parsed.dump_dir == "":
        parser.error("--dump-dir needs a directory")
    why = None if parsed.dump_dir is None else _paths.directory_problem(parsed.dump_dir)
    if why is not None:
        parser.error(f"--dump-dir cannot be used: {parsed.dump_dir}: {why}")
    # From the root on: the sample may change the directory.
    place = None if parsed.dump_dir is None else _paths.absolute(parsed.dump_dir, "--dump-dir")
    _dump.set_request(_dump.DumpRequest(levels, place))
