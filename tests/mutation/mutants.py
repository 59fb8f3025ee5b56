# ruff: noqa: E501 (lines of the C++ texts)
"""Texts of kernels from which each synchronisation can be taken away, one at a time, at run time.

Every call that orders something becomes ``if (stays(n)) call;``, and every queue a class of the same
interface that can be told to order nothing. So one binary holds all mutants of its kernels:
``removed_<name>`` says which one runs, ``reached_<name>`` which of the places a launch came to.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutants", "Site", "mutants"]

_PLACE = re.compile(
    r"^(?P<indent> *)(?P<type>TQue<TPosition::(?P<position>\w+), 1>) (?P<queue>\w+);"
    r"|\b(?P<barrier>PipeBarrier<\w+>)\(\);"
    r"|\b(?P<call>SyncAll|SetFlag|WaitFlag|Order|CrossCoreSetFlag|CrossCoreWaitFlag)\b<?[^;=\n]*;"
    r"|\b\w+\.(?P<method>EnQue|FreeTensor)\(\w+\);",
    re.MULTILINE,
)
_SCOPE = re.compile(
    r"^(?:template <.*> )?(?:class (\w+)|(?:    )?(?:extern \"C\" .*? void|__aicore__ inline void) (\w+)\()"
)

_PREAMBLE = """
extern "C" {
__attribute__((visibility("default"), used)) int removed_@NAME@ = -1;
__attribute__((visibility("default"), used)) unsigned reached_@NAME@[@COUNT@] = {};
}
static inline bool stays(int site)
{
    ++reached_@NAME@[site];
    return removed_@NAME@ != site;
}
/* A queue that can lose the order of filling and emptying (`forward`), or of emptying and filling. */
template <class Q, int forward, int backward>
class MutantQueue : public Q {
public:
    MutantQueue() = default;
    MutantQueue(const MutantQueue&) = delete;
    ~MutantQueue()
    {
        for (uint32_t i = 0; i < count_; ++i) {
            Q::FreeTensor(all_[i]);
        }
    }
    template <typename T>
    AscendC::LocalTensor<T> AllocTensor()
    {
        if (stays(backward)) {
            return Q::template AllocTensor<T>();
        }
        while (count_ == 0 || Q::HasIdleBuffer()) {
            all_[count_++] = Q::template AllocTensor<uint8_t>();
        }
        return all_[turn_++ % count_].template ReinterpretCast<T>();
    }
    template <typename T>
    void FreeTensor(const AscendC::LocalTensor<T>& tensor)
    {
        if (stays(backward)) {
            Q::FreeTensor(tensor);
        }
    }
    template <typename T>
    bool EnQue(const AscendC::LocalTensor<T>& tensor)
    {
        if (stays(forward)) {
            return Q::EnQue(tensor);
        }
        queued_[last_++ % 16] = tensor.template ReinterpretCast<uint8_t>();
        return true;
    }
    template <typename T>
    AscendC::LocalTensor<T> DeQue()
    {
        return stays(forward) ? Q::template DeQue<T>() : queued_[first_++ % 16].template ReinterpretCast<T>();
    }

private:
    AscendC::LocalTensor<uint8_t> all_[16], queued_[16];
    uint32_t count_ = 0, turn_ = 0, first_ = 0, last_ = 0;
};
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A synchronisation of a text. ``kind``: the call, with its pipe; ``forward`` or ``backward`` of
    a queue; ``pair`` of SetFlag and WaitFlag. ``scope``: class and function."""

    number: int
    kind: str
    line: int
    scope: tuple[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.kind} in {'.'.join(part for part in self.scope if part)}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Mutants:
    """``text`` of the kernel ``name`` with a switch for each of ``sites``."""

    name: str
    text: str
    sites: tuple[Site, ...]

    def remove(self, library: ctypes.CDLL, site: Site | None) -> None:
        """From now on the kernel in ``library`` runs without ``site``; None: unchanged."""
        switch = ctypes.c_int.in_dll(library, f"removed_{self.name}")
        switch.value = -1 if site is None else site.number

    def reached(self, library: ctypes.CDLL) -> Counter[int]:
        """How often launches on one thread have come to each site since this was asked last."""
        array = (ctypes.c_uint * len(self.sites)).in_dll(library, f"reached_{self.name}")
        found = Counter({number: times for number, times in enumerate(array) if times})
        ctypes.memset(array, 0, ctypes.sizeof(array))
        return found


def mutants(name: str, text: str) -> Mutants:
    """All mutants of ``text``, whose kernel is ``name``."""
    sites: list[Site] = []
    scopes = list(_scopes(text))

    def add(kind: str, match: re.Match[str]) -> int:
        line = text.count("\n", 0, match.start()) + 1
        scope = scopes[line - 1]
        sites.append(Site(len(sites), kind, line, scope, match[0]))
        return sites[-1].number

    # by event and id: pairs of which one call has come, before or behind its partner in the text
    pairs: dict[tuple[str, str], list[int]] = {}

    def replaced(match: re.Match[str]) -> str:
        if match["queue"]:
            forward = add(f"forward {match['position']}", match)
            backward = add(f"backward {match['position']}", match)
            queue = f"MutantQueue<{match['type']}, {forward}, {backward}>"
            return f"{match['indent']}{queue} {match['queue']};"
        kind = match["barrier"] or match["call"] or match["method"]
        numbers = [add(kind, match)]
        arguments = match[0].partition("<")[2]
        partner = {"SetFlag": "WaitFlag", "WaitFlag": "SetFlag"}.get(kind)
        if partner is not None and pairs.get((partner, arguments)):
            numbers.append(pairs[partner, arguments].pop(0))
        elif partner is not None:
            numbers.append(add("pair", match))
            pairs.setdefault((kind, arguments), []).append(numbers[-1])
        return f"if ({' && '.join(f'stays({number})' for number in numbers)}) {match[0]}"

    changed = _PLACE.sub(replaced, text)
    head, include, rest = changed.partition('#include "kernel_operator.h"\n')
    assert include, "a kernel's text begins with its include"
    preamble = _PREAMBLE.replace("@NAME@", name).replace("@COUNT@", str(max(len(sites), 1)))
    return Mutants(name, f"{head}{include}{preamble}{rest}", tuple(sites))


def _scopes(text: str) -> Iterator[tuple[str, str]]:
    """For each line the class and the function that it stands in."""
    outer, inner = "", ""
    for line in text.splitlines():
        found = _SCOPE.match(line)
        if found is not None and found[1]:
            outer, inner = found[1], ""
        elif found is not None:
            inner = found[2]
            outer = outer if line.startswith("    ") else ""
        yield outer, inner
