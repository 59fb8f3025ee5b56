"""Constants that are passed as arguments and change between calls: each call sees its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.jit.support import Modules, X, refusal, result, watch

KERNELS = """
import dataclasses, types

@dataclasses.dataclass
class Config:
    n: int = 2

@jit
def table(x: T([8], FP32), o: T([8], FP32), t: dict): o[:] = x * t["n"]

@jit
def items(x: T([8], FP32), o: T([8], FP32), t: list): o[:] = x * t[0]

@jit
def field(x: T([8], FP32), o: T([8], FP32), t: object): o[:] = x * t.n

@jit
def nested(x: T([8], FP32), o: T([8], FP32), t: dict): o[:] = x * t["a"][0].n
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Modules(tmp_path_factory.mktemp("constants")).make(KERNELS, name="constants")


def _holders(made: Any) -> dict[str, Any]:
    """For each kernel a value, and a function that sets the number in it."""
    table, items, field, inner = {"n": 2}, [2], made.Config(), made.Config()
    space = made.types.SimpleNamespace(n=2)
    return {
        "table": (made.table, table, lambda n: table.update(n=n)),
        "items": (made.items, items, lambda n: items.__setitem__(0, n)),
        "field": (made.field, field, lambda n: setattr(field, "n", n)),
        "namespace": (made.field, space, lambda n: setattr(space, "n", n)),
        "nested": (made.nested, {"a": [inner]}, lambda n: setattr(inner, "n", n)),
    }


@pytest.mark.parametrize("name", ["table", "items", "field", "namespace", "nested"])
def test_one_object_that_changes(made: Any, name: str) -> None:
    """Every value is compiled once, in whatever order they come back."""
    kernel, holder, change = _holders(made)[name]
    compilations = []
    for n in (2, 3, 2, 3, 3, 2):
        change(n)
        with watch() as seen:
            assert torch.equal(result(kernel, holder), X * n)
        compilations.append(seen.kernels)
    assert compilations[2:] == [0, 0, 0, 0]


def test_a_value_that_cannot_be_told_apart_any_more(made: Any) -> None:
    holder: dict[str, Any] = {"n": 2}
    assert torch.equal(result(made.table, holder), X * 2)
    holder["more"] = object()
    assert "object" in str(refusal(made.table, X, X.clone(), holder))
    del holder["more"]
    assert torch.equal(result(made.table, holder), X * 2)
