"""What repeats in a program: stretches of equations that do the same at several places.

Two equations are alike where they have one label: the same primitive, parameters, types and
literals.  Two stretches are alike where their equations are, one by one, and where each operand
is made inside both stretches by the same equation, or outside both.

Layers written as a Python loop come one after the other, so that the program repeats itself after
a number of equations, its period.  The periods that are tried are the distances between like
equations of those that are worth keeping together: products, convolutions and loops.  For each,
the program is compared with itself, shifted.  Where a period begins is free; the cut is where the
fewest bytes go across.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from olympus_core.flow import Flow, Ints, weight

__all__ = ["MEASURED", "Repeat", "Thresholds", "find"]


class Thresholds(NamedTuple):
    """What a block must be to be kept: docs/repeats.md has the measurements behind the numbers.

    It occurs at least `occurrences` times and has at least `equations` equations, those of its
    loops included.  Without blocks, fusions would make values of earlier layers again, by at least
    `again` equations for each that a block has; 0 keeps all blocks.
    """

    occurrences: int = 4
    equations: int = 32
    again: float = 0.32


MEASURED = Thresholds()


#: Stretches that are alike: for each occurrence the places of its equations, in order.
Repeat = tuple[tuple[int, ...], ...]


#: how many equations before and after one are compared first
_AROUND = ((32, 32), (0, 32), (32, 0), (16, 16), (0, 16), (16, 0), (4, 4))
_MOST_ROOM = 4096  # equations to each side of one that a block goes
_MOST_PERIODS = 6  # that are compared in full, of those that most like equations are apart
_MOST_ROUNDS = 32  # of search, each among what the last has left
_MOST_STEPS = 32  # a period has at most so many like products
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, odd: it spreads the bits
_RESULTS = 64  # of an equation; further ones may be taken for those of others


def find(flow: Flow, thresholds: Thresholds) -> list[Repeat]:
    """What repeats often enough, in the order of the program; no two have an equation in common."""
    search = _Search(flow, thresholds)
    found: list[Repeat] = []
    for candidates in (search.in_a_row, search.apart):
        for _ in range(_MOST_ROUNDS):
            more = search.take(candidates())
            if not more:
                break
            found += more
    return sorted(found, key=lambda repeat: repeat[0][0])


class _Search:
    """The comparison of a program with itself; `taken` are equations that a repeat has."""

    def __init__(self, flow: Flow, thresholds: Thresholds) -> None:
        self.flow = flow
        self.least = thresholds
        self.taken = np.zeros(len(flow.eqns), np.bool_)
        self.sizes: Ints = np.bincount(flow.maker, flow.sizes, len(flow.eqns)).astype(np.int64)
        self.weights = np.ones(len(flow.eqns), np.int64)
        self.across: dict[int, Ints] = {}
        for place, eqn in enumerate(flow.eqns):
            if eqn.primitive.has_programs:
                self.weights[place] = weight([eqn])

    def take(self, candidates: Iterable[Repeat]) -> list[Repeat]:
        """The candidates that leave the fewest equations, first one and then what it leaves."""
        found: list[Repeat] = []
        ranked = sorted([(-self._saved(r), r[0][0], r) for r in candidates])
        for saved, _, repeat in ranked:
            places = np.array(repeat).ravel()
            if saved and not self.taken[places].any():
                self.taken[places] = True
                found.append(repeat)
        return found

    def in_a_row(self) -> list[Repeat]:
        """The repeats of stretches that come one after the other."""
        return [repeat for period in self._periods() for repeat in self._with_period(period)]

    def _saved(self, repeat: Repeat) -> int:
        first = list(repeat[0])
        total = int(self.weights[first].sum())
        if total < self.least.equations or not self.flow.is_heavy[first].any():
            return 0
        if _is_periodic(self.flow.labels[first]):
            return 0  # several layers would be one block, and their derivatives others
        return total * (len(repeat) - 1)

    def _seeds(self) -> Ints:
        """The heavy equations that are in no repeat and of which there are enough alike."""
        places = self.flow.heavy[~self.taken[self.flow.heavy]]
        labels = self.flow.labels[places]
        often = np.bincount(labels) >= self.least.occurrences
        return places[often[labels]]

    def _periods(self) -> list[int]:
        """The distances that the most like heavy equations are apart, the commonest first."""
        places = self._seeds()
        if not len(places):
            return []
        labels = self.flow.labels[places]
        order = np.lexsort((places, labels))
        places, labels = places[order], labels[order]
        apart: Counter[int] = Counter()
        for step in range(1, min(_MOST_STEPS, len(places) - 1) + 1):
            alike = labels[step:] == labels[:-step]
            if not alike.any():
                break
            apart.update((places[step:] - places[:-step])[alike].tolist())
        often = [d for d, count in apart.items() if count >= self.least.occurrences - 1]
        return sorted(often, key=lambda d: (-apart[d], d))[:_MOST_PERIODS]

    def _with_period(self, period: int) -> list[Repeat]:
        """The repeats of stretches that come one after the other, `period` equations each."""
        labels = self.flow.labels
        alike = (labels[:-period] == labels[period:]) & ~self.taken[:-period] & ~self.taken[period:]
        near = self._near(period)
        linked = near[:-period] == near[period:]
        found: list[Repeat] = []
        least = max(self.least.occurrences - 2, 1) * period  # one more may be before, with gaps
        for start, end in _stretches(alike, least):
            crossed = np.flatnonzero(~linked[start:end]) + start
            start, starts = self._starts(period, start, crossed)
            if starts.any():
                found += self._cut(period, start, end, starts)
                continue
            whole = alike[start:end] & linked[start:end]
            for a, b in _stretches(whole, least):
                found += self._cut(period, start + a, start + b, np.ones(period, np.bool_))
        return found

    def apart(self) -> list[Repeat]:
        """The repeats of stretches that have other equations between them.

        Like heavy equations are seeds, in groups that agree in more or in less of what is around.
        """
        places = self._seeds()
        if not len(places):
            return []
        found: list[Repeat] = []
        for before, after in _AROUND:
            rows = _windows(self.flow.labels, places, before, after)
            order = np.lexsort(rows.T)
            new = (rows[order][1:] != rows[order][:-1]).any(axis=1)
            for group in np.split(places[order], np.flatnonzero(new) + 1):
                if len(group) >= self.least.occurrences:
                    found += self._grown(np.sort(group))
        return found

    def _grown(self, seeds: Ints) -> list[Repeat]:
        """The repeat that goes from each seed as far to both sides as all agree."""
        room = min(int(np.diff(seeds).min()), _MOST_ROOM)
        open_ = np.where(self.taken, -1 - np.arange(len(self.taken)), self.flow.labels)
        rows = _windows(open_, seeds, room, room)
        differ = np.flatnonzero((rows != rows[0]).any(axis=0) | (rows[0] < 0)) - room
        start = int(differ[differ < 0].max(initial=-room)) + 1
        end = int(differ[differ > 0].min(initial=room))
        end = min(end, start + room)  # so that none reaches into the next
        while end - start > 1:
            stretches = seeds[:, None] + np.arange(start, end)
            crossed = self._differing(stretches)
            if crossed is None:
                return [tuple(map(tuple, stretches.tolist()))]
            start, end = (
                (start, start + crossed) if start + crossed > 0 else (start + crossed + 1, end)
            )
        return []

    def _differing(self, stretches: Ints) -> int | None:
        """The first equation of the stretches whose operands come from different places."""
        links = self.flow.links(stretches)
        differ = np.flatnonzero((links != links[0]).any(axis=0))
        if not len(differ):
            return None
        counts = np.cumsum(self.flow.arity[stretches[0]])
        return int(np.searchsorted(counts, differ[0], side="right"))

    def _near(self, period: int) -> Ints:
        """A number for each equation, of where its operands made less than a period before are."""
        use, slot, made, result = self.flow.uses.T
        close = use - made < period
        links_near = ((use - made) * _RESULTS + result)[close].astype(np.uint64)
        mixed = (links_near + 1) * (2 * slot[close].astype(np.uint64) + 1) * _MIX >> np.uint64(33)
        return np.bincount(use[close], mixed, len(self.flow.eqns)).astype(np.int64)

    def _starts(self, period: int, start: int, crossed: Ints) -> tuple[int, npt.NDArray[np.bool_]]:
        """Where a stretch begins, and the places within a period where a cut may be.

        An operand that is made at another distance in the next period must come from outside of
        the stretch in both, so that a cut has to be between the two.  Before the stretch, equations
        of the first period may stand further apart: it then begins after what reads them.
        """
        places = crossed.tolist()
        for place in places:
            if place < start + period and self._crossing(period, start, place)[1]:
                start = place + 1
        allowed = np.ones(period, np.bool_)
        for place in places:
            if place < start:
                continue
            for distance in self._crossing(period, start, place)[0]:
                cuts = np.zeros(period, np.bool_)
                cuts[np.arange(place - distance + 1, place + 1) % period] = True
                allowed &= cuts
        return start, allowed

    def _crossing(self, period: int, start: int, place: int) -> tuple[list[int], bool]:
        """How far before an equation operands are made that must come from outside.

        And whether one is such only because the stretch begins where it does.
        """
        eqns, at = self.flow.eqns, self.flow.at
        far = period, 0
        found, first = [], False
        for x, y in zip(eqns[place].inputs, eqns[place + period].inputs, strict=True):
            a, b = at(x), at(y)
            one = (place - a[0], a[1]) if a else far
            two = (place + period - b[0], b[1]) if b else far
            near = [t[0] for t, place in ((one, a), (two, b)) if place and place[0] >= start]
            if one == two or not near or min(near) >= period:
                continue
            found.append(min(near))
            first |= a is not None and a[0] < start
        return found, first

    def _cut(
        self, period: int, start: int, end: int, allowed: npt.NDArray[np.bool_]
    ) -> list[Repeat]:
        """The repeat of a stretch, cut where the fewest bytes go from a period to the next."""
        stop = end + period
        phases = np.arange(start, min(start + period, stop))
        copies = (stop - phases) // period
        middle = np.minimum(phases + period * ((stop - start) // period // 2), stop)
        cost = self._across(period)[middle]
        for least in (self.least.occurrences - 1, self.least.occurrences):
            possible = np.flatnonzero(allowed[phases % period] & (copies >= max(least, 2)))
            if not len(possible):
                return []
            best = min(possible.tolist(), key=lambda i: (cost[i], -copies[i], i))
            occurrences = [
                tuple(range(at, at + period))
                for at in range(start + best, start + best + period * int(copies[best]), period)
            ]
            while before := self._before(occurrences[0]):
                occurrences.insert(0, before)
            if len(occurrences) >= self.least.occurrences:
                return [tuple(occurrences)]
        return []

    def _across(self, period: int) -> Ints:
        """The bytes that go across each place, of values that do not live for a whole period."""
        if period in self.across:
            return self.across[period]
        last = self.flow.last_uses
        made = np.arange(len(last))
        short = (last > made) & (last - made < period)
        change = np.zeros(len(last) + 2, np.int64)
        np.add.at(change, made[short] + 1, self.sizes[short])
        np.add.at(change, last[short] + 1, -self.sizes[short])
        self.across[period] = np.cumsum(change)
        return self.across[period]

    def _before(self, block: tuple[int, ...]) -> tuple[int, ...] | None:
        """One more occurrence, right before `block`, that has other equations between its own.

        The first layer computes what all layers share.  The equations between must not read what
        the occurrence computes, so that they can go before it.
        """
        labels, taken = self.flow.labels, self.taken
        found: list[int] = []
        between: list[int] = []
        place = block[0] - 1
        for twin in reversed(block):
            while place >= 0 and not taken[place] and labels[place] != labels[twin]:
                if len(between) == len(block):
                    return None
                between.append(place)
                place -= 1
            if place < 0 or taken[place]:
                return None
            found.append(place)
            place -= 1
        own = set(found)
        for i in between:
            read = map(self.flow.at, self.flow.eqns[i].inputs)
            if any(at is not None and at[0] in own for at in read):
                return None
        occurrence = tuple(reversed(found))
        rows = self.flow.links([block, occurrence])
        return occurrence if (rows[0] == rows[1]).all() else None


def _is_periodic(values: Ints) -> bool:
    """Whether the values are a shorter sequence, several times."""
    size = len(values)
    parts = (size // n for n in range(2, size + 1) if size % n == 0)
    return any(bool((values[part:] == values[:-part]).all()) for part in parts)


def _windows(values: Ints, places: Ints, before: int, after: int) -> Ints:
    """A row for each place: the values from `before` it to `after` it, -1 beyond the ends."""
    padded = np.concatenate([np.full(before, -1), values, np.full(after, -1)])
    rows: Ints = padded[places[:, None] + np.arange(before + after + 1)]
    return rows


def _stretches(flags: npt.NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    """(start, end) of the stretches of True of at least a length."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    pairs = edges.reshape(-1, 2).tolist()
    return [(start, end) for start, end in pairs if end - start >= max(least, 1)]
