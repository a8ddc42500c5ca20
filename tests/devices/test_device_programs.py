"""Programs of one expression on several devices have the results and errors of JAX."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus.experimental import checkify
from tests.devices.callback_programs import CALLBACK_PROGRAMS
from tests.devices.check_programs import CHECKS, below, checked, mapped
from tests.devices.device_programs import PROGRAMS, Program, host
from tests.devices.layout_programs import LAYOUT_PROGRAMS
from tests.devices.memory_programs import MEMORY_PROGRAMS
from tests.devices.mesh_programs import MESH_PROGRAMS
from tests.devices.partitioning_programs import PARTITIONING_PROGRAMS
from tests.devices.pjit_programs import PJIT_PROGRAMS
from tests.devices.test_explicit_shardings import ORACLE, OURS

EVERY = [
    *PROGRAMS,
    *MEMORY_PROGRAMS,
    *LAYOUT_PROGRAMS,
    *MESH_PROGRAMS,
    *PARTITIONING_PROGRAMS,
    *PJIT_PROGRAMS,
    *CALLBACK_PROGRAMS,
]


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


@pytest.mark.parametrize(
    "program",
    EVERY,
    ids=lambda program: program.name,
)
def test_results_and_errors_are_those_of_jax(program: Program) -> None:
    mine, oracle = outcome(OURS, program), outcome(ORACLE, program)
    if not isinstance(oracle, Exception):
        assert mine == oracle
        return
    kinds = (NotImplementedError, ValueError, TypeError, RuntimeError, AttributeError, Exception)
    kind = next(k for k in kinds if isinstance(oracle, k))
    assert isinstance(mine, kind), mine
    if program.words is not None:
        assert all(re.search(program.words, str(e), re.DOTALL) for e in (oracle, mine)), mine


@pytest.mark.parametrize("program", CHECKS, ids=lambda program: program.name)
def test_errors_of_checks_on_devices_are_those_of_jax(program: Program) -> None:
    mine, oracle = (described(p, program.run(p)) for p in (OURS, ORACLE))
    assert mine == oracle


def test_checks_on_devices_in_loops_and_branches() -> None:
    """JAX refuses these programs."""

    def body(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            checkify.check(c[0] < 10, "it is {c}", c=c[0])
            return c * 2 + 1, None

        return olympus.lax.scan(step, x, None, length=3)[0]

    inside = mapped(OURS, body)
    assert checked(OURS, inside, host(8))[0] == "\n".join(
        f"at mapped index {i}: it is 19.0" for i in range(4, 8)
    )

    def loop(x: Any) -> Any:
        checkify.check(x[0] < 1, "before")
        result = olympus.lax.fori_loop(0, 3, lambda _, c: mapped(OURS, below(OURS, 10))(c), x)
        checkify.check(result[1] < 1, "after {r}", r=result[1])
        return result

    assert checked(OURS, loop, host(8))[0] == "\n".join(
        f"at mapped index {i}: got 14.0" for i in range(4, 8)
    )
    assert checked(OURS, loop, host(8) + 1)[0] == "before"
    assert checked(OURS, loop, host(8) / 8)[0] == "after 1.0"
    with pytest.raises(olympus.errors.CheckError, match="at mapped index 4: it is"):
        checkify.checkify(inside)(host(8))[0].throw()


def test_names_of_programs_are_distinct() -> None:
    for programs in (EVERY, CHECKS):
        assert len({program.name for program in programs}) == len(programs)
    assert OURS.m is olympus
    assert ORACLE.m is jax
