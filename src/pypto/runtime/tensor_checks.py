"""What a kernel takes as a tensor argument, and why everything else is refused.

Only the slow path comes here: the launcher has met something that it does not run as it stands.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from pypto.error import Diagnostic, PyptoRtError, RtTypeError, RtValueError
from pypto.ir.dtype import DataType
from pypto.ir.signature import TensorSignature
from pypto.language.annotation import TensorAnnotation
from pypto.language.status import StatusType
from pypto.runtime.parameters import Parameter

if TYPE_CHECKING:
    import torch

__all__ = ["Staging", "check_tensor", "describe", "is_plain_tensor", "is_tensor"]

MAX_RANK = 5


class Staging(Protocol):
    """How tensors of a device are used by kernels that run on the host: copied in and out."""

    def covers(self, tensor: torch.Tensor) -> bool:
        """Whether this tensor belongs to the device."""

    def fetch(self, tensor: torch.Tensor) -> torch.Tensor:
        """A dense copy in host memory."""

    def store(self, host: torch.Tensor, tensor: torch.Tensor) -> None:
        """Copy ``host`` back to ``tensor``."""


def is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Whether ``value`` is a torch tensor of any kind; does not import torch."""
    torch_module = sys.modules.get("torch")
    return torch_module is not None and isinstance(value, torch_module.Tensor)


def is_plain_tensor(value: object) -> TypeGuard[torch.Tensor]:
    """Whether ``value`` is a tensor of torch's own classes; a subclass may answer in its own way
    whatever it is asked."""
    torch_module = sys.modules.get("torch")
    return torch_module is not None and type(value) in (
        torch_module.Tensor,
        torch_module.nn.Parameter,
    )


def describe(value: object) -> str:
    """A value as messages show it: dtype, shape and device of a tensor, else type and value."""
    if is_tensor(value):
        return _describe_tensor(value)
    if value is None:
        return "None"
    kind = type(value).__name__
    if type(value).__module__ == "numpy" and hasattr(value, "shape"):
        return f"numpy {kind} of {getattr(value, 'dtype', '?')}, shape {list(value.shape)}"
    try:
        text = repr(value)
    except Exception:  # the user's __repr__; the message must not depend on it
        text = object.__repr__(value)
    return f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"


def _describe_tensor(value: torch.Tensor) -> str:
    import torch

    name = "tensor" if type(value).__name__ == "Tensor" else type(value).__name__
    with torch._C.DisableTorchFunctionSubclass():  # what it is, not what a subclass makes of it
        dtype = str(value.dtype).removeprefix("torch.")
        shape = "nested" if value.is_nested else list(value.shape)
        return f"{name} of {dtype}, shape {shape}, on {value.device}"


def check_tensor(
    parameter: Parameter, value: object, staging: Staging | None = None
) -> TensorSignature | Diagnostic:
    """The signature of a tensor argument, or the reason why it is refused.

    The argument must be a plain strided tensor with memory, on the CPU (or covered by ``staging``),
    that torch records nothing for, and fit the annotation's dtype, rank and sizes.
    """
    if not is_tensor(value):
        return _refuse_value(parameter, value)
    staged = staging is not None and staging.covers(value)
    refused = _check_kind(parameter, value, staged) or _check_gradient(parameter, value)
    if refused is not None:
        return refused
    dtype = _dtype_of(value)
    annotation = parameter.tensor or TensorAnnotation()
    if dtype is None or (annotation.dtype is not None and annotation.dtype != dtype):
        return _refuse_dtype(parameter, value, annotation.dtype)
    return _check_memory(parameter, value) or _check_shape(parameter, value, annotation, dtype)


def _expected(parameter: Parameter) -> str:
    annotation = parameter.tensor
    if annotation is None or (annotation.shape is None and annotation.dtype is None):
        return "a torch.Tensor on the CPU"
    shape = "any shape" if annotation.shape is None else f"shape {_shape_text(annotation)}"
    dtype = "" if annotation.dtype is None else f" of {_dtype_text(annotation.dtype)}"
    return f"tensor{dtype}, {shape}"


def _shape_text(annotation: TensorAnnotation) -> str:
    axes = []
    for axis in annotation.shape or ():
        axes.append(axis.name if isinstance(axis, StatusType) else str(axis))
    return f"[{', '.join(axes + ['...'] * annotation.open)}]"


def _dtype_text(dtype: DataType) -> str:
    return dtype.torch_name or str(dtype)


def _diagnostic(
    cls: type[PyptoRtError],
    parameter: Parameter,
    value: object,
    message: str,
    *,
    expected: str | None = None,
    got: str | None = None,
    help: str | None = None,
) -> Diagnostic:
    return Diagnostic(
        cls,
        cls.default_code,
        f"argument {parameter.name!r} {message}",
        expected=expected or _expected(parameter),
        got=got or describe(value),
        help=help,
        notes=parameter.notes,
    )


def _refuse_value(parameter: Parameter, value: object) -> Diagnostic:
    name = parameter.name
    help = None
    if type(value).__module__ == "numpy":
        help = f"torch.from_numpy({name}) shares the array's memory"
    elif isinstance(value, bool | int | float | list | tuple):
        help = f"torch.tensor({name}) makes a tensor of it"
    return _diagnostic(RtTypeError, parameter, value, "is no tensor", help=help)


def _check_kind(parameter: Parameter, value: torch.Tensor, staged: bool) -> Diagnostic | None:
    import torch

    def refuse(message: str, help: str | None = None) -> Diagnostic:
        return _diagnostic(RtTypeError, parameter, value, message, help=help)

    name = parameter.name
    if not staged and not is_plain_tensor(value):
        kind = type(value).__name__
        if kind == "FakeTensor":
            return refuse("is a FakeTensor: it has no data")
        if kind == "DTensor":
            return refuse("is distributed", f"{name}.to_local() is the part of this process")
        return refuse(
            f"is of {kind}, a subclass of torch.Tensor that may give it another meaning",
            f"{name}.as_subclass(torch.Tensor) is the plain tensor",
        )
    if value.is_nested:
        return refuse("is nested", f"torch.nested.to_padded_tensor({name}, 0.0) is dense")
    if value.is_quantized:
        return refuse("is quantised", f"{name}.dequantize() or {name}.int_repr()")
    if value.layout is not torch.strided:
        layout = str(value.layout).removeprefix("torch.")
        return refuse(f"has layout {layout}", f"{name}.to_dense()")
    if value.device.type == "meta":
        return refuse("is on the meta device: it has no data")
    if not staged and value.device.type != "cpu":
        return refuse(f"is on {value.device}", f"{name}.cpu()")
    return None


def _check_gradient(parameter: Parameter, value: torch.Tensor) -> Diagnostic | None:
    import torch

    if _has_tangent(value):
        return _diagnostic(
            RtTypeError,
            parameter,
            value,
            "has a tangent (forward-mode differentiation), and a kernel computes none",
            expected="a tensor without a tangent",
            help=f"torch.autograd.forward_ad.unpack_dual({parameter.name}).primal, or give the "
            "tangent in jvp() of a torch.autograd.Function",
        )
    if not (value.requires_grad and torch.is_grad_enabled()):
        return None
    return _diagnostic(
        RtTypeError,
        parameter,
        value,
        "requires grad, and a kernel records no gradient",
        expected="a tensor that needs no gradient, or grad mode off",
        help=f"call it inside torch.no_grad(), or pass {parameter.name}.detach()",
    )


def _has_tangent(value: torch.Tensor) -> bool:
    """Whether torch would compute a tangent of what is made of ``value``."""
    import torch
    import torch.autograd.forward_ad as forward_ad

    if getattr(forward_ad, "_current_level", -1) == -1:
        return False
    enabled = getattr(torch._C, "_is_fwd_grad_enabled", None)
    if enabled is not None and not enabled():  # inside a torch.autograd.Function, for one
        return False
    unpack: Any = forward_ad.unpack_dual
    return unpack(value).tangent is not None


def _dtype_of(value: torch.Tensor) -> DataType | None:
    name = str(value.dtype).removeprefix("torch.")
    return next((dtype for dtype in DataType if dtype.torch_name == name), None)


def _refuse_dtype(parameter: Parameter, value: torch.Tensor, wanted: DataType | None) -> Diagnostic:
    if wanted is None:
        got = str(value.dtype).removeprefix("torch.")
        return _diagnostic(RtTypeError, parameter, value, f"has dtype {got}, which no kernel takes")
    if wanted.torch_name is None:
        return _diagnostic(
            RtTypeError, parameter, value, f"cannot have dtype {wanted}: torch has no such dtype"
        )
    name = parameter.name
    help = f"{name}.to(torch.{wanted.torch_name})"
    if value.is_complex():  # .to() would drop the imaginary parts
        help = f"{name}.real and {name}.imag are its parts, torch.view_as_real({name}) holds both"
    return _diagnostic(RtTypeError, parameter, value, "has the wrong dtype", help=help)


def _check_memory(parameter: Parameter, value: torch.Tensor) -> Diagnostic | None:
    """Refuse tensors whose elements are not all in memory that the tensor owns."""
    if _is_functional(value):
        return _diagnostic(
            RtTypeError,
            parameter,
            value,
            "stands for another tensor, as inside torch.func.functionalize",
            help="call the kernel outside of it",
        )
    try:
        address = value.data_ptr()
        held = value.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        # Inside torch.vmap, torch.func.grad and the like a tensor stands for another one.
        return _diagnostic(
            RtTypeError,
            parameter,
            value,
            "has no memory of its own, as inside torch.vmap or torch.func.grad",
            help="call the kernel outside of it, with an axis more for what vmap maps over",
        )
    if value.numel() == 0:
        return None
    last = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
    needed = (value.storage_offset() + last + 1) * value.element_size()
    if address != 0 and needed <= held:
        return None
    return _diagnostic(
        RtValueError,
        parameter,
        value,
        "has lost its memory",
        expected=f"a storage of {needed} bytes",
        got=f"a storage of {held} bytes",
    )


def _is_functional(value: torch.Tensor) -> bool:
    import torch

    known = getattr(torch, "_is_functional_tensor", None)
    return known is not None and bool(known(value))


def _check_shape(
    parameter: Parameter, value: torch.Tensor, annotation: TensorAnnotation, dtype: DataType
) -> TensorSignature | Diagnostic:
    sizes = tuple(int(size) for size in value.shape) or (1,)
    axes: tuple[Any, ...] = annotation.shape or ()
    closed = annotation.shape is not None and not annotation.open
    if len(sizes) < len(axes) or (closed and len(sizes) != len(axes)):
        way = _rank_help(parameter, annotation, sizes)
        return _diagnostic(RtValueError, parameter, value, "has the wrong rank", help=way)
    if len(sizes) > MAX_RANK:
        return _diagnostic(
            RtValueError, parameter, value, "has too many axes",
            expected=f"at most {MAX_RANK} axes",
            help=f"{parameter.name}.flatten(0, {len(sizes) - MAX_RANK}) makes one of the first",
        )  # fmt: skip
    for axis, (wanted, size) in enumerate(zip(axes, sizes, strict=False)):
        if isinstance(wanted, int) and wanted >= 0 and wanted != size:
            help = _swapped_help(parameter, annotation, sizes)
            return _diagnostic(
                RtValueError, parameter, value, f"has the wrong size in axis {axis}", help=help
            )
    axes += (StatusType.STATIC,) * (len(sizes) - len(axes))
    static = [_is_static(axis) for axis in axes]
    return TensorSignature(
        dtype,
        tuple(size if keep else None for size, keep in zip(sizes, static, strict=True)),
        tuple(str(axis) if isinstance(axis, str) else None for axis in axes),
    )


def _is_static(axis: object) -> bool:
    if isinstance(axis, StatusType):
        return not axis.is_dynamic
    return isinstance(axis, int) and axis >= 0


def _rank_help(parameter: Parameter, annotation: TensorAnnotation, sizes: tuple[int, ...]) -> str:
    """How to give a tensor of ``sizes`` the annotated number of axes."""
    wanted, name = len(annotation.shape or ()), parameter.name
    more = wanted - len(sizes)
    if more > 0:
        way = f"{name}{'.unsqueeze(0)' * more} has {more} more, of size 1"
    elif more == -1 and 1 in sizes:
        way = f"{name}.squeeze({sizes.index(1)}) has one less, that of size 1"
    else:
        way = f"{name}.flatten(0, {-more}) makes one of the first {1 - more}"
    return f"{way}; the shape [...] in the annotation takes any number of axes"


def _swapped_help(
    parameter: Parameter, annotation: TensorAnnotation, sizes: tuple[int, ...]
) -> str | None:
    if len(sizes) == 2 and annotation.shape == sizes[::-1]:
        return f"its axes are swapped: {parameter.name}.t() has this shape"
    return None
