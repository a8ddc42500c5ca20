"""The programs for several devices give the numbers of one device, and those under jax."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks.programs import EXAMPLES, load_source

FOLDER = EXAMPLES / "parallel"
SIZES = {"n_layer": 1, "d_model": 32}
RNG = np.random.default_rng(0)
GRID = RNG.standard_normal((16, 5), np.float32)


def program(name: str, framework: Any) -> ModuleType:
    return load_source(FOLDER / f"{name}.py", framework.__name__)


def train_gpt() -> ModuleType:
    return load_source(EXAMPLES / "train_gpt" / "train_gpt.py", "olympus")


@pytest.fixture(scope="module")
def batches() -> np.ndarray:
    return program("train", olympus).text_batches(20, size=8, length=9)


@pytest.fixture(scope="module")
def alone(batches: np.ndarray) -> list[float]:
    """The losses of the unchanged step on one device, in float64."""
    with olympus.enable_x64(True):
        module, found = train_gpt(), []
        step = olympus.jit(module.train_step, static_argnames="n_head")
        state = module.init(**SIZES)
        for tokens in batches:
            state, loss = step(state, tokens, n_head=4)
            found.append(float(loss))
    return found


@pytest.mark.parametrize(("data", "model"), [(8, 1), (1, 4), (2, 4)])
def test_losses_are_those_of_one_device(
    data: int, model: int, batches: np.ndarray, alone: list[float]
) -> None:
    train = program("train", olympus)
    with olympus.enable_x64(True):  # so that nothing but rounding can hide in the tolerance
        found = train.losses(train_gpt(), train.mesh_of(data, model), batches, **SIZES)
    np.testing.assert_allclose(found, alone, rtol=1e-9)
    assert alone[-1] < alone[0] - 0.5


def test_each_device_holds_its_part_of_the_state() -> None:
    train, module = program("train", olympus), train_gpt()
    mesh, state = train.mesh_of(2, 4), olympus.eval_shape(lambda: module.init(**SIZES))
    step = train.parallel_step(module.train_step, mesh, state, 4)
    tokens = olympus.ShapeDtypeStruct((8, 9), "int32")
    (shardings, rows), _ = step.lower(state, tokens).input_shardings
    assert rows.shard_shape((8, 9)) == (4, 9)
    block = shardings["mean"]["blocks"][0]
    assert block["qkv"]["w"].shard_shape((32, 96)) == (32, 24)
    assert block["qkv"]["b"].shard_shape((96,)) == (24,)
    assert block["out"]["w"].shard_shape((128, 32)) == (32, 32)
    assert block["out"]["b"].is_fully_replicated
    assert shardings["params"]["wte"].is_fully_replicated


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_grid_in_parts_is_the_grid(count: int) -> None:
    heat = program("heat", olympus)
    mesh = olympus.make_mesh(
        (count,), ("rows",), (olympus.sharding.AxisType.Auto,), devices=olympus.devices()[:count]
    )
    got = heat.together(GRID, 30, mesh)
    assert len(got.addressable_shards) == count
    np.testing.assert_allclose(got, heat.alone(GRID, 30), rtol=1e-6, atol=1e-7)


def test_the_grid_is_that_under_jax() -> None:
    ours, theirs = (program("heat", ox) for ox in (olympus, jax))
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
    want = theirs.together(jax.numpy.asarray(GRID), 30, mesh)
    np.testing.assert_allclose(ours.alone(GRID, 30), want, rtol=1e-5, atol=1e-6)


def test_replicas_are_those_under_jax() -> None:
    x = np.arange(1, 5, dtype=np.float32)
    rows = RNG.standard_normal((4, 6, 3), np.float32)
    results = []
    for ox in (olympus, jax):
        module = program("replicas", ox)
        w = module.fit(np.zeros(3, np.float32), rows, rows @ np.float32([1, -2, 3]), 20)
        shares = ox.pmap(module.share, axis_name="i")(x)
        results.append([module.compiled(x, 10 * x)(x, 10 * x), shares, w])
    for mine, oracle in zip(*results, strict=True):
        np.testing.assert_allclose(mine, oracle, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("heat", "largest difference: 0.0"), ("replicas", "[12. 24. 36. 48.]")],
)
def test_it_runs_as_a_program(name: str, printed: str) -> None:
    environment = os.environ | {"OLYMPUS_NUM_CPU_DEVICES": "4"}
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert printed in ran.stdout.splitlines()
