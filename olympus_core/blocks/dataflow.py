"""The dataflow of a program: its equations and results by number, and their readers.

Equations are equal if they have one label: the same primitive, parameters, types and literals. All
other properties are arrays of numbers, so that the work at several places can be compared as
arrays.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from olympus_core.base import dtypes
from olympus_core.blocks.labels import Labels, is_fused, is_heavy, weight
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


_MAX_FREE = 8  # equations of constants that a block makes itself, one on the other


def _is_inexact(eqn: Eqn) -> bool:
    """Return True if the first operand has floats or complex numbers."""
    return dtypes.kind(eqn.inputs[0].aval.dtype) in "fc"


class Flow:
    """The dataflow of a simplified program, with its equations and their results by number.

    Equal literals must be one object, as `simplify` makes them.

    Cheap equations of constants, such as a mask, are `free`: they have no position in the sequence
    `eqns`, because each block that reads one recomputes it.

    `labels` has the label of each equation, `arity` its number of operands, and `first_operand` its
    first among all operands of the sequence; `reader` has the equation of each operand. Results are
    numbered in the order of the sequence: `producer` has the equation of each, and `result` its
    number among the results of the equation. `counts` has the number of results of each equation,
    and `first_result` the first.

    `operands` has the value number of each operand: that of a result, -1 for a literal, below it
    those of free values, and below these those of the inputs and constants of the program.
    `variables` has the variable of each number; negative numbers index from its end.

    >>> flow = Flow(simplify(program), Labels())
    >>> [flow.variables[n] for n in flow.operands_of_equation(0)]
    """

    def __init__(self, program: Olympuspr, labels: Labels) -> None:
        self.program = program
        self.eqns: Sequence[Eqn] = program.eqns
        self.kinds, self._kind = self._by_kind(labels)
        results = [v for e in program.eqns for v in e.outputs]
        others = [*program.constvars, *program.invars]
        self.variables: list[Any] = [*results, *others, None]
        numbers = itertools.chain(range(len(results)), range(-1 - len(others), 0))
        self._index: dict[Any, int] = dict(zip(self.variables, numbers, strict=True))
        atoms = [x for e in program.eqns for x in e.inputs]
        read = map(self._index.get, atoms, itertools.repeat(-1))
        self.operands: Ints = np.fromiter(read, np.int64, len(atoms))
        self._place()
        constant, is_free = self._constant()
        self.labels = self._labels(atoms, constant[self.operands])
        self._without(is_free)
        self.is_heavy: Flags = self.per_equation(is_heavy).astype(np.bool_)
        self.heavy: Ints = np.flatnonzero(self.is_heavy)

    def _by_kind(self, labels: Labels) -> tuple[list[Eqn], Ints]:
        """Return an equation of each kind, and the number of the kind of each equation."""
        kinds = [e.kind or labels.kind(e) for e in self.eqns]
        eqn_of_kind = dict(zip(kinds, self.eqns, strict=True))
        number = dict(zip(eqn_of_kind, range(len(eqn_of_kind)), strict=True))
        numbers = np.fromiter(map(number.__getitem__, kinds), np.int64, len(kinds))
        return list(eqn_of_kind.values()), numbers

    def per_equation(self, figure: Callable[[Eqn], int]) -> Ints:
        """Return a number for each equation, computed once for each kind."""
        return np.array([figure(eqn) for eqn in self.kinds], np.int64)[self._kind]

    def _place(self) -> None:
        """Number the equations, their operands and their results."""
        places = np.arange(len(self.eqns))
        self.arity: Ints = self.per_equation(lambda e: len(e.inputs))
        self.first_operand: Ints = np.cumsum(self.arity) - self.arity
        self.reader: Ints = np.repeat(places, self.arity)
        self.counts: Ints = self.per_equation(lambda e: len(e.outputs))
        self.first_result: Ints = np.cumsum(self.counts) - self.counts
        self.producer: Ints = np.repeat(places, self.counts)
        self.result: Ints = np.arange(len(self.producer)) - self.first_result[self.producer]

    def _constant(self) -> tuple[Flags, Flags]:
        """Return flags for literal or free values by number, and for free equations."""
        constant = np.zeros(len(self.variables), np.bool_)
        constant[-1] = True
        cheap = self.per_equation(lambda e: e.primitive.is_cheap) > 0
        is_free = np.zeros(len(self.eqns), np.bool_)
        for _ in range(_MAX_FREE):
            free_now = cheap.copy()
            free_now[self.reader[~constant[self.operands]]] = False
            if (free_now == is_free).all():
                break
            is_free = free_now
            constant[self.first_result[free_now]] = True
        return constant, is_free

    def _labels(self, atoms: Sequence[Atom], is_constant: Flags) -> Ints:
        """Return the label of each equation, from all operands and the flags of constant ones.

        It is the number of its kind, or a new number for a kind and its constants in sequence.
        """
        constant = np.flatnonzero(is_constant)
        readers = self.reader[constant]
        slots = constant - self.first_operand[readers]
        label_of = dict(zip(readers.tolist(), self._kind[readers].tolist(), strict=True))
        numbers: dict[Any, int] = {}
        columns = readers.tolist(), slots.tolist(), constant.tolist()
        for reader, slot, operand in zip(*columns, strict=True):
            key = label_of[reader], slot, atoms[operand]
            label_of[reader] = numbers.setdefault(key, len(self.kinds) + len(numbers))
        labels = self._kind.copy()
        labels[list(label_of)] = list(label_of.values())
        return labels

    def _without(self, is_free: Flags) -> None:
        """Remove the free equations from the sequence; their values get the last numbers."""
        size, stays = len(self.variables), ~is_free
        places = np.flatnonzero(is_free)
        free = [self.eqns[place] for place in places.tolist()]
        self.free = {e.outputs[0]: e for e in free}
        stays_bound = np.ones(size, np.bool_)
        stays_bound[np.append(self.first_result[places], -1)] = False
        bound = itertools.compress(self.variables, stays_bound.tolist())
        self.variables = [*bound, *self.free, None]
        self._number: Ints = np.cumsum(stays_bound) - 1  # by the number before
        self._number[~stays_bound] = np.arange(size - 1 - len(free), size)
        self._number[self._number >= len(self.producer) - len(free)] -= size
        self.operands = self._number[self.operands[stays[self.reader]]]
        self.eqns = [*itertools.compress(self.eqns, stays.tolist())]
        self._kind, self.labels = self._kind[stays], self.labels[stays]
        self._place()

    def number_of(self, x: Atom) -> int:
        """Return the number of a value: a result, or another variable of the program; else -1."""
        return int(self._number[self._index.get(x, -1)])

    @functools.cached_property
    def program_results(self) -> Ints:
        """The numbers of the program's results."""
        numbers = [n for n in map(self.number_of, self.program.outvars) if n >= 0]
        return np.array(numbers, np.int64)

    def per_result(self, figure: Callable[[Eqn], Sequence[int]]) -> Ints:
        """Return a number for each result, from the numbers of `figure` for an equation."""
        return self._of_kinds(figure, self.counts, self.producer, self.result)

    def per_operand(self, figure: Callable[[Eqn], Sequence[int]]) -> Ints:
        """Return a number for each operand, from the numbers of `figure` for an equation."""
        slots = np.arange(len(self.operands)) - self.first_operand[self.reader]
        return self._of_kinds(figure, self.arity, self.reader, slots)

    def _of_kinds(
        self, figure: Callable[[Eqn], Sequence[int]], counts: Ints, places: Ints, within: Ints
    ) -> Ints:
        figures = [figure(eqn) for eqn in self.kinds]
        numbers = np.array([x for one in figures for x in one], np.int64)
        ends = np.cumsum([len(one) for one in figures], dtype=np.int64)
        gathered: Ints = numbers[(ends[self._kind] - counts)[places] + within]
        return gathered

    @functools.cached_property
    def sizes(self) -> Ints:
        """The bytes of each result."""
        return self.per_result(lambda e: [v.aval.size * v.aval.dtype.itemsize for v in e.outputs])

    @functools.cached_property
    def _producers(self) -> list[int]:
        makers: list[int] = self.producer.tolist()
        return makers

    @functools.cached_property
    def label_of(self) -> list[int]:
        """By value number, a key that is equal for results of equal equations; else the number."""
        others = range(len(self.producer) - len(self.variables), 0)
        return [*self.labels[self.producer].tolist(), *others]

    @functools.cached_property
    def is_free(self) -> Flags:
        """By value number, True for a free value."""
        flags = np.zeros(len(self.variables), np.bool_)
        flags[-1 - len(self.free) : -1] = True
        return flags

    @functools.cached_property
    def is_cheap(self) -> Flags:
        """By equation, True if recomputing it costs less than saving its results."""
        return self.per_equation(lambda e: e.primitive.is_cheap) > 0

    @functools.cached_property
    def is_fused(self) -> Flags:
        """By equation, True if it can be part of a fusion."""
        return self.per_equation(is_fused) > 0

    @functools.cached_property
    def is_compared(self) -> Flags:
        """By value number, True for a float that must equal another one exactly.

        The gradient of a maximum goes to the elements that equal it: to none, if these are
        recomputed with another rounding.
        """
        equality = self.per_equation(lambda e: e.primitive.is_equality and _is_inexact(e)) > 0
        flags = np.zeros(len(self.variables), np.bool_)
        for place in np.flatnonzero(equality).tolist():
            values = self.operands_of_equation(place)
            if not any(x == -1 or self.is_free[x] for x in values):
                flags[values] = True
        return flags

    @functools.cached_property
    def _read(self) -> tuple[list[int], list[int]]:
        """`operands`, and the end of each equation's part, as lists for single accesses."""
        operands: list[int] = self.operands.tolist()
        return operands, [*self.first_operand.tolist(), len(self.operands)]

    def equation_of(self, value: int) -> Eqn:
        """Return the equation that computes a value: of the sequence, or a free one."""
        if value < 0:
            return self.free[self.variables[value]]
        return self.eqns[self._producers[value]]

    def operands_of_value(self, value: int) -> list[int]:
        """Return the numbers of the operands of a result's equation, or of a free value's."""
        if value < 0:
            return [self.number_of(x) for x in self.equation_of(value).inputs]
        return self.operands_of_equation(self._producers[value])

    def operands_of_equal_values(self, values: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the operands of the equations of some equal values, a tuple for each operand."""
        if values[0] < 0:  # there is none like a free one
            return [(x,) * len(values) for x in self.operands_of_value(values[0])]
        operands, bounds = self._read
        firsts = [bounds[self._producers[x]] for x in values]
        count = len(self.operands_of_value(values[0]))
        return [tuple([operands[first + n] for first in firsts]) for n in range(count)]

    def operands_of_equation(self, place: int) -> list[int]:
        """Return the numbers of the values that an equation reads."""
        operands, bounds = self._read
        return operands[bounds[place] : bounds[place + 1]]

    @functools.cached_property
    def weights(self) -> Ints:
        """The number of equations of each equation, including its programs."""
        return self.per_equation(lambda eqn: weight([eqn]))

    @functools.cached_property
    def uses(self) -> tuple[Ints, Ints]:
        """The reader and the number of each operand that is a result of the sequence."""
        inside = np.flatnonzero(self.operands >= 0)
        return self.reader[inside], self.operands[inside]

    @functools.cached_property
    def last_uses(self) -> Ints:
        """The last reader of each equation's results; `len(eqns)` for the program's results."""
        last = np.arange(len(self.eqns))
        use, value = self.uses
        np.maximum.at(last, self.producer[value], use)
        last[self.producer[self.program_results]] = len(self.eqns)
        return last

    def operands_of_all(self, start: int, end: int) -> slice:
        """Return the positions in `operands` of the equations from `start` to `end`."""
        bounds = self._read[1]
        return slice(bounds[start], bounds[end])

    def operands_of(self, stretches: Ints) -> Ints:
        """Return a row for each of some equal stretches: the positions in `operands`.

        A stretch is a row of the positions of its equations.
        """
        arity = self.arity[stretches[0]]
        of = np.repeat(np.arange(len(arity)), arity)
        slots = np.arange(len(of)) - (np.cumsum(arity) - arity)[of]
        places: Ints = self.first_operand[stretches][:, of] + slots
        return places

    def links(self, stretches: Ints) -> Ints:
        """Return a row for each of some equal stretches, with a number for each operand.

        It is the number of the result among all results of the stretch; -1 from outside of it. No
        two stretches have an equation in common.
        """
        counts = self.counts[stretches[0]]
        values = self.operands[self.operands_of(stretches)]
        place_in = np.zeros(len(self.eqns), np.int64)
        stretch = np.full(len(self.eqns), -1)
        rows = np.arange(len(stretches))[:, None]
        place_in[stretches], stretch[stretches] = np.arange(len(counts)), rows
        producer = self.producer[np.maximum(values, -1)]
        inside = (values >= 0) & (stretch[producer] == rows)
        result = values - self.first_result[producer]
        return np.where(inside, (np.cumsum(counts) - counts)[place_in[producer]] + result, -1)
