"""``elaborate``: one kernel, its arguments' signature and options in; Tensor IR out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType

from pypto._options import Options
from pypto._recursion import deep_recursion
from pypto.elaborate.annotations import check_annotations, parameter_span
from pypto.elaborate.calls import call_value
from pypto.elaborate.captures import CapturedRead
from pypto.elaborate.checking import check
from pypto.elaborate.diagnostics import Decide, NeedValue, TooMany
from pypto.elaborate.exits import ExitSignal
from pypto.elaborate.expressions import EXPRESSIONS
from pypto.elaborate.machine import Context, Frame, Rebinding
from pypto.elaborate.parse import ParsedFunction, parse
from pypto.elaborate.source import KernelSource
from pypto.elaborate.statements import STATEMENTS, execute
from pypto.elaborate.values import Item, Known, Scalar
from pypto.error import Diagnostic, ParserError, Span, VerifyError, raise_diagnostics
from pypto.ir.expr import Expr, Symbol, apply, const
from pypto.ir.signature import CallSignature, ConstantSignature, ScalarSignature, TensorSignature
from pypto.ir.tensor import Buffer, Kernel, Param, TensorType

__all__ = ["Elaboration", "elaborate"]


@dataclass(frozen=True, slots=True, eq=False)
class Elaboration:
    """What the front end found out about one kernel for one signature.

    ``specialised``: scalar parameters whose Python value the kernel depends on. ``reads``: what it
    took from outside, in order. ``sources``: (label, token digest) of the kernel and every helper
    reached. ``options``: those given, and those that the kernel itself set.
    """

    kernel: Kernel
    reads: tuple[CapturedRead, ...]
    specialised: frozenset[str]
    sources: tuple[tuple[str, str], ...]
    options: Options


def elaborate(
    source: KernelSource,
    signature: CallSignature,
    options: Options | None = None,
    values: Mapping[str, object] | None = None,
    show: Callable[[str], object] | None = None,
) -> Elaboration:
    """Evaluate the kernel's text for arguments of this ``signature``.

    ``values``: the Python values that this call gives to scalar parameters; those that are needed
    at compile time are used and reported in :attr:`Elaboration.specialised`. ``show`` gets what the
    kernel prints. Raises one error that
    holds every problem found, the first hundred at most.
    """
    options = options or Options()
    given = dict(values or {})
    parsed: dict[FunctionType, ParsedFunction] = {}
    specialised: frozenset[str] = frozenset()
    with deep_recursion():
        kernel = parse(source)
        parsed[kernel.function] = kernel
        decided: dict[tuple[object, ...], str] = {}
        while True:
            context = Context(
                given, EXPRESSIONS, STATEMENTS, call_value, options=options, decided=decided
            )
            context.parsed.update(parsed)
            try:
                return _run(context, kernel, signature, specialised)
            except TooMany:
                raise_diagnostics(context.collector.in_order())
            except NeedValue as need:
                # The helpers stay parsed, but their syntax errors belong to the next run.
                assert need.names - specialised, "a known value was asked for again"
                specialised |= need.names
                decided = {}
                context.printed.clear()  # it will be printed again
            except Decide as decide:
                assert decide.decisions.items() - decided.items(), "a decision was made twice"
                decided = {**decided, **decide.decisions}
                context.printed.clear()
            finally:
                if show is not None and context.printed:
                    show("".join(context.printed))


def _run(
    context: Context, kernel: ParsedFunction, signature: CallSignature, specialised: frozenset[str]
) -> Elaboration:
    builder = context.builder
    builder.tile = context.options.vec_tile_shapes
    for diagnostic in (*check_annotations(kernel, signature), *check(kernel)):
        context.collector.add(diagnostic, diagnostic.span or kernel.head)
    names, items = _parameters(context, kernel, signature, specialised)
    frame = Frame(
        context, kernel, items,
        tensor_parameters={n: i for n, i in items.items() if isinstance(i, Buffer)},
    )  # fmt: skip
    buffers = {name: item for name, item in items.items() if isinstance(item, Buffer)}
    try:
        execute(frame, kernel.node.body)
    except ExitSignal:
        pass  # a bare return ends the kernel
    _check_skipped(context)
    _check_outputs(context, kernel, buffers)
    raise_diagnostics(context.collector.in_order())
    made = Kernel(
        kernel.text.label,
        tuple(_param(context, p, buffers, signature, specialised) for p in names),
        builder.finish(),
        tuple(builder.required.values()),
        kernel.head,
        tuple(builder.block.locals),
    )
    sources = tuple((p.text.label, p.digest) for p in context.parsed.values())
    reads = tuple(context.reads.values())
    return Elaboration(made, reads, specialised, sources, context.options)


# --- parameters ---


def _parameters(
    context: Context, kernel: ParsedFunction, signature: CallSignature, specialised: frozenset[str]
) -> tuple[tuple[str, ...], dict[str, Item]]:
    """Names of the parameters, and what each is worth at the start of the body."""
    context.builder.names.update(signature.names)
    items: dict[str, Item] = {}
    tensors = 0
    for index, (name, given) in enumerate(zip(signature.names, signature.parameters, strict=True)):
        if isinstance(given, TensorSignature):
            span = parameter_span(kernel, name)
            type = TensorType(given.dtype, _shape(name, index, given, context.axes))
            buffer = Buffer(name, type, index, span)
            _tie_named_axes(context, buffer, span)
            context.builder.memory[buffer] = signature.alias[tensors]
            tensors += 1
            items[name] = buffer
        elif isinstance(given, ScalarSignature) and name not in specialised:
            kind = "int" if given.kind == "int" else "float"
            items[name] = Scalar(Symbol(name, index, None, kind))  # type: ignore[arg-type]
        elif isinstance(given, ScalarSignature):
            items[name] = Known(context.values[name])
        else:
            items[name] = Known(given.value)
    return signature.names, items


def _shape(
    name: str, index: int, given: TensorSignature, axes: dict[str, Symbol]
) -> tuple[Expr, ...]:
    """Sizes: numbers, and a symbol for each dynamic axis; axes of one name share it."""
    sizes: list[Expr] = []
    for axis, size in enumerate(given.sizes):
        label = given.axis_names[axis] if given.axis_names else None
        if size is not None:
            sizes.append(const(size))
        elif label is None:
            sizes.append(Symbol(f"{name}.shape[{axis}]", index, axis))
        else:
            sizes.append(axes.setdefault(label, Symbol(label, index, axis)))
    return tuple(sizes)


def _tie_named_axes(context: Context, buffer: Buffer, span: Span) -> None:
    """Every call checks that axes of one name have one size: the kernel knows the first only."""
    assert buffer.param is not None
    for axis, size in enumerate(buffer.type.shape):
        if isinstance(size, Symbol) and (size.param, size.axis) != (buffer.param, axis):
            own = Symbol(f"{buffer.name}.shape[{axis}]", buffer.param, axis)
            message = f"axes named '{size.name}' must be equal"
            context.builder.require(apply("eq", size, own), message, span)


def _param(
    context: Context,
    name: str,
    buffers: dict[str, Buffer],
    signature: CallSignature,
    specialised: frozenset[str],
) -> Param:
    index = signature.names.index(name)
    buffer = buffers.get(name)
    if buffer is not None:
        written = buffer in context.builder.written
        return Param(name, index, "tensor", buffer, None, written, buffer in context.builder.read)
    given = signature.parameters[index]
    if isinstance(given, ConstantSignature):
        return Param(name, index, "constant", None, given.value)
    if name in specialised:
        return Param(name, index, "constant", None, context.values[name])
    assert isinstance(given, ScalarSignature)
    return Param(name, index, "int" if given.kind == "int" else "float", None)


# --- statements that were left out ---


def _check_skipped(context: Context) -> None:
    """Every statement that was left out follows from an error that is reported."""
    if context.skipped is None or context.collector:
        return
    message = "this statement was left out without a message: this is a defect of pypto"
    help = "please report it with the text of the kernel"
    code = VerifyError.default_code
    raise VerifyError([Diagnostic(VerifyError, code, message, context.skipped, help=help)])


# --- outputs ---


def _check_outputs(context: Context, kernel: ParsedFunction, buffers: dict[str, Buffer]) -> None:
    """A kernel writes at least one parameter, and assigning to an output's name is no write."""
    written = [name for name, buffer in buffers.items() if buffer in context.builder.written]
    failed = context.skipped is not None or bool(context.collector)
    lost = [r for r in context.rebindings if _is_lost(r, written, failed)]
    for rebinding in lost:
        name = rebinding.name
        message = f"assigning to '{name}' does not write the tensor: it only rebinds the name"
        context.collector.add(
            Diagnostic(
                ParserError, "F00007", message, rebinding.span,
                help=_own_name(rebinding),
            ),
            rebinding.span,
        )  # fmt: skip
    if written or context.collector:
        return
    if not buffers:
        help = "add a tensor parameter for the result and write it: out[:] = value"
    else:
        names = list(buffers)
        help = f"write the result into a parameter: {names[-1]}[:] = value"
    message = f"the kernel '{kernel.text.label}' writes none of its parameters"
    context.collector.add(
        Diagnostic(ParserError, "F00007", message, kernel.head, help=help), kernel.head
    )


def _own_name(rebinding: Rebinding) -> str:
    if rebinding.role == "value":
        return f"write into it: {rebinding.name}[:] = ..."
    return f"give the {rebinding.role} another name: '{rebinding.name}' is the tensor parameter"


def _is_lost(rebinding: Rebinding, written: list[str], failed: bool) -> bool:
    """True when the rebound parameter is an output: the new value would never reach the caller.

    A parameter that was read before and whose new value is used is an input; rebinding its name is
    plain Python. ``failed``: there are other errors, so that an output may be written all the same.
    """
    if rebinding.name in written or not (written or failed):
        return True
    return not rebinding.read_before or not rebinding.used_after
