"""Whether it is a gain to keep the repeated blocks of a program, told from how XLA would fuse it.

XLA's compiler for CPUs makes an elementwise value that several equations read once more in each
fusion that reads it, where that is cheap: where at most one operand is as large as the value, and
not broadcast (`EffectivelyAtMostUnary` in xla/service/instruction_fusion.cc).  With it come the
values that it is made of.  Where such a value of a layer is made of the one of the layer before by
elementwise equations alone, the fusions of a layer have those of all layers before it, and differ:
the compiler sees as many kernels as there are layers, each larger than the last.  The gradient of
layers with a layer norm and a residual connection is the common case.

Elsewhere the fusions end within the layer.  XLA then compiles those that are equal once, calls or
none, and what a block stores for others is a loss: more kernels, each with less to do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.flow import Flags, Flow, Ints
from olympus_core.kinds import is_fused
from olympus_core.olympuspr import Eqn, sub_programs
from olympus_core.repeats import Repeat, Thresholds

__all__ = ["is_gain"]


def is_gain(flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> bool:
    """Whether the program is compiled and run in less time with its blocks kept.

    It is where their fusions would grow from layer to layer, and where each block gives a single
    value that the next one is made of, as a layer without derivatives does: nothing else is stored.
    Blocks with functions of more than elementwise equations, under `jit` or `checkpoint`, are taken
    for a gain: how these are fused is not known here.
    """
    if not thresholds.again:
        return True
    unknown = flow.each(_is_unknown)
    if any(unknown[repeat[0]].any() for repeat in repeats):
        return True
    if all(_gives_one(flow, repeat) for repeat in repeats):
        return True
    kept = sum(int(flow.weights[r[0]].sum()) * len(r) for r in repeats)
    if 2 * kept < flow.weights.sum():
        return False  # fusions would grow outside of the blocks all the same
    fusion = _Fusion(flow)
    return sum(_growing(fusion, repeat) for repeat in repeats) >= thresholds.again * kept


def _growing(fusion: _Fusion, repeat: Repeat) -> int:
    """How many equations fusions would have again, of occurrences before the one that is theirs.

    A fusion goes on from an occurrence into the next, and so to the last, where a value that XLA
    makes again in each fusion that reads it is made, by equations that can be fused, of the value
    at the same place of the occurrence before.
    """
    middle = len(repeat) // 2
    growth = _Growth(fusion.flow, repeat[middle - 1].tolist(), repeat[middle].tolist())
    start, end, later = repeat[middle - 1, 0], repeat[middle, -1] + 1, repeat[middle + 1 :]
    growth.follow(fusion.taken(start, end, later))
    if growth.chains:
        growth.follow(fusion.taken(end, len(fusion.flow.eqns), later, growth.made_of))
    return growth.equations() * len(repeat) * (len(repeat) - 1) // 2


class _Growth:
    """What goes on from an occurrence into the next, and into the fusions after it.

    `made_of` has for a value the places of the first occurrence whose values it is made of, as
    bits, and `with_it` those of the second that are in its fusion.  `chains` has the values that a
    fusion has of each occurrence, by place, and how many equations they are; `ends` what fusions
    are made of, of the first, and how many are so.
    """

    def __init__(self, flow: Flow, first: list[int], second: list[int]) -> None:
        self.flow = flow
        self.begins = {place: 1 << t for t, place in enumerate(first)}
        self.places = {place: t for t, place in enumerate(second)}
        self.made_of: dict[int, int] = {}
        self.with_it: dict[int, int] = {}
        self.chains: dict[int, int] = {}
        self.ends: Counter[int] = Counter()

    def follow(self, parts: Iterable[_Part]) -> None:
        """Go on with some equations, in order."""
        made_of, with_it = self.made_of, self.with_it
        for place, value, again, count in parts:
            at = self.places.get(place)
            begin = self.begins.get(place, 0)
            come, own = 0, 0 if at is None else 1 << at
            for x in self.flow.read_by(place):
                if x in made_of:
                    come |= made_of[x]
                    own |= with_it[x]
            if not (come or own or begin):
                continue
            if come and count:
                self.ends[come] += count
            if again and at is not None and come >> at & 1:
                self.chains[at] = own.bit_count()
            if again or not count:
                made_of[value] = come | (begin if again else 0)
                with_it[value] = own

    def equations(self) -> int:
        """How many equations the fusions after an occurrence have of it."""
        chains = self.chains.items()
        return sum(n * size for end, n in self.ends.items() for at, size in chains if end >> at & 1)


class _Part(NamedTuple):
    """An equation that is part of a fusion."""

    place: int
    value: int
    is_made_again: bool  # by each fusion that reads its value
    ends: int  # how many fusions end with it; each convolution reads it in an order of its own


class _Fusion:
    """What XLA does with the elementwise equations of a program, told by their places."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        convolves = flow.each(lambda e: e.primitive.name == "conv_general_dilated")
        use, value = flow.uses
        others = np.bincount(value[~flow.is_fused[use]], minlength=len(flow.maker))
        own_order = np.bincount(value[convolves[use] > 0], minlength=len(flow.maker))
        self._ends = np.maximum(np.minimum(others, 1), own_order)
        self._readers = np.bincount(value, minlength=len(flow.maker))
        self._thin = self._constant()
        self._is_large = flow.of_operands(_are_large) > 0

    def _constant(self) -> Flags:
        """By the number of a value, whether it is a literal, free, or broadcast."""
        flow = self.flow
        thin = flow.is_free.copy()
        thin[-1] = True
        broadcast = flow.each(lambda e: e.primitive.name == "broadcast_in_dim") > 0
        thin[flow.first_result[broadcast]] = True
        return thin

    def taken(
        self, start: int, end: int, later: Repeat, made_of: Collection[int] = ()
    ) -> Iterable[_Part]:
        """The equations from `start` to `end` that are part of a fusion, without those of `later`.

        With values `made_of` there are none where no equation reads one of these.

        What is broadcast can be part of a fusion too, but nothing of its own size comes with it: it
        is thin, as is what elementwise equations make of thin values.
        """
        flow = self.flow
        possible = flow.is_fused[start:end].copy()
        possible[later[(start <= later) & (later < end)] - start] = False
        within = flow.operands_of_all(start, end)
        values, readers = flow.operands[within], flow.reader[within] - start
        results = flow.first_result[start:end]
        large = self._is_large[within]
        possible &= self._full(possible, results, values[large], readers[large]) > 0
        if made_of:
            is_one = np.zeros(len(flow.variables), np.bool_)
            is_one[[*made_of]] = True
            if not possible[readers[is_one[values]]].any():
                return ()
        again = (self._readers[results[possible]] >= 2) & ~self._several(values, readers, possible)
        columns = np.flatnonzero(possible) + start, results[possible], again
        return map(_Part, *map(np.ndarray.tolist, (*columns, self._ends[results[possible]])))

    def _full(self, possible: Flags, results: Ints, values: Ints, readers: Ints) -> Ints:
        """How many of its operands, of those as large as its result, are not thin, by equation.

        The results of possible equations that have none are thin from now on.
        """
        full = ~self._thin[values]
        values, readers = values[full], readers[full]
        count = np.bincount(readers, minlength=len(results))
        pending = np.flatnonzero(possible & (count == 0) & ~self._thin[results]).tolist()
        if pending:
            order = np.argsort(values, kind="stable")
            known, by = values[order].tolist(), readers[order].tolist()
        for place in pending:  # to which those are added that are thin because of it
            value = results[place]
            if not self._thin[value]:
                self._thin[value] = True
                for reader in by[bisect_left(known, value) : bisect_right(known, value)]:
                    count[reader] -= 1
                    if possible[reader] and not count[reader]:
                        pending.append(reader)
        return count

    def _several(self, values: Ints, readers: Ints, of: Flags) -> Flags:
        """Whether some equations read several values that are not thin."""
        full = ~self._thin[values]
        values, readers = values[full], readers[full]
        one = np.zeros(len(of), np.int64)
        one[readers] = values
        several = np.zeros(len(of), np.bool_)
        several[readers[values != one[readers]]] = True
        found: Flags = several[of]
        return found


def _are_large(eqn: Eqn) -> list[bool]:
    """Whether the operands are as large as the result, of an equation that can be fused."""
    sizes = [x.aval.size for x in eqn.inputs]
    return [is_fused(eqn) and size >= eqn.outputs[0].aval.size for size in sizes]


def _is_unknown(eqn: Eqn) -> bool:
    """Whether it is a function that the compiler inlines, of more than elementwise equations."""
    primitive = eqn.primitive
    if not (primitive.is_call or primitive.inlined):
        return False
    return not all(is_fused(inner) for program in sub_programs(eqn) for inner in program.eqns)


def _gives_one(flow: Flow, repeat: Repeat) -> bool:
    """Whether an occurrence gives one result, and the products of the next one are of it."""
    middle = len(repeat) // 2
    own = np.zeros(len(flow.eqns), np.bool_)
    own[repeat[middle - 1]] = True
    use, value = flow.uses
    outside = own[flow.maker[value]] & ~own[use]
    given = {*value[outside].tolist(), *flow.given[own[flow.maker[flow.given]]].tolist()}
    if len(given) != 1:
        return False
    reach = np.zeros(len(flow.variables), np.bool_)
    reach[given.pop()] = True
    inside = np.zeros(len(flow.eqns), np.bool_)
    inside[repeat[middle]] = True
    for place in range(repeat[middle - 1][-1] + 1, repeat[middle][-1] + 1):  # and what is between
        first, result = flow.first_operand[place], flow.first_result[place]
        if reach[flow.operands[first : first + flow.arity[place]]].any():
            if flow.is_heavy[place]:
                return bool(inside[place])
            reach[result : result + flow.counts[place]] = True
    return False
