"""Options at the call: decorator, scope, kernel, environment; what they change and what not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import pypto
from tests.jit.support import Modules, Place, X, entries, refusal, result, watch

SOC = "codegen_options={'soc_version': 'ascend910_93'}"

NPU_MESSAGE = """\
ErrCode: F00003  run_mode is NPU, but no NPU can be used here
  expected  CANN, torch_npu and a device
  got       missing:
  - CANN: ASCEND_HOME_PATH is not set (source its set_env.sh)
  - torch_npu: the package is not installed
  - tensors on an NPU: they are on cpu
  - the NPU launcher: this version compiles for and runs on the CPU twin only
  help: run on the CPU twin: runtime_options={'run_mode': pypto.RunMode.SIM}, or PYPTO_RUN_MODE=sim\
"""


def _kernel(modules: Modules, value: int, decorator: str = "", *lines: str) -> object:
    body = "".join(f"    {line}\n" for line in (*lines, f"o[:] = x + {value}"))
    return modules.make(f"@jit({decorator})\ndef k(x: T([8], FP32), o: T([8], FP32)):\n{body}").k


def _text(kernel: object) -> str:
    return Path(kernel.compile().path, "k.cpp").read_text()  # type: ignore[attr-defined]


# --- where a kernel runs ---


@pytest.mark.parametrize("where", ["decorator", "scope", "global"])
def test_npu_without_npu(
    modules: Modules, options: object, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    npu = {"run_mode": pypto.RunMode.NPU}
    mode = "runtime_options={'run_mode': pypto.RunMode.NPU}"
    kernel = _kernel(modules, 601, mode if where == "decorator" else "")
    if where == "scope":
        with pypto.options(runtime_options=npu):
            error = refusal(kernel, X, X.clone())
    else:
        if where == "global":
            pypto.set_runtime_options(run_mode=pypto.RunMode.NPU)
        error = refusal(kernel, X, X.clone())
    assert str(error) == NPU_MESSAGE
    assert isinstance(error, RuntimeError)


def test_simulator_by_option(modules: Modules) -> None:
    kernel = _kernel(modules, 601, "runtime_options={'run_mode': pypto.RunMode.SIM}")
    assert torch.equal(result(kernel), X + 601)


MODES = """
import torch, pypto
@pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.OTHER})
def k(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32)):
    o[:] = x + 601
try:
    k(torch.zeros(8), out := torch.empty(8))
    print(out[0].item())
except pypto.PyptoError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("variable", "other", "printed"),
    [
        ("sim", "NPU", "601.0"),
        ("npu", "SIM", NPU_MESSAGE),
    ],
)
def test_the_environment_decides_the_mode(
    place: Place, variable: str, other: str, printed: str
) -> None:
    (place.path / "program.py").write_text(MODES.replace("OTHER", other))
    assert place.run("program.py", PYPTO_RUN_MODE=variable).rstrip("\n") == printed


# --- what is compiled ---


def test_the_chip_changes_text_and_key(modules: Modules, options: object) -> None:
    """Set by the decorator, a scope, globally or in the kernel: one chip, one binary."""
    before = entries()
    plain = _kernel(modules, 602)
    assert torch.equal(result(plain), X + 602)
    decorated = _kernel(modules, 602, SOC)
    assert torch.equal(result(decorated), X + 602)
    assert len(entries() - before) == 2
    assert "ascend910b" in _text(plain)
    assert "ascend910_93" in _text(decorated)
    with watch() as seen:
        with pypto.options(codegen_options={"soc_version": "ascend910_93"}):
            assert torch.equal(result(plain), X + 602)
        assert torch.equal(result(plain), X + 602)
        pypto.set_codegen_options(soc_version="ascend910_93")
        assert torch.equal(result(plain), X + 602)
        pypto.reset_options()
        assert torch.equal(result(plain), X + 602)
    assert seen.commands == []
    inside = _kernel(modules, 602, "", "pypto.set_codegen_options(soc_version='ascend910_93')")
    assert torch.equal(result(inside), X + 602)


def test_options_that_cannot_change_the_output_are_not_in_the_key(modules: Modules) -> None:
    before = entries()
    for given in (
        "",
        "runtime_options={'run_mode': pypto.RunMode.SIM}",
        "debug_options={'compile_debug_mode': 0}",
        "host_options={'compile_stage': pypto.CompStage.ALL_COMPLETE}",
    ):
        assert torch.equal(result(_kernel(modules, 603, given)), X + 603)
    assert len(entries() - before) == 1


def test_a_scope_that_is_entered_often_compiles_once(modules: Modules) -> None:
    kernel = _kernel(modules, 604)
    with watch() as seen:
        for _ in range(20):
            with pypto.options(codegen_options={"soc_version": "ascend910_93"}):
                assert torch.equal(result(kernel), X + 604)
            assert torch.equal(result(kernel), X + 604)
    assert seen.kernels == 2


def test_wrong_options_are_refused_at_the_decorator(modules: Modules) -> None:
    for given, message in (
        ("runtime_options={'run_mod': 1}", "F00006  key: runtime_options.run_mod does not exist."),
        ("run_mode=1", "F00006  pypto.frontend.jit has no argument 'run_mode'"),
        (
            "runtime_options={'run_mode': 'x'}",
            "F00001  option runtime_options.run_mode has the wrong type",
        ),
    ):
        with pytest.raises(pypto.PyptoError) as caught:
            _kernel(modules, 605, given)
        assert str(caught.value).splitlines()[0] == f"ErrCode: {message}"


def test_compilation_up_to_a_stage(modules: Modules) -> None:
    """Nothing is launched; a binary is made by the last stage only, also for an NPU."""
    for stage, made in (
        ("TENSOR_GRAPH", 0),
        ("TILE_GRAPH", 0),
        ("EXECUTE_GRAPH", 0),
        ("CODEGEN_INSTRUCTION", 0),
        ("CODEGEN_BINARY", 1),
    ):
        kernel = _kernel(
            modules,
            606,
            f"host_options={{'compile_stage': pypto.CompStage.{stage}}}, "
            "runtime_options={'run_mode': pypto.RunMode.NPU}",
        )
        before, out = entries(), torch.zeros(8)
        with watch() as seen:
            kernel(X, out)  # type: ignore[operator]
        assert not out.any()
        assert (seen.kernels, len(entries() - before)) == (made, made), stage
    assert torch.equal(result(_kernel(modules, 606)), X + 606)


# --- what is shown ---

DUMPED = """
import torch, pypto
@pypto.frontend.jit(debug_options={"compile_debug_mode": MODE})
def k(x: pypto.Tensor([8], pypto.DT_FP32), o: pypto.Tensor([8], pypto.DT_FP32)):
    o[:] = x + 607
k(torch.zeros(8), out := torch.empty(8))
assert out[0] == 607
"""


def test_debug_mode_writes_the_levels(place: Place) -> None:
    """To a new directory a run, or to one place; also when the binary is in the cache."""
    wanted = ["k.cpp", "k.tensor.txt", "k.tile.txt"]
    for mode, count in ((1, 1), (1, 2), (2, 3)):
        (place.path / "program.py").write_text(DUMPED.replace("MODE", str(mode)))
        assert place.run("program.py") == ""
        written = [*place.path.glob("output/*"), *place.path.glob("pypto")]
        assert [sorted(f.name for f in one.iterdir()) for one in written] == [wanted] * count
    assert place.kernels == 1


def test_dump_is_the_same_cold_and_warm(place: Place) -> None:
    (place.path / "program.py").write_text(DUMPED.replace("MODE", "0"))
    levels = "tensor,tile,ascendc"
    cold = place.run("program.py", PYPTO_DUMP=levels)
    warm = place.run("program.py", PYPTO_DUMP=levels, PYTHONHASHSEED="7")
    assert cold == warm
    headings = ("=== Tensor IR of k ===", "=== Tile IR of k ===", "__vector__ void k(")
    assert [cold.count(heading) for heading in headings] == [1, 1, 1]
    assert "program.py:5" in cold
    assert place.kernels == 1
