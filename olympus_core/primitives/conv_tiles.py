"""Convolutions by Winograd's minimal filtering: products of transformed tiles.

A tile of m x m results of a kernel of r x r elements depends on k x k elements, k = m + r - 1.
Linear transforms of these and of the kernel turn the convolution of the tile into k * k products,
where the definition has m * m * r * r: 4 times as many for m = 4 and r = 3, 2.25 times for m = 2.
The products of all tiles and features are k * k products of matrices.

Toom and Cook's construction gives the transforms, from k - 1 points and infinity: polynomials are
multiplied at these points.  The points determine the error.  For k = 6, the points 0, 5/8, -5/8,
3/2 and -3/2 give a third of that of 0, 1, -1, 2 and -2.  A root mean square error of 2 to 3 times
that of XLA's convolutions remains, and for k = 4 less than twice.

Sources: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv 1509.09308);
Barabasz et al., "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural
Networks" (arXiv 1803.10986).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of, shaped
from olympus_core.ir.axis_orders import inverse
from olympus_core.ir.primitive import SingleResult, op
from olympus_core.primitives.elementwise.base import reshape, scalar_zero, spread
from olympus_core.primitives.looping import repeat
from olympus_core.primitives.precision import Precision

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

Params = dict[str, Any]
Matrix = np.ndarray[Any, np.dtype[np.float64]]

_FLOAT32 = np.dtype("float32")
_POINTS = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2)),
}
#: least tiles by their size: 28 x 28 results of 128 features take 1.2 ms, in 49 tiles of 4 x 4
#: 0.6 ms, in tiles of 2 x 2 0.8 ms; 14 x 14 of 256 features 1.3 ms, in 16 tiles 0.9 ms, in 49
#: 0.7 ms; 7 x 7 of 512 as a product of patches 1.4 ms, in 16 tiles of 2 x 2 1.5 ms, because the
#: transformed kernel is read from memory
_LEAST_TILES = {4: 30, 2: 25}
#: by the sizes of tiles and kernel, the larger tiles first: least features on each side, and least
#: product of these: the transforms of 32 to 32 features take as long as the products save
_LEAST_FEATURES = {(4, 3): (32, 2048), (2, 3): (48, 4096), (2, 5): (32, 3072)}
#: least multiplications of the definition, with a constant kernel and with an argument: the form
#: takes XLA 0.2 to 0.4 s to compile for each shape. 2^30 take 10 ms, of which it saves half.
_LEAST_PRODUCTS, _LEAST_PRODUCTS_OF_ARGUMENTS = 2**23, 2**30
#: least results for each element of a kernel for which its transform is a gain in each call, and
#: most elements of a transformed kernel: a call gets more than 32 MB of temporary memory page by
#: page from the system, so that 28 x 28 of 512 features would take 33 ms instead of 24 ms
_LEAST_POSITIONS, _MOST_TRANSFORMED = 21, 3 * 2**20
#: bytes of transformed tiles from which they are computed block by block, and the least of a block:
#: 224 x 224 results of 64 features take 43 ms without blocks, and 10 ms in blocks that fit a cache
_AT_ONCE, _BLOCK = 2**24, 5 * 2**18


class Transforms(NamedTuple):
    """The matrices of an array (k x k), of a kernel (k x r) and of a result (k x m)."""

    array: Matrix
    kernel: Matrix
    result: Matrix


@functools.cache
def transforms(tile: int, kernel: int) -> Transforms:
    """Return the transforms for tiles of `tile` results of a kernel of `kernel` elements.

    They are those of one axis.
    """
    size = tile + kernel - 1
    points = _POINTS[size]
    array, weights, result = [], [], []
    for point in points:
        others = [p for p in points if p != point]
        array.append([*_polynomial(others), Fraction(0)])
        scale = math.prod((point - p for p in others), start=Fraction(1))
        weights.append([point**i / scale for i in range(kernel)])
        result.append([point**i for i in range(tile)])
    array.append(_polynomial(points))
    weights.append([Fraction(i == kernel - 1) for i in range(kernel)])
    result.append([Fraction(i == tile - 1) for i in range(tile)])
    return Transforms(*(np.array(m, float) for m in (array, weights, result)))


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of the product of (x - root), from the lowest."""
    found = [Fraction(1)]
    for root in roots:
        above, below = [Fraction(0), *found], [*(-root * c for c in found), Fraction(0)]
        found = [a + b for a, b in zip(above, below, strict=True)]
    return found


def tile_for(
    avals: Sequence[ShapedArray], shape: Shape, params: Params, *, is_constant: bool = False
) -> int | None:
    """Return the size of the tiles in which a convolution is fastest, or None without a gain.

    `shape` is that of the result. With `is_constant`, the kernel is a constant, and its transform
    takes no time in a call.
    """
    return _least_time(avals, shape, params, is_constant) if _has_tiles(avals, params) else None


def _has_tiles(avals: Sequence[ShapedArray], params: Params) -> bool:
    """Return True for a convolution of float32 over two axes, by 3 x 3 or 5 x 5 elements in a row.

    One with a higher precision is computed as it is written.
    """
    lhs, rhs = avals
    sizes = {rhs.shape[a] for a in params["dimension_numbers"].rhs_spec[2:]}
    steps = {*params["window_strides"], *params["lhs_dilation"], *params["rhs_dilation"]}
    return bool(
        lhs.ndim == 4
        and lhs.dtype == rhs.dtype == _FLOAT32
        and (params["preferred_element_type"] or _FLOAT32) == _FLOAT32
        and sizes in ({3}, {5})
        and steps == {1}
        and params["batch_group_count"] == 1
        and all(n >= 0 for pair in params["padding"] for n in pair)
        and params["precision"] in (None, (Precision.DEFAULT, Precision.DEFAULT))
    )


def _least_time(
    avals: Sequence[ShapedArray], shape: Shape, params: Params, is_constant: bool
) -> int | None:
    """Return the size of the tiles by a rule from measurements.

    Times in milliseconds are those of XLA's convolution and of tiles, with a constant kernel.
    """
    _, of_rhs, of_out = params["dimension_numbers"]
    outputs, inputs, length = (avals[1].shape[a] for a in of_rhs[:3])
    outputs //= params["feature_group_count"]
    images, rows, columns = (shape[of_out[i]] for i in (0, 2, 3))
    positions, groups = images * rows * columns, params["feature_group_count"]
    products = positions * length**2 * inputs * outputs * groups
    if products < (_LEAST_PRODUCTS if is_constant else _LEAST_PRODUCTS_OF_ARGUMENTS):
        return None
    if not is_constant and positions < _LEAST_POSITIONS * length**2:
        return None

    def is_fast(tile: int) -> bool:
        count = images * -(-rows // tile) * -(-columns // tile)
        narrow, few = _LEAST_FEATURES[tile, length]
        if min(inputs, outputs) < narrow or inputs * outputs < few or count < _LEAST_TILES[tile]:
            return False
        elements = (tile + length - 1) ** 2 * inputs * outputs * groups
        return is_constant or elements <= _MOST_TRANSFORMED

    sizes = [tile for tile, kernel in _LEAST_FEATURES if kernel == length]
    return next(filter(is_fast, sizes), None)


class _Tiles(NamedTuple):
    """The tiles of a convolution: their size, the axes of the kernel, and counts of each axis.

    They are computed in blocks of several images, or of several rows of tiles of one.
    """

    size: int
    kernel: int
    images: int
    rows: int
    columns: int
    images_of_block: int
    rows_of_block: int

    @property
    def block_rows(self) -> int:
        """The blocks of an image."""
        return -(-self.rows // self.rows_of_block)

    @property
    def blocks(self) -> int:
        """The blocks of all images."""
        return self.block_rows * (self.images // self.images_of_block)

    @property
    def extent(self) -> int:
        """The elements of an axis that a tile depends on."""
        return self.size + self.kernel - 1

    def elements(self, tiles: int) -> int:
        """The elements of an axis that tiles in a row depend on."""
        return tiles * self.size + self.kernel - 1


def _tiles(shape: Shape, size: int, kernel: int, features: int, weights: int) -> _Tiles:
    """Return the tiles of a result (images, rows, columns).

    `features` is the number of input and output features, and `weights` that of the elements of the
    transformed kernel, which is read for each block.
    """
    images, rows, columns = shape[0], *(-(-n // size) for n in shape[1:])
    row = columns * (size + kernel - 1) ** 2 * features * 4  # bytes of a row of tiles
    if images * rows * row <= _AT_ONCE:
        return _Tiles(size, kernel, images, rows, columns, images, rows)
    fit = max(1, max(_BLOCK, weights * 2) // row)
    if fit >= rows:
        several = max(n for n in range(1, images + 1) if not images % n and n * rows <= fit)
        return _Tiles(size, kernel, images, rows, columns, several, rows)
    blocks = -(-rows // fit)
    return _Tiles(size, kernel, images, rows, columns, 1, -(-rows // blocks))


def transformed(kernel: Any, tile: int, params: Params) -> np.ndarray[Any, Any]:
    """Return the transform of a kernel, as `tiled_convolution` takes it: in float32.

    It has one matrix of (input features, output features) for each group and each pair of points.
    """
    groups = params["feature_group_count"]
    _, inputs, height, _ = (kernel.shape[a] for a in params["dimension_numbers"].rhs_spec)
    kernel = np.transpose(kernel, _outputs_last(params["dimension_numbers"].rhs_spec))
    split = kernel.reshape(height, height, inputs, groups, -1).transpose(1, 0, 3, 2, 4)
    matrix = transforms(tile, height).kernel
    of_columns = (matrix @ split.reshape(height, -1)).reshape(len(matrix), height, -1)
    full: np.ndarray[Any, Any] = (matrix @ of_columns).astype("float32")
    return full.reshape(len(matrix) ** 2 * groups, inputs, -1)


class TiledConvolution(SingleResult):
    """A convolution by a transformed kernel, as `transformed` returns it, in tiles of size `tile`.

    `shape` is that of the result, and the other parameters are those of the convolution.  It is
    created when a program is lowered, and has no derivatives.
    """

    is_product: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return shaped(params["shape"], avals[0].dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return ctx.form(tiled_convolution, operands, "conv_general_dilated", **params)[0]


tiled_convolution_p = TiledConvolution("tiled_convolution")


def winograd_convolution(lhs: Any, rhs: Any, shape: Shape, **params: Any) -> Any:
    """Convolve by products of transformed tiles, after a transform of the kernel."""
    tile = tile_for([get_aval(lhs), get_aval(rhs)], shape, params)
    assert tile is not None  # `form_for` selects this form by the same rule
    groups = params["feature_group_count"]
    kernel = _ordered(rhs, _outputs_last(params["dimension_numbers"].rhs_spec))
    height, _, inputs, outputs = shape_of(kernel)
    kernel = reshape(kernel, (height, height, inputs, groups, outputs // groups))
    kernel = op.transpose(kernel, permutation=(1, 0, 3, 2, 4))
    matrix = transforms(tile, height).kernel
    kernel = _stacked(_combined(matrix, [_part(kernel, 1, i) for i in range(height)]), 0)
    kernel = _stacked(_combined(matrix, [_part(kernel, 1, i) for i in range(height)]), 0)
    kernel = reshape(kernel, ((tile + height - 1) ** 2 * groups, inputs, outputs // groups))
    return tiled_convolution(lhs, kernel, shape, tile=tile, **params)


def tiled_convolution(lhs: Any, kernel: Any, shape: Shape, *, tile: int, **params: Any) -> Any:
    """Convolve by products of transformed tiles, with a kernel as `transformed` returns it."""
    of_lhs, _, of_out = params["dimension_numbers"]
    matrices, inputs, outputs = shape_of(kernel)
    groups, images = params["feature_group_count"], shape[of_out[0]]
    places = [shape[a] for a in of_out[2:]]
    size = math.isqrt(matrices // groups) - tile + 1
    features, weights = groups * (inputs + outputs), matrices * inputs * outputs
    tiles = _tiles((images, *places), tile, size, features, weights)
    array = _ordered(lhs, _features_last(of_lhs))
    array = _padded(array, params["padding"], tiles)
    if groups > 1:
        array = reshape(array, (*shape_of(array)[:-1], groups, inputs))
        array = op.transpose(array, permutation=(3, 0, 1, 2, 4))
    else:
        array = reshape(array, (1, *shape_of(array)))
    # padded once: otherwise XLA would select between elements and zeros for each of the transforms
    (array,) = op.optimization_barrier(array)
    out = _block(array, kernel, tiles) if tiles.blocks == 1 else _blocks(array, kernel, tiles)
    out = op.slice(
        out,
        start_indices=(0,) * 5,
        limit_indices=(groups, images, *places, outputs),
        strides=None,
    )
    if groups > 1:
        out = op.transpose(out, permutation=(1, 2, 3, 0, 4))
    out = reshape(out, (images, *places, groups * outputs))
    return _ordered(out, inverse(_features_last(of_out)))


def _blocks(array: Any, kernel: Any, tiles: _Tiles) -> Any:
    """Convolve block by block, in a loop."""
    groups, images, _, width, inputs = shape_of(array)
    outputs = shape_of(kernel)[-1]
    height = tiles.rows_of_block * tiles.size
    zero = np.int32(0)

    def step(i: Any, out: Any) -> Sequence[Any]:
        block, row = (f(i, np.int32(tiles.block_rows)) for f in (op.div, op.rem))
        image = op.mul(block, np.int32(tiles.images_of_block))
        row = op.mul(row, np.int32(height))
        sizes = (groups, tiles.images_of_block, height + tiles.kernel - 1, width, inputs)
        start = (zero, image, row, zero, zero)
        part = op.dynamic_slice(array, *start, slice_sizes=sizes)
        return [op.dynamic_update_slice(out, _block(part, kernel, tiles), *start)]

    full = (groups, images, height * tiles.block_rows, tiles.columns * tiles.size, outputs)
    (out,) = repeat(tiles.blocks, step, spread(_FLOAT32.type(0), full))
    return out


def _block(array: Any, kernel: Any, tiles: _Tiles) -> Any:
    """Convolve (groups, images, rows, columns, features) of the tiles of a block."""
    matrices = transforms(tiles.size, tiles.kernel)
    groups, images, _, _, inputs = shape_of(array)
    extent, outputs = tiles.extent, shape_of(kernel)[-1]
    counts = (tiles.rows_of_block, tiles.columns)
    for axis in (0, 1):  # (groups, images, rows, columns) becomes (points of columns, of rows, ...)
        parts = [_every(array, 2 + 2 * axis, i, counts[axis], tiles.size) for i in range(extent)]
        array = _stacked(_combined(matrices.array, parts), 0)
    products = op.dot_general(
        reshape(array, (extent * extent * groups, images * math.prod(counts), inputs)),
        kernel,
        dimension_numbers=(((2,), (1,)), ((0,), (0,))),
        precision=None,  # XLA has one product algorithm for the CPU
        preferred_element_type=None,
    )
    out = reshape(products, (extent, extent, groups, images, *counts, outputs))
    for axis in (5, 3):  # the place in a tile follows that of the tile: columns, then rows
        parts = [_part(out, 0, i) for i in range(extent)]
        out = _stacked(_summed(matrices.result, parts), axis)
    sizes = [n * tiles.size for n in counts]
    return reshape(out, (groups, images, *sizes, outputs))


def _padded(array: Any, padding: Sequence[tuple[int, int]], tiles: _Tiles) -> Any:
    """Return (images, rows, columns, features) with padding, up to the end of the last tiles."""
    config = [(0, 0, 0)]
    counts = (tiles.rows_of_block * tiles.block_rows, tiles.columns)
    for n, (low, _), count in zip(shape_of(array)[1:3], padding, counts, strict=True):
        config.append((low, count * tiles.size + tiles.kernel - 1 - low - n, 0))
    return op.pad(array, scalar_zero(array), padding_config=(*config, (0, 0, 0)))


def _combined(matrix: Matrix, parts: Sequence[Any]) -> list[Any]:
    """Return the sums of the parts by the rows of a matrix.

    The rows of a point and of its opposite differ in signs, and share the sums of equal signs.
    """
    sums = []
    for i, is_pair in _rows(matrix):
        if is_pair:
            even, odd = (matrix[i] + matrix[i + 1]) / 2, (matrix[i] - matrix[i + 1]) / 2
            x, y = _sum(even, parts), _sum(odd, parts)
            sums += [op.add(x, y), op.sub(x, y)]
        else:
            sums.append(_sum(matrix[i], parts))
    return sums


def _summed(matrix: Matrix, parts: Sequence[Any]) -> list[Any]:
    """Return the sums of the parts by the columns of a matrix, in the same way."""
    terms: list[tuple[Any, Any, Matrix]] = []
    for i, is_pair in _rows(matrix):
        if is_pair:
            pair = parts[i], parts[i + 1]
            terms.append((op.add(*pair), op.sub(*pair), matrix[i]))
        else:
            terms.append((parts[i], parts[i], matrix[i]))
    columns = range(matrix.shape[1])
    return [_sum([row[j] for *_, row in terms], [t[j % 2] for t in terms]) for j in columns]


def _rows(matrix: Matrix) -> list[tuple[int, bool]]:
    """Return the rows of a matrix: each, or the first of two of a point and of its opposite."""
    rows = [(0, False), *[(i, True) for i in range(1, len(matrix) - 1, 2)]]
    return [*rows, (len(matrix) - 1, False)]


def _sum(factors: Sequence[float] | Matrix, parts: Sequence[Any]) -> Any:
    """Return the sum of parts times factors, without the factors 0 and 1."""
    total = None
    for factor, part in zip(factors, parts, strict=True):
        if not factor:
            continue
        if abs(factor) != 1:
            part = op.mul(part, spread(_FLOAT32.type(abs(factor)), shape_of(part)))
        if total is None:
            total = op.neg(part) if factor < 0 else part
        else:
            total = op.sub(total, part) if factor < 0 else op.add(total, part)
    return total


def _stacked(parts: Sequence[Any], axis: int) -> Any:
    """Return arrays of one shape along a new axis."""
    shape = shape_of(parts[0])
    new = (*shape[:axis], 1, *shape[axis:])
    return op.concatenate(*[reshape(x, new) for x in parts], dimension=axis)


def _part(x: Any, axis: int, index: int) -> Any:
    """Return the elements at an index of an axis, without the axis."""
    shape = shape_of(x)
    return reshape(_every(x, axis, index, 1, 1), (*shape[:axis], *shape[axis + 1 :]))


def _every(x: Any, axis: int, start: int, count: int, stride: int) -> Any:
    """Return `count` elements along an axis, from a start on, with a stride."""
    shape = shape_of(x)
    first, limits, steps = [0] * len(shape), [*shape], [1] * len(shape)
    first[axis], limits[axis], steps[axis] = start, start + (count - 1) * stride + 1, stride
    return op.slice(
        x, start_indices=tuple(first), limit_indices=tuple(limits), strides=tuple(steps)
    )


def _ordered(x: Any, axes: Sequence[int]) -> Any:
    """Return an array with its axes in an order."""
    return op.transpose(x, permutation=tuple(axes)) if [*axes] != sorted(axes) else x


def _features_last(spec: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of an array in the order (batch, space..., feature)."""
    return (spec[0], *spec[2:], spec[1])


def _outputs_last(spec: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of a kernel in the order (space..., input feature, output feature)."""
    return (*spec[2:], spec[1], spec[0])
