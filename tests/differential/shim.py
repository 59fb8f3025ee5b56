"""Runs the Python source of a kernel directly, with torch: what the kernel language means.

``pypto`` in the source is :data:`LANGUAGE`, whose functions work on :class:`Tensor`, a torch tensor
with the language's methods. Loops are Python's, slices clip and alias as torch's do, sizes and
elements are Python numbers. Nothing of the compiler is used but the registry's torch expressions.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

import pypto
from pypto.ops import registry
from pypto.ops.spec import REQUIRED, OpSpec
from tests.ops.reference import Ref, meaning

UNWRITTEN = (float("nan"), -77777)  # elements of a new local tensor: of floats, of ints


class Undefined(Exception):
    """The program does what has no defined result: a float that no integer can hold is cast."""


class Tensor:
    """A tensor in a kernel. ``memory``: writing into it is seen by who else holds its memory (it
    is a parameter, a local tensor or a part of one), so ``+=`` writes."""

    def __init__(self, data: torch.Tensor, *, memory: bool = False) -> None:
        self.data = data
        self.memory = memory

    @property
    def shape(self) -> list[int]:
        return list(self.data.shape)

    @property
    def dtype(self) -> pypto.DataType:
        return _dtype(self.data.dtype)

    @property
    def dim(self) -> int:
        return self.data.dim()

    def __getitem__(self, key: Any) -> Any:
        part = self.data[_key(key)]
        return part.item() if part.dim() == 0 else Tensor(part, memory=self.memory)

    def __setitem__(self, key: Any, value: Tensor | float) -> None:
        part = self.data[_key(key)]
        if not isinstance(value, Tensor):
            part.fill_(value)
            return
        if value.data.dtype != part.dtype:
            raise TypeError(f"{value.data.dtype} is stored into {part.dtype}")
        part.copy_(value.data.clone())

    def move(self, value: Tensor) -> None:
        self[:] = value

    def assemble(self, part: Tensor, offsets: Sequence[int]) -> None:
        _assemble(part, offsets, self)

    def view(self, *args: Any, **options: Any) -> Tensor:
        return _view(self, *args, **options)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """Of what lies in one piece."""
        return Tensor(self.data.view(tuple(shape)), memory=self.memory)

    def __iadd__(self, other: Tensor | float) -> Tensor:
        return self._in_place(_apply(registry.get("add"), self, other))

    def __isub__(self, other: Tensor | float) -> Tensor:
        return self._in_place(_apply(registry.get("sub"), self, other))

    def __imul__(self, other: Tensor | float) -> Tensor:
        return self._in_place(_apply(registry.get("mul"), self, other))

    def _in_place(self, result: Tensor) -> Tensor:
        if not self.memory:
            return result
        self[:] = result
        return self

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        spec = registry.method(name)
        if spec is None:
            raise AttributeError(name)
        return functools.partial(_apply, spec, self)


def _key(key: Any) -> tuple[Any, ...]:
    """``key`` with ints checked as torch would, so that a wrong program is not run."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, int | slice) and part is not Ellipsis:
            raise TypeError(f"the key {part!r}")
    return parts


def _dtype(dtype: torch.dtype) -> pypto.DataType:
    return next(d for d in pypto.DataType if getattr(torch, d.torch_name or "", None) == dtype)


def _torch(dtype: pypto.DataType) -> torch.dtype:
    found: torch.dtype = getattr(torch, dtype.torch_name or "")
    return found


def _apply(spec: OpSpec, /, *args: Any, **kwargs: Any) -> Tensor:
    """One operation on tensors and numbers, as the registry states it."""
    names = [p.name for p in spec.params]
    bound = {p.name: p.default for p in spec.params if p.default is not REQUIRED}
    bound |= dict(zip(names, args, strict=False)) | kwargs
    bound = {n: Ref(a.data) if isinstance(a, Tensor) else a for n, a in bound.items()}
    if spec.name == "cast" and not bound["dtype"].is_float:
        source = bound["input"].value
        if source.dtype.is_floating_point and not bool((source.double().abs() < 2**31).all()):
            raise Undefined
    return Tensor(meaning(spec, bound))


def _operator(name: str, swap: bool) -> Callable[[Tensor, Any], Tensor]:
    spec = registry.get(name)
    if swap:
        return lambda self, other: _apply(spec, other, self)
    return lambda self, other: _apply(spec, self, other)


for _sign, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div")):
    setattr(Tensor, f"__{_sign}__", _operator(_name, False))
    setattr(Tensor, f"__r{_sign}__", _operator(_name, True))
Tensor.__pow__ = _operator("pow", False)  # type: ignore[attr-defined]
Tensor.__neg__ = lambda self: _apply(registry.get("neg"), self)  # type: ignore[attr-defined]


# --- functions of the language ---


class Index(int):
    """A loop's index, which knows whether its iteration is the first or the last."""

    first: bool
    last: bool


def _loop(*bounds: int, **_: Any) -> Iterator[Index]:
    steps = range(*bounds)
    for number, value in enumerate(steps):
        yield _index(value, number == 0, number == len(steps) - 1)


def _index(value: int, first: bool, last: bool) -> Index:
    index = Index(value)
    index.first, index.last = first, last
    return index


def _loop_unroll(
    *bounds: int, unroll_list: Sequence[int] = (1,), **_: Any
) -> Iterator[tuple[Index, int]]:
    steps = left = range(*bounds)
    for factor in sorted({*unroll_list, 1}, reverse=True):
        whole = len(left) // factor * factor
        for i in left[:whole:factor]:
            behind = steps.index(i) + factor
            yield _index(i, i == steps[0], behind == len(steps)), factor
        left = left[whole:]


def _tensor(shape: Sequence[int], dtype: pypto.DataType, *_: Any, **__: Any) -> Tensor:
    kind = _torch(dtype)
    return Tensor(torch.full(shape, UNWRITTEN[not kind.is_floating_point]).to(kind), memory=True)


def _full(size: Sequence[int], value: float, dtype: pypto.DataType) -> Tensor:
    return Tensor(torch.full(tuple(size), value, dtype=_torch(dtype)), memory=True)


def _filled(value: int) -> Callable[..., Tensor]:
    def make(*size: Any, dtype: pypto.DataType = pypto.DataType.DT_FP32) -> Tensor:
        return _full(size[0] if isinstance(size[0], list | tuple) else size, value, dtype)

    return make


def _view(
    source: Tensor,
    shape: Sequence[int] | pypto.DataType = (),
    offsets: Sequence[int] = (),
    *,
    valid_shape: Sequence[int] | None = None,
    dtype: pypto.DataType | None = None,
) -> Tensor:
    if isinstance(shape, pypto.DataType):
        shape, dtype = (), shape
    if dtype is not None:
        shown = source.data.view(getattr(torch, dtype.torch_name or ""))
        return Tensor(shown, memory=source.memory)
    sizes = shape if valid_shape is None else map(min, shape, valid_shape)
    box = tuple(slice(o, o + s) for o, s in zip(offsets, sizes, strict=True))
    return Tensor(source.data[box], memory=source.memory)


def _assemble(*args: Any, parallel: bool = False) -> None:
    parts, out = ([args[:2]], args[2]) if isinstance(args[0], Tensor) else args
    for part, offsets in parts:
        box = tuple(slice(o, o + s) for o, s in zip(offsets, part.shape, strict=True))
        out[box] = part


def _identity(*args: Any, **_: Any) -> Any:
    """``@function`` and ``@function(...)``."""
    return args[0] if args and callable(args[0]) else lambda function: function


LANGUAGE = types.SimpleNamespace(
    **{d.name: d for d in pypto.DataType},
    **{n: functools.partial(_apply, registry.get(n)) for n in registry.names()},
    Tensor=pypto.Tensor,
    DYNAMIC=pypto.DYNAMIC,
    STATIC=pypto.STATIC,
    CastMode=pypto.CastMode,
    SaturationMode=pypto.SaturationMode,
    frontend=types.SimpleNamespace(
        jit=_identity, function=_identity, dynamic=pypto.frontend.dynamic
    ),
    loop=_loop,
    loop_unroll=_loop_unroll,
    cond=lambda condition: condition,
    is_loop_begin=lambda index: index.first,
    is_loop_end=lambda index: index.last,
    tensor=_tensor,
    full=_full,
    zeros=_filled(0),
    ones=_filled(1),
    view=_view,
    assemble=_assemble,
    min=min,
    max=max,
    ceildiv=lambda a, b: -(-a // b),
    set_vec_tile_shapes=lambda *sizes: None,
)


def _import(name: str, *rest: Any) -> Any:
    return LANGUAGE if name == "pypto" else builtins.__import__(name, *rest)


def load(text: str) -> Mapping[str, Any]:
    """The names of a module of this text, with ``pypto`` the language of this file."""
    names: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": _import}}
    exec(compile(text, "<kernel run by torch>", "exec", dont_inherit=True), names)
    return names


def run(text: str, name: str, values: Sequence[Any]) -> None:
    """Run the kernel ``name`` of ``text`` on ``values``, whose tensors it changes."""
    load(text)[name](
        *(Tensor(v, memory=True) if isinstance(v, torch.Tensor) else v for v in values)
    )
