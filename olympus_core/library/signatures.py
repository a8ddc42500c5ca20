"""The types of functions that factories create, for annotations only.

Each has the parameters of the functions that a factory creates, with their public names.
"""

from __future__ import annotations

from typing import Protocol

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis
from olympus_core.primitives.precision import Accuracy


class OfX(Protocol):
    """A function of one array."""

    def __call__(self, x: ArrayLike) -> Array: ...


class OfXAccuracy(Protocol):
    """A function of one array, in the accuracy that the caller states."""

    def __call__(self, x: ArrayLike, accuracy: Accuracy | None = None) -> Array: ...


class OfXY(Protocol):
    """A function of `x` and `y`."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...


class Total(Protocol):
    """A sum or a product."""

    def __call__(
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array: ...


class NanTotal(Protocol):
    """A sum or a product that ignores NaNs."""

    def __call__(
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...


class ExtremumFunction(Protocol):
    """The greatest element, or the least."""

    def __call__(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...


class Logical(Protocol):
    """True if all elements are true, or any."""

    def __call__(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...


class CumulativeFunction(Protocol):
    """Sums or products up to each element, with NumPy's original signature."""

    def __call__(
        self,
        a: ArrayLike,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array: ...


class CumulativeOfAxis(Protocol):
    """Sums or products up to each element, with the signature of the array API standard."""

    def __call__(
        self,
        x: ArrayLike,
        /,
        *,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        include_initial: bool = False,
    ) -> Array: ...


class Quantile(Protocol):
    """The values at fractions, or percentages, of the elements."""

    def __call__(
        self,
        a: ArrayLike,
        q: ArrayLike,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Array: ...


class Median(Protocol):
    """The value in the middle of the elements."""

    def __call__(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Array: ...


class Window(Protocol):
    """The weights of a window of `M` points."""

    def __call__(self, M: int) -> Array: ...
