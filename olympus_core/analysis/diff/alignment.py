"""The longest common subsequence of two sequences of keys.

J. W. Hunt and T. G. Szymanski, "A fast algorithm for computing longest common subsequences",
Communications of the ACM 20(5), 1977: list the pairs of equal keys, those of one element in
descending order, and find the longest rising run of them by patience sorting. It takes O((r + n)
log n) for r pairs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence

#: The largest number of pairs; for more, the n-th of equal keys is paired with the n-th only.
_MAX_PAIRS = 500_000


def common(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the positions, in both sequences, of a longest common subsequence.

    >>> common("abcde", "axcye")
    [(0, 0), (2, 2), (4, 4)]
    """
    start, end = 0, 0
    shortest = min(len(first), len(second))
    while start < shortest and first[start] == second[start]:
        start += 1
    while end < shortest - start and first[-1 - end] == second[-1 - end]:
        end += 1
    pairs = _pairs(first[start : len(first) - end], second[start : len(second) - end])
    middle = [(start + i, start + j) for i, j in rising(pairs)]
    tail = [(len(first) - i, len(second) - i) for i in range(end, 0, -1)]
    return [(i, i) for i in range(start)] + middle + tail


def _pairs(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return positions of equal keys, ascending in `first`, and descending in `second` for each."""
    positions: dict[Hashable, list[int]] = {}
    for j, key in enumerate(second):
        positions.setdefault(key, []).append(j)
    if sum(len(positions.get(key, ())) for key in first) <= _MAX_PAIRS:
        return [(i, j) for i, key in enumerate(first) for j in reversed(positions.get(key, ()))]
    waiting = {key: iter(indices) for key, indices in positions.items()}
    matches = ((i, next(waiting.get(key, iter(())), None)) for i, key in enumerate(first))
    return [(i, j) for i, j in matches if j is not None]


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a longest run of the pairs in which both numbers rise; the first numbers are in order.

    >>> rising([(0, 5), (1, 2), (2, 3), (3, 1)])
    [(1, 2), (2, 3)]
    """
    ends: list[int] = []  # the least last number of a run of each length
    last: list[int] = []  # the pair with that number
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            last.append(index)
        else:
            ends[length], last[length] = j, index
    run, index = [], last[-1] if last else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]
