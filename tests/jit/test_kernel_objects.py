"""A kernel as a Python object: shown, copied, pickled, shared by threads, called by kernels."""

from __future__ import annotations

import copy
import gc
import importlib
import inspect
import pickle
import pydoc
import threading
import weakref
from typing import Any

import pytest
import torch

from tests.jit.support import Modules, X, refusal, result, watch


@pytest.fixture
def module(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An imported module, whose names pickle can find."""
    modules.make(
        '''
        @jit
        def k(x: T([8], FP32), o: T([8], FP32), n: int = 1):
            """Adds n to x."""
            o[:] = x + n
        ''',
        name="pypto_kernel_objects",
    )
    monkeypatch.syspath_prepend(str(modules.directory))
    module = importlib.import_module("pypto_kernel_objects")
    yield module
    monkeypatch.delitem(importlib.sys.modules, "pypto_kernel_objects")  # type: ignore[attr-defined]


def test_what_a_kernel_shows(module: Any) -> None:
    kernel = module.k
    assert repr(kernel) == "<pypto kernel k>"
    assert (kernel.__name__, kernel.__qualname__, kernel.__module__) == (
        "k",
        "k",
        "pypto_kernel_objects",
    )
    assert kernel.__doc__ == "Adds n to x."
    shown = "(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32), n: int = 1)"
    assert str(inspect.signature(kernel)) == str(kernel.signature) == shown
    text = pydoc.render_doc(kernel)
    assert "Adds n to x." in text
    assert callable(kernel)


@pytest.mark.parametrize("called", [False, True])
def test_copies_and_pickles_are_the_kernel_itself(module: Any, called: bool) -> None:
    if called:
        assert torch.equal(result(module.k), X + 1)
    assert copy.copy(module.k) is copy.deepcopy([module.k])[0] is module.k
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(module.k, protocol)) is module.k


def test_a_local_kernel_is_not_pickled(modules: Modules) -> None:
    made = modules.make("""
        def make():
            @jit
            def k(x: T([8], FP32), o: T([8], FP32)): o[:] = x
            return k
    """)
    with pytest.raises((AttributeError, pickle.PicklingError), match=r"make\.<locals>\.k"):
        pickle.dumps(made.make())


def test_a_kernel_goes_with_its_last_name(modules: Modules) -> None:
    made = modules.make("""
        def make(n):
            @jit
            def k(x: T([8], FP32), o: T([8], FP32)): o[:] = x + n
            return k
    """)
    kernel = made.make(401)
    assert torch.equal(result(kernel), X + 401)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_threads_share_one_compilation(modules: Modules) -> None:
    kernel = modules.kernel("o[:] = x + 402")
    outs = [torch.empty(8) for _ in range(12)]
    ready = threading.Barrier(len(outs))

    def call(out: torch.Tensor) -> None:
        ready.wait()
        kernel(X, out)

    threads = [threading.Thread(target=call, args=(out,)) for out in outs]
    with watch() as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(torch.equal(out, X + 402) for out in outs)
    assert seen.kernels == 1


def test_threads_with_kernels_of_their_own(modules: Modules) -> None:
    kernels = [modules.kernel(f"o[:] = x + {403 + number % 2}") for number in range(4)]
    found: list[torch.Tensor | None] = [None] * len(kernels)

    def call(number: int) -> None:
        found[number] = result(kernels[number])

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(kernels))]
    with watch() as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number, got in enumerate(found):
        assert got is not None
        assert torch.equal(got, X + 403 + number % 2)
    # Equal texts in two modules are one binary.
    assert seen.kernels == 2


def test_kernels_do_not_call_kernels(modules: Modules) -> None:
    made = modules.make("""
        @jit
        def inner(x: T([8], FP32), o: T([8], FP32)):
            o[:] = x + 1

        @jit
        def outer(x: T([8], FP32), o: T([8], FP32)):
            inner(x, o)

        @jit
        def itself(x: T([8], FP32), o: T([8], FP32)):
            itself(x, o)
    """)
    assert str(refusal(made.outer, X, X.clone())) == (
        "ErrCode: F00001  a kernel cannot call the kernel inner\n"
        "  --> m1.py:11:5\n"
        "  10 | def outer(x: T([8], FP32), o: T([8], FP32)):\n"
        "  11 |     inner(x, o)\n"
        "     |     ^^^^^^^^^^^\n"
        "  help: move the common part into a plain function that both kernels call"
    )
    assert str(refusal(made.itself, X, X.clone())).splitlines()[0] == (
        "ErrCode: F00001  a kernel cannot call the kernel itself"
    )
