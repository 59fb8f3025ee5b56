"""On-chip buffers fit into their memory, and each of them is made and used."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.calls import reached
from pypto.lint.context import Context
from pypto.lint.flow import Flow, Frame, Key, Path
from pypto.lint.nodes import Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable, canonical
from pypto.lint.site import BUFFERS, Site

__all__ = ["RULES"]

_RULES = (
    Rule(
        "buffer-over-budget",
        "buffers that together exceed what a kernel may use of a memory",
        "TPipe hands out the reserved top of the UB without a word, and the library overwrites it",
    ),
    Rule(
        "buffer-count",
        "more than 8 queue buffers of one position, or 64 buffers in all",
        "a queue buffer holds one of the eight events of its position; TPipe keeps 64 entries",
    ),
    Rule(
        "buffer-size",
        "InitBuffer of a size that is no multiple of 32 bytes",
        "the next buffer starts at the next multiple of 32, so the sum is not what the text says",
    ),
    Rule(
        "buffer-repeated",
        "InitBuffer and TPipe in loops, and buffers that are made again without Reset",
        "TPipe never takes memory back: every iteration leaves less, and earlier tensors are lost",
    ),
    Rule(
        "buffer-unused",
        "buffers that are made and never used",
        "they take on-chip memory from those that are used",
    ),
    Rule(
        "buffer-uninitialised",
        "queues and buffers that no InitBuffer gives memory",
        "AllocTensor of such a queue waits for ever; Get of such a buffer reads address 0",
    ),
)


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    if not isinstance(callee, nodes.Member):
        return
    if callee.name == "Reset" and not found.args:
        owner = walk.type(callee.base)
        if owner is not None and owner.name == "TPipe":
            walk.sites[found] = Site("Reset", found, None, callee.base)
    elif callee.name == "InitBuffer" and found.args:
        _made(walk, found)


def _made(walk: Context, found: nodes.Call) -> None:
    variable = walk.field_of(found.args[0])
    sizes = [walk.fold(value) for value in found.args[1:]]
    number = sizes[0] if len(sizes) == 2 else 1
    size = sizes[-1] if sizes else None
    site = Site("InitBuffer", found, variable, found.args[0])
    site.number = number if isinstance(number, int) else None
    site.bytes = size if isinstance(size, int) else None
    walk.sites[found] = site
    unit = walk.target.limits["block_bytes"]
    if site.bytes is not None and site.bytes % unit:
        last = found.args[-1]
        walk.report(
            "buffer-size",
            last.at,
            last.end,
            f"{site.bytes} bytes are no multiple of {unit}",
            f"write {-(-site.bytes // unit) * unit}",
        )


# --- made and used ---


def _done(walk: Context) -> None:
    _uses(walk)
    for kernel in walk.file.functions:
        if "__global__" in kernel.marks:
            _sum(walk, kernel)


def _uses(walk: Context) -> None:
    inits = [site.variable for site in walk.sites.values() if site.kind == "InitBuffer"]
    made = set(inits)
    unknown = any(variable is None for variable in inits)
    # A function of the text that makes what it is given may make any buffer that is passed on.
    elsewhere = any(variable is not None and variable.kind == "parameter" for variable in inits)
    for variable, uses in walk.buffers.items():
        passed = elsewhere and "passed" in uses
        where = walk.text_type(variable.type)
        if variable not in made and not passed and not unknown:
            walk.report(
                "buffer-uninitialised",
                variable.at,
                variable.at,
                f"no InitBuffer gives '{variable.name}' ({where}) memory",
                f"call pipe.InitBuffer({variable.name}, ...), or remove it",
            )
        elif variable in made and not uses:
            walk.report(
                "buffer-unused",
                variable.at,
                variable.at,
                f"'{variable.name}' ({where}) is made and never used",
                "remove it with its InitBuffer",
            )


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    for item in found.items:
        kind = item.type
        if canonical(kind.name) in BUFFERS and not (kind.pointers or kind.reference):
            variable = walk.find(item.name)
            if variable is not None:
                walk.buffers[variable] = []


def _name(walk: Context, found: nodes.Name) -> None:
    variable = walk.find(found.name)
    if variable is not None and variable in walk.buffers:
        walk.buffers[variable].append("used")


def _member(walk: Context, found: nodes.Member) -> None:
    if isinstance(found.base, nodes.Name):
        variable = walk.field_of(found)
        if variable is not None and variable in walk.buffers:
            walk.buffers[variable].append("used")


def _argument(walk: Context, found: nodes.Call) -> None:
    """A buffer that is an argument was counted as used: InitBuffer's first is not."""
    callee = found.callee
    init = isinstance(callee, nodes.Member) and callee.name == "InitBuffer"
    for number, value in enumerate(found.args):
        if isinstance(value, nodes.Name | nodes.Member):
            variable = walk.field_of(value)
            if variable is not None and variable in walk.buffers:
                walk.buffers[variable].pop()
                if not (init and number == 0):
                    walk.buffers[variable].append("passed")


def _called(walk: Context, found: nodes.Call) -> None:
    _argument(walk, found)
    _call(walk, found)


# --- sums ---


def _position(variable: Variable) -> str | None:
    kind = variable.type
    first = kind.args[0] if kind is not None and kind.args else None
    name = first.name if isinstance(first, Type) else ""
    enum, _, position = name.removeprefix("AscendC::").rpartition("::")
    if enum not in ("TPosition", "QuePosition"):
        return None
    return "VECCALC" if position == "LCM" else position


class _Sums:
    """Bytes by memory and buffers by position, as InitBuffer calls come."""

    def __init__(self, walk: Context) -> None:
        self.walk = walk
        limits = walk.target.limits
        self.memories = {p: name for name, all_ in limits["positions"].items() for p in all_}
        self.unit = limits["block_bytes"]
        self.most_of_position = limits["queues"]["buffers_per_position"]
        self.most = limits["queues"]["buffers_total"]
        self.reported: set[tuple[str, int]] = set()
        self.repeated: dict[Key, Site] = {}

    def apply(self, flow: Flow, path: Path, frame: Frame, site: Site) -> None:
        if site.kind == "Reset":
            path.state.clear()
            return
        if site.kind != "InitBuffer" or site.variable is None:
            return
        key = flow.key(site.variable, frame)
        if key is not None:
            made: Key = ("made", key)
            path.state[made] = path.state.get(made, 0) + 1
            if path.state[made] > 1:
                self.repeated.setdefault(made, site)
                return
        number = site.number if site.number is not None else 1
        self._count(path, ("all",), number, self.most, site, "buffers in all")
        position = _position(site.variable)
        if position is None:
            return
        kind = site.variable.type
        if kind is not None and canonical(kind.name) != "TBuf":
            what = f"queue buffers of {position}"
            self._count(path, ("position", position), number, self.most_of_position, site, what)
        memory = self.memories.get(position)
        if site.bytes is not None and memory is not None and memory in self.walk.target.memories:
            self._bytes(path, memory, number * -(-site.bytes // self.unit) * self.unit, site)

    def _count(self, path: Path, key: Key, number: int, most: int, site: Site, what: str) -> None:
        before = path.state.get(key, 0)
        path.state[key] = before + number
        if before <= most < before + number:
            self._add(
                "buffer-count",
                site,
                f"this makes {before + number} {what}",
                f"there may be {most}: join buffers that are filled and freed together",
            )

    def _bytes(self, path: Path, memory: str, size: int, site: Site) -> None:
        key = ("bytes", memory)
        before, budget = path.state.get(key, 0), self.walk.target.memories[memory].budget
        path.state[key] = before + size
        if before <= budget < before + size:
            whole = self.walk.target.memories[memory].bytes
            kept = f" ({whole - budget} of {whole} are reserved)" if whole > budget else ""
            self._add(
                "buffer-over-budget",
                site,
                f"with these {size} bytes {memory} holds {before + size}",
                f"a kernel may use {budget} bytes{kept}: make buffers smaller or share them",
            )

    def _add(self, rule: str, site: Site, message: str, help: str) -> None:
        if (rule, site.node.at) not in self.reported:
            self.reported.add((rule, site.node.at))
            self.walk.report(rule, site.node.at, site.node.end, message, help)


def _sum(walk: Context, kernel: nodes.Function) -> None:
    sums = _Sums(walk)
    flow = Flow(walk, sums.apply, "made")
    flow.run(kernel)
    for key, site in sums.repeated.items():
        if key not in flow.given_up:
            name = walk.text(site.object) if site.object is not None else "a buffer"
            walk.report(
                "buffer-repeated",
                site.node.at,
                site.node.end,
                f"'{name}' has memory already when this gives it some",
                "make buffers once, before the loop, or call pipe.Reset() before they are made",
            )
    for made, looped in reached(walk.facts, kernel).items():
        for at, inside in walk.facts[made].pipes.items():
            if (looped or inside) and at not in walk.reported_pipes:
                walk.reported_pipes.add(at)
                walk.report(
                    "buffer-repeated",
                    at,
                    at,
                    f"'{walk.tokens.words[at]}' is made anew in every iteration",
                    "make one TPipe at the start of the kernel",
                )


RULES = RuleSet(
    _RULES,
    {
        nodes.Call: _called,
        nodes.Name: _name,
        nodes.Member: _member,
        nodes.Declaration: _declaration,
    },
    None,
    None,
    _done,
)
