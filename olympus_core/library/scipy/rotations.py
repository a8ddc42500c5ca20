"""`olympus.scipy.spatial.transform`: rotations in three dimensions, as quaternions.

The formulas are those of SciPy's `scipy.spatial.transform.Rotation`; Euler angles are computed by
E. Bernardes and S. Viollet, "Quaternion to Euler angles conversion", PLOS ONE 17 (2022).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base.errors import ArgumentError, IndexingError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import array, asarray
from olympus_core.library.numpy.creation.fills import ones, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.elementwise.trigonometric import (
    arctan2,
    cos,
    deg2rad,
    hypot,
    rad2deg,
    sin,
)
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.linalg.decompositions import eigh as la_eigh
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.rearranging import roll
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, broadcast_arrays
from olympus_core.library.numpy.manipulation.transposing import swapaxes
from olympus_core.library.numpy.products.matmul import cross, matmul
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.signal.differences import diff
from olympus_core.library.numpy.sorting.searching import argmax, searchsorted, where
from olympus_core.library.numpy.ufuncs import maximum
from olympus_core.library.promotion import convert, promote_inexact

_SMALL = 1e-3


def _length(x: Any) -> Any:
    return sqrt(sum_(x * x, axis=-1, keepdims=True))


def _product(p: Any, q: Any) -> Any:
    """Return the products of quaternions (x, y, z, w)."""
    p, q = broadcast_arrays(p, q)
    a, u, b, v = p[..., 3:], p[..., :3], q[..., 3:], q[..., :3]
    vector = a * v + b * u + cross(u, v)
    return concatenate([vector, a * b - sum_(u * v, axis=-1, keepdims=True)], axis=-1)


def _about_axis(axis: int, angle: Any) -> Any:
    """Return the quaternion of a rotation about a coordinate axis."""
    parts = [zeros_like(angle)] * 3
    parts[axis] = sin(angle / 2)
    return stack([*parts, cos(angle / 2)], axis=-1)


def _axes_of(seq: str, least: int) -> tuple[list[int], bool]:
    """Return the axes of a sequence such as "xyz", and True if it is extrinsic (lowercase)."""
    if not least <= len(seq) <= 3:
        raise ArgumentError(
            f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq}"
            if least == 1
            else f"Expected 3 axes, got {seq}."
        )
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ArgumentError(
            "Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got " + seq
        )
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ArgumentError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(c) for c in seq.lower()], seq.islower()


def _from_matrix(matrix: Any) -> Any:
    """Return quaternions of rotation matrices, from the largest of four sums of the diagonal."""
    m = matrix
    diagonals = [m[..., i, i] for i in range(3)]
    trace = diagonals[0] + diagonals[1] + diagonals[2]
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [trace] * 4
        parts[i] = 1 - trace + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        candidates.append(stack(parts, axis=-1))
    turned = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    candidates.append(stack([*turned, 1 + trace], axis=-1))
    choice = argmax(stack([*diagonals, trace], axis=-1), axis=-1)
    every = stack(candidates, axis=-2)
    quat = take_along_axis(every, choice[..., None, None], axis=-2)[..., 0, :]
    return quat / _length(quat)


def _matrix(quat: Any) -> Any:
    x, y, z, w = (quat[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return stack([stack(row, axis=-1) for row in rows], axis=-2)


def _euler(quat: Any, axes: list[int], extrinsic: bool) -> Any:
    """Return the three angles about axes, in radians, between -pi and pi."""
    i, j, k = axes if extrinsic else axes[::-1]
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    parity = (i - j) * (j - k) * (k - i) // 2
    w = quat[..., 3]
    a, b, c, d = w, quat[..., i], quat[..., j], quat[..., k] * parity
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * arctan2(hypot(c, d), hypot(a, b))
    half_sum, half_difference = arctan2(b, a), arctan2(d, c)
    is_zero, is_pi = abs_(middle) <= 1e-7, abs_(middle - np.pi) <= 1e-7
    alone = where(is_zero, 2 * half_sum, 2 * half_difference * (-1 if extrinsic else 1))
    locked = is_zero | is_pi
    outer = [half_sum - half_difference, half_sum + half_difference]
    zero = zeros_like(middle)
    first, third = (0, 1) if extrinsic else (1, 0)
    angles = [where(locked, alone, outer[first]), where(locked, zero, outer[third])]
    if not symmetric:
        angles[third] = angles[third] * parity
        middle = middle - np.pi / 2
    result = stack([angles[0], middle, angles[1]], axis=-1)
    return (result + np.pi) % (2 * np.pi) - np.pi


class Rotation(NamedTuple):
    """Rotations in three dimensions: a quaternion (4,), or several in the rows (n, 4).

    A quaternion is (x, y, z, w), with the scalar w last. The rotation is a tree of one array.

    >>> Rotation.from_euler("z", array(90.0), degrees=True).apply(array([1.0, 0.0, 0.0]))
    Array([0.        , 0.99999994, 0.        ], dtype=float32)
    """

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Return the rotations of several objects in one."""
        return cls(concatenate([rotation.quat for rotation in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Return rotations about the axes of `seq`, one after the other.

        seq: up to three axes, as "xyz" (fixed axes) or "XYZ" (axes that turn). angles: in the last
        axis. Raises ArgumentError for another sequence.

        >>> Rotation.from_euler("x", array(0.0)).quat
        Array([0., 0., 0., 1.], dtype=float32)
        """
        axes, extrinsic = _axes_of(seq, 1)
        floats = asarray(promote_inexact(asarray(angles))[0])
        values = atleast_1d(convert(floats, floats.dtype))  # strongly typed, as in JAX
        if degrees:
            values = deg2rad(values)
        quat = _about_axis(axes[0], values[..., 0])
        for i, axis in enumerate(axes[1:], 1):
            turn = _about_axis(axis, values[..., i])
            quat = _product(turn, quat) if extrinsic else _product(quat, turn)
        return cls(quat)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Return the rotations of orthogonal matrices (..., 3, 3)."""
        return cls(_from_matrix(asarray(matrix)))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """Return the rotations of modified Rodrigues parameters (..., 3)."""
        vector = asarray(mrp)
        square = sum_(vector * vector, axis=-1, keepdims=True) + 1
        return cls(concatenate([2 * vector, 2 - square], axis=-1) / square)

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """Return the rotations of quaternions (..., 4), which are normalized."""
        values = asarray(quat)
        return cls(values / _length(values))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """Return the rotations about vectors (..., 3), by the angles of their lengths."""
        vector = asarray(rotvec)
        if degrees:
            vector = deg2rad(vector)
        angle = _length(vector)
        square = angle * angle
        small = 0.5 - square / 48 + square * square / 3840
        scale = where(angle <= _SMALL, small, sin(angle / 2) / where(angle == 0, 1, angle))
        return cls(concatenate([scale * vector, cos(angle / 2)], axis=-1))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> Rotation:
        """Return the rotation that changes nothing; UnsupportedError for a number of them."""
        if num is not None:
            raise UnsupportedError("Rotation.identity supports only num=None")
        return cls(array([0.0, 0.0, 0.0, 1.0], dtype))

    @classmethod
    def random(cls, random_key: ArrayLike, num: int | None = None) -> Rotation:
        """Raise UnsupportedError, as in JAX."""
        raise UnsupportedError("Rotation.random is not supported", hint="use random.ball")

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        """Return some of the rotations."""
        if self.single:
            raise IndexingError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Return the number of rotations."""
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """Return the rotation by `other`, and then by this one."""
        return Rotation.from_quat(_product(self.quat, other.quat))

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Return vectors (..., 3) turned by the rotations, or by their inverses."""
        matrix = self.as_matrix()
        matrix = swapaxes(matrix, -2, -1) if inverse else matrix
        return sum_(matrix * asarray(vectors)[..., None, :], axis=-1)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Return the angles (..., 3) about three axes; see `from_euler`."""
        axes, extrinsic = _axes_of(seq, 3)
        angles: Array = _euler(self.quat, axes, extrinsic)
        return rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Array:
        """Return the orthogonal matrices (..., 3, 3)."""
        matrix: Array = _matrix(self.quat)
        return matrix

    def as_mrp(self) -> Array:
        """Return the modified Rodrigues parameters (..., 3)."""
        w = self.quat[..., 3:]
        sign = where(w < 0, -1.0, 1.0)
        return sign * self.quat[..., :3] / (1.0 + sign * w)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Return the vectors (..., 3) along the axes, whose lengths are the angles."""
        quat = where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        angle = 2.0 * arctan2(_length(quat[..., :3]), quat[..., 3:])
        square = angle * angle
        small = 2 + square / 12 + 7 * square * square / 2880
        half_sine = sin(angle / 2)
        scale = where(angle <= _SMALL, small, angle / where(half_sine == 0, 1, half_sine))
        return (rad2deg(scale) if degrees else scale) * quat[..., :3]

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Return the quaternions (..., 4).

        canonical: True for those whose last component that is not 0, in the order w, x, y, z, is
        positive. scalar_first: True for the order w, x, y, z.
        """
        quat = self.quat
        if canonical:
            x, y, z, w = (quat[..., i : i + 1] for i in range(4))
            sign = where(w != 0, w, where(x != 0, x, where(y != 0, y, z)))
            quat = where(sign < 0, -quat, quat)
        return roll(quat, 1, axis=-1) if scalar_first else quat

    def inv(self) -> Rotation:
        """Return the inverse rotations."""
        return Rotation(self.quat * array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """Return the angles, from 0 to pi."""
        sine = _length(self.quat[..., :3])[..., 0]
        return 2.0 * arctan2(sine, abs_(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """Return the mean of several rotations, by `weights` of their number.

        It is the eigenvector of the greatest eigenvalue of the weighted sum of q q^T. Raises
        ShapeError for weights of another shape.
        """
        n = len(self)
        dtype = self.quat.dtype
        shares = ones(n, dtype) if weights is None else asarray(weights, dtype)
        if shares.shape != (n,):
            raise ShapeError(
                f"Expected `weights` to be 1 dimensional and of the number of rotations {n}, got "
                f"shape {shares.shape}."
            )
        return Rotation(la_eigh(matmul(shares * self.quat.T, self.quat))[1][:, -1])

    @property
    def single(self) -> bool:
        """True for one rotation, False for several."""
        return self.quat.ndim == 1


class Slerp(NamedTuple):
    """Interpolation between rotations at constant speed; `Slerp.init` makes one.

    >>> turns = Rotation.from_euler("z", array([[0.0], [90.0]]), degrees=True)
    >>> Slerp.init(array([0.0, 1.0]), turns)(0.5).as_euler("xyz", degrees=True)
    Array([ 0.      ,  0.      , 45.000004], dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """Return the interpolation of rotations at increasing times, a vector.

        Raises ArgumentError for fewer than two rotations, ShapeError for other times.
        """
        if not isinstance(rotations, Rotation):
            raise ArgumentError("`rotations` must be a `Rotation` instance.")
        if rotations.single or len(rotations) == 1:
            raise ArgumentError("`rotations` must be a sequence of at least 2 rotations.")
        points = asarray(times, rotations.quat.dtype)
        if points.shape != (len(rotations),):
            raise ShapeError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and the shape {points.shape} of times."
            )
        before, after = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(points, diff(points), before, (before.inv() * after).as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """Return the rotations at `times`, a scalar or a vector."""
        points = asarray(times, self.times.dtype)
        if points.ndim > 1:
            raise ShapeError("`times` must be at most 1-dimensional.")
        line = atleast_1d(points)
        index = maximum(searchsorted(self.times, line) - 1, 0)
        share = (line - self.times[index]) / self.timedelta[index]
        turns = Rotation.from_rotvec(self.rotvecs[index] * share[:, None])
        quat = Rotation.from_quat(_product(self.rotations.quat[index], turns.quat)).quat
        return Rotation(quat if points.ndim else quat[0])
