"""Expressions of a generated kernel: numbers, conditions, tensors of given sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.differential.draft import ONE, Axes, Axis, Cut, Draft, Tensor, shown, static

COUNT = 5  # elements of the integer tensors whose elements are read
COMPARE = ("<", "<=", ">", ">=", "==", "!=")


class Expressions(Draft):
    # --- numbers ---

    def int_leaf(self) -> str:
        form = self.pick(0, 5)
        names = self.ints()
        if form == 0 or not names:
            return str(self.pick(-3, 6))
        if form == 1:
            return self.element()
        return self.chooser.choose(names)

    def element(self) -> str:
        """An element of an integer tensor, by an index that lies inside."""
        self.use("element read")
        source = self.chooser.choose(["q", "q", "u"])
        names = self.ints(within=(0, COUNT - 1))
        if names and self.one_in(2):
            return f"{source}[{self.chooser.choose(names)}]"
        if self.one_in(4):
            return f"{source}[{self.number(0)} % {COUNT}]"
        return f"{source}[{self.pick(0, COUNT - 1)}]"

    def number(self, depth: int = 1) -> str:
        """An int expression; brackets are its own."""
        if depth <= 0 or self.one_in(3):
            return self.int_leaf()
        a, b = self.number(depth - 1), self.number(depth - 1)
        form = self.pick(0, 7)
        if form < 3:
            return f"({a} {'+-*'[form]} {b})"
        if form == 3:
            self.use("floor division and modulo")
            return f"({a} {self.chooser.choose(['//', '%'])} {self.pick(1, 4)})"
        if form == 4:
            self.use("min and max")
            return f"{self.chooser.choose(['min', 'max', 'pypto.min'])}({a}, {b})"
        if form == 5:
            self.use("ternary of numbers")
            return f"({a} if {self.condition(0)} else {b})"
        if form == 6:
            self.use("helper of numbers")
            self.helpers.add("larger")
            return f"larger({a}, {b})"
        return f"abs({a})"

    def condition(self, depth: int = 1) -> str:
        """A condition, mostly one that only the run decides."""
        form = self.pick(0, 9)
        if form == 0 and depth > 0:
            self.use("and, or, not")
            word = self.chooser.choose(["and", "or"])
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        if form == 1 and depth > 0:
            self.use("and, or, not")
            return f"(not {self.condition(depth - 1)})"
        if form == 2:
            self.use("chained comparison")
            first, second = self.chooser.choose(COMPARE), self.chooser.choose(COMPARE)
            return f"({self.int_leaf()} {first} {self.number(0)} {second} {self.pick(0, 5)})"
        loops = [loop.index for loop in self.loops if loop.whole]
        if form == 3 and loops:
            self.use("is_loop_begin, is_loop_end")
            which = self.chooser.choose(["is_loop_begin", "is_loop_end"])
            return f"pypto.{which}({self.chooser.choose(loops)})"
        if form == 4:
            self.use("in")
            word = self.chooser.choose(["in", "not in"])
            return f"({self.int_leaf()} {word} ({self.pick(0, 1)}, {self.pick(2, 4)}))"
        return f"({self._tested()} {self.chooser.choose(COMPARE)} {self.pick(0, 4)})"

    def _tested(self) -> str:
        form = self.pick(0, 4)
        indices = [loop.index for loop in self.loops]
        if form == 0 and indices:
            self.use("condition on an index")
            index = self.chooser.choose(indices)
            return index if self.one_in(2) else f"{index} % {self.pick(2, 3)}"
        if form == 1:
            self.use("condition on a parameter")
            return "s"
        if form == 2:
            self.use("condition on a size")
            return self.chooser.choose(["n", "m", "x.shape[0]"])
        if form == 3:
            self.use("condition on an element")
            return self.element()
        return self.number(1)

    def operand(self) -> str:
        """A number beside a tensor."""
        self.use("number beside a tensor")
        form = self.pick(0, 5)
        if form == 0:
            return self.number(1)
        if form == 1 and self.ints():
            return self.chooser.choose(self.ints())
        if self.dtype != "DT_INT32":
            floats = [n.name for n in self.numbers if n.kind == "float"]
            if form == 2:
                return self.chooser.choose(floats)
            if form == 3:
                return str(float(self.pick(-2, 3)))
        return str(self.pick(-2, 3))

    # --- parts of tensors ---

    def cuts_of(self, axis: Axis) -> list[Cut]:
        start, extent = ("0", axis.static) if axis.static is not None else (None, None)
        whole = Cut(axis.key, ":", axis, "", start, extent)
        return [whole, *(c for c in self.cuts if c.of == axis.key)]

    def new_cut(self, axis: Axis) -> None:
        """One more way to take a part of ``axis``, in sight as long as this block."""
        made = self._static_cut(axis) if axis.static is not None and self.pick(0, 2) else None
        made = made or self._run_time_cut(axis)
        if made not in self.cuts:
            self.cuts.append(made)

    def _static_cut(self, axis: Axis) -> Cut | None:
        size = axis.static
        assert size is not None
        if size < 2:
            return None
        low = self.pick(0, size - 2)
        high = self.pick(low + 1, size)
        form = self.pick(0, 6)
        if form in (0, 6):
            index = self.chooser.choose([low, low - size])
            return Cut(axis.key, str(index), None, "int index")
        if form == 1:
            kind = "slice with a negative bound"
            return Cut(axis.key, f"{low - size}:", static(size - low), kind, str(low), size - low)
        if form == 2:
            kind = "slice with a negative bound"
            return Cut(axis.key, f":{-1}", static(size - 1), kind, "0", size - 1)
        if form == 3:
            kind = "slice with an open end"
            return Cut(axis.key, f"{low}:", static(size - low), kind, str(low), size - low)
        text = f"{low}:{high}" if low or self.one_in(2) else f":{high}"
        return Cut(axis.key, text, static(high - low), "static slice", str(low), high - low)

    def _run_time_cut(self, axis: Axis) -> Cut:
        form = self.pick(0, 5)
        length = self.pick(1, 4)
        names = self.ints(frozen=True, within=(0, 10**6))
        if form == 0:
            text, kind = f"-{length}:", "slice with a negative bound"
        elif form == 1:
            text, kind = f"{length}:", "slice with an open end"
        elif form == 2 and names:
            name = self.chooser.choose(names)
            text, kind = f"{name}:", "slice from a run-time start"
        elif form == 3 and names:
            name = self.chooser.choose(names)
            text, kind = f"{name}:{name} + {length}", "slice from a run-time start"
        elif form == 4:
            text, kind = f"s:s + {length}", "slice from a start of either sign"
        else:
            text, kind = f":{length}", "static slice"
        return Cut(axis.key, text, Axis(f"{axis.key}[{text}]"), kind)

    def parts(self, tensor: Tensor) -> Iterator[tuple[Cut, ...]]:
        yield from itertools.product(*(self.cuts_of(a) for a in tensor.axes))

    def text_of(self, tensor: Tensor, cuts: tuple[Cut, ...], *, read: bool = True) -> str:
        """``tensor`` cut so; ``read``: forms that can only be read are allowed."""
        for cut in cuts:
            if cut.kind:
                self.use(cut.kind)
        texts = [c.text for c in cuts]
        if all(t == ":" for t in texts):
            return tensor.name if read and self.pick(0, 3) else f"{tensor.name}[:]"
        if read and all(c.start and c.extent for c in cuts) and self.one_in(4):
            self.use("view with sizes and offsets")
            shape = shown([str(c.extent) for c in cuts])
            return f"pypto.view({tensor.name}, [{shape}], [{shown([str(c.start) for c in cuts])}])"
        while len(texts) > 1 and texts[-1] == ":" and self.pick(0, 2):
            texts.pop()
        if len(texts) > 1 and texts[0] == ":" and self.one_in(3):
            texts[0] = "..."
        return f"{tensor.name}[{shown(texts)}]"

    @staticmethod
    def left(cuts: tuple[Cut, ...]) -> Axes:
        return tuple(c.axis for c in cuts if c.axis is not None)

    def leaves(self, axes: Axes, *, broadcast: bool) -> list[tuple[Tensor, tuple[Cut, ...]]]:
        """Parts of tensors in sight that have these axes; or such as broadcast to them."""
        found = []
        for tensor in self.tensors:
            if tensor.dtype != self.dtype:
                continue
            for cuts in self.parts(tensor):
                left = self.left(cuts)
                if left == axes or (broadcast and left and _broadcasts(left, axes)):
                    found.append((tensor, cuts))
        return found

    # --- tensors ---

    def tensor(self, axes: Axes, depth: int = 2) -> str:
        """An expression of these axes; there is a leaf of them."""
        if depth <= 0 or self.one_in(4):
            return self.leaf(axes)
        form = self.pick(0, 12)
        a = self.tensor(axes, depth - 1)
        if form <= 3:
            return self._binary(a, self.second(axes, depth - 1))
        if form <= 5:
            return self._binary(a, self.operand())
        if form == 6:
            self.use("elementwise function")
            names = ["neg", "relu"] if self.dtype == "DT_INT32" else ["neg", "relu", "abs"]
            return f"pypto.{self.chooser.choose(names)}({a})"
        if form == 7:
            self.use("ternary of tensors")
            return f"({a} if {self.condition()} else {self.tensor(axes, depth - 1)})"
        if form == 8:
            return self._helped(a, self.tensor(axes, depth - 1))
        if form == 9:
            return self._binary(a, self.reduced(a, axes))
        if form == 10 and all(x.text for x in axes):
            return self._binary(a, self.filled(axes))
        if form == 11 and self.dtype != "DT_INT32":
            self.use("cast")
            return f"pypto.cast(pypto.cast({clamped(a)}, pypto.DT_INT32), pypto.{self.dtype})"
        return self._binary(a, self.second(axes, 0))

    def leaf(self, axes: Axes) -> str:
        return self.text_of(*self.chooser.choose(self.leaves(axes, broadcast=False)))

    def second(self, axes: Axes, depth: int) -> str:
        """The other operand: of the same axes or broadcast."""
        if depth > 0 and self.one_in(2):
            return self.tensor(axes, depth)
        return self.text_of(*self.chooser.choose(self.leaves(axes, broadcast=True)))

    def _binary(self, a: str, b: str) -> str:
        self.use("elementwise operation")
        form = self.pick(0, 6)
        if a.lstrip("-").isdigit() or b.lstrip("-").isdigit():
            form = min(form, 4)
        if form <= 2:
            return f"({a} {'+-*'[form]} {b})"
        if form == 3:
            return f"({b} + {a})"
        if form == 4:
            return f"({a} - {b})"
        return f"pypto.{self.chooser.choose(['maximum', 'minimum', 'add'])}({a}, {b})"

    def _helped(self, a: str, b: str) -> str:
        self.use("helper of tensors")
        form = self.pick(0, 3)
        if form == 0:
            self.helpers.add("scaled")
            return (
                f"scaled({a}, {b})" if self.one_in(2) else f"scaled({a}, {b}, c={self.pick(1, 3)})"
            )
        if form == 1:
            self.use("early return")
            self.helpers.add("chosen")
            return f"chosen({a}, {b}, {self.number(1)})"
        if form == 2:
            return f"(lambda a: a + {self.pick(1, 3)})({a})"
        self.helpers.add("both")
        return f"both({a}, {b})[{self.pick(0, 1)}]"

    def reduced(self, text: str, axes: Axes) -> str:
        """``text`` reduced over its last axis, which stays with size 1."""
        self.use("row reduction")
        names = ["sum", "sum"] + (["amax", "amin"] if axes[-1].positive else [])
        name = self.chooser.choose(names)
        text = clamped(text) if name == "sum" else text
        return f"pypto.{name}({text}, -1, keepdim=True)"

    def filled(self, axes: Axes) -> str:
        """A new tensor of these axes; all of them have a text."""
        self.use("zeros, ones, full")
        sizes = shown([x.text or "" for x in axes])
        form = self.pick(0, 2)
        if form < 2:
            name = ("zeros", "ones")[form]
            sizes = sizes if self.one_in(2) else f"[{sizes}]"
            return f"pypto.{name}({sizes}, dtype=pypto.{self.dtype})"
        return f"pypto.full([{sizes}], {self.pick(-2, 3)}, pypto.{self.dtype})"


def clamped(text: str) -> str:
    """Small numbers: sums of them are exact in any order, and integers hold them."""
    return f"pypto.minimum(pypto.maximum({text}, -8), 8)"


def _broadcasts(axes: Axes, to: Axes) -> bool:
    if len(axes) > len(to):
        return False
    return all(a in (b, ONE) for a, b in zip(axes[::-1], to[::-1], strict=False))
