"""Finding the binary of a call: probe key, manifest, entry; compiling when there is none."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pypto._collector import CollectorPause
from pypto._record import Record
from pypto.build import key as keys
from pypto.build import manifest
from pypto.build.record import Entry
from pypto.build.steps import twin_digest
from pypto.build.store import CacheStore, open_store
from pypto.build.toolchain import HostToolchain, find_host_toolchain
from pypto.elaborate.captures import CapturedRead, Unreadable, evaluate, follow
from pypto.elaborate.digests import Undigestible, code_digest, digest
from pypto.elaborate.source import KernelSource
from pypto.error import BuildError, FeTypeError
from pypto.ir.signature import CallSignature, ConstantSignature, TensorSignature
from pypto.language.function import Function

if TYPE_CHECKING:
    from pypto._options import Options
    from pypto.build.kernel import KernelTexts
    from pypto.compiler import Compilation
    from pypto.target import Target

__all__ = ["Found", "Lookup", "Request"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Rooms whose code decides what is compiled; the others only transport.
_COMPILER = ("ops", "elaborate", "ir", "passes", "codegen", "language", "data", "_options")
LEVEL_FILES = {"tensor": "tensor.txt", "tile": "tile.txt"}


class Request(Record):
    """One call to find a binary for. ``values``: the Python value of each parameter by name."""

    source: KernelSource
    signature: CallSignature
    values: Mapping[str, object]
    options: Options
    target: Target
    kind: str = "fast"


class Found(Record):
    """A binary and what must hold for it: ``signature`` with the values it was specialised for.

    ``reads``: what was captured. ``compiled``: made now. ``compilation``: only then, for dumps.
    """

    entry: Entry
    signature: CallSignature
    reads: tuple[CapturedRead, ...]
    compiled: bool
    compilation: Compilation | None


class Lookup:
    """The cache and the host compiler of this process.

    ``before_build(kind)`` is called when a kernel has passed all checks and is to be compiled.
    """

    def __init__(self, before_build: Callable[[str], None] | None = None) -> None:
        self.store: CacheStore = open_store()
        self._before_build = before_build
        self._toolchain: HostToolchain | None = None
        self._package: str | None = None
        self._twin: str | None = None
        self._templates = False  # whether compiled templates come from the cache

    @property
    def toolchain(self) -> HostToolchain:
        if self._toolchain is None:
            self._toolchain = find_host_toolchain(self.store.memo)
        return self._toolchain

    def find(self, request: Request, compile_now: bool = True) -> Found | None:
        """The binary for ``request``; compiled if there is none and ``compile_now``.

        Raises PyptoError for whatever is wrong with the kernel or the compiler.
        """
        request.source.require_text()
        try:
            found = self._stored(request)
        except BuildError:
            # No C++ compiler: still, what is wrong with the kernel itself is said first.
            self._front_end(request)
            raise
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
            "twin": self._twin_digest(),
            "toolchain": toolchain.identity,
            "build": request.kind,
        }

    def _package_digest(self) -> str:
        if self._package is None:
            rooms = [(r, os.path.join(PACKAGE, r)) for r in (*_COMPILER, "templates")]
            self._package = keys.digest_tree(rooms, (".py", ".j2", ".json"), self.store.memo)
        return self._package

    def _twin_digest(self) -> str:
        if self._twin is None:
            self._twin = twin_digest(self.store.memo)
        return self._twin

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
        for _ in range(8):  # each round says more of the call, or less of what does not matter
            row = self._match(request, signature)
            if row is None:
                return None
            if row.entry:
                if any(_lacks_text(r, request.source.function) for r in row.reads):
                    return None
                entry = self.store.load(row.entry)
                if entry is None:
                    return None
                return Found(entry, signature, row.reads, False, None)
            signature = replace(
                signature.specialised({n: request.values[n] for n in row.specialised}),
                alias=row.alias,
            )
        return None

    def _match(self, request: Request, signature: CallSignature) -> _Row | None:
        """The first row of the signature's manifest whose captured reads all hold."""
        known: dict[str, str] = {}
        for stored in manifest.read_rows(self.store, self._probe(request, signature)):
            row = _Row.from_json(stored)
            if row is None or len(row.alias) != len(signature.alias):
                continue
            if not all(n in request.values for n in row.specialised):
                continue
            if all(_holds(r, request.source.function, known) for r in row.reads):
                return row
        return None

    # --- compiling ---

    def _compile(self, request: Request) -> Found:
        from pypto.build.kernel import KernelTexts, build_kernel

        compilation = self._front_end(request)
        elaboration = compilation.elaboration
        values = {n: request.values[n] for n in elaboration.specialised}
        signature = request.signature.specialised(values)
        alias = _needed_alias(compilation, signature.alias)
        if alias != signature.alias:
            # Inputs that share memory with each other only: any call's binary serves.
            self._redirect(request, elaboration.reads, elaboration.specialised, alias)
            return self._again(request, alias)
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
        if before is None and self._before_build is not None:
            self._before_build(request.kind)
        name = request.source.function.__name__  # what a person calls it, in listings
        entry = before or build_kernel(self.store, self.toolchain, key, name, texts, request.kind)
        if elaboration.specialised:
            self._redirect(
                request, elaboration.reads, elaboration.specialised, request.signature.alias
            )
        row = _Row(elaboration.reads, (), signature.alias, key)
        self._add(self._probe(request, signature), row)
        return Found(entry, signature, elaboration.reads, before is None, compilation)

    def _front_end(self, request: Request) -> Compilation:
        """All that happens before a C++ compiler starts. Raises PyptoError."""
        scalars = {
            n: v
            for n, v in request.values.items()
            if not isinstance(request.signature.get(n), TensorSignature)
        }
        with CollectorPause():  # modules are loaded, and their objects would all be looked at
            from pypto.compiler import compile_kernel

            self._keep_templates()
            return compile_kernel(
                request.source, request.signature, request.options, scalars, request.target
            )

    def _keep_templates(self) -> None:
        if not self._templates:
            from pypto.codegen.render import keep_templates
            from pypto.runtime.templates import kept_templates

            keep_templates(kept_templates(self.store.memo))
            self._templates = True

    def _again(self, request: Request, alias: tuple[int, ...]) -> Found:
        found = self.find(replace(request, signature=replace(request.signature, alias=alias)))
        assert found is not None
        return found

    def _redirect(
        self,
        request: Request,
        reads: tuple[CapturedRead, ...],
        specialised: frozenset[str],
        alias: tuple[int, ...],
    ) -> None:
        """Note under the call's own signature which other signature its binary is under."""
        row = _Row(reads, tuple(sorted(specialised)), alias, "")
        self._add(self._probe(request, request.signature), row)

    def _add(self, probe: str, row: _Row) -> None:
        manifest.add_row(self.store, probe, manifest.ManifestRow(row.to_json(), row.entry))


class _Row(Record):
    """One row of a manifest: under these ``reads``, the binary of key ``entry``; or, without an
    entry, what the signature must become: values of ``specialised`` in it, ``alias`` as here."""

    reads: tuple[CapturedRead, ...]
    specialised: tuple[str, ...]
    alias: tuple[int, ...]
    entry: str

    def to_json(self) -> dict[str, object]:
        return {
            "reads": [r.to_json() for r in self.reads],
            "specialised": list(self.specialised),
            "alias": list(self.alias),
        }

    @classmethod
    def from_json(cls, row: manifest.ManifestRow) -> _Row | None:
        """The row that :meth:`to_json` described; None for anything else."""
        try:
            return cls(
                tuple(CapturedRead.from_json(r) for r in row.reads["reads"]),
                tuple(map(str, row.reads["specialised"])),
                tuple(map(int, row.reads["alias"])),
                row.entry,
            )
        except (ValueError, KeyError, TypeError):
            return None


def _needed_alias(compilation: Compilation, alias: tuple[int, ...]) -> tuple[int, ...]:
    """The alias pattern without what does not matter: classes that no written tensor is in."""
    tensors = [p for p in compilation.kernel.params if p.buffer is not None]
    written = {c for p, c in zip(tensors, alias, strict=True) if p.written}
    seen: dict[object, int] = {}
    return tuple(
        seen.setdefault(c if c in written else (n,), len(seen)) for n, c in enumerate(alias)
    )


def _holds(read: CapturedRead, function: types.FunctionType, known: dict[str, str]) -> bool:
    place = str(read.path)
    if place not in known:
        known[place] = evaluate(read, function)
    return known[place] == read.digest


def _lacks_text(read: CapturedRead, function: types.FunctionType) -> bool:
    """Whether ``read`` is a helper without text: the front end says so, cached or not."""
    try:
        helper = follow(read.path, function)
    except Unreadable:
        return False  # a name that must be absent
    if isinstance(helper, Function):
        helper = helper.function
    return isinstance(helper, types.FunctionType) and KernelSource.of(helper).lines is None


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
    from pypto.ir.tensor import Store

    kernel, program = compilation.kernel, compilation.program
    assert program is not None  # what is built has been lowered
    whole = {s.buffer for s in kernel.body if isinstance(s, Store) and s.region.covers(s.buffer)}
    return {
        "symbol": compilation.symbol,
        "ints": [list(i) for i in compilation.inputs.ints],
        "floats": list(compilation.inputs.floats),
        "written": [p.name for p in kernel.params if p.written],
        "whole": [p.name for p in kernel.params if p.buffer in whole and not p.read],
        "conditions": [
            {"text": p.message, "where": p.span.relative} for p in program.preconditions
        ],
        "source": compilation.source_file,
    }
