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
    found = olympus.jit(function).lower(*arguments).compile().memory()  # type: ignore[arg-type]
    assert isinstance(found, Memory)
    return found


def test_values_inside_fused_products_are_in_the_bound_alone() -> None:
    found = memory(chain, MATRIX)
    assert found.peak is not None
    assert found.peak < SIZE + 4096  # the argument and a scalar: as the compiler plans
    assert found.workspace_bound >= 3 * SIZE  # two products and their packed operand
    assert found.peak_bound == found.peak + found.workspace_bound
    assert found.allocated_bound == (found.allocated or 0) + found.workspace_bound
    assert found.temporaries_bound == (found.temporaries or 0) + found.workspace_bound
    assert max(each.workspace_bound for each in found.timeline()) == found.workspace_bound
    assert found.total.workspace_bound == found.workspace_bound
    assert sum(each.bytes for each in found.largest(100)) == found.peak


def test_a_program_without_products_has_exact_figures() -> None:
    found = memory(lambda x: jnp.sort(jnp.tanh(x)) + 1, MATRIX)
    assert found.workspace_bound == 0
    assert found.peak_bound == found.peak


def test_products_with_vectors_allocate_nothing_outside_of_fusions() -> None:
    vector = olympus.ShapeDtypeStruct((512,), "float32")
    assert memory(lambda x, y: jnp.sort(x) @ y, MATRIX, vector).workspace_bound == 0


def test_independent_kernels_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(x: olympus.Array, y: olympus.Array) -> tuple[olympus.Array, olympus.Array]:
        return jnp.tanh(x @ x).sum(), jnp.tanh(y @ y).sum()

    one = memory(lambda x: jnp.tanh(x @ x).sum(), MATRIX).workspace_bound
    assert memory(two, MATRIX, MATRIX).workspace_bound == 2 * one
    cpu = memory_module.this_cpu()
    monkeypatch.setattr(memory_module, "this_cpu", lambda: cpu._replace(threads=0))
    assert memory(two, MATRIX, MATRIX).workspace_bound == one


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
