"""Einstein's summation: `einsum`, its path, and products that are one, such as `vecdot`.

A plan depends on subscripts and shapes only, and is made once for each of them; it is a list of
steps on the operands.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ShapeError, TraceError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import one_axis
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.dot import PrecisionLike, canonical_preferred
from olympus_core.library.operands import operand, reject_out
from olympus_core.library.promotion import convert, promote_dtypes
from olympus_core.primitives.dot import dot_general_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import conj_p
from olympus_core.primitives.precision import Params, canonical_precision
from olympus_core.primitives.reduction import reduce_or_p, reduce_sum_p
from olympus_core.primitives.shape import copy_p, reshape_p, squeeze_p, transpose_p
from olympus_core.primitives.slicing import slice_p

Shape = tuple[int, ...]

#: the axes of an operand or of the result, as numbers; equal ones are one label
Axes = Sequence[int | EllipsisType]


class ContractionStep(NamedTuple):
    """One step, on the operands at the indices `at` of a list.

    `kind` is "squeeze", "diagonal", "sum" or "transpose" (with axes), whose result replaces the
    operand; or "dot" (with dimensions), whose result goes to the end of the list.
    """

    kind: str
    at: tuple[int, ...]
    argument: Any


def _subscripts_of(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts as a string, and the operands, from einsum's arguments.

    The other form of arguments, operands each followed by a list of axes, is converted.
    """
    if not arguments:
        raise TraceError("einsum needs subscripts and operands, and got none")
    if isinstance(arguments[0], str):
        return arguments[0].replace(" ", ""), list(arguments[1:])
    pairs = len(arguments) // 2
    operands, lists = list(arguments[0 : 2 * pairs : 2]), list(arguments[1 : 2 * pairs : 2])
    numbers = sorted({i for own in lists for i in own if i is not Ellipsis})
    letters = dict(zip(numbers, string.ascii_letters, strict=False)) | {Ellipsis: "..."}
    text = ",".join("".join(letters[i] for i in own) for own in lists)
    if len(arguments) % 2:
        text += "->" + "".join(letters[i] for i in arguments[-1])
    return text, operands


def _expanded(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, with letters for ellipses."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise ShapeError(
            f"einsum got {len(shapes)} operands for {len(terms)} terms in {subscripts!r}"
        )
    free = [c for c in string.ascii_letters if c not in subscripts]
    ranks = [len(s) - len(t.replace("...", "")) for s, t in zip(shapes, terms, strict=True)]
    for term, shape, rank in zip(terms, shapes, ranks, strict=True):
        if rank < 0 or (rank > 0 and "..." not in term):
            raise ShapeError(f"einsum's term {term!r} does not fit an array of shape {shape}")
    widest = max([r for r, t in zip(ranks, terms, strict=True) if "..." in t], default=0)
    dots = "".join(free[:widest])
    terms = [t.replace("...", dots[widest - r :]) for r, t in zip(ranks, terms, strict=True)]
    if arrow:
        output = output.replace("...", dots)
    else:
        joined = "".join(terms)
        once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots)
        output = dots + "".join(once)
    _check_labels(subscripts, terms, output)
    return terms, output


def _check_labels(subscripts: str, terms: Sequence[str], output: str) -> None:
    input_labels = set("".join(terms))
    if any(not c.isalpha() for c in input_labels | set(output)):
        raise TraceError(f"einsum's labels are letters, and the subscripts are {subscripts!r}")
    if not set(output) <= input_labels or len(set(output)) != len(output):
        raise TraceError(
            f"einsum's result takes labels of the operands, each once, "
            f"and the subscripts are {subscripts!r}"
        )


def _sizes(subscripts: str, terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    """Return the size of each label; an axis of size 1 broadcasts to any size."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        own = dict(zip(term, shape, strict=True))
        for label, n in zip(term, shape, strict=True):
            size = sizes.get(label, 1)
            if own[label] != n or (size != n and 1 not in (size, n)):
                raise ShapeError(
                    f"einsum {subscripts!r} got sizes {size} and {n} for one label: "
                    f"the shapes are {', '.join(map(str, shapes))}"
                )
            sizes[label] = n if size == 1 else size
    return sizes


def _find_path(
    subscripts: str, shapes: Sequence[Shape], optimize: Any = "auto"
) -> Sequence[tuple[int, ...]]:
    """Return the order of contraction: the indices of the operands of each step.

    `optimize` is a value that `numpy.einsum_path` accepts, or "auto".
    """
    if len(shapes) <= 2:
        return [tuple(range(len(shapes)))]
    if isinstance(optimize, (tuple, list)):
        return [tuple(p) for p in optimize if not isinstance(p, str)]
    if optimize is False:
        left_to_right = [(0, len(shapes) - 1 - i) for i in range(1, len(shapes) - 1)]
        return [(0, 1), *left_to_right]
    strategy = "optimal" if optimize in ("auto", True) and len(shapes) <= 5 else "greedy"
    strategy = optimize if optimize in ("optimal", "greedy") else strategy
    terms, output = _expanded(subscripts, shapes)
    known = [[_PLAUSIBLE if is_symbolic_dim(n) else n for n in s] for s in shapes]
    views = [np.broadcast_to(np.float32(0), s) for s in known]
    path = np.einsum_path(f"{','.join(terms)}->{output}", *views, optimize=strategy)[0]
    return [tuple(map(int, p)) for p in path[1:]]


#: the size of a symbolic axis when an order of products is chosen
_PLAUSIBLE = 8


class _Planner:
    """The labels of the operands, updated by each step."""

    def __init__(self, terms: Sequence[str], output: str) -> None:
        self.labels = list(terms)
        self.output = output
        self.steps: list[ContractionStep] = []

    def prepare(self, i: int, shape: Shape, sizes: dict[str, int]) -> None:
        """Drop the axes of operand i that broadcast, and take diagonals of repeated labels."""
        own = self.labels[i]
        wide = [a for a, (c, n) in enumerate(zip(own, shape, strict=True)) if n != sizes[c]]
        if wide:
            self.steps.append(ContractionStep("squeeze", (i,), tuple(wide)))
            own = "".join([c for a, c in enumerate(own) if a not in wide])
        for c in [c for c in dict.fromkeys(own) if own.count(c) > 1]:
            while own.count(c) > 1:
                first, second = own.index(c), own.rindex(c)
                self.steps.append(ContractionStep("diagonal", (i,), (first, second)))
                own = "".join([x for a, x in enumerate(own) if a not in (first, second)]) + c
        self.labels[i] = own

    def sum_out(self, i: int, remaining_labels: str) -> None:
        """Sum operand i over the labels that are not in `remaining_labels`."""
        own = self.labels[i]
        summed_axes = tuple([a for a, c in enumerate(own) if c not in remaining_labels])
        if summed_axes:
            self.steps.append(ContractionStep("sum", (i,), summed_axes))
            self.labels[i] = "".join([c for c in own if c in remaining_labels])

    def contract(self, i: int, j: int) -> None:
        """Contract operands i and j over the labels that no other operand or result has."""
        remaining_labels = self.output + "".join(
            x for n, x in enumerate(self.labels) if n not in (i, j)
        )
        self.sum_out(i, remaining_labels + self.labels[j])
        self.sum_out(j, remaining_labels + self.labels[i])
        in_order = self._joined(i, j, remaining_labels) == self.output
        if not in_order and self._joined(j, i, remaining_labels) == self.output:
            i, j = j, i
        a, b, joined = self.labels[i], self.labels[j], self._joined(i, j, remaining_labels)
        batch = [c for c in a if c in b and c in remaining_labels]
        summed = [c for c in a if c in b and c not in remaining_labels]
        pairs = [(tuple(map(a.index, x)), tuple(map(b.index, x))) for x in (summed, batch)]
        self.steps.append(ContractionStep("dot", (i, j), tuple(pairs)))
        self.labels = [x for n, x in enumerate(self.labels) if n not in (i, j)] + [joined]

    def _joined(self, i: int, j: int, remaining_labels: str) -> str:
        """Return the labels of the product of operands i and j."""
        a, b = self.labels[i], self.labels[j]
        batch = [c for c in a if c in b and c in remaining_labels]
        return "".join(batch + [c for c in a if c not in b] + [c for c in b if c not in a])

    def finish(self) -> None:
        """Transpose the last operand to the result's labels."""
        self.sum_out(0, self.output)
        order = tuple(map(self.labels[0].index, self.output))
        if order != tuple(range(len(order))):
            self.steps.append(ContractionStep("transpose", (0,), order))


@functools.lru_cache(maxsize=2048)
def _plan(
    subscripts: str, shapes: tuple[Shape, ...], path: tuple[tuple[int, ...], ...]
) -> tuple[ContractionStep, ...]:
    """Return the steps that compute an einsum by a path.

    Raises ShapeError if subscripts and shapes do not match, TraceError for wrong subscripts.
    """
    terms, output = _expanded(subscripts, shapes)
    sizes = _sizes(subscripts, terms, shapes)
    planner = _Planner(terms, output)
    for i, shape in enumerate(shapes):
        planner.prepare(i, shape, sizes)
    for step in path:
        places = sorted(step)
        planner.contract(places[0], places[1])
        for before, place in enumerate(places[2:], 2):  # fewer operands remain before it
            planner.contract(place - before, len(planner.labels) - 1)
    planner.finish()
    return tuple(planner.steps)


@out_sharded
def einsum(
    subscripts: str | ArrayLike | Axes,
    /,
    *operands: ArrayLike | Axes,
    out: None = None,
    optimize: bool | str | Sequence[str | Sequence[int]] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
    _dot_general: Callable[..., Any] | None = None,
) -> Array:
    """Return sums of products, by Einstein's convention.

    subscripts: such as "ij,jk->ik", with a letter for each axis of each operand, "..." for
    leading axes that broadcast, and the result's axes after the arrow; without an arrow the
    result has the letters that occur once, in order.  The other form, operands each followed by
    a list of numbers for its axes, is accepted too.  optimize: the order of contraction of more
    than two operands, as in `numpy.einsum_path`.  _dot_general: a function that is called for each
    product instead of `lax.dot_general`, by libraries that quantize the operands.

    Raises ShapeError if subscripts and shapes do not match, TraceError for wrong subscripts.

    >>> einsum("bij,bjk->bik", ones((2, 3, 4)), ones((2, 4, 5))).shape
    (2, 3, 5)
    """
    if out is not None:
        reject_out("einsum", out)
    text, values = _subscripts_of((subscripts, *operands))
    if not values:
        raise TraceError(f"einsum needs operands, and got none for {text!r}")
    values = promote_dtypes(*[operand("einsum", x)[0] for x in values])
    shapes = tuple(map(shape_of, values))
    path = _path(text, shapes, optimize)
    settings = canonical_precision(precision), canonical_preferred("einsum", preferred_element_type)
    for step in _plan(text, shapes, path):
        _take(values, step, *settings, _dot_general)
    (result,) = values
    preferred = settings[1]
    if preferred is not None and get_aval(result).dtype != preferred:
        result = convert(result, preferred)
    return result if isinstance(result, Array) else copy_p.bind(result)


def _path(
    text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    if len(shapes) <= 2:
        return ((0, 1),) if len(shapes) == 2 else ()
    strategy = optimize if isinstance(optimize, (str, bool)) else tuple(map(_hashable, optimize))
    return _cached_path(text, shapes, strategy)


def _hashable(step: Any) -> Any:
    return step if isinstance(step, str) else tuple(step)


@functools.lru_cache(maxsize=2048)
def _cached_path(
    text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    return tuple(_find_path(text, shapes, optimize))


def _take(
    values: list[Any],
    step: ContractionStep,
    precision: Params,
    preferred: Any,
    dot_general: Callable[..., Any] | None,
) -> None:
    """Take one step of a plan on the list of operands."""
    kind, at, argument = step
    if kind == "dot":
        product = (dot_general or dot_general_p.bind)(
            values[at[0]],
            values[at[1]],
            dimension_numbers=argument,
            precision=precision,
            preferred_element_type=preferred,
        )
        for i in sorted(at, reverse=True):
            del values[i]
        values.append(product)
    else:
        x = values[at[0]]
        if kind == "sum" and preferred is not None and get_aval(x).dtype != preferred:
            x = convert(x, preferred)
        values[at[0]] = _UNARY[kind](x, argument)


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return (reduce_or_p if get_aval(x).dtype == BOOL else reduce_sum_p).bind(x, axes=axes)


def _diagonal(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the diagonal of two axes of one size n, as the last axis: every (n + 1)th element."""
    shape = shape_of(x)
    other_axes = tuple([i for i in range(len(shape)) if i not in axes])
    n, sizes = shape[axes[0]], tuple([shape[i] for i in other_axes])
    flat = reshape_p.bind(x, dimensions=(*other_axes, *axes), new_sizes=(*sizes, n * n))
    return slice_p.bind(
        flat,
        start_indices=(0,) * (len(other_axes) + 1),
        limit_indices=(*sizes, n * n),
        strides=(*[1] * len(other_axes), n + 1),
    )


_UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "squeeze": lambda x, axes: squeeze_p.bind(x, dimensions=axes),
    "diagonal": _diagonal,
    "sum": _sum,
    "transpose": lambda x, order: transpose_p.bind(x, permutation=order),
}


def einsum_path(
    subscripts: str | ArrayLike | Axes,
    /,
    *operands: ArrayLike | Axes,
    optimize: bool | str | Sequence[str | Sequence[int]] = "auto",
) -> tuple[list[tuple[int, ...]], str]:
    """Return the order in which `einsum` contracts its operands, and a description of it.

    Each pair of the path is two indices in the list of operands; a result goes to the end of it.

    >>> einsum_path("ij,jk,kl", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 3)))[0]
    [(0, 1), (0, 1)]
    """
    text, values = _subscripts_of((subscripts, *operands))
    shapes = tuple(map(shape_of, values))
    path = list(_find_path(text, shapes, optimize))
    views = [np.broadcast_to(np.float32(0), s) for s in shapes]
    return path, str(np.einsum_path(text, *views, optimize=["einsum_path", *path])[1])


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the scalar products of vectors along `axis`, with `x1` conjugated; others broadcast.

    Raises ShapeError if the vectors differ in length.

    >>> vecdot(asarray([[1, 2], [3, 4]]), asarray([1, 1]))
    Array([3, 7], dtype=int32)
    """
    x1, x2 = (_last(operand("vecdot", x)[0], axis) for x in (x1, x2))
    lengths = shape_of(x1)[-1], shape_of(x2)[-1]
    if lengths[0] != lengths[1]:  # also for length 1: the axis of a product does not broadcast
        raise ShapeError(f"vecdot needs vectors of one length, and got {lengths[0]}, {lengths[1]}")
    return einsum(
        "...i,...i->...",
        _conj(x1),
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def matvec(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the products of matrices (..., n, k) and vectors (..., k); leading axes broadcast.

    Raises ShapeError if the contracted sizes differ.

    >>> matvec(asarray([[1, 2], [3, 4]]), asarray([1, 1]))
    Array([3, 7], dtype=int32)
    """
    return einsum(
        "...ij,...j->...i",
        x1,
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def vecmat(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the products of vectors (..., k), conjugated, and matrices (..., k, m).

    Raises ShapeError if the contracted sizes differ.

    >>> vecmat(asarray([1, 1]), asarray([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    return einsum(
        "...i,...ij->...j",
        _conj(operand("vecmat", x1)[0]),
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _conj(x: Any) -> Any:
    return conj_p.bind(x) if dtypes.kind(get_aval(x).dtype) == "c" else x


def _last(x: Any, axis: int) -> Any:
    """Return `x` with an axis moved to the end."""
    rank = get_aval(x).ndim
    place = one_axis("vecdot", rank, axis)
    if place == rank - 1:
        return x
    return transpose_p.bind(x, permutation=(*[i for i in range(rank) if i != place], place))
