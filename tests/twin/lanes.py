"""The vector unit in NumPy: which elements an instruction touches, and kernels to compare with.

``Walk`` describes one call of a vector instruction: a count form, or a repeat form with strides and
a mask. ``Walk.lanes(item, k)`` gives the element index of each active lane of operand ``k`` in
order of repeats, so a model of an instruction is one line of NumPy per repeat.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

COUNT, LENGTH, BITS, REGISTER, COUNTER = range(5)

CTYPE = {
    "half": np.float16,
    "float": np.float32,
    "int16_t": np.int16,
    "uint16_t": np.uint16,
    "int32_t": np.int32,
    "uint32_t": np.uint32,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
    "int64_t": np.int64,
    "bfloat16_t": np.uint16,
}

Array = npt.NDArray[Any]


class Call(ctypes.Structure):
    """What a test kernel gets beside its tensors; the C text is CALL_TEXT."""

    _fields_ = (
        ("form", ctypes.c_int32),
        ("count", ctypes.c_uint32),
        ("low", ctypes.c_uint64),
        ("high", ctypes.c_uint64),
        ("repeat", ctypes.c_uint32),
        ("block", ctypes.c_uint32 * 3),
        ("stride", ctypes.c_uint32 * 3),
        ("mode", ctypes.c_int32),
        ("scalar", ctypes.c_double),
    )


CALL_TEXT = """
using namespace AscendC;
struct Call {
    int32_t form; uint32_t count; uint64_t low, high; uint32_t repeat, block[3], stride[3];
    int32_t mode; double scalar;
};
template <typename T> LocalTensor<T> tensor(GM_ADDR p)
{
    return LocalTensor<T>(reinterpret_cast<T*>(p), 1u << 20, TPosition::VECCALC);
}
"""

# How the forms are called; %s is the list of operands before count or mask.
FORMS_TEXT = """
    const uint64_t mask[2] = {{c.low, c.high}};
    switch (c.form) {{
        case 0: {name}({operands}, static_cast<int32_t>(c.count)); break;
        case 1: {name}({operands}, uint64_t(c.count), uint8_t(c.repeat), p); break;
        case 2: {name}({operands}, mask, uint8_t(c.repeat), p); break;
        case 3: SetVectorMask<{type}>(c.high, c.low);
                {name}<{types}, false>({operands}, MASK_PLACEHOLDER, uint8_t(c.repeat), p); break;
        default: SetMaskCount(); SetVectorMask<{type}, MaskMode::COUNTER>(0, c.count);
                {name}<{types}, false>({operands}, MASK_PLACEHOLDER, 1, p); SetMaskNorm(); break;
    }}
    c.low = pypto_twin::state().mask_low; c.high = pypto_twin::state().mask_high;
    c.form = pypto_twin::state().mask_counter;
"""
BINARY_PARAMS = (
    "const BinaryRepeatParams p(c.block[0], c.block[1], c.block[2],"
    " c.stride[0], c.stride[1], c.stride[2]);"
)
UNARY_PARAMS = "const UnaryRepeatParams p(c.block[0], c.block[1], c.stride[0], c.stride[1]);"


def kernel_text(name: str, body: str) -> str:
    """A kernel of three tensors and a ``Call&`` whose state it writes back."""
    return (
        f'extern "C" __global__ __vector__ void {name}'
        "(GM_ADDR d, GM_ADDR a, GM_ADDR b, GM_ADDR call)\n{\n"
        "    Call& c = *reinterpret_cast<Call*>(call);\n"
        f"    {body}\n}}\n"
    )


@dataclass(frozen=True, slots=True)
class Walk:
    """One call of an instruction on operands of ``sizes`` bytes an element (dst first)."""

    form: int
    sizes: tuple[int, ...]
    count: int = 0
    """Elements (count and counter forms) or lanes of a repeat (length form)."""
    repeat: int = 1
    low: int = 0
    high: int = 0
    block: tuple[int, ...] = (1, 1, 1)
    stride: tuple[int, ...] = (8, 8, 8)

    @property
    def per_repeat(self) -> int:
        return 256 // max(self.sizes)

    def active(self) -> Iterator[list[int]]:
        """Active lanes of each repeat."""
        e = self.per_repeat
        if self.form == COUNT:
            yield list(range(self.count))
        elif self.form == COUNTER:
            for first in range(0, self.count, e):
                yield list(range(min(e, self.count - first)))
        else:
            bits = (1 << self.count) - 1 if self.form == LENGTH else self.low | self.high << 64
            for _ in range(self.repeat):
                yield [lane for lane in range(e) if bits >> lane & 1]

    def index(self, repeat: int, lanes: list[int], operand: int) -> npt.NDArray[np.int64]:
        """Element index of ``lanes`` of ``repeat`` in ``operand``."""
        at = np.asarray(lanes, dtype=np.int64)
        if self.form == COUNT:
            return at
        e = 32 // self.sizes[operand]
        block = repeat * self.stride[operand] + at // e * self.block[operand]
        return block * e + at % e

    def run(self, dst: Array, sources: list[Array], function: Callable[..., Array]) -> Array:
        """What ``dst`` holds afterwards. A source that is ``dst`` itself sees earlier repeats."""
        result = dst.copy()
        for r, lanes in enumerate(self.active()):
            values = [
                (result if source is dst else source)[self.index(r, lanes, k + 1)]
                for k, source in enumerate(sources)
            ]
            result[self.index(r, lanes, 0)] = function(*values)
        return result

    def call(self, *, mode: int = 0, scalar: float = 0.0) -> Call:
        three = ctypes.c_uint32 * 3
        pad = (*self.block, 1, 1, 1)[:3], (*self.stride, 8, 8, 8)[:3]
        return Call(
            self.form, self.count, self.low, self.high, self.repeat, three(*pad[0]),
            three(*pad[1]), mode, scalar,
        )  # fmt: skip


ELEMENTS = 1 << 16
"""Elements of a test tensor: repeats of any stride below stay inside."""


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, 65504.0, 6e-8]


def random_data(rng: np.random.Generator, dtype: np.dtype, size: int = ELEMENTS) -> Array:
    if dtype.kind == "f":
        data = (rng.standard_normal(size) * 10 ** rng.uniform(-3, 3, size)).astype(np.float32)
        spots = rng.random(size) < 0.2
        data[spots] = rng.choice(np.array(SPECIAL, np.float32), spots.sum())
        with np.errstate(over="ignore"):
            return data.astype(dtype)
    limits = np.iinfo(dtype)
    data = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
    spots = rng.random(size) < 0.2
    edge = np.array([0, 1, limits.max, limits.min], dtype)
    data[spots] = rng.choice(edge, spots.sum())
    return data


def pointer(call: Call) -> ctypes.c_void_p:
    """The address of ``call``, which it keeps alive."""
    address = ctypes.c_void_p(ctypes.addressof(call))
    address.call = call  # type: ignore[attr-defined]
    return address


def random_walk(rng: np.random.Generator, sizes: tuple[int, ...]) -> Walk:
    """A repeat form with random strides and mask; no repeat writes what a later one reads."""
    e = 256 // max(sizes)
    form = int(rng.choice([LENGTH, LENGTH, BITS, REGISTER, COUNTER]))
    repeat = int(rng.integers(0, 9))
    # each operand steps its own number of blocks: mixed sizes use fewer on the narrow side
    used = [8 * size // max(sizes) for size in sizes]
    block = [int(rng.choice([1, 1, 2, 3]))] + [int(rng.choice([1, 1, 0, 2])) for _ in sizes[1:]]
    stride = [used[0] * block[0] + int(rng.choice([0, 0, 1]))]
    stride += [int(rng.choice([u, 0, 1, 11])) for u in used[1:]]
    if rng.random() < 0.3:
        block, stride = [1] * len(sizes), used
    words = rng.integers(0, 1 << 63, size=2, dtype=np.uint64)
    low, high = (int(w) * 2 + int(rng.integers(0, 2)) for w in words)
    if rng.random() < 0.3:
        low = high = (1 << 64) - 1
    count = int(rng.integers(0, e + 1)) if rng.random() < 0.6 else e
    if form == COUNTER:
        count = int(rng.integers(0, 6 * e))
    if e <= 64:
        high = 0
    return Walk(form, sizes, count, repeat, low & ((1 << e) - 1), high, tuple(block), tuple(stride))


def bytes_equal(actual: Array, expected: Array) -> bool:
    return actual.tobytes() == expected.tobytes()


def same_values(actual: Array, expected: Array) -> bool:
    """Equal bits, but any NaN equals any NaN."""
    if actual.dtype.kind != "f":
        return bytes_equal(actual, expected)
    both = np.isnan(actual) & np.isnan(expected)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[actual.dtype.itemsize]
    return bool(np.all(both | (actual.view(bits) == expected.view(bits))))
