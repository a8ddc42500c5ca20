"""Programs in the styles of libraries for JAX run by a changed import, and give the same."""

from __future__ import annotations

import jax
import jax.flatten_util
import jax.test_util
import numpy as np
import pytest

import olympus
from tests.examples.ported import PROGRAMS

#: Programs that use values or numbers of Python: JAX cannot compile one as a whole.
EAGER = {"custom_derivatives", "vectors", "containers", "modules", "attention"}


#: The programs that take seconds: by day their parts are tested elsewhere.
AT_NIGHT = {"attention", "vectors", "modules"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.night] * (name in AT_NIGHT)) for name in PROGRAMS],
)
def test_a_ported_program_gives_the_same(name):
    program = PROGRAMS[name]
    got = program(olympus)
    want = program(jax) if name in EAGER else jax.jit(lambda: program(jax))()
    found, expected = olympus.tree.leaves(got), jax.tree.leaves(want)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)
