"""How often each kind of core comes to SyncAll<false>, which waits for the cores of both kinds."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pypto.lint import nodes
from pypto.lint.context import Context
from pypto.lint.flow import Flow, Frame, Path
from pypto.lint.nodes import Function
from pypto.lint.site import Site

__all__ = ["Meetings", "waits_for"]

_TESTS = {"AIV": "ASCEND_IS_AIV", "AIC": "ASCEND_IS_AIC"}
_ONCE, _LOOPED = ("meeting", "once"), ("meeting", "looped")


def waits_for(walk: Context, node: nodes.Call) -> int | None:
    """What ``SyncAll`` is given: 0 where it waits for both kinds; None where that is not known."""
    args = node.callee.args if isinstance(node.callee, nodes.Name) else None
    only = walk.fold(args[0]) if args else 1
    return only if isinstance(only, int) else None


class Meetings:
    """The calls of SyncAll<false> that a core of each kind runs on its way through a kernel.

    ``cores``: the kinds of cores that run the kernel.
    """

    def __init__(self, walk: Context, kernel: Function, cores: Collection[str]) -> None:
        calls = [one for facts in walk.facts.values() for one in facts.calls]
        meets = [one.node for one in calls if one.name == "SyncAll" and one.function is None]
        given = {one: waits_for(walk, one) for one in meets}
        sites = {one: Site("SyncAll", one, None, None) for one, only in given.items() if only != 1}
        # Which of the two a call is that hangs on a template's parameter is not decided.
        self.decided = all(only is not None for only in given.values())
        self.counts = {
            core: self._run(walk, kernel, sites, core) if core in cores else {0} for core in _TESTS
        }

    def _run(
        self, walk: Context, kernel: Function, sites: Mapping[nodes.Call, Site], core: str
    ) -> set[int]:
        known = {test: kind == core for kind, test in _TESTS.items()}
        flow = Flow(walk, _count, "meeting", sites)
        paths = flow.run(kernel, known)
        if flow.given_up or any(path.state.get(_LOOPED) for path in paths):
            self.decided = False
        return {path.state.get(_ONCE, 0) + path.state.get(_LOOPED, 0) for path in paths} or {0}

    def fault(self, core: str) -> str:
        """What is wrong with the calls that cores of the kind ``core`` alone come to."""
        own, other = self.counts[core], self.counts["AIC" if core == "AIV" else "AIV"]
        if not any(other):
            return "SyncAll<false> where one kind of core alone comes"
        if not self.decided or own & other or max(own) < max(other):
            return ""  # the calls of the other kind are told, where they are more
        vector, cube = ("/".join(map(str, sorted(self.counts[one]))) for one in ("AIV", "AIC"))
        return f"calls of SyncAll<false> differ: {vector} by vector cores, {cube} by cube cores"


def _count(flow: Flow, path: Path, frame: Frame, site: Site) -> None:
    key = _LOOPED if frame.looping else _ONCE
    path.state[key] = path.state.get(key, 0) + 1
