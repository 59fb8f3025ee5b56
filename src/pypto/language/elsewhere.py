"""Public names whose functions this target does not have; calling one says where it is and why.

They are here so that ``from pypto import scaled_mm`` imports, and a kernel that calls it is told
what it can do instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from pypto.error import Diagnostic, FeNotImplementedError, Span

__all__ = [
    "ELSEWHERE",
    "METHODS",
    "Elsewhere",
    "create_shmem_signal",
    "create_shmem_tensor",
    "my_symbolic_pe",
    "normal",
    "online_softmax",
    "online_softmax_update",
    "quant_mx",
    "scaled_mm",
    "shmem_barrier_all",
    "shmem_clear_data",
    "shmem_clear_signal",
    "shmem_get",
    "shmem_put",
    "shmem_signal",
    "shmem_view",
    "shmem_wait_until",
    "uniform",
]


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """A public name of ``pypto`` that another target has. ``instead``: what to write here."""

    name: str
    why: str
    expected: str
    instead: str

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self.refuse("")

    def refuse(self, soc: str, span: Span | None = None) -> NoReturn:
        """Refuse a call that stands at ``span``, in a kernel for ``soc`` ("": the default)."""
        from pypto import target

        message = f"pypto.{self.name} {self.why}"
        got = target.canonical_name(soc)
        raise FeNotImplementedError(
            [Diagnostic(FeNotImplementedError, "F00005", message, span, self.expected, got,
                        self.instead)]
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<pypto.{self.name}, not on this target>"


def _later(name: str, instead: str, why: str = "") -> Elsewhere:
    return Elsewhere(name, f"exists on Ascend 950 only{why}", "an Ascend 950", instead)


def _between_devices(name: str) -> Elsewhere:
    return Elsewhere(
        f"distributed.{name}",
        "reaches the memory of other devices, and a kernel here runs on one device alone",
        "several devices that share memory",
        "launch one kernel per device, and exchange tensors in between with torch.distributed",
    )


_NUMBERS = "make the numbers outside and pass them as a tensor: {}(shape)"
_BLOCKS = ": its FP8 and FP4 blocks with shared exponents are dtypes of that chip"
_BY_HAND = "write it with pypto.amax, pypto.exp and pypto.sum: they run here"

scaled_mm = _later(
    "scaled_mm", "scale and multiply outside the kernel: torch.matmul of 16-bit floats", _BLOCKS
)
quant_mx = _later(
    "quant_mx", "quantise to DT_INT8: pypto.cast(pypto.round(x * scale), pypto.DT_INT8)", _BLOCKS
)
normal = _later("normal", _NUMBERS.format("torch.randn"))
uniform = _later("uniform", _NUMBERS.format("torch.rand"))
online_softmax = _later("experimental.online_softmax", _BY_HAND)
online_softmax_update = _later("experimental.online_softmax_update", _BY_HAND)
create_shmem_signal = _between_devices("create_shmem_signal")
create_shmem_tensor = _between_devices("create_shmem_tensor")
my_symbolic_pe = _between_devices("my_symbolic_pe")
shmem_barrier_all = _between_devices("shmem_barrier_all")
shmem_clear_data = _between_devices("shmem_clear_data")
shmem_clear_signal = _between_devices("shmem_clear_signal")
shmem_get = _between_devices("shmem_get")
shmem_put = _between_devices("shmem_put")
shmem_signal = _between_devices("shmem_signal")
shmem_view = _between_devices("shmem_view")
shmem_wait_until = _between_devices("shmem_wait_until")

ELSEWHERE: tuple[Elsewhere, ...] = (
    scaled_mm, quant_mx, normal, uniform,
    online_softmax, online_softmax_update,
    create_shmem_signal, create_shmem_tensor, my_symbolic_pe, shmem_barrier_all,
    shmem_clear_data, shmem_clear_signal, shmem_get, shmem_put, shmem_signal, shmem_view,
    shmem_wait_until,
)  # fmt: skip

METHODS = {"quant_mx": quant_mx}
"""Those that are methods of tensors, too."""
