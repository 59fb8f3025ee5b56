"""Variants of the plain launcher: one compiled binary and what a call must match to be run by it.

The meaning is that of ``launcher_variant.h`` and ``launcher_variant_type.h``, whose documentation
of the constructor holds here as well.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from pypto.runtime.plain_values import (
    MAX_RANK,
    TensorReader,
    View,
    exactly_equal,
    read_float,
    read_int,
    snapshot,
)

__all__ = ["ABI_VERSION", "ABSENT", "RELEASE_GIL_ABOVE", "STATE", "State", "Variant", "Views"]

ABI_VERSION = 5  # PYPTO_ABI_VERSION of pypto_abi.h
RELEASE_GIL_ABOVE = 256 * 1024  # bytes of tensors above which other threads may run meanwhile

ABSENT: Any = object()  # nothing is there
_UNREAD: Any = object()


class State:
    """What all dispatchers and variants of the process share."""

    def __init__(self) -> None:
        self.epoch = 0
        self.scope_variable: ContextVar[Any] | None = None
        self.reader: TensorReader | None = None  # None: no tensor is read before init()
        self.forward_levels: dict[str, Any] | None = None

    def records(self) -> bool:
        """Whether a level of forward-mode differentiation is active: tensors may have tangents."""
        levels = self.forward_levels
        return levels is not None and levels.get("_current_level", -1) != -1

    def scope(self) -> Any:
        """What the scope variable holds; ABSENT when there is none or it holds nothing."""
        if self.scope_variable is None:
            return ABSENT
        try:
            return self.scope_variable.get()
        except LookupError:
            return ABSENT


STATE = State()


class Views:
    """The tensors of one call, each read once however many variants are tried."""

    __slots__ = ("_read", "args")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args
        self._read: list[Any] = [_UNREAD] * len(args)

    def __getitem__(self, index: int) -> View | None:
        if self._read[index] is _UNREAD:
            reader = STATE.reader
            self._read[index] = reader.read(self.args[index]) if reader is not None else None
        found: View | None = self._read[index]
        return found


class _Kernel(ctypes.Structure):
    """``PyptoKernel``."""

    _fields_ = [("abi_version", ctypes.c_uint32), ("run", ctypes.c_void_p)]


class _Call(ctypes.Structure):
    """``PyptoCall``."""

    _fields_ = [
        ("tensors", ctypes.c_void_p),
        ("ints", ctypes.c_void_p),
        ("floats", ctypes.c_void_p),
    ]


_RUN = (ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_Call))
_RUN_ALONE = ctypes.PYFUNCTYPE(*_RUN)  # keeps the interpreter lock
_RUN_BESIDE = ctypes.CFUNCTYPE(*_RUN)  # gives it up


class Variant:
    """One compiled kernel; called with the tuple of all arguments, it checks and runs it. False,
    and nothing done, when the arguments do not fit; epoch, scope and captures are not checked."""

    __slots__ = (
        "__weakref__", "_alias", "_arrays", "_captures", "_conditional", "_explain", "_floats",
        "_ints", "_params", "_run_alone", "_run_beside", "_runtime", "_scope", "_tensors",
        "_written", "epoch", "launches", "owner",
    )  # fmt: skip

    def __init__(
        self,
        entry: int,
        runtime: int,
        owner: object,
        params: tuple[Any, ...],
        ints: tuple[Any, ...],
        floats: tuple[int, ...],
        alias: tuple[int, ...],
        written: tuple[Any, ...],
        captures: tuple[Any, ...],
        explain: Callable[[int, tuple[Any, ...]], Any],
        epoch: int | None = None,
        scope: object = ABSENT,
        conditional: bool = False,
    ) -> None:
        for value in (params, ints, floats, alias, written, captures):
            if not isinstance(value, tuple):
                raise TypeError(f"a tuple expected, not {type(value).__name__}")
        if epoch is not None and not isinstance(epoch, int):
            raise TypeError(f"an epoch is an int, not {type(epoch).__name__}")
        self.owner = owner
        self.epoch = STATE.epoch if epoch is None else epoch
        self.launches = 0
        self._explain = explain
        self._conditional = conditional
        self._scope = STATE.scope() if scope is ABSENT else scope
        self._run_alone, self._run_beside = _functions(entry, runtime)
        self._runtime = runtime
        self._params = tuple(_param(spec) for spec in params)
        self._tensors = tuple(i for i, p in enumerate(self._params) if p[0] == "tensor")
        self._ints = tuple(_int_source(spec, self._params) for spec in ints)
        for index in floats:
            _check_kind(self._params, index, "float")
        self._floats = floats
        if len(alias) != len(self._tensors) or len(written) != len(self._tensors):
            raise ValueError("alias and written have one entry for each tensor")
        self._alias = alias
        self._written = tuple(map(bool, written))
        self._captures = tuple(_Capture(row) for row in captures)
        # Kept, as making a type on each call would leave cycles to the garbage collector.
        self._arrays = (
            ctypes.c_void_p * len(self._tensors),
            ctypes.c_int64 * len(ints),
            ctypes.c_double * len(floats),
        )

    @property
    def scope(self) -> Any:
        """The scope it belongs to, or None."""
        return None if self._scope is ABSENT else self._scope

    @property
    def n_params(self) -> int:
        return len(self._params)

    def __call__(self, args: tuple[Any, ...]) -> bool:
        if not isinstance(args, tuple):
            raise TypeError("a variant is called with a tuple of all arguments")
        if len(args) != len(self._params):
            return False
        run = self.match(args, Views(args))
        if run is None:
            return False
        run()
        return True

    def in_force(self) -> bool:
        """Whether epoch, scope and captured values are those it was made for."""
        if self.epoch != STATE.epoch:
            return False
        if STATE.scope_variable is not None:
            scope, own = STATE.scope(), self._scope
            if scope is not own and (
                scope is ABSENT or own is ABSENT or not exactly_equal(own, scope, False)
            ):
                return False
        return all(row.holds() for row in self._captures)

    def match(self, args: tuple[Any, ...], views: Views) -> Callable[[], None] | None:
        """What runs the kernel on arguments that fit (nothing, when it would write nothing); None
        when they do not."""
        # Scalars come first: reading them may run Python code that could change a tensor.
        scalars: dict[int, Any] = {}
        for index, param in enumerate(self._params):
            if not _scalar_fits(param, index, args[index], scalars):
                return None
        found = []
        for index in self._tensors:
            view, (_, dtype, sizes) = views[index], self._params[index]
            if view is None or view.dtype != dtype or len(view.shape) != len(sizes):
                return None
            if any(size not in (-1, have) for size, have in zip(sizes, view.shape, strict=True)):
                return None
            found.append(view)
        if not any(w and v.bytes for w, v in zip(self._written, found, strict=True)):
            # Conditions on sizes hold for empty outputs, too: only the kernel's code knows them.
            return (lambda: self._launch(args, found, scalars)) if self._conditional else _nothing
        if not self._alias_fits(found):
            return None
        return lambda: self._launch(args, found, scalars)

    def _alias_fits(self, views: list[View]) -> bool:
        """Tensors of one class are one memory; a written one touches none of another class."""
        for i, a in enumerate(views):
            for j in range(i + 1, len(views)):
                if self._alias[i] == self._alias[j]:
                    if not a.same_memory(views[j]):
                        return False
                elif (self._written[i] or self._written[j]) and a.overlaps(views[j]):
                    return False
        return True

    def _launch(self, args: tuple[Any, ...], views: list[View], scalars: Mapping[int, Any]) -> None:
        shapes = dict(zip(self._tensors, views, strict=True))
        ints = [
            scalars[index] if axis < 0 else shapes[index].shape[axis] for index, axis in self._ints
        ]
        tensor_array, int_array, float_array = self._arrays
        tensors = tensor_array(*(view.data for view in views))
        numbers = int_array(*ints)
        floats = float_array(*(scalars[index] for index in self._floats))
        call = _Call(*(ctypes.addressof(part) for part in (tensors, numbers, floats)))
        large = sum(view.bytes for view in views) > RELEASE_GIL_ABOVE
        run = self._run_beside if large else self._run_alone
        code = run(self._runtime, ctypes.byref(call))
        if code != 0:
            self._explain(code, args)
            raise RuntimeError(f"a kernel refused its call with code {code}, unexplained")
        self.launches += 1
        written = tuple(args[i] for i, w in zip(self._tensors, self._written, strict=True) if w)
        if written and STATE.reader is not None:
            STATE.reader.increment_version(written)


def _nothing() -> None:
    """Runs a kernel that would write nothing."""


def _functions(entry: int, runtime: int) -> tuple[Any, Any]:
    """The kernel's function, keeping and releasing the interpreter lock."""
    if not entry or not runtime:
        raise ValueError("the address of a kernel or of the runtime is null")
    kernel = _Kernel.from_address(entry)
    service = ctypes.c_uint32.from_address(runtime).value
    if kernel.abi_version != ABI_VERSION or service != ABI_VERSION or not kernel.run:
        raise RuntimeError(
            f"binary interface version {ABI_VERSION} expected; the kernel has "
            f"{kernel.abi_version}, the runtime {service}"
        )
    return _RUN_ALONE(kernel.run), _RUN_BESIDE(kernel.run)


def _param(spec: Any) -> tuple[Any, ...]:
    """The checked description of one parameter, its kind first."""
    kind = spec[0] if isinstance(spec, tuple) and spec else None
    if kind == "tensor" and len(spec) == 3:
        code, bits = spec[1]
        if not (0 <= code <= 255 and 1 <= bits <= 255):
            raise ValueError("dtype must be a DLPack code and a number of bits")
        sizes = spec[2]
        if not isinstance(sizes, tuple) or not 1 <= len(sizes) <= MAX_RANK:
            raise ValueError(f"sizes must be a tuple of 1 to {MAX_RANK} ints")
        if any(size < -1 for size in sizes):
            raise ValueError("a size must be -1 or more")
        return kind, (code, bits), sizes
    if kind in ("int", "float") and len(spec) == 2:
        return kind, bool(spec[1])
    if kind == "constant" and len(spec) in (2, 3):
        return kind, snapshot(spec[1]), spec[2] if len(spec) == 3 else None
    if kind in ("tensor", "int", "float", "constant"):
        raise TypeError(f"not the description of a parameter: {spec!r}")
    raise ValueError(f"not the description of a parameter: {spec!r}")


def _scalar_fits(param: tuple[Any, ...], index: int, value: Any, scalars: dict[int, Any]) -> bool:
    """Whether a scalar or constant fits; a scalar's number goes to ``scalars``."""
    kind = param[0]
    if kind == "tensor":
        return True
    if kind == "constant":
        _, expected, compare = param
        return bool(compare(value)) if compare else exactly_equal(expected, value, True)
    if STATE.reader is not None and STATE.reader.is_tensor(value):
        return False  # torch would convert it; that it is no tensor parameter must be seen
    number = read_int(value, param[1]) if kind == "int" else read_float(value, param[1])
    scalars[index] = number
    return number is not None


def _check_kind(params: tuple[Any, ...], index: int, kind: str) -> None:
    if not 0 <= index < len(params) or params[index][0] != kind:
        raise ValueError(f"parameter {index} has not the kind asked for")


def _int_source(spec: Any, params: tuple[Any, ...]) -> tuple[int, int]:
    """(parameter, axis); the axis is -1 for the scalar itself."""
    if isinstance(spec, tuple) and len(spec) == 2 and spec[0] == "scalar":
        _check_kind(params, spec[1], "int")
        return spec[1], -1
    if isinstance(spec, tuple) and len(spec) == 3 and spec[0] == "size":
        _check_kind(params, spec[1], "tensor")
        if 0 <= spec[2] < len(params[spec[1]][2]):
            return spec[1], spec[2]
    raise ValueError(f"not the source of an int: {spec!r}")


class _Capture:
    """One captured value: where it is read again, and what must be found there."""

    __slots__ = ("_by_value", "_expected", "_read")

    def __init__(self, row: Any) -> None:
        if not isinstance(row, tuple) or len(row) not in (2, 3):
            raise TypeError("a capture must be a tuple (container, key) or one with a value")
        container, key = row[:2]
        self._expected = row[2] if len(row) == 3 else ABSENT
        self._by_value = key is ... and len(row) == 3
        if self._by_value:
            self._expected = snapshot(self._expected)
        self._read = _read_of(row, container, key, self._by_value)

    def holds(self) -> bool:
        found, expected = self._read(), self._expected
        if found is expected and not self._by_value:
            return True
        if found is ABSENT or expected is ABSENT:
            return False
        return exactly_equal(expected, found, self._by_value)


def _read_of(row: Any, container: Any, key: Any, by_value: bool) -> Callable[[], Any]:
    if by_value:
        return lambda: container
    if type(container) is dict:
        return lambda: container.get(key, ABSENT)
    if isinstance(container, types.CellType):
        return lambda: _cell_content(container)
    if type(container) in (list, tuple) and isinstance(key, int):
        if key < 0:
            raise ValueError("negative index")
        return lambda: container[key] if key < len(container) else ABSENT
    if isinstance(key, str):
        return lambda: getattr(container, key, ABSENT)
    raise TypeError(f"not a captured read: {row!r}")


def _cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return ABSENT
