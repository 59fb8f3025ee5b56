"""The dispatcher: binding, order of variants, scalars, constants, captures, epoch and scope."""

from __future__ import annotations

import contextvars
import types
from typing import Any

import pytest
import torch

from .launching import FP32, Kernels, Refused

INT64 = (0, 64)
ECHO = ("tensor", INT64, (-1,))


def triple(n: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.arange(float(n)), torch.full((n,), 2.0), torch.zeros(n)


@pytest.mark.parametrize(
    "call",
    [
        lambda d, a, b, o: d(a, b, o),
        lambda d, a, b, o: d(a, b, o=o),
        lambda d, a, b, o: d(o=o, b=b, a=a),
        lambda d, a, b, o: d(*(a, b), **{"".join(["o"]): o}),
    ],
)
def test_positional_and_keyword(kernels: Kernels, call: Any) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    a, b, o = triple()
    assert call(dispatch, a, b, o) is None
    assert o.tolist() == [2, 3, 4, 5]
    assert (dispatch.variants[0].launches, dispatch.fallbacks) == (1, 0)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2), {}),
        ((1, 2, 3, 4), {}),
        ((1, 2, 3), {"o": 3}),
        ((1, 2), {"x": 3}),
        ((), {}),
    ],
)
def test_wrong_calls_reach_the_fallback_as_made(
    kernels: Kernels, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    dispatch = kernels.dispatcher(kernels.add())
    assert dispatch(*args, **kwargs) == ("fallback", args, kwargs)
    assert dispatch.fallbacks == 1


def test_defaults(kernels: Kernels) -> None:
    tensor = ("tensor", FP32, (-1,))
    scale = kernels.variant(
        "scale_kernel",
        (tensor, tensor, ("float", True), ("int", True)),
        ints=(("size", 0, 0), ("scalar", 3)),
        floats=(2,),
    )
    dispatch = kernels.dispatcher(scale, names=("x", "o", "f", "k"), defaults={"f": 2.0, "k": 10})
    x, _, o = triple()
    dispatch(x, o)
    assert o.tolist() == [10, 12, 14, 16]
    dispatch(x, o, k=0)
    assert o.tolist() == [0, 2, 4, 6]
    dispatch(x, o, 0.5, 1)
    assert o.tolist() == [1, 1.5, 2, 2.5]
    assert dispatch.fallbacks == 0


def test_most_recent_variant_first(kernels: Kernels) -> None:
    small, large = kernels.add((4,)), kernels.add((6,))
    dispatch = kernels.dispatcher(small, large)
    assert dispatch.variants == (large, small)
    dispatch(*triple(4))
    assert dispatch.variants == (small, large)
    dispatch(*triple(6))
    dispatch(*triple(6))
    assert dispatch.variants == (large, small)
    assert dispatch(*triple(5))[0] == "fallback"
    assert (small.launches, large.launches, dispatch.fallbacks) == (1, 2, 1)


def test_add_remove_clear_run(kernels: Kernels) -> None:
    one, two = kernels.add((4,)), kernels.add((6,))
    dispatch = kernels.dispatcher(one, two, one)
    assert dispatch.variants == (one, two)
    dispatch.remove(one)
    assert dispatch.variants == (two,)
    assert dispatch.run(triple(6)) is True
    assert dispatch.run(triple(4)) is False
    dispatch.clear()
    assert dispatch.variants == ()
    assert one(triple(4)) is True
    assert one(triple(6)) is False
    assert one((1, 2)) is False
    with pytest.raises(TypeError, match="add takes a Variant"):
        dispatch.add(3)
    with pytest.raises(ValueError, match="number of parameters"):
        dispatch.add(kernels.variant("echo_kernel", (ECHO,)))


def test_number_of_variants_is_bounded(kernels: Kernels) -> None:
    most = kernels.launcher.MAX_VARIANTS
    variants = [kernels.add((n,)) for n in range(most + 5)]
    dispatch = kernels.dispatcher(*variants[:most])
    assert len(dispatch.variants) == most
    dispatch(*triple(1))  # the oldest but one, used now
    for variant in variants[most:]:
        dispatch.add(variant)
    assert len(dispatch.variants) == most
    assert [v in dispatch.variants for v in variants[:7]] == [False, True, *[False] * 4, True]


def test_twenty_tensors(kernels: Kernels) -> None:
    tensor = ("tensor", FP32, (8,))
    total = kernels.variant(
        "sum_kernel",
        (*(tensor,) * 20, ("int", True)),
        ints=(("scalar", 20), ("size", 0, 0)),
    )
    dispatch = kernels.dispatcher(total, names=(*(f"t{i}" for i in range(20)), "n"))
    tensors = [torch.full((8,), float(i)) for i in range(20)]
    dispatch(*tensors, 20)
    assert tensors[-1].tolist() == [171.0] * 8
    dispatch(*tensors[:10], n=20, **{f"t{i}": tensors[i] for i in range(10, 20)})
    assert (total.launches, dispatch.fallbacks) == (2, 0)


def cell(value: Any) -> Any:
    return types.CellType(value)


def test_captures_in_a_dict(kernels: Kernels) -> None:
    scope = {f"n{i}": 1000 + i for i in range(10)}
    rows = tuple((scope, name, value) for name, value in scope.items())
    dispatch = kernels.dispatcher(kernels.add(captures=rows))
    assert dispatch(*triple()) is None
    scope["n3"] = int("1003")
    assert dispatch(*triple()) is None
    for wrong in (1003.0, 1004, "1003"):
        scope["n3"] = wrong  # type: ignore[assignment]
        assert dispatch(*triple())[0] == "fallback"
    del scope["n3"]
    assert dispatch(*triple())[0] == "fallback"
    scope["n3"] = 1003
    assert dispatch(*triple()) is None


def test_captures_elsewhere(kernels: Kernels) -> None:
    held, items, table = cell(5), [1, 2.0], {"x": 1}
    config = types.SimpleNamespace(size=8)
    dispatch = kernels.dispatcher(
        kernels.add(
            captures=(
                (held, None, 5),
                (items, 1, 2.0),
                (config, "size", 8),
                (table, Ellipsis, {"x": 1}),
                (table, "absent"),
            )
        )
    )

    def runs() -> bool:
        return dispatch(*triple()) is None

    assert runs()
    for change, restore in (
        (lambda: setattr(held, "cell_contents", 6), lambda: setattr(held, "cell_contents", 5)),
        (lambda: items.pop(), lambda: items.append(2.0)),
        (lambda: items.__setitem__(1, -2.0), lambda: items.__setitem__(1, 2.0)),
        (lambda: setattr(config, "size", True), lambda: setattr(config, "size", 8)),
        (lambda: delattr(config, "size"), lambda: setattr(config, "size", 8)),
        (lambda: table.update(x=2), lambda: table.update(x=1)),
        (lambda: table.update(absent=2), lambda: table.pop("absent")),
    ):
        change()
        assert not runs()
        restore()
        assert runs()
    del held.cell_contents
    assert not runs()


def test_captured_containers_are_compared_by_identity(kernels: Kernels) -> None:
    inner = [1]
    scope: dict[str, Any] = {"pair": (inner, 2)}
    dispatch = kernels.dispatcher(kernels.add(captures=((scope, "pair", scope["pair"]),)))
    scope["pair"] = (inner, 2)
    assert dispatch(*triple()) is None
    scope["pair"] = ([1], 2)
    assert dispatch(*triple())[0] == "fallback"


def test_attribute_errors_of_captures(kernels: Kernels) -> None:
    class Config:
        @property
        def size(self) -> int:
            raise LookupError("property")

    dispatch = kernels.dispatcher(kernels.add(captures=((Config(), "size", 1),)))
    with pytest.raises(LookupError):
        dispatch(*triple())


def test_epoch(kernels: Kernels) -> None:
    launcher = kernels.launcher
    old = launcher.epoch()
    variant = kernels.add()
    dispatch = kernels.dispatcher(variant)
    assert dispatch(*triple()) is None
    assert launcher.bump_epoch() == old + 1 == launcher.epoch()
    assert dispatch(*triple())[0] == "fallback"
    dispatch.add(kernels.add((6,)))
    assert variant not in dispatch.variants
    late = kernels.add(epoch=old)
    dispatch.add(late)
    assert dispatch(*triple())[0] == "fallback"


def test_scope(kernels: Kernels) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("scope", default=0)
    kernels.launcher.set_scope_variable(variable)
    assert kernels.launcher.scope() == 0
    plain = kernels.add()
    dispatch = kernels.dispatcher(plain)
    assert dispatch(*triple()) is None
    token = variable.set(10**6)
    assert dispatch(*triple())[0] == "fallback"
    inner = kernels.add(scope=10**6)
    dispatch.add(inner)
    assert dispatch(*triple()) is None
    variable.reset(token)
    assert dispatch(*triple()) is None
    assert (plain.launches, inner.launches) == (2, 1)
    assert (plain.scope, inner.scope) == (0, 10**6)
    with pytest.raises(TypeError, match="ContextVar"):
        kernels.launcher.set_scope_variable(3)


def test_refusal_of_the_kernel(kernels: Kernels) -> None:
    variant = kernels.variant("refuse_kernel", (ECHO, ("int", True)), ints=(("scalar", 1),))
    dispatch = kernels.dispatcher(variant, names=("o", "n"))
    o = torch.zeros(2, dtype=torch.int64)
    version = o._version
    with pytest.raises(Refused) as caught:
        dispatch(o, n=4)
    code, args = caught.value.args
    assert (code, args[0] is o, args[1]) == (19, True, 4)
    assert (variant.launches, o._version) == (0, version)
    silent = kernels.variant("refuse_kernel", (ECHO,), explain=lambda code, args: None)
    with pytest.raises(RuntimeError, match="code 19, unexplained"):
        kernels.dispatcher(silent, names=("o",))(o)


def test_forwarder(kernels: Kernels) -> None:
    class Kernel:
        def __init__(self, target: Any) -> None:
            self.target = target

    Kernel.__call__ = kernels.launcher.Forwarder("target")  # type: ignore[method-assign]
    first: Any = Kernel(lambda *args, **kwargs: (args, kwargs))
    assert first(1, 2, x=3) == ((1, 2), {"x": 3})
    assert first.__call__(1) == ((1,), {})
    a, b, o = triple()
    kernel: Any = Kernel(kernels.dispatcher(kernels.add()))
    assert kernel(a, b, o=o) is None
    assert o.tolist() == [2, 3, 4, 5]
    del kernel.target
    with pytest.raises(AttributeError):
        kernel(a, b, o)
    with pytest.raises(TypeError):
        Kernel.__call__()


def test_subclass_of_dispatcher(kernels: Kernels) -> None:
    class Kernel(kernels.launcher.Dispatcher):  # type: ignore[name-defined,misc]
        pass

    made = Kernel("k", ("a", "b", "o"), {}, lambda args, kwargs: "fallback")
    made.add(kernels.add())
    a, b, o = triple()
    assert made(a, b, o=o) is None
    assert o.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"entry": 0}, ValueError),
        ({"runtime": 0}, ValueError),
        ({"params": (("tensor", FP32, ()),)}, ValueError),
        ({"params": (("tensor", FP32, (-2,)),)}, ValueError),
        ({"params": (("tensor", (300, 32), (1,)),)}, ValueError),
        ({"params": (("vector",),)}, ValueError),
        ({"params": (3,), "alias": (), "written": ()}, ValueError),
        ({"params": (("int",),)}, TypeError),
        ({"ints": (("size", 0, 1),)}, ValueError),
        ({"ints": (("size", 3, 0),)}, ValueError),
        ({"ints": (("scalar", 0),)}, ValueError),
        ({"ints": (("length", 0),)}, ValueError),
        ({"floats": (0,)}, ValueError),
        ({"floats": ("a",)}, TypeError),
        ({"alias": ()}, ValueError),
        ({"written": ()}, ValueError),
        ({"captures": ((3, 4, 5),)}, TypeError),
        ({"captures": (3,)}, TypeError),
        ({"captures": (([1], -1, 5),)}, ValueError),
        ({"epoch": "now"}, TypeError),
    ],
)
def test_wrong_descriptions_of_variants(
    kernels: Kernels, fields: dict[str, Any], error: type[Exception]
) -> None:
    right: dict[str, Any] = {"params": (("tensor", FP32, (-1,)),)}
    kernels.variant("add_kernel", **right)
    with pytest.raises(error):
        kernels.variant("add_kernel", **(right | {"alias": (0,), "written": (1,)} | fields))


def test_versions_of_the_binary_interface(kernels: Kernels) -> None:
    from pypto.runtime import cpu

    old = cpu.load_runtime(kernels.path, "pypto_old_runtime")
    with pytest.raises(RuntimeError, match="binary interface version"):
        kernels.add(runtime=old.address)
    with pytest.raises(RuntimeError, match="binary interface version"):
        kernels.variant("old_kernel", (ECHO,))
