"""How values go through a program: its equations and results by number, and who reads what.

Equations are alike where they have one label: the same primitive, parameters, types and literals.
All else is arrays of numbers, so that what a program does at several places is found by comparing
arrays.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from olympus_core.avals import ShapedArray
from olympus_core.fingerprint import structure
from olympus_core.olympuspr import Atom, Eqn, Literal, Olympuspr, Var, sub_programs
from olympus_core.simplify import content

__all__ = ["CHEAP", "Flow", "Ints", "Labels", "heavy_places", "is_heavy", "most_alike", "weight"]

Ints = npt.NDArray[np.int64]


#: What costs less to compute again than to keep in memory: an operation or two for each element.
CHEAP = frozenset(
    """
    abs add and broadcast_in_dim ceil clamp complex conj convert_element_type copy div eq floor ge
    gt imag integer_pow iota is_finite le lt max min mul name ne neg not or real relu reshape round
    select_n shift_left shift_right_arithmetic shift_right_logical sign squeeze stop_gradient sub
    transpose xor
    """.split()  # noqa: SIM905
)


_MOST_FREE = 8  # equations of constants that a block makes itself, one on the other


def weight(eqns: Iterable[Eqn]) -> int:
    """How many equations these are, with those of nested programs but not of called functions."""
    total = 0
    for eqn in eqns:
        total += 1
        if eqn.primitive.has_programs and not eqn.primitive.is_call:
            total += sum(weight(program.eqns) for program in sub_programs(eqn))
    return total


def is_heavy(eqn: Eqn) -> bool:
    """Whether it is a product, a convolution or a loop, or has a program with one; no call is."""
    primitive = eqn.primitive
    if primitive.is_product or primitive.is_loop:
        return True
    return (
        not primitive.is_call
        and primitive.has_programs
        and any(is_heavy(inner) for program in sub_programs(eqn) for inner in program.eqns)
    )


def heavy_places(eqns: Sequence[Eqn]) -> list[int]:
    """The numbers of the equations that are heavy."""
    possible = [
        i
        for i, e in enumerate(eqns)
        if e.primitive.is_product or e.primitive.is_loop or e.primitive.has_programs
    ]
    return [i for i in possible if is_heavy(eqns[i])]


def most_alike(eqns: Sequence[Eqn]) -> int:
    """How many heavy equations are of one kind: as often as that, at the most, a block occurs."""
    heavy = [eqns[i] for i in heavy_places(eqns)]
    kinds = Counter((e.primitive, *[x.aval for x in (*e.inputs, *e.outputs)]) for e in heavy)
    return max(kinds.values(), default=0)


class Labels:
    """Numbers for equations and programs, equal where these are alike, within one object."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._programs: dict[int, tuple[Olympuspr, int]] = {}

    def of_key(self, key: Any) -> int:
        """The number of a key that can be hashed."""
        return self._numbers.setdefault(key, len(self._numbers))

    def of_eqn(self, eqn: Eqn, operands: Sequence[Any]) -> int:
        """The number of an equation, given what its operands are to it, other than values."""
        params = eqn.params
        if not params:
            described: Any = ()
        elif eqn.primitive.has_programs:
            described = tuple([(name, self._of_value(x)) for name, x in params.items()])
        else:
            described = tuple(params.items())
        numbers = self._numbers
        return numbers.setdefault((eqn.primitive, described, *operands), len(numbers))

    def of_program(self, program: Olympuspr) -> int:
        """The number of a nested program."""
        known = self._programs.get(id(program))
        if known is None:
            places: dict[Atom, int] = {v: i for i, v in enumerate(program.invars)}

            def read(x: Atom) -> Any:
                return content(x) if isinstance(x, Literal) else places[x]

            parts: list[Any] = [program.in_avals]
            for eqn in program.eqns:
                parts.append(self.of_eqn(eqn, [read(x) for x in eqn.inputs]))
                for v in eqn.outputs:
                    places[v] = len(places)
            number = self.of_key((*parts, *[read(x) for x in program.outvars]))
            known = self._programs[id(program)] = program, number  # which keeps the id taken
        return known[1]

    def _of_value(self, value: Any) -> Any:
        if isinstance(value, Olympuspr):
            return Olympuspr, self.of_program(value)
        if isinstance(value, tuple):
            return tuple([self._of_value(x) for x in value])
        return repr(structure(value))


class Flow:
    """How values go through a program, its equations and their results by number.

    Equations of constants that are cheap, such as a mask, are `free`: they take no place in the
    sequence `eqns`, for each block that reads one makes it itself.

    Of each equation there is its label in `labels`, and in `arity` how many operands it has.  The
    results of all are numbered in the order of the sequence: `maker` has the equation of each,
    `result` which of its results it is, and `sizes` its bytes.  `operands` has the number of each
    operand of the sequence, -1 of one that it does not make.
    """

    def __init__(self, program: Olympuspr, labels: Labels) -> None:
        self.program = program
        self.free: dict[Var, Eqn] = {}
        self.eqns: list[Eqn] = []
        self._depth: dict[Any, int] = {}  # how many equations a free one is made of, one on another
        self._number: dict[Any, int] = {}
        numbers: list[int] = []
        operands: list[int] = []
        number = self._number
        for eqn in program.eqns:
            inputs = eqn.inputs
            made = [number.get(x, -1) for x in inputs]
            if -1 not in made and made:  # which most are
                kinds = [x.aval for x in inputs]
            elif eqn.primitive.name in CHEAP and self._is_free(eqn):
                continue
            else:
                kinds = [
                    x.aval if n >= 0 else self._kind(x) for x, n in zip(inputs, made, strict=True)
                ]
            numbers.append(labels.of_eqn(eqn, kinds))
            operands += made
            for v in eqn.outputs:
                number[v] = len(number)
            self.eqns.append(eqn)
        self.labels: Ints = np.array(numbers, np.int64)
        self.operands: Ints = np.array(operands, np.int64)
        self.arity: Ints = np.array([len(e.inputs) for e in self.eqns], np.int64)
        self._first: Ints = np.cumsum(self.arity) - self.arity  # operand of each
        self._results: Ints = np.array([len(e.outputs) for e in self.eqns], np.int64)
        self.maker: Ints = np.repeat(np.arange(len(self.eqns)), self._results)
        self.first_result: Ints = np.cumsum(self._results) - self._results
        self.result: Ints = np.arange(len(self.maker)) - self.first_result[self.maker]
        self.heavy: Ints = np.array(heavy_places(self.eqns), np.int64)
        self.is_heavy = np.zeros(len(self.eqns), np.bool_)
        self.is_heavy[self.heavy] = True

    def _kind(self, x: Atom) -> Any:
        """What an operand that the sequence does not make is to an equation."""
        if isinstance(x, Literal):
            return content(x)
        return x if x in self.free else x.aval

    def _is_free(self, eqn: Eqn) -> bool:
        """Whether an equation is of constants alone; it is taken as free then."""
        depth = 0
        for x in eqn.inputs:
            if x.__class__ is not Literal:
                below = self._depth.get(x, _MOST_FREE)
                if below >= _MOST_FREE:
                    return False
                depth = max(depth, below)
        self.free[eqn.outputs[0]] = eqn
        self._depth[eqn.outputs[0]] = 1 + depth
        return True

    def number_of(self, x: Atom) -> int:
        """The number of a result of the sequence."""
        return self._number[x]

    def at(self, x: Atom) -> tuple[int, int] | None:
        """The equation that makes a value, and which of its results it is; None where none does."""
        number = self._number.get(x)
        return None if number is None else self._places[number]

    @functools.cached_property
    def _places(self) -> list[tuple[int, int]]:
        return list(zip(self.maker.tolist(), self.result.tolist(), strict=True))

    @functools.cached_property
    def sizes(self) -> Ints:
        """The bytes of each result."""
        known: dict[ShapedArray, int] = {}
        for v in self._number:
            if v.aval not in known:
                known[v.aval] = v.aval.size * v.aval.dtype.itemsize
        return np.array([known[v.aval] for v in self._number], np.int64)

    def bytes_of(self, place: int, result: int = 0) -> int:
        """The size of a result of an equation."""
        aval = self.eqns[place].outputs[result].aval
        return aval.size * aval.dtype.itemsize

    @functools.cached_property
    def uses(self) -> Ints:
        """A row for each operand that another equation of the sequence makes.

        The reading equation, its slot, the making equation, which of its results.
        """
        read = np.flatnonzero(self.operands >= 0)
        values = self.operands[read]
        use = np.repeat(np.arange(len(self.eqns)), self.arity)[read]
        return np.array([use, read - self._first[use], self.maker[values], self.result[values]]).T

    @functools.cached_property
    def last_uses(self) -> Ints:
        """For each equation the last that reads a result of it; none reads what is `len(eqns)`."""
        last = np.arange(len(self.eqns))
        np.maximum.at(last, self.uses[:, 2], self.uses[:, 0])
        for x in self.program.outvars:
            at = self.at(x)
            if at is not None:
                last[at[0]] = len(self.eqns)
        return last

    def links(self, stretches: Sequence[Sequence[int]] | Ints) -> Ints:
        """A row for each of some like stretches, with a number for each operand.

        It is that of the result that the operand is, among all of the stretch; -1 from outside of
        it.  No two stretches have an equation in common.
        """
        places = np.asarray(stretches)
        arity, results = self.arity[places[0]], self._results[places[0]]
        of = np.repeat(np.arange(len(arity)), arity)
        slots = np.arange(len(of)) - (np.cumsum(arity) - arity)[of]
        values = self.operands[self._first[places][:, of] + slots]
        place_in = np.zeros(len(self.eqns), np.int64)
        stretch = np.full(len(self.eqns), -1)
        rows = np.arange(len(places))[:, None]
        place_in[places], stretch[places] = np.arange(len(arity)), rows
        maker = self.maker[values]
        inside = (values >= 0) & (stretch[maker] == rows)
        return np.where(
            inside, (np.cumsum(results) - results)[place_in[maker]] + self.result[values], -1
        )
