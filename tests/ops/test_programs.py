"""Random kernels: what they compute is what their text means, however they are cut.

By default a fixed slice runs; ``tox -e fuzz`` tries new programs. Numbers come from batches, many
kernels in one compilation; what needs no C++ (every program compiles, and both levels pass their
verifiers) is checked on many more, which hypothesis can shrink.
"""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
import torch
from hypothesis import strategies as st

from tests.ops.batch import Batch, make_function
from tests.ops.checks import Case
from tests.ops.programs import Drawn, Program, Seeded, Writer, bound_text

PER_BATCH = 10
SEEDS = (1000, 2000)


def prepare(batch: Batch, program: Program, seed: int) -> tuple[Case, tuple[Any, ...]]:
    sizes = program.sizes(Seeded(seed))
    if program.same is not None:  # empty tensors share no memory, and later calls are not empty
        sizes = {role: size or 1 for role, size in sizes.items()}
    values = program.arguments(sizes, seed)
    text = bound_text(program, sizes).split("\n", 2)[2]  # Case writes the imports
    return Case(batch, text, program.name, *values), values


def run_batch(first: int, count: int = PER_BATCH) -> None:
    """Compile ``count`` programs together; run each on several sizes, whole and in small steps."""
    batch = Batch()
    cases = []
    for seed in range(first, first + count):
        program = Writer(Seeded(seed), f"k{seed}").write()
        cases.append((seed, program, *prepare(batch, program, seed)))
    batch.build()
    for seed, program, case, values in cases:
        calls = [values]
        if program.dynamic:
            chooser = Seeded(seed)
            calls += [program.arguments(program.sizes(chooser), seed + n) for n in range(4)]
        for arguments in calls:
            case.check(*arguments)
            case.check(*arguments, blocks=3, l1_bytes=1024, workers=2)
        case.check(*values, blocks=5, l1_bytes=4096, workers=1)


@pytest.mark.parametrize("first", SEEDS)
def test_random_kernels(first: int) -> None:
    run_batch(first)


@pytest.mark.property
@hypothesis.given(data=st.data())
def test_random_kernels_compile_and_verify(data: st.DataObject) -> None:
    program = Writer(Drawn(data), "k").write()
    sizes = program.sizes(Seeded(len(program.text)))
    function = make_function(bound_text(program, sizes), "k")
    variant = Batch().add(function, *program.arguments(sizes, 0))
    assert variant.compilation.ascendc


@pytest.mark.property
def test_new_random_kernels(request: pytest.FixtureRequest) -> None:
    """New programs on every run of the fuzz profile, a fixed batch otherwise."""
    if hypothesis.settings.get_current_profile_name() != "fuzz":
        run_batch(3000, 4)
        return
    start = int(torch.seed() % 2**40)
    for number in range(100):
        first = start + number * PER_BATCH
        print(f"seeds from {first}")  # shown when it fails
        run_batch(first)
