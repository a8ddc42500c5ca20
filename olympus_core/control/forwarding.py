"""Loops and branches without the values that they pass on unchanged.

A carry that the body of a loop returns unchanged is a constant of the loop.  A result that is an
operand, in every branch or in every step, is not computed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from olympus_core.arrays.device_array import put_array
from olympus_core.control.cond import Branches, cond_p
from olympus_core.control.scan import scan_p
from olympus_core.control.while_loop import while_p
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Olympuspr, places_of_inputs
from olympus_core.ir.tracer import Array
from olympus_core.transforms.programs import permute


class _Lean(NamedTuple):
    """Programs without forwarded values, the order of their operands, and all results.

    A result is the index of the operand that it is, or None if the programs compute it.
    """

    programs: tuple[Olympuspr, ...]
    operands: tuple[int, ...]
    forwarded: tuple[int | None, ...]
    num_moved: int = 0

    def results(self, outs: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        """Return all results, from the computed ones and the operands."""
        computed = iter(outs)
        return [next(computed) if i is None else _array(operands[i]) for i in self.forwarded]


def _array(x: Any) -> Any:
    """Return an operand as an array, as the result of an operation is."""
    return x if isinstance(x, Array) else put_array(x)


def bind_cond(index: Any, operands: Sequence[Any], branches: Branches) -> list[Any]:
    """Return the results of the branch `index`."""
    lean = _lean_branches(branches)
    return lean.results(cond_p.bind(index, *operands, branches=lean.programs), operands)


@functools.lru_cache(maxsize=1024)
def _lean_branches(branches: Branches) -> _Lean:
    places = zip(*map(places_of_inputs, branches), strict=True)
    forwarded = tuple(p[0] if len(set(p)) == 1 else None for p in places)
    computed = [i for i, p in enumerate(forwarded) if p is None]
    if len(computed) == len(forwarded):
        return _Lean(branches, (), forwarded)
    count = range(len(branches[0].invars))
    return _Lean(tuple(permute(b, count, computed) for b in branches), (), forwarded)


def bind_scan(operands: Sequence[Any], program: Olympuspr, **params: Any) -> list[Any]:
    """Return the results of a scan; the operands are its constants, its carry and the xs."""
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    lean = _lean_scan(program, num_consts, num_carry)
    counts = {"num_consts": num_consts + lean.num_moved, "num_carry": num_carry - lean.num_moved}
    ordered = [operands[i] for i in lean.operands]
    outs = scan_p.bind(*ordered, **params | counts, olympuspr=lean.programs[0])
    return lean.results(outs, operands)


@functools.lru_cache(maxsize=1024)
def _lean_scan(program: Olympuspr, num_consts: int, num_carry: int) -> _Lean:
    end = num_consts + num_carry
    places = places_of_inputs(program)
    carry = tuple(p if p == num_consts + i else None for i, p in enumerate(places[:num_carry]))
    rows = tuple(p if p is not None and p >= end else None for p in places[num_carry:])
    return _moving(program, [p for p in carry if p is not None], (*carry, *rows))


def _moving(program: Olympuspr, moved: Sequence[int], forwarded: tuple[int | None, ...]) -> _Lean:
    """Return the program with the inputs `moved` in front, and without the `forwarded` results."""
    ins = (*moved, *(i for i in range(len(program.invars)) if i not in moved))
    outs = [i for i, p in enumerate(forwarded) if p is None]
    if len(outs) == len(forwarded):
        return _Lean((program,), ins, forwarded)
    return _Lean((permute(program, ins, outs),), ins, forwarded, len(moved))


def bind_while(
    operands: Sequence[Any], test: Olympuspr, num_test: int, body: Olympuspr, num_body: int
) -> list[Any]:
    """Return the carry of a loop; the operands are the constants of both programs, and a carry."""
    consts, rest = operands[:num_test], operands[num_test:]
    lean = _lean_while(test, num_test, body, num_body)
    outs = while_p.bind(
        *consts,
        *[rest[i] for i in lean.operands],
        cond_nconsts=num_test,
        cond_olympuspr=lean.programs[1],
        body_nconsts=num_body + lean.num_moved,
        body_olympuspr=lean.programs[0],
    )
    return lean.results(outs, rest)


@functools.lru_cache(maxsize=1024)
def _lean_while(test: Olympuspr, num_test: int, body: Olympuspr, num_body: int) -> _Lean:
    read = restrict(test, (True,))[1]
    forwarded = tuple(
        p if p == num_body + i and num_test + i not in read else None
        for i, p in enumerate(places_of_inputs(body))
    )
    lean = _moving(body, [i for i in forwarded if i is not None], forwarded)
    carried = [num_test + i for i, p in enumerate(forwarded) if p is None]
    test = permute(test, (*range(num_test), *carried), (0,)) if lean.num_moved else test
    return lean._replace(programs=(*lean.programs, test))
