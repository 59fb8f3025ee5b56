"""Calls that the launcher hands over: checked, looked up, compiled, prepared, run."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from pypto import _dump, _options, target
from pypto._options import Options
from pypto._options.modes import CompStage, RunMode
from pypto._traceback import full_tracebacks, outside
from pypto.build import assume
from pypto.build.steps import KINDS
from pypto.elaborate.captures import CapturedRead, Unreadable, evaluate
from pypto.elaborate.rows import launcher_rows
from pypto.error import FeValueError, PyptoError, PyptoGeneralError
from pypto.ir.signature import CallSignature, TensorSignature
from pypto.runtime import cpu
from pypto.runtime.arguments import bind, classify, normalise, plain_scalars, variant_params
from pypto.runtime.lookup import Found, Request
from pypto.runtime.parameters import NO_DEFAULT, Parameter
from pypto.runtime.tensor_checks import is_plain_tensor
from pypto.runtime.tools import PROCESS

if TYPE_CHECKING:
    from pypto.build.record import Entry
    from pypto.elaborate import KernelSource
    from pypto.runtime.explain import Explanation

__all__ = ["Kernel"]

_KNOWN = 64  # binaries that one kernel remembers; the launcher keeps as many variants
_NEVER = 2**64 - 1  # an epoch that is never current


class _Known:
    """A binary found before, under which options, and the parameters it writes.

    ``constants``: digests of what constant arguments held then; the objects may change later.
    """

    __slots__ = ("constants", "found", "options_key", "whole", "written")

    def __init__(self, found: Found, options_key: str) -> None:
        self.found = found
        self.constants = _constant_digests(found.signature)
        self.options_key = options_key
        self.written = frozenset(found.entry.data["written"])
        self.whole = frozenset(found.entry.data["whole"])


class Kernel:
    """One decorated function at run time: its dispatcher and the variants known so far."""

    def __init__(
        self,
        source: KernelSource,
        parameters: tuple[Parameter, ...],
        decorator: Options,
        scope: Options | None,
    ) -> None:
        self.source = source
        self.name = source.function.__name__
        self.parameters = parameters
        self.decorator = decorator
        self.scope = scope
        self.known: list[_Known] = []  # most recent first
        self._lock = threading.RLock()
        self._dispatcher: Any = None

    def dispatcher(self, *, load: bool) -> Any:
        """The launcher's callable for this kernel; None before the launcher was needed, unless
        ``load``, which may build it."""
        if self._dispatcher is None and (load or PROCESS.launcher is not None):
            launcher, _ = PROCESS.tools()
            defaults = {p.name: p.default for p in self.parameters if p.default is not NO_DEFAULT}
            names = tuple(p.name for p in self.parameters)
            with self._lock:
                if self._dispatcher is None:
                    made = launcher.Dispatcher(self.name, names, defaults, self._fallback)
                    self._dispatcher = made
        return self._dispatcher

    # --- a call that no variant took ---

    def _fallback(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        # An error keeps this frame alone, and the launcher drops it.
        try:
            self.call(args, kwargs)
        except PyptoError as error:
            if full_tracebacks():
                raise
            raise outside(error)  # noqa: B904

    def call(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Check, find or make the binary, prepare the arguments, run. Returns None.

        The launcher is loaded, and the C++ compiler started, only when all checks have passed.
        """
        values = bind(self.name, self.parameters, args, kwargs)
        epoch = _options.epoch()
        options = _options.resolve(self.decorator, scope=self.scope)
        _options.warn(options)
        staging = _staging(options, values)
        signature = classify(self.parameters, values, staging)
        plain = plain_scalars(signature, values)
        by_name = dict(zip(signature.names, plain, strict=True))
        chosen = target.get(options.soc_version)
        request = Request(self.source, signature, by_name, options, chosen, build_kind())
        if options.compile_stage != CompStage.ALL_COMPLETE:
            self._compile_only(request, options)
            return
        known = self._lookup(request)
        prepared = normalise(
            self.name, self.parameters, plain, known.written, whole=known.whole, staging=staging
        )
        if not self.dispatcher(load=True).run(prepared.args):
            self._run_new(request, prepared.args, epoch)
        prepared.finish()

    def _run_new(self, request: Request, args: tuple[object, ...], options_epoch: int) -> None:
        """Give the launcher a variant for ``args`` and run it. Copying may have changed which
        tensors are one memory, so the arguments are classified as they are now."""
        signature = classify(self.parameters, args, None)
        known = self._lookup(replace(request, signature=signature))
        launcher, _ = PROCESS.tools()
        epoch, scope = launcher.epoch(), launcher.scope()
        if _options.epoch() != options_epoch:
            epoch = _NEVER  # another thread changed options meanwhile: for this call only
        variant = self._make_variant(known.found, request, epoch, scope)
        self.dispatcher(load=True).add(variant)
        if variant(args) is False:
            raise PyptoGeneralError(
                f"{self.name}: the compiled kernel does not take arguments it was compiled for; "
                "this is a defect of pypto"
            )

    def _lookup(self, request: Request) -> _Known:
        """The binary for ``request``: known from before, stored, or compiled now."""
        with self._lock:
            known = self._recall(request)
            if known is None:
                found = PROCESS.lookup.find(request)
                assert found is not None
                self._show(found, request)
                known = _Known(found, request.options.as_key())
            else:
                self.known.remove(known)
            self.known.insert(0, known)
            del self.known[_KNOWN:]
            return known

    def _recall(self, request: Request) -> _Known | None:
        """A binary found before for such a call, with its captured values unchanged."""
        key = request.options.as_key()
        function = self.source.function
        for known in self.known:
            if known.options_key != key or not _covers(known, request):
                continue
            if all(evaluate(r, function) == r.digest for r in known.found.reads):
                return known
        return None

    def _make_variant(self, found: Found, request: Request, epoch: int, scope: object) -> Any:
        launcher, runtime = PROCESS.tools()
        # The constants of this call: those that the binary was found with may have changed since.
        signature = found.signature.with_constants(request.values)
        data = found.entry.data
        binary = cpu.load(found.entry.path("kernel.so"), data["symbol"])
        rows = self._captures(found.reads)
        return launcher.Variant(
            entry=binary.address,
            runtime=runtime.address,
            owner=(binary.owner, runtime.owner),
            params=variant_params(signature),
            ints=tuple(tuple(i) for i in data["ints"]),
            floats=tuple(data["floats"]),
            alias=found.signature.alias,
            written=tuple(
                p.name in data["written"]
                for p, s in zip(self.parameters, found.signature.parameters, strict=True)
                if isinstance(s, TensorSignature)
            ),
            captures=rows,
            explain=_Explain(self.source, signature, request.options, found.entry),
            epoch=epoch,
            scope=scope,
            conditional=bool(data["conditions"]),
        )

    def _captures(self, reads: tuple[CapturedRead, ...]) -> tuple[object, ...]:
        try:
            rows = launcher_rows(reads, self.source.function)
        except Unreadable:
            rows = None  # an absent name: compared by the slow path
        if rows is not None:
            return rows
        # The reads cannot be compared by pointer: a row that never matches sends every call here.
        return (({}, "never", None),)

    # --- compiling without a call ---

    def _compile_only(self, request: Request, options: Options) -> None:
        from pypto.compiler import compile_kernel

        last = {CompStage.TENSOR_GRAPH: "tensor", CompStage.TILE_GRAPH: "tile"}
        stage = options.compile_stage
        if stage == CompStage.CODEGEN_BINARY:
            found = PROCESS.lookup.find(request)
            assert found is not None
            self._show(found, request)
            return
        compilation = compile_kernel(
            request.source, request.signature, options, request.values, request.target,
            last.get(stage, "ascendc"),
        )  # fmt: skip
        _dump.show({n: compilation.display(n) for n in compilation.texts}, self.name)

    def _show(self, found: Found, request: Request) -> None:
        """Show the levels when asked for; a binary from the cache is elaborated again for it."""
        wanted = _dump.request()
        directory = _debug_directory(request.options)
        if wanted is None and directory is None:
            return
        compilation = found.compilation
        if compilation is None:
            from pypto.compiler import compile_kernel

            compilation = compile_kernel(
                request.source, request.signature, request.options, request.values, request.target
            )
        levels = {n: compilation.display(n) for n in compilation.texts}
        _dump.show(levels, self.name)
        if directory is not None:
            _dump.write(levels, self.name, directory)


def _constant_digests(signature: CallSignature) -> dict[str, str]:
    """What each constant of the signature holds now. A found binary's are digestible: its key
    was made of them."""
    from pypto.elaborate.digests import digest
    from pypto.ir.signature import ConstantSignature

    return {
        name: digest(parameter.value)
        for name, parameter in zip(signature.names, signature.parameters, strict=True)
        if isinstance(parameter, ConstantSignature)
    }


def _covers(known: _Known, request: Request) -> bool:
    """True when the binary serves the request's call."""
    from pypto.elaborate.digests import Undigestible, digest

    signature = known.found.signature
    if signature.alias != request.signature.alias:
        return False
    for name, have, want in zip(
        signature.names, signature.parameters, request.signature.parameters, strict=True
    ):
        held = known.constants.get(name)
        if held is None:
            if have != want:
                return False
        elif isinstance(want, TensorSignature):
            return False
        else:
            try:
                if held != digest(request.values[name]):
                    return False
            except Undigestible:
                return False  # the lookup says what is wrong with the value
    return True


@functools.cache
def build_kind() -> str:
    """Which build of the twin kernels run on: PYPTO_TWIN, ``fast`` by default, and the assumptions
    of PYPTO_ASSUME. Both are read once, as are PYPTO_TWIN_SEED by the shuffled build itself and
    PYPTO_TWIN_TIMEOUT by the runtime library."""
    kind = os.environ.get("PYPTO_TWIN") or "fast"
    if kind not in KINDS:
        raise FeValueError(f"PYPTO_TWIN must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    seed = os.environ.get("PYPTO_TWIN_SEED")
    if kind == "shuffled" and seed and not (seed.isdecimal() and int(seed) < 2**64):
        raise FeValueError(f"PYPTO_TWIN_SEED must be a number from 0 to 2**64 - 1, got {seed!r}")
    limit = os.environ.get("PYPTO_TWIN_TIMEOUT")
    if kind == "checked" and limit and not re.fullmatch(r"\d{1,9}(\.\d*)?", limit):
        raise FeValueError(f"PYPTO_TWIN_TIMEOUT must be seconds, 0 for no limit, got {limit!r}")
    text = os.environ.get("PYPTO_ASSUME")
    return assume.named(kind, text) if text else kind


def _debug_directory(options: Options) -> str | None:
    """compile_debug_mode: 1 writes all levels to a new folder a run, 2 to a fixed one."""
    mode = options.compile_debug_mode
    if not mode:
        return None
    return _dump.debug_directory(fixed=mode == 2)


def _staging(options: Options, values: tuple[object, ...]) -> cpu.DeviceStaging | None:
    """How the call's tensors reach the CPU twin; refuses what the NPU would have to run."""
    devices = {str(v.device.type) for v in values if is_plain_tensor(v)}
    mode = options.run_mode
    launches = options.compile_stage == CompStage.ALL_COMPLETE
    if launches and (mode == RunMode.NPU or (mode is None and "npu" in devices)):
        from pypto.runtime.npu import refuse_npu

        refuse_npu(mode, devices)
    return cpu.DeviceStaging("npu") if "npu" in devices else None


class _Explain:
    """Raises the error that a kernel's refusal of a call stands for."""

    __slots__ = ("_explanation", "_known")

    def __init__(
        self, source: KernelSource, signature: CallSignature, options: Options, entry: Entry
    ) -> None:
        self._known = (source, signature, options, entry)
        self._explanation: Explanation | None = None

    def __call__(self, code: int, args: tuple[object, ...]) -> NoReturn:
        if self._explanation is None:
            from pypto.runtime.explain import Explanation

            self._explanation = Explanation(*self._known)
        raise self._explanation.error(code, args)
