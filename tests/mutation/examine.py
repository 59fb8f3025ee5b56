"""Takes each synchronisation away and asks two that do not know of one another: the orders that a
pipe may take (with the Tile IR), and the checked twin."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pypto.ir.tile import Program
from tests.ops.batch import UNLAWFUL, Batch, Variant, make_function
from tests.twin.orders import Found, first_other

from .corpus import Subject
from .dependences import needed
from .mutants import Mutants, Site, mutants

__all__ = ["ORDERS", "Kernel", "Verdict", "compiled", "examine"]

ORDERS = 1000
"""Orders that are tried before a result counts as the same in all of them."""

Launch = Callable[..., object]
"""Runs a kernel on these arguments."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with all its mutants, on the checked and on the shuffled twin."""

    mutants: Mutants
    program: Program | None  # None: written by hand
    text: str
    calls: tuple[tuple[Any, ...], ...]
    checked: ctypes.CDLL
    shuffled: ctypes.CDLL
    run_checked: Launch
    run_alone: Launch  # on one core, checked
    run_shuffled: Launch


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a kernel without ``site``. ``changed``: an order that shows it; ``needed``:
    a dependence of the Tile IR is broken; ``rules``: what the checked twin has reported."""

    kernel: str
    site: Site
    changed: Found | None
    needed: bool
    rules: tuple[str, ...]

    def __str__(self) -> str:
        dependence = "a dependence of the Tile IR is broken" if self.needed else "nothing changes"
        return f"{self.kernel}, without {self.site}: {self.changed or dependence}; {self.rules}"

    @property
    def matters(self) -> bool:
        return self.changed is not None or self.needed


def compiled(subjects: Sequence[Subject]) -> list[Kernel]:
    """``subjects``, one compilation for each build of the twin."""
    batches = {kind: Batch(kind) for kind in ("checked", "shuffled")}
    variants: dict[str, list[Variant]] = {
        kind: [
            batch.add(make_function(subject.text, subject.name), *subject.calls[0])
            for subject in subjects
        ]
        for kind, batch in batches.items()
    }
    changed = {}
    for subject, variant in zip(subjects, variants["checked"], strict=True):
        changed[subject.name] = mutants(subject.name, variant.compilation.ascendc)
    for batch in batches.values():
        batch.build(lambda variant: changed[variant.compilation.name].text)
    kernels = []
    for number, subject in enumerate(subjects):
        checked, shuffled = variants["checked"][number], variants["shuffled"][number]
        kernels.append(
            Kernel(
                changed[subject.name],
                checked.compilation.program,
                checked.compilation.ascendc,
                subject.calls,
                batches["checked"].library[0],
                batches["shuffled"].library[0],
                _launch(checked, (1, 3)),
                _launch(checked, (1,)),
                _launch(shuffled, (None,)),
            )
        )
    return kernels


def _launch(variant: Variant, blocks: Sequence[int | None]) -> Launch:
    """Launches on each of these numbers of blocks (None: as the twin chooses), the last one with
    the arguments themselves; in as many steps as small tensors allow."""

    def launch(*values: Any) -> None:
        most = max(value.nbytes for value in values if _is_memory(value))
        for number in blocks:
            own = values if number == blocks[-1] else _copies(values)
            l1_bytes = 1024 if most < 65536 else 65536
            result = variant.call(*own, blocks=number, l1_bytes=l1_bytes, workers=1)
            assert result in (0, UNLAWFUL)

    return launch


def examine(kernel: Kernel, orders: int = ORDERS) -> list[Verdict]:
    """A verdict on each synchronisation that the calls of ``kernel`` come to."""
    expected, reached = [], []
    often: Counter[int] = Counter()
    kernel.mutants.remove(kernel.checked, None)
    kernel.mutants.remove(kernel.shuffled, None)
    for call in kernel.calls:
        own = _copies(call)
        kernel.mutants.reached(kernel.checked)
        kernel.run_alone(*_copies(call))
        often |= kernel.mutants.reached(kernel.checked)
        kernel.run_checked(*own)
        assert _rules(kernel.checked) == (), f"{kernel.mutants.name} as it is"
        reached.append(kernel.mutants.reached(kernel.checked))
        expected.append([_copy(value) for value in own if _is_memory(value)])
        assert _changed(kernel, own, call, expected[-1], min(orders, 100)) is None
    wanted: set[int] = set()
    if kernel.program is not None:
        wanted = needed(kernel.mutants, kernel.program, kernel.text, often)
    verdicts = []
    for site in kernel.mutants.sites:
        numbers = [n for n, sites in enumerate(reached) if site.number in sites]
        if not numbers:
            continue
        kernel.mutants.remove(kernel.checked, site)
        kernel.mutants.remove(kernel.shuffled, site)
        rules: set[str] = set()
        changed = None
        for number in numbers:
            call = kernel.calls[number]
            kernel.run_checked(*_copies(call))
            rules |= set(_rules(kernel.checked))
            if changed is None:
                own = _copies(call)
                changed = _changed(kernel, own, call, expected[number], orders)
        name, is_needed = kernel.mutants.name, site.number in wanted
        verdicts.append(Verdict(name, site, changed, is_needed, tuple(sorted(rules))))
    kernel.mutants.remove(kernel.checked, None)
    kernel.mutants.remove(kernel.shuffled, None)
    return verdicts


def _changed(
    kernel: Kernel, own: Sequence[Any], call: Sequence[Any], expected: Sequence[Any], orders: int
) -> Found | None:
    """The first order in which the kernel does something else to the arguments of ``call``."""
    for mine, original in zip(own, call, strict=True):
        if _is_memory(mine):
            mine[...] = original
    return first_other(
        kernel.shuffled, lambda: kernel.run_shuffled(*own), [*expected, None], range(orders)
    )


def _copies(values: Sequence[Any]) -> list[Any]:
    """Equal tensors stay one tensor."""
    made: dict[int, Any] = {}
    return [made.setdefault(id(v), _copy(v)) if _is_memory(v) else v for v in values]


def _copy(memory: Any) -> Any:
    return memory.clone() if isinstance(memory, torch.Tensor) else memory.copy()


def _is_memory(value: object) -> bool:
    return isinstance(value, torch.Tensor) or hasattr(value, "ctypes")


def _rules(library: ctypes.CDLL) -> tuple[str, ...]:
    """The rules that the checked twin has found broken since it was asked last."""
    take = library.pypto_check_report
    take.restype = ctypes.c_char_p
    return tuple(line.partition("\t")[0] for line in take().decode().splitlines())
