"""The types and shardings that each stage of a program for several devices reports."""

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
from tests.devices.meshes import MESH, both, ours, parts_by_device

X, W = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)


def step(module: Any, x: Any, w: Any) -> Any:
    return {"y": module.tanh(x @ w), "sum": (x @ w).sum()}


def with_jit(module: Any, wrapped: Any, side: int) -> Any:
    rows, columns = both("x")[side], both(None, "y")[side]
    return wrapped(
        lambda x, w: step(module, x, w), in_shardings=(rows, columns), out_shardings=None
    )


def with_shard_map(module: Any, wrapped: Any, side: int) -> Any:
    mesh, spec = both()[side].mesh, (P, jax.sharding.PartitionSpec)[side]
    package, psum = (olympus, lax.psum) if side == 0 else (jax, jax.lax.psum)

    def body(x, w):
        y = module.tanh(x @ w)
        return {"y": y, "sum": psum(y.sum(), ("x", "y"))}

    ins, outs = (spec("x"), spec(None, "y")), {"y": spec("x", "y"), "sum": spec()}
    return wrapped(package.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs))


def with_pmap(module: Any, wrapped: Any, side: int) -> Any:
    return (olympus, jax)[side].pmap(lambda x, w: step(module, x[None], w), in_axes=(0, None))


PROGRAMS = {
    "jit": (with_jit, olympus.jit, jax.jit),
    "pjit": (with_jit, pjit, jax.jit),
    "shard_map": (with_shard_map, olympus.jit, jax.jit),
    "pmap": (with_pmap, None, None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_stage_has_types_and_shardings(name: str) -> None:
    function, wrapped, theirs = PROGRAMS[name]
    traced = function(jnp, wrapped, 0).trace(X, W)
    lowered = traced.lower()
    compiled = lowered.compile()
    expected = function(jax.numpy, theirs, 1).lower(X, W)
    for stage in (traced, lowered, compiled):
        for mine, theirs_part in zip(
            jax.tree.leaves(stage.in_avals), jax.tree.leaves(expected.in_avals), strict=True
        ):
            assert (mine.shape, mine.dtype) == (theirs_part.shape, theirs_part.dtype)
        assert jax.tree.structure(stage.in_avals) == jax.tree.structure(expected.in_avals)
        args, kwargs = stage.input_shardings
        assert (len(args), kwargs) == (2, {})
        assert set(stage.output_shardings) == {"y", "sum"}
    declared = [both("x")[0], both(None, "y")[0]] if "jit" in name else [None, None]
    for stage in (traced, lowered):
        specs = [str(s.spec) for s in stage.input_shardings[0] if s is not None]
        if name == "pmap":
            assert specs == ["P('_internal_pmap_axis_name',)", "P()"]
        else:
            assert [*stage.input_shardings[0]] == declared
        known = [s is not None for s in stage.output_shardings.values()]
        assert known == [name == "pmap"] * 2
    theirs_compiled = expected.compile()
    avals = compiled.out_avals
    for mine, theirs_part, aval in zip(
        compiled.input_shardings[0], theirs_compiled.input_shardings[0], (X, W), strict=True
    ):
        assert parts_by_device(mine, aval.shape) == parts_by_device(theirs_part, aval.shape)
    for key, theirs_part in theirs_compiled.output_shardings.items():
        mine = compiled.output_shardings[key]
        assert parts_by_device(mine, avals[key].shape) == parts_by_device(
            theirs_part, avals[key].shape
        )


def test_the_sharding_of_a_result_is_known_before_the_compilation() -> None:
    out = ours(*MESH, ("y",))
    traced = olympus.jit(lambda x: x * 2.0, out_shardings=out).trace(X)
    assert traced.output_shardings == traced.lower().output_shardings == out


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_serialized_program_for_several_devices_is_loaded_and_read(name: str) -> None:
    function, wrapped, _ = PROGRAMS[name]
    lowered = function(jnp, wrapped, 0).lower(X, W)
    compiled = lowered.compile()
    content = compiled.serialize()
    loaded, read = lowered.load(content), lowered.read_compiled(compiled.as_text(), content)
    assert loaded.input_shardings == compiled.input_shardings
    assert loaded.output_shardings == compiled.output_shardings
    for result, expected in zip(loaded(X, W).values(), compiled(X, W).values(), strict=True):
        assert np.array_equal(np.asarray(result), np.asarray(expected))
    assert read.num_devices == compiled.num_devices
    assert read.memory().peak == compiled.memory().peak
    assert read.collectives() == compiled.collectives()
    assert read.cost_per_device() == compiled.cost_per_device()


@pytest.mark.parametrize("side", [0, 1], ids=["ours", "jax"])
def test_an_unused_argument_of_a_compiled_program_may_be_anywhere(side: int) -> None:
    package = (olympus, jax)[side]
    x, other = (package.device_put(X, both(axis)[side]) for axis in ("x", "y"))
    compiled = package.jit(lambda x, y: x * 2).lower(x, x).compile()
    expected = np.asarray(compiled(x, x))
    for y in (other, package.device_put(X, package.devices()[3])):
        assert np.array_equal(np.asarray(compiled(x, y)), expected)
    with pytest.raises(ValueError, match="compiled for input shardings that disagree"):
        compiled(other, x)
