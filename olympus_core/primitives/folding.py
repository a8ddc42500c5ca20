"""Reductions by a program, as a tree of elementwise operations on arrays.

Arrays with their tangents enter, and the tangents of their reduction leave: a logarithmic number
of steps, each of which combines one half of what is left with the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.avals import shape_of
from olympus_core.errors import TransformError
from olympus_core.olympuspr import Literal, Olympuspr
from olympus_core.primitive import op
from olympus_core.primitives.elementwise.base import Elementwise, spread

__all__ = ["fold_tangents"]

#: a value and its tangent, None for zero
Dual = tuple[Any, Any]


def fold_tangents(
    program: Olympuspr, arrays: Sequence[Dual], inits: Sequence[Dual], axes: tuple[int, ...]
) -> list[Any]:
    """The tangents of the reductions of arrays over axes.

    The program is taken to be associative and commutative.  Raises TransformError where it is more
    than elementwise operations, which apply to arrays as they do to scalars.
    """
    if not all(isinstance(e.primitive, Elementwise) for e in program.eqns):
        raise TransformError(
            "the derivative of lax.reduce needs a function made of elementwise operations",
            hint="use reduce_sum, reduce_max, ... or write the reduction as a scan",
        )
    shape = shape_of(arrays[0][0])
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    count, rest = math.prod([shape[i] for i in axes]), tuple([shape[i] for i in kept])
    if count == 0:
        return [None if t is None else spread(t, rest) for _, t in inits]
    order = (*axes, *kept)
    values = _map(lambda v: op.transpose(v, permutation=order), arrays)
    values = _map(lambda v: _reshape(v, (count, *rest)), values)
    odd = []
    while count > 1:
        half = count // 2
        if count % 2:
            odd.append(_part(values, count - 1, count))
        values = _apply(program, [*_part(values, 0, half), *_part(values, half, 2 * half)])
        count = half
    for part in odd:
        values = _apply(program, [*values, *part])
    values = _map(lambda v: _reshape(v, rest), values)
    return [t for _, t in _apply(program, [*inits, *values])]


def _map(function: Callable[[Any], Any], values: Sequence[Dual]) -> list[Dual]:
    return [(function(x), None if t is None else function(t)) for x, t in values]


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return op.reshape(x, dimensions=None, new_sizes=shape)


def _part(values: Sequence[Dual], start: int, limit: int) -> list[Dual]:
    """Rows of each array."""
    rest = shape_of(values[0][0])[1:]
    begin, end = (start, *[0] * len(rest)), (limit, *rest)
    return _map(lambda v: op.slice(v, start_indices=begin, limit_indices=end, strides=None), values)


def _apply(program: Olympuspr, args: Sequence[Dual]) -> list[Dual]:
    """The program's results and their tangents."""
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
    return _map(lambda v: spread(v, shape), [read(atom) for atom in program.outvars])
