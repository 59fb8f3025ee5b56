"""Loops and branches of a generated kernel."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.draft import ONE, Axis, Cut, Loop, Number, Tensor
from tests.differential.expressions import COUNT
from tests.differential.statements import Statements

DEEPEST = 3  # loops and branches inside each other


class Control(Statements):
    budget: int  # statements still to write
    rows: Axis
    columns: Axis

    # --- blocks ---

    def statement(self) -> None:
        self.budget -= 1
        options: list[Callable[[], object]] = (
            [self.define] * 3 + [self.write] * 6
            + [self.define_pair, self.define_view, self.define_reduction, self.local]
            + [self.rebind] * 2 + [self.define_number, self.count_on, self.count_on]
            + [self.write_element, self.define_several, self.swap, self.swap]
        )  # fmt: skip
        if self.indent <= DEEPEST and self.budget > 0:
            options += [self.device_loop] * 8 + [self.branch] * 4 + [self.python_loop] * 4
        self.chooser.choose(options)()

    def body(self, most: int = 4) -> None:
        count = len(self.tensors)
        for _ in range(self.pick(1, most)):
            self.statement()
        self.show(count)

    # --- loops of the language ---

    def device_loop(self) -> None:
        if self.loops:
            self.use("nested loop")
        if self.one_in(3):
            self.define_counter()
        forms = [
            self.counted, self.counted, self.over_rows, self.over_rows, self.over_tiles,
            self.over_tiles, self.over_tiles, self.backwards, self.by_parameter, self.by_element,
            self.unrolled,
        ]  # fmt: skip
        if self.loops:
            forms += [self.by_outer_index] * 3
        self.chooser.choose(forms)()

    def run_loop(
        self, head: str, index: str, low: int | None, high: int | None, cuts: list[Cut]
    ) -> Loop:
        if self.one_in(8):
            self.use("name of a loop")
            head = f'{head[:-1]}, name="{self.name("loop")}")'
        if self.one_in(6):
            self.use("loop with factors")
            factors = self.chooser.choose(["[2]", "[4, 2]", "[3]"])
            head = f"{head[:-1]}, unroll_list={factors})"
        self.line(f"for {index} in {head}:")
        with self.loop(index) as made:
            self.numbers.append(Number(index, low=low, high=high, level=self.level))
            self.cuts += cuts
            if self.one_in(3):
                self.count_on()
            self.body()
            self.jump(made)
            if self.one_in(6):
                self.use("index assigned in its loop")
                self.line(f"{index} = {index} * 2 + 1")
                self.line(f"u[{index} % {COUNT}] = {index}")
        return made

    def jump(self, loop: Loop) -> None:
        """Maybe an early end of an iteration, and what is skipped by it."""
        if not self.one_in(3):
            return
        loop.jumps = True
        word = self.chooser.choose(["break", "continue"])
        self.use(word)
        self.line(f"if {self.condition()}:")
        with self.block():
            if self.one_in(3):
                self.statement()
            self.line(word)
        self.body(2)

    def row_cuts(self, index: str, axis: Axis, last: str) -> list[Cut]:
        """Rows of ``axis`` by an index that lies inside; ``last`` is its largest value."""
        made = [
            Cut(axis.key, index, None, "row by an index"),
            Cut(axis.key, f"{index}:{index} + 1", ONE, "row by a slice", index, 1),
        ]
        if self.one_in(4):
            made.append(Cut(axis.key, f"{last} - {index}", None, "row by an index"))
        return made

    def counted(self) -> None:
        """Constant bounds."""
        index = self.name("i")
        form = self.pick(0, 3)
        if form == 0:
            steps, head = range(self.pick(0, 4)), None
        elif form == 1:
            start = self.pick(0, 3)
            steps, head = range(start, start + self.pick(0, 3)), None
        elif form == 2:
            self.use("loop with a step")
            steps, head = range(self.pick(0, 2), self.pick(3, 8), self.pick(2, 3)), None
        else:
            self.use("loop with a negative step")
            steps, head = range(self.pick(2, 5), self.pick(-1, 1), -self.pick(1, 2)), None
        self.use("loop with constant bounds")
        if form == 0:
            head = f"pypto.loop({steps.stop})"
        else:
            tail = f", {steps.step}" if steps.step != 1 or self.one_in(3) else ""
            head = f"pypto.loop({steps.start}, {steps.stop}{tail})"
        low, high = (min(steps), max(steps)) if steps else (0, 0)
        cuts: list[Cut] = []
        for axis in (self.rows, self.columns):
            if axis.static is not None and axis.static > high:
                cuts += self.row_cuts(index, axis, str(high))[:2]
            elif axis.key not in {c.of for c in cuts}:
                text = f"{index}:{index} + 2"
                made = Axis(f"{axis.key}[{text}]")
                cuts.append(Cut(axis.key, text, made, "slice by an index", index, 2))
        loop = self.run_loop(head, index, low, high, cuts)
        if steps and not (loop.jumps and self.one_in(2)) and self.pick(0, 2):
            self.use("index behind its loop")
            self.numbers.append(Number(index, frozen=False, level=self.level))

    def over_rows(self) -> None:
        self.use("loop with dynamic bounds" if self.rows.static is None else "loop over rows")
        index = self.name("i")
        size = self.chooser.choose(["n", "x.shape[0]"])
        form = self.pick(0, 3)
        head = f"pypto.loop({size})"
        if form == 0:
            head = f"pypto.loop({self.pick(0, 2)}, {size})"
        elif form == 1:
            self.use("loop with a step")
            head = f"pypto.loop(0, {size}, {self.pick(2, 3)})"
        self.run_loop(head, index, 0, None, self.row_cuts(index, self.rows, f"{size} - 1"))

    def over_tiles(self) -> None:
        self.use("loop with dynamic bounds" if self.rows.static is None else "loop over rows")
        self.use("loop over tiles")
        index, tile = self.name("i"), self.chooser.choose([1, 2, 3, 4, 4, 8])
        form = self.pick(0, 2)
        if form == 0:
            head, start = f"pypto.loop(0, n, {tile})", index
            end = f"{index} + {tile}"
        else:
            count = f"(n + {tile - 1}) // {tile}" if form == 1 else f"pypto.ceildiv(n, {tile})"
            head, start = f"pypto.loop({count})", f"{index} * {tile}"
            end = f"({index} + 1) * {tile}"
        key = self.rows.key
        clipped = f"{start}:{end}"
        cuts = [Cut(key, clipped, Axis(f"{key}[{clipped}]"), "tile", start, tile)] * 2
        if self.one_in(2):
            bound = f"{start}:{self.chooser.choose(['min', 'pypto.min'])}({end}, n)"
            part = Axis(f"{key}[{bound}]", positive=True)
            cuts = [*cuts[: self.pick(0, 1)], Cut(key, bound, part, "tile with min in its bound")]
        self.run_loop(head, index, 0, None, cuts)

    def backwards(self) -> None:
        self.use("loop with a negative step")
        index = self.name("i")
        head = f"pypto.loop(n - 1, -1, -{self.pick(1, 2)})"
        self.run_loop(head, index, 0, None, self.row_cuts(index, self.rows, "n - 1"))

    def by_parameter(self) -> None:
        self.use("loop bounded by a parameter")
        index = self.name("i")
        if self.one_in(2):
            cuts = self.row_cuts(index, self.rows, "n - 1")
            self.run_loop("pypto.loop(min(s, n))", index, 0, 4, cuts)
        else:
            self.run_loop("pypto.loop(s)", index, 0, 4, [])

    def by_element(self) -> None:
        self.use("loop bounded by an element")
        index = self.name("i")
        self.run_loop(f"pypto.loop(q[{self.pick(0, COUNT - 1)}])", index, 0, 3, [])

    def by_outer_index(self) -> None:
        self.use("loop bounded by an outer index")
        index, outer = self.name("i"), self.chooser.choose(self.loops).index
        form = self.pick(0, 2)
        if form == 0:
            head = f"pypto.loop({outer})"
        elif form == 1:
            head = f"pypto.loop({outer}, {outer} + {self.pick(1, 3)})"
        else:
            head = f"pypto.loop({outer} % {self.pick(2, 4)}, {outer} // 2 + 2)"
        inside = form == 0 and any(c.of == self.rows.key and c.text == outer for c in self.cuts)
        cuts = self.row_cuts(index, self.rows, "n - 1") if inside else []
        self.run_loop(head, index, None, None, cuts)

    def unrolled(self) -> None:
        self.use("loop_unroll")
        index, factor = self.name("i"), self.name("f")
        factors = self.chooser.choose(["[2]", "[4, 2]", "[3, 1]"])
        key = self.rows.key
        text = f"{index}:{index} + {factor}"
        self.line(f"for {index}, {factor} in pypto.loop_unroll(n, unroll_list={factors}):")
        with self.loop(index) as made:
            made.whole = False
            self.numbers.append(Number(index, low=0, level=self.level))
            # Another size in each specialisation of the body.
            self.cuts.append(Cut(key, text, Axis(f"{key}[{text}]"), "tile"))
            self.body(2)
            self.jump(made)
            if self.one_in(2):
                inner = self.name("j")
                self.use("python loop over range")
                self.line(f"for {inner} in range({factor}):")
                with self.block():
                    self.numbers.append(Number(inner, low=0, high=3, level=self.level))
                    row = f"{index} + {inner}"
                    self.cuts.append(Cut(key, row, None, "row by an index"))
                    self.body(2)

    # --- loops of Python ---

    def python_loop(self) -> None:
        form = self.pick(0, 4)
        index = self.name("j")
        if form <= 1:
            self._over_range(index)
        elif form == 2:
            self._while(index)
        else:
            self._over_tensors(index)

    def _over_range(self, index: str) -> None:
        self.use("python loop over range")
        count = self.pick(1, 3)
        self.line(f"for {index} in range({count}):")
        with self.block():
            self.numbers.append(Number(index, low=0, high=count - 1, level=self.level))
            for axis in (self.rows, self.columns):
                if axis.static is not None and axis.static >= count:
                    self.cuts += self.row_cuts(index, axis, str(count - 1))[:2]
            self.body(2)
            if self.pick(0, 2):
                word = self.chooser.choose(["break", "continue"])
                self.use(f"{word} in a Python loop")
                self.line(f"if {self.condition()}:")
                with self.block():
                    self.line(word)
                self.statement()

    def _while(self, index: str) -> None:
        self.use("while")
        self.line(f"{index} = 0")
        self.line(f"while {index} < {self.pick(1, 3)}:")
        with self.block():
            self.body(2)
            self.line(f"{index} += 1")

    def _over_tensors(self, index: str) -> None:
        self.use("python loop over tensors")
        names = self.chooser.choose([["x", "y"], ["x", "o"], ["y", "o", "x"]])
        item = self.name("e")
        form = self.pick(0, 2)
        listed = ", ".join(names)
        if form == 0:
            self.line(f"for {item} in [{listed}]:")
        elif form == 1:
            self.line(f"for {index}, {item} in enumerate(({listed})):")
        else:
            self.line(f"for {item}, {index} in zip([{listed}], [2, 0, 1]):")
        with self.block():
            if form:
                self.numbers.append(Number(index, low=0, high=2, level=self.level))
            axes = (self.rows, self.columns)
            self.tensors.append(Tensor(item, axes, self.dtype, True, level=self.level))
            self.body(2)

    # --- branches ---

    def branch(self) -> None:
        self.use("if")
        condition = self.condition()
        if self.one_in(6):
            condition = f"pypto.cond({condition})"
        merged = self._merged()
        self.line(f"if {condition}:")
        with self.block():
            self.body(2)
            merged()
        if self.one_in(3):
            self.use("elif")
            self.line(f"elif {self.condition()}:")
            with self.block():
                self.body(2)
                merged()
        self.line("else:")
        with self.block():
            if self.one_in(2):
                self.body(2)
            merged()
        merged(True)

    def _merged(self) -> Callable[..., None]:
        """Gives a name its value in each branch, and is told when they are at their end."""
        form = self.pick(0, 2)
        if form == 0:
            return lambda end=False: None
        name = self.name("b")
        if form == 1:
            self.use("number of both branches")

            def number(end: bool = False) -> None:
                if end:
                    self.numbers.append(Number(name, frozen=False, level=self.level))
                else:
                    self.line(f"{name} = {self.number(1)} % 20 - 4")

            return number
        self.use("tensor of both branches")
        axes = self.left(self.drawn_part(self.plain())[1])

        def tensor(end: bool = False) -> None:
            if end:
                self.add(name, axes)
            else:
                self.line(f"{name} = {self.tensor(axes, 1)} + {self.pick(0, 2)}")

        return tensor
