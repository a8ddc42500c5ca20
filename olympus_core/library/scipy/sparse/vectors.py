"""Trees of arrays as vectors, and linear operators on them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros_like
from olympus_core.library.numpy.elementwise.complex import real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.products.matmul import dot, vdot

Operator = Callable[[Any], Any]


def add(x: Any, y: Any) -> Any:
    """Return the sum of two trees."""
    return tree.map(operator.add, x, y)


def subtract(x: Any, y: Any) -> Any:
    """Return the difference of two trees."""
    return tree.map(operator.sub, x, y)


def scaled(factor: Any, x: Any) -> Any:
    """Return a tree times a scalar."""
    return tree.map(lambda leaf: factor * leaf, x)


def inner(x: Any, y: Any) -> Any:
    """Return the inner product, with the conjugate of x."""
    parts = zip(tree.leaves(x), tree.leaves(y), strict=True)
    return sum(vdot(a, b, precision=Precision.HIGHEST) for a, b in parts)


def real_inner(x: Any, y: Any) -> Any:
    """Return the real part of the inner product."""
    return real(inner(x, y))


def length(x: Any) -> Any:
    """Return the Euclidean norm."""
    return sqrt(real_inner(x, x))


def identity(x: Any) -> Any:
    """Return `x`: the operator of no preconditioner."""
    return x


def operator_of(a: Any) -> Operator:
    """Return the function of a linear operator: a function, a square matrix or an object with `@`.

    Raises ShapeError for a matrix that is not square, DTypeError for another object.
    """
    if callable(a):
        return cast(Operator, a)
    shape = getattr(a, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ShapeError(f"linear operator must be a square matrix, but has shape: {shape}")
    if isinstance(a, (Array, np.ndarray)):
        return lambda x: dot(a, x, precision=Precision.HIGHEST)
    if hasattr(a, "__matmul__"):
        return lambda x: a @ x
    raise DTypeError(f"linear operator must be either a function or ndarray: {a}")


class Problem(NamedTuple):
    """The operands of a solver: operators, the right side, the start, and the number of steps."""

    a: Operator
    m: Operator
    b: Any
    x0: Any
    size: int


def problem(a: Any, b: Any, x0: Any, m: Any) -> Problem:
    """Return checked operands; ArgumentError if the trees of b and x0, or their shapes, differ."""
    right = tree.map(asarray, b)
    start = tree.map(zeros_like, right) if x0 is None else tree.map(asarray, x0)
    if tree.structure(start) != tree.structure(right):
        raise ArgumentError(
            "x0 and b must have matching tree structure: "
            f"{tree.structure(start)} vs {tree.structure(right)}"
        )
    shapes = [[x.shape for x in tree.leaves(v)] for v in (start, right)]
    if shapes[0] != shapes[1]:
        raise ArgumentError(f"arrays in x0 and b must have matching shapes: {shapes}")
    size = sum(x.size for x in tree.leaves(right))
    return Problem(operator_of(a), identity if m is None else operator_of(m), right, start, size)
