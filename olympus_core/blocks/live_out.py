"""The choice of the values that repeated blocks save for the rest of the program.

A block is a stretch of equations that a program repeats; each repetition is an occurrence. A value
of a block that equations outside it read is either saved, as a result of the block, or recomputed
outside from its sources, the values that it is computed from. It is recomputed if

- saving its sources takes no more memory than saving the value itself, and it is cheap to compute
  or no equation of the block needs it, or
- it is an elementwise value whose sources are all saved anyway.

A value that the next occurrence of the block reads is always saved. Otherwise each occurrence would
recompute the values of all occurrences before it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.blocks.dataflow import Flow, Ints
from olympus_core.blocks.repeats import Repeat

_LONGEST_CHAIN = 8  # the most equations in a row that recompute one value

#: A value of a block: the position of its equation in the occurrence, and the number of the result.
Value = tuple[int, int]


class SavedValues(NamedTuple):
    """The saved results of each block, and the equations whose results their readers recompute."""

    results: list[set[Value]]
    recomputed: Ints


def choose(flow: Flow, repeats: Sequence[Repeat]) -> SavedValues:
    """Return the saved results of each block, and the equations that are recomputed."""
    rest = np.ones(len(flow.eqns), np.bool_)
    for repeat in repeats:
        rest[repeat] = False
    parts = [*repeats, np.flatnonzero(rest)[None]]
    saved: list[set[Value]] = []
    recomputed: list[Ints] = []
    for repeat, read in zip(parts, _read_values(flow, parts), strict=True):
        choice = _Choice(flow, repeat[len(repeat) // 2], read)
        choice.choose()
        saved.append(choice.saved)
        recomputed.append(repeat[:, sorted(choice.recomputed)].ravel())
    return SavedValues(saved[:-1], np.concatenate(recomputed))


class _ReadValues(NamedTuple):
    """The values of a block that are read outside the occurrence that computes them, by reader."""

    all: set[Value]  # read by any equation, or a result of the program
    by_block: set[Value]  # read by another occurrence of the block, or a result of the program
    by_rest: set[Value]  # of the middle occurrence, read by an equation in no block


def _read_values(flow: Flow, parts: Sequence[Repeat]) -> list[_ReadValues]:
    """Return the values of each part that are read outside it.

    A part is a block; the last part has the equations in no block, as one occurrence.
    """
    number, stretch, place = _positions(flow, parts)
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
        values: list[set[Value]] = [set() for _ in parts]
        columns = number[producer], place[producer], flow.result[read]
        for n, t, r in zip(*map(np.ndarray.tolist, columns), strict=True):
            values[n].add((t, r))
        return values

    results = flow.program_results
    sets = values_of(value, results), values_of(value[inside], results), values_of(value[outside])
    return [_ReadValues(*columns) for columns in zip(*sets, strict=True)]


def _positions(flow: Flow, parts: Sequence[Repeat]) -> tuple[Ints, Ints, Ints]:
    """Return the numbers of each equation's part and occurrence, and its position in the latter."""
    number, stretch, place = np.zeros((3, len(flow.eqns)), np.int64)
    for n, repeat in enumerate(parts):
        number[repeat] = n
        stretch[repeat] = np.arange(len(repeat))[:, None]
        place[repeat] = np.arange(repeat.shape[1])
    return number, stretch, place


class _Choice:
    """The choice for one block, from the sizes and the readers of one occurrence in the middle.

    `movable[e]` is True if the result of equation `e` may be recomputed outside the block, and
    `cheap[e]` if that takes less time than saving it.
    """

    def __init__(self, flow: Flow, occurrence: Ints, read: _ReadValues) -> None:
        self.flow = flow
        self.occurrence = occurrence
        self.read = read
        self.saved = read.all
        self.recomputed: set[int] = set()  # positions of the equations that are recomputed
        self.height: dict[int, int] = {}  # the length of the longest recomputed chain from a value
        self.cheap: list[bool] = flow.is_cheap[occurrence].tolist()
        compared = flow.is_compared[flow.first_result[occurrence]]
        self.movable: list[bool] = (flow.is_fused[occurrence] & ~compared).tolist()
        self._operands, self._bounds = self._indexed_operands()

    def _indexed_operands(self) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Return the results that the equations read, and the bounds of those of each equation.

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
        """Return what an equation reads: the position and number of each result, and its bytes."""
        return self._operands[self._bounds[t] : self._bounds[t + 1]]

    @functools.cached_property
    def inside(self) -> dict[int, set[int]]:
        """The positions of the readers of each equation, by position."""
        readers: dict[int, set[int]] = {}
        for t in range(len(self.occurrence)):
            for of, _, _ in self.operands(t):
                readers.setdefault(of, set()).add(t)
        return readers

    def choose(self) -> None:
        """Recompute values instead of saving them where that pays: change `saved`, `recomputed`."""
        for t in reversed(range(len(self.occurrence))):
            if not self.movable[t] or (t, 0) not in self.saved or (t, 0) in self.read.by_block:
                continue
            size = int(self.flow.sizes[self.flow.first_result[self.occurrence[t]]])
            most = size if self._moves_for_free(t) else size - 1
            cost, chain, sources = self._cost(t, self.height.get(t, 0), most)
            if cost > most:
                continue
            self.saved.remove((t, 0))
            self.saved |= sources
            self.recomputed |= chain
            for position in sorted(chain, reverse=True):
                height = self.height.get(position, 0) + 1
                for of, _, _ in self.operands(position):
                    self.height[of] = max(self.height.get(of, 0), height)
        # a value that a recomputed one needs is saved, not recomputed
        self.recomputed -= {t for t, _ in self.saved}

    def _moves_for_free(self, t: int) -> bool:
        """Return True if recomputing a value outside its block takes no time.

        This is so for elementwise values that only blocks read, because these compute them within
        a fusion. A transpose or a reshape stays with its operand, because the compiler folds it
        into matrix products.
        """
        primitive = self.flow.eqns[self.occurrence[t]].primitive
        return primitive.is_elementwise and (t, 0) not in self.read.by_rest

    def _cost(self, t: int, height: int, most: int) -> tuple[float, set[int], set[Value]]:
        """Return the bytes of the sources to save for recomputing a value, its chain, the sources.

        The chain has the positions of the equations that recompute it. The bytes are infinite if
        the value cannot be recomputed, or if they are more than `most`.
        """
        if not self.movable[t] or height >= _LONGEST_CHAIN:
            return math.inf, set(), set()
        if not self.cheap[t] and not self.inside.get(t, set()) <= self.recomputed:
            most = min(most, 0)
        cost, chain, sources = 0, {t}, set[Value]()
        for of, result, size in self.operands(t):
            if of < 0:
                cost += size
            elif not (
                of in self.recomputed or (of, result) in self.saved or (of, result) in sources
            ):
                deeper, more, others = self._cost(of, height + 1, size - 1)
                if deeper < size:
                    cost, chain, sources = cost + int(deeper), chain | more, sources | others
                else:
                    cost += size
                    sources.add((of, result))
            if cost > most:
                return math.inf, set(), set()
        return cost, chain, sources
