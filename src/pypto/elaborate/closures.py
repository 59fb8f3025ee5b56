"""Functions and lambdas that stand in a kernel or helper: closures over the names around them."""

from __future__ import annotations

import libcst as cst

from pypto.elaborate.assignments import bind
from pypto.elaborate.diagnostics import Poisoned
from pypto.elaborate.machine import Frame, identifier
from pypto.elaborate.scopes import Parameters, assigned_names
from pypto.elaborate.values import Closure, Item

__all__ = ["define", "make_lambda", "own_names"]


def define(frame: Frame, node: cst.FunctionDef) -> None:
    """``def name(...):`` inside a function; its defaults are evaluated now."""
    if node.decorators or node.asynchronous is not None:
        raise Poisoned  # reported by the check of its syntax
    name = identifier(node.name)
    closure = Closure(name, node, frame, _defaults(frame, node))
    bind(frame, name, closure, frame.span(node.name), "function")


def make_lambda(frame: Frame, node: cst.Lambda) -> Item:
    """The value of a lambda expression."""
    return Closure("<lambda>", node, frame, _defaults(frame, node))


def _defaults(frame: Frame, node: cst.FunctionDef | cst.Lambda) -> dict[str, Item]:
    parameters = node.params
    every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return {
        identifier(param.name): frame.evaluate(param.default)
        for param in every
        if param.default is not None
    }


def own_names(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """The names that Python makes local to the function."""
    return frozenset((*Parameters.of_tree(node.params).every, *assigned_names(node.body)))
