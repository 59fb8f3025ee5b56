"""Statements of a generated kernel that are neither loops nor branches."""

from __future__ import annotations

from tests.differential.draft import ONE, Axes, Cut, Number, Tensor, shown
from tests.differential.expressions import COUNT, Expressions


class Statements(Expressions):
    def drawn_part(self, tensors: list[Tensor]) -> tuple[Tensor, tuple[Cut, ...]]:
        """A part of one of ``tensors``, with at least one axis."""
        tensor = self.chooser.choose(tensors)
        if self.one_in(2):
            self.new_cut(self.chooser.choose(tensor.axes))
        # An index that a loop around gives is what programs are about.
        options = [p for p in self.parts(tensor) if self.left(p)]
        narrow = [p for p in options if any(c.kind for c in p)]
        return tensor, self.chooser.choose(narrow if narrow and self.pick(0, 3) else options)

    def plain(self) -> list[Tensor]:
        return [t for t in self.tensors if t.dtype == self.dtype]

    def add(self, name: str, axes: Axes, *, memory: bool = False, writable: bool = True) -> None:
        made = Tensor(name, axes, self.dtype, memory, writable, self.level)
        self.tensors.append(made)

    # --- names ---

    def define(self) -> None:
        axes = self.left(self.drawn_part(self.plain())[1])
        text = self.tensor(axes, 3)
        name = self.name("v")
        self.line(f"{name} = {text} + 0")  # a value, whatever the text is
        self.add(name, axes)

    def define_pair(self) -> None:
        self.use("tuple of tensors")
        axes = self.left(self.drawn_part(self.plain())[1])
        texts = [f"{self.tensor(axes, 1)} + {self.pick(0, 2)}" for _ in range(2)]
        names = [self.name("v"), self.name("v")]
        if self.one_in(2):
            self.line(f"{shown(names)} = {shown(texts)}")
        else:
            pair = self.name("pair")
            brackets = self.chooser.choose(["()", "[]"])
            self.line(f"{pair} = {brackets[0]}{shown(texts)}{brackets[1]}")
            self.line(f"{names[0]} = {pair}[0]")
            self.line(f"{names[1]} = {pair}[-1]")
        for name in names:
            self.add(name, axes)

    def define_several(self) -> None:
        """Values in a container that the kernel makes, or out of a function in it."""
        axes = self.left(self.drawn_part(self.plain())[1])
        made, name = self.name("d"), self.name("v")
        form = self.pick(0, 2)
        if form == 0:
            self.use("list comprehension")
            count = self.pick(1, 3)
            self.line(f"{made} = [{self.tensor(axes, 1)} + item for item in range({count})]")
            text = f"{made}[{self.pick(0, count - 1)}]"
        elif form == 1:
            self.use("dict of tensors")
            items = f'"a": {self.tensor(axes, 1)} + 1, "b": {self.tensor(axes, 1)} + 2'
            self.line(f"{made} = {{{items}}}")
            text = f'{made}["{self.chooser.choose("ab")}"]'
        else:
            self.use("nested function")
            self.line(f"def {made}(a, b=2):")
            self.line(f"    return a * b + {self.operand()}")
            text = f"{made}({self.tensor(axes, 1)})"
        self.line(f"{name} = {text}")
        self.add(name, axes)

    def swap(self) -> None:
        """Two names exchange their values."""
        values = [t for t in self.plain() if not t.memory and t.writable]
        pairs = [(a, b) for a in values for b in values if a.axes == b.axes and a.name < b.name]
        counters = [n for n in self.numbers if not n.frozen and n.kind == "int"]
        if pairs and (len(counters) < 2 or self.one_in(2)):
            first, second = (t.name for t in self.chooser.choose(pairs))
        elif len(counters) >= 2:
            first, second = counters[-2].name, counters[-1].name
        else:
            return self.define_pair()
        self.use("swap")
        self.line(f"{first}, {second} = {second}, {first}")
        return None

    def define_view(self) -> None:
        """A name for a part of memory, which later writes are seen by."""
        self.use("named view")
        tensor, cuts = self.drawn_part(self.memory())
        text = self.text_of(tensor, cuts)
        name = self.name("w")
        self.line(f"{name} = {text}")
        self.add(name, self.left(cuts), memory=True)

    def define_reduction(self) -> None:
        axes = self.left(self.drawn_part(self.plain())[1])
        name = self.name("v")
        self.line(f"{name} = {self.reduced(self.tensor(axes, 2), axes)}")
        self.add(name, (*axes[:-1], ONE))

    def rebind(self) -> None:
        """A value's name, given a new value of the same sizes."""
        values = [t for t in self.plain() if not t.memory and t.writable]
        if not values:
            return self.define()
        old = self.chooser.choose(values)
        text = self.tensor(old.axes, 2)
        self.use("carried tensor" if old.level < self.level else "rebinding of a tensor")
        self.line(f"{old.name} = pypto.maximum({old.name}, {text})")
        return None

    def local(self) -> None:
        """A local tensor, written at once."""
        axes = self.left(self.drawn_part(self.plain())[1])
        text = self.tensor(axes, 2)
        if not all(a.text for a in axes):
            return self.define()
        name = self.name("t")
        form = self.pick(0, 2)
        sizes = shown([a.text or "" for a in axes])
        if form == 0:
            self.line(f"{name} = {self.filled(axes)}")
        else:
            self.use("local tensor")
            self.line(f"{name} = pypto.tensor([{sizes}], pypto.{self.dtype})")
            self.line(f"{name}[:] = {text if form == 1 else self.pick(-2, 3)}")
        self.add(name, axes, memory=True)
        return None

    # --- writes ---

    def write(self) -> None:
        tensor, cuts = self.drawn_part(self.memory())
        axes = self.left(cuts)
        target = self.text_of(tensor, cuts, read=False)
        if not self.leaves(axes, broadcast=False):
            return self.define()
        text = self.tensor(axes, 2)
        form = self.pick(0, 9)
        if form <= 2:
            self.use("read-modify-write")
            self.line(f"{target} {self.chooser.choose(['+=', '+=', '-=', '*='])} {text}")
        elif form == 3:
            self.use("write of a number")
            self.line(f"{target} = {self.pick(-3, 3) if self.one_in(2) else self.number(1)}")
        elif form == 4:
            self.use("move")
            self.line(f"{target}.move({text})")
        elif form == 5:
            self.use("write into a view")
            self.line(f"{target}[:] = {text}")
        elif form in (6, 9) and all(c.start for c in cuts) and len(axes) == len(cuts):
            self._assemble(tensor, cuts, text)
        elif form == 7:
            self.use("helper that writes")
            self.helpers.add("doubled_into")
            self.line(f"doubled_into({target}, {text})")
        elif form == 8 and self.one_in(2):
            self.use("broadcast write")
            self.line(f"{target} = {self.second(axes, 1)}")
        else:
            self.use("write of a region")
            self.line(f"{target} = {text}")
        return None

    def _assemble(self, tensor: Tensor, cuts: tuple[Cut, ...], text: str) -> None:
        self.use("assemble")
        offsets = shown([str(c.start) for c in cuts])
        form = self.pick(0, 2)
        if form == 0:
            self.line(f"pypto.assemble({text}, [{offsets}], {tensor.name})")
        elif form == 1:
            self.line(f"pypto.assemble([({text}, [{offsets}])], {tensor.name})")
        else:
            self.line(f"{tensor.name}.assemble({text}, [{offsets}])")

    def show(self, count: int) -> None:
        """Add what was made behind the first ``count`` tensors in sight to outputs, where it fits:
        a result that nobody reads would hide a fault."""
        outputs = [t for t in self.tensors if t.name in ("o", "p")]
        for made in self.tensors[count:][-2:]:
            fitting = [
                (output, cuts)
                for output in outputs
                for cuts in self.parts(output)
                if self.left(cuts) == made.axes and made.dtype == output.dtype
            ]
            if fitting:
                output, cuts = self.chooser.choose(fitting)
                self.use("read-modify-write")
                self.line(f"{self.text_of(output, cuts, read=False)} += {made.name}")

    def write_element(self) -> None:
        self.use("element write")
        names = self.ints(within=(0, COUNT - 1))
        index = self.chooser.choose([*names, str(self.pick(0, COUNT - 1))])
        self.line(f"u[{index}] = {self.number(1)} % 50 - 7")

    # --- numbers ---

    def define_number(self) -> None:
        """A number that is not assigned again; small ones may start slices."""
        name = self.name("k")
        if self.one_in(2):
            self.line(f"{name} = {self.number(1)} % {COUNT}")
            self.numbers.append(Number(name, low=0, high=COUNT - 1, level=self.level))
        else:
            self.line(f"{name} = {self.number(2)} % 40 - 7")  # what is named stays small
            self.numbers.append(Number(name, low=-7, high=32, level=self.level))

    def count_on(self) -> None:
        """An assignment to a number that was given a value before."""
        counters = [n for n in self.numbers if not n.frozen]
        if not counters:
            return self.define_counter()
        counter = self.chooser.choose(counters)
        if counter.level < self.level:
            self.use(f"carried {counter.kind}")
        name = counter.name
        if counter.kind == "float":
            self.line(f"{name} {self.chooser.choose(['+=', '-='])} {float(self.pick(1, 2))}")
            return None
        form = self.pick(0, 3)
        if form == 0:
            self.line(f"{name} += {self.pick(1, 2)}")
        elif form == 1:
            self.line(f"{name} = ({name} + {self.number(1)}) % {self.pick(5, 9)}")
        elif form == 2:
            self.line(f"{name} = max({name}, {self.number(1)}) % 30 // 2")
        else:
            self.line(f"{name} = {self.number(0)}")
        return None

    def define_counter(self) -> None:
        """A number that later statements change."""
        name = self.name("c")
        kind = self.chooser.choose(["int", "int", "float"])
        value = self.pick(-2, 3) if kind == "int" else float(self.pick(-2, 3))
        self.line(f"{name} = {value}")
        self.numbers.append(Number(name, kind, frozen=False, level=self.level))
