"""The same program by several ways: torch, Tensor IR interpreted, Tensor IR compiled and run."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pypto import _options
from pypto.elaborate import Elaboration, KernelSource, elaborate
from pypto.error import PyptoError, PyptoGeneralError
from pypto.ir.tensor_print import print_kernel
from pypto.ir.verify import verify_tensor
from pypto.runtime.arguments import classify
from pypto.runtime.explain import _PRECONDITION
from pypto.runtime.parameters import parameters_of
from tests.differential import interpreter, shim
from tests.differential.program import Program
from tests.ops.batch import Batch, Variant, make_function

CALLS = 4
Values = Sequence[Any]


@dataclass(slots=True)
class Report:
    """What became of many programs. ``refused``: messages; ``wrong``: programs that say why."""

    programs: int = 0
    calls: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # of the programs that were run

    def note(self, program: Program, values: Values, error: PyptoError) -> None:
        """An error of the compiler: a refusal, or a defect that a verifier found."""
        message = f"{type(error).__name__}: {error.diagnostics[0].message}"
        if isinstance(error, PyptoGeneralError):
            self.wrong.append(described(program, values, message))
        else:
            self.refused[message] += 1

    def __str__(self) -> str:
        lines = [
            f"{self.programs} programs, {self.refused.total()} refused,"
            f" {len(self.wrong)} wrong, {self.calls} calls"
        ]
        lines += [f"{count:5} refused: {text}" for text, count in self.refused.most_common()]
        lines += [f"{count:5} {kind}" for kind, count in sorted(self.kinds.items())]
        return "\n".join(lines)


def copied(values: Values) -> list[Any]:
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]


def expected(program: Program, values: Values) -> list[Any] | None:
    """The arguments behind the call, by torch; None where the program has no defined result."""
    want = copied(values)
    try:
        shim.run(program.text, program.name, want)
    except shim.Undefined:
        return None
    return want


def difference(program: Program, got: Values, want: Values) -> str | None:
    """What differs; floats that are not numbers are equal, and zeros of either sign."""
    for parameter, a, b in zip(program.parameters, got, want, strict=True):
        if not isinstance(b, torch.Tensor):
            continue
        same = (a == b) | ((a != a) & (b != b))
        if not bool(same.all()):
            first = tuple(int(i) for i in torch.nonzero(~same)[0])
            return (
                f"{parameter.name}{list(first)} is {a[first].item()}, expected {b[first].item()};"
                f" {int((~same).sum())} of {b.numel()} elements differ"
            )
    return None


def described(program: Program, values: Values, problem: str, level: str = "") -> str:
    shapes = [list(v.shape) if isinstance(v, torch.Tensor) else v for v in values]
    return f"{problem}\ncalled with {shapes}\n{program.text}\n{level}"


# --- Tensor IR ---


def front_end(function: types.FunctionType, values: Values) -> Elaboration:
    """Tensor IR of ``function`` for a call with ``values``, verified."""
    parameters = parameters_of(function)
    signature = classify(parameters, tuple(values), None)
    scalars = {
        p.name: v
        for p, v in zip(parameters, values, strict=True)
        if not isinstance(v, torch.Tensor)
    }
    options = _options.resolve(_options.Options(()))
    made = elaborate(KernelSource.capture(function), signature, options, scalars)
    verify_tensor(made.kernel)
    return made


def check_front_end(program: Program, report: Report, calls: int = CALLS) -> None:
    """``program`` by torch and by its Tensor IR."""
    report.programs += 1
    function = make_function(program.text, program.name)
    made: Elaboration | None = None
    for values in program.calls(calls):
        if made is None or made.specialised:
            try:
                made = front_end(function, values)
            except PyptoError as error:
                report.note(program, values, error)
                return
        want = expected(program, values)
        if want is None:
            continue
        got = copied(values)
        try:
            interpreter.interpret(made.kernel, got)
            problem = difference(program, got, want)
        except interpreter.Refused as refusal:
            report.refused[f"at a call: {refusal}"] += 1
            return
        except interpreter.Fault as fault:
            problem = f"fault: {fault}"
        report.calls += 1
        if problem is not None:
            report.wrong.append(described(program, values, problem, print_kernel(made.kernel)))
            return
    report.kinds.update(program.kinds.keys())


# --- compiled kernels ---


def check_compiled(
    programs: Iterable[Program], report: Report, kind: str | None = None, calls: int = CALLS
) -> None:
    """``programs`` by torch and as compiled kernels of one C++ compilation."""
    batch = Batch(kind)
    made: list[tuple[Program, Variant]] = []
    for program in programs:
        report.programs += 1
        try:
            variant = batch.add(make_function(program.text, program.name), *program.arguments(0))
        except PyptoError as error:
            report.note(program, program.arguments(0), error)
            continue
        made.append((program, variant))
    if not made:
        return
    batch.build()
    for program, variant in made:
        _run(program, variant, report, calls)


def _run(program: Program, variant: Variant, report: Report, calls: int) -> None:
    first = program.arguments(0)
    specialised = variant.compilation.elaboration.specialised
    for values in program.calls(calls):
        names = [p.name for p in program.parameters]
        if any(values[names.index(n)] != first[names.index(n)] for n in specialised):
            continue
        want = expected(program, values)
        if want is None:
            continue
        for control in ({}, {"blocks": 3, "l1_bytes": 1024, "workers": 2}):
            got = copied(values)
            code, problem = _guarded(lambda got=got, c=control: variant.run(*got, **c))
            report.calls += 1
            if problem is None and code >= _PRECONDITION:
                report.refused["at a call: a precondition"] += 1
                return
            if problem is None:
                problem = difference(program, got, want) if code == 0 else f"code {code}"
            if problem is not None:
                report.wrong.append(described(program, values, f"{problem} {control}"))
                return
    report.kinds.update(program.kinds.keys())


def _guarded(run: Callable[[], int]) -> tuple[int, str | None]:
    """What the checked twin finds is a result here, not the end of the test."""
    try:
        return run(), None
    except PyptoError as error:
        return -1, str(error)
