"""Right kernels compute the same bits on every build of the twin, and in every order of the pipes.

The naive build takes no short cut; the shuffled one lets pipes and cores run ahead of one another.
By default a few kernels are looked at; ``tox -e mutation`` takes many, and the samples.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.ops.batch import Batch, make_function
from tests.ops.programs import Seeded, Writer, bound_text
from tests.twin.orders import first_other

from .corpus import GOLDEN, Subject, golden

ORDERS = 20
SAMPLES = Path(__file__).parents[2] / "samples"


def random_program(seed: int) -> Subject:
    """A random kernel, with numbers of all kinds and empty tensors."""
    program = Writer(Seeded(seed), f"program{seed}").write()
    chooser = Seeded(seed)
    sizes = program.sizes(chooser)
    if program.same is not None:  # empty tensors share no memory
        sizes = {role: size or 1 for role, size in sizes.items()}
    calls = [program.arguments(sizes, seed)]
    if program.dynamic and program.same is None:
        calls += [program.arguments(program.sizes(chooser), seed + n) for n in range(2)]
    return Subject(program.name, bound_text(program, sizes), tuple(calls))


def agree(subjects: Sequence[Subject]) -> None:
    """All builds leave the same bits in the arguments of each call, in every order."""
    batches = {kind: Batch(kind) for kind in ("fast", "checked", "naive", "shuffled")}
    for batch in batches.values():
        for subject in subjects:
            batch.add(make_function(subject.text, subject.name), *subject.calls[0])
        batch.build()
    for number, subject in enumerate(subjects):
        for call in subject.calls:
            for l1_bytes in (1024, 32768):
                fast = ran(batches["fast"], number, call, l1_bytes)
                others = {
                    kind: ran(batches[kind], number, call, l1_bytes)
                    for kind in ("checked", "naive", "shuffled")
                }
                for kind, other in others.items():
                    assert all(map(same_bits, fast, other)), f"{subject.name}: {kind}"
                # of one build, so that the bits of NaN are the same, too
                found = shuffled(batches["shuffled"], number, call, l1_bytes, others["shuffled"])
                assert found is None, f"{subject.name}: {found}"


def ran(batch: Batch, number: int, call: Sequence[Any], l1_bytes: int) -> list[torch.Tensor]:
    """The tensors of ``call`` after the kernel has run on copies of them."""
    own = copies(call)
    assert batch.variants[number].run(*own, blocks=3, l1_bytes=l1_bytes, workers=2) == 0
    return [value for value in own if isinstance(value, torch.Tensor)]


def shuffled(
    batch: Batch, number: int, call: Sequence[Any], l1_bytes: int, expected: Sequence[torch.Tensor]
) -> object:
    own = copies(call)
    variant = batch.variants[number]
    run = lambda: variant.call(*own, l1_bytes=l1_bytes, workers=2)  # noqa: E731
    return first_other(batch.library[0], run, [*expected, None], range(ORDERS))


def copies(values: Sequence[Any]) -> list[Any]:
    made: dict[int, torch.Tensor] = {}
    return [made.setdefault(id(v), v.clone()) if isinstance(v, torch.Tensor) else v for v in values]


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Sign and payload of a NaN depend on which operand of a sum the C++ compiler puts first."""
    if a.is_floating_point():
        nan = a.isnan()
        if not torch.equal(nan, b.isnan()):
            return False
        a, b = a.masked_fill(nan, 0), b.masked_fill(nan, 0)
    return a.numel() == 0 or torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def test_a_slice() -> None:
    agree([GOLDEN["in_place"], GOLDEN["handed"], random_program(1002)])


@pytest.mark.mutation
def test_canonical_kernels() -> None:
    agree(golden())


@pytest.mark.mutation
@pytest.mark.parametrize("first", range(1000, 1060, 10))
def test_random_programs(first: int) -> None:
    agree([random_program(seed) for seed in range(first, first + 10)])


@pytest.mark.mutation
@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.py")))
def test_samples(sample: str) -> None:
    def printed(**environment: str) -> str:
        done = subprocess.run(
            [sys.executable, str(SAMPLES / sample)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    expected = printed(PYPTO_TWIN="fast")
    for kind in ("checked", "naive"):
        assert printed(PYPTO_TWIN=kind) == expected
    for seed in range(ORDERS):
        assert printed(PYPTO_TWIN="shuffled", PYPTO_TWIN_SEED=str(seed)) == expected, f"seed {seed}"
