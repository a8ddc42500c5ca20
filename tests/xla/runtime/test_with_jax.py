"""jax and OLYMPUS share one process, imported in either order, and stderr stays quiet."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

OURS = """
import sys, ml_dtypes, numpy as np
from olympus_core import xla
made = xla.compile({program!r}, xla.target("cpu"))
x = np.array([2, 0, 0, 0, 3, 0, 0, 0, 4], np.float32).reshape(3, 3) ** 2
print(np.diag(xla.to_numpy(made.execute([xla.put(x)])[0])))
for dtype in (np.int64, np.float64, ml_dtypes.bfloat16):
    print(xla.to_numpy(xla.put(np.ones(2, dtype))).dtype)
"""
OURS_PRINTS = "[2. 3. 4.]\nint64\nfloat64\nbfloat16\n"

JAX = """
import jax, jax.numpy as jnp
y = jax.jit(lambda a: jnp.linalg.cholesky(a) @ a)(jnp.eye(2) * 4)
s = jax.jit(lambda a: a * 2 + 1)(3)
print(y.dtype, float(y[0, 0]), s, s.weak_type, jnp.asarray(jnp.ones(3, "bfloat16")).sum())
print(y.addressable_data(0).aval, jax.device_get(y).tolist())
"""
JAX_PRINTS = "float32 8.0 7 True 3\nfloat32[2,2] [[8.0, 0.0], [0.0, 8.0]]\n"


@pytest.mark.parametrize("order", ["jax first", "jax last", "between"])
def test_one_process(order, programs, python):
    ours = OURS.format(program=programs["cholesky"])
    parts = {
        "jax first": [(JAX, JAX_PRINTS), (ours, OURS_PRINTS)],
        "jax last": [(ours, OURS_PRINTS), (JAX, JAX_PRINTS)],
        "between": [(ours, OURS_PRINTS), (JAX, JAX_PRINTS), (ours, OURS_PRINTS)],
    }[order]
    got = python("".join(source for source, _ in parts), JAX_PLATFORMS="cpu")
    assert got.stdout == "".join(prints for _, prints in parts), got.stderr


def test_jax_is_never_imported(programs, python):
    source = OURS.format(program=programs["cholesky"]) + "\nprint('jax' in sys.modules)"
    got = python(source)
    assert (got.stdout, got.stderr) == (OURS_PRINTS + "False\n", "")


def test_jax_need_not_be_there(programs, python):
    blocked = "import sys; sys.modules['jax'] = None\n" + OURS.format(program=programs["cholesky"])
    assert python(blocked).stdout == OURS_PRINTS


def test_errors_write_nothing_to_stderr(programs, python):
    source = (
        "from olympus_core import xla; from olympus_core.base import errors\n"
        f"made = xla.compile({programs['muladd']!r}, xla.target('cpu'))\n"
        "try: made.execute([])\n"
        "except errors.UsageError as exc: print('refused')"
    )
    got = python(source)
    assert (got.stdout, got.stderr) == ("refused\n", "")


def test_a_users_log_level_is_kept(python):
    source = "import os; from olympus_core import xla; xla.devices()"
    got = python(source + "; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])", TF_CPP_MIN_LOG_LEVEL="0")
    assert got.stdout == "0\n"
    assert "pjrt" in got.stderr


def test_jax_is_silent_beside_the_compiler_for_gpus() -> None:
    """The variable that docs/how-to/gpu.md names silences JAX's plugin, which lacks a part."""
    environment = {name: text for name, text in os.environ.items() if name != "JAX_PLATFORMS"}
    done = subprocess.run(
        [sys.executable, "-c", "import jax; print(jax.numpy.ones(3).sum())"],
        env={**environment, "JAX_LOGGING_LEVEL": "CRITICAL"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("3.0\n", "")
