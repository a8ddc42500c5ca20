"""`olympus.image`: images in another size, and moved, by resampling kernels.

Each spatial dimension is multiplied with a matrix of weights, of the input size and the output
size. The cubic kernels are those of R. G. Keys, "Cubic convolution interpolation for digital image
processing" (1981), with a = -1/2, and with a = -3/4 for PyTorch; the Lanczos kernels are the
product of sinc(x) and sinc(x / radius).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import dimension, get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.dot import Precision, PrecisionLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import clip, maximum, minimum
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.elementwise.trigonometric import sin
from olympus_core.library.numpy.indexing.taking import take
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import promote_inexact


class ResizeMethod(enum.Enum):
    """The kernel that `resize` and `scale_and_translate` resample with.

    `NEAREST` takes the nearest pixel, `LINEAR` interpolates linearly, `LANCZOS3` and `LANCZOS5` are
    windowed sinc functions, `CUBIC` is Keys's kernel, `CUBIC_PYTORCH` that of PyTorch, and `AREA`
    is the mean over the area of the output's pixel.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of a name, such as "bilinear"; raise ArgumentError for another one.

        >>> ResizeMethod.from_string("bicubic")
        <ResizeMethod.CUBIC: 4>
        """
        for method, names in _METHOD_NAMES.items():
            if s in names:
                return method
        raise ArgumentError(f'Unknown resize method "{s}"')


_METHOD_NAMES = {
    ResizeMethod.NEAREST: ("nearest",),
    ResizeMethod.LINEAR: ("linear", "bilinear", "trilinear", "triangle"),
    ResizeMethod.LANCZOS3: ("lanczos3",),
    ResizeMethod.LANCZOS5: ("lanczos5",),
    ResizeMethod.CUBIC: ("cubic", "bicubic", "tricubic"),
    ResizeMethod.CUBIC_PYTORCH: ("cubic-pytorch", "bicubic-pytorch"),
    ResizeMethod.AREA: ("area",),
}
#: the sum of weights below which an output pixel is 0
_LEAST_WEIGHT = 1000.0 * float(np.finfo(np.float32).eps)


def _triangle(x: Any) -> Any:
    return maximum(0, 1 - x)


def _cubic(x: Any, a: float) -> Any:
    """Return Keys's kernel with parameter `a`, at distances `x`."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return where(x >= 2, 0.0, where(x >= 1, far, near))


def _lanczos(x: Any, radius: float) -> Any:
    product = radius * sin(np.pi * x) * sin(np.pi * x / radius)
    value = product / where(x != 0, np.pi**2 * x**2, 1)
    return where(x > radius, 0.0, where(x > 1e-3, value, 1.0))


#: the radius of each kernel, in pixels, and the kernel of distances
_KERNELS: dict[ResizeMethod, tuple[int, Callable[[Any], Any]]] = {
    ResizeMethod.LINEAR: (1, _triangle),
    ResizeMethod.LANCZOS3: (3, lambda x: _lanczos(x, 3.0)),
    ResizeMethod.LANCZOS5: (5, lambda x: _lanczos(x, 5.0)),
    ResizeMethod.CUBIC: (2, lambda x: _cubic(x, -0.5)),
    ResizeMethod.CUBIC_PYTORCH: (2, lambda x: _cubic(x, -0.75)),
}


@dataclasses.dataclass(frozen=True)
class _Axis:
    """One spatial dimension: its lengths, and the map from input to output coordinates."""

    size: int
    new_size: int
    scale: Any
    translation: Any

    def samples(self, dtype: Any) -> Any:
        """Return the input coordinate of the center of each output pixel, less 1/2."""
        inverse = 1.0 / self.scale
        centers = arange(self.new_size, dtype=dtype) + 0.5
        return centers * inverse - self.translation * inverse - 0.5

    def overlaps(self, dtype: Any) -> Any:
        """Return the length of each input pixel within the area of each output pixel."""
        inverse = 1.0 / self.scale
        start = arange(self.new_size, dtype=dtype) * inverse - self.translation * inverse
        pixel = arange(self.size, dtype=dtype)[:, None]
        return maximum(0.0, minimum(start + inverse, pixel + 1.0) - maximum(start, pixel))


def _normalized(weights: Any) -> Any:
    """Return weights with columns of sum 1; those with almost no weight are 0."""
    total = sum_(weights, axis=0, keepdims=True)
    return where(abs_(total) > _LEAST_WEIGHT, weights / where(total != 0, total, 1), 0)


def _weights(axis: _Axis, method: ResizeMethod, antialias: bool) -> Any:
    """Return the matrix of weights of an axis, of its size and its new size."""
    dtype = get_aval(axis.scale + axis.translation).dtype
    samples = axis.samples(dtype)
    if method is ResizeMethod.AREA:
        weights = axis.overlaps(dtype)
    else:
        width = maximum(1.0 / axis.scale, 1.0) if antialias else 1.0
        radius, kernel = _KERNELS[method]
        edge = radius if method is ResizeMethod.CUBIC_PYTORCH else 0
        pixels = arange(-edge, axis.size + edge, dtype=dtype)
        weights = kernel(abs_(samples[None, :] - pixels[:, None]) / width)
        if edge:  # the pixels beyond an edge are those of the edge
            inside = clip(arange(-edge, axis.size + edge), 0, axis.size - 1)
            edges = zeros((axis.size, axis.new_size), dtype)
            return _normalized(edges.at[inside].add(weights))
    is_inside = (samples >= -0.5) & (samples <= axis.size - 0.5)
    return where(is_inside[None, :], _normalized(weights), 0)


def _resampled(
    image: Any,
    axes: dict[int, _Axis],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    """Return the image after the map of each of its spatial dimensions."""
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    dtype = get_aval(image).dtype
    dimensions = list(range(image.ndim))
    result, operands = list(dimensions), list[Any]()
    for d, axis in axes.items():
        result[d] = image.ndim + d
        operands += [_weights(axis, method, antialias).astype(dtype), [d, result[d]]]
    return einsum(image, dimensions, *operands, result, precision=precision) if axes else image


def _checked_method(name: str, method: str | ResizeMethod) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise ArgumentError(f"{name} needs a ResizeMethod or its name, and got {method!r}")
    return method


def _checked_shape(name: str, image: Array, shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) != image.ndim:
        raise ShapeError(
            f"{name}: shape must have length equal to the number of dimensions of the image; "
            f"{tuple(shape)} vs {image.shape}"
        )
    return tuple(map(dimension, shape))


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image of `shape`, with spatial dimensions scaled and then moved.

    image: an array; integers become floats. spatial_dims: k dimensions. scale, translation: vectors
    of k floats; the point x of dimension `spatial_dims[i]` moves to x * scale[i] + translation[i],
    where the pixel i covers the points from i to i + 1. Pixels from outside of the image are 0.
    method: a ResizeMethod other than NEAREST, or its name. antialias: True for a wider kernel in a
    smaller image. Both `scale` and `translation` have derivatives.

    Raises ShapeError unless `shape` has a length for each dimension, ArgumentError for a method.

    >>> scale_and_translate(array([1.0, 3.0]), (4,), (0,), array([2.0]), array([0.0]), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    picture = asarray(image)
    sizes = _checked_shape("scale_and_translate", picture, shape)
    kind = _checked_method("scale_and_translate", method)
    if kind is ResizeMethod.NEAREST:
        raise ArgumentError("scale_and_translate does not support the method NEAREST")
    (floats,) = promote_inexact(picture)
    factors, offsets = promote_inexact(asarray(scale), asarray(translation))
    if not shape_of(factors) == shape_of(offsets) == (len(spatial_dims),):
        raise ShapeError(
            f"scale_and_translate needs a scale and a translation for each of {len(spatial_dims)} "
            f"dimensions, and got the shapes {factors.shape} and {offsets.shape}"
        )
    axes = dict[int, _Axis]()
    for i, spatial in enumerate(spatial_dims):
        d = canonical_axis(spatial, picture.ndim)
        axes[d] = _Axis(picture.shape[d], sizes[d], factors[i], offsets[i])
    result: Array = _resampled(floats, axes, kind, antialias, precision)
    return result


def _resize_to_nearest(image: Any, shape: tuple[int, ...]) -> Any:
    for d, (size, new_size) in enumerate(zip(image.shape, shape, strict=True)):
        if size != new_size:
            is_symbolic = is_symbolic_dim(size) or is_symbolic_dim(new_size)
            numbers = arange(new_size) if is_symbolic else np.arange(new_size)
            centers = (numbers.astype(np.float32) + 0.5) * size / new_size
            places = floor(centers) if is_symbolic else np.floor(centers.astype(np.float32))
            image = take(image, places.astype(np.int32), axis=d)
    return image


@composite(static_argnames=("shape", "method", "antialias", "precision"))
def _resize(
    image: Any, shape: tuple[int, ...], method: ResizeMethod, antialias: bool, precision: Any
) -> Any:
    (image,) = promote_inexact(asarray(image))
    axes = {
        d: _Axis(size, new_size, new_size / size if new_size else 1.0, 0.0)
        for d, (size, new_size) in enumerate(zip(image.shape, shape, strict=True))
        if size != new_size
    }
    return _resampled(image, axes, method, antialias, precision)


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Return an image resized to `shape`, which has a length for each dimension.

    image: an array; integers become floats, except for NEAREST. method: a ResizeMethod or its name:
    "nearest", "linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch" or "area". antialias: True
    for a wider kernel in a smaller image; it has no effect in a larger one.

    Raises ShapeError unless `shape` has a length for each dimension, ArgumentError for a method.

    >>> resize(array([1.0, 3.0]), (4,), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    picture = asarray(image)
    sizes = _checked_shape("resize", picture, shape)
    kind = _checked_method("resize", method)
    if kind is ResizeMethod.NEAREST:
        nearest: Array = _resize_to_nearest(picture, sizes)
        return nearest
    result: Array = _resize(
        picture, shape=sizes, method=kind, antialias=antialias, precision=precision
    )
    return result
