"""Programs of one expression on several devices have the results and errors of JAX."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from tests.devices.device_programs import PROGRAMS, Program
from tests.devices.test_explicit_shardings import ORACLE, OURS


def described(p: Any, value: Any) -> Any:
    """Return a value with arrays as their types, shardings and elements."""
    if isinstance(value, dict):
        return {k: described(p, x) for k, x in value.items()}
    if isinstance(value, list | tuple):
        return [described(p, x) for x in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, p.m.Array):
        return [str(p.m.typeof(value)), str(value.sharding), np.asarray(value).tolist()]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def outcome(p: Any, program: Program) -> Any:
    try:
        return described(p, program.run(p))
    except Exception as error:
        return error


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_results_and_errors_are_those_of_jax(program: Program) -> None:
    mine, oracle = outcome(OURS, program), outcome(ORACLE, program)
    if not isinstance(oracle, Exception):
        assert mine == oracle
        return
    kinds = (NotImplementedError, ValueError, TypeError, RuntimeError, AttributeError)
    kind = next(k for k in kinds if isinstance(oracle, k))
    assert isinstance(mine, kind), mine
    if program.words is not None:
        assert all(re.search(program.words, str(e), re.DOTALL) for e in (oracle, mine)), mine


def test_names_of_programs_are_distinct() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert OURS.m is olympus
    assert ORACLE.m is jax
