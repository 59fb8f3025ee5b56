"""Names of the public PyPTO contract, to tell a name that is missing from one that is wrong."""

from __future__ import annotations

__all__ = ["FUNCTIONS", "MEMBERS", "OPERATIONS", "missing"]

OPERATIONS = frozenset(
    """
    abs acos acosh add amax amin arange argmax argmin argsort asin asinh assemble atan atan2 atanh
    atomic_add axpy_ bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor cast cbrt ceil ceil_div clip clone concat conv copysign cos cosh cumprod cumsum
    dequantize div eq erf erfc exp exp2 expand_clone expand_exp_dif expm1 fillpad floor floor_div
    fmod full gather gathermask gcd ge greater gt hypot index_add index_add_ index_add__ub
    index_add_ub index_put_ index_select isfinite isnan le log log10 log1p log2 logical_and
    logical_not lrelu lt matmul maximum minimum mrgsort mul ne neg one_hot ones pack pad permute pow
    prelu prod quantize reciprocal relu remainder reshape rms_norm round rsqrt scatter scatter_
    scatter_update sigmoid sign signbit sin sinh softmax sort32 sqrt sub sum tan tanh topk transpose
    tril triu trunc unpack unsqueeze var view where zeros
    """.split()
)

FUNCTIONS = frozenset(
    """
    from_torch function pass_verify_print pass_verify_save pypto_impl set_verify_golden_data verify
    """.split()
)

MEMBERS = frozenset(
    """
    assemble copy fill_ format get_cache_policy id is_empty set_cache_policy tril_ triu_ valid_shape
    """.split()
)
"""Members of tensors that are no operations."""


def missing(name: str) -> str | None:
    """Why ``pypto.<name>`` is not there; None when the contract has no such name."""
    if name in OPERATIONS:
        return f"the operation pypto.{name} is not implemented yet"
    if name in FUNCTIONS:
        return f"pypto.{name} is not implemented yet"
    return None
