"""`olympus.scipy.cluster.vq`: the nearest codes of observations."""

from __future__ import annotations

from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.linalg.norms import norm as la_norm
from olympus_core.library.numpy.sorting.searching import argmin
from olympus_core.library.promotion import check_arrays, promote_inexact


@composite(static_argnames=("check_finite",))
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Return the index of the nearest code of each observation, and the distance to it.

    obs: observations in the rows, of shape (m, n), or m scalars. code_book: codes in the rows, of
    shape (k, n), or k scalars. Integers become floats. check_finite has no effect.

    Raises ShapeError for arrays of different rank, or of a rank other than 1 and 2.

    >>> vq(array([[0.0, 1.0], [4.0, 4.0]]), array([[0.0, 0.0], [5.0, 5.0]]))[0]
    Array([0, 1], dtype=int32)
    """
    check_arrays("scipy.cluster.vq.vq", obs, code_book)
    points, codes = (asarray(x) for x in promote_inexact(obs, code_book))
    if points.ndim != codes.ndim:
        raise ShapeError("Observation and code_book should have the same rank")
    if points.ndim == 1:
        points, codes = points[:, None], codes[:, None]
    if points.ndim != 2:
        raise ShapeError(f"vq supports arrays of rank 1 and 2, and got rank {points.ndim}")
    distances = la_norm(points[:, None] - codes[None], axis=-1)
    nearest = argmin(distances, axis=-1)
    return nearest, take_along_axis(distances, nearest[:, None], axis=1)[:, 0]
