"""The arrays of `sparsify`: buffers that several sparse and dense values share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.sparse.base import JAXSparse
from olympus_core.library.sparse.compressed import BCSR
from olympus_core.library.sparse.coordinates import BCOO


class SparsifyValue(NamedTuple):
    """A dense or sparse array, by the positions of its buffers in a `SparsifyEnv`.

    A dense array has no indices; a BCSR array has an `indptr_ref`.

    >>> SparsifyEnv([array([1.0])]).dense(array([2.0]))[:2]
    ((1,), 1)
    """

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Return True for a sparse array."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Return True for a dense array."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Return True for an array of coordinates."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Return True for an array of compressed rows."""
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """The buffers of the values of one evaluation.

    >>> env = SparsifyEnv()
    >>> env.data(env.dense(array([1.0, 2.0])))
    Array([1., 2.], dtype=float32)
    """

    def __init__(self, bufs: Sequence[Any] = ()) -> None:
        self._buffers = list(bufs)

    @property
    def buffers(self) -> list[Any]:
        """The buffers, in the order of their positions."""
        return self._buffers

    def _push(self, arr: Any) -> int:
        self._buffers.append(arr if dtypes.is_python_scalar(arr) else asarray(arr))
        return len(self._buffers) - 1

    def _buffer(self, what: str, ref: int | None) -> Any:
        if ref is None:
            raise ArgumentError(f"requested {what} from spvalue with {what}_ref=None")
        return self._buffers[ref]

    def data(self, spvalue: SparsifyValue) -> Array:
        """Return the elements of a value; all of them for a dense one."""
        data: Array = self._buffer("data", spvalue.data_ref)
        return data

    def indices(self, spvalue: SparsifyValue) -> Array:
        """Return the indices of a sparse value; raise ArgumentError for a dense one."""
        indices: Array = self._buffer("indices", spvalue.indices_ref)
        return indices

    def indptr(self, spvalue: SparsifyValue) -> Array:
        """Return the row pointers of a BCSR value; raise ArgumentError for another one."""
        indptr: Array = self._buffer("indptr", spvalue.indptr_ref)
        return indptr

    def dense(self, data: Any) -> SparsifyValue:
        """Add a dense array."""
        return SparsifyValue(np.shape(data), self._push(data))

    def sparse(
        self,
        shape: Sequence[int],
        data: Any = None,
        indices: Any = None,
        indptr: Any = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> SparsifyValue:
        """Add a sparse array of new buffers, or of the buffers at given positions.

        Raises ArgumentError for both, or neither, of data and indices.
        """
        return SparsifyValue(
            tuple(shape),
            self._place("data", data, data_ref, is_needed=True),
            self._place("indices", indices, indices_ref, is_needed=True),
            self._place("indptr", indptr, indptr_ref, is_needed=False),
            indices_sorted,
            unique_indices,
        )

    def _place(self, what: str, array: Any, ref: int | None, *, is_needed: bool) -> int | None:
        if array is None and (ref is not None or not is_needed):
            return ref
        if array is None or ref is not None:
            raise ArgumentError(f"a sparse value needs either {what} or {what}_ref")
        return self._push(array)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _is_spvalue(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """Return a tree of arrays as values of an environment.

    Raises UnsupportedError for a sparse array that is neither BCOO nor BCSR.

    >>> arrays_to_spvalues(SparsifyEnv(), [array([1.0])])[0].is_dense()
    True
    """

    def of_array(x: Any) -> SparsifyValue:
        if not _is_sparse(x):
            return spenv.dense(x)
        if not isinstance(x, BCOO | BCSR):
            raise UnsupportedError(
                f"sparsify supports BCOO and BCSR arrays, not {type(x).__name__}"
            )
        return spenv.sparse(
            x.shape,
            x.data,
            x.indices,
            x.indptr if isinstance(x, BCSR) else None,
            indices_sorted=x.indices_sorted,
            unique_indices=x.unique_indices,
        )

    return tree.map(of_array, args, is_leaf=_is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """Return a tree of values as dense and sparse arrays.

    >>> env = SparsifyEnv()
    >>> spvalues_to_arrays(env, [env.dense(array([1.0]))])
    [Array([1.], dtype=float32)]
    """

    def of_value(value: SparsifyValue) -> Any:
        if value.is_dense():
            return spenv.data(value)
        parts = (spenv.data(value), spenv.indices(value))
        known: dict[str, Any] = {
            "indices_sorted": bool(value.indices_sorted),
            "unique_indices": bool(value.unique_indices),
        }
        if value.is_bcsr():
            return BCSR((*parts, spenv.indptr(value)), shape=value.shape, **known)
        return BCOO(parts, shape=value.shape, **known)

    return tree.map(of_value, spvalues, is_leaf=_is_spvalue)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """Return the types of a tree of values, as of dense arrays.

    >>> env = SparsifyEnv()
    >>> spvalues_to_avals(env, [env.dense(array([1.0]))])
    [ShapedArray(float32[1])]
    """

    def of_value(value: SparsifyValue) -> ShapedArray:
        data = get_aval(spenv.data(value))
        return shaped(value.shape, data.dtype, data.weak_type)

    return tree.map(of_value, spvalues, is_leaf=_is_spvalue)
