"""Derivatives of reductions by a program of the user, as operations on whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.errors import TransformError
from olympus_core.ir.olympuspr import Literal, Olympuspr
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import reshape, spread

#: a value and its tangent, None for zero
Dual = tuple[Any, Any]


def fold_tangents(
    name: str,
    program: Olympuspr,
    arrays: Sequence[Dual],
    inits: Sequence[Dual],
    axes: tuple[int, ...],
) -> list[Any]:
    """Return the tangents of the reductions of arrays over axes, by operations on whole arrays.

    `arrays` and `inits` are pairs of a value and its tangent; `name` is the operation.

    Each of a logarithmic number of steps combines one half of the remaining rows with the other.

    The program is assumed to be associative and commutative.  Raise TransformError if it has other
    than elementwise operations, which apply to arrays as they do to scalars.
    """
    if not all(e.primitive.is_elementwise for e in program.eqns):
        raise TransformError(
            f"the derivative of lax.{name} needs a function made of elementwise operations",
            hint="use lax.add, lax.max or lax.min, or write the reduction as a scan",
        )
    shape = shape_of(arrays[0][0])
    remaining = tuple([i for i in range(len(shape)) if i not in axes])
    count, rest = math.prod([shape[i] for i in axes]), tuple([shape[i] for i in remaining])
    if count == 0:
        return [None if t is None else spread(t, rest) for _, t in inits]
    order = (*axes, *remaining)
    values = _apply_linear(lambda v: op.transpose(v, permutation=order), arrays)
    values = _apply_linear(lambda v: reshape(v, (count, *rest)), values)
    odd = []
    while count > 1:
        half = count // 2
        if count % 2:
            odd.append(_rows(values, count - 1, count))
        values = _combined(program, [*_rows(values, 0, half), *_rows(values, half, 2 * half)])
        count = half
    for part in odd:
        values = _combined(program, [*values, *part])
    values = _apply_linear(lambda v: reshape(v, rest), values)
    return [t for _, t in _combined(program, [*inits, *values])]


def _apply_linear(function: Callable[[Any], Any], values: Sequence[Dual]) -> list[Dual]:
    """Apply a linear function to values and to their tangents."""
    return [(function(x), None if t is None else function(t)) for x, t in values]


def _rows(values: Sequence[Dual], start: int, limit: int) -> list[Dual]:
    """Return rows of each array."""
    rest = shape_of(values[0][0])[1:]
    begin, end = (start, *[0] * len(rest)), (limit, *rest)
    return _apply_linear(
        lambda v: op.slice(v, start_indices=begin, limit_indices=end, strides=None), values
    )


def _combined(program: Olympuspr, args: Sequence[Dual]) -> list[Dual]:
    """Return the program's results and their tangents."""
    env: dict[Any, Dual] = dict(zip(program.invars, args, strict=True))

    def read(atom: Any) -> Dual:
        return (atom.value, None) if atom.__class__ is Literal else env[atom]

    for eqn in program.eqns:
        primals, tangents = zip(*map(read, eqn.inputs), strict=True)
        (result,) = eqn.outputs
        if all(t is None for t in tangents):
            env[result] = eqn.primitive.bind(*primals, **eqn.params), None
        else:
            env[result] = eqn.primitive.jvp(primals, tangents, **eqn.params)
    shape = shape_of(args[-1][0])
    return _apply_linear(lambda v: spread(v, shape), [read(atom) for atom in program.outvars])
