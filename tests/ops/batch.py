"""Many kernels in one C++ compilation, run on the CPU twin with the launch under control.

A kernel is a plain function (no decorator); each is compiled for one call's kinds of arguments by
the product's own compiler, checked by the verifiers of Tensor IR and Tile IR, and linked with the
others into one library. ``blocks`` and ``l1_bytes`` replace what the launch code would choose, so
that small tensors, too, are cut into many steps on many blocks.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import linecache
import os
import shutil
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from pypto import _options, target
from pypto.build import kernel as build
from pypto.build import steps
from pypto.build.record import Entry
from pypto.compiler import Compilation, compile_kernel
from pypto.elaborate import KernelSource
from pypto.ir.signature import CallSignature, ConstantSignature
from pypto.ir.verify import verify_tensor, verify_tile
from pypto.runtime import dispatch
from pypto.runtime.arguments import classify
from pypto.runtime.findings import unlawful
from pypto.runtime.parameters import parameters_of

UNLAWFUL = 3  # PYPTO_UNLAWFUL

_numbers = itertools.count()


class RuntimeTable(ctypes.Structure):
    """``PyptoRuntime`` of the binary interface."""

    _fields_ = (
        ("abi_version", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("l1_bytes", ctypes.c_uint64),
        ("l2_bytes", ctypes.c_uint64),
        ("llc_bytes", ctypes.c_uint64),
        ("launch", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("blocks", ctypes.c_void_p),
    )


class _Call(ctypes.Structure):
    _fields_ = (
        ("tensors", ctypes.c_void_p),
        ("ints", ctypes.c_void_p),
        ("floats", ctypes.c_void_p),
    )


class _Entry(ctypes.Structure):
    _fields_ = (("abi_version", ctypes.c_uint32), ("run", ctypes.c_void_p))


_BLOCKS = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_double)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(RuntimeTable), ctypes.POINTER(_Call))


@cache
def runtime(workers: int | None = None) -> ctypes.CDLL:
    """The product's runtime library; with ``workers``, a copy with that many threads."""
    path = steps.runtime_library(dispatch.PROCESS.lookup.store, dispatch.PROCESS.lookup.toolchain)
    if workers is None:
        return _runtime_of(path)
    copy = Path(tempfile.mkdtemp(prefix="pypto-runtime-")) / "runtime.so"
    shutil.copy(path, copy)
    before = os.environ.get("PYPTO_NUM_THREADS")
    os.environ["PYPTO_NUM_THREADS"] = str(workers)
    try:
        return _runtime_of(str(copy))
    finally:
        shutil.rmtree(copy.parent)
        if before is None:
            del os.environ["PYPTO_NUM_THREADS"]
        else:
            os.environ["PYPTO_NUM_THREADS"] = before


def _runtime_of(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.pypto_runtime.restype = ctypes.POINTER(RuntimeTable)
    library.pypto_runtime()  # reads the environment now
    return library


def make_function(text: str, name: str = "kernel") -> types.FunctionType:
    """The function ``name`` of a module of this ``text``, which the compiler can read."""
    filename = f"<kernel text {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module: dict[str, Any] = {"__name__": "kernel_text"}
    exec(compile(text, filename, "exec", dont_inherit=True), module)
    function: types.FunctionType = module[name]
    return function


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel compiled for one kind of arguments. ``entry`` is set when it can run."""

    compilation: Compilation
    signature: CallSignature
    parameters: tuple[Any, ...]
    library: list[ctypes.CDLL]
    entries: list[Entry]

    def run(self, *values: Any, **control: int | None) -> int:
        """As :meth:`call`; what the checked build finds is a VerifyError."""
        result = self.call(*values, **control)
        if result == UNLAWFUL:
            compilation = self.compilation
            raise unlawful(
                compilation.name,
                self.entries[0],
                compilation.ascendc,
                compilation.source_file,
                compilation.kernel,
            )
        return result

    def call(
        self,
        *values: Any,
        blocks: int | None = None,
        l1_bytes: int | None = None,
        workers: int | None = None,
    ) -> int:
        """Run on tensors (contiguous) and numbers in the order of the parameters; the result code:
        0, or why the call was refused."""
        source = runtime(workers)
        original = source.pypto_runtime().contents
        table = RuntimeTable.from_buffer_copy(original)
        hook = _BLOCKS(lambda work: blocks)
        if blocks is not None:
            table.blocks = ctypes.cast(hook, ctypes.c_void_p).value
        if l1_bytes is not None:
            table.l1_bytes = l1_bytes
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        assert all(t.is_contiguous() for t in tensors)
        pointers = (ctypes.c_void_p * max(len(tensors), 1))(*(t.data_ptr() for t in tensors))
        inputs = self.compilation.inputs
        ints = [
            _shape(values[i[1]])[i[2]] if i[0] == "size" else int(values[i[1]])  # type: ignore[misc]
            for i in inputs.ints
        ]
        floats = [float(values[f]) for f in inputs.floats]
        call = _Call(
            ctypes.addressof(pointers),
            ctypes.addressof(int_array := (ctypes.c_int64 * max(len(ints), 1))(*ints)),
            ctypes.addressof(float_array := (ctypes.c_double * max(len(floats), 1))(*floats)),
        )
        entry = _Entry.in_dll(self.library[0], self.compilation.symbol)
        result = int(_RUN(entry.run)(ctypes.byref(table), ctypes.byref(call)))
        del int_array, float_array
        return result


def _shape(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape) or (1,)


class Batch:
    """Kernels that are compiled together, for ``kind`` of the twin (``pytest --twin`` by default).

    ``compilations`` counts C++ compilations of all."""

    compilations = 0

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind or dispatch.build_kind()
        self.variants: list[Variant] = []
        self.library: list[ctypes.CDLL] = []
        self.entries: list[Entry] = []

    def add(self, function: Callable[..., Any], *values: Any) -> Variant:
        """``function`` compiled to Ascend C for arguments such as ``values``. Function names must
        differ within a batch."""
        parameters = parameters_of(function)
        signature = classify(parameters, values, None)
        options = _options.resolve(_options.Options(()))
        scalars = {
            n: v
            for n, v in zip(signature.names, values, strict=True)
            if not isinstance(v, torch.Tensor)
        }
        compilation = compile_kernel(
            KernelSource.capture(function), signature, options, scalars, target.get()
        )
        verify_tensor(compilation.kernel)
        assert compilation.program is not None
        verify_tile(compilation.program, target.get())
        variant = Variant(compilation, signature, parameters, self.library, self.entries)
        self.variants.append(variant)
        return variant

    def build(self, text: Callable[[Variant], str] = lambda v: v.compilation.ascendc) -> None:
        """Compile everything added so far, as ``text`` gives it; the workers of a parallel run
        share the result."""
        assert not self.library
        sources = {v.compilation.source_file: text(v) for v in self.variants}
        assert len(sources) == len(self.variants)
        wrapper = "\n".join(v.compilation.wrapper for v in self.variants)
        lookup = dispatch.PROCESS.lookup
        parts = (*sources.values(), wrapper, self.kind, steps.twin_digest(lookup.store.memo))
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()

        def texts() -> tuple[build.KernelTexts, Mapping[str, object]]:
            Batch.compilations += 1
            return build.KernelTexts(sources, wrapper, {}), {}

        entry = build.build_kernel(lookup.store, lookup.toolchain, key, "batch", texts, self.kind)
        self.entries.append(entry)
        self.library.append(ctypes.CDLL(entry.path(build.BINARY)))


def constants(variant: Variant) -> Sequence[str]:
    """Parameters whose value became part of the compiled kernel."""
    pairs = zip(variant.signature.names, variant.signature.parameters, strict=True)
    return [n for n, p in pairs if isinstance(p, ConstantSignature)] + sorted(
        variant.compilation.elaboration.specialised
    )
