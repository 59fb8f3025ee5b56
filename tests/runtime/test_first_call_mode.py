"""The launcher is connected to torch wherever the first call happens."""

from __future__ import annotations

import torch

from pypto.runtime.torch_bridge import _version_increment


def test_inside_inference_mode() -> None:
    with torch.inference_mode():
        increment = _version_increment()
    tensor = torch.zeros(1)
    before = tensor._version
    increment((tensor,))
    assert tensor._version == before + 1
