"""Arrays on several devices: transfer, conversion, computation and errors."""

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
from tests.devices.meshes import Drawn, both, check_same_parts, drawn, ours, theirs
from tests.drawn import examples

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@given(drawn())
@examples(15)
def test_device_put_places_the_parts_as_jax_does(case: Drawn) -> None:
    value = np.arange(np.prod(case.shape, dtype=int), dtype=np.float32).reshape(case.shape)
    mine = olympus.device_put(value, ours(case.sizes, case.names, case.spec, case.is_reversed))
    oracle = jax.device_put(value, theirs(case.sizes, case.names, case.spec, case.is_reversed))
    check_same_parts(mine, oracle)
    assert mine.is_fully_replicated == oracle.is_fully_replicated
    assert mine.is_fully_addressable
    assert mine.committed
    assert {d.id for d in mine.devices()} == {d.id for d in oracle.devices()}


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "bfloat16", "float8_e4m3fn", "complex64", "int4"]
)
def test_arrays_of_a_dtype_are_sharded(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    value = (np.arange(16).reshape(8, 2) % 5).astype(kind)
    sharding, _ = both("x")
    array = olympus.device_put(value, sharding)
    assert array.dtype == kind
    assert (np.asarray(array) == value).all()
    doubled = array + array if dtype != "bool" else array | array
    assert doubled.sharding.is_equivalent_to(sharding, 2)
    assert (np.asarray(doubled) == (value + value)).all()


def test_the_representation_is_that_of_an_array_on_one_device() -> None:
    sharding, _ = both("x")
    assert repr(olympus.device_put(np.arange(2), sharding)) == ("Array([0, 1], dtype=int32)")
    far = olympus.device_put(1.5, olympus.devices()[3])
    assert repr(far) == "Array(1.5, dtype=float32, weak_type=True)"
    assert repr(olympus.device_put(np.arange(2))) == "Array([0, 1], dtype=int32)"


def test_eager_operations_give_the_results_of_jax() -> None:
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
        check_same_parts(fun(jnp, mine), fun(jax.numpy, oracle))


def test_a_sharded_array_is_converted_and_copied() -> None:
    array = olympus.device_put(X, both("x")[0])
    with pytest.raises(BufferError, match=r"over 8 devices|unsharded arrays"):
        np.from_dlpack(array)
    assert (pickle.loads(pickle.dumps(array)) == X).all()
    copied = copy.deepcopy(array)
    assert copied.sharding == array.sharding
    assert [row.tolist() for row in array][:2] == X[:2].tolist()
    assert float(array[1, 1]) == 5.0
    assert not np.asarray(array).flags.writeable


def test_an_array_is_built_by_a_callback() -> None:
    indices = []

    def part(index):
        indices.append(index)
        return X[index]

    for sharding, oracle in (both("x", "y"), both(None, "y"), both()):
        indices.clear()
        mine = olympus.make_array_from_callback(X.shape, sharding, part)
        assert len(indices) == len({str(index) for index in indices})
        check_same_parts(mine, jax.make_array_from_callback(X.shape, oracle, lambda i: X[i]))
    with pytest.raises(ShardingError, match=r"shape \(4, 4\) doesn't match .* array shape \(2,\)"):
        olympus.make_array_from_callback(X.shape, both("x")[0], lambda _: np.ones(2))
    with pytest.raises(ArgumentError, match="needs a sharding"):
        olympus.make_array_from_callback(X.shape, PartitionSpec("x"), lambda i: X[i])


def test_an_array_is_built_of_arrays_on_single_devices() -> None:
    sharding, _ = both("x", "y")
    array = olympus.device_put(X, sharding)
    shards = [s.data for s in array.addressable_shards]
    assembled = olympus.make_array_from_single_device_arrays(X.shape, sharding, shards[::-1])
    assert (np.asarray(assembled) == X).all()
    assert (np.asarray(assembled + 1) == X + 1).all()
    for wrong, message in (
        (shards[:-1], r"Expected 8 per-device arrays .* but got 7"),
        ([*shards[:-1], shards[0]], "must be from distinct devices"),
        ([*shards[:-1], array], "must have one shard each"),
        ([s[:2] for s in shards], "Expected shard shape"),
        (
            [*shards[:-1], shards[-1].astype("int32")],
            "matching dtypes. Got int32, expected float32 for buffer",
        ),
    ):
        with pytest.raises(ShardingError, match=message):
            olympus.make_array_from_single_device_arrays(X.shape, sharding, wrong)


def test_a_program_runs_on_the_device_of_its_argument() -> None:
    far = olympus.devices()[5]
    array = olympus.device_put(X, far)
    assert array.device == far
    assert array.sharding == SingleDeviceSharding(far)
    result = olympus.jit(lambda x: x @ x.T)(array)
    assert result.devices() == {far}
    np.testing.assert_allclose(np.asarray(result), X @ X.T)
    assert jnp.zeros(3, device=far).devices() == {far}
    assert jnp.zeros_like(array).devices() == {far}
    assert olympus.device_put(array, olympus.devices()[0]).device == olympus.devices()[0]


def test_arrays_on_different_devices_are_refused() -> None:
    sharded = olympus.device_put(X, both("x")[0])
    for elsewhere in (
        olympus.device_put(X, olympus.devices()[0]),
        olympus.device_put(X, olympus.devices()[1]),
        olympus.device_put(X, ours((2, 4), ("x", "y"), ("x",), is_reversed=True)),
        olympus.device_put(X, ours((2,), ("x",), ("x",))),
    ):
        with pytest.raises(ShardingError, match="runs on one set of devices, in one order"):
            sharded + elsewhere
    assert (
        np.asarray(sharded + olympus.device_put(X)) == X + X
    ).all()  # an uncommitted array is moved


def test_operations_on_deleted_arrays_are_refused() -> None:
    array = olympus.device_put(X, both("x")[0])
    np.asarray(array)
    array.delete()
    assert array.is_deleted()
    assert repr(array).startswith("Array(<deleted>")
    for call in (
        lambda: array + 1,
        lambda: np.asarray(array),
        lambda: olympus.device_put(array, both()[0]),
    ):
        with pytest.raises(DeletedArrayError):
            call()


def test_device_put_takes_a_tree_of_shardings() -> None:
    tree = {"a": X, "b": [np.arange(8), 3.0]}
    s, r = both("x")[0], both()[0]
    placed = olympus.device_put(tree, {"a": s, "b": r})
    assert placed["a"].sharding == s
    assert placed["b"][1].sharding == r
    assert olympus.device_get(placed)["b"][0].tolist() == [*range(8)]
    with pytest.raises(ArgumentError, match="Please set a mesh via `jax"):
        olympus.device_put(X, PartitionSpec("x"))


def test_the_shards_of_a_deleted_array_are_refused() -> None:
    x = olympus.device_put(np.arange(8.0), both("x")[0])
    x.delete()
    with pytest.raises(DeletedArrayError, match="after its Buffer has been deleted"):
        _ = x.addressable_shards


def test_a_committed_array_is_not_moved_by_a_program_for_several_devices() -> None:
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
    for program in programs:  # an uncommitted array is moved
        assert len(program(jnp.arange(8.0)).sharding.devices) == 8
