"""Loading compiled kernels and the runtime library on the host."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING

from pypto._record import Record
from pypto.error import BuildError

if TYPE_CHECKING:
    import torch

__all__ = ["Binary", "DeviceStaging", "Runtime", "load", "load_runtime"]


class Binary(Record):
    """A loaded kernel: ``address`` of its ``PyptoKernel``, valid while ``owner`` lives."""

    address: int
    owner: object


class Runtime(Record):
    """The loaded runtime library: ``address`` of its ``PyptoRuntime`` and some of its fields."""

    address: int
    owner: object
    workers: int


class _RuntimeTable(ctypes.Structure):
    """The leading fields of ``PyptoRuntime``."""

    _fields_ = [("abi_version", ctypes.c_uint32), ("workers", ctypes.c_uint32)]


def load(path: str | os.PathLike[str], symbol: str) -> Binary:
    """Load the kernel binary at ``path`` and find its ``PyptoKernel`` named ``symbol``.

    All its symbols are resolved now and stay private to it, so that binaries cannot see each
    other. The library stays loaded while any ``owner`` of it lives, and after: it is never
    unloaded, since threads of the runtime may still stand in its code.

    Raises BuildError when the file is no loadable library or lacks the symbol. Whether it has the
    launcher's version of the binary interface is checked by ``Variant``, which knows the header.
    """
    library = _open(path)
    try:
        kernel = ctypes.c_uint32.in_dll(library, symbol)
    except ValueError as error:
        raise BuildError(f"the binary {os.fspath(path)} has no kernel {symbol!r}") from error
    return Binary(ctypes.addressof(kernel), library)


def load_runtime(path: str | os.PathLike[str], function: str = "pypto_runtime") -> Runtime:
    """Load the runtime library at ``path``; errors as :func:`load`."""
    library = _open(path)
    try:
        entry = getattr(library, function)
    except AttributeError as error:
        raise BuildError(f"the library {os.fspath(path)} has no {function}()") from error
    entry.restype = ctypes.c_void_p
    entry.argtypes = []
    address = entry()
    if address is None:
        raise BuildError(f"the runtime library {os.fspath(path)} could not start")
    table = _RuntimeTable.from_address(address)
    return Runtime(int(address), library, int(table.workers))


def _open(path: str | os.PathLike[str]) -> ctypes.CDLL:
    # A name without a slash would be searched for in the system's library path.
    name = os.path.abspath(os.fspath(path))
    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise BuildError(f"cannot load the binary {name}: {error}") from error


class DeviceStaging(Record):
    """Runs kernels of the host on tensors of a torch device, by copies: a ``Staging``.

    ``device`` is the type of the device, ``"npu"`` for the simulator with tensors of an NPU.
    """

    device: str = "npu"

    def covers(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor is on the device, and a plain tensor there."""
        import torch

        return tensor.device.type == self.device and type(tensor) in (
            torch.Tensor,
            torch.nn.Parameter,
        )

    def fetch(self, tensor: torch.Tensor) -> torch.Tensor:
        """A dense copy in host memory; waits for the device."""
        return tensor.detach().cpu().contiguous()

    def store(self, host: torch.Tensor, tensor: torch.Tensor) -> None:
        """Copy ``host`` back; later work on the device sees it."""
        import torch

        with torch.no_grad():
            tensor.copy_(host)
