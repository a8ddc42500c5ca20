"""What each stage of a program of several devices tells of its arguments and results."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.experimental.pjit import pjit
from olympus.sharding import PartitionSpec as P
from tests.devices.meshes import MESH, both, ours, places

X, W = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)


def step(module: Any, x: Any, w: Any) -> Any:
    return {"y": module.tanh(x @ w), "sum": (x @ w).sum()}


def of_jit(module: Any, wrapped: Any, side: int) -> Any:
    rows, columns = both("x")[side], both(None, "y")[side]
    return wrapped(
        lambda x, w: step(module, x, w), in_shardings=(rows, columns), out_shardings=None
    )


def of_shard_map(module: Any, wrapped: Any, side: int) -> Any:
    mesh, spec = both()[side].mesh, (P, jax.sharding.PartitionSpec)[side]
    of, psum = (olympus, lax.psum) if side == 0 else (jax, jax.lax.psum)

    def body(x, w):
        y = module.tanh(x @ w)
        return {"y": y, "sum": psum(y.sum(), ("x", "y"))}

    ins, outs = (spec("x"), spec(None, "y")), {"y": spec("x", "y"), "sum": spec()}
    return wrapped(of.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs))


def of_pmap(module: Any, wrapped: Any, side: int) -> Any:
    return (olympus, jax)[side].pmap(lambda x, w: step(module, x[None], w), in_axes=(0, None))


PROGRAMS = {
    "jit": (of_jit, olympus.jit, jax.jit),
    "pjit": (of_jit, pjit, jax.jit),
    "shard_map": (of_shard_map, olympus.jit, jax.jit),
    "pmap": (of_pmap, None, None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_stage_tells_types_and_shardings(name: str) -> None:
    made, wrapped, theirs = PROGRAMS[name]
    traced = made(jnp, wrapped, 0).trace(X, W)
    lowered = traced.lower()
    compiled = lowered.compile()
    wanted = made(jax.numpy, theirs, 1).lower(X, W)
    for stage in (traced, lowered, compiled):
        for own, other in zip(
            jax.tree.leaves(stage.in_avals), jax.tree.leaves(wanted.in_avals), strict=True
        ):
            assert (own.shape, own.dtype) == (other.shape, other.dtype)
        assert jax.tree.structure(stage.in_avals) == jax.tree.structure(wanted.in_avals)
        args, kwargs = stage.input_shardings
        assert (len(args), kwargs) == (2, {})
        assert set(stage.output_shardings) == {"y", "sum"}
    said = [both("x")[0], both(None, "y")[0]] if "jit" in name else [None, None]
    for stage in (traced, lowered):
        assert [*stage.input_shardings[0]] == said
        assert stage.output_shardings == {"y": None, "sum": None}
    theirs_compiled = wanted.compile()
    avals = compiled.out_avals
    for own, other, aval in zip(
        compiled.input_shardings[0], theirs_compiled.input_shardings[0], (X, W), strict=True
    ):
        assert places(own, aval.shape) == places(other, aval.shape)
    for key, other in theirs_compiled.output_shardings.items():
        own = compiled.output_shardings[key]
        assert places(own, avals[key].shape) == places(other, avals[key].shape)


def test_a_sharding_of_the_result_is_told_before_it_is_compiled() -> None:
    out = ours(*MESH, ("y",))
    traced = olympus.jit(lambda x: x * 2.0, out_shardings=out).trace(X)
    assert traced.output_shardings == traced.lower().output_shardings == out


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_several_devices_is_loaded_and_read(name: str) -> None:
    made, wrapped, _ = PROGRAMS[name]
    lowered = made(jnp, wrapped, 0).lower(X, W)
    compiled = lowered.compile()
    content = compiled.serialize()
    loaded, read = lowered.load(content), lowered.read_compiled(compiled.as_text(), content)
    assert loaded.input_shardings == compiled.input_shardings
    assert loaded.output_shardings == compiled.output_shardings
    for one, other in zip(loaded(X, W).values(), compiled(X, W).values(), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))
    assert read.num_devices == compiled.num_devices
    assert read.memory().peak == compiled.memory().peak
    assert read.collectives() == compiled.collectives()
    assert read.cost_per_device() == compiled.cost_per_device()
