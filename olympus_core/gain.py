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

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.flow import CHEAP, Flow, weight
from olympus_core.olympuspr import Atom, Eqn, Literal, sub_programs
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
    if any(_is_unknown(flow.eqns[i]) for repeat in repeats for i in repeat[0]):
        return True
    if all(_gives_one(flow, repeat) for repeat in repeats):
        return True
    kept = sum(weight([flow.eqns[i] for i in r[0]]) * len(r) for r in repeats)
    if 2 * kept < weight(flow.eqns):
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
    first, second = repeat[middle - 1], repeat[middle]
    later = {place for occurrence in repeat[middle + 1 :] for place in occurrence}
    begins = {place: 1 << t for t, place in enumerate(first)}
    places = {place: t for t, place in enumerate(second)}
    made_of: dict[Atom, int] = {}  # the places of the first whose values one is made of, as bits
    with_it: dict[Atom, int] = {}  # the places of the second that are in the fusion of a value
    chains: dict[int, int] = {}  # the values that a fusion has of each occurrence: their equations
    ends: Counter[int] = Counter()  # what fusions are made of, of the first, and how many are so
    for place in range(first[0], len(fusion.eqns)):
        if place > second[-1] and not chains:
            break
        if place in later or not fusion.takes(place):
            continue
        eqn, at = fusion.eqns[place], places.get(place)
        come, parts = 0, 0 if at is None else 1 << at
        for x in eqn.inputs:
            come |= made_of.get(x, 0)
            parts |= with_it.get(x, 0)
        again = fusion.is_made_again(eqn)
        if come and (count := fusion.ends(eqn)):
            ends[come] += count
        if again and at is not None and come >> at & 1:
            chains[at] = parts.bit_count()
        if again or not fusion.ends(eqn):
            made_of[eqn.outputs[0]] = come | (begins.get(place, 0) if again else 0)
            with_it[eqn.outputs[0]] = parts
    each = [n * size for end, n in ends.items() for at, size in chains.items() if end >> at & 1]
    return sum(each) * len(repeat) * (len(repeat) - 1) // 2


class _Fusion:
    """What XLA does with the elementwise equations of a program."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.eqns = flow.eqns
        fused = [_is_fused(e) for e in flow.eqns]
        convolved = [e.primitive.name == "conv_general_dilated" for e in flow.eqns]
        self._fused = np.array(fused, np.bool_)
        use, _, made, result = flow.uses.T
        values, count = flow.first_result[made] + result, len(flow.maker)
        self._readers = np.bincount(values, minlength=count)
        others = np.bincount(values[~self._fused[use]], minlength=count)
        own_order = np.bincount(values[np.array(convolved, np.bool_)[use]], minlength=count)
        self._ends = np.maximum(np.minimum(others, 1), own_order)
        self._thin: set[Atom] = set()  # what is broadcast, and elementwise equations of that

    def takes(self, place: int) -> bool:
        """Whether an equation, the next in the order of the program, can be part of a fusion.

        What is broadcast can be too, but nothing of its own size comes with it.
        """
        if not self._fused[place]:
            return False
        eqn = self.eqns[place]
        size = eqn.outputs[0].aval.size
        if all(self._is_thin(x) or x.aval.size < size for x in eqn.inputs):
            self._thin.add(eqn.outputs[0])
            return False
        return True

    def ends(self, eqn: Eqn) -> int:
        """How many fusions end with the value; each convolution reads it in an order of its own."""
        return int(self._ends[self.flow.number_of(eqn.outputs[0])])

    def is_made_again(self, eqn: Eqn) -> bool:
        """Whether each fusion that reads the value makes it."""
        if self._readers[self.flow.number_of(eqn.outputs[0])] < 2:
            return False
        return len({x for x in eqn.inputs if not self._is_thin(x)}) <= 1

    def _is_thin(self, x: Any) -> bool:
        if x.__class__ is Literal or x in self._thin or x in self.flow.free:
            return True
        at = self.flow.at(x)
        return at is not None and self.eqns[at[0]].primitive.name == "broadcast_in_dim"


def _is_unknown(eqn: Eqn) -> bool:
    """Whether it is a function that the compiler inlines, of more than elementwise equations."""
    primitive = eqn.primitive
    if not (primitive.is_call or primitive.inlined):
        return False
    return not all(_is_fused(inner) for program in sub_programs(eqn) for inner in program.eqns)


def _is_fused(eqn: Eqn) -> bool:
    """Whether an equation can be part of a fusion, and pass it on."""
    return eqn.primitive.is_elementwise or eqn.primitive.name in CHEAP


def _gives_one(flow: Flow, repeat: Repeat) -> bool:
    """Whether an occurrence gives one result, and the products of the next one are of it."""
    middle = len(repeat) // 2
    use, _, made, result = flow.uses.T
    own = np.zeros(len(flow.eqns), np.bool_)
    own[list(repeat[middle - 1])] = True
    outside = own[made] & ~own[use]
    given = set(zip(made[outside].tolist(), result[outside].tolist(), strict=True))
    given.update(at for at in map(flow.at, flow.program.outvars) if at and own[at[0]])
    if len(given) != 1:
        return False
    place, number = given.pop()
    made_of: set[Atom] = {flow.eqns[place].outputs[number]}
    for place in repeat[middle]:
        if not made_of.isdisjoint(flow.eqns[place].inputs):
            if flow.is_heavy[place]:
                return True
            made_of.update(flow.eqns[place].outputs)
    return False
