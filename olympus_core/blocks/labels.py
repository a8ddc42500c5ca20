"""Equation kinds and the predicates that the search for repeated blocks uses.

Properties of the primitive, the types and the parameters are computed once for all equations of a
kind.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from olympus_core.ir.dce_cse import content
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, kind_of, sub_programs
from olympus_core.lowering.fingerprint import structural_value


def weight(eqns: Iterable[Eqn]) -> int:
    """Return the number of equations, including nested programs but not called functions."""
    total = 0
    for eqn in eqns:
        total += 1
        if eqn.primitive.has_programs and not eqn.primitive.is_call:
            total += sum(weight(program.eqns) for program in sub_programs(eqn))
    return total


def is_heavy(eqn: Eqn) -> bool:
    """Return True for a product, a convolution or a loop, also nested, but not for a call."""
    primitive = eqn.primitive
    if primitive.is_product or primitive.is_loop:
        return True
    return (
        not primitive.is_call
        and primitive.has_programs
        and any(is_heavy(inner) for program in sub_programs(eqn) for inner in program.eqns)
    )


def is_fused(eqn: Eqn) -> bool:
    """Return True if an equation can be inside a fusion."""
    return eqn.primitive.is_elementwise or eqn.primitive.is_cheap


def most_heavy_equations(eqns: Sequence[Eqn]) -> int:
    """Return the most heavy equations of one kind: a bound of a block's occurrences."""
    times: Counter[Any] = Counter([e.kind for e in eqns])
    rest = [e for e in eqns if e.kind is None and is_heavy(e)] if times.pop(None, 0) else []
    products = [n for kind, n in times.items() if kind.primitive.is_product]
    other = Counter([(e.primitive, *[x.aval for x in e.inputs]) for e in rest])
    return max([*products, *other.values()], default=0)


class Labels:
    """Numbers for programs, equal for equal programs, within one object.

    The content of a program is compared only if another one has its type and number of equations.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}  # by the content of a program
        self._alone: dict[Any, Olympuspr | None] = {}  # the first of each type; None once looked at
        self._programs: dict[int, tuple[Olympuspr, int]] = {}
        self._next = itertools.count()

    def kind(self, eqn: Eqn) -> Hashable:
        """Return a key that is equal for one primitive, operand types and parameters.

        Nested programs compare by content.
        """
        if not eqn.primitive.has_programs:
            return kind_of(eqn)
        params = [(name, self._of_value(x)) for name, x in eqn.params.items()]
        return eqn.primitive, tuple(params), tuple([x.aval for x in eqn.inputs])

    def of_program(self, program: Olympuspr) -> int:
        """Return the number of a nested program."""
        known = self._programs.get(id(program))
        if known is None:
            number = next(self._next)
            outline = program.in_avals, len(program.eqns), program.out_avals
            first = self._alone.setdefault(outline, program)
            if first is not program:
                if first is not None:
                    self._alone[outline] = None
                    self._numbers[self._content(first)] = self.of_program(first)
                number = self._numbers.setdefault(self._content(program), number)
            known = self._programs[id(program)] = program, number  # which keeps the id taken
        return known[1]

    def _content(self, program: Olympuspr) -> Hashable:
        """Return a key that is equal for programs with equal content."""
        places: dict[Atom, int] = {v: i for i, v in enumerate(program.invars)}

        def read(x: Atom) -> Any:
            return content(x) if isinstance(x, Literal) else places[x]

        parts: list[Any] = [program.in_avals]
        for eqn in program.eqns:
            parts.append((self.kind(eqn), *map(read, eqn.inputs)))
            for v in eqn.outputs:
                places[v] = len(places)
        return *parts, *map(read, program.outvars)

    def _of_value(self, value: Any) -> Any:
        if isinstance(value, Olympuspr):
            return Olympuspr, self.of_program(value)
        if isinstance(value, tuple):
            return tuple([self._of_value(x) for x in value])
        return repr(structural_value(value))
