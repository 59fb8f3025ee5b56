"""What may be done with a tensor of a queue, from AllocTensor to FreeTensor."""

from __future__ import annotations

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.flow import Flow, Frame, Key, Path
from pypto.lint.match import match
from pypto.lint.nodes import Expr, Type
from pypto.lint.places import is_this, is_view, root_of
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.scope import Variable
from pypto.lint.site import Life, Site
from pypto.lint.types import TENSORS

__all__ = ["RULES"]

_RULES = (
    Rule(
        "sync-stale-tensor",
        "tensors of a queue that are used after EnQue or FreeTensor, or go back to another queue",
        "their memory belongs to the queue or to the next tensor, and another pipe works on it",
    ),
)

_TAKES = frozenset(("AllocTensor", "DeQue"))
_GIVES = frozenset(("EnQue", "FreeTensor"))
_ALLOCATED, _FILLED, _QUEUED, _TAKEN, _FREED = range(1, 6)
_STATES = 8
"""A state and the number of its queue are one number: ``queue * _STATES + state``."""


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    for item in found.items:
        if len(item.init) == 1:
            _made(walk, walk.find(item.name), item.init[0])


def _assigned(walk: Context, found: nodes.Binary) -> None:
    left = found.left
    is_own = isinstance(left, nodes.Name) or (isinstance(left, nodes.Member) and is_this(left.base))
    if found.op == "=":
        _made(walk, walk.field_of(left) if is_own else None, found.right)


def _made(walk: Context, tensor: Variable | None, value: Expr) -> None:
    """A tensor that a queue or a function gives, or that stands for another one."""
    call = value if isinstance(value, nodes.Call) else None
    life = None if call is None else walk.lives.get(call)
    if life is not None and life.site.kind in _TAKES:
        life.tensors = [] if tensor is None else [tensor]
        return
    if tensor is None or not (tensor.type is None or _is_of_tensors(walk, tensor.type)):
        return
    if call is not None and not is_view(call):
        if life is None:
            life = walk.lives[call] = Life(Site("Result", call, None, None), [])
        life.result = tensor  # a new one at each call
    elif tensor.changes or root_of(walk, value) is None:
        walk.unfollowed.add(tensor)


def _call(walk: Context, found: nodes.Call) -> None:
    callee = found.callee
    name = callee.name if isinstance(callee, nodes.Name | nodes.Member) else ""
    base = callee.base if isinstance(callee, nodes.Member) else None
    if base is not None and name in (_TAKES | _GIVES):
        if walk.may_be_queue(base):
            given = [root_of(walk, one) for one in found.args] if name in _GIVES else []
            site = Site(name, found, walk.field_of(base), base)
            walk.lives[found] = Life(site, [one for one in given if one is not None])
            return
    if walk.called(callee, len(found.args)) is not None:
        return  # its own calls use them
    used = [*found.args, *([base] if base is not None and name != "ReinterpretCast" else [])]
    tensors = [root_of(walk, one) for one in used if _is_tensor(walk, one)]
    kept = [one for one in tensors if one is not None]
    if kept:
        walk.lives[found] = Life(Site("Use", found, None, None, number=_copies(walk, found)), kept)


def _copies(walk: Context, found: nodes.Call) -> int:
    """1 for an instruction of a pipe that copies, 0 for any other call."""
    matched = match(walk, found)
    forms = () if matched is None else matched.forms
    return int(any(str(form.row.facts.get("pipe", "")).startswith("MTE") for form in forms))


def _is_tensor(walk: Context, value: Expr) -> bool:
    kind = walk.type(value)
    return kind is not None and kind.name in TENSORS and not kind.pointers


def _is_of_tensors(walk: Context, kind: Type) -> bool:
    found = walk.types.resolve(kind)
    return found is not None and found.name in TENSORS


class _Lives:
    """The states of tensors on the paths of a kernel."""

    def __init__(self, walk: Context) -> None:
        self.walk = walk
        self.found: dict[int, tuple[Key, Site, str, str]] = {}
        self.queues: dict[Key, int] = {}
        self.names: dict[int, str] = {}

    def apply(self, flow: Flow, path: Path, frame: Frame, site: Site) -> None:
        life = self.walk.lives[site.node]
        for tensor in life.tensors:
            owner = flow.key(tensor, frame)
            if owner is not None and tensor not in self.walk.unfollowed:
                self._tensor(flow, path, frame, site, ("tensor", owner), tensor)
        if site.kind == "DeQue":
            self._dequeued(flow, path, frame, site, life.tensors)
        if life.result is not None:
            path.state[("tensor", flow.key(life.result, frame))] = 0

    def _queue(self, flow: Flow, frame: Frame, site: Site) -> int:
        """The number of a queue; 0 where it is not known."""
        key = None if site.variable is None else flow.key(site.variable, frame)
        if key is None:
            return 0
        number = self.queues.setdefault(key, len(self.queues) + 1)
        if site.object is not None:
            self.names.setdefault(number, self.walk.text(site.object))
        return number

    def _dequeued(
        self, flow: Flow, path: Path, frame: Frame, site: Site, tensors: list[Variable]
    ) -> None:
        """What was in the queue may be what this takes from it, under another name."""
        queue = self._queue(flow, frame, site)
        taken = {("tensor", flow.key(one, frame)) for one in tensors}
        for key, state in path.state.items():
            if key not in taken and state % _STATES == _QUEUED:
                if not queue or state // _STATES in (0, queue):
                    path.state[key] = 0

    def _tensor(
        self, flow: Flow, path: Path, frame: Frame, site: Site, key: Key, tensor: Variable
    ) -> None:
        state, queue = path.state.get(key, 0) % _STATES, path.state.get(key, 0) // _STATES
        shown = f"'{tensor.name}'"
        if site.kind in _TAKES:
            queue = self._queue(flow, frame, site)
            path.state[key] = queue * _STATES + (
                _ALLOCATED if site.kind == "AllocTensor" else _TAKEN
            )
            return
        if state == _FREED:
            what = "is freed again" if site.kind == "FreeTensor" else "is used after FreeTensor"
            self._add(key, site, f"{shown} {what}", "free each tensor once, after its last use")
        elif state == _QUEUED:
            what = "is used between EnQue and DeQue"
            if site.kind in _GIVES:
                what = f"is in its queue when this calls {site.kind}"
            self._add(key, site, f"{shown} {what}", "take it out first, with DeQue")
        elif site.kind == "Use":
            if state == _ALLOCATED and site.number:
                path.state[key] = queue * _STATES + _FILLED
        elif site.kind == "FreeTensor":
            self._freed(flow, frame, site, key, shown, state, queue)
        if site.kind != "Use":
            to = self._queue(flow, frame, site)
            path.state[key] = to * _STATES + (_QUEUED if site.kind == "EnQue" else _FREED)

    def _freed(
        self,
        flow: Flow,
        frame: Frame,
        site: Site,
        key: Key,
        shown: str,
        state: int,
        queue: int,
    ) -> None:
        to = self._queue(flow, frame, site)
        if state and queue and to and to != queue:
            self._add(
                key,
                site,
                f"{shown} was taken from '{self.names[queue]}' and goes back to another queue",
                f"write {self.names[queue]}.FreeTensor",
            )
        elif state == _FILLED and _moves(site.variable):
            self._add(
                key,
                site,
                f"{shown} was copied to or from, but never enqueued: no pipe waits for the copy",
                "call EnQue when it is filled and DeQue before it is used, or take a TBuf",
            )

    def _add(self, key: Key, site: Site, message: str, help: str) -> None:
        self.found.setdefault(site.node.at, (key, site, message, help))


def _moves(queue: Variable | None) -> bool:
    """Whether a queue lies between two pipes: one of scratch memory orders nothing."""
    kind = None if queue is None else queue.type
    first = kind.args[0] if kind is not None and kind.args else None
    name = first.name if isinstance(first, nodes.Type) else ""
    return bool(name) and not name.endswith(("::VECCALC", "::LCM"))


def _done(walk: Context) -> None:
    sites = {node: life.site for node, life in walk.lives.items()}
    seen = {one.at for one in walk.findings if one.rule.startswith("sync-")}
    for kernel in walk.file.functions:
        if "__global__" not in kernel.marks:
            continue
        lives = _Lives(walk)
        flow = Flow(walk, lives.apply, "tensor", sites, scoped=True)
        flow.run(kernel)
        for at, (key, site, message, help) in lives.found.items():
            given_up = ("everything",) in flow.given_up or key in flow.given_up
            if not given_up and at not in seen:
                seen.add(at)
                walk.report("sync-stale-tensor", at, site.node.end, message, help)


RULES = RuleSet(
    _RULES,
    {nodes.Call: _call, nodes.Declaration: _declaration, nodes.Binary: _assigned},
    None,
    None,
    _done,
)
