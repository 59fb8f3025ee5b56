"""The options in force, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pypto._options.check import check_family, thaw
from pypto._options.modes import CompStage, RunMode
from pypto._options.spec import Frozen, Option
from pypto._options.table import FAMILIES, OPTIONS
from pypto._record import Record

__all__ = ["Ignored", "Options", "validate"]


class Ignored(Record):
    """An option that was set and has no meaning on this target."""

    name: str
    value: object
    why: str

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}: {self.why}"


class Options(Record):
    """Values of options by ``family.key``; what is not ``given`` has its default.

    Immutable and hashable. ``given`` is sorted by name.
    """

    given: tuple[tuple[str, Frozen], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Frozen]) -> Options:
        """From checked values by ``family.key``."""
        return cls(tuple(sorted(values.items(), key=lambda item: item[0])))

    def value(self, name: str) -> Frozen:
        """The kept value of ``family.key``; KeyError for a name that is in no table."""
        option = OPTIONS[name]
        for key, value in self.given:
            if key == name:
                return value
        return option.default

    def get(self, name: str) -> Any:
        """The value of ``family.key`` as a user sees it."""
        return thaw(OPTIONS[name], self.value(name))

    def family(self, family: str) -> dict[str, Any]:
        """All values of one family, as a user sees them."""
        return {key: self.get(o.full_name) for key, o in FAMILIES[family].items()}

    def merged(self, inner: Options) -> Options:
        """These options, overridden by those given in ``inner``."""
        return inner if not self.given else Options.of({**dict(self.given), **dict(inner.given)})

    def as_key(self) -> str:
        """Text of all values that can change the compiled kernel and are not the default.

        Equal for equal outputs of the compiler, over processes and machines.
        """
        return ";".join(
            f"{name}={value!r}"
            for name, value in self.given
            if OPTIONS[name].affects_output and value != OPTIONS[name].default
        )

    def without_meaning(self) -> tuple[Ignored, ...]:
        """What was given, differs from the default and has no meaning on this target."""
        return tuple(
            Ignored(name, thaw(option, value), option.why)
            for name, value in self.given
            if (option := OPTIONS[name]).state == "no_meaning" and value != option.default
        )

    def given_options(self) -> tuple[tuple[Option, Frozen], ...]:
        """Every option that was given, with its value."""
        return tuple((OPTIONS[name], value) for name, value in self.given)

    # --- the options that the compiler reads ---

    @property
    def run_mode(self) -> RunMode | None:
        """None: the device of the tensors decides."""
        value = self.value("runtime_options.run_mode")
        return None if value is None else RunMode(cast(int, value))

    @property
    def compile_stage(self) -> CompStage:
        return CompStage(cast(int, self.value("host_options.compile_stage")))

    @property
    def compile_debug_mode(self) -> int:
        return cast(int, self.value("debug_options.compile_debug_mode"))

    @property
    def soc_version(self) -> str:
        return cast(str, self.value("codegen_options.soc_version"))

    @property
    def precision(self) -> str:
        return cast(str, self.value("codegen_options.precision"))

    @property
    def vec_tile_shapes(self) -> tuple[int, ...] | None:
        """Vector tile of kernels that set none."""
        return cast("tuple[int, ...] | None", self.value("tile_options.vec_tile_shapes"))

    @property
    def cube_tile_shapes(
        self,
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool] | None:
        """(m, k, n, enable_split_k) of kernels that set none; k has three values."""
        value: Any = self.value("tile_options.cube_tile_shapes")
        return None if value is None else (value[0], value[1], value[2], value[3])

    @property
    def conv_tile_shapes(self) -> tuple[tuple[int, ...], tuple[int, ...] | None] | None:
        """Convolution tiles in L1 and L0 of kernels that set none."""
        value: Any = self.value("tile_options.conv_tile_shapes")
        return None if value is None else (value[0], value[1])

    @property
    def matrix_size(self) -> tuple[int, ...] | None:
        return cast("tuple[int, ...] | None", self.value("tile_options.matrix_size"))


def validate(family: str, mapping: Mapping[str, object] | None) -> Options:
    """The options of one family, checked, without any effect.

    ``mapping`` is key to value; None values are dropped. Raises FeKeyError, FeTypeError or
    FeValueError.
    """
    return Options.of(check_family(family, mapping))
