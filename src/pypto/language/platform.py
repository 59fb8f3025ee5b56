"""``pypto.platform``: the architecture that kernels are compiled for."""

from __future__ import annotations

from pypto import _options, target
from pypto.error import Diagnostic, FeNotImplementedError, FeTypeError

__all__ = ["Platform", "platform"]


class Platform:
    """Facts of the target in force."""

    @property
    def npuarch(self) -> str:
        """Architecture name in the contract's spelling, for example ``DAV_2201``."""
        arch = target.get(_options.current().soc_version).npu_arch
        return arch.replace("-", "_").upper()

    @npuarch.setter
    def npuarch(self, value: str) -> None:
        if not isinstance(value, str):
            got = f"{value!r} ({type(value).__name__})"
            raise FeTypeError(
                [Diagnostic(FeTypeError, "F00001", "npuarch is a name", None, "str", got)]
            )
        if value.replace("-", "_").upper() != self.npuarch:
            message = f"pypto does not compile for the architecture '{value}'"
            raise FeNotImplementedError(
                [Diagnostic(FeNotImplementedError, "F00005", message, None, self.npuarch, value)]
            )


platform = Platform()
