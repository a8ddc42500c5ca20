"""Fingerprints: of structure alone, the same in any process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_core.lowering.fingerprint import fingerprint

X = np.ones((2, 3), np.float32)


def of(fun, *args) -> str:
    return fingerprint(olympus.make_olympuspr(fun)(*(args or (X,))))


def other(value):
    return value * jnp.sin(value) + 2.0


def test_names_and_lines_do_not_count() -> None:
    assert of(lambda x: x * jnp.sin(x) + 2.0) == of(other)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x * jnp.cos(x) + 2.0,
        lambda x: jnp.sin(x) * x + 2.0,
        lambda x: x * jnp.sin(x) + 3.0,
        lambda x: x * jnp.sin(x) + -0.0,
        lambda x: (x * jnp.sin(x) + 2.0, x),
        lambda x: x.T * jnp.sin(x.T) + 2.0,
        lambda x: olympus.jit(lambda y: y * jnp.sin(y) + 2.0)(x),
        lambda x: x * jnp.sin(x) + np.ones((2, 3), np.float32),
    ],
)
def test_another_structure_has_another(fun) -> None:
    assert of(fun) != of(other)


def test_types_count() -> None:
    found = {of(other, np.ones(n, d)) for n in (2, 3) for d in ("float32", "float16", "int32")}
    assert len(found) == 6


@pytest.mark.parametrize(
    ("one", "two"), [(1, "1"), (None, "None"), (1, True), (0.0, -0.0), ((1,), "(1,)"), (1, 1.0)]
)
def test_values_with_equal_text_or_equal_value_differ(one, two) -> None:
    program = olympus.make_olympuspr(jnp.sin)(X)
    eqn = program.eqns[0]

    def with_param(value):
        return program.replace(eqns=[eqn.replace(params={"p": value})])

    assert fingerprint(with_param(one)) == fingerprint(with_param(one))
    assert fingerprint(with_param(one)) != fingerprint(with_param(two))


def test_programs_with_equal_text_are_not_one_function() -> None:
    """Two nested programs are one function of the module only where they are the same."""
    program = olympus.make_olympuspr(olympus.jit(jnp.sin))(X).eqns[0].params["olympuspr"]
    changed = [
        program.replace(eqns=[e.replace(params=e.params | {"p": v}) for e in program.eqns])
        for v in (1, "1")
    ]
    assert str(changed[0]) == str(changed[1])
    assert fingerprint(changed[0]) != fingerprint(changed[1])


CODE = """
import numpy as np, olympus, olympus.numpy as jnp
from olympus_core.lowering.fingerprint import fingerprint

@olympus.custom_jvp
def soft(x):
    return jnp.log1p(jnp.exp(x))

soft.defjvp(lambda p, t: (soft(*p), t[0]))

def f(x):
    y = olympus.checkpoint(lambda x: jnp.dot(x, x.T, precision="highest"))(soft(x))
    return olympus.lax.scan(lambda c, x: (c + x.sum(), x[::-1]), 0.0, y + np.arange(2.0))

print(fingerprint(olympus.make_olympuspr(f)(np.ones((2, 3), np.float32))))
"""


def test_it_is_the_same_in_any_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", prelude + CODE],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, prelude in (("1", ""), ("2", "# another line\n\n"))
    }
    assert len(outputs) == 1
    assert len(outputs.pop().strip()) == 64
