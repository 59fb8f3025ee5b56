"""Words and marks of C++ and Ascend C that the reader knows."""

from __future__ import annotations

__all__ = [
    "ASSIGN",
    "BINDING",
    "BUILT_IN",
    "CASTS",
    "MULTIPLE",
    "NO_NAMES",
    "PREFIX",
    "SPACES",
    "WORDS",
]

BUILT_IN = frozenset(
    """void bool char short int long signed unsigned float double half bfloat16_t int4b_t auto
    int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t size_t ptrdiff_t uintptr_t
    intptr_t wchar_t float16_t bfloat16 pipe_t event_t""".split()
)
MULTIPLE = frozenset("short int long signed unsigned char double".split())
SPACES = frozenset("__gm__ __ubuf__ __cbuf__ __ca__ __cb__ __cc__ __fbuf__".split())
CASTS = frozenset("static_cast reinterpret_cast const_cast dynamic_cast".split())
WORDS = frozenset("new delete throw typeid co_await co_yield".split())
NO_NAMES = frozenset(
    """return if else for while do switch case default break continue goto new delete throw sizeof
    operator try catch typename template this true false nullptr""".split()
)

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
BINDING = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
ASSIGN = frozenset("= += -= *= /= %= &= |= ^= <<= >>=".split())
PREFIX = frozenset(("!", "~", "-", "+", "*", "&", "++", "--"))
