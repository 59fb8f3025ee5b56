"""Places where a kernel changes what it must put back: flags, tensors of queues, buffers."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.lint import nodes
from pypto.lint.nodes import Expr, Function, Type
from pypto.lint.scope import Variable

__all__ = ["BUFFERS", "OPERATIONS", "QUEUES", "FlagUse", "Life", "Site", "Use", "View"]

OPERATIONS = frozenset(
    """SetFlag WaitFlag AllocTensor EnQue DeQue FreeTensor FreeAllEvent AllocEventID ReleaseEventID
    InitBuffer Reset""".split()
)

QUEUES = frozenset(("TQue", "TQueBind"))
BUFFERS = QUEUES | {"TBuf"}


@dataclass(slots=True, eq=False)
class Site:
    """One such call.

    ``variable``: the queue, buffer or event id that it is about, or the array of event ids; None
    where it is not known; ``object``: how it is named. ``event``: of a flag. ``number`` and
    ``bytes`` of InitBuffer, or the constant id of a flag, or the element of an array.
    """

    kind: str
    node: nodes.Call
    variable: Variable | None
    object: Expr | None
    event: Type | None = None
    number: int | None = None
    bytes: int | None = None


@dataclass(slots=True, eq=False)
class Use:
    """An operand in a buffer: its offset, and its bytes or 0 where they are not known."""

    buffer: Variable
    offset: int
    bytes: int
    name: str
    role: str
    value: Expr
    notes: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class FlagUse:
    """A flag with a constant id, in the function that sets it or waits for it."""

    function: Function
    value: Expr
    number: int
    notes: tuple[str, ...]


@dataclass(slots=True, eq=False)
class View:
    """A tensor of a TBuf: its first byte and the one behind its last, 0 for the whole buffer."""

    tensor: Variable
    buffer: Variable
    element: str | None
    begin: int
    end: int
    at: int
    stop: int


@dataclass(slots=True, eq=False)
class Life:
    """A call in the life of tensors of queues: what it takes, gives back or uses.

    ``result``: the tensor that stands for what the call returns, if that is no tensor taken here.
    """

    site: Site
    tensors: list[Variable]
    result: Variable | None = None
