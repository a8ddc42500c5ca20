"""The class that all sparse arrays share, and their errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import as_sequence, shape_of
from olympus_core.base.errors import (
    ArgumentError,
    OlympusWarning,
    UnsupportedError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.shapes import squeeze
from olympus_core.transforms.vmapping import vmap


class SparseEfficiencyError(ArgumentError):
    """Raised for an operation on sparse arrays that would be slow."""


class SparseEfficiencyWarning(OlympusWarning):
    """Warns of an operation on sparse arrays that is slow."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A name of JAX; OLYMPUS never warns with it."""


class JAXSparse:
    """A sparse array: its `data`, its `shape`, and indices, which each format stores differently.

    A sparse array is a tree of arrays; `jit`, `grad` and the other transformations take it.
    """

    data: Array
    shape: tuple[int, ...]
    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of specified elements."""
        raise UnsupportedError(f"{type(self).__name__}.nse")

    @property
    def size(self) -> int:
        """The number of elements of the dense array."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The array with the axes in reverse order."""
        return self.transpose()

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Return the format, the dtype, the shape and the number of specified elements."""
        text = f"{type(self).__name__}({self.dtype}{list(self.shape)}, nse={self.nse})"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, Tracer) else text

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """Return the array with its axes in another order."""
        raise UnsupportedError(f"{type(self).__name__}.transpose")

    def todense(self) -> Array:
        """Return the dense array."""
        raise UnsupportedError(f"{type(self).__name__}.todense")

    def block_until_ready(self) -> JAXSparse:
        """Wait until the arrays are computed, and return this array."""
        for leaf in tree.leaves(self):
            leaf.block_until_ready()
        return self

    def _unsupported(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{type(self).__name__} does not support this operator")

    sum = __neg__ = __pos__ = __matmul__ = __rmatmul__ = __mul__ = __rmul__ = _unsupported
    __add__ = __radd__ = __sub__ = __rsub__ = __getitem__ = _unsupported


def shape_tuple(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of ints."""
    return tuple(operator.index(n) for n in as_sequence(shape))


def stored_elements(mat: Any, n_batch: int = 0, n_dense: int = 0) -> int:
    """Return the most elements other than 0 of a batch; raise an error for a traced array."""
    if isinstance(mat, Tracer):
        raise concrete_value_expected(
            "the number of elements of a traced array is not known: pass nse"
        )
    values = np.asarray(mat) != 0
    values = values.any(tuple(range(values.ndim - n_dense, values.ndim)))
    counts = values.sum(tuple(range(n_batch, values.ndim)))
    return int(counts.max(initial=0))


def over_batches(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return a function mapped over the first `count` axes of its arguments."""
    for _ in range(count):
        function = vmap(function)
    return function


def element_batches(mat: Any, axis: int) -> tuple[int, ...]:
    """Return the shape of an element of a sparse array that `vmap` maps along a batch axis."""
    place = axis + mat.ndim if axis < 0 else axis
    if not 0 <= place < mat.n_batch:
        name = type(mat).__name__
        raise ArgumentError(
            f"Cannot map in_axis={axis} for {name} array with n_batch={mat.n_batch}. in_axes for "
            f"batched {name} operations must correspond to a batch dimension."
        )
    return (*mat.shape[:place], *mat.shape[place + 1 :])


def stacked_batches(mat: Any, axis: int, size: int) -> tuple[int, ...]:
    """Return the shape of the sparse array of all results of a mapped function."""
    place = axis + mat.ndim + 1 if axis < 0 else axis
    if not 0 <= place <= mat.n_batch:
        name = type(mat).__name__
        raise ArgumentError(
            f"{name}: cannot add out_axis={axis} for {name} array with n_batch={mat.n_batch}. "
            f"{name} batch axes must be a contiguous block of leading dimensions."
        )
    return (*mat.shape[:place], size, *mat.shape[place:])


def nfold_vmap(
    fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0
) -> Callable[..., Any]:
    """Return `fun` mapped over `N` leading axes; axes of length 1 broadcast if `broadcasted`.

    >>> nfold_vmap(lambda x, y: x + y, 1)(arange(3), arange(1))
    Array([0, 1, 2], dtype=int32)
    """
    for _ in range(N):
        fun = (broadcasting_vmap if broadcasted else vmap)(fun, in_axes=in_axes)
    return fun


def broadcasting_vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0
) -> Callable[..., Any]:
    """Return `fun` mapped over axes that broadcast: those of length 1 have one element for all.

    Raises ArgumentError for axes of two lengths other than 1.

    >>> broadcasting_vmap(lambda x, y: x + y)(arange(3), arange(1))
    Array([0, 1, 2], dtype=int32)
    """

    def mapped(*args: Any) -> Any:
        axes = [in_axes] * len(args) if isinstance(in_axes, int) else list(in_axes)
        sizes = [None if i is None else shape_of(x)[i] for x, i in zip(args, axes, strict=True)]
        several = {n for n in sizes if n is not None and n != 1}
        if len(several) > 1:
            raise ArgumentError(f"broadcasting_vmap: axes of the lengths {sorted(several)}")
        if not several:
            return vmap(fun, in_axes=tuple(axes), out_axes=out_axes)(*args)
        own = [
            x if n != 1 else squeeze(asarray(x), i)
            for x, n, i in zip(args, sizes, axes, strict=True)
        ]
        mapped_axes = [i if n != 1 else None for n, i in zip(sizes, axes, strict=True)]
        return vmap(fun, in_axes=tuple(mapped_axes), out_axes=out_axes)(*own)

    return mapped
