"""Programs of JAX for absent TPUs: shardings, scans, donations and Pallas kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olympus_core.xla.runtime.tpu import VARIABLES
from tests.cli.conftest import Invoke
from tests.marks import needs_tpu_compiler

PROGRAM = """\
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def kernel(x, y):
    total = pl.pallas_call(add_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
    return jnp.tanh(total) @ y


def layers(state, x):
    def body(carry, w):
        return jnp.tanh(carry @ w), None

    out, _ = jax.lax.scan(body, x, state["w"])
    return jax.tree.map(lambda w: w * 0.9, state), out.sum()


def total(x, y):
    return x + y @ jnp.ones((256, 256))
"""
TARGETS = """\
[target.kernel]
entry = "program:kernel"
backends = ["tpu:v5e"]
args = ["f32[256,256]", "f32[256,256]"]

[target.layers]
entry = "program:layers"
backends = ["tpu:v5e:2x2"]
mesh = { data = 2, model = 2 }
donate = ["state"]

[target.layers.args]
state = { w = { shape = "bf16[4,256,256]", sharding = ["", "", "model"] } }
x = { shape = "bf16[64,256]", sharding = ["data"] }
"""


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TARGETS)
    return folder


@needs_tpu_compiler
def test_a_pallas_kernel_passes_through_and_its_cost_is_unknown(
    project: Path, invoke: Invoke
) -> None:
    result = invoke("compile", "kernel", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)["report"]
    (backend,) = report["backends"]
    assert "tpu_custom_call" in (project / "build/kernel/tpu/optimized.hlo.txt").read_text()
    (unknown,) = backend["cost"]["unknown"]
    assert (unknown["what"], unknown["line"]) == ("custom call tpu_custom_call", "program.py:10")
    assert backend["cost"]["at_least"]["matmul_flops"] == {"float32": 2 * 256**3}
    assert any("tpu_custom_call at program.py:10" in each for each in report["warnings"])


@needs_tpu_compiler
def test_a_scan_over_layers_has_shardings_and_a_donated_state(
    project: Path, invoke: Invoke
) -> None:
    result = invoke("compile", "layers", "--json")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    memory = backend["memory"]
    assert memory["aliased"] == 4 * 256 * 256 * 2 / 2  # the state, split along one axis of two
    assert backend["estimate"]["unknown"] == []
    assert backend["each_device"]["matmul_flops"] == {"bfloat16": 4 * 2 * 32 * 256 * 128}
    assert backend["torus"]["axes"] == {"data": {"x": 2}, "model": {"y": 2}}


LATE = """
import olympus.numpy as jnp

def late(x, y):
    import jax
    return jnp.tanh(x) * float(jax.numpy.ones(3).sum())
"""


@needs_tpu_compiler
def test_jax_is_silent_without_a_tpu(project: Path) -> None:
    """JAX would load the compiler for TPUs, and look for TPUs in the network."""
    (project / "late.py").write_text(LATE)
    environment = {k: v for k, v in os.environ.items() if k not in ("JAX_PLATFORMS", *VARIABLES)}
    shapes = "x=f32[256,256], y=f32[256,256]"
    for entry in ("program:total", "late:late"):
        result = subprocess.run(
            [sys.executable, "-m", "olympus_cli", "trace", entry, "--shapes", shapes],
            env=environment,
            cwd=project,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (result.returncode, result.stderr) == (0, "")
