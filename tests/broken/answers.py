"""What the compiler answers to a kernel: levels that verify, or an error that says where."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pypto import _options, target
from pypto.compiler import compile_kernel
from pypto.elaborate import KernelSource
from pypto.elaborate.annotations import signature_of
from pypto.error import Diagnostic, PyptoError, PyptoGeneralError
from tests.broken.corpus import Kernel, constructs, generated, samples
from tests.broken.mutate import broken
from tests.ops.batch import make_function

__all__ = ["Answers", "answer", "kernel_of"]


@dataclass(slots=True)
class Answers:
    """What became of many kernels. ``wrong`` holds what is no answer, with the text."""

    compiled: int = 0
    refused: int = 0
    unusable: int = 0  # Python itself runs the module with an error
    wrong: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)

    def check(self, kernel: Kernel, text: str, name: str, last: str, title: str = "") -> None:
        """Compile the kernel ``name`` of ``text`` up to the level ``last``."""
        try:
            function = make_function(text, name)
            annotated = function.__annotations__
            constants = {n: v for n, v in kernel.values.items() if n not in annotated}
            signature = signature_of(function, constants)
        except Exception:  # an annotation or the module itself is broken
            self.unusable += 1
            return
        values = {n: v for n, v in kernel.values.items() if n in signature.names}
        options = _options.resolve(_options.Options(()))
        problem: str | None = None
        try:
            source = KernelSource.capture(function)
            compile_kernel(source, signature, options, values, target.get(), last)
            self.compiled += 1
        except PyptoError as error:
            problem = _problem(error)
            self.refused += 1
            self.messages[error.diagnostics[0].message] += 1
        except Exception:
            problem = traceback.format_exc()
        if problem is not None:
            self.wrong.append(f"{title or kernel.title}: {problem}\n{text}")

    def __str__(self) -> str:
        return (
            f"{self.compiled} compiled, {self.refused} refused with {len(self.messages)} messages, "
            f"{self.unusable} unusable, {len(self.wrong)} without an answer"
        )


def kernel_of(seed: int) -> tuple[Kernel, str, random.Random]:
    """The kernel of this seed, and its broken text."""
    pick = random.Random(seed)
    source = pick.choice("ccccsgggg")
    if source == "c":
        kernel = pick.choice(constructs())
    elif source == "s":
        kernel = pick.choice(samples())
    else:
        kernel = generated(pick.randrange(2**32))
    return kernel, broken(kernel, pick), pick


def answer(seed: int, answers: Answers, last: str = "tensor") -> None:
    """Compile the broken kernel of ``seed`` up to the level ``last`` and note the answer."""
    kernel, text, pick = kernel_of(seed)
    title = f"seed {seed}, {kernel.title}"
    answers.check(kernel, text, pick.choice(kernel.names), last, title)


def _problem(error: PyptoError) -> str | None:
    """What is missing in an error: a place or a message; a defect of the compiler is none."""
    if isinstance(error, PyptoGeneralError):
        return str(error)
    assert error.diagnostics
    for diagnostic in error.diagnostics:
        defined = any(note.startswith("defined at ") for note in diagnostic.notes)
        placed = _inside(diagnostic) if diagnostic.span is not None else defined
        if not placed or not diagnostic.message:
            return f"no place: {diagnostic!r}"
    return None if str(error) else "no text"


def _inside(diagnostic: Diagnostic) -> bool:
    """Whether the place lies within the text that it belongs to."""
    span: Any = diagnostic.span
    lines = span.source.lines
    return 1 <= span.line <= span.end_line <= len(lines) and span.column <= len(
        lines[span.line - 1]
    )
