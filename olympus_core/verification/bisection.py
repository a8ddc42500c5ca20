"""The search for the first wrong operation of a compiled program, by cutting the program.

The program of its first k equations, whose results are the values that the rest needs, is compiled
and compared with the run operation by operation. A binary search over k finds an equation whose
operands are correct and whose result is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy, put_array
from olympus_core.control.cond import cond_p
from olympus_core.control.platform import platform_dependent_p
from olympus_core.control.scan import scan_p
from olympus_core.control.shard_map import shard_map_p
from olympus_core.control.while_loop import while_p
from olympus_core.ir.effects import without_inspections
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr
from olympus_core.verification.comparison import compare, explained
from olympus_core.verification.findings import Finding, finding
from olympus_core.verification.floats import is_inexact
from olympus_core.verification.one_device import one_device_program
from olympus_core.verification.op_by_op import OpByOpRun, run_alone
from olympus_core.verification.values import Array, TrackedValue

#: compiles a program and runs it on arrays
Run = Callable[[Olympuspr, Sequence[Array]], Sequence[Array]]


def prefix(program: Olympuspr, count: int, wanted: Sequence[Atom] | None = None) -> Olympuspr:
    """Return the program of the first `count` equations.

    Its results are the values that the rest of the program needs, or the `wanted` values.

    >>> print(prefix(jit(lambda x: numpy.sin(2 * x)).trace(1.0).olympuspr, 1))
    { lambda ; a:f32[]. let
        b:f32[] = mul 2.0:f32[] a
      in (b,) }
    """
    eqns = program.eqns[:count]
    if wanted is None:
        needed = {x for eqn in program.eqns[count:] for x in eqn.inputs} | set(program.outvars)
        wanted = [v for eqn in eqns for v in eqn.outputs if v in needed]
    return program.replace(eqns=eqns, outvars=wanted)


class _EquationSearch:
    """The search in one program, which may lead into the programs of its equations."""

    def __init__(self, run: Run, make: Callable[[], OpByOpRun], path: tuple[str, ...]) -> None:
        self.run = run
        self.make = make
        self.path = path

    def reference(self, program: Olympuspr, inputs: Sequence[Array]) -> list[TrackedValue]:
        """Return the results of a program, run operation by operation."""
        return self.make().run(program, inputs)

    def is_wrong(self, program: Olympuspr, inputs: Sequence[Array]) -> bool:
        """Return True if the compiled program differs from the operation-by-operation run."""
        values = self.reference(program, inputs)
        results = self.run(program, inputs)
        return any(
            compare(x, v.array, explained(v)).mismatches
            for x, v in zip(results, values, strict=True)
        )

    def first(self, program: Olympuspr, inputs: Sequence[Array]) -> Finding | None:
        """Return the finding of the first wrong equation of a program with a wrong result."""
        last_correct, first_wrong_count = 0, len(program.eqns)
        if not first_wrong_count:
            return None
        while first_wrong_count - last_correct > 1:
            middle = (last_correct + first_wrong_count) // 2
            if self.is_wrong(prefix(program, middle), inputs):
                first_wrong_count = middle
            else:
                last_correct = middle
        return self.blame(program, first_wrong_count - 1, inputs)

    def blame(self, program: Olympuspr, place: int, inputs: Sequence[Array]) -> Finding:
        """Return the finding of an equation with correct operands."""
        eqn = program.eqns[place]
        before = prefix(program, place, [x for x in eqn.inputs if not isinstance(x, Literal)])
        values = iter(self.reference(before, inputs))
        operands = [
            np.asarray(x.value, x.aval.dtype) if isinstance(x, Literal) else next(values).array
            for x in eqn.inputs
        ]
        if (
            eqn.primitive.has_programs
            and (nested_finding := self.inside(eqn, operands)) is not None
        ):
            return nested_finding
        after = prefix(program, place + 1, eqn.outputs)
        expected = self.reference(after, inputs)
        results = self.run(after, inputs)
        is_sensitive = self._is_sensitive(eqn, before, results, inputs)
        return self.finding_of(eqn, operands, results, expected, is_sensitive)

    def finding_of(
        self,
        eqn: Eqn,
        operands: Sequence[Array],
        results: Sequence[Array],
        expected: Sequence[TrackedValue],
        sensitive: bool,
    ) -> Finding:
        """Return the finding of an equation, at the result with the largest error."""
        pairs = [
            (compare(x, v.array, explained(v)), x) for x, v in zip(results, expected, strict=True)
        ]
        comparison, result = max(pairs, key=lambda pair: pair[0].mismatches)
        kind: Any = "sensitive" if sensitive else "compiled"
        return finding(kind, eqn, self.path, operands, result, comparison.element)

    def _is_sensitive(
        self, eqn: Eqn, before: Olympuspr, results: Sequence[Array], inputs: Sequence[Array]
    ) -> bool:
        """Return True if integers or bools differ only because of the operands' rounding errors."""
        if eqn.primitive.has_programs or any(is_inexact(x.dtype) for x in results):
            return False
        compiled = iter(self.run(before, inputs))
        operands_run = [
            put_array(x.value if isinstance(x, Literal) else next(compiled), x.aval)
            for x in eqn.inputs
        ]
        rerun_results = [array_to_numpy(x) for x in run_alone(eqn, operands_run)]
        return all(np.array_equal(x, y) for x, y in zip(rerun_results, results, strict=True))

    def inside(self, eqn: Eqn, operands: Sequence[Array]) -> Finding | None:
        """Return the first wrong operation in the programs of an equation, or None."""
        if eqn.primitive is scan_p:
            return self.in_scan(eqn, operands)
        if eqn.primitive is while_p:
            return self.in_while(eqn, operands)
        if eqn.primitive is cond_p:
            index = int(operands[0])
            branch = eqn.params["branches"][index]
            return self.deeper(f"cond, branch {index}", branch, operands[1:])
        if eqn.primitive is platform_dependent_p:
            return self.deeper("", platform_dependent_p.branch_for(eqn.params, "cpu"), operands[1:])
        if eqn.primitive is shard_map_p:
            return self.deeper("shard_map", one_device_program(eqn.params), operands)
        name = str(eqn.params.get("name", eqn.primitive.name))
        return self.deeper(name, eqn.params["olympuspr"], operands)

    def deeper(self, name: str, program: Olympuspr, inputs: Sequence[Array]) -> Finding | None:
        """Return the first wrong operation of a nested program, compiled alone, or None."""
        if not self.is_wrong(program, inputs):
            return None
        return _EquationSearch(
            self.run, self.make, (*self.path, name) if name else self.path
        ).first(program, inputs)

    def in_scan(self, eqn: Eqn, operands: Sequence[Array]) -> Finding | None:
        params = eqn.params
        a, n, body = params["num_consts"], params["num_carry"], params["olympuspr"]
        consts, carry, xs = operands[:a], list(operands[a : a + n]), operands[a + n :]
        places = range(params["length"])
        for i in reversed(places) if params["reverse"] else places:
            inputs = [*consts, *carry, *(x[i] for x in xs)]
            nested_finding = self.deeper(f"scan, iteration {i}", body, inputs)
            if nested_finding is not None:
                return nested_finding
            carry = [v.array for v in self.reference(body, inputs)[:n]]
        return None

    def in_while(self, eqn: Eqn, operands: Sequence[Array]) -> Finding | None:
        params = eqn.params
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        tested, body = params["cond_olympuspr"], params["body_olympuspr"]
        cond_consts, consts = operands[:n_cond], operands[n_cond : n_cond + n_body]
        carry = list(operands[n_cond + n_body :])
        for i in range(2**63):
            name = f"while, iteration {i}"
            nested_finding = self.deeper(name, tested, [*cond_consts, *carry])
            if nested_finding is not None:
                return nested_finding
            if not bool(self.reference(tested, [*cond_consts, *carry])[0].array):
                break
            nested_finding = self.deeper(name, body, [*consts, *carry])
            if nested_finding is not None:
                return nested_finding
            carry = [v.array for v in self.reference(body, [*consts, *carry])]
        return None


def first_wrong(
    program: Olympuspr,
    inputs: Sequence[Array],
    run: Run,
    make: Callable[[], OpByOpRun] = OpByOpRun,
) -> Finding | None:
    """Return the first operation of a program whose compiled form is wrong on these inputs.

    `run` compiles a program and runs it. Loops are searched iteration by iteration. Nested programs
    that are correct when compiled alone are not searched. Return None if no equation can be blamed:
    the compiled program equals the program run operation by operation.

    >>> program = jit(lambda x: numpy.sin(2 * x)).trace(1.0).olympuspr
    >>> first_wrong(program, [np.float32(1)], runner()) is None
    True
    >>> first_wrong(program, [np.float32(1)], lambda program, inputs: [np.float32(0)]).operation
    'mul'
    """
    program, search = without_inspections(program), _EquationSearch(run, make, ())
    return search.first(program, inputs) if search.is_wrong(program, inputs) else None
