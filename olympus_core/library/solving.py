"""Linear equations with one batch shape, for the library's `solve` functions.

Derivatives are those of the equation, and reuse the factors of the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base.avals import Shape, get_aval, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.library.promotion import broadcast_shapes, broadcast_to
from olympus_core.primitives.linalg.algebra import eye, solve_by_lu
from olympus_core.primitives.shape import reshape_p, transpose_p


def solve_by_cholesky(a: Any, b: Any) -> Any:
    """Solve a x = b for x, for Hermitian positive-definite matrices; reads the lower triangle."""
    factor = op.cholesky(op.stop_gradient(a))
    return op.factored_solve(a, factor, b, by="cholesky", transpose_a=False)


def inverse(a: Any) -> Array:
    """Return the inverses of square matrices."""
    result: Array = solve_by_lu(a, eye(a))
    return result


def solve_each(name: str, solve: Callable[..., Array], a: Any, b: Any, *extras: Any) -> Array:
    """Solve for a vector or for matrices b, with NumPy's broadcasting of the batch axes.

    `solve(a, b, *extras)` gets matrices, and extra arrays of the batch shape of a, all with one
    batch shape.  One matrix for many right-hand sides is decomposed once.  Raises ShapeError, for
    function `name`, if the shapes do not match.
    """
    a_shape, b_shape = shape_of(a), shape_of(b)
    size = b_shape[-1 if len(b_shape) == 1 else -2] if b_shape else None
    if len(a_shape) < 2 or a_shape[-1] != a_shape[-2] or size != a_shape[-1]:
        raise ShapeError(
            f"{name} needs square matrices (..., m, m), and right-hand sides (m,) or "
            f"(..., m, k), and got {get_aval(a).long_name()} and {get_aval(b).long_name()}"
        )
    if len(b_shape) == 1:
        b = reshape_p.bind(b, dimensions=None, new_sizes=(*b_shape, 1))
        out = solve_each(name, solve, a, b, *extras)
        return reshape_p.bind(out, dimensions=None, new_sizes=shape_of(out)[:-1])
    if len(a_shape) == 2 < len(b_shape):
        return _solve_together(solve, a, b, *extras)
    n, batch = len(a_shape) - 2, broadcast_shapes(a_shape[:-2], b_shape[:-2])
    operands = [_of_batch(x, batch, n) for x in (a, *extras)]
    return solve(operands[0], _of_batch(b, batch, len(b_shape) - 2), *operands[1:])


def _of_batch(x: Any, batch: Shape, count: int) -> Any:
    """Return `x` with its first `count` axes broadcast to a batch shape."""
    shape = shape_of(x)
    return x if shape[:count] == batch else broadcast_to(x, (*batch, *shape[count:]))


def _solve_together(solve: Callable[..., Array], a: Any, b: Any, *extras: Any) -> Array:
    """Solve for many right-hand sides of one matrix, as columns of one."""
    shape = shape_of(b)
    n = len(shape)
    front = (n - 2, *range(n - 2), n - 1)
    b = transpose_p.bind(b, permutation=front)
    moved = shape_of(b)
    wide = (moved[0], get_aval(b).size // moved[0] if moved[0] else 0)
    x = solve(a, reshape_p.bind(b, dimensions=None, new_sizes=wide), *extras)
    x = reshape_p.bind(x, dimensions=None, new_sizes=moved)
    return transpose_p.bind(x, permutation=(*range(1, n - 1), 0, n - 1))
