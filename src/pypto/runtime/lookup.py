"""Finding the binary of a call: probe key, manifest, entry; compiling when there is none."""

from __future__ import annotations

import os
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pypto.build import key as keys
from pypto.build import manifest
from pypto.build.kernel import KernelTexts, build_kernel
from pypto.build.record import Entry
from pypto.build.steps import twin_digest
from pypto.build.store import CacheStore, open_store
from pypto.build.toolchain import HostToolchain, find_host_toolchain
from pypto.elaborate.captures import CapturedRead, evaluate
from pypto.elaborate.digests import Undigestible, code_digest, digest
from pypto.error import FeTypeError
from pypto.ir.signature import CallSignature, ConstantSignature, TensorSignature

if TYPE_CHECKING:
    from pypto._options import Options
    from pypto.compiler import Compilation
    from pypto.elaborate import KernelSource
    from pypto.target import Target

__all__ = ["Found", "Lookup", "Request"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Rooms whose code decides what is compiled; the others only transport.
_COMPILER = ("ops", "elaborate", "ir", "passes", "codegen", "language", "data", "_options")
LEVEL_FILES = {"tensor": "tensor.txt", "tile": "tile.txt"}


@dataclass(frozen=True, slots=True)
class Request:
    """One call to find a binary for. ``values``: the Python value of each parameter by name."""

    source: KernelSource
    signature: CallSignature
    values: Mapping[str, object]
    options: Options
    target: Target
    kind: str = "fast"


class Found(NamedTuple):
    """A binary and what must hold for it: ``signature`` with the values it was specialised for.

    ``reads``: what was captured. ``compiled``: made now. ``compilation``: only then, for dumps.
    """

    entry: Entry
    signature: CallSignature
    reads: tuple[CapturedRead, ...]
    compiled: bool
    compilation: Compilation | None


class Lookup:
    """The cache and the host compiler of this process."""

    def __init__(self) -> None:
        self.store: CacheStore = open_store()
        self._toolchain: HostToolchain | None = None
        self._package: str | None = None

    @property
    def toolchain(self) -> HostToolchain:
        if self._toolchain is None:
            self._toolchain = find_host_toolchain(self.store.memo)
        return self._toolchain

    def find(self, request: Request, compile_now: bool = True) -> Found | None:
        """The binary for ``request``; compiled if there is none and ``compile_now``.

        Raises PyptoError for whatever is wrong with the kernel or the compiler.
        """
        found = self._stored(request)
        if found is not None or not compile_now:
            return found
        return self._compile(request)

    # --- keys ---

    def _common(self, request: Request) -> dict[str, object]:
        toolchain = self.toolchain
        return {
            "options": request.options.as_key(),
            "target": (request.target.name, request.target.npu_arch),
            "package": self._package_digest(),
            "twin": twin_digest(self.store.memo),
            "toolchain": toolchain.identity,
            "build": request.kind,
        }

    def _package_digest(self) -> str:
        if self._package is None:
            rooms = [(r, os.path.join(PACKAGE, r)) for r in (*_COMPILER, "templates")]
            self._package = keys.digest_tree(rooms, (".py", ".j2", ".json"), self.store.memo)
        return self._package

    def _probe(self, request: Request, signature: CallSignature) -> str:
        function = request.source.function
        fields = {
            **self._common(request),
            "code": code_digest(function.__code__),
            "name": function.__name__,
            "signature": _signature_key(signature),
        }
        return keys.probe_key(fields)

    # --- what is stored ---

    def _stored(self, request: Request) -> Found | None:
        signature = request.signature
        for _ in range(8):  # each round specialises at least one more parameter
            step = self._match(request, signature)
            if step is None:
                return None
            reads, specialised, key = step
            if key:
                entry = self.store.load(key)
                if entry is None:
                    return None
                return Found(entry, signature, reads, False, None)
            signature = signature.specialised({n: request.values[n] for n in specialised})
        return None

    def _match(
        self, request: Request, signature: CallSignature
    ) -> tuple[tuple[CapturedRead, ...], tuple[str, ...], str] | None:
        """The first row whose captured reads all hold: its entry, or what it needs specialised."""
        known: dict[str, str] = {}
        for row in manifest.read_rows(self.store, self._probe(request, signature)):
            try:
                reads = tuple(CapturedRead.from_json(r) for r in row.reads["reads"])
                specialised = tuple(map(str, row.reads["specialised"]))
            except (ValueError, KeyError, TypeError):
                continue
            if not row.entry and not all(n in request.values for n in specialised):
                continue
            if all(_holds(r, request.source.function, known) for r in reads):
                return reads, specialised, row.entry
        return None

    # --- compiling ---

    def _compile(self, request: Request) -> Found:
        from pypto.compiler import compile_kernel

        scalars = {
            n: v
            for n, v in request.values.items()
            if not isinstance(request.signature.get(n), TensorSignature)
        }
        compilation = compile_kernel(
            request.source, request.signature, request.options, scalars, request.target
        )
        elaboration = compilation.elaboration
        values = {n: request.values[n] for n in elaboration.specialised}
        signature = request.signature.specialised(values)
        key = keys.entry_key(
            {
                **self._common(request),
                "options": elaboration.options.as_key(),
                "sources": tuple(elaboration.sources),
                "reads": tuple(_read_key(r) for r in elaboration.reads),
                "signature": _signature_key(signature),
                "texts": _text_digests(compilation),
            }
        )

        def texts() -> tuple[KernelTexts, Mapping[str, object]]:
            extra = {file: compilation.texts[level] for level, file in LEVEL_FILES.items()}
            made = KernelTexts(
                {compilation.source_file: compilation.ascendc}, compilation.wrapper, extra
            )
            return made, _entry_data(compilation)

        before = self.store.load(key)
        entry = before or build_kernel(
            self.store, self.toolchain, key, compilation.name, texts, request.kind
        )
        self._remember(request, signature, elaboration.reads, elaboration.specialised, key)
        return Found(entry, signature, elaboration.reads, before is None, compilation)

    def _remember(
        self,
        request: Request,
        signature: CallSignature,
        reads: tuple[CapturedRead, ...],
        specialised: frozenset[str],
        key: str,
    ) -> None:
        written = [r.to_json() for r in reads]
        if specialised:
            redirect = {"reads": written, "specialised": sorted(specialised)}
            probe = self._probe(request, request.signature)
            manifest.add_row(self.store, probe, manifest.ManifestRow(redirect, ""))
        row = {"reads": written, "specialised": []}
        manifest.add_row(
            self.store, self._probe(request, signature), manifest.ManifestRow(row, key)
        )


def _holds(read: CapturedRead, function: types.FunctionType, known: dict[str, str]) -> bool:
    place = str(read.path)
    if place not in known:
        known[place] = evaluate(read, function)
    return known[place] == read.digest


def _read_key(read: CapturedRead) -> tuple[str, str]:
    return str(read), read.digest


def _signature_key(signature: CallSignature) -> tuple[object, ...]:
    """The signature in plain values for a key; FeTypeError names a constant it cannot hold."""
    parts: list[object] = []
    for name, parameter in zip(signature.names, signature.parameters, strict=True):
        if isinstance(parameter, TensorSignature):
            parts.append((name, parameter.dtype.name, parameter.sizes, parameter.axis_names))
        elif isinstance(parameter, ConstantSignature):
            try:
                parts.append((name, "constant", digest(parameter.value)))
            except Undigestible as error:
                message = f"argument {name!r} cannot be a constant of a kernel: {error}"
                raise FeTypeError(message) from error
        else:
            parts.append((name, parameter.kind, parameter.annotated))
    return (tuple(parts), signature.alias)


def _text_digests(compilation: Compilation) -> str:
    import hashlib

    text = "\0".join((compilation.ascendc, compilation.wrapper))
    return hashlib.sha256(text.encode()).hexdigest()


def _entry_data(compilation: Compilation) -> dict[str, object]:
    kernel = compilation.kernel
    return {
        "symbol": compilation.symbol,
        "ints": [list(i) for i in compilation.inputs.ints],
        "floats": list(compilation.inputs.floats),
        "written": [p.name for p in kernel.params if p.written],
        "whole": [p.name for p in kernel.params if p.written and not p.read],
        "conditions": [
            {"text": p.message, "where": p.span.relative} for p in kernel.preconditions
        ],
        "source": compilation.source_file,
    }

