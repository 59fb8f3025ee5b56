"""A scalar with a dtype of its own."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.error import Diagnostic, FeTypeError, FeValueError
from pypto.ir.dtype import DataType
from pypto.language.dtype_names import suggestion

__all__ = ["Element"]

_USAGE = "pypto.element(dtype, value): pypto.element(pypto.DT_FP32, 2.0)"


@dataclass(frozen=True, slots=True)
class Element:
    """The number ``value`` as an element of ``dtype``.

    Raises FeTypeError for a dtype that is none and FeValueError for a value that is no number.
    """

    dtype: DataType
    value: int | float

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, DataType):
            found = f"{self.dtype!r} ({type(self.dtype).__name__})"
            raise FeTypeError(
                [Diagnostic(FeTypeError, "F00001", "an element has a dtype", None,
                            "pypto.DataType", found, suggestion(self.dtype) or _USAGE)]
            )  # fmt: skip
        if not isinstance(self.value, (int, float)):
            found = f"{self.value!r} ({type(self.value).__name__})"
            raise FeValueError(
                [Diagnostic(FeValueError, "F00002", "the value of an element is a number", None,
                            "int or float", found, _USAGE)]
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"pypto.Element({self.dtype!r}, {self.value!r})"
