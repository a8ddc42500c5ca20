"""The values that a block saves for the rest of the program.

A cheap value, or one that the block itself does not read, is not saved if its sources take no more
memory; its readers recompute it. The same holds for any other elementwise value whose sources are
all saved anyway. A value that the next occurrence of the block reads is saved; otherwise each
occurrence would recompute a chain of values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.blocks.dataflow import Flow, Ints
from olympus_core.blocks.repeats import Repeat

_MOST_AGAIN = 8  # the longest chain of equations that recomputes one value

#: a value of a block: the place of its equation in the occurrence, and which of its results
Value = tuple[int, int]


class Stored(NamedTuple):
    """The saved results of each block, and the equations whose results their readers recompute."""

    results: list[set[Value]]
    recomputed: Ints


def choose(flow: Flow, repeats: Sequence[Repeat]) -> Stored:
    """Return the saved results of each block."""
    rest = np.ones(len(flow.eqns), np.bool_)
    for repeat in repeats:
        rest[repeat] = False
    parts = [*repeats, np.flatnonzero(rest)[None]]
    stored: list[set[Value]] = []
    recomputed: list[Ints] = []
    for repeat, readers in zip(parts, _readers(flow, parts), strict=True):
        choice = _Choice(flow, repeat[len(repeat) // 2], readers)
        choice.choose()
        stored.append(choice.stored)
        recomputed.append(repeat[:, sorted(choice.again)].ravel())
    return Stored(stored[:-1], np.concatenate(recomputed))


class _Readers(NamedTuple):
    """The readers of a block's values, other than the occurrence that computes them."""

    results: set[Value]  # all that are read
    own: set[Value]  # read by another occurrence of the block, or a result of the program
    outside: set[Value]  # by an equation in no block, of the occurrence in the middle


def _readers(flow: Flow, parts: Sequence[Repeat]) -> list[_Readers]:
    """Return the readers of each block; the last part has the remaining equations."""
    number, stretch, place = _whereabouts(flow, parts)
    use, value = flow.uses
    producers = flow.producer[value]
    cross = (number[use] != number[producers]) | (stretch[use] != stretch[producers])
    use, value, producers = use[cross], value[cross], producers[cross]
    middle = np.array([len(repeat) // 2 for repeat in parts])
    inside = number[use] == number[producers]
    outside = (number[use] == len(parts) - 1) & (stretch[producers] == middle[number[producers]])
    twin = np.zeros(len(flow.eqns), np.int64)  # the same equation of the first occurrence
    for repeat in parts:
        twin[repeat] = repeat[0]
    first = flow.first_result[twin[flow.producer]] + flow.result

    def values_of(*numbers: Ints) -> list[set[Value]]:
        is_read = np.zeros(len(first), np.bool_)
        is_read[first[np.concatenate(numbers)]] = True
        read = np.flatnonzero(is_read)
        producer = flow.producer[read]
        found: list[set[Value]] = [set() for _ in parts]
        columns = number[producer], place[producer], flow.result[read]
        for n, t, r in zip(*map(np.ndarray.tolist, columns), strict=True):
            found[n].add((t, r))
        return found

    given = flow.program_results
    sets = values_of(value, given), values_of(value[inside], given), values_of(value[outside])
    return [_Readers(*columns) for columns in zip(*sets, strict=True)]


def _whereabouts(flow: Flow, parts: Sequence[Repeat]) -> tuple[Ints, Ints, Ints]:
    """For each equation the number of its part, of the occurrence, and its place in that."""
    number, stretch, place = np.zeros((3, len(flow.eqns)), np.int64)
    for n, repeat in enumerate(parts):
        number[repeat] = n
        stretch[repeat] = np.arange(len(repeat))[:, None]
        place[repeat] = np.arange(repeat.shape[1])
    return number, stretch, place


class _Choice:
    """The choice for one block, from the sizes and the readers of one occurrence in the middle.

    `moves[e]` is True if the result of equation `e` may be computed elsewhere, and `cheap[e]` if
    that costs less than saving it.
    """

    def __init__(self, flow: Flow, occurrence: Ints, readers: _Readers) -> None:
        self.flow = flow
        self.occurrence = occurrence
        self.readers = readers
        self.stored = readers.results
        self.again: set[int] = set()  # positions of the values that readers recompute
        self.height: dict[int, int] = {}  # the length of the longest recomputed chain from a value
        self.cheap: list[bool] = flow.is_cheap[occurrence].tolist()
        compared = flow.is_compared[flow.first_result[occurrence]]
        self.moves: list[bool] = (flow.is_fused[occurrence] & ~compared).tolist()
        self._operands, self._bounds = self._read()

    def _read(self) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Return the results that each equation reads, and the bounds of each equation's part.

        Each result has the position of its equation in the occurrence, its number among the
        equation's results, and its bytes. A result from outside has position -1, and no bytes if it
        is saved for others anyway.
        """
        flow, occurrence = self.flow, self.occurrence
        values = flow.operands[flow.operands_of(occurrence[None])[0]]
        readers = np.repeat(np.arange(len(occurrence)), flow.arity[occurrence])[values >= 0]
        values = values[values >= 0]
        producer = flow.producer[values]
        place = np.searchsorted(occurrence, producer)
        outside = np.append(occurrence, -1)[place] != producer
        is_live = outside & (flow.last_uses[producer] > occurrence.max(initial=-1))
        size = np.where(is_live, 0, flow.sizes[values])
        columns = np.where(outside, -1, place), flow.result[values], size
        bounds = np.searchsorted(readers, np.arange(len(occurrence) + 1))
        return [*zip(*map(np.ndarray.tolist, columns), strict=True)], bounds.tolist()

    def operands(self, t: int) -> list[tuple[int, int, int]]:
        """Return the results that an equation reads: the position, the number of the result, the
        bytes.
        """
        return self._operands[self._bounds[t] : self._bounds[t + 1]]

    @functools.cached_property
    def inside(self) -> dict[int, set[int]]:
        """The positions of the readers of each equation, by position."""
        found: dict[int, set[int]] = {}
        for t in range(len(self.occurrence)):
            for of, _, _ in self.operands(t):
                found.setdefault(of, set()).add(t)
        return found

    def choose(self) -> None:
        """Remove recomputed values from the saved ones, and add the values that they need."""
        for t in reversed(range(len(self.occurrence))):
            if not self.moves[t] or (t, 0) not in self.stored or (t, 0) in self.readers.own:
                continue
            size = int(self.flow.sizes[self.flow.first_result[self.occurrence[t]]])
            most = size if self._is_free_to_move(t) else size - 1
            cost, chain, sources = self._cost(t, self.height.get(t, 0), most)
            if cost > most:
                continue
            self.stored.remove((t, 0))
            self.stored |= sources
            self.again |= chain
            for recomputed in sorted(chain, reverse=True):
                height = self.height.get(recomputed, 0) + 1
                for of, _, _ in self.operands(recomputed):
                    self.height[of] = max(self.height.get(of, 0), height)
        # a value that another one needs is saved, not recomputed
        self.again -= {t for t, _ in self.stored}

    def _is_free_to_move(self, t: int) -> bool:
        """Return True if moving the computation costs nothing, for a source of the same size.

        Other blocks compute it within a fusion. An operation that moves elements is best left with
        its operand, because the compiler folds it into products.
        """
        primitive = self.flow.eqns[self.occurrence[t]].primitive
        return primitive.is_elementwise and (t, 0) not in self.readers.outside

    def _cost(self, t: int, height: int, most: int) -> tuple[float, set[int], set[Value]]:
        """Return the bytes that recomputing a value saves, its chain, and the saved sources.

        The bytes are infinite if the value cannot be recomputed, or for more than `most`.
        """
        if not self.moves[t] or height >= _MOST_AGAIN:
            return math.inf, set(), set()
        if not self.cheap[t] and not self.inside.get(t, set()) <= self.again:
            most = min(most, 0)
        cost, chain, sources = 0, {t}, set[Value]()
        for of, result, size in self.operands(t):
            if of < 0:
                cost += size
            elif not (of in self.again or (of, result) in self.stored or (of, result) in sources):
                deeper, more, others = self._cost(of, height + 1, size - 1)
                if deeper < size:
                    cost, chain, sources = cost + int(deeper), chain | more, sources | others
                else:
                    cost += size
                    sources.add((of, result))
            if cost > most:
                return math.inf, set(), set()
        return cost, chain, sources
