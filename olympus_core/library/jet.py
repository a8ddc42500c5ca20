"""`olympus.experimental.jet`: the derivatives of all orders along a curve, by one evaluation.

The derivatives are those of the function along the polynomial curve with the given derivatives, by
forward derivatives of forward derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.errors import ArgumentError
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like, zeros_like
from olympus_core.transforms.autodiff import jvp


def _checked_order(primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> int:
    """Return the number of terms of each series; raise ArgumentError if they differ."""
    orders = {len(terms) for terms in series}
    if len(orders) != 1 or len(primals) != len(series):
        raise ArgumentError("jet terms have inconsistent lengths for different arguments")
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        for j, value in enumerate((x, *terms)):
            if tree.structure(value) != tree.structure(0):
                what = (
                    f"primal value at position {i}" if j == 0 else f"term {j - 1} for argument {i}"
                )
                raise ArgumentError(f"{what} is not an array")
    return orders.pop()


def _curve(x: Any, coefficients: Sequence[Any], t: Any) -> Any:
    """Return x + c1 t + c2 t^2 + ... by Horner's rule."""
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = (coefficient + total) * t
    return x + total


def _extended(derivatives: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Return a function of a value and its first derivatives, with the next derivative too."""

    def with_next(t: Any) -> list[Any]:
        values, tangents = jvp(derivatives, (t,), (ones_like(t),))
        return [*values, tangents[-1]]

    return with_next


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return the value of a function and its derivatives along a curve.

    primals: the arguments, arrays. series: for each argument, the n derivatives of its curve.
    factorial_scaled: False if the series are coefficients of Taylor polynomials.

    The results are the tree of values, and the same tree with a list of n derivatives, or
    coefficients, for each leaf. Each order about doubles the operations before simplification.

    Raises ArgumentError for series of different lengths, or arguments that are trees.

    >>> value, terms = jet(sin, (0.0,), ((1.0, 0.0, 0.0),))
    >>> [float(term) for term in terms]
    [1.0, 0.0, -1.0]
    """
    order = _checked_order(primals, series)
    scales = [math.factorial(k + 1) if factorial_scaled else 1 for k in range(order)]
    curves = [[s / f for s, f in zip(terms, scales, strict=True)] for terms in series]
    out_trees: list[Any] = []

    def at(t: Any) -> list[Any]:
        args = [_curve(x, terms, t) for x, terms in zip(primals, curves, strict=True)]
        leaves, treedef = tree.flatten(fun(*args))
        out_trees.append(treedef)
        return [[asarray(leaf) for leaf in leaves]]

    derivatives: Callable[[Any], list[Any]] = at
    for _order in range(order):
        derivatives = _extended(derivatives)
    values, *terms = derivatives(asarray(0.0))
    factors = [1 if factorial_scaled else 1 / math.factorial(k + 1) for k in range(order)]
    columns = [
        [_term(value, term[i], f) for term, f in zip(terms, factors, strict=True)]
        for i, value in enumerate(values)
    ]
    return out_trees[-1].unflatten(values), out_trees[-1].unflatten(columns)


def _term(value: Any, derivative: Any, factor: Any) -> Any:
    """Return a derivative, or 0 for a value of integers, times a factor."""
    if dtypes.kind(value.dtype) not in "fc":
        return zeros_like(value)
    return (derivative * factor).astype(value.dtype)
