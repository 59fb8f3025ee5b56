"""Keys and digests: what makes two compilations the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

from pypto.build.encode import encode
from pypto.build.files import file_digest
from pypto.build.memo import FileState, Memo, file_state

__all__ = ["digest_tree", "entry_key", "probe_key", "token_digest"]


def probe_key(fields: Mapping[str, object]) -> str:
    """SHA-256 (hex) of what is known of a call without parsing the kernel; names a manifest.

    Raises FeTypeError for a field of a type that has no canonical encoding.
    """
    return _key(b"pypto probe 1\0", fields)


def entry_key(fields: Mapping[str, object]) -> str:
    """SHA-256 (hex) of all that can change a compiled thing. Raises as :func:`probe_key`."""
    return _key(b"pypto entry 1\0", fields)


def _key(domain: bytes, fields: Mapping[str, object]) -> str:
    return hashlib.sha256(domain + encode(dict(fields))).hexdigest()


def digest_tree(
    directories: Iterable[tuple[str, str]], suffixes: tuple[str, ...], memo: Memo
) -> str:
    """SHA-256 (hex) of names and contents of all files with one of ``suffixes``.

    ``directories`` are (label, path): the label, not the path, enters the digest. Where no file has
    changed by size, mtime and inode, the files are not read. Raises OSError.
    """
    found: list[tuple[str, FileState]] = []
    for label, path in directories:
        _collect(path, f"{label}/", suffixes, found)
    found.sort()
    states = [state for _, state in found]
    topic = "tree\0" + "\0".join([name for name, _ in found])
    known = memo.get(topic, states)
    if known is not None:
        return known
    digest = hashlib.sha256()
    for name, state in found:
        digest.update(encode((name, file_digest(state[0]))))
    memo.put(topic, states, digest.hexdigest())
    return digest.hexdigest()


def _collect(
    directory: str, prefix: str, suffixes: tuple[str, ...], found: list[tuple[str, FileState]]
) -> None:
    """Add name (``prefix`` and the path below ``directory``) and state of each file."""
    with os.scandir(directory) as children:
        for child in children:
            name = child.name
            if child.is_dir(follow_symlinks=False):
                if name != "__pycache__" and not name.startswith("."):
                    _collect(child.path, f"{prefix}{name}/", suffixes, found)
            elif name.endswith(suffixes):
                found.append((prefix + name, file_state(child.path)))


def token_digest(source: str) -> str:
    """SHA-256 (hex) of the tokens of Python text: no comments, layout or positions.

    Depends on each token and on the block structure, not on indentation width, blank lines, line
    continuations or line ends. The text may be indented as a whole. Raises SyntaxError where it
    cannot be read as tokens.
    """
    import io
    import tokenize  # only while compiling

    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
    layout = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)  # their text is mere layout
    text = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        tokens = [
            (tokenize.tok_name[token.type], "" if token.type in layout else token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in skipped
        ]
    except (tokenize.TokenError, IndentationError) as error:
        raise SyntaxError(f"cannot be read as Python tokens: {error}") from error
    if tokens and tokens[0][0] == "INDENT":  # a method or nested function
        tokens = tokens[1:-1] if tokens[-1][0] == "DEDENT" else tokens[1:]
    return hashlib.sha256(b"pypto tokens 1\0" + encode(tokens)).hexdigest()
