"""Runs a kernel on counts instead of data: what is set, allocated and taken on every path.

Functions of the text are followed where they are called. A condition splits the path; asked again,
it gives the same answer. A loop runs once, and again where it leaves flags other than it found
them. What depends on the iteration (branches inside a loop that differ in what they leave) is not
decidable here: that resource is given up, and nothing is reported of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from pypto.lint import nodes
from pypto.lint.calls import Called, forwarded
from pypto.lint.context import Context
from pypto.lint.nodes import Expr, Function, Statement, Type
from pypto.lint.scope import Variable
from pypto.lint.site import Site

__all__ = ["Flow", "Frame", "Key", "Path"]

Key = tuple[Hashable, ...]

_MOST_PATHS = 64


@dataclass(slots=True, eq=False)
class Path:
    """One way through the kernel. ``state``: counts by resource; ``last``: the last to add."""

    state: dict[Key, int]
    last: dict[Key, Site]
    known: dict[str, bool]

    def copy(self) -> Path:
        return Path(dict(self.state), dict(self.last), dict(self.known))


@dataclass(slots=True, eq=False)
class Frame:
    """A running function: whose object, and what its parameters stand for."""

    function: Function
    instance: Hashable
    keys: dict[str, Key] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    returned: list[Path] = field(default_factory=list)
    left: list[Path] = field(default_factory=list)
    looping: int = 0


class Flow:
    """Follows one kernel. ``apply(flow, path, frame, site)`` changes the path's state.

    ``flags``: the kind of resource that makes a loop run twice; ``sites``: the calls to apply;
    ``scoped``: what is known of a variable is of no interest when its function has ended.
    """

    def __init__(
        self,
        walk: Context,
        apply: Callable[[Flow, Path, Frame, Site], None],
        flags: str,
        sites: Mapping[nodes.Call, Site] | None = None,
        *,
        scoped: bool = False,
    ) -> None:
        self.walk = walk
        self.apply = apply
        self.flags = flags
        self.given_up: set[Key] = set()
        self.scoped = scoped
        self.sites = walk.sites if sites is None else sites
        self.relevant = _relevant(walk, self.sites)
        self.stack: list[Function] = []

    def run(self, kernel: Function, known: Mapping[str, bool] | None = None) -> list[Path]:
        """The paths at the end of ``kernel``; none where it does nothing of interest.

        ``known``: conditions that hold or do not from the start.
        """
        if kernel not in self.relevant or kernel.body is None:
            return []
        frame = Frame(kernel, ("kernel",))
        return self._body(frame, [Path({}, {}, dict(known or {}))])

    def key(self, variable: Variable, frame: Frame) -> Key | None:
        """What ``variable`` stands for here; None where that is not known."""
        if variable.kind == "field":
            return (frame.instance, variable.name)
        if variable.kind == "parameter":
            return frame.keys.get(variable.name)
        return ("variable", variable.name, variable.at)

    def event(self, found: Type | None, frame: Frame) -> str:
        """The name of an event, template parameters replaced."""
        if found is None:
            return ""
        bound = frame.types.get(found.name, found)
        return bound.name.rpartition("::")[2]

    # --- functions ---

    def _body(self, frame: Frame, paths: list[Path]) -> list[Path]:
        self.stack.append(frame.function)
        if frame.function.body is not None:
            paths = self._statement(frame.function.body, paths, frame)
        self.stack.pop()
        return self._limited(paths + frame.returned)

    def _call(self, one: Called, paths: list[Path], frame: Frame) -> list[Path]:
        site = self.sites.get(one.node)
        target = one.function
        if site is None or site.kind == "Result":
            if target in self.relevant and target not in self.stack:
                paths = self._body(self._frame(one, target, frame), paths)
                if self.scoped:
                    self._leave(target, paths)
        if site is not None:
            for path in paths:
                self.apply(self, path, frame, site)
        return paths

    def _leave(self, function: Function, paths: list[Path]) -> None:
        """Forget the variables of ``function``, which has ended: paths that differ in them alone
        are one again."""
        assert function.body is not None
        first, last = function.body.at, function.body.end
        for path in paths:
            gone = [
                key
                for key in path.state
                if isinstance(key[1], tuple)
                and key[1][0] == "variable"
                and first <= key[1][2] <= last
            ]
            for key in gone:
                del path.state[key]

    def _frame(self, one: Called, target: Function, frame: Frame) -> Frame:
        made = Frame(target, self._instance(one, target, frame), looping=frame.looping)
        made.types, made.numbers = forwarded(one, frame.types, frame.numbers)
        for name, variable in one.bound.items():
            key = self.key(variable, frame)
            if key is not None:
                made.keys[name] = key
        return made

    def _instance(self, one: Called, target: Function, frame: Frame) -> Hashable:
        callee = one.node.callee
        if isinstance(callee, nodes.Name):
            if target.owner and callee.name.rpartition("::")[2] == target.owner:
                key = None if one.receiver is None else self.key(one.receiver, frame)
                if key is not None:
                    return key
                return ("made", one.node.at, frame.instance)
            return frame.instance
        if isinstance(callee, nodes.Member):
            return self._object(callee.base, one, frame)
        return frame.instance

    def _object(self, base: Expr, one: Called, frame: Frame) -> Hashable:
        if isinstance(base, nodes.Name) and base.name == "this":
            return frame.instance
        if isinstance(base, nodes.Call):
            return ("made", base.at, frame.instance)
        if one.receiver is not None:
            key = self.key(one.receiver, frame)
            return ("unknown", one.node.at) if key is None else key
        return ("unknown", one.node.at)

    # --- statements ---

    def _calls(self, first: int, last: int, frame: Frame) -> list[Called]:
        return [
            one
            for one in self.relevant[frame.function]
            if first <= one.node.at and one.node.end <= last
        ]

    def _statement(self, found: Statement | None, paths: list[Path], frame: Frame) -> list[Path]:
        if found is None or not paths:
            return paths
        if isinstance(found, nodes.Block):
            for one in found.body:
                paths = self._statement(one, paths, frame)
            return paths
        if isinstance(found, nodes.If):
            return self._if(found, paths, frame)
        if isinstance(found, nodes.For | nodes.Loop):
            return self._loop(found, paths, frame)
        for call in self._calls(found.at, found.end, frame):
            paths = self._call(call, paths, frame)
        if isinstance(found, nodes.Return):
            frame.returned += paths
            return []
        if isinstance(found, nodes.Jump) and found.word in ("break", "continue"):
            frame.left += paths
            return []
        if isinstance(found, nodes.Switch | nodes.Try):
            self._give_up_on(self._calls(found.at, found.end, frame), frame)
        return paths

    def _give_up_on(self, calls: Iterable[Called], frame: Frame) -> None:
        """All that these calls touch is not decidable."""
        if any(True for _ in calls):
            self.given_up.add(("everything",))

    def _if(self, found: nodes.If, paths: list[Path], frame: Frame) -> list[Path]:
        inside = self._calls(found.at, found.end, frame)
        if not inside and not _jumps(found):
            return paths
        for call in self._calls(found.condition.at, found.condition.end, frame):
            paths = self._call(call, paths, frame)
        text = self.walk.text(found.condition)
        yes = [path for path in paths if path.known.get(text, True)]
        no = [path.copy() for path in paths if not path.known.get(text, False)]
        for group, answer in ((yes, True), (no, False)):
            for path in group:
                if not frame.looping:
                    path.known[text] = answer
        yes = self._statement(found.then, yes, frame)
        no = self._statement(found.otherwise, no, frame)
        if frame.looping and yes and no:
            self._differing([*yes, *no])
        return self._limited(yes + no)

    def _differing(self, paths: list[Path]) -> None:
        keys = {key for path in paths for key in path.state}
        first = paths[0].state
        for key in keys:
            if any(path.state.get(key, 0) != first.get(key, 0) for path in paths[1:]):
                self.given_up.add(key)

    def _loop(self, found: nodes.For | nodes.Loop, paths: list[Path], frame: Frame) -> list[Path]:
        if not self._calls(found.at, found.end, frame) and not _returns(found.body):
            return paths
        outside, frame.left = frame.left, []
        before = [path.copy() for path in paths]
        frame.looping += 1
        paths = self._once(found.body, paths, frame)
        again = [path.copy() for path in paths if self._changed_flags(path, before)]
        if again:
            self._once(found.body, again, frame)
        frame.looping -= 1
        frame.left = outside
        return self._limited(paths or before)

    def _once(self, body: Statement, paths: list[Path], frame: Frame) -> list[Path]:
        paths = self._statement(body, paths, frame) + frame.left
        frame.left = []
        return self._limited(paths)

    def _changed_flags(self, path: Path, before: list[Path]) -> bool:
        return any(
            key[0] == self.flags
            and all(path.state.get(key, 0) != old.state.get(key, 0) for old in before)
            for key in path.state
        )

    def _limited(self, paths: list[Path]) -> list[Path]:
        """Paths of different states; where there are too many, what differs is given up."""
        different: dict[Hashable, Path] = {}
        for path in paths:
            mark = (
                frozenset((k, v) for k, v in path.state.items() if v),
                frozenset(path.known.items()),
            )
            different.setdefault(mark, path)
        if len(different) <= _MOST_PATHS:
            return list(different.values())
        self._differing(list(different.values()))
        kept = list(different.values())[:1]
        kept[0].known.clear()
        return kept


def _relevant(walk: Context, sites: Mapping[nodes.Call, Site]) -> dict[Function, list[Called]]:
    """The functions that change something, with the calls that do, in the order they run."""
    reach: set[Function] = set()
    changed = True
    while changed:
        changed = False
        for made, facts in walk.facts.items():
            if made not in reach and any(
                one.node in sites or one.function in reach for one in facts.calls
            ):
                reach.add(made)
                changed = True
    return {
        made: sorted(
            (one for one in walk.facts[made].calls if one.node in sites or one.function in reach),
            key=lambda one: one.node.end,
        )
        for made in reach
    }


def _jumps(found: Statement | None) -> bool:
    """Whether ``found`` may leave a function or a loop."""
    if isinstance(found, nodes.Return | nodes.Jump):
        return True
    if isinstance(found, nodes.Block):
        return any(_jumps(one) for one in found.body)
    if isinstance(found, nodes.If):
        return _jumps(found.then) or _jumps(found.otherwise)
    return isinstance(found, nodes.For | nodes.Loop) and _returns(found.body)


def _returns(found: Statement | None) -> bool:
    if isinstance(found, nodes.Return):
        return True
    if isinstance(found, nodes.Block):
        return any(_returns(one) for one in found.body)
    if isinstance(found, nodes.If):
        return _returns(found.then) or _returns(found.otherwise)
    return isinstance(found, nodes.For | nodes.Loop) and _returns(found.body)
