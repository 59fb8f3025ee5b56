"""Arguments of the functions of the language, by name."""

from __future__ import annotations

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.values import Item
from pypto.error import FeTypeError, Span
from pypto.language.builtin import Builtin

__all__ = ["bind_builtin"]

Argument = tuple[Item, Span]
Arguments = list[Argument]
Keywords = dict[str, Argument]


def bind_builtin(
    function: Builtin,
    positional: Arguments,
    keyword: Keywords,
    span: Span,
    names: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> dict[str, Argument]:
    """Arguments by name; ``optional`` ones may be left out."""
    usage = function.usage
    every = names + optional
    if len(positional) > len(every):
        refuse(
            FeTypeError, f"{function.name} takes {len(every)} arguments, got {len(positional)}",
            span, help=usage,
        )  # fmt: skip
    bound = dict(zip(every, positional, strict=False))
    for key, argument in keyword.items():
        if key not in every:
            refuse(
                FeTypeError, f"{function.name} has no parameter '{key}'", argument[1], help=usage
            )
        if key in bound:
            refuse(FeTypeError, f"{function.name} got '{key}' twice", argument[1], help=usage)
        bound[key] = argument
    for key in names:
        if key not in bound:
            refuse(FeTypeError, f"{function.name} misses the argument '{key}'", span, help=usage)
    return bound
