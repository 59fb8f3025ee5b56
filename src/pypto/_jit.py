"""The decorator: a kernel object that parses nothing until it is called or compiled."""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, overload

from pypto._options import Options, validate_families
from pypto._record import Record
from pypto._traceback import full_tracebacks, outside
from pypto.elaborate.source import KernelSource
from pypto.error import PyptoError

# Loaded with the decorator, not at the first call: that is the one somebody waits for.
from pypto.runtime.dispatch import Kernel
from pypto.runtime.parameters import Parameter, parameters_of, place_of
from pypto.runtime.tools import PROCESS

__all__ = ["CompileReport", "JitFunction", "jit"]

OptionMap = Mapping[str, object]


class CompileReport(Record):
    """What :meth:`JitFunction.compile` did.

    ``state``: ``compiled``, ``cached`` or ``failed`` (then ``error`` says why). ``key`` and
    ``path`` are those of the cache entry, or of the written text.
    """

    kernel: str
    key: str
    state: str
    error: PyptoError | None
    seconds: float
    path: str


class JitFunction:
    """A kernel: call it with torch tensors, or :meth:`compile` it without."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self._source = KernelSource.capture(function)
        self._options = options
        self._scope: Options | None = getattr(function, "__pypto_options__", None)
        self._kernel: Kernel | None = None
        self._lock = threading.Lock()
        self._target: Callable[..., None] = self._first_call
        functools.update_wrapper(self, self._source.function)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        try:
            self._target(*args, **kwargs)
        except PyptoError as error:
            if full_tracebacks():
                raise
            raise outside(error)  # PYPTO_TRACEBACK=full shows the frames below  # noqa: B904

    def __repr__(self) -> str:
        return f"<pypto kernel {self._source.function.__qualname__}>"

    def __get__(self, instance: object, owner: object = None) -> JitFunction:
        # As a class attribute a kernel is a static function: kernels have no self.
        return self

    def __reduce__(self) -> str:
        return self._source.function.__qualname__

    @property
    def signature(self) -> inspect.Signature:
        """The Python signature of the kernel."""
        return inspect.signature(self._source.function)

    def with_options(self, options: Options) -> JitFunction:
        """The same kernel under an option scope of its own (``@pypto.options`` above ``@jit``)."""
        made = JitFunction(self._source.function, self._options)
        made._scope = options if self._scope is None else options.merged(self._scope)
        return made

    def _parameters(self) -> tuple[Parameter, ...]:
        return parameters_of(self._source.function, functools.partial(place_of, self._source))

    def _first_call(self, *args: Any, **kwargs: Any) -> None:
        """A call before the launcher has this kernel."""
        try:
            self._prepared().call(args, kwargs)
        except PyptoError as error:
            if full_tracebacks():
                raise
            raise outside(error)  # noqa: B904
        finally:
            self._forward()

    def _prepared(self) -> Kernel:
        with self._lock:
            if self._kernel is None:
                self._kernel = Kernel(self._source, self._parameters(), self._options, self._scope)
            return self._kernel

    def _forward(self) -> None:
        """Once the launcher is there, let calls go to it without a Python frame."""
        dispatcher = self._kernel.dispatcher(load=False) if self._kernel is not None else None
        if dispatcher is None:
            return
        self._target = dispatcher
        forwarder = PROCESS.launcher.Forwarder
        cls = type(self)
        if not isinstance(cls.__dict__.get("__call__"), forwarder):
            cls.__call__ = forwarder("_target")  # type: ignore[method-assign]

    def compile(
        self,
        *,
        target: str = "cpu",
        arch: str | None = None,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        values: Mapping[str, object] | None = None,
        directory: str | None = None,
    ) -> CompileReport:
        """Compile from the annotations alone; a later call with such arguments finds the binary.

        ``target``: ``cpu`` (a binary for the CPU twin) or ``source`` (the Ascend C text, written
        to ``directory`` or the working directory). ``arch``: the chip. ``shapes``: sizes of
        tensors whose annotation leaves them open; ``values``: values of scalar parameters.
        Errors of the kernel are in the report, not raised.
        """
        from pypto.runtime.precompile import precompile

        start = time.perf_counter()
        name = self._source.function.__name__
        try:
            key, state, path = precompile(
                self._source,
                self._parameters(),
                self._options,
                self._scope,
                target=target,
                arch=arch,
                shapes=shapes or {},
                values=values or {},
                directory=directory,
            )
        except PyptoError as error:
            return CompileReport(name, "", "failed", error, time.perf_counter() - start, "")
        return CompileReport(name, key, state, None, time.perf_counter() - start, path)


@overload
def jit(func: Callable[..., Any], /) -> JitFunction: ...
@overload
def jit(
    func: None = None,
    *,
    host_options: OptionMap | None = None,
    codegen_options: OptionMap | None = None,
    pass_options: OptionMap | None = None,
    runtime_options: OptionMap | None = None,
    verify_options: OptionMap | None = None,
    debug_options: OptionMap | None = None,
    new_ir: bool = True,
    create_new_logical_tensor: bool = False,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    func: Callable[..., Any] | None = None,
    *,
    host_options: OptionMap | None = None,
    codegen_options: OptionMap | None = None,
    pass_options: OptionMap | None = None,
    runtime_options: OptionMap | None = None,
    verify_options: OptionMap | None = None,
    debug_options: OptionMap | None = None,
    new_ir: bool = True,
    create_new_logical_tensor: bool = False,
    **unknown: object,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Make a kernel of a Python function. Used bare or with options.

    The function is not run: its source text is compiled to Ascend C at the first call with
    arguments of a kind, and the binary is cached on disk. Options are checked here; the function's
    text is not looked at before it is needed. ``new_ir`` and ``create_new_logical_tensor`` choose
    between front ends of the reference framework and have no meaning here.
    """
    del new_ir, create_new_logical_tensor
    if unknown or not (func is None or callable(func) or isinstance(func, classmethod)):
        _refuse(func, unknown)
    options = validate_families(
        {
            "codegen_options": codegen_options,
            "host_options": host_options,
            "pass_options": pass_options,
            "runtime_options": runtime_options,
            "verify_options": verify_options,
            "debug_options": debug_options,
        }
    )
    if func is not None:
        return JitFunction(func, options)
    return lambda function: JitFunction(function, options)


def _refuse(func: object, unknown: Mapping[str, object]) -> NoReturn:
    """FeKeyError for an argument that :func:`jit` has not, FeTypeError for what is no function."""
    from pypto._options.refuse import refuse_argument, refuse_type

    for name in unknown:
        known = inspect.signature(jit).parameters
        refuse_argument("frontend.jit", name, [one for one in known if one not in _NO_OPTIONS])
    help = "options go by name: @pypto.frontend.jit(runtime_options={...})"
    refuse_type("pypto.frontend.jit makes kernels of functions", "function", func, help)


_NO_OPTIONS = ("func", "unknown")
