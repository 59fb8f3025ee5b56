"""What the figures were measured on: enough to compare, nothing that names the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform

__all__ = ["describe"]


def describe() -> dict[str, str]:
    """Facts by name: processor, cores, memory, system, and versions of the tools."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{_memory() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load": f"{os.getloadavg()[0]:.1f} at the start",
    }
    for name in ("pypto", "torch", "numpy", "numba"):
        try:
            facts[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            facts[name] = "not installed"
    facts["compiler"] = _compiler()
    return facts


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux: the generic name has to do
    return platform.processor() or platform.machine()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _compiler() -> str:
    from pypto.build.store import open_store
    from pypto.build.toolchain import find_host_toolchain

    toolchain = find_host_toolchain(open_store().memo)
    return f"{toolchain.version}, {toolchain.isa}"
