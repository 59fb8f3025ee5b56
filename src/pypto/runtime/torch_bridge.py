"""What the launcher needs to know of torch, found through torch's public interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from pypto.ir.dtype import DataType

if TYPE_CHECKING:
    import torch

__all__ = ["DLPACK_DTYPES", "LauncherModule", "connect", "torch_dtype"]

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL, _E4M3FN, _E5M2 = 0, 1, 2, 4, 6, 10, 12

_D = DataType

#: DLPack's type code and bits of one element, for every element type that torch and DLPack have.
DLPACK_DTYPES: dict[DataType, tuple[int, int]] = {
    _D.DT_INT8: (_INT, 8), _D.DT_INT16: (_INT, 16), _D.DT_INT32: (_INT, 32),
    _D.DT_INT64: (_INT, 64), _D.DT_UINT8: (_UINT, 8), _D.DT_UINT16: (_UINT, 16),
    _D.DT_UINT32: (_UINT, 32), _D.DT_UINT64: (_UINT, 64), _D.DT_FP16: (_FLOAT, 16),
    _D.DT_FP32: (_FLOAT, 32), _D.DT_DOUBLE: (_FLOAT, 64), _D.DT_BF16: (_BFLOAT, 16),
    _D.DT_BOOL: (_BOOL, 8), _D.DT_FP8E4M3: (_E4M3FN, 8), _D.DT_FP8E5M2: (_E5M2, 8),
}  # fmt: skip


class LauncherModule(Protocol):
    """The part of the compiled ``_pypto_launcher`` that is used from Python."""

    def init(
        self,
        tensor_types: tuple[type, ...],
        exchange_api: object,
        dtypes: dict[Any, int],
        strided: object,
        increment_version: Callable[[tuple[Any, ...]], None],
        is_grad_enabled: Callable[[], bool],
        forward_levels: dict[str, Any] | None,
        /,
    ) -> str: ...


def torch_dtype(dtype: DataType) -> torch.dtype | None:
    """torch's dtype object of an element type; None when this torch has none."""
    import torch

    name = dtype.torch_name
    found = getattr(torch, name, None) if name is not None else None
    return found if isinstance(found, torch.dtype) else None


def connect(launcher: LauncherModule, *, route: str | None = None) -> str:
    """Tell the launcher about torch; imports torch.

    ``route`` is ``"dlpack"``, ``"attributes"``, or None for the fastest one there is. Returns
    the route that is used: ``"attributes"`` also when ``"dlpack"`` was asked for and is missing.
    """
    import torch

    if route not in (None, "dlpack", "attributes"):
        raise ValueError(f"route must be 'dlpack' or 'attributes', not {route!r}")
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    dtypes = {
        found: code << 8 | bits
        for dtype, (code, bits) in DLPACK_DTYPES.items()
        if (found := torch_dtype(dtype)) is not None
    }
    return launcher.init(
        (torch.Tensor, torch.nn.Parameter),
        None if route == "attributes" else capsule,
        dtypes,
        torch.strided,
        _version_increment(),
        torch.is_grad_enabled,
        _forward_levels(),
    )


def _forward_levels() -> dict[str, Any] | None:
    """Where torch keeps ``_current_level``, which is -1 while no level of forward-mode
    differentiation is active; None when this torch does not say."""
    import torch.autograd.forward_ad as forward_ad

    names = vars(forward_ad)
    return names if "_current_level" in names else None


def _version_increment() -> Callable[[tuple[Any, ...]], None]:
    """The fastest function that increments the version counters of a tuple of tensors.

    ``torch.autograd.graph.increment_version`` is the public one; it hands over to a C function,
    which is taken directly where it exists and accepts a tuple (half the time). Old versions of
    torch take single tensors only.
    """
    import torch

    public = torch.autograd.graph.increment_version
    direct = getattr(torch._C, "_increment_version", None)
    with torch.inference_mode(False):  # the first call may be inside it; those have no counter
        probe = torch.zeros(1, device="cpu")
    for function in (direct, public):
        if function is None:
            continue
        before = probe._version
        try:
            function((probe,))
        except (TypeError, AttributeError, RuntimeError):
            continue
        if probe._version == before + 1:
            chosen: Callable[[tuple[Any, ...]], None] = function
            return chosen

    def each(tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            public(tensor)

    return each
