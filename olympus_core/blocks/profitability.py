"""The decision whether outlining repeated blocks is faster, from a model of XLA's fusion.

XLA's compiler for CPUs recomputes an elementwise value with several readers in each fusion that
reads it, if that is cheap: if at most one operand is as large as the value and not broadcast
(`EffectivelyAtMostUnary` in xla/service/instruction_fusion.cc). The fusion then includes the
sources of the value. If such a value of a layer depends on that of the previous layer through
elementwise equations only, the fusions of a layer include those of all previous layers, and differ.
The compiler then has as many kernels as there are layers, each larger than the last. The gradient
of layers with a layer norm and a residual connection is the common case.

Otherwise the fusions end within the layer. XLA then compiles equal fusions once, with or without
calls, and the values that a block saves for others are a loss: more kernels, each with less work.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.blocks.dataflow import Flags, Flow, Ints
from olympus_core.blocks.labels import is_fused
from olympus_core.blocks.repeats import Repeat, Thresholds
from olympus_core.ir.olympuspr import Eqn, sub_programs


def is_gain(flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> bool:
    """Return True if the program compiles and runs in less time with its blocks.

    It is True if the blocks' fusions would grow from layer to layer, or if each block returns a
    single value that the next one reads, as a layer without derivatives does: then nothing else is
    saved. Blocks with functions of more than elementwise equations, under `jit` or `checkpoint`,
    count as a gain: their fusion is not known here.
    """
    if not thresholds.again:
        return True
    unknown = flow.per_equation(_is_unknown)
    if any(unknown[repeat[0]].any() for repeat in repeats):
        return True
    if all(_returns_one_value(flow, repeat) for repeat in repeats):
        return True
    in_blocks = sum(int(flow.weights[r[0]].sum()) * len(r) for r in repeats)
    if 2 * in_blocks < flow.weights.sum():
        return False  # fusions outside of the blocks would grow anyway
    fusion = _Fusion(flow)
    return sum(_growing(fusion, repeat) for repeat in repeats) >= thresholds.again * in_blocks


def _growing(fusion: _Fusion, repeat: Repeat) -> int:
    """Return the number of equations of previous occurrences that fusions would recompute.

    A fusion extends from an occurrence into the next, up to the last, if the sources of a
    recomputed value, through equations that can be fused, include the same value of the previous
    occurrence.
    """
    middle = len(repeat) // 2
    growth = _Growth(fusion.flow, repeat[middle - 1].tolist(), repeat[middle].tolist())
    start, end, later = repeat[middle - 1, 0], repeat[middle, -1] + 1, repeat[middle + 1 :]
    growth.follow(fusion.fused_parts(start, end, later))
    if growth.chains:
        growth.follow(fusion.fused_parts(end, len(fusion.flow.eqns), later, growth.sources))
    return growth.equations() * len(repeat) * (len(repeat) - 1) // 2


class _Growth:
    """The values that extend from an occurrence into the next, and into later fusions.

    `sources` has, for a value, the positions of the first occurrence on which it depends, as bits,
    and `fused_with` those of the second in its fusion. `chains` has the values of each occurrence
    in a fusion by position, and the numbers of their equations. `ends` has the sources of fusions
    in the first occurrence, and the number of such fusions.
    """

    def __init__(self, flow: Flow, first: list[int], second: list[int]) -> None:
        self.flow = flow
        self.begins = {place: 1 << t for t, place in enumerate(first)}
        self.places = {place: t for t, place in enumerate(second)}
        self.sources: dict[int, int] = {}
        self.fused_with: dict[int, int] = {}
        self.chains: dict[int, int] = {}
        self.ends: Counter[int] = Counter()

    def follow(self, parts: Iterable[_Part]) -> None:
        """Process more equations, in order."""
        sources, fused_with = self.sources, self.fused_with
        for place, value, again, count in parts:
            at = self.places.get(place)
            begin = self.begins.get(place, 0)
            reached, own = 0, 0 if at is None else 1 << at
            for x in self.flow.operands_of_equation(place):
                if x in sources:
                    reached |= sources[x]
                    own |= fused_with[x]
            if not (reached or own or begin):
                continue
            if reached and count:
                self.ends[reached] += count
            if again and at is not None and reached >> at & 1:
                self.chains[at] = own.bit_count()
            if again or not count:
                sources[value] = reached | (begin if again else 0)
                fused_with[value] = own

    def equations(self) -> int:
        """Return the number of an occurrence's equations in the fusions after it."""
        chains = self.chains.items()
        return sum(n * size for end, n in self.ends.items() for at, size in chains if end >> at & 1)


class _Part(NamedTuple):
    """An equation that is part of a fusion."""

    place: int
    value: int
    is_recomputed: bool  # by each fusion that reads its value
    # number of fusions that end with it; each convolution reads it in an order of its own
    ends: int


class _Fusion:
    """The fusion of a program's elementwise equations by XLA, by their positions."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        convolves = flow.per_equation(lambda e: e.primitive.is_convolution)
        use, value = flow.uses
        others = np.bincount(value[~flow.is_fused[use]], minlength=len(flow.producer))
        own_order = np.bincount(value[convolves[use] > 0], minlength=len(flow.producer))
        self._ends = np.maximum(np.minimum(others, 1), own_order)
        self._readers = np.bincount(value, minlength=len(flow.producer))
        self._thin = self._constant()
        self._is_large = flow.per_operand(_are_large) > 0

    def _constant(self) -> Flags:
        """Return flags by value number: True for a literal, a free value, or a broadcast."""
        flow = self.flow
        thin = flow.is_free.copy()
        thin[-1] = True
        broadcast = flow.per_equation(lambda e: e.primitive.is_broadcast) > 0
        thin[flow.first_result[broadcast]] = True
        return thin

    def fused_parts(
        self, start: int, end: int, later: Repeat, sources: Collection[int] = ()
    ) -> Iterable[_Part]:
        """Return the equations from `start` to `end` in a fusion, except those in `later`.

        With values `sources`, return none if no equation reads one of these.

        A broadcast can be part of a fusion too, but no value of its size comes with it: it is thin,
        as is an elementwise result of thin values.
        """
        flow = self.flow
        possible = flow.is_fused[start:end].copy()
        possible[later[(start <= later) & (later < end)] - start] = False
        within = flow.operands_of_all(start, end)
        values, readers = flow.operands[within], flow.reader[within] - start
        results = flow.first_result[start:end]
        large = self._is_large[within]
        possible &= self._full(possible, results, values[large], readers[large]) > 0
        if sources:
            is_one = np.zeros(len(flow.variables), np.bool_)
            is_one[[*sources]] = True
            if not possible[readers[is_one[values]]].any():
                return ()
        again = (self._readers[results[possible]] >= 2) & ~self._several(values, readers, possible)
        columns = np.flatnonzero(possible) + start, results[possible], again
        return map(_Part, *map(np.ndarray.tolist, (*columns, self._ends[results[possible]])))

    def _full(self, possible: Flags, results: Ints, values: Ints, readers: Ints) -> Ints:
        """Count, by equation, the operands as large as its result that are not thin.

        Results of possible equations without such operands become thin.
        """
        full = ~self._thin[values]
        values, readers = values[full], readers[full]
        count = np.bincount(readers, minlength=len(results))
        pending = np.flatnonzero(possible & (count == 0) & ~self._thin[results]).tolist()
        if pending:
            order = np.argsort(values, kind="stable")
            known, by = values[order].tolist(), readers[order].tolist()
        for place in pending:  # results that become thin are appended
            value = results[place]
            if not self._thin[value]:
                self._thin[value] = True
                for reader in by[bisect_left(known, value) : bisect_right(known, value)]:
                    count[reader] -= 1
                    if possible[reader] and not count[reader]:
                        pending.append(reader)
        return count

    def _several(self, values: Ints, readers: Ints, of: Flags) -> Flags:
        """Return flags: True for an equation that reads several values that are not thin."""
        full = ~self._thin[values]
        values, readers = values[full], readers[full]
        one = np.zeros(len(of), np.int64)
        one[readers] = values
        several = np.zeros(len(of), np.bool_)
        several[readers[values != one[readers]]] = True
        flags: Flags = several[of]
        return flags


def _are_large(eqn: Eqn) -> list[bool]:
    """Return True for each operand as large as the result, of an equation that can be fused."""
    sizes = [x.aval.size for x in eqn.inputs]
    return [is_fused(eqn) and size >= eqn.outputs[0].aval.size for size in sizes]


def _is_unknown(eqn: Eqn) -> bool:
    """Return True for an inlined function with more than elementwise equations."""
    primitive = eqn.primitive
    if not (primitive.is_call or primitive.inlined):
        return False
    return not all(is_fused(inner) for program in sub_programs(eqn) for inner in program.eqns)


def _returns_one_value(flow: Flow, repeat: Repeat) -> bool:
    """Return True if an occurrence has one result, and the products of the next depend on it."""
    middle = len(repeat) // 2
    own = np.zeros(len(flow.eqns), np.bool_)
    own[repeat[middle - 1]] = True
    use, value = flow.uses
    outside = own[flow.producer[value]] & ~own[use]
    results = {
        *value[outside].tolist(),
        *flow.program_results[own[flow.producer[flow.program_results]]].tolist(),
    }
    if len(results) != 1:
        return False
    reach = np.zeros(len(flow.variables), np.bool_)
    reach[results.pop()] = True
    inside = np.zeros(len(flow.eqns), np.bool_)
    inside[repeat[middle]] = True
    for place in range(repeat[middle - 1][-1] + 1, repeat[middle][-1] + 1):  # and what is between
        first, result = flow.first_operand[place], flow.first_result[place]
        if reach[flow.operands[first : first + flow.arity[place]]].any():
            if flow.is_heavy[place]:
                return bool(inside[place])
            reach[result : result + flow.counts[place]] = True
    return False
