"""Products of arrays with groups of rows of different sizes: `ragged_dot` and its general form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import DTypeError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.dot import DotDimensionNumbers, PrecisionLike, dot_general
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.lax.shape import broadcast_in_dim, iota, reshape, transpose
from olympus_core.library.operands import align, choose
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.elementwise.arithmetic import sub_p
from olympus_core.primitives.elementwise.logic import and_p, le_p, lt_p


class RaggedDotDimensionNumbers:
    """The axes of a ragged product: those of `dot_general`, the ragged axis and the group axis.

    dot_dimension_numbers: ((lhs contracting axes, rhs contracting axes), (lhs batch axes, rhs
    batch axes)).  lhs_ragged_dimensions: the one axis of lhs that the groups divide.
    rhs_group_dimensions: the axis of rhs for the group, if the ragged axis is not contracted and
    not a batch axis.

    >>> RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]).lhs_ragged_dimensions
    (0,)
    """

    def __init__(
        self,
        dot_dimension_numbers: DotDimensionNumbers,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        (contract, contract_rhs), (batch, batch_rhs) = dot_dimension_numbers
        self.dot_dimension_numbers = (
            (tuple(contract), tuple(contract_rhs)),
            (tuple(batch), tuple(batch_rhs)),
        )
        self.lhs_ragged_dimensions = tuple(lhs_ragged_dimensions)
        self.rhs_group_dimensions = tuple(rhs_group_dimensions)

    def _fields(self) -> tuple[Any, ...]:
        return self.dot_dimension_numbers, self.lhs_ragged_dimensions, self.rhs_group_dimensions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedDotDimensionNumbers) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        numbers, ragged, group = self._fields()
        return (
            f"RaggedDotDimensionNumbers(dot_dimension_numbers={numbers}, "
            f"lhs_ragged_dimensions={ragged}, rhs_group_dimensions={group})"
        )


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@out_sharded
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Multiply each group of rows of `lhs` with the matrix of the group.

    lhs: shape (m, k).  rhs: shape (g, k, n), a matrix for each group.  group_sizes: integers, shape
    (g,), the numbers of rows of the groups, in order; rows after the last group give 0.  The result
    has the shape (m, n).

    Raises ShapeError for other shapes, DTypeError for sizes that are not integers, and
    UnsupportedError for `group_offset`.

    >>> ragged_dot(ones((3, 2)), asarray([[[1.0], [1.0]], [[5.0], [5.0]]]), asarray([1, 2]))
    Array([[ 2.],
           [10.],
           [10.]], dtype=float32)
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset
    )


@out_sharded
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Contract axes of `lhs` and `rhs`, of which one axis of `lhs` is divided into groups.

    If the ragged axis is contracted, the result has a first axis for the groups, which are
    contracted separately.  If it is a batch axis, this is `dot_general`.  Otherwise `rhs` has an
    axis with a slice for each group, as in `ragged_dot`.
    group_sizes: integers, shape (g,), or with axes before it for the batch axes of `lhs` and the
    axes of the kind of the ragged axis that come before it.

    Raises ShapeError for other shapes and axes, DTypeError for sizes that are not integers, and
    UnsupportedError for `group_offset`.

    >>> numbers = RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [])
    >>> ragged_dot_general(ones((3, 1)), ones((3, 1)), asarray([1, 2]), numbers)
    Array([[[1.]],
           [[2.]]], dtype=float32)
    """
    check_arrays("ragged_dot_general", lhs, rhs, group_sizes)
    if group_offset is not None:
        raise UnsupportedError("ragged_dot_general does not take group_offset")
    numbers = ragged_dot_dimension_numbers
    _Ragged.of(get_aval(lhs), numbers).check(get_aval(rhs), get_aval(group_sizes), numbers)
    return _product(lhs, rhs, group_sizes, numbers, precision, preferred_element_type)


class _Ragged(NamedTuple):
    """The ragged axis: its kind, its operand, and the axes that group sizes may depend on."""

    kind: str
    aval: ShapedArray
    axis: int
    prefix: tuple[int, ...]

    @staticmethod
    def of(aval: ShapedArray, numbers: RaggedDotDimensionNumbers) -> _Ragged:
        if len(numbers.lhs_ragged_dimensions) != 1:
            raise ShapeError(
                "ragged_dot_general expects exactly one lhs ragged dimension, and got "
                f"{numbers.lhs_ragged_dimensions}"
            )
        (axis,) = numbers.lhs_ragged_dimensions
        if not 0 <= axis < aval.ndim:
            raise ShapeError(
                "ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and "
                f"less than the rank of lhs, and got {axis} for rank {aval.ndim}"
            )
        (contract, _), (batch, _) = numbers.dot_dimension_numbers
        free = tuple(i for i in range(aval.ndim) if i not in (*contract, *batch))
        if axis in batch:
            return _Ragged("batch", aval, axis, batch[: batch.index(axis)])
        kind, axes = ("contracting", contract) if axis in contract else ("free", free)
        return _Ragged(kind, aval, axis, batch + axes[: axes.index(axis)])

    def check(
        self, rhs: ShapedArray, sizes: ShapedArray, numbers: RaggedDotDimensionNumbers
    ) -> None:
        if dtypes.kind(sizes.dtype) not in "iu":
            raise DTypeError(
                "ragged_dot_general requires that group_sizes.dtype is subtype of np.integer, and "
                f"got {sizes.dtype}"
            )
        if sizes.ndim == 0:
            raise ShapeError("ragged_dot_general expects rank of group_sizes to be >=1")
        expected = (*[self.aval.shape[i] for i in self.prefix], sizes.shape[-1])
        if sizes.ndim != 1 and sizes.shape != expected:
            raise ShapeError(
                f"ragged_dot_general expects group_sizes to have shape {expected}, and got "
                f"{sizes.shape}"
            )
        if self.kind != "batch" and is_symbolic_dim(sizes.shape[-1]):
            raise ShapeError("ragged_dot_general requires the group count to be static")
        self._check_group_axis(rhs, sizes.shape[-1], numbers)

    def _check_group_axis(
        self, rhs: ShapedArray, count: int, numbers: RaggedDotDimensionNumbers
    ) -> None:
        group = numbers.rhs_group_dimensions
        if self.kind != "free":
            if group:
                raise ShapeError(
                    "ragged_dot_general requires zero group dimensions in the rhs when the lhs "
                    f"ragged dimension is contracting or batch, and got {group}"
                )
            return
        if len(group) != 1:
            raise ShapeError(
                "ragged_dot_general requires exactly one rhs group dimension when the lhs ragged "
                f"dimension is noncontracting, and got {group}"
            )
        (contract, batch) = (pair[1] for pair in numbers.dot_dimension_numbers)
        if not 0 <= group[0] < rhs.ndim or group[0] in (*contract, *batch):
            raise ShapeError(
                "ragged_dot_general requires rhs group dimension numbers to be nonnegative, less "
                "than the rank of rhs, and distinct from contracting and batch dimensions, and "
                f"got {group[0]}"
            )
        if rhs.shape[group[0]] != count:
            raise ShapeError(
                f"ragged_dot_general expects the rhs group dimension size to be {count}, and got "
                f"{rhs.shape[group[0]]}"
            )


@composite(static_argnums=(3, 4, 5))
def _product(
    lhs: Any,
    rhs: Any,
    sizes: Any,
    numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike,
    preferred: DTypeLike | None,
) -> Array:
    (contract, contract_rhs), (batch, batch_rhs) = numbers.dot_dimension_numbers
    ragged = _Ragged.of(get_aval(lhs), numbers)
    if ragged.kind == "batch":
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, precision, preferred)
    by_group = _by_group(lhs, sizes, ragged.axis, ragged.prefix)
    contract, batch = _next(contract), _next(batch)
    if ragged.kind == "free":
        pairs = (*contract, 0), (*contract_rhs, *numbers.rhs_group_dimensions)
        return dot_general(by_group, rhs, (pairs, (batch, batch_rhs)), precision, preferred)
    partner = dict(zip((*batch, *contract), (*batch_rhs, *contract_rhs), strict=True))
    axis, prefix = partner[ragged.axis + 1], tuple(partner[i + 1] for i in ragged.prefix)
    other = _by_group(rhs, sizes, axis, prefix)
    pairs = contract, _next(contract_rhs)
    batches = (0, *batch), (0, *_next(batch_rhs))
    return dot_general(by_group, other, (pairs, batches), precision, preferred)


def _next(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i + 1 for i in axes)


def _by_group(x: Any, sizes: Any, axis: int, prefix: tuple[int, ...]) -> Any:
    """Return a copy of `x` for each group, along a first axis, which is 0 outside of the group."""
    aval, size_aval = get_aval(x), get_aval(sizes)
    count = size_aval.shape[-1]
    places = prefix if size_aval.ndim > 1 else ()
    ends = cumsum(sizes, size_aval.ndim - 1)
    starts = sub_p.bind(ends, convert(sizes, get_aval(ends).dtype))
    order = (len(places), *sorted(range(len(places)), key=lambda i: places[i]))
    shape = (count, *[n if i in places else 1 for i, n in enumerate(aval.shape)])
    ends, starts = (reshape(transpose(v, order), shape) for v in (ends, starts))
    along = [1] * (aval.ndim + 1)
    along[axis + 1] = aval.shape[axis]
    rows = reshape(iota(get_aval(ends).dtype, aval.shape[axis]), along)
    inside = and_p.bind(
        le_p.bind(*align("ragged_dot_general", starts, rows)),
        lt_p.bind(*align("ragged_dot_general", rows, ends)),
    )
    whole = (count, *aval.shape)
    copies = broadcast_in_dim(x, whole, tuple(range(1, len(whole))))
    every = broadcast_in_dim(inside, whole, tuple(range(len(whole))))
    return choose("ragged_dot_general", every, copies, 0)
