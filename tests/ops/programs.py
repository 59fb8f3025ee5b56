"""Random kernels as Python text, with the arguments to call them with.

A program is drawn from a ``Chooser``: a seeded generator for batches, or hypothesis for shrinking.
Sizes are *roles* (a, b, c, d) until a call binds them, so that one text serves many sizes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import torch
from hypothesis import strategies as st

T = TypeVar("T")
Role = str | int
Shape = tuple[Role, ...]

FLOATS = ("FP32", "FP16", "BF16")
INTS = ("INT32", "INT16")
BYTES = {"FP32": 4, "FP16": 2, "BF16": 2, "INT32": 4, "INT16": 2, "INT8": 1, "UINT8": 1, "INT64": 8}
BYTES["BOOL"] = 1
TORCH = {
    "FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16, "INT32": torch.int32,
    "INT16": torch.int16, "INT8": torch.int8, "UINT8": torch.uint8, "INT64": torch.int64,
    "BOOL": torch.bool,
}  # fmt: skip
CASTS = {
    "FP32": ("FP16", "BF16", "INT32", "INT16", "FP32"),
    "FP16": ("FP32", "BF16", "INT32", "INT16"),
    "BF16": ("FP32", "FP16", "INT32"),
    "INT32": ("FP32", "INT16", "FP16"),
    "INT16": ("FP32", "FP16", "INT16"),
    "BOOL": ("FP32", "FP16", "BF16", "INT32", "INT16"),
}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ROUNDINGS = ("floor", "ceil", "trunc", "round", "sign")
REALS = ("exp2", "expm1", "log1p", "erf", "sin", "cos", "atan", "asinh", "cbrt")  # fmt: skip
SIZES = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 130)


class Chooser(Protocol):
    """Where a program's decisions come from."""

    def choose(self, options: Sequence[T]) -> T: ...

    def number(self, low: int, high: int) -> int: ...


class Seeded:
    """Decisions from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class Drawn:
    """Decisions that hypothesis makes and can shrink."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the program: its name or text, role shape and dtype."""

    text: str
    shape: Shape
    dtype: str


@dataclass(slots=True)
class Program:
    """The text of a kernel, its tensor parameters, scalars, and which roles must not be 0."""

    name: str
    text: str
    params: list[Tensor]
    scalars: list[tuple[str, str]]
    dynamic: bool
    positive: set[str]
    same: tuple[int, int] | None = None  # parameters that are passed one tensor
    roles: list[str] = field(default_factory=list)

    def sizes(self, chooser: Chooser, most: int = 40000) -> dict[str, int]:
        """Sizes for the roles; 0 now and then where it is allowed. No tensor above ``most``."""
        while True:
            sizes = {r: chooser.choose(SIZES) for r in self.roles}
            for role in self.roles:
                if role not in self.positive and chooser.number(0, 24) == 0:
                    sizes[role] = 0
            if all(_count(p.shape, sizes) <= most for p in self.params):
                return sizes

    def arguments(self, sizes: Mapping[str, int], seed: int) -> tuple[Any, ...]:
        """Tensors of these sizes and scalars, the same for the same ``seed``."""
        generator = torch.Generator().manual_seed(seed)
        values: list[Any] = [
            data([_size(r, sizes) for r in p.shape], p.dtype, generator) for p in self.params
        ]
        if self.same is not None:
            values[self.same[1]] = values[self.same[0]]
        draw = random.Random(seed)
        for _, kind in self.scalars:
            options = (0, 1, -1, 3, -7) if kind == "int" else (0.5, -1.25, 0.1, 3.0)
            values.append(draw.choice(options))
        return tuple(values)


def _size(role: Role, sizes: Mapping[str, int]) -> int:
    return role if isinstance(role, int) else sizes[role]


def _count(shape: Shape, sizes: Mapping[str, int]) -> int:
    total = 1
    for role in shape:
        total *= _size(role, sizes)
    return total


def data(shape: Sequence[int], dtype: str, generator: torch.Generator) -> torch.Tensor:
    """Values of ``dtype``: mostly moderate, some special (NaN, inf, -0, subnormal, extremes)."""
    kind = TORCH[dtype]
    if kind == torch.bool:
        return torch.rand(tuple(shape), generator=generator) < 0.5
    style = int(torch.randint(0, 4, (), generator=generator))
    if not kind.is_floating_point:
        info = torch.iinfo(kind)
        low, high = (info.min, info.max) if style == 0 else (max(info.min, -9), 10)
        return torch.randint(low, high, tuple(shape), generator=generator).to(kind)
    values = torch.randn(tuple(shape), generator=generator) * (1.0 if style < 2 else 4.0)
    if style == 1:
        values = values.round()
    if style == 3:
        special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-40, 3e38, 6e-8])
        picked = special[torch.randint(0, len(special), tuple(shape), generator=generator)]
        rare = torch.rand(tuple(shape), generator=generator) < 0.2
        values = torch.where(rare, picked, values)
    return values.to(kind)


class Writer:
    """Draws one program."""

    def __init__(self, chooser: Chooser, name: str, *, dynamic: bool | None = None) -> None:
        self.chooser = chooser
        self.name = name
        self.dynamic = bool(chooser.number(0, 1)) if dynamic is None else dynamic
        self.rank = chooser.choose((1, 2, 2, 3, 3, 4, 5))
        self.roles = ["a", "b", "c", "d", "e"][: self.rank]
        self.params: list[Tensor] = []
        self.scalars: list[tuple[str, str]] = []
        self.lines: list[str] = []
        self.values: list[Tensor] = []
        self.positive: set[str] = set()
        self.tiles = chooser.number(0, 4) == 0
        self.count = 0
        self.written: set[str] = set()

    # --- parts ---

    def param(self, shape: Shape, dtype: str, stem: str) -> Tensor:
        made = Tensor(f"{stem}{len(self.params)}", shape, dtype)
        self.params.append(made)
        return made

    def shape(self) -> Shape:
        """The roles with some axes 1 and some leading axes dropped."""
        full: list[Role] = [r if self.chooser.number(0, 3) else 1 for r in self.roles]
        keep = self.rank if self.chooser.number(0, 3) else self.chooser.number(1, self.rank)
        return tuple(full[self.rank - keep :])

    def operand(self) -> Tensor:
        return self.chooser.choose([v for v in self.values if v.dtype != "BOOL"])

    def condition(self) -> Tensor:
        """A DT_BOOL value, made if there is none or now and then."""
        known = [v for v in self.values if v.dtype == "BOOL"]
        if known and self.chooser.number(0, 2):
            return self.chooser.choose(known)
        self.compare()
        return self.values[-1]

    def line(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def define(self, text: str, shape: Shape, dtype: str) -> None:
        name = f"v{self.count}"
        self.count += 1
        self.line(f"{name} = {text}")
        self.values.append(Tensor(name, shape, dtype))

    def tile(self, shape: Shape, widest: str) -> None:
        """A tile of the operation's rank, aligned for the widest dtype."""
        if not self.tiles:
            return
        unit = 32 // BYTES[widest]
        sizes = [self.chooser.choose((1, 2, 3)) for _ in shape[:-1]]
        sizes.append(unit * self.chooser.choose((1, 2, 5)))
        self.line(f"pypto.set_vec_tile_shapes({', '.join(map(str, sizes))})")

    # --- statements ---

    def binary(self) -> bool:
        a = self.operand()
        fitting = [v for v in self.values if v.dtype == a.dtype and _join(a.shape, v.shape)]
        b = self.chooser.choose(fitting)
        shape = _join(a.shape, b.shape)
        assert shape is not None
        ops = ["add", "sub", "mul", "maximum", "minimum", "div", "add", "sub", "mul", "remainder"]
        ops += ["hypot", "copysign"] if a.dtype in FLOATS else ["bitwise_xor", "bitwise_and", "gcd"]
        op = self.chooser.choose(ops)
        self.tile(shape, "FP32" if op == "div" and a.dtype in INTS else a.dtype)
        result = "FP32" if op == "div" and a.dtype in INTS else a.dtype
        self.define(self.call(op, a.text, b.text), shape, result)
        return True

    def call(self, op: str, a: str, b: str) -> str:
        signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "remainder": "%"} | COMPARISONS
        form = self.chooser.number(0, 2)
        if form == 0 and op in signs:
            return f"{a} {signs[op]} {b}"
        if form == 1 and not a.lstrip("-")[0].isdigit() and a[0] != "s":
            return f"{a}.{op}({b})"
        return f"pypto.{op}({a}, {b})"

    def scalar(self) -> bool:
        a = self.operand()
        is_float = a.dtype in FLOATS
        if self.chooser.number(0, 2) == 0:
            kind = "float" if is_float and self.chooser.number(0, 2) else "int"
            number = f"s{len(self.scalars)}"
            self.scalars.append((number, kind))
        elif is_float:
            number = self.chooser.choose(("2", "-1.5", "0.1", "3", "0.5", "1", "0", "-0.0", "1e-3"))
        else:
            number = self.chooser.choose(("2", "-3", "1", "0", "100000", "-1"))
        op = self.chooser.choose(("add", "sub", "mul", "maximum", "minimum", "div"))
        if op == "div" and (number in ("0", "-0.0") or number[0] == "s" or not is_float):
            op = "mul"
        self.tile(a.shape, a.dtype)
        pair = (a.text, number) if self.chooser.number(0, 2) else (number, a.text)
        self.define(self.call(op, *pair), a.shape, a.dtype)
        return True

    def unary(self) -> bool:
        a = self.operand()
        ops = ["neg", "relu", self.chooser.choose(ROUNDINGS)]
        if a.dtype in FLOATS:
            ops += [self.chooser.choose(REALS), self.chooser.choose(REALS)]
            ops += ["abs", "exp", "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "log", "pow"]
        op = self.chooser.choose(ops)
        self.tile(a.shape, a.dtype)
        if op == "neg":
            text = f"-{a.text}" if self.chooser.number(0, 1) else f"pypto.neg({a.text})"
        elif op == "pow":
            text = f"{a.text} ** {self.chooser.choose(('2', '3', '0.5', '-1', '1', '0'))}"
        else:
            text = f"pypto.{op}({a.text})"
        self.define(text, a.shape, a.dtype)
        return True

    def compare(self) -> bool:
        a = self.operand()
        fitting = [v for v in self.values if v.dtype == a.dtype and _join(a.shape, v.shape)]
        op = self.chooser.choose(sorted(COMPARISONS))
        if self.chooser.number(0, 2) == 0:
            self.tile(a.shape, a.dtype)
            self.define(
                self.call(op, a.text, self.chooser.choose(("0", "1", "-2"))), a.shape, "BOOL"
            )
            return True
        b = self.chooser.choose(fitting)
        shape = _join(a.shape, b.shape)
        assert shape is not None
        self.tile(shape, a.dtype)
        self.define(self.call(op, a.text, b.text), shape, "BOOL")
        return True

    def logic(self) -> bool:
        a, b = self.condition(), self.condition()
        shape = _join(a.shape, b.shape)
        if shape is None:
            return False
        self.tile(shape, "BOOL")
        op = self.chooser.choose(("logical_and", "logical_or", "logical_xor"))
        self.define(f"pypto.{op}({a.text}, {b.text})", shape, "BOOL")
        return True

    def choice(self) -> bool:
        condition, a = self.condition(), self.operand()
        fitting = [v for v in self.values if v.dtype == a.dtype and _join(a.shape, v.shape)]
        b = self.chooser.choose(fitting)
        shape = _join(a.shape, b.shape)
        shape = None if shape is None else _join(shape, condition.shape)
        if shape is None:
            return False
        other = b.text if self.chooser.number(0, 2) else "0"
        shape = shape if other != "0" else _join(a.shape, condition.shape)
        assert shape is not None
        self.tile(shape, a.dtype)
        self.define(f"pypto.where({condition.text}, {a.text}, {other})", shape, a.dtype)
        return True

    def cast(self) -> bool:
        a = self.chooser.choose(self.values)
        to = self.chooser.choose(CASTS[a.dtype])
        self.tile(a.shape, max(a.dtype, to, key=BYTES.__getitem__))
        self.define(f"pypto.cast({a.text}, pypto.DT_{to})", a.shape, to)
        return True

    def reduce(self) -> bool:
        a = self.operand()
        op = self.chooser.choose(("sum", "sum", "amax", "amin"))
        rank = len(a.shape)
        axis = self.chooser.choose((rank - 1, self.chooser.number(0, rank - 1)))
        size = a.shape[axis]
        if op != "sum" and isinstance(size, str):
            self.positive.add(size)
        keep = len(a.shape) == 1 or bool(self.chooser.number(0, 2))
        self.tile(a.shape, a.dtype)
        dim = self.chooser.choose((axis - rank, axis))
        text = f"pypto.{op}({a.text}, {dim}, keepdim={keep})"
        kept = (1,) if keep else ()
        self.define(text, (*a.shape[:axis], *kept, *a.shape[axis + 1 :]), a.dtype)
        return True

    def softmax(self) -> bool:
        floats = [v for v in self.values if v.dtype in FLOATS]
        if not floats:
            return False
        a = self.chooser.choose(floats)
        self.tile(a.shape, a.dtype)
        dim = self.chooser.number(0, len(a.shape) - 1)
        self.define(f"pypto.softmax({a.text}, dim={dim})", a.shape, a.dtype)
        return True

    def update(self) -> bool:
        """Write a parameter or a local tensor, which later statements read."""
        value = self.operand()
        targets = [v for v in self.values if v.text in self.written and v.dtype == value.dtype]
        fitting = [t for t in targets if _join(t.shape, value.shape) == t.shape]
        if not fitting:
            return False
        target = self.chooser.choose(fitting)
        form = self.chooser.number(0, 3)
        if form == 0 and not self.tiles:
            self.line(f"{target.text}[:] += {value.text}")
        elif form == 1:
            self.line(f"{target.text}.move({value.text})")
        else:
            self.line(f"{target.text}[:] = {value.text}")
        return True

    def local(self) -> bool:
        value = self.operand()
        if self.dynamic and any(isinstance(r, str) for r in value.shape):
            return False
        name = f"t{self.count}"
        self.count += 1
        sizes = ", ".join(f"SIZE_{r}" if isinstance(r, str) else str(r) for r in value.shape)
        self.line(f"{name} = pypto.tensor([{sizes}], pypto.DT_{value.dtype})")
        self.line(f"{name}[:] = {value.text}")
        self.values.append(Tensor(name, value.shape, value.dtype))
        self.written.add(name)
        return True

    # --- the whole ---

    def write(self, most: int = 12) -> Program:
        full: Shape = tuple(self.roles)
        for number in range(self.chooser.number(1, 3)):
            shape = full if number == 0 else self.shape()
            made = self.param(shape, self.chooser.choose(FLOATS + INTS), "x")
            self.values.append(made)
        if self.chooser.number(0, 2) == 0:
            first = self.values[0]
            self.values.append(self.param(first.shape, first.dtype, "y"))
            self.written.add(self.values[-1].text)
        kinds = (
            [self.binary] * 6 + [self.scalar] * 3 + [self.unary] * 3 + [self.cast] * 2
            + [self.reduce] * 2 + [self.softmax, self.update, self.update, self.local]
            + [self.choice] * 3 + [self.compare, self.logic]
        )  # fmt: skip
        for _ in range(self.chooser.number(1, most)):
            self.chooser.choose(kinds)()
        self.outputs()
        return self.finish()

    def outputs(self) -> None:
        """Store the last value and some others; now and then into a wider tensor."""
        made = [v for v in self.values if v.text[0] in "vt"] or self.values[:1]
        chosen = [made[-1]]
        for _ in range(self.chooser.number(0, 2)):
            chosen.append(self.chooser.choose(made))
        for value in dict.fromkeys(chosen):
            shape = value.shape
            if self.chooser.number(0, 5) == 0:
                wide = tuple(self.roles)
                shape = wide if _join(wide, shape) == wide else shape
            target = self.param(shape, value.dtype, "o")
            self.line(f"{target.text}[:] = {value.text}")

    def finish(self) -> Program:
        same = self.alias()
        header = [self.annotated(p) for p in self.params]
        header += [f"{n}: {k}" for n, k in self.scalars]
        text = "import pypto\nD = pypto.DYNAMIC\n"
        text += f"def {self.name}({', '.join(header)}):\n" + "\n".join(self.lines) + "\n"
        return Program(
            self.name, text, self.params, self.scalars, self.dynamic, self.positive, same,
            list(self.roles),
        )  # fmt: skip

    def alias(self) -> tuple[int, int] | None:
        if self.chooser.number(0, 3):
            return None
        pairs = [
            (i, j)
            for j, q in enumerate(self.params)
            for i, p in enumerate(self.params[:j])
            if (p.shape, p.dtype) == (q.shape, q.dtype) and p.text[0] in "xy"
        ]
        return self.chooser.choose(pairs) if pairs else None

    def annotated(self, param: Tensor) -> str:
        if not self.dynamic:
            return f"{param.text}: pypto.Tensor"
        axes = ", ".join("D" if isinstance(r, str) else str(r) for r in param.shape)
        return f"{param.text}: pypto.Tensor([{axes}], pypto.DT_{param.dtype})"


def _join(a: Shape, b: Shape) -> Shape | None:
    """The broadcast of two role shapes; None when they do not fit."""
    rank = max(len(a), len(b))
    out: list[Role] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x != y and 1 not in (x, y):
            return None
        out.append(y if x == 1 else x)
    return tuple(out)


def bound_text(program: Program, sizes: Mapping[str, int]) -> str:
    """The text with the sizes of local tensors filled in."""
    text = program.text
    for role in program.roles:
        text = text.replace(f"SIZE_{role}", str(sizes[role]))
    return text
