"""Meshes, specs and shardings behave as in JAX, and wrong ones are refused."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given

import olympus
from olympus.errors import ArgumentError, ShardingError
from olympus.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
)
from tests.devices.meshes import Drawn, both, drawn, ours, parts_by_device, theirs
from tests.drawn import examples

P = PartitionSpec


@given(drawn())
@examples(30)
def test_parts_and_text_are_those_of_jax(case: Drawn) -> None:
    mine = ours(case.sizes, case.names, case.spec, case.is_reversed)
    oracle = theirs(case.sizes, case.names, case.spec, case.is_reversed)
    assert mine.shard_shape(case.shape) == oracle.shard_shape(case.shape)
    assert parts_by_device(mine, case.shape) == parts_by_device(oracle, case.shape)
    assert mine.is_fully_replicated == oracle.is_fully_replicated
    assert repr(mine.spec) == repr(oracle.spec)
    assert repr(mine.mesh) == repr(oracle.mesh)
    assert repr(mine) == repr(oracle)
    assert [d.id for d in mine.devices] == [d.id for d in oracle._device_assignment]


@given(drawn(2), drawn(2))
@examples(20)
def test_equality_is_that_of_jax(a: Drawn, b: Drawn) -> None:
    mine = [ours(x.sizes, x.names, x.spec, x.is_reversed) for x in (a, b)]
    oracle = [theirs(x.sizes, x.names, x.spec, x.is_reversed) for x in (a, b)]
    assert (mine[0] == mine[1]) == (oracle[0] == oracle[1])
    assert mine[0].is_equivalent_to(mine[1], 2) == oracle[0].is_equivalent_to(oracle[1], 2)
    equal = ours(a.sizes, a.names, a.spec, a.is_reversed)
    assert equal == mine[0]
    assert hash(equal) == hash(mine[0])


@pytest.mark.parametrize(
    "entries", [(), (None,), ("x", None), (("x", "y"),), (("x",), ()), (["x", "y"], None)]
)
def test_specs_behave_as_in_jax(entries: tuple[object, ...]) -> None:
    mine, oracle = P(*entries), jax.sharding.PartitionSpec(*entries)
    assert repr(mine) == repr(oracle)
    assert (len(mine), tuple(mine)) == (len(oracle), tuple(oracle))
    assert mine == P(*entries)
    assert hash(mine) == hash(P(*entries))
    assert repr(mine + P("z")) == repr(oracle + jax.sharding.PartitionSpec("z"))


def test_equality_of_specs_depends_on_trailing_entries_and_types() -> None:
    assert P("x") != P("x", None)
    assert P("x") == P(("x",))
    assert P("x") != ("x",)
    long, short = both("x", None)[0], both("x")[0]
    assert long != short
    assert long.is_equivalent_to(short, 2)


def test_an_abstract_mesh_has_only_axes() -> None:
    mesh = AbstractMesh((2, 4), ("x", "y"))
    assert repr(mesh) == "AbstractMesh('x': 2, 'y': 4, axis_types=(Auto, Auto))"
    assert mesh == Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y")).abstract_mesh
    sharding = NamedSharding(mesh, P("y"))
    assert sharding.shard_shape((8, 3)) == (2, 3)
    with pytest.raises(ShardingError, match="has no devices"):
        sharding.devices_indices_map((8, 3))


def test_make_mesh_takes_the_first_devices() -> None:
    mesh = olympus.make_mesh((2, 2), ("a", "b"))
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3]]
    assert mesh.shape == {"a": 2, "b": 2}
    reversed_mesh = olympus.make_mesh((2,), ("a",), devices=olympus.devices()[::-1])
    assert reversed_mesh.device_ids.tolist() == [7, 6]


MESHED = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y"))
REFUSED = {
    "rank of one": (lambda: both("x")[0].shard_shape(()), r"has 1 entry, one.*shape \(\) has 0"),
    "rank": (lambda: both("x", None)[0].shard_shape((4,)), r"has 2 entries.*shape \(4,\) has 1"),
    "uneven": (
        lambda: both(None, "y")[0].shard_shape((2, 6)),
        "dimension 1 has 6 elements, which the axis 'y' cannot cut into 4 equal parts",
    ),
    "uneven-by-two": (lambda: both(("x", "y"))[0].shard_shape((6,)), "the axes 'x', 'y' cannot"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_shapes_that_do_not_fit_are_refused(call, message) -> None:
    with pytest.raises(ArgumentError, match=message) as error:
        call()
    assert isinstance(error.value, ValueError)


def test_an_axis_may_have_any_name() -> None:
    sharding = ours((8,), ('a "b" \\',), ('a "b" \\',))
    result = olympus.jit(lambda x: x + 1, in_shardings=sharding)(np.arange(8))
    assert result.sharding.is_equivalent_to(sharding, 1)
    assert result.tolist() == [*range(1, 9)]
