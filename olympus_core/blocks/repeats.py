"""A search for repeats in a program: stretches of equations with equal work at several places.

Two equations are equal if they have one label: the same primitive, parameters, types and literals.
Two stretches are equal if their equations are, one by one, and if each operand is computed inside
both stretches by the same equation, or outside both.

Layers of a Python loop follow each other, so the program repeats itself after a number of
equations, its period. The candidate periods are the distances between equal heavy equations:
products, convolutions and loops. For each period, the program is compared with itself, shifted. The
start of a period is free; the cut is at the position with the fewest live bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from olympus_core.blocks.dataflow import Flags, Flow, Ints


class Thresholds(NamedTuple):
    """The requirements for a block; docs/explanation/repeats.md has the measurements.

    It occurs at least `occurrences` times and has at least `equations` equations, including those
    of its loops. Without blocks, fusions would recompute at least `again` equations of earlier
    layers for each equation of a block; with 0 all blocks qualify.
    """

    occurrences: int = 4
    equations: int = 32
    again: float = 0.32


MEASURED = Thresholds()


#: Equal stretches: a row for each occurrence, with the positions of its equations, in order.
Repeat = Ints


#: The numbers of equations before and after a seed that are compared first.
_AROUND = ((32, 32), (0, 32), (32, 0), (16, 16), (0, 16), (16, 0), (4, 4))
_MAX_ROOM = 4096  # equations to each side of one that a block goes
_MAX_CUTS = 32  # cuts of equal cost that are compared
_MAX_PERIODS = 6  # number of periods that are compared in full, the commonest distances
_MAX_ROUNDS = 32  # rounds of search, each among the remaining equations
_MAX_STEPS = 32  # a period has at most so many like products
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, odd: it spreads the bits
_RESULTS = 64  # results of an equation; further ones may be confused with those of others


def find(flow: Flow, thresholds: Thresholds) -> list[Repeat]:
    """Return the repeats that occur often enough, in the order of the program, without overlap."""
    search = _Search(flow, thresholds)
    repeats: list[Repeat] = []
    for candidates in (search.in_a_row, search.apart):
        for _ in range(_MAX_ROUNDS):
            more = search.take(candidates())
            if not more:
                break
            repeats += more
    return sorted(repeats, key=lambda repeat: int(repeat[0, 0]))


class _Search:
    """The comparison of a program with itself.

    `open` has the labels of equations that are in no repeat yet, and of each other one a negative
    number that no second one has.
    """

    def __init__(self, flow: Flow, thresholds: Thresholds) -> None:
        self.flow = flow
        self.least = thresholds
        self.open: Ints = flow.labels.copy()
        self.sizes: Ints = np.bincount(flow.producer, flow.sizes, len(flow.eqns)).astype(np.int64)
        self.across: dict[int, Ints] = {}

    def take(self, candidates: Iterable[Repeat]) -> list[Repeat]:
        """Return the candidates that save the most equations, greedily."""
        chosen: list[Repeat] = []
        every = list(candidates)
        ranked = sorted([(-self._saved(r), r.tolist(), i) for i, r in enumerate(every)])
        for saved, _, i in ranked:
            repeat = every[i]
            if saved and (self.open[repeat] >= 0).all():
                self.open[repeat] = -1 - repeat
                chosen.append(repeat)
        return chosen

    def in_a_row(self) -> list[Repeat]:
        """Return the repeats of adjacent stretches."""
        return [repeat for period in self._periods() for repeat in self._with_period(period)]

    def _saved(self, repeat: Repeat) -> int:
        total = int(self.flow.weights[repeat[0]].sum())
        return total * (len(repeat) - 1) if self._is_block(repeat[0]) else 0

    def _is_block(self, places: Ints | slice) -> bool:
        """Return True if a block of these equations is worthwhile, if it occurs often enough."""
        if self.flow.weights[places].sum() < self.least.equations:
            return False
        if not self.flow.is_heavy[places].any():
            return False
        # several layers would become one block, and their derivatives others
        return not _is_periodic(self.flow.labels[places])

    def _seeds(self) -> Ints:
        """Return the heavy equations that are in no repeat and have enough equal ones."""
        places = self.flow.heavy[self.open[self.flow.heavy] >= 0]
        labels = self.flow.labels[places]
        often = np.bincount(labels) >= self.least.occurrences
        return places[often[labels]]

    def _periods(self) -> list[int]:
        """Return the commonest distances of equal heavy equations, in descending order of count."""
        places = self._seeds()
        if not len(places):
            return []
        labels = self.flow.labels[places]
        order = np.argsort(labels, kind="stable")
        after = np.arange(len(places))[:, None] + np.arange(1, _MAX_STEPS + 1)
        labels = np.concatenate([labels[order], np.full(_MAX_STEPS, -1)])
        places = np.concatenate([places[order], np.zeros(_MAX_STEPS, np.int64)])
        first = np.arange(len(order))[:, None]
        apart = (places[after] - places[first])[labels[after] == labels[first]]
        count = np.bincount(apart)
        often = np.flatnonzero(count >= max(self.least.occurrences - 1, 1))
        best: list[int] = often[np.argsort(-count[often], kind="stable")].tolist()
        return best[:_MAX_PERIODS]

    def _with_period(self, period: int) -> list[Repeat]:
        """Return the repeats of adjacent stretches, `period` equations each."""
        matches = self.open[:-period] == self.open[period:]
        repeats: list[Repeat] = []
        least = max(self.least.occurrences - 2, 1) * period  # one more may be before, with gaps
        stretches = [
            (start, end)
            for start, end in _stretches(matches, least)
            if self._is_block(slice(start, start + period))  # and so is any cut of it
        ]
        if not stretches:
            return []
        near = self._near(period)
        linked = near[:-period] == near[period:]
        for start, end in stretches:
            crossed = np.flatnonzero(~linked[start:end]) + start
            start, starts = self._starts(period, start, crossed)
            if starts.any():
                repeats += self._cut(period, start, end, starts)
                continue
            whole = matches[start:end] & linked[start:end]
            for a, b in _stretches(whole, least):
                repeats += self._cut(period, start + a, start + b, np.ones(period, np.bool_))
        return repeats

    def apart(self) -> list[Repeat]:
        """Return the repeats of stretches with other equations between them.

        Equal heavy equations are seeds, in groups with more or fewer equal neighbours.
        """
        places = self._seeds()
        if not len(places):
            return []
        repeats: list[Repeat] = []
        for before, after in _AROUND:
            groups: dict[bytes, list[int]] = {}
            rows = _windows(self.flow.labels, places, before, after)
            for place, row in zip(places.tolist(), rows, strict=True):
                groups.setdefault(row.tobytes(), []).append(place)
            for group in groups.values():
                if len(group) >= self.least.occurrences:
                    repeats += self._grown(np.array(group))
        return repeats

    def _grown(self, seeds: Ints) -> list[Repeat]:
        """Return the repeat that extends from each seed to both sides as far as all agree."""
        room = min(int(np.diff(seeds).min()), _MAX_ROOM)
        rows = _windows(self.open, seeds, room, room)
        differ = np.flatnonzero((rows != rows[0]).any(axis=0) | (rows[0] < 0)) - room
        start = int(differ[differ < 0].max(initial=-room)) + 1
        end = int(differ[differ > 0].min(initial=room))
        end = min(end, start + room)  # so that none reaches into the next
        while end - start > 1:
            stretches = seeds[:, None] + np.arange(start, end)
            crossed = self._differing(stretches)
            if crossed is None:
                return [stretches]
            start, end = (
                (start, start + crossed) if start + crossed > 0 else (start + crossed + 1, end)
            )
        return []

    def _differing(self, stretches: Ints) -> int | None:
        """Return the first equation of the stretches whose operands have different sources."""
        links = self.flow.links(stretches)
        differ = np.flatnonzero((links != links[0]).any(axis=0))
        if not len(differ):
            return None
        counts = np.cumsum(self.flow.arity[stretches[0]])
        return int(np.searchsorted(counts, differ[0], side="right"))

    @functools.cached_property
    def _linked(self) -> tuple[Ints, Ints]:
        """The distance of each operand from its producer, and a hash of it.

        An operand from outside the sequence has the largest distance.
        """
        flow = self.flow
        slot = (np.arange(len(flow.operands)) - flow.first_operand[flow.reader]).astype(np.uint64)
        is_result = flow.operands >= 0
        value = flow.operands[is_result]
        far = np.full(len(flow.operands), len(flow.eqns))
        far[is_result] = flow.reader[is_result] - flow.producer[value]
        mixed = np.zeros(len(far), np.uint64)
        mixed[is_result] = (far[is_result] * _RESULTS + flow.result[value]).astype(np.uint64) + 1
        mixed = mixed * (2 * slot + 1) * _MIX >> np.uint64(33)
        return far, mixed.astype(np.int64)

    def _near(self, period: int) -> Ints:
        """Return a number for each equation from the operands made less than a period before."""
        far, mixed = self._linked
        total = np.concatenate(([0], np.cumsum(np.where(far < period, mixed, 0))))
        first = self.flow.first_operand
        near: Ints = total[first + self.flow.arity] - total[first]
        return near

    def _starts(self, period: int, start: int, crossed: Ints) -> tuple[int, Flags]:
        """Return the start of a stretch, and the positions within a period where a cut is allowed.

        An operand with another distance in the next period must come from outside of the stretch in
        both, so a cut must be between the two. Before the stretch, equations of the first period
        may have larger gaps: the stretch then begins after their readers.
        """
        crossing = _Crossing(self.flow, period, crossed)
        start = crossing.beginning(start)
        places, distances = crossing.within(start)
        begin, end = (places - distances + 1) % period, (places + 1) % period
        change = np.bincount(begin, minlength=period) - np.bincount(end, minlength=period)
        cuts = np.cumsum(change) + np.count_nonzero(begin > end)  # how many allow each place
        return start, cuts == len(places)

    def _cut(self, period: int, start: int, end: int, allowed: Flags) -> list[Repeat]:
        """Return the repeat of a stretch, cut where the fewest bytes are live.

        Of equal cuts, one after which more occurrences precede the stretch is best.
        """
        stop = end + period
        phases = np.arange(start, min(start + period, stop))
        copies = (stop - phases) // period
        middle = np.minimum(phases + period * ((stop - start) // period // 2), stop)
        cost = self._across(period)[middle]
        for least in (self.least.occurrences - 1, self.least.occurrences):
            possible = np.flatnonzero(allowed[phases % period] & (copies >= max(least, 2)))
            if not len(possible):
                return []
            cheapest = possible[cost[possible] == cost[possible].min()]
            equal = cheapest[copies[cheapest] == copies[cheapest].max()]
            every = [
                self._extended(start + cut + period * np.arange(copies[cut]), period)
                for cut in equal[:: -(-len(equal) // _MAX_CUTS)].tolist()
            ]
            most = max(every, key=len)
            if len(most) >= self.least.occurrences:
                return [most]
        return []

    def _extended(self, starts: Ints, period: int) -> Repeat:
        """Return the repeat of stretches from these starts, and of those before them."""
        occurrences = starts[:, None] + np.arange(period)
        while (before := self._before(occurrences[0])) is not None:
            occurrences = np.concatenate([before[None], occurrences])
        return occurrences

    def _across(self, period: int) -> Ints:
        """Return the live bytes at each position, of values that live for less than a period."""
        if (known := self.across.get(period)) is not None:
            return known
        last = self.flow.last_uses
        places = np.arange(len(last))
        short = np.flatnonzero((last > places) & (last - places < period))
        ends = np.concatenate([short, last[short]]) + 1
        sizes = np.concatenate([self.sizes[short], -self.sizes[short]])
        across: Ints = np.cumsum(np.bincount(ends, sizes, len(last) + 2).astype(np.int64))
        self.across[period] = across
        return across

    def _before(self, block: Ints) -> Ints | None:
        """Return an additional occurrence before `block` with other equations in it, or None.

        The first layer computes values that all layers share. The equations between must not read
        values of the occurrence, so that they can move before it.
        """
        first, size = int(block[0]), len(block)
        start = max(first - 2 * size, 0)
        labels = self.open[start:first].tolist()
        places: list[int] = []
        between: list[int] = []
        for twin in reversed(self.flow.labels[block].tolist()):
            while labels and labels[-1] >= 0 and labels[-1] != twin:
                if len(between) == size:
                    return None
                labels.pop()
                between.append(start + len(labels))
            if not labels or labels.pop() != twin:
                return None
            places.append(start + len(labels))
        read = self.flow.operands[np.isin(self.flow.reader, between)]
        if np.isin(self.flow.producer[read[read >= 0]], places).any():
            return None
        occurrence = np.array(places[::-1])
        rows = self.flow.links(np.array([block, occurrence]))
        return occurrence if (rows[0] == rows[1]).all() else None


class _Crossing:
    """The operands of some equations with another distance in the next period."""

    def __init__(self, flow: Flow, period: int, places: Ints) -> None:
        self.period = period
        operands = flow.operands_of(np.array([places, places + period]))
        values = flow.operands[operands]
        inside = values >= 0
        values = np.where(inside, values, 0)
        reader = flow.reader[operands]
        self.producer = np.where(inside, flow.producer[values], -1)
        self.distance = np.where(inside, reader - self.producer, period)
        result = np.where(inside, flow.result[values], 0)
        differ = (self.distance[0] != self.distance[1]) | (result[0] != result[1])
        self.place = reader[0, differ]
        self.producer, self.distance = self.producer[:, differ], self.distance[:, differ]

    def _near(self, start: int) -> Ints:
        """Return the distance of the nearest outside operand of each equation; at most a period."""
        near: Ints = np.where(self.producer >= start, self.distance, self.period).min(axis=0)
        return near

    def beginning(self, start: int) -> int:
        """Return the start of the stretch, after the readers of operands before it."""
        columns = self.place, *self.producer, *self.distance
        for place, label, other, *distances in zip(*map(np.ndarray.tolist, columns), strict=True):
            if place >= start + self.period:
                break
            near = [d for m, d in zip((label, other), distances, strict=True) if m >= start]
            if 0 <= label < start <= place and min(near, default=self.period) < self.period:
                start = place + 1
        return start

    def within(self, start: int) -> tuple[Ints, Ints]:
        """Return the equations from `start` on with such operands, and the operands' distances."""
        near = self._near(start)
        is_near = (near < self.period) & (self.place >= start)
        return self.place[is_near], near[is_near]


def _is_periodic(values: Ints) -> bool:
    """Return True if the values are repetitions of a shorter sequence."""
    size = len(values)
    parts = (size // n for n in range(2, size + 1) if size % n == 0)
    return any(values[part:].tobytes() == values[:-part].tobytes() for part in parts)


def _windows(values: Ints, places: Ints, before: int, after: int) -> Ints:
    """Return a row for each position: the values around it, from `before` to `after`, or -1."""
    padded = np.concatenate([np.full(before, -1), values, np.full(after, -1)])
    rows: Ints = padded[places[:, None] + np.arange(before + after + 1)]
    return rows


def _stretches(flags: Flags, least: int) -> list[tuple[int, int]]:
    """Return (start, end) of the stretches of True of at least a length."""
    if np.count_nonzero(flags) < least:
        return []
    padded = np.concatenate(([False], flags, [False]))
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    pairs = edges.reshape(-1, 2).tolist()
    return [(start, end) for start, end in pairs if end - start >= max(least, 1)]
