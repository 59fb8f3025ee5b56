"""Arguments to parameters, as Python binds them; for helpers and for functions made in kernels."""

from __future__ import annotations

from collections.abc import Callable

from pypto.elaborate.diagnostics import refuse
from pypto.elaborate.scopes import Parameters
from pypto.elaborate.tensors import Argument
from pypto.elaborate.values import Item, Mapping, Sequence
from pypto.error import FeTypeError, Span

__all__ = ["bind_arguments"]


def bind_arguments(
    name: str,
    parameters: Parameters,
    default: Callable[[str], Item | None],
    positional: list[Argument],
    keyword: dict[str, Argument],
    span: Span,
) -> dict[str, Argument]:
    """The argument of each parameter of the function ``name``; ``default`` gives those left out."""
    rest = f"its parameters are {parameters}" if parameters.every else "it has no parameters"
    names = (*parameters.positional_only, *parameters.positional)
    bound = dict(zip(names, positional, strict=False))
    more = positional[len(names) :]
    if parameters.star is not None:
        bound[parameters.star] = (Sequence([item for item, _ in more], False), span)
    elif more:
        refuse(
            FeTypeError,
            f"'{name}' takes {len(names)} positional arguments, got {len(positional)}",
            span,
            help=rest,
        )
    named: dict[object, Item] = {}
    for key, argument in keyword.items():
        if key in parameters.positional or key in parameters.keyword_only:
            if key in bound:
                refuse(FeTypeError, f"'{name}' gets '{key}' twice", argument[1])
            bound[key] = argument
        elif parameters.double_star is not None:
            named[key] = argument[0]
        else:
            refuse(
                FeTypeError,
                f"'{name}' has no parameter '{key}' that can be given by name",
                argument[1],
                help=rest,
            )
    if parameters.double_star is not None:
        bound[parameters.double_star] = (Mapping(named), span)
    for key in parameters.one_by_one:
        if key in bound:
            continue
        item = default(key)
        if item is None:
            refuse(FeTypeError, f"'{name}' misses the argument '{key}'", span, help=rest)
        bound[key] = (item, span)
    return bound
