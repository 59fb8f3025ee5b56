"""Lists, dicts, tuples and objects that loops carry and branches merge compute what Python does."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import torch

from tests.ops.batch import Batch, make_function
from tests.ops.checks import HEADER, filled

PRELUDE = """
import dataclasses
import typing

@dataclasses.dataclass
class State:
    m: object
    l: object
    def step(self, t):
        self.m = self.m + t
        self.l = self.l + 1

@dataclasses.dataclass(frozen=True)
class Frozen:
    m: object
    width: int

class Pair(typing.NamedTuple):
    a: object
    b: object

class Plain:
    def __init__(self, m):
        self.m = m
        self.log = [m, 0]

def advance(m, l, t):
    return m + t, l * 0.5 + t

def find(x, n):
    for j in pypto.loop(4):
        if j == n:
            return State(x[j * 8 : j * 8 + 8, :] * 2.0, j)
    return State(x[0:8, :] * 1.0, 9)

"""

PROGRAMS = {
    "a_list": """
        acc = [x[0:8, :] * 1.0, 0]
        for i in pypto.loop(4):
            acc[0] = acc[0] + x[i * 8 : i * 8 + 8, :]
            acc[1] += i
        o[:] = acc[0] * acc[1]
    """,
    "attributes": """
        st = State(x[0:8, :] * 1.0, 0.0)
        for i in pypto.loop(n):
            st.m = st.m + x[i * 8 : i * 8 + 8, :]
            st.l = st.l + 1
        o[:] = st.m * st.l
    """,
    "a_dict": """
        d = {"m": x[0:8, :] * 1.0, "l": 0, "n": 64}
        for i in pypto.loop(4):
            d["m"] = d["m"] * 0.5 + x[i * 8 : i * 8 + 8, 0 : d["n"]]
            d["l"] += i * 0.5
        o[:] = d["m"] + d["l"]
    """,
    "a_new_object": """
        st = State(x[0:8, :] * 1.0, 0)
        for i in pypto.loop(n):
            st = State(st.m + x[i * 8 : i * 8 + 8, :], st.l + i)
        o[:] = st.m * st.l
    """,
    "replaced": """
        st = Frozen(x[0:8, :] * 1.0, 64)
        for i in pypto.loop(4):
            st = dataclasses.replace(st, m=st.m + x[i * 8 : i * 8 + 8, 0 : st.width])
        o[:] = st.m
    """,
    "a_named_tuple": """
        p = Pair(x[0:8, :] * 1.0, 1.0)
        for i in pypto.loop(4):
            p = Pair(p.a + p.b, p.b * 2 + i)
        o[:] = p.a
    """,
    "a_method": """
        st = State(x[0:8, :] * 1.0, 0)
        for i in pypto.loop(4):
            st.step(x[i * 8 : i * 8 + 8, :])
            if i == n:
                st.step(x[0:8, :])
        o[:] = st.m * st.l
    """,
    "two_names": """
        a = [x[0:8, :] * 1.0, 0]
        b = a
        c = {"of": b}
        for i in pypto.loop(4):
            a[0] = a[0] + 1.0
            b[0] = b[0] * 2.0
            c["of"][1] += i
        if n > 2:
            b[0] = b[0] - 5.0
        o[:] = a[0] + c["of"][0] * a[1]
    """,
    "nested": """
        a = {"p": [State(x[0:8, :] * 1.0, 0), (1, [2.0])]}
        for i in pypto.loop(3):
            a["p"][0].m = a["p"][0].m + 1.0
            for j in pypto.loop(n):
                a["p"][0].l += j
                a["p"][1][1][0] = a["p"][1][1][0] * 1.5
        o[:] = a["p"][0].m * a["p"][0].l + a["p"][1][1][0]
    """,
    "a_branch": """
        a = [x[0:8, :] * 1.0, 1]
        for i in pypto.loop(4):
            if i > n:
                a[0] = a[0] + 1.0
                a[1] = 5
            elif i == 1:
                a[1] = a[1] + 7
        o[:] = a[0] * a[1]
    """,
    "made_by_sides": """
        for i in pypto.loop(4):
            if i > n:
                st = State(x[0:8, :] + 1.0, i)
            else:
                st = State(x[8:16, :] * 2.0, 3)
            st.l = st.l * 2
            o[i * 2 : i * 2 + 2, :] = st.m[0:2, :] * st.l
    """,
    "replaced_on_a_side": """
        st = State(x[0:8, :] * 1.0, 0)
        for i in pypto.loop(4):
            if i > n:
                st = State(st.m + 1.0, i)
            st.m = st.m * 2.0
        o[:] = st.m * st.l
    """,
    "a_break": """
        a = [x[0:8, :] * 1.0, 1]
        for i in pypto.loop(4):
            a[0] = a[0] + 1.0
            if i == n:
                a[1] = i + 10
                break
            if i == 1:
                continue
            a[1] = a[1] + 2
        o[:] = a[0] * a[1]
    """,
    "an_early_return": """
        st = find(x, n)
        o[:] = st.m + st.l
    """,
    "a_return_of_the_kernel": """
        d = {"m": x[0:8, :] * 1.0}
        o[:] = d["m"]
        if n > 5:
            return
        for i in pypto.loop(4):
            d["m"] = d["m"] + i
        o[:] = d["m"]
    """,
    "swapped": """
        a, b = [1], [2.5]
        for i in pypto.loop(n):
            a, b = b, a
        o[:] = x[0:8, :] * a[0] - b[0]
    """,
    "names": """
        m, l = x[0:8, :] * 1.0, x[8:16, :] * 1.0
        for i in pypto.loop(4):
            m, l = advance(m, l, x[i * 8 : i * 8 + 8, :])
        o[:] = m - l
    """,
    "a_tuple_of_a_list": """
        s = (x[0:8, :] * 1.0, [1.0, 64])
        for i in pypto.loop(4):
            s = (s[0] + x[i * 8 : i * 8 + 8, 0 : s[1][1]], [s[1][0] + 1, 64])
        o[:] = s[0] * s[1][0]
    """,
    "not_read_before": """
        st = State(x[0:8, :] * 1.0, 3)
        for i in pypto.loop(n):
            st = State(x[i * 8 : i * 8 + 8, :] * 2.0, i)
        o[:] = st.m + st.l
    """,
    "in_an_unrolled_loop": """
        st = [State(x[j * 8 : j * 8 + 8, :] * 1.0, j) for j in range(2)]
        for j in range(2):
            if n > j:
                st[j].m = st[j].m + st[1 - j].m
                st[j].l += 1
        o[:] = st[0].m * st[0].l - st[1].m * st[1].l
    """,
    "a_chosen_object": """
        a, b = State(x[0:8, :] * 1.0, 1), State(x[8:16, :] * 2.0, 2)
        st = a if n > 2 else b
        o[:] = st.m * st.l
    """,
    "a_list_of_a_plain_object": """
        p = Plain(x[0:8, :] * 1.0)
        for i in pypto.loop(4):
            p.log[0] = p.log[0] + p.m
            p.log[1] += 1
            p.m = p.log[0] * 0.25
        o[:] = p.m + p.log[1]
    """,
    "in_turns": """
        a, b = [x[0:8, :] * 1.0], [0]
        for i in pypto.loop(4):
            a[0] = a[0] + 1.0
        for i in pypto.loop(4):
            b[0] = b[0] + i
            for j in pypto.loop(2):
                a[0] = a[0] * 1.5 + b[0]
        o[:] = a[0]
    """,
    "unrolled_by_factors": """
        st = State(x[0:8, :] * 1.0, 0)
        for i in pypto.loop(n, unroll_list=[2]):
            st = State(st.m + x[i * 8 : i * 8 + 8, :], st.l + i)
        o[:] = st.m + st.l
    """,
}


class _Eager:
    """What the programs use of pypto, as torch and Python have it."""

    DT_FP32 = None

    @staticmethod
    def Tensor(*_: object) -> None:
        return None

    @staticmethod
    def loop(*bounds: int, unroll_list: object = None) -> range:
        return range(*bounds)


def run_eagerly(text: str, name: str, *values: Any) -> None:
    module: dict[str, Any] = {"pypto": _Eager, "__name__": "eager"}
    exec(compile(text, "<program>", "exec", dont_inherit=True), module)
    module[name](*values)


@pytest.mark.parametrize("kind", ["fast", "checked"])
def test_structured_state(kind: str) -> None:
    batch = Batch(kind)
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    made = []
    for name, lines in PROGRAMS.items():
        head = f"def {name}(x: pypto.Tensor([64, 64], pypto.DT_FP32), "
        head += "o: pypto.Tensor([8, 64], pypto.DT_FP32), n: int):\n"
        text = PRELUDE + head + textwrap.indent(textwrap.dedent(lines).strip("\n"), "    ") + "\n"
        function = make_function(HEADER + text, name)
        made.append((name, text, batch.add(function, x, filled(torch.empty(8, 64)), 3)))
    batch.build()
    for name, text, variant in made:
        for n, control in ((0, {}), (1, {}), (3, {"blocks": 3, "l1_bytes": 1024}), (6, {})):
            got, want = filled(torch.empty(8, 64)), filled(torch.empty(8, 64))
            assert variant.run(x, got, n, **control) == 0
            run_eagerly(text, name, x, want, n)
            torch.testing.assert_close(
                got, want, rtol=1e-5, atol=1e-5, msg=f"{name} of {n}\n{text}"
            )
