"""The arguments that a finding depends on, through calls, loops and branches."""

from __future__ import annotations

import numpy as np
import pytest

import olympus as ox
import olympus.numpy as jnp
from olympus import lax
from olympus.verification import arguments_of, verify

ONE = np.float32(1)


@ox.jit
def difference(a, b):
    return jnp.log(a - b), a + b


PROGRAMS = {
    "a line": (lambda x, y, z: jnp.log(x - y) + z, (0, 1)),
    "one argument": (lambda x, y, z: jnp.sqrt(y - 2) + jnp.exp(x) * z, (1,)),
    "a call": (lambda x, y, z: difference(z * 2, y + 2)[0] + x, (1, 2)),
    "a loop": (lambda x, y, z: lax.fori_loop(0, 2, lambda i, v: jnp.log(v - 2), x) + y, (0,)),
    "a constant": (lambda x, y, z: x + jnp.log(jnp.sin(-1.0)), ()),
}


@pytest.mark.parametrize(("function", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_arguments_of_a_nan(function, expected):
    traced = ox.jit(function).trace(ONE, ONE, ONE)
    arrays = [ONE, ONE * 3, ONE] if function is PROGRAMS["a line"][0] else [ONE, ONE, ONE]
    with np.errstate(all="ignore"):
        found = verify(traced, arrays, [np.asarray(traced.lower().compile()(*arrays))])
    (check,) = found.checks
    assert check.finding.kind == "nan"
    assert arguments_of(traced.olympuspr, check.finding) == expected


def test_a_finding_of_another_program_has_no_arguments():
    traced = ox.jit(lambda x: jnp.log(x - 2)).trace(ONE)
    with np.errstate(all="ignore"):
        found = verify(traced, [ONE], [np.asarray(traced.lower().compile()(ONE))])
    other = ox.jit(lambda x: jnp.exp(x)).trace(ONE)
    assert arguments_of(other.olympuspr, found.checks[0].finding) == ()
