"""Instruction-set levels by name. Never ``native``: a name means the same on every machine."""

from __future__ import annotations

import functools
import os

__all__ = ["host_isa", "isa_from_cpuinfo", "march_flags"]

_X86_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})
_X86_V3 = _X86_V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_X86_V4 = _X86_V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_X86_LEVELS = (("x86-64-v4", _X86_V4), ("x86-64-v3", _X86_V3), ("x86-64-v2", _X86_V2))

_ARM_V82 = frozenset({"asimd", "atomics", "fphp", "asimdhp", "asimdrdm"})
_ARM_LEVELS = (
    ("armv8.2-a+fp16+bf16", _ARM_V82 | {"bf16"}),
    ("armv8.2-a+fp16", _ARM_V82),
    ("armv8-a", frozenset({"asimd"})),
)

# Compilers older than the level names take the features one by one.
_V2_FEATURES = ("-mcx16", "-msahf", "-mpopcnt", "-msse3", "-mssse3", "-msse4.1", "-msse4.2")
_V3_FEATURES = (
    *_V2_FEATURES,
    *("-mavx", "-mavx2", "-mbmi", "-mbmi2", "-mf16c", "-mfma", "-mlzcnt", "-mmovbe", "-mxsave"),
)
_V4_FEATURES = (
    *_V3_FEATURES,
    *("-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"),
)
_FEATURES = {
    "x86-64-v2": _V2_FEATURES,
    "x86-64-v3": _V3_FEATURES,
    "x86-64-v4": _V4_FEATURES,
}
_LEVEL_NAMES_SINCE = {"gcc": 11, "clang": 12}


def isa_from_cpuinfo(machine: str, cpuinfo: str) -> str:
    """The highest level that ``cpuinfo`` (the text of /proc/cpuinfo) admits on ``machine``.

    On another kind of machine the answer is empty: the compiler's own baseline.
    """
    if machine in ("x86_64", "AMD64"):
        flags = _flags(cpuinfo, "flags")
        return next((name for name, needed in _X86_LEVELS if needed <= flags), "x86-64")
    if machine in ("aarch64", "arm64"):
        flags = _flags(cpuinfo, "Features")
        return next((name for name, needed in _ARM_LEVELS if needed <= flags), "armv8-a")
    return ""


def _flags(cpuinfo: str, label: str) -> frozenset[str]:
    for line in cpuinfo.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == label:
            return frozenset(value.split())
    return frozenset()


@functools.cache
def host_isa() -> str:
    """The level of this machine; its baseline where /proc/cpuinfo cannot be read."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            # The first core; the rest takes long on large machines.
            cpuinfo = file.read(16384).decode("latin-1")
    except OSError:
        cpuinfo = ""
    return isa_from_cpuinfo(os.uname().machine, cpuinfo)


def march_flags(isa: str, kind: str, major: int) -> tuple[str, ...]:
    """The compiler flags of level ``isa`` for a compiler of ``kind`` (gcc or clang) and version."""
    if not isa:
        return ()
    if isa in _FEATURES and major < _LEVEL_NAMES_SINCE[kind]:
        return ("-march=x86-64", *_FEATURES[isa])
    return (f"-march={isa}",)
