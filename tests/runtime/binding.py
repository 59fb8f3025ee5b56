"""One argument of a call, bound and classified."""

from __future__ import annotations

from typing import Any

import pytest

from pypto.error import PyptoRtError
from pypto.runtime.arguments import Parameter, classify


def one(annotation: Any, value: Any, where: str | None = None) -> Any:
    parameter = Parameter("x", annotation, where=where)
    return classify((parameter,), (value,)).parameters[0]


def refusal(annotation: Any, value: Any) -> str:
    with pytest.raises(PyptoRtError) as caught:
        one(annotation, value, "kernel.py:3:9")
    return str(caught.value)
