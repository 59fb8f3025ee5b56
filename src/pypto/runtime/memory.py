"""Which tensors share memory, and copies for those that a kernel cannot use as they stand.

A kernel reads and writes dense tensors, and a written tensor shares memory with another one only
where it is exactly the same (then the kernel was compiled for that). :func:`normalise` brings
a call into this form: it copies inputs, and outputs there and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypto._record import Record
from pypto.error import Diagnostic, RtValueError, raise_diagnostics
from pypto.runtime.parameters import Parameter
from pypto.runtime.tensor_checks import Staging, describe, is_tensor

if TYPE_CHECKING:
    import torch

__all__ = ["Prepared", "alias_classes", "normalise"]

#: Above this many elements overlapping extents count as overlapping elements: telling them apart
#: needs one integer for each element.
EXACT_OVERLAP_LIMIT = 1 << 22


class _Store(Record):
    host: torch.Tensor
    target: torch.Tensor
    staging: Staging | None

    def run(self) -> None:
        import torch

        # torch writes tensors made in inference mode there only; others as an in-place operation.
        mode = torch.inference_mode() if self.target.is_inference() else torch.no_grad()
        with mode:
            if self.staging is not None:
                self.staging.store(self.host, self.target)
            else:
                self.target.copy_(self.host)


class Prepared(Record):
    """Arguments that a kernel can use. After the kernel, :meth:`finish` copies outputs back."""

    args: tuple[object, ...]
    stores: tuple[_Store, ...] = ()

    def finish(self) -> None:
        for store in self.stores:
            store.run()


def alias_classes(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """A class number for each tensor: equal for tensors that are exactly the same memory.

    The same means: address, shape, strides and dtype. Empty tensors share nothing.
    """
    seen: dict[object, int] = {}
    return tuple(
        seen.setdefault(_identity(tensor, number), len(seen))
        for number, tensor in enumerate(tensors)
    )


def _identity(tensor: torch.Tensor, number: int) -> object:
    if tensor.numel() == 0:
        return number
    shape = tuple(tensor.shape) or (1,)
    strides = tuple(tensor.stride()) or (1,)
    steps = tuple(step for step, size in zip(strides, shape, strict=True) if size != 1)
    return (tensor.data_ptr(), shape, steps, tensor.dtype, tensor.is_neg())


def normalise(
    kernel: str,
    parameters: tuple[Parameter, ...],
    values: tuple[object, ...],
    written: frozenset[str],
    *,
    whole: frozenset[str] = frozenset(),
    staging: Staging | None = None,
) -> Prepared:
    """Arguments for ``kernel`` made of checked ``values``, one for each parameter.

    ``written`` names the tensor parameters that the kernel writes, ``whole`` those of which it
    writes every element (their old values are not copied in). Dense tensors are passed on; others
    are replaced by dense copies. An input that partly overlaps a written tensor is copied, so that
    it keeps its old values. Raises RtValueError for a written tensor that overlaps itself or
    another written tensor.
    """
    found = [
        (parameter, value)
        for parameter, value in zip(parameters, values, strict=True)
        if is_tensor(value)
    ]
    outputs = [(p, value) for p, value in found if p.name in written and value.numel() != 0]
    raise_diagnostics(_output_problems(kernel, outputs))
    dense, stores = _dense_tensors(found, outputs, written, whole, staging)
    args = tuple(
        dense.get(parameter.name, value)
        for parameter, value in zip(parameters, values, strict=True)
    )
    return Prepared(args, tuple(stores))


def _dense_tensors(
    found: list[tuple[Parameter, torch.Tensor]],
    outputs: list[tuple[Parameter, torch.Tensor]],
    written: frozenset[str],
    whole: frozenset[str],
    staging: Staging | None,
) -> tuple[dict[str, torch.Tensor], list[_Store]]:
    """A usable tensor for each parameter of ``found``, one for all that are the same memory."""
    made: dict[object, torch.Tensor] = {}
    stores: list[_Store] = []
    dense: dict[str, torch.Tensor] = {}
    identities = [_identity(value, number) for number, (_, value) in enumerate(found)]
    output_ids = {_identity(value, -1) for _, value in outputs}
    read = {i for i, (p, _) in zip(identities, found, strict=True) if p.name not in written}
    # Outputs first: an input that is the same memory as an output takes the output's copy.
    order = sorted(range(len(found)), key=lambda number: found[number][0].name not in written)
    for number in order:
        (parameter, value), identity = found[number], identities[number]
        if identity not in made:
            route = staging if staging is not None and staging.covers(value) else None
            clash = identity not in output_ids and any(
                share_elements(value, output) for _, output in outputs
            )
            usable = route is None and not clash and value.is_contiguous() and not value.is_neg()
            copy_in = parameter.name not in whole or identity in read
            made[identity] = value if usable else _dense_copy(parameter, value, route, copy_in)
            if parameter.name in written and not usable:
                stores.append(_Store(made[identity], value, route))
        dense[parameter.name] = made[identity]
    return dense, stores


def _dense_copy(
    parameter: Parameter, value: torch.Tensor, staging: Staging | None, copy_in: bool
) -> torch.Tensor:
    import torch

    with torch.no_grad():
        if staging is not None:
            return staging.fetch(value)
        try:
            made = torch.empty(tuple(value.shape), dtype=value.dtype, device=value.device)
        except RuntimeError as error:  # what torch raises where memory ends
            raise RtValueError(
                [
                    Diagnostic(
                        RtValueError,
                        RtValueError.default_code,
                        f"argument {parameter.name!r} is not dense, and there is no memory for a "
                        "dense copy",
                        expected=f"{value.numel() * value.element_size()} bytes of memory",
                        got=f"{describe(value)}, strides {list(value.stride())}",
                        help="pass dense tensors of sizes that fit the memory",
                        notes=parameter.notes,
                    )
                ]
            ) from error
        return made.copy_(value) if copy_in else made


def _output_problems(
    kernel: str, outputs: list[tuple[Parameter, torch.Tensor]]
) -> list[Diagnostic]:
    problems = []
    for number, (parameter, value) in enumerate(outputs):
        if overlaps_itself(value):
            problems.append(
                Diagnostic(
                    RtValueError,
                    RtValueError.default_code,
                    f"argument {parameter.name!r} is written by {kernel}() and its elements share "
                    "memory",
                    expected="a tensor whose elements are all apart",
                    got=f"{describe(value)}, strides {list(value.stride())}",
                    help=f"pass {parameter.name}.clone() or an unexpanded tensor",
                    notes=parameter.notes,
                )
            )
        for other, second in outputs[number + 1 :]:
            if share_elements(value, second):
                problems.append(
                    Diagnostic(
                        RtValueError,
                        RtValueError.default_code,
                        f"arguments {parameter.name!r} and {other.name!r} are both written by "
                        f"{kernel}() and share memory",
                        expected="written tensors that are apart",
                        got=f"{describe(value)} and {describe(second)}",
                        help=f"pass a separate tensor for {other.name!r}",
                    )
                )
    return problems


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """First byte of a non-empty tensor and the one after its last; strides are not negative."""
    last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    first = tensor.data_ptr()
    return first, first + (last + 1) * tensor.element_size()


def share_elements(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether some byte belongs to both tensors.

    Exact for tensors of one element size that are not too large; else True when their extents
    overlap.
    """
    import torch

    if a.numel() == 0 or b.numel() == 0:
        return False
    (first_a, end_a), (first_b, end_b) = _extent(a), _extent(b)
    if end_a <= first_b or end_b <= first_a:
        return False
    size = a.element_size()
    apart = first_b - first_a
    if size != b.element_size() or apart % size or (a.is_contiguous() and b.is_contiguous()):
        return True
    if max(a.numel(), b.numel()) > EXACT_OVERLAP_LIMIT:
        return True
    shared = torch.isin(_offsets(a), _offsets(b) + apart // size)
    return bool(shared.any())


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements of the tensor share memory; True when that is too dear to tell."""
    import torch

    reach = 0
    axes = [(s, n) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n != 1]
    if tensor.numel() == 0:
        return False
    for stride, size in sorted(axes):
        if stride <= reach:
            break
        reach += (size - 1) * stride
    else:
        return False
    if any(stride == 0 for stride, _ in axes) or tensor.numel() > EXACT_OVERLAP_LIMIT:
        return True
    return int(torch.unique(_offsets(tensor)).numel()) != tensor.numel()


def _offsets(tensor: torch.Tensor) -> torch.Tensor:
    """The offset of each element from the first, in elements, as a flat int64 tensor."""
    import torch

    offsets = torch.zeros(1, dtype=torch.int64, device="cpu")
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        steps = torch.arange(size, dtype=torch.int64, device="cpu") * stride
        offsets = (offsets[:, None] + steps).reshape(-1)
    return offsets
