"""Kernels and torch's autograd: what is refused, what autograd notices, and how to give a gradient.

A kernel records no gradient. Tensors that need one are refused while grad mode is on, and whatever
a kernel writes counts as changed in place.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward_ad

from tests.jit.support import Modules, refusal

KERNELS = """
@jit
def double(x: T([pypto.DYNAMIC], FP32), o: T([pypto.DYNAMIC], FP32)):
    o[:] = x * 2 + 0

@jit
def add(x: T([pypto.DYNAMIC], FP32), o: T([pypto.DYNAMIC], FP32)):
    o[:] = o + x
"""

INPLACE = "modified by an inplace operation"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return Modules(tmp_path_factory.mktemp("autograd")).make(KERNELS, name="autograd")


def _leaf(size: int = 8) -> torch.Tensor:
    return torch.ones(size, requires_grad=True)


# --- what needs a gradient is refused while one would be recorded ---


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    "tensor",
    [
        _leaf,
        lambda: _leaf() * 3,
        lambda: _leaf(16)[8:],
        lambda: _leaf(16)[::2],
        lambda: torch.nn.Parameter(torch.ones(8)),
    ],
    ids=["leaf", "result", "view", "strided view", "parameter"],
)
def test_tensors_that_need_a_gradient(modules: Modules, tensor: Any, warm: bool) -> None:
    kernel = modules.make(KERNELS, name="autograd").double
    if warm:
        kernel(torch.ones(8), torch.ones(8))
    for name, arguments in (
        ("x", (tensor(), torch.ones(8))),
        ("o", (torch.ones(8), tensor())),
    ):
        before = arguments[1].clone()
        kind = type(arguments[0 if name == "x" else 1]).__name__
        assert str(refusal(kernel, *arguments)) == (
            f"ErrCode: F00001  argument '{name}' requires grad, and a kernel records no gradient\n"
            "  expected  a tensor that needs no gradient, or grad mode off\n"
            f"  got       {kind.replace('Tensor', 'tensor')} of float32, shape [8], on cpu\n"
            f"  annotated at autograd.py:6:{15 if name == 'x' else 44}\n"
            f"  help: call it inside torch.no_grad(), or pass {name}.detach()"
        )
        assert torch.equal(arguments[1], before)
        kernel(*(argument.detach() for argument in arguments))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_modes_without_gradients(made: Any, mode: Any) -> None:
    leaf, out = _leaf(), torch.zeros(8)
    hooks: list[object] = []
    leaf.register_hook(hooks.append)
    with mode():
        made.double(leaf, out)
        made.add(leaf * 2, out)
    assert out.tolist() == [4] * 8
    assert not out.requires_grad and leaf.grad is None and hooks == []


def test_a_parameter_is_written_without_gradients(made: Any) -> None:
    """As an optimiser does; also a part of it, dense or not, through a view of either mode."""
    leaf = _leaf(16)
    recorded = leaf[8:]
    version = leaf._version
    with torch.no_grad():
        made.add(torch.ones(16), leaf)
        made.add(torch.ones(8), leaf[8:])
        made.add(torch.ones(8), leaf[::2])
        made.add(torch.ones(8), recorded)
    assert leaf.tolist() == [3, 2] * 4 + [5, 4] * 4
    assert leaf._version == version + 4
    assert leaf.requires_grad and leaf.is_leaf
    leaf.sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None and leaf.grad.tolist() == [1] * 16


# --- autograd notices what a kernel has written ---


@pytest.mark.parametrize(
    "written",
    [
        lambda saved: saved,
        lambda saved: saved.detach(),
        lambda saved: saved[2:6],
        lambda saved: saved[::2],
        lambda saved: saved.view(2, 4).t()[1],
    ],
    ids=["itself", "detached", "part", "strided", "strided view of a view"],
)
@pytest.mark.parametrize("kernel", ["double", "add"])
def test_a_saved_tensor_that_is_overwritten(made: Any, kernel: str, written: Any) -> None:
    leaf, saved = _leaf(), torch.ones(8)
    total = (leaf * saved).sum()
    out = written(saved)
    getattr(made, kernel)(torch.ones(out.shape), out)
    with pytest.raises(RuntimeError, match=INPLACE):
        total.backward()  # type: ignore[no-untyped-call]


def test_a_saved_result_that_is_overwritten(made: Any) -> None:
    """``exp`` needs its own result for the gradient."""
    leaf = _leaf()
    result = leaf.exp()
    made.double(torch.ones(8), result.detach())
    with pytest.raises(RuntimeError, match=INPLACE):
        result.sum().backward()  # type: ignore[no-untyped-call]


def test_a_saved_leaf_that_is_overwritten(made: Any) -> None:
    leaf = _leaf()
    total = (leaf * leaf).sum()
    with torch.no_grad():
        made.add(torch.ones(8), leaf)
    with pytest.raises(RuntimeError, match=INPLACE):
        total.backward()  # type: ignore[no-untyped-call]


def test_what_is_only_read_is_not_changed(made: Any) -> None:
    leaf, saved = _leaf(), torch.ones(8)
    total = (leaf * saved).sum()
    made.double(saved, torch.empty(8))
    made.double(saved[::2], torch.empty(4))
    total.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None and leaf.grad.tolist() == [1] * 8


def test_a_refused_call_changes_nothing(made: Any) -> None:
    saved = torch.ones(8)
    refusal(made.double, _leaf(), saved)
    refusal(made.double, torch.ones(4), saved)
    assert saved._version == 0


# --- inference tensors ---


@pytest.mark.parametrize("step", [1, 2])
def test_inference_tensors(made: Any, step: int) -> None:
    """They have no version, and autograd never saves them: read and written in every mode."""
    with torch.inference_mode():
        made_inside = torch.ones(8 * step)[::step]
        made.add(torch.ones(8), made_inside)
    out = torch.empty(8)
    made.double(made_inside, out)
    assert out.tolist() == [4] * 8
    made.add(out, made_inside)
    with torch.no_grad():
        made.add(out, made_inside)
    assert made_inside.tolist() == [10] * 8


def test_an_ordinary_tensor_written_in_inference_mode_counts_as_changed(made: Any) -> None:
    leaf, saved = _leaf(), torch.ones(8)
    total = (leaf * saved).sum()
    with torch.inference_mode():
        made.double(torch.ones(8), saved)
    with pytest.raises(RuntimeError, match=INPLACE):
        total.backward()  # type: ignore[no-untyped-call]


# --- a gradient of one's own ---


def test_a_function_with_kernels_for_both_directions(made: Any) -> None:
    """``torch.autograd.Function`` runs both with grad mode off: kernels take what they get."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(x)
            made.double(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(gradients[0])
            made.double(gradients[0], out)
            return out

    leaf = _leaf()
    result = Double.apply(leaf)
    assert result.requires_grad and result.tolist() == [2] * 8
    (result * torch.arange(8.0)).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2 * n for n in range(8)]


# --- forward mode ---


@pytest.mark.filterwarnings("ignore")  # torch scripts functions
@pytest.mark.parametrize("warm", [False, True])
def test_a_tangent_is_refused(modules: Modules, warm: bool) -> None:
    kernel = modules.make(KERNELS, name="autograd").double
    x, out = torch.ones(8), torch.zeros(8)
    if warm:
        kernel(x, out)
    out.zero_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(8))
        for arguments in ((dual, out), (x, forward_ad.make_dual(out, out))):
            with torch.no_grad():
                message = str(refusal(kernel, *arguments)).splitlines()[0]
            name = "x" if arguments[0] is dual else "o"
            assert message == (
                f"ErrCode: F00001  argument '{name}' has a tangent (forward-mode differentiation), "
                "and a kernel computes none"
            )
        assert not out.any()
        kernel(x, out)  # without a tangent, also in a level
    assert out.tolist() == [2.0] * 8


@pytest.mark.filterwarnings("ignore")  # torch scripts functions
def test_a_tangent_of_a_function(modules: Modules) -> None:
    kernel = modules.make(KERNELS, name="autograd").double

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(x)
            kernel(x, out)
            return out

        @staticmethod
        def jvp(context: Any, tangent: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(tangent)
            kernel(tangent, out)
            return out

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(8), torch.arange(8.0))
        made = forward_ad.unpack_dual(Double.apply(dual))
        assert made.primal.tolist() == [2.0] * 8
        assert made.tangent.tolist() == [2.0 * n for n in range(8)]
