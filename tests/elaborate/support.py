"""Kernels from text: each test writes the source of a kernel and elaborates it."""

from __future__ import annotations

import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest

from pypto._options import Options
from pypto.elaborate import Elaboration, KernelSource, elaborate
from pypto.elaborate.annotations import signature_of
from pypto.error import PyptoError
from pypto.ir.signature import CallSignature
from pypto.ir.tensor_print import print_kernel

HEADER = "import pypto\nfrom pypto import Tensor as T, DT_FP32 as FP32\n"


class Workshop:
    """Makes modules of source text in a directory of its own and elaborates their kernels."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0

    def module(self, text: str, header: str = HEADER, raw: bytes | None = None) -> dict[str, Any]:
        """The names of a module with this text; its file is ``k.py`` (``k2.py``, ...)."""
        self.count += 1
        name = "k" if self.count == 1 else f"k{self.count}"
        path = self.directory / f"{name}.py"
        data = raw if raw is not None else (header + textwrap.dedent(text)).encode()
        path.write_bytes(data)
        made = types.ModuleType(name)
        before = sys.modules.get(name)
        sys.modules[name] = made  # dataclasses look their module up while they are made
        try:
            exec(compile(data, str(path), "exec", dont_inherit=True), vars(made))
        finally:
            sys.modules.pop(name)
            if before is not None:
                sys.modules[name] = before
        return vars(made)

    def elaborate(
        self,
        function: types.FunctionType,
        signature: CallSignature | None = None,
        options: Options | None = None,
        **values: object,
    ) -> Elaboration:
        signature = signature or signature_of(function)
        return elaborate(KernelSource.capture(function), signature, options, values)

    def ir(self, text: str, name: str = "k", **values: object) -> str:
        """Tensor IR of the kernel ``name`` in a module of this text."""
        return print_kernel(self.elaborate(self.module(text)[name], **values).kernel)

    def run(self, text: str, name: str = "k", **values: object) -> Elaboration:
        return self.elaborate(self.module(text)[name], **values)

    def error(self, text: str, name: str = "k", **values: object) -> PyptoError:
        """The error of the kernel ``name``."""
        with pytest.raises(PyptoError) as caught:
            self.elaborate(self.module(text)[name], **values)
        return caught.value

    def message(self, text: str, name: str = "k", **values: object) -> str:
        """The whole rendered message, with file names instead of paths."""
        return str(self.error(text, name, **values)).replace(f"{self.directory}/", "")


def body(*lines: str) -> str:
    """A kernel ``k(x, o)`` of 8 floats with these lines."""
    head = "def k(x: T([8], FP32), o: T([8], FP32)):\n"
    return head + "".join(f"    {line}\n" for line in lines)
