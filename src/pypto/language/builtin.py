"""Functions that mean something to the compiler: loops, conditions, tiles, local tensors.

The compiler recognises them by identity, under whatever name a kernel calls them. Outside a kernel
most of them refuse; those that make sense there (tiles as defaults, ``min``, ``tensor``) work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pypto import _options
from pypto.error import Diagnostic, FeError, FeTypeError
from pypto.ir.dtype import DataType
from pypto.ir.expr import apply
from pypto.language.annotation import Tensor, TensorAnnotation
from pypto.language.symbolic import SymbolicScalar

__all__ = [
    "BUILTINS",
    "Builtin",
    "annotation_of",
    "assemble",
    "bytes_of",
    "ceildiv",
    "cond",
    "full",
    "get_conv_tile_shapes",
    "get_cube_tile_shapes",
    "get_vec_tile_shapes",
    "is_loop_begin",
    "is_loop_end",
    "loop",
    "loop_unroll",
    "max",
    "min",
    "ones",
    "permute",
    "reshape",
    "set_conv_tile_shapes",
    "set_cube_tile_shapes",
    "set_matrix_size",
    "set_semantic_label",
    "set_vec_tile_shapes",
    "tensor",
    "transpose",
    "unsqueeze",
    "view",
    "zeros",
]


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """A function of pypto that the compiler knows. Compared by identity.

    ``outside``: what a call does outside a kernel; None refuses it.
    """

    name: str
    signature: str
    doc: str
    outside: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.outside is not None:
            return self.outside(*args, **kwargs)
        message = f"pypto.{self.name} may only be used inside a kernel"
        help = "decorate the function with @pypto.frontend.jit and call that"
        raise FeError([Diagnostic(FeError, "F00007", message, help=help)])

    @property
    def usage(self) -> str:
        """The call as a person writes it."""
        return f"pypto.{self.name}{self.signature}"

    def __repr__(self) -> str:
        return f"<pypto.{self.name}>"


def annotation_of(value: object) -> TensorAnnotation | None:
    """The tensor annotation that an (evaluated) annotation is; None when it is none.

    ``pypto.Tensor`` and ``pypto.tensor`` without arguments say nothing about the tensor.
    """
    if isinstance(value, TensorAnnotation):
        return value
    if value is Tensor or value is tensor:
        return Tensor()
    return None


def _plain(value: object) -> int:
    """A Python int of an int or a known symbolic scalar; the options table checks the rest."""
    return value.concrete() if isinstance(value, SymbolicScalar) else value  # type: ignore[return-value]


def _set_vec_tile_shapes(*shapes: int | SymbolicScalar) -> None:
    _options.set_tiles(vec_tile_shapes=[_plain(s) for s in shapes])


def _set_cube_tile_shapes(
    m: list[int], k: list[int], n: list[int], enable_split_k: bool = False
) -> None:
    _options.set_tiles(cube_tile_shapes=(m, k, n, enable_split_k))


def _set_conv_tile_shapes(tile_l1_info: Any, tile_l0_info: Any = None) -> None:
    _options.set_tiles(conv_tile_shapes=(tile_l1_info, tile_l0_info))


def _set_matrix_size(size: list[int]) -> None:
    _options.set_tiles(matrix_size=size)


def _get_vec_tile_shapes() -> list[int]:
    return list(_options.current().vec_tile_shapes or ())


def _get_cube_tile_shapes() -> tuple[list[int], list[int], list[int], bool]:
    tile = _options.current().cube_tile_shapes
    if tile is None:
        return [], [], [], False
    return list(tile[0]), list(tile[1]), list(tile[2]), tile[3]


def _get_conv_tile_shapes() -> tuple[object, object, bool]:
    tile = _options.current().conv_tile_shapes
    return (None, None, False) if tile is None else (tile[0], tile[1], tile[1] is not None)


def _cond(condition: Any) -> Any:
    return condition


def _min(a: SymbolicScalar | int, b: SymbolicScalar | int) -> SymbolicScalar:
    return SymbolicScalar(apply("min", SymbolicScalar(a).expr, SymbolicScalar(b).expr))


def _max(a: SymbolicScalar | int, b: SymbolicScalar | int) -> SymbolicScalar:
    return SymbolicScalar(apply("max", SymbolicScalar(a).expr, SymbolicScalar(b).expr))


def bytes_of(dtype: DataType) -> int:
    """Bytes of one element of ``dtype`` in memory (1 for packed 4-bit types)."""
    if not isinstance(dtype, DataType):
        from pypto.language.dtype_names import suggestion

        found = f"{dtype!r} ({type(dtype).__name__})"
        diagnostic = Diagnostic(
            FeTypeError, "F00001", "bytes_of takes a dtype", None, "pypto.DataType", found,
            suggestion(dtype),
        )  # fmt: skip
        raise FeTypeError([diagnostic])
    return dtype.bytes


def ceildiv(a: Any, b: Any) -> Any:
    """``a / b`` rounded up, for ints and symbolic scalars."""
    return -(-a // b)


loop = Builtin(
    "loop",
    "(start=0, stop, step=1, *, name=None, idx_name=None, unroll_list=None,"
    " submit_before_loop=False, parallel=False)",
    "A loop that runs on the device, several iterations at a time where unroll_list has factors; "
    "yields the run-time index.",
)
loop_unroll = Builtin(
    "loop_unroll",
    "(start=0, stop, step=1, *, name=None, idx_name=None, unroll_list=None,"
    " submit_before_loop=False)",
    "A loop cut into unrolled parts; yields the index and the number of iterations of a part.",
)
cond = Builtin("cond", "(condition)", "Marks a run-time condition; the condition itself.", _cond)
is_loop_begin = Builtin("is_loop_begin", "(index)", "True in the first iteration of a loop.")
is_loop_end = Builtin("is_loop_end", "(index)", "True in the last iteration of a loop.")
tensor = Builtin(
    "tensor",
    "(shape, dtype, name='', format=None)",
    "A local tensor, to be written before it is read. In annotations: pypto.Tensor.",
    Tensor,
)
set_vec_tile_shapes = Builtin(
    "set_vec_tile_shapes",
    "(*shapes)",
    "The vector tile, elements per axis, of the operations that follow. Outside a kernel: of"
    " kernels that set none.",
    _set_vec_tile_shapes,
)
get_vec_tile_shapes = Builtin(
    "get_vec_tile_shapes", "()", "The vector tile in force.", _get_vec_tile_shapes
)
set_cube_tile_shapes = Builtin(
    "set_cube_tile_shapes",
    "(m, k, n, enable_split_k=False)",
    "The matrix tile: per axis [L0, L1] in elements.",
    _set_cube_tile_shapes,
)
get_cube_tile_shapes = Builtin(
    "get_cube_tile_shapes", "()", "The matrix tile in force.", _get_cube_tile_shapes
)
set_conv_tile_shapes = Builtin(
    "set_conv_tile_shapes",
    "(tile_l1_info, tile_l0_info=None)",
    "The convolution tiles in L1 and L0.",
    _set_conv_tile_shapes,
)
get_conv_tile_shapes = Builtin(
    "get_conv_tile_shapes", "()", "The convolution tiles in force.", _get_conv_tile_shapes
)
set_matrix_size = Builtin(
    "set_matrix_size",
    "([m, k, n])",
    "The sizes of a matrix product before its operands were reshaped.",
    _set_matrix_size,
)
set_semantic_label = Builtin(
    "set_semantic_label", "(label)", "A label for the operations that follow; '' ends it."
)
view = Builtin(
    "view",
    "(input, shape, offsets, *, valid_shape=None, dtype=None)",
    "A part of a tensor: a box of this shape at these offsets; or its bytes in another dtype.",
)
assemble = Builtin(
    "assemble",
    "(input, offsets, out, *, parallel=False)",
    "Writes a tensor into another one at these offsets; or a list of (tensor, offsets) pairs.",
)
reshape = Builtin(
    "reshape",
    "(input, shape, *, valid_shape=None, inplace=False)",
    "The same elements in another shape.",
)
permute = Builtin("permute", "(input, perm)", "The same elements with the axes in this order.")
transpose = Builtin("transpose", "(input, dim0, dim1)", "The same elements with two axes swapped.")
unsqueeze = Builtin("unsqueeze", "(input, dim)", "The same elements with a new axis of size 1.")
zeros = Builtin("zeros", "(*size, dtype=pypto.DT_FP32)", "A local tensor of zeros.")
ones = Builtin("ones", "(*size, dtype=pypto.DT_FP32)", "A local tensor of ones.")
full = Builtin(
    "full", "(size, fill_value, dtype, *, valid_shape=None)", "A local tensor of one number."
)
min = Builtin("min", "(a, b)", "The smaller of two ints or symbolic scalars.", _min)
max = Builtin("max", "(a, b)", "The larger of two ints or symbolic scalars.", _max)

BUILTINS: tuple[Builtin, ...] = (
    loop, loop_unroll, cond, is_loop_begin, is_loop_end, tensor,
    set_vec_tile_shapes, get_vec_tile_shapes, set_cube_tile_shapes, get_cube_tile_shapes,
    set_conv_tile_shapes, get_conv_tile_shapes, set_matrix_size, set_semantic_label, min, max,
    view, assemble, reshape, permute, transpose, unsqueeze, zeros, ones, full,
)  # fmt: skip
