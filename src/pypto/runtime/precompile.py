"""Compiling a kernel from its annotations, without tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pypto import _options, target
from pypto._options import Options, validate
from pypto.error import Diagnostic, FeValueError
from pypto.ir.signature import CallSignature
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
    given = {p.name: p.default for p in parameters if p.default is not NO_DEFAULT}
    check_values(parameters, values)
    given.update(values)
    signature = _signature(source, shapes, values)
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
    source: KernelSource, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, object]
) -> CallSignature:
    from pypto.elaborate.annotations import signature_of

    signature = signature_of(source.function, values, shapes)
    unknown = set(shapes) - set(signature.names)
    if unknown:
        raise FeValueError(
            [
                Diagnostic(
                    FeValueError,
                    FeValueError.default_code,
                    f"no parameter is called {', '.join(map(repr, sorted(unknown)))}",
                    expected=f"sizes of {', '.join(signature.names)}",
                    got=f"shapes of {', '.join(sorted(shapes))}",
                )
            ]
        )
    return signature


def _write_source(request: Request, directory: str | None) -> tuple[str, str, str]:
    from pypto.compiler import compile_kernel

    compilation = compile_kernel(
        request.source, request.signature, request.options, request.values, request.target
    )
    folder = directory or os.getcwd()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, compilation.source_file)
    with open(path, "w", encoding="utf-8") as file:
        file.write(compilation.display("ascendc"))
    return "", "compiled", path
