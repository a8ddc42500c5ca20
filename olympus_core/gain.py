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

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.flow import Flags, Flow, Ints, is_fused
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
    first, second = repeat[middle - 1].tolist(), repeat[middle].tolist()
    begins = {place: 1 << t for t, place in enumerate(first)}
    places = {place: t for t, place in enumerate(second)}
    made_of: dict[int, int] = {}  # the places of the first whose values one is made of, as bits
    with_it: dict[int, int] = {}  # and the places of the second that are in its fusion
    chains: dict[int, int] = {}  # the values that a fusion has of each occurrence: their equations
    ends: Counter[int] = Counter()  # what fusions are made of, of the first, and how many are so

    def taken() -> Iterator[_Part]:
        later = repeat[middle + 1 :]
        yield from fusion.taken(first[0], second[-1] + 1, later)
        if chains and fusion.reads(second[-1] + 1, later, made_of):
            yield from fusion.taken(second[-1] + 1, fusion.end, later)

    for place, value, again, count in taken():
        at = places.get(place)
        begin = begins.get(place, 0)
        come, parts = 0, 0 if at is None else 1 << at
        for x in fusion.flow.read_by(place):
            if x in made_of:
                come |= made_of[x]
                parts |= with_it[x]
        if not (come or parts or begin):
            continue
        if come and count:
            ends[come] += count
        if again and at is not None and come >> at & 1:
            chains[at] = parts.bit_count()
        if again or not count:
            made_of[value] = come | (begin if again else 0)
            with_it[value] = parts
    each = [n * size for end, n in ends.items() for at, size in chains.items() if end >> at & 1]
    return sum(each) * len(repeat) * (len(repeat) - 1) // 2


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
        self.end = len(flow.eqns)
        convolves = flow.each(lambda e: e.primitive.name == "conv_general_dilated")
        use, value = flow.uses
        others = np.bincount(value[~flow.is_fused[use]], minlength=len(flow.maker))
        own_order = np.bincount(value[convolves[use] > 0], minlength=len(flow.maker))
        self._ends = np.maximum(np.minimum(others, 1), own_order)
        self._readers = np.bincount(value, minlength=len(flow.maker))
        self._thin = self._constant()
        self._large = self._as_large_as_results()

    def _constant(self) -> Flags:
        """By the number of a value, whether it is a literal, free, or broadcast."""
        flow = self.flow
        thin = flow.is_free.copy()
        thin[-1] = True
        broadcast = flow.each(lambda e: e.primitive.name == "broadcast_in_dim") > 0
        thin[flow.first_result[broadcast]] = True
        return thin

    def _as_large_as_results(self) -> Ints:
        """The places in `operands` of those, of equations that can be fused, that are."""

        def large(eqn: Eqn) -> list[bool]:
            sizes = [x.aval.size for x in eqn.inputs]
            return [is_fused(eqn) and size >= eqn.outputs[0].aval.size for size in sizes]

        return np.flatnonzero(self.flow.of_operands(large))

    def _possible(self, start: int, end: int, later: Repeat) -> Flags:
        """Whether an equation from `start` on, and not one of `later`, can be part of a fusion."""
        possible = np.zeros(self.end, np.bool_)
        possible[start:end] = self.flow.is_fused[start:end]
        possible[later] = False
        return possible

    def reads(self, start: int, later: Repeat, values: Collection[int]) -> bool:
        """Whether one of the equations from `start` on that can be part of a fusion reads a value."""
        is_one = np.zeros(len(self.flow.variables), np.bool_)
        is_one[[*values]] = True
        reading = self.flow.reader[is_one[self.flow.operands]]
        return bool(self._possible(start, self.end, later)[reading].any())

    def taken(self, start: int, end: int, later: Repeat) -> Iterator[_Part]:
        """The equations from `start` on that are part of a fusion, without those of `later`.

        What is broadcast can be too, but nothing of its own size comes with it: it is thin, as is
        what elementwise equations make of thin values.
        """
        flow = self.flow
        possible = self._possible(start, end, later)
        full = self._large[~self._thin[flow.operands[self._large]]]
        count = np.bincount(flow.reader[full], minlength=self.end)
        readers, bounds = self._readers_of_large
        pending = np.flatnonzero(possible & (count == 0)).tolist()
        for place in pending:  # to which those are added that are thin because of it
            value = flow.first_result[place]
            if not self._thin[value]:
                self._thin[value] = True
                for reader in readers[bounds[value] : bounds[value + 1]]:
                    count[reader] -= 1
                    if possible[reader] and not count[reader]:
                        pending.append(reader)
        places = np.flatnonzero(possible & (count > 0))
        values = flow.first_result[places]
        columns = places, values, self._made_again(places), self._ends[values]
        return map(_Part, *map(np.ndarray.tolist, columns))

    def _made_again(self, places: Ints) -> Flags:
        """Whether each fusion that reads the value of an equation makes it, for some of them."""
        flow = self.flow
        full = ~self._thin[flow.operands]
        reader, value = flow.reader[full], flow.operands[full]
        one = np.zeros(self.end, np.int64)
        one[reader] = value
        several = np.zeros(self.end, np.bool_)
        several[reader[value != one[reader]]] = True
        again: Flags = (self._readers[flow.first_result[places]] >= 2) & ~several[places]
        return again

    @functools.cached_property
    def _readers_of_large(self) -> tuple[list[int], list[int]]:
        """The equations that read a result and give no larger one, and where those of each end."""
        values = self.flow.operands[self._large]
        order = np.argsort(values, kind="stable")
        bounds = np.searchsorted(values[order], np.arange(len(self.flow.maker) + 1))
        return self.flow.reader[self._large[order]].tolist(), bounds.tolist()


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
