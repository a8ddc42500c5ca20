"""Names of earlier versions of JAX: `AxisType`, `pvary`, and the older `shard_map`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import P, lax
from olympus.errors import ArgumentError, ShardingError, UnboundAxisError
from olympus.experimental.shard_map import shard_map
from olympus.sharding import AbstractMesh, AxisType, Mesh

MESH = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
AUTO = (AxisType.Auto, AxisType.Auto)
MAKERS: dict[str, Callable[..., Any]] = {
    "make_mesh": lambda types: olympus.make_mesh((2, 4), ("x", "y"), types),
    "Mesh": lambda types: Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"), types),
    "AbstractMesh": lambda types: AbstractMesh((2, 4), ("x", "y"), types),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_axes_have_the_types_of_jax_by_default(make: Callable[..., Any]) -> None:
    is_function = make is MAKERS["make_mesh"]
    default = (
        jax.make_mesh((2, 4), ("x", "y")) if is_function else jax.sharding.AbstractMesh((1,), "x")
    )
    assert str(make(None).axis_types[0]) == str(default.axis_types[0])
    assert make(AUTO) == make(AxisType.Auto)
    assert make(AUTO).axis_types == AUTO
    assert repr(AUTO) == repr((jax.sharding.AxisType.Auto,) * 2)
    assert [t.name for t in AxisType] == [t.name for t in jax.sharding.AxisType]


@pytest.mark.parametrize(
    ("types", "error", "message"),
    [
        ((AxisType.Auto,), ArgumentError, "Got 2 names and axis_types=.Auto"),
        (("auto", "auto"), ArgumentError, "Got \\('auto', 'auto'\\) of type"),
        (7, ArgumentError, "axis_types must be a sequence"),
    ],
)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_invalid_types_of_axes_are_refused(
    make: Callable[..., Any], types: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(types)


def test_pvary_is_pcast_to_varying() -> None:
    def body(x: Any) -> Any:
        start = lax.pvary(jnp.zeros(4), "x")
        assert "{V:x}" in str(olympus.typeof(start))
        return lax.scan(lambda c, v: (c + v, None), start, x)[0]

    x = np.arange(32.0, dtype="float32").reshape(8, 4)
    sums = olympus.shard_map(body, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(x)
    np.testing.assert_array_equal(sums.numpy(), x.reshape(2, 4, 4).sum(1).ravel())
    with pytest.raises(UnboundAxisError, match="pvary needs the axis 'x'"):
        lax.pvary(x, "x")


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("auto", [(), ("y",)])
def test_the_older_shard_map_gives_the_results_of_jax(check: bool, auto: tuple[str, ...]) -> None:
    def body(p: Any) -> Callable[[Any], Any]:
        return lambda x: x * p.lax.psum(x, "x")

    x = np.arange(8.0, dtype="float32")
    ours = shard_map(body(olympus), MESH, P("x"), P("x"), check, frozenset(auto))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from jax.experimental.shard_map import shard_map as older
    mesh = jax.make_mesh((2, 4), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2)
    spec = jax.sharding.PartitionSpec("x")
    theirs = older(body(jax), mesh, spec, spec, check_rep=False)
    np.testing.assert_array_equal(olympus.jit(ours)(x).numpy(), np.asarray(theirs(x)))


@pytest.mark.parametrize(
    ("mesh", "auto", "error", "message"),
    [
        (MESH, {"z"}, ShardingError, "auto has 'z'"),
        (MESH, {"x", "y"}, ShardingError, "over no axis"),
        (MESH, 3, ArgumentError, "auto must be a sequence"),
        (None, frozenset(), ArgumentError, "needs a mesh, and got None"),
    ],
)
def test_wrong_arguments_of_the_older_shard_map_are_refused(
    mesh: Any, auto: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        shard_map(lambda x: x, mesh, P(), P(), auto=auto)
