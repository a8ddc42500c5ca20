"""The bound on the memory that kernels of the CPU allocate by themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import olympus
import olympus.numpy as jnp
from olympus_core.analysis.memory import memory as memory_module
from olympus_core.analysis.memory.memory import Memory
from tests.artifact.bundles import save

MATRIX = olympus.ShapeDtypeStruct((512, 512), "float32")
SIZE = 512 * 512 * 4


def chain(x: olympus.Array) -> olympus.Array:
    return jnp.tanh(jnp.tanh(x @ x) @ x).sum()


def memory(function: object, *arguments: object) -> Memory:
    figures = olympus.jit(function).lower(*arguments).compile().memory()  # type: ignore[arg-type]
    assert isinstance(figures, Memory)
    return figures


def test_values_inside_fused_products_are_only_in_the_bound() -> None:
    figures = memory(chain, MATRIX)
    assert figures.peak is not None
    assert figures.peak < SIZE + 4096  # the argument and a scalar: as the compiler plans
    assert figures.workspace_bound >= 3 * SIZE  # two_products products and their packed operand
    assert figures.peak_bound == figures.peak + figures.workspace_bound
    assert figures.allocated_bound == (figures.allocated or 0) + figures.workspace_bound
    assert figures.temporaries_bound == (figures.temporaries or 0) + figures.workspace_bound
    assert max(moment.workspace_bound for moment in figures.timeline()) == figures.workspace_bound
    assert figures.total.workspace_bound == figures.workspace_bound
    assert sum(buffer.bytes for buffer in figures.largest(100)) == figures.peak


def test_a_program_without_products_has_exact_figures() -> None:
    figures = memory(lambda x: jnp.sort(jnp.tanh(x)) + 1, MATRIX)
    assert figures.workspace_bound == 0
    assert figures.peak_bound == figures.peak


def test_products_with_vectors_outside_fusions_allocate_nothing() -> None:
    vector = olympus.ShapeDtypeStruct((512,), "float32")
    assert memory(lambda x, y: jnp.sort(x) @ y, MATRIX, vector).workspace_bound == 0


def test_independent_kernels_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_products(x: olympus.Array, y: olympus.Array) -> tuple[olympus.Array, olympus.Array]:
        return jnp.tanh(x @ x).sum(), jnp.tanh(y @ y).sum()

    workspace = memory(lambda x: jnp.tanh(x @ x).sum(), MATRIX).workspace_bound
    assert memory(two_products, MATRIX, MATRIX).workspace_bound == 2 * workspace
    cpu = memory_module.this_cpu()
    monkeypatch.setattr(memory_module, "this_cpu", lambda: cpu._replace(threads=0))
    assert memory(two_products, MATRIX, MATRIX).workspace_bound == workspace


def test_the_body_of_a_loop_counts_once() -> None:
    def loop(x: olympus.Array) -> olympus.Array:
        body = lambda _, y: y + chain(y)  # noqa: E731
        return olympus.lax.fori_loop(0, 5, body, x)

    assert memory(loop, MATRIX).workspace_bound >= memory(chain, MATRIX).workspace_bound > 0


def test_a_loaded_bundle_has_the_same_bound(tmp_path: Path) -> None:
    loaded = olympus.artifact.load(save(tmp_path / "f.olympus", olympus.jit(chain).trace(MATRIX)))
    bound = memory(chain, MATRIX).workspace_bound
    assert loaded.compiled().memory().workspace_bound == bound > 0


@pytest.mark.parametrize("name", ["product and sum", "chain of 2 products"])
def test_a_process_grows_by_the_bound_at_most(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks.memory", name]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, _allocated, bound, growth = map(float, shown.split("|")[2:6])
    assert peak < growth < bound + 4  # MiB: a process grows by its stacks and tables too
