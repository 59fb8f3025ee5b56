"""The whole compilation of a kernel: the page to read first.

    Python text ──elaborate──▶ Tensor IR ──lower──▶ Tile IR ──generate, render──▶ Ascend C

Every level is a value of the :class:`Compilation`; nothing here touches a file or a C++ compiler.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypto import passes
from pypto._options import Options
from pypto._recursion import deep_recursion
from pypto.codegen.comments import located
from pypto.codegen.kernel import CallInputs, generate
from pypto.codegen.render import render_cpu_wrapper, render_kernel
from pypto.elaborate import elaborate
from pypto.error import SourceText, Span
from pypto.ir.signature import CallSignature
from pypto.ir.tensor import Kernel, walk
from pypto.ir.tensor_print import print_kernel
from pypto.ir.tile import Program
from pypto.ir.tile_print import print_program
from pypto.ir.verify import verify_tensor, verify_tile
from pypto.target import Target

if TYPE_CHECKING:
    from pypto.elaborate import Elaboration, KernelSource

__all__ = ["STAGES", "Compilation", "compile_kernel"]

STAGES = ("tensor", "tile", "ascendc")
"""The levels that can be shown, in the order they are made."""


@dataclass(frozen=True, slots=True, eq=False)
class Compilation:
    """One kernel at every level.

    ``texts``: stable text of each level that was reached, by name of :data:`STAGES`. ``wrapper``:
    C++ launch code for the CPU. ``symbol``: what the binary exports.
    """

    name: str
    elaboration: Elaboration
    program: Program | None
    texts: Mapping[str, str]
    wrapper: str
    inputs: CallInputs
    symbol: str

    @property
    def kernel(self) -> Kernel:
        return self.elaboration.kernel

    @property
    def tensor_ir(self) -> str:
        return self.texts["tensor"]

    @property
    def tile_ir(self) -> str:
        return self.texts["tile"]

    @property
    def ascendc(self) -> str:
        return self.texts["ascendc"]

    @property
    def source_file(self) -> str:
        """Name of the file that the wrapper includes the Ascend C text by."""
        return f"{self.name}.cpp"

    def display(self, level: str) -> str:
        """The text of ``level`` with the files and lines of this occurrence filled in."""
        return located(self.texts[level], _sources(self.kernel))


@deep_recursion()
def compile_kernel(
    source: KernelSource,
    signature: CallSignature,
    options: Options,
    values: Mapping[str, object],
    target: Target,
    last: str = "ascendc",
) -> Compilation:
    """Compile ``source`` for calls of this ``signature``, up to the level ``last``.

    ``values``: what this call gives to scalar parameters; those needed at compile time end up in
    ``Compilation.elaboration.specialised``. Raises one PyptoError with all that is wrong.
    """
    elaboration = elaborate(source, signature, options, values, sys.stdout.write)
    if _verifies():
        verify_tensor(elaboration.kernel)
    texts = {"tensor": print_kernel(elaboration.kernel)}
    if last == "tensor":
        return Compilation(
            elaboration.kernel.name, elaboration, None, texts, "", CallInputs((), ()), ""
        )
    program = passes.lower(elaboration.kernel, signature.alias, target)
    if _verifies():
        verify_tile(program, target)
    texts["tile"] = print_program(program)
    generated = generate(program, target)
    wrapper = ""
    if last == "ascendc":
        texts["ascendc"] = render_kernel(generated.kernel)
        if _verifies():
            _verify_ascendc(texts["ascendc"], generated.name, elaboration.kernel, target)
        wrapper = render_cpu_wrapper((generated.wrapper,))
    return Compilation(
        generated.name,
        elaboration,
        program,
        texts,
        wrapper,
        generated.inputs,
        generated.wrapper.symbol,
    )


@functools.cache
def _verifies() -> bool:
    """Whether each level is checked for what it promises (PYPTO_VERIFY=1), as all tests do."""
    return os.environ.get("PYPTO_VERIFY", "") not in ("", "0")


def _verify_ascendc(text: str, name: str, kernel: Kernel, target: Target) -> None:
    from pypto.lint.verify import verify_ascendc  # loaded by no compilation that is not checked

    verify_ascendc(text, f"{name}.cpp", target, lambda text: located(text, _sources(kernel)))


def _sources(kernel: Kernel) -> set[SourceText]:
    return {span.source for span in _spans(kernel)}


def _spans(kernel: Kernel) -> Iterator[Span]:
    yield kernel.span
    for statement in walk(kernel.body):
        yield statement.span
