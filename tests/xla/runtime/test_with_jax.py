"""JAX and OLYMPUS work in one process, imported in either order, with an empty stderr."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from olympus_core.xla.runtime import tpu
from tests.marks import needs_gpu_compiler

OURS = """
import sys, ml_dtypes, numpy as np
from olympus_core import xla
executable = xla.compile({program!r}, xla.target("cpu"))
x = np.array([2, 0, 0, 0, 3, 0, 0, 0, 4], np.float32).reshape(3, 3) ** 2
print(np.diag(xla.to_numpy(executable.execute([xla.put(x)])[0])))
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
LOADED_TWICE = """
import olympus.interop.jax
from olympus_core.xla.runtime import gpu
from jaxlib import xla_client
gpu.PLUGIN.ensure()
print(type(xla_client.load_pjrt_plugin_dynamically("cuda", gpu.gpu_library())).__name__)
"""
JAX_PRINTS = "float32 8.0 7 True 3\nfloat32[2,2] [[8.0, 0.0], [0.0, 8.0]]\n"


@pytest.mark.parametrize("order", ["jax first", "jax last", "between"])
def test_jax_and_olympus_work_in_one_process(order, programs, python):
    ours = OURS.format(program=programs["cholesky"])
    parts = {
        "jax first": [(JAX, JAX_PRINTS), (ours, OURS_PRINTS)],
        "jax last": [(ours, OURS_PRINTS), (JAX, JAX_PRINTS)],
        "between": [(ours, OURS_PRINTS), (JAX, JAX_PRINTS), (ours, OURS_PRINTS)],
    }[order]
    process = python("".join(source for source, _ in parts), JAX_PLATFORMS="cpu")
    assert process.stdout == "".join(prints for _, prints in parts), process.stderr


def test_jax_is_never_imported(programs, python):
    source = OURS.format(program=programs["cholesky"]) + "\nprint('jax' in sys.modules)"
    process = python(source)
    assert (process.stdout, process.stderr) == (OURS_PRINTS + "False\n", "")


def test_olympus_works_without_jax(programs, python):
    blocked = "import sys; sys.modules['jax'] = None\n" + OURS.format(program=programs["cholesky"])
    assert python(blocked).stdout == OURS_PRINTS


def test_errors_write_nothing_to_stderr(programs, python):
    source = (
        "from olympus_core import xla; from olympus_core.base import errors\n"
        f"program = xla.compile({programs['muladd']!r}, xla.target('cpu'))\n"
        "try: program.execute([])\n"
        "except errors.UsageError as exc: print('refused')"
    )
    process = python(source)
    assert (process.stdout, process.stderr) == ("refused\n", "")


def test_the_log_level_of_the_user_is_not_changed(python):
    source = "import os; from olympus_core import xla; xla.devices()"
    process = python(
        source + "; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])", TF_CPP_MIN_LOG_LEVEL="0"
    )
    assert process.stdout == "0\n"
    assert "pjrt" in process.stderr


def test_jax_prints_no_warning_when_the_gpu_compiler_is_installed() -> None:
    """The variables in docs/how-to/gpu.md and docs/how-to/tpu.md silence JAX's plugins."""
    environment = {name: text for name, text in os.environ.items() if name != "JAX_PLATFORMS"}
    process = subprocess.run(
        [sys.executable, "-c", "import jax; print(jax.numpy.ones(3).sum())"],
        env={**environment, **tpu.VARIABLES, "JAX_LOGGING_LEVEL": "CRITICAL"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (process.stdout, process.stderr) == ("3.0\n", "")


@needs_gpu_compiler
def test_jax_takes_the_gpu_library_that_is_loaded(python):
    """The runtime refuses to load it a second time, which would leave JAX without a GPU."""
    process = python(LOADED_TWICE, JAX_PLATFORMS="cpu")
    assert process.stdout == "PyCapsule\n", process.stderr
