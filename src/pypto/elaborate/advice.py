"""Advice on names: what names of torch, NumPy and Python are called here, what is missing yet."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from types import FunctionType

from pypto._spelling import nearest
from pypto.ir.dtype import DataType
from pypto.language import contract
from pypto.ops import registry
from pypto.ops.casts import cast_text
from pypto.ops.spec import REQUIRED

__all__ = [
    "available",
    "for_attribute",
    "for_base",
    "for_function",
    "for_missing",
    "for_store",
    "is_missing",
    "near_operation",
    "renamed",
    "sizes_request",
    "value_request",
]

_COPY = "use the tensor itself; where a copy is needed: pypto.clone({})"
_ELEMENTS = "the elements of a tensor are known only when the kernel runs"
_CAST = "write pypto.cast({}, pypto.DT_FP32), or another dtype"

# Attributes and methods of torch's tensors, for the tensor {}.
_ATTRIBUTES = {
    **dict.fromkeys(
        ("to", "type", "astype", "float", "half", "bfloat16", "double", "int", "long", "short"),
        _CAST,
    ),
    **dict.fromkeys(("detach", "contiguous", "cpu", "copy", "data"), _COPY),
    **dict.fromkeys(("item", "tolist", "numpy"), _ELEMENTS),
    **dict.fromkeys(("copy_", "set_", "assign"), "write {}[:] = ..."),
    **dict.fromkeys(("fill_", "zero_"), "write {}[:] = 0, or another number"),
    "size": "write {}.shape",
    "stride": "a kernel's tensors are dense: their strides follow from {}.shape",
    "ndim": "write {}.dim",
    "mean": "write pypto.sum({}, dim) / {}.shape[dim]",
    "max": "write pypto.amax({}, dim)",
    "min": "write pypto.amin({}, dim)",
    "square": "write {} * {}",
    "T": "write {}.transpose(0, 1)",
    "t": "write {}.transpose(0, 1)",
}

# Functions of torch, NumPy and Python whose operation has another name.
_RENAMED = {
    "cat": "concat",
    "concatenate": "concat",
    "max": "maximum",
    "min": "minimum",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "true_divide": "div",
    "power": "pow",
    "negative": "neg",
    "absolute": "abs",
    "fabs": "abs",
    "clamp": "clip",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater_equal": "ge",
    "floor_divide": "floor_div",
    "mod": "remainder",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "invert": "bitwise_not",
    "fix": "trunc",
    "rint": "round",
    "sgn": "sign",
    "leaky_relu": "lrelu",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
}
# Classes of numbers: np.float32(2).
_NUMBERS = frozenset(
    """
    float16 float32 float64 half single double bfloat16 int8 int16 int32 int64 uint8 uint16 uint32
    uint64 bool_ intc longlong
    """.split()
)
_MAKERS = frozenset(
    """
    arange array as_tensor asarray empty empty_like eye full full_like linspace ones ones_like rand
    randn tensor zeros zeros_like
    """.split()
)


def available() -> str:
    """Where to see which operations there are."""
    return "dir(pypto) lists what there is"


def for_missing(name: str) -> str:
    """What to do without an operation that this version does not have."""
    if name in contract.OPERATIONS:
        return "compute it outside the kernel with torch, and pass the result as a tensor"
    return available()


def is_missing(name: str) -> bool:
    """Whether PyPTO's contract has ``pypto.<name>`` or ``tensor.<name>``, and this version not."""
    return name in contract.OPERATIONS | contract.FUNCTIONS | contract.MEMBERS


def near_operation(name: str, others: Iterable[str] = ()) -> str | None:
    """The operation (or one of ``others``) that ``name`` is probably meant to be."""
    return nearest(name, [*registry.names(), *others])


def for_attribute(name: str, text: str) -> str | None:
    """What to write for ``text.name`` of torch's; None when there is nothing to say."""
    advice = _ATTRIBUTES.get(name)
    return None if advice is None else advice.replace("{}", text)


def for_store(target: str, sizes: list[int | None], shape: list[int | None]) -> str | None:
    """How to store a value of ``shape`` into a part of ``target`` that has other ``sizes``."""
    if len(shape) + 1 == len(sizes):
        for axis, size in enumerate(sizes):
            rest = [*sizes[:axis], *sizes[axis + 1 :]]
            if size == 1 and all(a == b or b == 1 for a, b in zip(rest, shape, strict=True)):
                return (
                    f"give the value an axis of size 1: pypto.unsqueeze(value, {axis}); a reduction"
                    " keeps its axis with keepdim=True"
                )
    if len(shape) != len(sizes) or None in shape or None in sizes:
        return None
    if len(shape) == 2 and shape == sizes[::-1]:
        return "swap its axes: pypto.transpose(value, 0, 1)"
    pairs = [(given or 0, size or 0) for given, size in zip(shape, sizes, strict=True)]
    inside = ", ".join(f"0:{min(pair)}" for pair in pairs)
    if all(given <= size for given, size in pairs):
        return f"write the part that it fills, such as {target}[{inside}] = ..."
    if all(given >= size for given, size in pairs):
        return f"cut the value to the part that is written: [{inside}]"
    return None


def for_function(name: str) -> str | None:
    """What to write for a function of that name in torch, NumPy or Python."""
    name = name.rpartition(".")[2]
    operation = _RENAMED.get(name, name)
    if operation in registry.names():
        return _use(operation)
    if name in _NUMBERS:
        return "write the number itself: beside a tensor it takes the tensor's dtype"
    if name in _MAKERS:
        return (
            "make it outside and pass it as a parameter, or write pypto.tensor(shape, dtype) and "
            "fill it: t[:] = 0"
        )
    return None


def renamed(name: str) -> str | None:
    """What to write for a function of torch or NumPy whose operation has another name."""
    operation = _RENAMED.get(name)
    return None if operation is None else _use(operation)


def _use(operation: str) -> str:
    spec = registry.get(operation)
    needed = ", ".join(p.name for p in spec.params if p.default is REQUIRED)
    return f"write pypto.{operation}({needed})"


def for_base(
    base: str, value: object, exponent: str, dtype: DataType, function: FunctionType
) -> str:
    """What to write for ``base ** exponent`` of a number and a tensor of ``dtype``.

    ``base`` and ``exponent`` are the texts; ``value`` is the number, or its type where only a call
    knows it; ``function`` is where they stand.
    """
    known = value if isinstance(value, int | float) else 0.0
    if not dtype.is_float or not 0 < known < math.inf:
        names = {*function.__code__.co_varnames, *function.__code__.co_freevars}
        name = next((n for n in ("t", "base", "number") if n not in names), "tensor_of_base")
        return _tensor_of(name, base, float in (value, type(value)), exponent, dtype)
    wide = cast_text(exponent, dtype, DataType.DT_FP32) or exponent
    module = next((name for name, found in function.__globals__.items() if found is math), "")
    power, missing = f"pypto.exp({_factor(wide)} * {module or 'math'}.log({base}))", ""
    if known == math.e:
        power = f"pypto.exp({wide})"
    elif not module:
        missing = ", with import math at the top of the module"
    return f"write {cast_text(power, DataType.DT_FP32, dtype) or power}{missing}"


def _tensor_of(name: str, base: str, is_float: bool, exponent: str, dtype: DataType) -> str:
    """The power of a tensor ``name`` that holds the number."""
    held = dtype
    if not dtype.is_float and (is_float or dtype not in (DataType.DT_INT16, DataType.DT_INT32)):
        held = DataType.DT_FP32 if is_float else DataType.DT_INT32
        exponent = cast_text(exponent, dtype, DataType.DT_INT32) or exponent
    own = held == dtype and exponent.isidentifier()
    return (
        f"make the base a tensor: {name} = pypto.tensor([1], "
        f"{f'{exponent}.dtype' if own else f'pypto.{held}'}), then {name}[:] = {base}, then "
        f"{name} ** {_factor(exponent)}"
    )


def _factor(text: str) -> str:
    """``text`` as an operand of ``*`` and ``**``: in parentheses where it needs them."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    atoms = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant)
    return text if isinstance(node, atoms) else f"({text})"


# What a caller of ``compile`` should add. The command line finds these two forms in messages and
# writes its own options in their place.


def value_request(names: Iterable[str]) -> str:
    """How to give the values of scalar parameters to ``compile``."""
    return f"compile(values={{{', '.join(f'{name!r}: ...' for name in names)}}})"


def sizes_request(name: str, axes: Iterable[object]) -> str:
    """How to give the sizes of a tensor parameter to ``compile``: sizes of such ``axes``."""
    sizes = [str(int(axis)) if type(axis) is int else "8" for axis in axes]
    return f"compile(shapes={{{name!r}: ({', '.join(sizes)}{',' * (len(sizes) == 1)})}})"
