"""The kernel function, the cores that run it, and what they may do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from pypto.lint import nodes
from pypto.lint.calls import Called, forwarded
from pypto.lint.context import Context
from pypto.lint.interface import ENTRIES, element
from pypto.lint.nodes import Class, Expr, Function, Template, Type
from pypto.lint.rule import Rule, RuleSet
from pypto.lint.rules.meetings import Meetings, waits_for
from pypto.lint.scope import SIZES, canonical

__all__ = ["RULES"]

_RULES = (
    Rule(
        "kernel-entry",
        'kernels that are not extern "C" __global__ KIND void name(...)',
        "the launcher finds a kernel by its plain name, and nothing infers its kind reliably",
    ),
    Rule(
        "kernel-argument",
        "kernel arguments that are neither numbers, structs by value nor pointers to global memory",
        "arguments are copied to the device as bytes; host memory is not reachable there",
    ),
    Rule(
        "pipe-member",
        "a TPipe that is a member or a global variable",
        "one TPipe serves a kernel; as a member it stops the compiler from folding constants",
    ),
    Rule(
        "sync-all-kind",
        "SyncAll and cross-core flags in a kernel of a kind without them",
        "the scheduler of a __vector__ or __cube__ kernel is off: the cores wait for ever",
    ),
    Rule(
        "sync-all-parted",
        "SyncAll under a condition or in a loop that depends on the core",
        "it waits for all cores; one that passes by leaves the others waiting for ever",
    ),
    Rule(
        "sync-flag-number",
        "cross-core flags other than 0 to 10",
        "11 to 14 belong to SyncAll, and there are 16 in all",
    ),
    Rule(
        "sync-event",
        "events and pipes that the core does not have",
        "an event joins two pipes of one core, and vector cores and cube cores have different ones",
    ),
    Rule(
        "wrong-core",
        "instructions of the vector cores on cube cores, and the other way round",
        "each kind of core has instructions of its own; a mix kernel must ask which it runs on",
    ),
)

_KINDS = ("__vector__", "__cube__", "__mix__", "__aicore__")
_MIXES = ((1, 0), (0, 1), (1, 1), (1, 2))
_CROSS = frozenset(("SyncAll", "CrossCoreSetFlag", "CrossCoreWaitFlag", "IBSet", "IBWait"))
_NAMES = {"AIV": "a vector core", "AIC": "a cube core"}


def _function(walk: Context, made: Function) -> None:
    if "__global__" not in made.marks:
        return
    _form(walk, made)
    for one in made.parameters:
        if one.type is not None and not _passes(walk, one.type):
            walk.report(
                "kernel-argument",
                one.type.at,
                max(one.at, one.type.end),
                f"'{one.name}' of type {one.type} cannot be passed to a kernel",
                "pass GM_ADDR, a number, or a struct of numbers by value",
            )


def _form(walk: Context, made: Function) -> None:
    at = made.at
    help = f'write extern "C" __global__ __vector__ void {made.name}(...), or another kind'
    if made.owner:
        walk.report("kernel-entry", at, at, f"kernel '{made.name}' is a member of a class", help)
    if not ('extern "C"' in made.marks or made.templates):
        walk.report("kernel-entry", at, at, f"kernel '{made.name}' is not extern \"C\"", help)
    if made.result is None or made.result.name != "void" or made.result.pointers:
        walk.report("kernel-entry", at, at, f"kernel '{made.name}' does not return void", help)
    if not any(kind in made.marks for kind in _KINDS):
        walk.report(
            "kernel-entry", at, at, f"kernel '{made.name}' does not say which cores run it", help
        )
    if made.mix is not None and made.mix not in _MIXES:
        mark = made.marks["__mix__"]
        walk.report(
            "kernel-entry",
            mark,
            mark,
            f"there is no mix of {made.mix[0]} cube and {made.mix[1]} vector cores",
            "use __mix__(1, 0), (0, 1), (1, 1) or (1, 2)",
        )
    old = made.marks.keys() & {"__vector__", "__cube__", "__mix__"}
    if not old and made.body is not None and "__aicore__" in made.marks and _old_kind(made) is None:
        walk.report(
            "kernel-entry",
            at,
            at,
            f"the kind of kernel '{made.name}' is left to the compiler",
            f"write __vector__, __cube__ or __mix__(c, v) before void {made.name}",
        )


def _old_kind(made: Function) -> frozenset[str] | None:
    """What KERNEL_TASK_TYPE_DEFAULT says, as the first statement."""
    first = made.body.body[0] if made.body is not None and made.body.body else None
    call = first.value if isinstance(first, nodes.Expression) else None
    if isinstance(call, nodes.Call) and isinstance(call.callee, nodes.Name) and call.args:
        kind = call.args[0]
        if call.callee.name == "KERNEL_TASK_TYPE_DEFAULT" and isinstance(kind, nodes.Name):
            return ENTRIES.get(kind.name)
    return None


def _passes(walk: Context, kind: Type) -> bool:
    name = canonical(kind.name)
    if kind.reference:
        return False
    if kind.pointers:
        return kind.space == "__gm__"
    if name == "GM_ADDR" or (name in SIZES and element(name) != "double"):
        return True
    variable = walk.find(name)
    if variable is not None and variable.kind == "template":
        return True
    short = name.rpartition("::")[2]
    if name.endswith("Tiling") or short in walk.file.enums:
        return True
    made = _classes(walk, name)
    if made:
        return any(_is_plain(walk, one) for one in made)
    alias = walk.file.aliases.get(short)
    return alias is not None and alias.name != kind.name and _passes(walk, alias)


def _classes(walk: Context, name: str) -> list[Class]:
    """What a name may mean, written with the names of any of the scopes around it or without."""
    inner = f"::{name.removeprefix('::')}"
    return [made for full, made in walk.file.qualified.items() if f"::{full}".endswith(inner)]


def _is_plain(walk: Context, made: Class) -> bool:
    """Whether a struct consists of what may be passed."""
    return all(
        _passes(walk, item.type)
        for field in made.fields
        for item in field.items
        if "static" not in field.specifiers
    )


def _declaration(walk: Context, found: nodes.Declaration) -> None:
    first = found.items[0].type
    inside = walk.function is not None
    if canonical(first.name) == "TPipe" and not inside and not (first.pointers or first.reference):
        walk.report(
            "pipe-member",
            first.at,
            found.items[0].at,
            f"'{found.items[0].name}' is a TPipe that outlives the kernel function",
            "make it a local variable of the kernel and pass it by reference",
        )


# --- what each kernel reaches ---


@dataclass(slots=True)
class _Reach:
    """How a function is reached: from which kernel, on which cores, and with what arguments."""

    kernel: Function
    cores: frozenset[str]
    parted: Expr | None = None
    types: Mapping[str, Type] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

    def key(self) -> Hashable:
        types = tuple((name, str(found)) for name, found in self.types.items())
        numbers = tuple(self.numbers.items())
        return self.kernel, self.cores, self.parted is not None, types, numbers

    def meant(self, found: Template) -> str:
        """The name of an event or a pipe, template parameters replaced."""
        if not isinstance(found, Type | nodes.Name):
            return ""
        return self.types[found.name].name if found.name in self.types else found.name


def _done(walk: Context) -> None:
    seen: set[Hashable] = set()
    reported: set[int] = set()
    for made in walk.file.functions:
        if "__global__" in made.marks:
            _follow(walk, made, _Reach(made, _cores(made)), seen, reported)


def _cores(made: Function) -> frozenset[str]:
    """Which cores run a kernel; ``mix`` where they may synchronise."""
    if "__vector__" in made.marks:
        return frozenset(("AIV",))
    if "__cube__" in made.marks:
        return frozenset(("AIC",))
    if made.mix is not None:
        cube, vector = made.mix
        return frozenset(("mix", *(("AIC",) if cube else ()), *(("AIV",) if vector else ())))
    return _old_kind(made) or frozenset(("mix", "AIC", "AIV"))


def _follow(
    walk: Context, made: Function, reach: _Reach, seen: set[Hashable], reported: set[int]
) -> None:
    if (made, reach.key()) in seen:
        return
    seen.add((made, reach.key()))
    for one in walk.facts[made].calls:
        cores = reach.cores - {"AIC" if one.core == "AIV" else "AIV"} if one.core else reach.cores
        if not cores & {"AIC", "AIV"}:
            continue
        parted = reach.parted or one.parted
        here = _Reach(reach.kernel, cores, parted, reach.types, reach.numbers)
        if one.function is not None:
            here.types, here.numbers = forwarded(one, reach.types, reach.numbers)
            _follow(walk, one.function, here, seen, reported)
        elif one.node.at not in reported:
            if _check(walk, one, here) or _meets(walk, one, parted):
                reported.add(one.node.at)


def _meets(walk: Context, one: Called, parted: Expr | None) -> bool:
    if one.name != "SyncAll" or parted is None:
        return False
    line = walk.tokens.place(parted.at)[0]
    walk.report(
        "sync-all-parted",
        one.node.at,
        one.node.end,
        f"not every core reaches this SyncAll: '{walk.text(parted)}' (line {line}) differs",
        "call it outside: cores without work call it, too",
    )
    return True


def _check(walk: Context, one: Called, reach: _Reach) -> bool:
    """Report what ``one`` may not do on these cores; whether there was something."""
    cores = reach.cores
    if one.name in _CROSS:
        return _synchronises(walk, one, reach)
    if one.name in ("SetFlag", "WaitFlag", "FetchEventID", "AllocEventID", "ReleaseEventID"):
        return _event(walk, one, reach)
    if not isinstance(one.node.callee, nodes.Name):
        return False
    if one.name == "PipeBarrier":
        return _pipe(walk, one, reach)
    forms = walk.interface.forms.get(one.name)
    if not forms or one.node.callee.name in walk.functions:
        return False
    kinds = {form.row.core for form in forms}
    if len(kinds) != 1 or "both" in kinds or one.name in ("Cast", "Fill"):
        return False
    (core,) = kinds
    other = "AIC" if core == "AIV" else "AIV"
    if other not in cores:
        return False
    both = core in cores
    message = f"{one.name} belongs to {_NAMES[core]}, but {_NAMES[other]} runs this"
    test = "ASCEND_IS_AIV" if core == "AIV" else "ASCEND_IS_AIC"
    help = (
        f"put it under 'if {test}'" if both else f"kernel '{reach.kernel.name}' needs another kind"
    )
    walk.report("wrong-core", one.node.at, one.node.end, message, help)
    return True


def _synchronises(walk: Context, one: Called, reach: _Reach) -> bool:
    node, cores = one.node, reach.cores
    if "mix" not in cores:
        kind = "__vector__" if "AIV" in cores else "__cube__"
        mix = "__mix__(0, 1)" if "AIV" in cores else "__mix__(1, 0)"
        walk.report(
            "sync-all-kind",
            node.at,
            node.end,
            f"{one.name} in kernel '{reach.kernel.name}', which is {kind}",
            f"mark the kernel {mix}: then its cores can wait for one another",
        )
        return True
    if one.name == "SyncAll":
        return _all_cores(walk, one, reach)
    if one.name == "CrossCoreWaitFlag" or one.name == "CrossCoreSetFlag":
        number = _flag_number(walk, one, reach.numbers)
        if number is not None and not 0 <= number <= 10:
            walk.report(
                "sync-flag-number",
                node.args[0].at,
                node.args[0].end,
                f"a kernel may not use cross-core flag {number}",
                "use a flag from 0 to 10",
            )
            return True
    return False


def _flag_number(walk: Context, one: Called, numbers: Mapping[str, int]) -> int | None:
    """Which flag a call is about: a constant, or a parameter that stands for one."""
    value = one.node.args[0] if one.node.args else None
    if isinstance(value, nodes.Name) and value.name in numbers:
        return numbers[value.name]
    known = None if value is None else walk.fold(value)
    return known if isinstance(known, int) else None


def _all_cores(walk: Context, one: Called, reach: _Reach) -> bool:
    only, cores = waits_for(walk, one.node), reach.cores
    if only == 0 and not {"AIC", "AIV"} <= cores:
        fault = Meetings(walk, reach.kernel, _cores(reach.kernel)).fault(
            "AIV" if "AIV" in cores else "AIC"
        )
        if fault:
            walk.report(
                "sync-all-kind",
                one.node.at,
                one.node.end,
                fault,
                "let all cores of a __mix__(1, 1) or (1, 2) kernel call it, or use SyncAll<true>",
            )
        return bool(fault)
    if only and "AIC" in cores:
        walk.report(
            "sync-all-kind",
            one.node.at,
            one.node.end,
            "SyncAll<true> is for vector cores, but a cube core runs this",
            "use SyncAll<false>, or put it under 'if ASCEND_IS_AIV'",
        )
        return True
    return False


def _event(walk: Context, one: Called, reach: _Reach) -> bool:
    args = one.node.callee.args if isinstance(one.node.callee, nodes.Name | nodes.Member) else None
    name = ""
    if args:
        name = reach.meant(args[0])
    elif one.node.args:
        name = reach.meant(one.node.args[0])
    enum, _, event = name.removeprefix("AscendC::").rpartition("::")
    if enum != "HardEvent":
        return False
    events = walk.interface.events
    for core in sorted(reach.cores & {"AIC", "AIV"}):
        if event not in events[core] and any(event in names for names in events.values()):
            walk.report(
                "sync-event",
                one.node.at,
                one.node.end,
                f"{_NAMES[core]} has no event {event}",
                f"it has {', '.join(sorted(events[core]))}",
            )
            return True
    return False


def _pipe(walk: Context, one: Called, reach: _Reach) -> bool:
    callee = one.node.callee
    args = callee.args if isinstance(callee, nodes.Name) else None
    pipes = walk.target.instructions["PipeBarrier"].facts["pipes"]
    name = reach.meant(args[0]) if args else ""
    if name.startswith("PIPE_"):
        if name not in pipes:
            walk.report(
                "sync-event",
                one.node.at,
                one.node.end,
                f"there is no barrier of {name}",
                f"use one of {', '.join(pipes)}",
            )
            return True
    return False


RULES = RuleSet(_RULES, {nodes.Declaration: _declaration}, _function, None, _done)
