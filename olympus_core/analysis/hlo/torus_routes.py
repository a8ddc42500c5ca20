"""The shortest routes between the chips of a torus, plain or twisted.

A twisted torus of k x k x 2k chips has wrap-around links on its short axes that also shift by k
along the long axis; one of k x 2k x 2k chips shifts by k along both long axes.  The sizes are those
of N. P. Jouppi et al., "TPU v4: An Optically Reconfigurable Supercomputer for Machine Learning",
ISCA 2023, and the links those of J. M. Camara et al., "Twisted Torus Topologies for Enhanced
Interconnection Networks", IEEE Transactions on Parallel and Distributed Systems 21 (12), 2010.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

from olympus_core.xla.targets.topologies import Torus

#: A link: the chip where it starts, its axis, and its direction, 1 or -1.
Link = tuple[tuple[int, ...], int, int]


def short_axes(torus: Torus) -> tuple[int, ...]:
    """Return the axes whose wrap-around links shift along the other axes; none if not twisted.

    >>> short_axes(Torus((4, 4, 8), (True,) * 3, is_twisted=True))
    (0, 1)
    """
    if not torus.is_twisted:
        return ()
    return tuple(axis for axis, size in enumerate(torus.sizes) if size == min(torus.sizes))


def route(torus: Torus, source: Sequence[int], target: Sequence[int]) -> Iterator[Link]:
    """Yield the links of a shortest route, along one axis after another."""
    at, short = list(source[: len(torus.sizes)]), short_axes(torus)
    for axis, distance in enumerate(_distances(torus, source, target)):
        step = 1 if distance > 0 else -1
        for _ in range(abs(distance)):
            yield tuple(at), axis, step
            at[axis] += step
            if axis in short and not 0 <= at[axis] < torus.sizes[axis]:
                _shift(at, torus)
            at[axis] %= torus.sizes[axis]


def _shift(at: list[int], torus: Torus) -> None:
    """Move along the long axes as a wrap-around link of a short axis does."""
    shift = min(torus.sizes)
    for axis, size in enumerate(torus.sizes):
        if size != shift:
            at[axis] = (at[axis] + shift) % size


def _distances(torus: Torus, source: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Return the signed numbers of links along each axis of a shortest route."""
    apart = [goal - at for at, goal in zip(source, target, strict=False)][: len(torus.sizes)]
    short = short_axes(torus)
    options = []
    for around in itertools.product((False, True), repeat=len(short)):
        distances = list(apart)
        for axis, is_around in zip(short, around, strict=True):
            if is_around:
                distances[axis] -= torus.sizes[axis] * (1 if apart[axis] > 0 else -1)
        if sum(around) % 2:
            distances = [
                distance if axis in short else distance + min(torus.sizes)
                for axis, distance in enumerate(distances)
            ]
        options.append(
            tuple(
                distance if axis in short else _shortest(distance, torus, axis)
                for axis, distance in enumerate(distances)
            )
        )
    return min(options, key=lambda distances: sum(map(abs, distances)))


def _shortest(distance: int, torus: Torus, axis: int) -> int:
    """Return a distance along an axis in the shorter direction around its ring."""
    size = torus.sizes[axis]
    if not torus.wraps[axis]:
        return distance
    distance %= size
    return distance if 2 * distance <= size else distance - size


@functools.cache
def hops(torus: Torus) -> tuple[float, int]:
    """Return the mean and the largest number of links between two chips of a torus.

    >>> hops(Torus((4, 4, 8), (True,) * 3)), hops(Torus((4, 4, 8), (True,) * 3, is_twisted=True))
    ((4.0, 8), (3.4375, 6))
    """
    first = (0,) * len(torus.sizes)
    counts = [
        sum(map(abs, _distances(torus, first, chip)))
        for chip in itertools.product(*map(range, torus.sizes))
    ]
    return sum(counts) / len(counts), max(counts)
