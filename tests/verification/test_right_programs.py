"""Programs that are right pass, and each rule of the reference is what its operation means."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
from olympus.verification import runner, verify
from olympus_core.verification.op_by_op import OpByOpRun
from olympus_core.verification.reference import PROPERTIES, RULES
from tests.primitives.case import Case
from tests.primitives.cases import with_dtypes
from tests.verification.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_program_is_verified(name: str) -> None:
    function, args = PROGRAMS[name]
    traced = olympus.jit(function).trace(*args)
    inputs = [np.asarray(x) for x in olympus.tree.leaves(args)]
    results = runner()(traced.olympuspr, inputs)
    found = verify(traced, inputs, results, against=("op-by-op", "float64"), run=runner())
    assert found.passed, [c for c in found.checks if c.why] + list(found.operations)
    assert len(found.checks) == 2 * len(results)


NAMES = {*RULES, *PROPERTIES}
RULED = with_dtypes(lambda case: case.dtypes if case.primitive in NAMES else ())


@pytest.mark.parametrize(("case", "dtype"), RULED)
def test_a_rule_is_what_the_operation_means(case: Case, dtype: str) -> None:
    with olympus.enable_x64(True):
        arrays = case.arrays(dtype)
        program = olympus.make_olympuspr(lambda *xs: case.call(olympus.lax, *xs))(*arrays)
        runs = OpByOpRun()
        runs.run(program, arrays)
    assert not runs.findings
    own = sum(e.primitive.name in NAMES for e in program.eqns)
    assert runs.checked >= own  # and those of programs in it
