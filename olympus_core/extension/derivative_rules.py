"""Derivative rules of users: forms that are shorter than a whole rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.errors import UnsupportedError
from olympus_core.extension.rules import (
    Rule,
    Zero,
    is_undefined_primal,
    primitive_jvps,
    primitive_transposes,
)
from olympus_core.ir.primitive import Primitive, op


def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents, each of which may be a Zero.

    >>> add_tangents(Zero(typeof(1.0)), 2.0)
    2.0
    """
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else op.add_any(x, y)


def add_jaxvals(x: Any, y: Any) -> Any:
    """Return the sum of two arrays of one type.

    >>> add_jaxvals(1.0, 2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return op.add_any(x, y)


def instantiate_zeros(tangent: Any) -> Any:
    """Return a tangent, an array of zeros for a Zero.

    >>> instantiate_zeros(Zero(typeof(1.0)))
    Array(0., dtype=float32)
    """
    return tangent.instantiate() if type(tangent) is Zero else tangent


def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Set the forward derivative: a rule for each operand, (tangent, *primals, **params).

    The rules return the operands' contributions to the tangent; None is an operand without one.

    >>> defjvp(square_p, lambda t, x: 2 * x * t)
    """
    defjvp2(primitive, *[rule and _without_result(rule) for rule in jvprules])


def _without_result(rule: Rule) -> Rule:
    return lambda t, _, *primals, **params: rule(t, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Set the forward derivative as `defjvp`, by rules (tangent, result, *primals, **params).

    >>> defjvp2(exp_p, lambda t, out, x: out * t)
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        shares = [
            rule(t, out, *primals, **params)
            for rule, t in zip(jvprules, tangents, strict=True)
            if rule is not None and type(t) is not Zero
        ]
        return out, functools.reduce(add_tangents, shares, Zero.from_primal_value(out))

    primitive_jvps[primitive] = jvp


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare an operation linear, with a transpose (cotangent, **params) -> list of cotangents.

    >>> deflinear(double_p, lambda ct: [2 * ct])
    """
    deflinear2(primitive, lambda ct, *_, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Declare an operation linear, with a transpose (cotangent, *operands, **params).

    >>> deflinear2(double_p, lambda ct, x: [2 * ct])
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            several = primitive.multiple_results
            zero = Zero.from_primal_value
            return out, [*map(zero, out)] if several else zero(out)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    def transpose(cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        if type(cotangent) is Zero:
            return [Zero(x.aval) if is_undefined_primal(x) else None for x in operands]
        result: Sequence[Any] = transpose_rule(cotangent, *operands, **params)
        return result

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def defbilinear(primitive: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Declare an operation linear in each of two operands.

    `lhs_rule(cotangent, x, y, **params)` returns the cotangent of the first, which is undefined in
    it, and `rhs_rule` that of the second.

    >>> defbilinear(times_p, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    """
    bind: Callable[..., Any] = primitive.bind
    defjvp(
        primitive,
        lambda t, x, y, **params: bind(t, y, **params),
        lambda t, x, y, **params: bind(x, t, **params),
    )

    def transpose(cotangent: Any, x: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        if type(cotangent) is Zero:
            return None, None
        if is_undefined_primal(x):
            return lhs_rule(cotangent, x, y, **params), None
        return None, rhs_rule(cotangent, x, y, **params)

    primitive_transposes[primitive] = transpose


def get_primitive_transpose(p: Primitive) -> Rule:
    """Return the transpose of a primitive; raise UnsupportedError if it has none.

    >>> rule = get_primitive_transpose(lax.neg_p)
    """
    try:
        return primitive_transposes[p]
    except KeyError:
        raise UnsupportedError(
            f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented"
        ) from None
