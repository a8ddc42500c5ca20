"""Arrays of several devices: put, looked at, computed with, refused."""

from __future__ import annotations

import copy
import pickle

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

import olympus
import olympus.numpy as jnp
from olympus.errors import ArgumentError, DeletedArrayError, ShardingError
from olympus.sharding import PartitionSpec, SingleDeviceSharding
from tests.devices.meshes import Drawn, both, drawn, ours, same_places, theirs
from tests.drawn import examples

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@given(drawn())
@examples(15)
def test_put_and_read(case: Drawn) -> None:
    value = np.arange(np.prod(case.shape, dtype=int), dtype=np.float32).reshape(case.shape)
    mine = olympus.device_put(value, ours(case.sizes, case.names, case.spec, case.turned))
    oracle = jax.device_put(value, theirs(case.sizes, case.names, case.spec, case.turned))
    same_places(mine, oracle)
    assert mine.is_fully_replicated == oracle.is_fully_replicated
    assert mine.is_fully_addressable
    assert mine.committed
    assert {d.id for d in mine.devices()} == {d.id for d in oracle.devices()}


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "bfloat16", "float8_e4m3fn", "complex64", "int4"]
)
def test_every_dtype(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    value = (np.arange(16).reshape(8, 2) % 5).astype(kind)
    sharding, _ = both("x")
    made = olympus.device_put(value, sharding)
    assert made.dtype == kind
    assert (np.asarray(made) == value).all()
    doubled = made + made if dtype != "bool" else made | made
    assert doubled.sharding.is_equivalent_to(sharding, 2)
    assert (np.asarray(doubled) == (value + value)).all()


def test_the_representation_says_where() -> None:
    sharding, _ = both("x")
    assert repr(olympus.device_put(np.arange(2), sharding)) == (
        "Array([0, 1], dtype=int32, sharding=P('x',))"
    )
    far = olympus.device_put(1.5, olympus.devices()[3])
    assert repr(far) == "Array(1.5, dtype=float32, weak_type=True, device=CpuDevice(id=3))"
    assert repr(olympus.device_put(np.arange(2))) == "Array([0, 1], dtype=int32)"


def test_operations_at_once_are_the_oracles() -> None:
    mine, oracle = (p.device_put(X, s) for p, s in zip((olympus, jax), both("x", "y"), strict=True))
    for fun in (
        lambda m, x: x + 1,
        lambda m, x: 2.0 * x,
        lambda m, x: x + np.ones((8, 4), np.float32),
        lambda m, x: x @ x.T,
        lambda m, x: m.sum(x),
        lambda m, x: m.sum(x, axis=1),
        lambda m, x: x.T,
        lambda m, x: x[2],
        lambda m, x: m.where(x > 3, x, 0),
        lambda m, x: m.concatenate([x, x]),
    ):
        same_places(fun(jnp, mine), fun(jax.numpy, oracle))


def test_conversions() -> None:
    made = olympus.device_put(X, both("x")[0])
    assert (np.from_dlpack(made) == X).all()
    assert (pickle.loads(pickle.dumps(made)) == X).all()
    again = copy.deepcopy(made)
    assert again.sharding == made.sharding
    assert [row.tolist() for row in made][:2] == X[:2].tolist()
    assert float(made[1, 1]) == 5.0
    assert not np.asarray(made).flags.writeable


def test_from_a_callback() -> None:
    asked = []

    def part(index):
        asked.append(index)
        return X[index]

    for sharding, oracle in (both("x", "y"), both(None, "y"), both()):
        asked.clear()
        mine = olympus.make_array_from_callback(X.shape, sharding, part)
        assert len(asked) == len({str(index) for index in asked})
        same_places(mine, jax.make_array_from_callback(X.shape, oracle, lambda i: X[i]))
    with pytest.raises(ShardingError, match=r"must have the shape \(4, 4\), and has \(2,\)"):
        olympus.make_array_from_callback(X.shape, both("x")[0], lambda _: np.ones(2))
    with pytest.raises(ArgumentError, match="needs a sharding"):
        olympus.make_array_from_callback(X.shape, PartitionSpec("x"), lambda i: X[i])


def test_from_arrays_of_single_devices() -> None:
    sharding, _ = both("x", "y")
    whole = olympus.device_put(X, sharding)
    shards = [s.data for s in whole.addressable_shards]
    made = olympus.make_array_from_single_device_arrays(X.shape, sharding, shards[::-1])
    assert (np.asarray(made) == X).all()
    assert (np.asarray(made + 1) == X + 1).all()
    for wrong, message in (
        (shards[:-1], "one array for each device"),
        ([*shards[:-1], shards[0]], "one array for each device"),
        ([*shards[:-1], whole], "arrays of one device each"),
        ([s[:2] for s in shards], "must have the shape"),
        ([*shards[:-1], shards[-1].astype("int32")], "arrays of dtypes float32, int32"),
    ):
        with pytest.raises(ShardingError, match=message):
            olympus.make_array_from_single_device_arrays(X.shape, sharding, wrong)


def test_one_far_device() -> None:
    far = olympus.devices()[5]
    made = olympus.device_put(X, far)
    assert made.device == far
    assert made.sharding == SingleDeviceSharding(far)
    result = olympus.jit(lambda x: x @ x.T)(made)
    assert result.devices() == {far}
    np.testing.assert_allclose(np.asarray(result), X @ X.T)
    assert jnp.zeros(3, device=far).devices() == {far}
    assert jnp.zeros_like(made).devices() == {far}
    assert olympus.device_put(made, olympus.devices()[0]).device == olympus.devices()[0]


def test_arrays_elsewhere_are_refused() -> None:
    sharded = olympus.device_put(X, both("x")[0])
    for other in (
        olympus.device_put(X, olympus.devices()[0]),
        olympus.device_put(X, olympus.devices()[1]),
        olympus.device_put(X, ours((2, 4), ("x", "y"), ("x",), turned=True)),
        olympus.device_put(X, ours((2,), ("x",), ("x",))),
    ):
        with pytest.raises(ShardingError, match="runs on one set of devices, in one order"):
            sharded + other
    assert (np.asarray(sharded + olympus.device_put(X)) == X + X).all()  # it may be moved


def test_deleted_arrays_are_told() -> None:
    made = olympus.device_put(X, both("x")[0])
    np.asarray(made)
    made.delete()
    assert made.is_deleted()
    assert repr(made).startswith("Array(<deleted>")
    for call in (
        lambda: made + 1,
        lambda: np.asarray(made),
        lambda: olympus.device_put(made, both()[0]),
    ):
        with pytest.raises(DeletedArrayError):
            call()


def test_trees_of_shardings() -> None:
    tree = {"a": X, "b": [np.arange(8), 3.0]}
    s, r = both("x")[0], both()[0]
    made = olympus.device_put(tree, {"a": s, "b": r})
    assert made["a"].sharding == s
    assert made["b"][1].sharding == r
    assert olympus.device_get(made)["b"][0].tolist() == [*range(8)]
    with pytest.raises(ArgumentError, match="with no mesh around it"):
        olympus.device_put(X, PartitionSpec("x"))


def test_the_shards_of_a_deleted_array_are_refused() -> None:
    x = olympus.device_put(np.arange(8.0), both("x")[0])
    x.delete()
    with pytest.raises(DeletedArrayError, match="after it had been deleted"):
        _ = x.addressable_shards


def test_an_array_put_on_one_device_by_name_is_not_moved_by_a_program_of_several() -> None:
    mesh, rows = both("x")[0].mesh, both("x")[0]
    spec = PartitionSpec("x")
    programs = [
        olympus.shard_map(lambda x: x + 1, mesh=mesh, in_specs=spec, out_specs=spec),
        olympus.jit(lambda x: olympus.lax.with_sharding_constraint(x, rows)),
        olympus.jit(lambda x: x, in_shardings=rows),
        olympus.pmap(lambda x: x),
    ]
    for device in (olympus.devices()[0], olympus.devices()[3]):
        put = olympus.device_put(np.arange(8.0), device)
        for program in programs:
            with pytest.raises(ShardingError):
                program(put)
    for program in programs:  # what was not put by name goes anywhere
        assert len(program(jnp.arange(8.0)).sharding.devices) == 8
