"""What is set is waited for, what is taken is given back, on every path of a kernel."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.expr import children
from pypto.lint.flow import Flow, Frame, Key, Path
from pypto.lint.nodes import Expr, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable
from pypto.lint.site import OPERATIONS, Site

__all__ = ["RULES"]

_RULES = (
    Rule(
        "sync-unpaired-flag",
        "SetFlag and WaitFlag of one event and id that do not alternate",
        "a flag set twice is undefined, one never set stops the core, one left set disturbs the "
        "next kernel",
    ),
    Rule(
        "sync-unpaired-queue",
        "tensors of a queue that are not allocated, enqueued, dequeued and freed in turn",
        "the queue sets and waits for events at these calls; without one the core stops, or pipes "
        "race",
    ),
    Rule(
        "sync-queue-depth",
        "more tensors of a queue at once than it has buffers",
        "AllocTensor then waits for a FreeTensor that can never come",
    ),
    Rule(
        "sync-unreleased-event",
        "AllocEventID without ReleaseEventID",
        "a pair of pipes has eight events; TPipe keeps each until it is released",
    ),
)

_QUEUE_CALLS = frozenset(("AllocTensor", "EnQue", "DeQue", "FreeTensor"))


def _call(walk: Context, found: nodes.Call) -> None:
    """Note what the call is about while its names are in scope."""
    callee = found.callee
    if not isinstance(callee, nodes.Name | nodes.Member) or callee.name not in OPERATIONS:
        return
    kind = callee.name
    if kind == "InitBuffer" or kind == "Reset":
        return  # the rules of buffers note these
    base = callee.base if isinstance(callee, nodes.Member) else None
    if kind in ("SetFlag", "WaitFlag"):
        _flag(walk, found, callee, base)
    elif base is None:
        return
    elif kind in ("AllocEventID", "ReleaseEventID"):
        event = callee.args[0] if callee.args and isinstance(callee.args[0], Type) else None
        made = walk.sites[found] = Site(kind, found, None, base, event)
        if kind == "ReleaseEventID" and found.args:
            made.variable, made.number = _released(walk, found.args[0])
    elif walk.may_be_queue(base):
        walk.sites[found] = Site(kind, found, walk.field_of(base), base)


def _released(walk: Context, id_: Expr) -> tuple[Variable | None, int | None]:
    """The array that an event id is an element of, and which; or the parameter that it is."""
    while isinstance(id_, nodes.Cast):
        id_ = id_.operand
    made = walk.field_of(id_)
    if made is not None and made.kind == "local" and not made.changes:
        id_ = made.init if isinstance(made.init, nodes.Index) else id_
    if isinstance(id_, nodes.Index):
        number = walk.fold(id_.index)
        return walk.field_of(id_.base), number if isinstance(number, int) else None
    return (made, None) if made is not None and made.kind == "parameter" else (None, None)


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    for item in found.items:
        if item.dims:
            for value in item.init:
                _kept(walk, walk.find(item.name), value)


def _assigned(walk: Context, found: nodes.Binary) -> None:
    if found.op == "=" and isinstance(found.left, nodes.Index):
        _kept(walk, walk.field_of(found.left.base), found.right)


def _kept(walk: Context, array: Variable | None, value: Expr) -> None:
    """Note the array that keeps the ids of events that ``value`` allocates."""
    if isinstance(value, nodes.Call):
        site = walk.sites.get(value)
        if site is not None and site.kind == "AllocEventID":
            site.variable = array
    for one in children(value):
        _kept(walk, array, one)


def _flag(
    walk: Context, found: nodes.Call, callee: nodes.Name | nodes.Member, base: Expr | None
) -> None:
    event = callee.args[0] if callee.args and isinstance(callee.args[0], Type) else None
    variable: Variable | None = None
    number = None
    if found.args:
        value = found.args[0]
        while isinstance(value, nodes.Cast):
            value = value.operand
        known = walk.fold(value)
        number = known if isinstance(known, int) else None
        variable = walk.field_of(value)
    if event is None and base is not None:
        event = Type(walk.text(base))  # TQueSync: the object stands for its pair of pipes
    walk.sites[found] = Site(callee.name, found, variable, base, event, number)


# --- on every path ---


class _Balance:
    """Applies sites to the counts of a path and keeps what goes wrong, by resource."""

    def __init__(self, walk: Context) -> None:
        self.walk = walk
        self.found: dict[tuple[str, int], tuple[Key, Site, str, str]] = {}
        self.sizes = _numbers(walk)
        self.unknown = False

    def apply(self, flow: Flow, path: Path, frame: Frame, site: Site) -> None:
        if site.kind in ("SetFlag", "WaitFlag"):
            self._flag(flow, path, frame, site)
        elif site.kind in ("AllocEventID", "ReleaseEventID"):
            self._event(flow, path, frame, site)
        elif site.kind in _QUEUE_CALLS:
            queue = None if site.variable is None else flow.key(site.variable, frame)
            if queue is None:
                self.unknown = True
            else:
                self._queue(path, queue, site)
        elif site.kind == "Reset":
            self.finish(path, "before the buffers are given up", ("alloc", "queued", "taken"))
        elif site.kind == "FreeAllEvent" and site.variable is not None:
            queue = flow.key(site.variable, frame)
            for part in ("alloc", "queued", "taken"):
                path.state.pop((part, queue), None)

    def _flag(self, flow: Flow, path: Path, frame: Frame, site: Site) -> None:
        event = flow.event(site.event, frame)
        id_ = _id(flow, frame, site)
        if id_ is None:
            flow.given_up.add(("flag", event))  # any flag of this event
            return
        key: Key = ("flag", event, id_)
        held = path.state.get(key, 0)
        if site.kind == "SetFlag" and held:
            self._add(
                "sync-unpaired-flag",
                key,
                site,
                f"{event} is set again before anything waited for it",
                "wait for the flag, or use another id",
            )
        elif site.kind == "WaitFlag" and not held:
            self._add(
                "sync-unpaired-flag",
                key,
                site,
                f"nothing has set this flag of {event}",
                f"write SetFlag<HardEvent::{event}> with this id before it",
            )
        path.state[key] = int(site.kind == "SetFlag")
        path.last[key] = site

    def _event(self, flow: Flow, path: Path, frame: Frame, site: Site) -> None:
        event = flow.event(site.event, frame)
        total: Key = ("event", event)
        owner = None if site.variable is None else flow.key(site.variable, frame)
        array: Key = ("array", event, owner)
        if site.kind == "AllocEventID":
            self._move(path, total, 1, site)
            if owner is not None:
                self._move(path, array, 1, site)
            return
        count = 1
        if site.variable is not None and site.number is None:
            if owner is None and frame.looping:
                flow.given_up.add(total)  # it may be another one in each iteration
            elif frame.looping:
                count = max(1, path.state.get(array, 0))  # each element in its iteration
        self._move(path, total, -count, site)
        self._move(path, array, -count, site)

    def _queue(self, path: Path, queue: Key, site: Site) -> None:
        alloc, queued, taken = (("alloc", queue), ("queued", queue), ("taken", queue))
        state, kind = path.state, site.kind
        name = self.walk.text(site.object) if site.object is not None else "the queue"
        shown = f"'{name}'"
        rule = "sync-unpaired-queue"
        if kind == "AllocTensor":
            self._move(path, alloc, 1, site)
            self._depth(path, queue, site, name)
        elif kind == "EnQue":
            source = alloc if state.get(alloc) or not state.get(taken) else taken
            if not state.get(source):
                self._add(
                    rule,
                    alloc,
                    site,
                    f"{shown} has no allocated tensor to enqueue",
                    f"take it from {name}.AllocTensor first",
                )
            self._move(path, source, -1, site)
            self._move(path, queued, 1, site)
        elif kind == "DeQue":
            if not state.get(queued):
                self._add(
                    rule,
                    queued,
                    site,
                    f"nothing is in {shown} when this takes from it",
                    f"{name}.EnQue must come first on every path",
                )
            self._move(path, queued, -1, site)
            self._move(path, taken, 1, site)
        else:
            source = taken if state.get(taken) or not state.get(alloc) else alloc
            if not state.get(source):
                self._add(
                    rule,
                    taken,
                    site,
                    f"no tensor of {shown} is in use when this frees one",
                    "free each tensor once, after DeQue",
                )
            self._move(path, source, -1, site)

    def _depth(self, path: Path, queue: Key, site: Site, name: str) -> None:
        size = None if site.variable is None else self.sizes.get(site.variable)
        held = sum(path.state.get((part, queue), 0) for part in ("alloc", "queued", "taken"))
        if size is not None and held > size:
            self._add(
                "sync-queue-depth",
                ("alloc", queue),
                site,
                f"'{name}' has {size} buffer{'s' * (size != 1)}, and {held - 1} tensors are out",
                "free one first, or give the queue more buffers",
            )

    def _move(self, path: Path, key: Key, step: int, site: Site) -> None:
        path.state[key] = max(0, path.state.get(key, 0) + step)
        if step > 0:
            path.last[key] = site

    def _add(self, rule: str, key: Key, site: Site, message: str, help: str) -> None:
        self.found.setdefault((rule, site.node.at), (key, site, message, help))

    def finish(self, path: Path, when: str, kinds: tuple[str, ...]) -> None:
        """Report what is still held."""
        for key, count in list(path.state.items()):
            if not count or key[0] not in kinds:
                continue
            path.state[key] = 0
            site = path.last[key]
            name = self.walk.text(site.object) if site.object is not None else ""
            if key[0] == "flag":
                self._add(
                    "sync-unpaired-flag",
                    key,
                    site,
                    f"the flag of {key[1]} is still set {when}",
                    f"write WaitFlag<HardEvent::{key[1]}> with this id on every path",
                )
            elif key[0] == "event":
                self._add(
                    "sync-unreleased-event",
                    key,
                    site,
                    f"an event of {key[1]} is not released {when}",
                    f"write ReleaseEventID<HardEvent::{key[1]}>",
                )
            else:
                message, help = _LEFT[str(key[0])]
                self._add(
                    "sync-unpaired-queue", key, site, message.format(name, when), help.format(name)
                )


def _id(flow: Flow, frame: Frame, site: Site) -> Key | None:
    """Which flag of its event a call is about; None where that depends on the run."""
    if site.number is not None:
        return ("number", site.number)
    variable = site.variable
    if variable is None or variable.changes:
        return None
    if variable.kind in ("parameter", "template") and variable.name in frame.numbers:
        return ("number", frame.numbers[variable.name])
    return flow.key(variable, frame)


_LEFT = {
    "alloc": (
        "a tensor of '{0}' is neither enqueued nor freed {1}",
        "enqueue it, or free it: {0}.FreeTensor",
    ),
    "queued": ("a tensor is still in '{0}' {1}", "take it out with {0}.DeQue and free it"),
    "taken": ("a tensor of '{0}' is not freed {1}", "give it back with {0}.FreeTensor"),
}


def _numbers(walk: Context) -> dict[Variable, int]:
    """The buffers of each queue, where one InitBuffer with a constant says it."""
    sizes: dict[Variable, int] = {}
    several: set[Variable] = set()
    for site in walk.sites.values():
        if site.kind == "InitBuffer" and site.variable is not None:
            if site.number is None or sizes.get(site.variable, site.number) != site.number:
                several.add(site.variable)
            else:
                sizes[site.variable] = site.number
    return {variable: size for variable, size in sizes.items() if variable not in several}


def _done(walk: Context) -> None:
    for kernel in walk.file.functions:
        if "__global__" not in kernel.marks:
            continue
        balance = _Balance(walk)
        flow = Flow(walk, balance.apply, "flag")
        for path in flow.run(kernel):
            balance.finish(
                path, "when the kernel ends", ("alloc", "queued", "taken", "flag", "event")
            )
        _report(walk, balance, flow)


def _report(walk: Context, balance: _Balance, flow: Flow) -> None:
    seen = {(one.rule, one.at) for one in walk.findings}
    queues = {key[1] for key in flow.given_up if key[0] in ("alloc", "queued", "taken")}
    for (rule, at), (key, site, message, help) in balance.found.items():
        if ("everything",) in flow.given_up or key in flow.given_up or (rule, at) in seen:
            continue
        if key[:2] in flow.given_up:
            continue
        is_queue = key[0] in ("alloc", "queued", "taken")
        if is_queue and (balance.unknown or key[1] in queues):
            continue
        walk.report(rule, at, site.node.end, message, help)


RULES = RuleSet(
    _RULES,
    {nodes.Call: _call, nodes.Declaration: _declaration, nodes.Binary: _assigned},
    None,
    None,
    _done,
)
