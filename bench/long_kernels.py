"""Texts of long kernels, by kind: what compile time must grow linearly with, whatever fills it.

A kind is a function from a number of statements to the text of a kernel ``k``; each statement is
one line of Python that computes (or stores) something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["HEADER", "KINDS"]

HEADER = "import pypto\nD = pypto.DYNAMIC\n"
_F = "pypto.Tensor([D, 64], pypto.DT_FP32)"


def _kernel(body: Iterable[str], params: str = f"x: {_F}, o: {_F}", before: str = "") -> str:
    return f"{HEADER}{before}def k({params}):\n" + "".join(f"    {line}\n" for line in body)


def _steps(count: int, indent: str = "") -> list[str]:
    lines = ["t = t * 1.5 + x", "t = pypto.exp(t)", "t = t - x"]
    return [indent + lines[i % len(lines)] for i in range(count)]


def chain(n: int) -> str:
    """Each statement uses the value before it."""
    return _kernel(["t = x + 1", *_steps(n), "o[:] = t"])


def live(n: int) -> str:
    """Each statement uses a value from far before; half of all values are live at once."""
    half = n // 2
    first = [f"t{i} = pypto.exp(x * {i})" for i in range(half)]
    then = ["s = x + 1", *(f"s = s + t{i}" for i in range(half)), "o[:] = s"]
    return _kernel([*first, *then])


def distant(n: int) -> str:
    """Each statement uses the value before it and one from 50 statements before."""
    first = [f"t{i} = x * {i}" for i in range(50)]
    then = [f"t{i} = t{i - 1} * 1.5 + t{i - 50}" for i in range(50, n)]
    return _kernel([*first, *then, f"o[:] = t{n - 1}"])


def slices(n: int) -> str:
    """Each statement stores into a slice of a parameter: apart from, or on top of others."""
    lines = [
        f"o[{(i * 8) % (16 * n)} : {(i * 8) % (16 * n) + 8}, :] = x[{i * 8} : {i * 8 + 8}, :] * {i}"
        for i in range(n)
    ]
    params = (
        f"x: pypto.Tensor([{8 * n}, 64], pypto.DT_FP32), "
        f"o: pypto.Tensor([{8 * n}, 64], pypto.DT_FP32)"
    )
    return _kernel(lines, params)


def stored_chain(n: int) -> str:
    """Each third statement stores what the two before it, and all before these, have computed."""
    lines = ["t = t * 1.5 + u", "u = pypto.exp(u - t)"]
    body = [
        lines[i % 3] if i % 3 < 2 else f"o[{i // 3 * 8} : {i // 3 * 8 + 8}, :] = t + u"
        for i in range(n)
    ]
    params = (
        "x: pypto.Tensor([8, 64], pypto.DT_FP32), "
        f"o: pypto.Tensor([{8 * (n // 3 + 1)}, 64], pypto.DT_FP32)"
    )
    return _kernel(["t = x + 1", "u = x - 1", *body], params)


def in_place(n: int) -> str:
    """Each statement reads a slice of the output that an earlier one wrote, and writes another."""
    lines = [
        f"o[{i % 7} * 8 : {i % 7} * 8 + 8, :] = o[{(i + 3) % 7} * 8 : {(i + 3) % 7} * 8 + 8, :] + x"
        for i in range(n)
    ]
    params = "x: pypto.Tensor([8, 64], pypto.DT_FP32), o: pypto.Tensor([56, 64], pypto.DT_FP32)"
    return _kernel(lines, params)


def loop(n: int) -> str:
    """One loop with all statements in its body."""
    return _kernel(
        [
            "for i in pypto.loop(x.shape[0] // 8):",
            "    t = x[i * 8 : i * 8 + 8, :] + 1",
            "    a = x[i * 8 : i * 8 + 8, :]",
            *(line.replace("x", "a").replace("eap", "exp") for line in _steps(n, "    ")),
            "    o[i * 8 : i * 8 + 8, :] = t",
        ]
    )


def nested(n: int) -> str:
    """Three loops inside one another, with slices of the parameters in the innermost."""
    lines = [
        "t = t + x[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8]",
        "t = pypto.exp(t)",
        "o[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8] = t * k",
    ]
    return _kernel(
        [
            "for i in pypto.loop(x.shape[0] // 8):",
            "    for j in pypto.loop(8):",
            "        for k in pypto.loop(3):",
            "            t = x[i * 8 : i * 8 + 8, j * 8 : j * 8 + 8] * 2",
            *("            " + lines[i % 3] for i in range(n)),
        ]
    )


def nested_steps(n: int) -> str:
    """Three loops inside one another; one statement in ten reads or writes a slice."""
    at = "i * 8 : i * 8 + 8, j * 8 : j * 8 + 8"
    steps = ["t = t * 1.5 + a", "a = pypto.maximum(a - t, 0.0)", "t = pypto.exp(t) * 0.5"]
    lines = [f"a = x[{at}]" if i % 20 == 9 else steps[i % 3] for i in range(n)]
    lines[19::20] = [f"o[{at}] = t * k"] * len(lines[19::20])
    return _kernel(
        [
            "for i in pypto.loop(x.shape[0] // 8):",
            "    for j in pypto.loop(8):",
            f"        t = x[{at}] + 1",
            "        for k in pypto.loop(3):",
            f"            a = x[{at}] * 2",
            *(f"            {line}" for line in lines),
        ]
    )


def loops(n: int) -> str:
    """A loop after another, each with ten statements."""
    lines: list[str] = []
    for _ in range(max(n // 10, 1)):
        lines += [
            "for i in pypto.loop(x.shape[0] // 8):",
            "    t = x[i * 8 : i * 8 + 8, :] + 1",
            "    a = o[i * 8 : i * 8 + 8, :]",
            *(line.replace("x", "a").replace("eap", "exp") for line in _steps(7, "    ")),
            "    o[i * 8 : i * 8 + 8, :] = t",
        ]
    return _kernel(lines)


def helpers(n: int) -> str:
    """Calls of a helper with a statement of its own, put in the place of the call."""
    helper = "def f(a, b):\n    c = a * 1.5 + b\n    return c\n"
    return _kernel(["t = x + 1", *["t = f(t, x)"] * (n // 2), "o[:] = t"], before=helper)


def branches(n: int) -> str:
    """Run-time branches, one after another, each with a statement on either side."""
    lines = ["t = x[0:8, :] + 1", "a = x[0:8, :]"]
    for i in range(max(n // 3, 1)):
        lines += [f"if n > {i}:", "    t = t * 1.5 + a", "else:", "    t = t - a"]
    return _kernel([*lines, "o[0:8, :] = t"], f"x: {_F}, o: {_F}, n: int")


def stored_branches(n: int) -> str:
    """Run-time branches inside a loop, each storing a slice of the output."""
    lines = ["for i in pypto.loop(x.shape[0] // 8):", "    a = x[i * 8 : i * 8 + 8, :]"]
    for i in range(max(n // 3, 1)):
        at = f"o[i * 8 : i * 8 + 8, {i % 8} * 8 : {i % 8} * 8 + 8]"
        cut = f"a[:, {i % 8} * 8 : {i % 8} * 8 + 8]"
        lines += [f"    if i > {i}:", f"        {at} = {cut} * 1.5", f"    {at} = {at} - {cut}"]
    return _kernel(lines)


def unrolled(n: int) -> str:
    """A Python loop over numbers, unrolled, with a slice of a parameter at each step."""
    return _kernel(
        [
            "t = x[0:1, :] + 1",
            f"for i in range({n // 2}):",
            "    r = x[i : i + 1, :] * i",
            "    o[i : i + 1, :] = t + r",
        ]
    )


KINDS: dict[str, Callable[[int], str]] = {
    made.__name__: made
    for made in (
        chain, live, distant, slices, stored_chain, in_place, loop, nested, nested_steps, loops,
        helpers, branches, stored_branches, unrolled,
    )
}  # fmt: skip
