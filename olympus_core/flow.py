"""How values go through a program: its equations and results by number, and who reads what.

Equations are alike where they have one label: the same primitive, parameters, types and literals.
All else is arrays of numbers, so that what a program does at several places is found by comparing
arrays.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from olympus_core import dtypes
from olympus_core.kinds import Labels, is_cheap, is_fused, is_heavy, weight
from olympus_core.olympuspr import Atom, Eqn, Olympuspr

__all__ = ["Flags", "Flow", "Ints"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


_MOST_FREE = 8  # equations of constants that a block makes itself, one on the other


def _is_inexact(eqn: Eqn) -> bool:
    """Whether its first operand is of floats or complex numbers."""
    return dtypes.kind(eqn.inputs[0].aval.dtype) in "fc"


class Flow:
    """How values go through a simplified program, its equations and their results by number.

    Literals that are the same must be one object, as `simplify` makes them.

    Equations of constants that are cheap, such as a mask, are `free`: they take no place in the
    sequence `eqns`, for each block that reads one makes it itself.

    Of each equation there is its label in `labels`, in `arity` how many operands it has, and in
    `first_operand` the first of them among all operands of the sequence; `reader` has the equation
    of each operand.  Results are numbered in the order of the sequence: `maker` has the equation of
    each, and `result` which of its results it is.  `counts` has for each equation how many results
    it gives, and `first_result` the first.

    `operands` has for each operand the number of its value: that of a result, -1 for a literal,
    below it those of free values, and below these those of the inputs and constants of the program.
    `variables` has the variable of each number; its end is what negative numbers index.

    >>> flow = Flow(simplify(program), Labels())
    >>> [flow.variables[n] for n in flow.read_by(0)]
    """

    def __init__(self, program: Olympuspr, labels: Labels) -> None:
        self.program = program
        self.eqns: Sequence[Eqn] = program.eqns
        self.kinds, self._kind = self._by_kind(labels)
        made = [v for e in program.eqns for v in e.outputs]
        others = [*program.constvars, *program.invars]
        self.variables: list[Any] = [*made, *others, None]
        numbers = itertools.chain(range(len(made)), range(-1 - len(others), 0))
        self._index: dict[Any, int] = dict(zip(self.variables, numbers, strict=True))
        atoms = [x for e in program.eqns for x in e.inputs]
        read = map(self._index.get, atoms, itertools.repeat(-1))
        self.operands: Ints = np.fromiter(read, np.int64, len(atoms))
        self._place()
        constant, is_free = self._constant()
        self.labels = self._labels(atoms, constant[self.operands])
        self._without(is_free)
        self.is_heavy: Flags = self.each(is_heavy).astype(np.bool_)
        self.heavy: Ints = np.flatnonzero(self.is_heavy)

    def _by_kind(self, labels: Labels) -> tuple[list[Eqn], Ints]:
        """An equation of each kind, and the number of the kind of each equation."""
        kinds = [e.kind or labels.kind(e) for e in self.eqns]
        found = dict(zip(kinds, self.eqns, strict=True))
        number = dict(zip(found, range(len(found)), strict=True))
        numbers = np.fromiter(map(number.__getitem__, kinds), np.int64, len(kinds))
        return list(found.values()), numbers

    def each(self, what: Callable[[Eqn], int]) -> Ints:
        """A number for each equation, of which equations of one kind have the same one."""
        return np.array([what(eqn) for eqn in self.kinds], np.int64)[self._kind]

    def _place(self) -> None:
        """Number the equations, and what they read and give."""
        places = np.arange(len(self.eqns))
        self.arity: Ints = self.each(lambda e: len(e.inputs))
        self.first_operand: Ints = np.cumsum(self.arity) - self.arity
        self.reader: Ints = np.repeat(places, self.arity)
        self.counts: Ints = self.each(lambda e: len(e.outputs))
        self.first_result: Ints = np.cumsum(self.counts) - self.counts
        self.maker: Ints = np.repeat(places, self.counts)
        self.result: Ints = np.arange(len(self.maker)) - self.first_result[self.maker]

    def _constant(self) -> tuple[Flags, Flags]:
        """By number the values that are literals or free, and the equations that are free."""
        constant = np.zeros(len(self.variables), np.bool_)
        constant[-1] = True
        cheap = self.each(is_cheap) > 0
        is_free = np.zeros(len(self.eqns), np.bool_)
        for _ in range(_MOST_FREE):
            found = cheap.copy()
            found[self.reader[~constant[self.operands]]] = False
            if (found == is_free).all():
                break
            is_free = found
            constant[self.first_result[found]] = True
        return constant, is_free

    def _labels(self, atoms: Sequence[Atom], is_constant: Flags) -> Ints:
        """The label of each equation, for all operands, and which of them are constant.

        It is its kind, or another number where it reads constants: of that kind and these, one
        after the other.
        """
        constant = np.flatnonzero(is_constant)
        readers = self.reader[constant]
        slots = constant - self.first_operand[readers]
        found = dict(zip(readers.tolist(), self._kind[readers].tolist(), strict=True))
        numbers: dict[Any, int] = {}
        columns = readers.tolist(), slots.tolist(), constant.tolist()
        for reader, slot, operand in zip(*columns, strict=True):
            key = found[reader], slot, atoms[operand]
            found[reader] = numbers.setdefault(key, len(self.kinds) + len(numbers))
        labels = self._kind.copy()
        labels[list(found)] = list(found.values())
        return labels

    def _without(self, is_free: Flags) -> None:
        """Take the free equations out of the sequence; their values get the last of the numbers."""
        size, stays = len(self.variables), ~is_free
        places = np.flatnonzero(is_free)
        free = [self.eqns[place] for place in places.tolist()]
        self.free = {e.outputs[0]: e for e in free}
        kept = np.ones(size, np.bool_)
        kept[np.append(self.first_result[places], -1)] = False
        self.variables = [*itertools.compress(self.variables, kept.tolist()), *self.free, None]
        self._number: Ints = np.cumsum(kept) - 1  # by the number before
        self._number[~kept] = np.arange(size - 1 - len(free), size)
        self._number[self._number >= len(self.maker) - len(free)] -= size
        self.operands = self._number[self.operands[stays[self.reader]]]
        self.eqns = [*itertools.compress(self.eqns, stays.tolist())]
        self._kind, self.labels = self._kind[stays], self.labels[stays]
        self._place()

    def number_of(self, x: Atom) -> int:
        """The number of a value: a result, or another variable that the program has; else -1."""
        return int(self._number[self._index.get(x, -1)])

    @functools.cached_property
    def given(self) -> Ints:
        """The numbers of the results that the program gives."""
        numbers = [n for n in map(self.number_of, self.program.outvars) if n >= 0]
        return np.array(numbers, np.int64)

    def of_results(self, what: Callable[[Eqn], Sequence[int]]) -> Ints:
        """A number for each result, of those that `what` gives for the results of an equation."""
        return self._of_kinds(what, self.counts, self.maker, self.result)

    def of_operands(self, what: Callable[[Eqn], Sequence[int]]) -> Ints:
        """A number for each operand, of those that `what` gives for the operands of an equation."""
        slots = np.arange(len(self.operands)) - self.first_operand[self.reader]
        return self._of_kinds(what, self.arity, self.reader, slots)

    def _of_kinds(
        self, what: Callable[[Eqn], Sequence[int]], counts: Ints, places: Ints, within: Ints
    ) -> Ints:
        each = [what(eqn) for eqn in self.kinds]
        numbers = np.array([x for one in each for x in one], np.int64)
        ends = np.cumsum([len(one) for one in each], dtype=np.int64)
        found: Ints = numbers[(ends[self._kind] - counts)[places] + within]
        return found

    @functools.cached_property
    def sizes(self) -> Ints:
        """The bytes of each result."""
        return self.of_results(lambda e: [v.aval.size * v.aval.dtype.itemsize for v in e.outputs])

    @functools.cached_property
    def _makers(self) -> list[int]:
        makers: list[int] = self.maker.tolist()
        return makers

    @functools.cached_property
    def label_of(self) -> list[int]:
        """By the number of a value what is equal where like equations make it; else the number."""
        others = range(len(self.maker) - len(self.variables), 0)
        return [*self.labels[self.maker].tolist(), *others]

    @functools.cached_property
    def is_free(self) -> Flags:
        """By the number of a value whether it is one of those that are free."""
        flags = np.zeros(len(self.variables), np.bool_)
        flags[-1 - len(self.free) : -1] = True
        return flags

    @functools.cached_property
    def is_cheap(self) -> Flags:
        """Whether an equation costs less to compute again than to keep what it gives."""
        return self.each(is_cheap) > 0

    @functools.cached_property
    def is_fused(self) -> Flags:
        """Whether an equation can be part of a fusion."""
        return self.each(is_fused) > 0

    @functools.cached_property
    def is_compared(self) -> Flags:
        """By the number of a value whether it is a float that must equal another to the last bit.

        The gradient of a maximum goes to the elements that equal it: to none, if these are computed
        again and rounded in another way.
        """
        equality = self.each(lambda e: e.primitive.name in ("eq", "ne") and _is_inexact(e)) > 0
        flags = np.zeros(len(self.variables), np.bool_)
        for place in np.flatnonzero(equality).tolist():
            values = self.read_by(place)
            if not any(x == -1 or self.is_free[x] for x in values):
                flags[values] = True
        return flags

    @functools.cached_property
    def _read(self) -> tuple[list[int], list[int]]:
        """`operands`, and where those of each equation end, as lists: for one by one."""
        operands: list[int] = self.operands.tolist()
        return operands, [*self.first_operand.tolist(), len(self.operands)]

    def made_by(self, value: int) -> Eqn:
        """The equation that makes a value: of the sequence, or a free one."""
        if value < 0:
            return self.free[self.variables[value]]
        return self.eqns[self._makers[value]]

    def read_for(self, value: int) -> list[int]:
        """The numbers of the values that a result, or a free value, is made of."""
        if value < 0:
            return [self.number_of(x) for x in self.made_by(value).inputs]
        return self.read_by(self._makers[value])

    def read_alike(self, values: Sequence[int]) -> list[tuple[int, ...]]:
        """The numbers of what each of some like values is made of, a tuple for each operand."""
        if values[0] < 0:  # there is none like a free one
            return [(x,) * len(values) for x in self.read_for(values[0])]
        operands, bounds = self._read
        firsts = [bounds[self._makers[x]] for x in values]
        count = len(self.read_for(values[0]))
        return [tuple([operands[first + n] for first in firsts]) for n in range(count)]

    def read_by(self, place: int) -> list[int]:
        """The numbers of the values that an equation reads."""
        operands, bounds = self._read
        return operands[bounds[place] : bounds[place + 1]]

    @functools.cached_property
    def weights(self) -> Ints:
        """How many equations each is, with those of its programs."""
        return self.each(lambda eqn: weight([eqn]))

    @functools.cached_property
    def uses(self) -> tuple[Ints, Ints]:
        """The reader and the number of each operand that is a result of the sequence."""
        inside = np.flatnonzero(self.operands >= 0)
        return self.reader[inside], self.operands[inside]

    @functools.cached_property
    def last_uses(self) -> Ints:
        """For each equation the last that reads a result of it; none reads what is `len(eqns)`."""
        last = np.arange(len(self.eqns))
        use, value = self.uses
        np.maximum.at(last, self.maker[value], use)
        last[self.maker[self.given]] = len(self.eqns)
        return last

    def operands_of_all(self, start: int, end: int) -> slice:
        """The places in `operands` that the equations from `start` to `end` have."""
        bounds = self._read[1]
        return slice(bounds[start], bounds[end])

    def operands_of(self, stretches: Ints) -> Ints:
        """A row for each of some like stretches: the places in `operands` that its equations have.

        A stretch is a row of the places of its equations.
        """
        arity = self.arity[stretches[0]]
        of = np.repeat(np.arange(len(arity)), arity)
        slots = np.arange(len(of)) - (np.cumsum(arity) - arity)[of]
        places: Ints = self.first_operand[stretches][:, of] + slots
        return places

    def links(self, stretches: Ints) -> Ints:
        """A row for each of some like stretches, with a number for each operand.

        It is that of the result that the operand is, among all of the stretch; -1 from outside of
        it.  No two stretches have an equation in common.
        """
        counts = self.counts[stretches[0]]
        values = self.operands[self.operands_of(stretches)]
        place_in = np.zeros(len(self.eqns), np.int64)
        stretch = np.full(len(self.eqns), -1)
        rows = np.arange(len(stretches))[:, None]
        place_in[stretches], stretch[stretches] = np.arange(len(counts)), rows
        maker = self.maker[np.maximum(values, -1)]
        inside = (values >= 0) & (stretch[maker] == rows)
        result = values - self.first_result[maker]
        return np.where(inside, (np.cumsum(counts) - counts)[place_in[maker]] + result, -1)
