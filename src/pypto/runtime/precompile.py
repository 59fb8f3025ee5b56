"""Compiling a kernel from its annotations, without tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pypto import _dump, _options, target
from pypto._options import Options, validate
from pypto.error import Diagnostic, FeValueError, raise_diagnostics
from pypto.ir.signature import CallSignature, ConstantSignature
from pypto.runtime.arguments import check_values
from pypto.runtime.dispatch import build_kind
from pypto.runtime.lookup import Request
from pypto.runtime.parameters import NO_DEFAULT, Parameter
from pypto.runtime.tools import PROCESS

if TYPE_CHECKING:
    from pypto.elaborate import KernelSource

__all__ = ["precompile"]

_TARGETS = ("cpu", "source")


def precompile(
    source: KernelSource,
    parameters: tuple[Parameter, ...],
    decorator: Options,
    scope: Options | None,
    *,
    target: str,
    arch: str | None,
    shapes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, object],
    directory: str | None,
) -> tuple[str, str, str]:
    """(key, ``compiled`` or ``cached``, path) of the kernel for its annotations."""
    if target not in _TARGETS:
        raise FeValueError(
            [
                Diagnostic(
                    FeValueError,
                    FeValueError.default_code,
                    f"pypto does not compile for the target {target!r}",
                    expected=f"one of {', '.join(map(repr, _TARGETS))}",
                    got=repr(target),
                    help="'source' writes the Ascend C text, which a device's compiler takes",
                )
            ]
        )
    options = _options.resolve(decorator, scope=scope)
    if arch is not None:
        options = options.merged(validate("codegen_options", {"soc_version": arch}))
    given = {**_defaults(parameters), **values}
    signature = _signature(source, parameters, shapes, values)
    chosen = _target(options)
    request = Request(source, signature, given, options, chosen, build_kind())
    if target == "source":
        return _write_source(request, directory)
    found = PROCESS.lookup.find(request)
    assert found is not None
    return found.entry.key, "compiled" if found.compiled else "cached", found.entry.directory


def _target(options: Options) -> target.Target:
    return target.get(options.soc_version)


def _signature(
    source: KernelSource,
    parameters: tuple[Parameter, ...],
    shapes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, object],
) -> CallSignature:
    from pypto.elaborate.annotations import signature_of

    tensors = [p.name for p in parameters if p.tensor is not None]
    others = tuple(p for p in parameters if p.tensor is None)
    problems = _unknown("shapes", shapes, tensors, "tensor")
    problems += _unknown("values", values, [p.name for p in others], "scalar or constant")
    problems += [_no_shape(name, given) for name, given in shapes.items() if not _is_shape(given)]
    raise_diagnostics(problems)
    known = check_values(others, {**_defaults(parameters), **values})
    signature = signature_of(source.function, values, shapes, source)
    # A number without an annotation stays a run-time scalar, as in a call.
    found = zip(signature.names, signature.parameters, strict=True)
    exact = tuple(known[n] if isinstance(p, ConstantSignature) else p for n, p in found)
    return replace(signature, parameters=exact)


def _defaults(parameters: tuple[Parameter, ...]) -> dict[str, object]:
    return {p.name: p.default for p in parameters if p.default is not NO_DEFAULT}


def _unknown(
    argument: str, given: Mapping[str, object], names: list[str], kind: str
) -> list[Diagnostic]:
    """What is wrong with the names in ``compile(argument=given)``, where ``names`` are right."""
    unknown = sorted(given.keys() - set(names))
    if not unknown:
        return []
    return [
        Diagnostic(
            FeValueError,
            FeValueError.default_code,
            f"no {kind} parameter is called {', '.join(map(repr, unknown))}",
            expected=f"{argument} of {', '.join(names)}" if names else f"no {argument}",
            got=f"{argument} of {', '.join(sorted(given))}",
        )
    ]


def _is_shape(given: object) -> bool:
    if not isinstance(given, list | tuple):
        return False
    return all(isinstance(size, int) and size >= 0 for size in given)


def _no_shape(name: str, given: object) -> Diagnostic:
    return Diagnostic(
        FeValueError,
        FeValueError.default_code,
        f"the shape given for {name!r} is none",
        expected="a tuple of sizes, each an int of 0 or more",
        got=repr(given),
    )


def _write_source(request: Request, directory: str | None) -> tuple[str, str, str]:
    from pypto.compiler import compile_kernel

    compilation = compile_kernel(
        request.source, request.signature, request.options, request.values, request.target
    )
    path = os.path.join(directory or _working_directory(), compilation.source_file)
    _dump.write_file(
        path,
        compilation.display("ascendc"),
        f"The Ascend C of '{compilation.name}'",
        "name a directory that you can write: compile(directory=...).",
    )
    return "", "compiled", path


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed: writing says so
        return os.curdir
