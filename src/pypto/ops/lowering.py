"""Rewriting operations into primitives: the operations that Ascend C has instructions for.

Primitives are Tensor IR ``Compute`` statements whose names are in :data:`PRIMITIVES`; dtypes are
those of the instruction table. The rules of numbers live here: every FP16/BF16 value is rounded as
torch rounds it, integers are exact and wrap.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from pypto.ir.dtype import DataType
from pypto.ir.expr import Const, Expr, apply, as_int, const
from pypto.ir.tensor import Compute, Operand, TensorType, Value

__all__ = [
    "MASKS", "PRIMITIVES", "Lowering", "as_single", "axis_of", "exact_in", "rounded_to", "wrapped",
]  # fmt: skip

F16, BF16, F32 = DataType.DT_FP16, DataType.DT_BF16, DataType.DT_FP32
BOOL = DataType.DT_BOOL
I8, U8, I16, I32, I64 = (
    DataType.DT_INT8,
    DataType.DT_UINT8,
    DataType.DT_INT16,
    DataType.DT_INT32,
    DataType.DT_INT64,
)
U16, U32 = DataType.DT_UINT16, DataType.DT_UINT32

BINARY = frozenset({"add", "sub", "mul", "div", "max", "min", "power"})
SCALAR = frozenset({"adds", "muls", "maxs", "mins", "powers", "shl", "shr"})
SIGNED = frozenset({"flip_sign"})  # FP32, FP32, INT32 scalar: 0, or the sign bit
UNARY = frozenset({"abs", "exp", "ln", "sqrt", "relu", "tanh", "sigmoid", "cast", "low_half"})
# Along the axis that the attribute ``axis`` names, which stays with size 1.
REDUCE = frozenset({"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})
# Their results are masks: DT_BOOL on chip, a bit for an element.
MASKS = frozenset({"compare", "compares", "mask_and", "mask_or", "mask_not"})
SELECTS = frozenset({"select", "selects"})  # by a mask: a tensor or a tensor, a tensor or a scalar
LOOPED = frozenset({"gcd"})  # INT32; steps: how many
BITWISE = frozenset({"bit_and", "bit_or", "bit_not"})  # of integers of any width
# fill: a constant tensor; expand: same elements, more rows or columns; squeeze, unsqueeze: drop the
# axis of size 1 that the attribute names, insert one there; view: the same bits as another dtype of
# that width
FREE = frozenset({"fill", "expand", "squeeze", "unsqueeze", "view"})
SHAPING = REDUCE | {"expand", "squeeze", "unsqueeze"}  # a result of another shape
# Running totals along the axis that the attribute ``axis`` names: FP32, sums of INT32, too.
SCAN = frozenset({"scan_sum", "scan_prod"})
PAIR = frozenset({"pair"})  # INT64 of a low and a high word
IOTA = frozenset({"iota"})  # the index along an axis, in FP32 or INT32
PRIMITIVES = (
    SCAN
    | PAIR
    | IOTA
    | BINARY
    | SCALAR
    | SIGNED
    | UNARY
    | REDUCE
    | MASKS
    | SELECTS
    | BITWISE
    | LOOPED
    | FREE
)


def exact_in(dtype: DataType, value: float) -> bool:
    """True when ``dtype`` (FP16 or FP32) holds ``value`` exactly."""
    code = {"DT_FP16": "e", "DT_FP32": "f"}.get(dtype.name)
    if code is None:
        return False
    if value != value:
        return True
    try:
        return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
    except OverflowError:
        return False


def rounded_to(dtype: DataType, value: float) -> float:
    """``value`` rounded half to even to a float ``dtype``."""
    if math.isnan(value) or math.isinf(value):
        return value
    single = _packed("f", value)
    if dtype == F16:
        return _packed("e", value)
    if dtype == BF16 and not math.isinf(single):
        (bits,) = struct.unpack("I", struct.pack("f", single))
        bits += 0x7FFF + (bits >> 16 & 1)
        return float(struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0])
    return single


def wrapped(value: int, dtype: DataType) -> int:
    """``value`` in the range of an integer ``dtype``, modulo its number of values."""
    bits = 8 * dtype.bytes
    low = value & ((1 << bits) - 1)
    signed = not dtype.name.startswith("DT_UINT")
    return low - (1 << bits) if signed and low >> (bits - 1) else low


def _packed(code: str, value: float) -> float:
    try:
        return float(struct.unpack(code, struct.pack(code, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def as_single(scalar: Expr) -> Expr:
    """The number as a float that rounds to the FP32 number nearest to ``scalar``.

    Torch rounds once. FP64 does not hold every integer beyond 2**53; rounded to the nearest there
    and again to FP32, some would come out wrong. Rounded to odd they do not.
    """
    if not isinstance(scalar, Const) or scalar.kind == "float":
        return apply("to_float", scalar)
    magnitude = abs(int(scalar.value))
    dropped = max(magnitude.bit_length() - 53, 0)
    kept = magnitude >> dropped
    if kept << dropped != magnitude:
        kept |= 1
    return const(math.copysign(float(kept << dropped), int(scalar.value)))


@dataclass(slots=True)
class Lowering:
    """Builds the primitives that one operation becomes; ``out`` collects them in order."""

    origin: Compute
    next_id: int
    out: list[Compute] = field(default_factory=list)

    def emit(
        self,
        op: str,
        *args: Operand,
        dtype: DataType | None = None,
        shape: tuple[Expr, ...] | None = None,
        held: tuple[Expr, ...] | None = None,
        **attrs: object,
    ) -> Value:
        """One primitive; dtype and shape default to those of the first tensor operand(s).

        ``held``: how much of the result holds elements, where its axes are not the operand's."""
        tensors = [a for a in args if isinstance(a, Value)]
        if shape is None:
            shape = broadcast_known([t.type.shape for t in tensors])
            held = broadcast_known([_held(t.type) for t in tensors])
        valid = _kept(shape, tensors) if held is None else held
        type = TensorType(dtype or tensors[0].type.dtype, shape, None if valid == shape else valid)
        result = Value(self.next_id, type)
        self.next_id += 1
        self.out.append(
            Compute(
                result, op, args, tuple(sorted(attrs.items())), self.origin.tile, self.origin.span,
                self.origin.tile_span,
            )
        )  # fmt: skip
        return result

    # --- casts ---

    def cast(self, value: Value, dtype: DataType, mode: str = "NONE") -> Value:
        """``value`` as ``dtype`` by one Cast instruction; the same value when nothing changes."""
        if value.type.dtype == dtype:
            return value
        return self.emit("cast", value, dtype=dtype, mode=mode)

    def widen(self, value: Value) -> Value:
        """A 16-bit float as FP32 (exact); FP32 unchanged."""
        return self.cast(value, F32)

    def narrow(self, value: Value, dtype: DataType) -> Value:
        """FP32 rounded half to even to ``dtype``, as torch rounds."""
        return self.cast(value, dtype, "RINT")

    def in_float(self, op: str, *args: Operand) -> Value:
        """``op`` computed in FP32 on 16-bit floats and rounded once to the first one's dtype."""
        first = next(a for a in args if isinstance(a, Value))
        wide = [self.widen(a) if isinstance(a, Value) else a for a in args]
        return self.narrow(self.emit(op, *wide), first.type.dtype)

    # --- axes ---

    def reduce(self, op: str, value: Value, axis: int) -> Value:
        """``value`` reduced along ``axis``, which stays with size 1."""
        shape = value.type.shape
        if as_int(shape[axis]) == 1:
            return value
        return self.emit(op, value, shape=(*shape[:axis], const(1), *shape[axis + 1 :]), axis=axis)

    def iota(self, like: Value, axis: int, dtype: DataType) -> Value:
        """The index of each element of ``like`` along ``axis``; the other axes have size 1."""
        ones = (const(1),) * like.type.rank
        shape, held = (
            (*ones[:axis], size[axis], *ones[axis + 1 :])
            for size in (like.type.shape, _held(like.type))
        )
        return self.emit("iota", dtype=dtype, shape=shape, held=held, axis=axis)

    def squeeze(self, value: Value, axis: int) -> Value:
        """``value`` without ``axis``, of size 1; a tensor keeps one axis."""
        shape, held = value.type.shape, _held(value.type)
        if len(shape) == 1:
            return value
        shape, held = (*shape[:axis], *shape[axis + 1 :]), (*held[:axis], *held[axis + 1 :])
        return self.emit("squeeze", value, shape=shape, held=held, axis=axis)

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """``value`` with a further axis of size 1, which is ``axis`` of the result."""
        one = (const(1),)
        shape, held = (
            (*sizes[:axis], *one, *sizes[axis:]) for sizes in (value.type.shape, _held(value.type))
        )
        return self.emit("unsqueeze", value, shape=shape, held=held, axis=axis)

    # --- arithmetic in the operand's own type, by the shortest legal route ---

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """add, sub, mul, max, min of equal dtypes."""
        if a.type.dtype == BF16:
            return self.in_float(op, a, b)
        return self.emit(op, a, b)

    def with_scalar(self, op: str, a: Value, scalar: Expr) -> Value:
        """adds, muls, maxs, mins; the scalar is taken in the tensor's type as torch takes it."""
        dtype = a.type.dtype
        if not dtype.is_float:
            return self.emit(op, a, scalar)
        scalar = as_single(scalar)
        known = isinstance(scalar, Const) and exact_in(F16, float(scalar.value))
        if dtype == BF16 or (dtype == F16 and not known):
            return self.in_float(op, a, scalar)
        return self.emit(op, a, scalar)

    def fill(self, scalar: Expr, dtype: DataType, rank: int) -> Value:
        """A tensor of shape [1, …] that holds ``scalar``."""
        if dtype.is_float:
            scalar = as_single(scalar)
        return self.emit("fill", scalar, dtype=dtype, shape=(const(1),) * max(rank, 1))

    def number(self, scalar: Expr, dtype: DataType, rank: int) -> Value:
        """As :meth:`fill`, of 8-bit integers, too: those by way of INT16, which wraps."""
        if dtype not in (I8, U8):
            return self.fill(scalar, dtype, rank)
        low = self.wrap(self.fill(scalar, I16, rank), 8)
        low = self.unsigned(low, 8) if dtype == U8 else low
        return self.cast(self.cast(low, F16, "NONE"), dtype, "RINT")

    def negative(self, a: Value) -> Value:
        return self.with_scalar("muls", a, const(-1))

    def wrap(self, a: Value, bits: int) -> Value:
        """INT32 or INT16 ``a`` reduced to its low ``bits``, sign extended."""
        width = 8 * a.type.dtype.bytes
        shift = const(width - bits)
        return self.emit("shr", self.emit("shl", a, shift), shift)

    # --- masks and bits ---

    def compare(self, mode: str, a: Value, b: Value | Expr) -> Value:
        """The mask of ``a mode b`` (LT GT EQ LE GE NE); a scalar is taken in the tensor's type."""
        dtype = a.type.dtype
        if isinstance(b, Expr):
            return self._compare_scalar(mode, a, b)
        if dtype == I32:
            return self._compare_int32(mode, a, b)
        if dtype not in (F32, F16):
            a, b = self.comparable(a), self.comparable(b)
        return self.emit("compare", a, b, dtype=BOOL, mode=mode)

    def _compare_scalar(self, mode: str, a: Value, scalar: Expr) -> Value:
        dtype = a.type.dtype
        if dtype == I32:
            return self._compare_int32(mode, a, scalar)
        if not isinstance(scalar, Const) and dtype not in (F32, F16, BOOL):
            number = self.comparable(self.number(scalar, dtype, a.type.rank))
            return self.emit("compare", self.comparable(a), number, dtype=BOOL, mode=mode)
        if isinstance(scalar, Const) and dtype == BF16:
            scalar = const(rounded_to(BF16, float(scalar.value)))
        elif isinstance(scalar, Const) and dtype.is_integer:
            scalar = const(wrapped(int(scalar.value), dtype))
        return self.emit("compares", self.comparable(a), as_single(scalar), dtype=BOOL, mode=mode)

    def comparable(self, a: Value) -> Value:
        """``a`` as a float that holds all its values: FP16 for 8 bits and FP16, FP32 for 16."""
        dtype = a.type.dtype
        if dtype in (I8, U8, BOOL):
            return self.cast(a, F16)
        return self.cast(a, F32) if dtype in (BF16, I16) else a

    def _compare_int32(self, mode: str, a: Value, b: Value | Expr) -> Value:
        """Of INT32 there is EQ alone: a >= b where the larger one is a."""
        larger = a
        if mode not in ("EQ", "NE"):
            larger = self.emit("maxs" if isinstance(b, Expr) else "max", a, b)
        other: Value | Expr = a if mode in ("GE", "LT") else b
        op = "compares" if isinstance(other, Expr) else "compare"
        mask = self.emit(op, larger, other, dtype=BOOL, mode="EQ")
        return self.inverse(mask) if mode in ("NE", "LT", "GT") else mask

    def inverse(self, mask: Value) -> Value:
        return self.emit("mask_not", mask)

    def both(self, a: Value, b: Value) -> Value:
        """The mask of ``a and b``."""
        return self.emit("mask_and", a, b)

    def either(self, a: Value, b: Value) -> Value:
        """The mask of ``a or b``."""
        return self.emit("mask_or", a, b)

    def mask(self, a: Value) -> Value:
        """The mask of what is not 0: of a tensor of booleans or numbers."""
        if a.type.dtype in (U16, U32):
            a = self.view(a, I16 if a.type.dtype == U16 else I32)
        return self.compare("NE", a, const(0 if a.type.dtype.is_integer else 0.0))

    def boolean(self, mask: Value) -> Value:
        """``mask`` as a DT_BOOL tensor: a byte for an element."""
        return self.cast(self.ones(mask, F16), BOOL, "RINT")

    def ones(self, mask: Value, dtype: DataType) -> Value:
        """1.0 where ``mask`` is set, else 0.0, in FP16 or FP32."""
        return self.emit(
            "selects", mask, self.spread(const(1.0), dtype, mask), const(0.0), dtype=dtype
        )

    def spread(self, scalar: Expr, dtype: DataType, like: Value) -> Value:
        """A tensor of the shape of ``like`` that holds ``scalar``."""
        one = self.fill(scalar, dtype, like.type.rank)
        return self.emit("expand", one, shape=like.type.shape)

    def select(self, mask: Value, a: Value | Expr, b: Value | Expr) -> Value:
        """``a`` where ``mask`` is set, else ``b``; FP32 or FP16, scalars in that type."""
        if isinstance(a, Expr):
            if isinstance(b, Value):
                return self.select(self.inverse(mask), b, a)
            a = self.spread(a, F32, mask)
        if isinstance(b, Expr):
            return self.emit("selects", mask, a, b, dtype=a.type.dtype)
        return self.emit("select", mask, a, b, dtype=a.type.dtype)

    def view(self, a: Value, dtype: DataType) -> Value:
        """The bits of ``a`` as another dtype of the same width."""
        return a if a.type.dtype == dtype else self.emit("view", a, dtype=dtype)

    def unsigned(self, a: Value, bits: int) -> Value:
        """INT32 or INT16 ``a``, whose low ``bits`` are sign extended, without its sign."""
        # 2**bits is added to the negatives, whose sign bits make -1.
        sign = self.emit("shr", a, const(8 * a.type.dtype.bytes - 1))
        return self.emit("add", a, self.emit("muls", sign, const(-(1 << bits))))

    def result_shape(self) -> tuple[Expr, ...]:
        return self.origin.result.type.shape


def axis_of(use: Compute) -> int:
    """The axis that a reduction, a squeeze or an unsqueeze goes by."""
    axis = use.attr("axis")
    assert isinstance(axis, int)
    return axis


def _held(type: TensorType) -> tuple[Expr, ...]:
    """How much of a value holds elements, but 1 along an axis of one."""
    one = const(1)
    return tuple(
        one if stated == one else size for stated, size in zip(type.shape, type.sizes, strict=True)
    )


def _kept(shape: tuple[Expr, ...], tensors: list[Value]) -> tuple[Expr, ...]:
    """Sizes of a result of this ``shape``: along axes that the operand has, as that holds them."""
    if not tensors:
        return shape
    operand = tensors[0].type
    axes = zip(operand.shape, _held(operand), shape, strict=False)
    held = tuple(size if stated == wanted else wanted for stated, size, wanted in axes)
    return held + shape[len(held) :]


def broadcast_known(shapes: list[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """The broadcast of shapes that are known to fit (the type rule has checked them)."""
    rank = max(len(s) for s in shapes)
    result: list[Expr] = []
    for position in range(rank):
        sizes = [s[position - rank + len(s)] for s in shapes if position - rank + len(s) >= 0]
        result.append(next((s for s in sizes if s != const(1)), const(1)))
    return tuple(result)
