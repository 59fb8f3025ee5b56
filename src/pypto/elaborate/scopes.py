"""Scopes: which names a nested function or comprehension has of its own, and its parameters."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from pypto.elaborate.names import normal
from pypto.elaborate.parse import children

__all__ = ["COMPREHENSIONS", "Parameters", "assigned_names", "target_names"]

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


def target_names(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment to ``target`` sets."""
    if isinstance(target, cst.Name):
        yield normal(target.value)
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from target_names(element.value)


def assigned_names(node: cst.CSTNode) -> Iterator[str]:
    """The names that ``node`` sets in the function around it: Python makes them local there.

    Targets of comprehensions and names inside nested functions belong to these.
    """
    if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.NamedExpr):
        yield from target_names(node.target)
    elif isinstance(node, cst.Del):
        yield from target_names(node.target)
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield from target_names(node.asname.name)
    elif isinstance(node, cst.FunctionDef | cst.ClassDef):
        yield normal(node.name.value)
    inner = isinstance(node, cst.FunctionDef | cst.Lambda | cst.ClassDef)
    for child in children(node):
        if not inner or child is not node.body:  # type: ignore[attr-defined]
            yield from assigned_names(child)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function by kind, in Python's order."""

    positional_only: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    star: str | None = None  # *args
    keyword_only: tuple[str, ...] = ()
    double_star: str | None = None  # **kwargs

    @classmethod
    def of_code(cls, code: types.CodeType) -> Parameters:
        """Those of a function object."""
        names, first = code.co_varnames, code.co_posonlyargcount
        count = code.co_argcount
        end = count + code.co_kwonlyargcount
        star = code.co_flags & inspect.CO_VARARGS != 0
        return cls(
            names[:first],
            names[first:count],
            names[end] if star else None,
            names[count:end],
            names[end + star] if code.co_flags & inspect.CO_VARKEYWORDS else None,
        )

    @classmethod
    def of_tree(cls, node: cst.Parameters) -> Parameters:
        """Those of a function that stands in the text of another."""

        def names(params: object) -> tuple[str, ...]:
            return tuple(normal(p.name.value) for p in params)  # type: ignore[attr-defined]

        star, double = node.star_arg, node.star_kwarg
        return cls(
            names(node.posonly_params),
            names(node.params),
            normal(star.name.value) if isinstance(star, cst.Param) else None,
            names(node.kwonly_params),
            normal(double.name.value) if isinstance(double, cst.Param) else None,
        )

    @property
    def one_by_one(self) -> tuple[str, ...]:
        """All but ``*args`` and ``**kwargs``."""
        return (*self.positional_only, *self.positional, *self.keyword_only)

    @property
    def every(self) -> tuple[str, ...]:
        """All names, the collecting ones last."""
        return (*self.one_by_one, *(n for n in (self.star, self.double_star) if n is not None))

    def __str__(self) -> str:
        """As messages list them."""
        stars = [f"*{self.star}"] if self.star else []
        doubles = [f"**{self.double_star}"] if self.double_star else []
        shown = [*self.positional_only, *self.positional, *stars, *self.keyword_only, *doubles]
        return ", ".join(shown)
