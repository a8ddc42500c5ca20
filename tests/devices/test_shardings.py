"""Meshes, specs and shardings behave as in JAX, and wrong ones are refused."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given

import olympus
from olympus.errors import ArgumentError, ShardingError
from olympus.experimental import topologies
from olympus.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
)
from tests.devices.meshes import Drawn, both, drawn, ours, parts_by_device, theirs
from tests.drawn import examples
from tests.marks import needs_gpu_compiler

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
    of_devices = Mesh(np.array(olympus.devices()).reshape(2, 4), ("x", "y")).abstract_mesh
    assert mesh != of_devices and mesh.shape_tuple == of_devices.shape_tuple
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


#: attributes and errors of shardings and specs: `s` is the module `sharding`, `m` the package
SAME: dict[str, Any] = {
    "repr": lambda m, s, n: n(s.PartitionSpec("x")),
    "memory_kind": lambda m, s, n: n(s.PartitionSpec("x"), memory_kind="device"),
    "with_memory_kind": lambda m, s, n: n(s.PartitionSpec("x")).with_memory_kind("device"),
    "update": lambda m, s, n: n(s.PartitionSpec("x")).update(spec=s.PartitionSpec("y")),
    "num_devices": lambda m, s, n: n(s.PartitionSpec()).num_devices,
    "addressable": lambda m, s, n: n(s.PartitionSpec()).has_addressable_devices,
    "check": lambda m, s, n: n(s.PartitionSpec("x")).check_compatible_aval((3,)),
    "check rank": lambda m, s, n: n(s.PartitionSpec("x", "y")).check_compatible_aval((3,)),
    "single": lambda m, s, n: s.make_single_device_sharding(m.devices()[1]),
    "single kind": lambda m, s, n: s.SingleDeviceSharding(m.devices()[1], memory_kind="device"),
    "AbstractDevice": lambda m, s, n: s.AbstractDevice("TPU v4", 2, "tpu"),
    "abstract devices": lambda m, s, n: s.AbstractMesh((2,), ("x",)).devices,
    "empty mesh": lambda m, s, n: (s.get_mesh(), str(s.get_mesh()), s.get_mesh().empty),
    "no mesh": lambda m, s, n: (s.get_abstract_mesh(), s.get_abstract_mesh().empty),
    "scalar": lambda m, s, n: (n(s.PartitionSpec()).mesh.is_scalar, n(s.PartitionSpec()).mesh.size),
    "read-only": lambda m, s, n: setattr(n(s.PartitionSpec()).mesh, "axis_names", ("a", "b")),
    "unreduced": lambda m, s, n: s.PartitionSpec("x", unreduced={"y"}),
    "reduced": lambda m, s, n: (s.PartitionSpec(reduced={"y"}), s.PartitionSpec("x").reduced),
    "unreduced twice": lambda m, s, n: s.PartitionSpec("x", unreduced={"x"}),
    "unreduced text": lambda m, s, n: s.PartitionSpec(unreduced="y"),
    "unreduced None": lambda m, s, n: s.PartitionSpec(unreduced={None}),
    "both": lambda m, s, n: s.PartitionSpec(unreduced={"y"}, reduced={"y"}),
    "unreduced absent": lambda m, s, n: n(s.PartitionSpec(unreduced={"z"})),
    "index": lambda m, s, n: (
        s.PartitionSpec("x", "y").index("y"),
        s.PartitionSpec("x", None).count(None),
        s.PartitionSpec("x", None).update(unreduced={"y"}),
        s.PartitionSpec("x") == s.PartitionSpec("x", unreduced={"y"}),
    ),
    "names of another number": lambda m, s, n: s.AbstractMesh((2,), ("x", "y")),
    "name None": lambda m, s, n: s.Mesh(m.devices()[:2], (None,)),
    "types": lambda m, s, n: s.Mesh(m.devices()[:2], ("x",), axis_types=(1,)),
    "absent axis": lambda m, s, n: n(s.PartitionSpec("z")),
    "memory": lambda m, s, n: n(s.PartitionSpec(), memory_kind="disk"),
    "moved": lambda m, s, n: (
        m.jit(lambda x: x, in_shardings=s.SingleDeviceSharding(m.devices()[2]))(
            m.device_put(np.ones(3), m.devices()[1])
        ).sharding
    ),
    "by keyword": lambda m, s, n: m.jit(lambda x: x, in_shardings=n(s.PartitionSpec()))(x=1.0),
    "shards": lambda m, s, n: [
        (d.device.id, d.index, d.replica_id, d.data.committed, d.data.sharding)
        for d in m.device_put(np.ones((8, 2)), n(s.PartitionSpec("x"))).addressable_shards
    ],
    "local data": lambda m, s, n: (
        m.make_array_from_process_local_data(n(s.PartitionSpec("x")), np.ones(8)).sharding
    ),
    "local shape": lambda m, s, n: m.make_array_from_process_local_data(
        n(s.PartitionSpec("x")), np.ones(8), (16,)
    ),
    "reshard": lambda m, s, n: m.reshard(np.ones(8), n(s.PartitionSpec("x"))).sharding,
    "copy": lambda m, s, n: m.copy_to_host_async([np.ones(2), 3]),
    "one mesh": lambda m, s, n: (
        n(s.PartitionSpec()).mesh is n(s.PartitionSpec("x")).mesh,
        n(s.PartitionSpec()).mesh.abstract_mesh,
    ),
    "memory update": lambda m, s, n: n(s.PartitionSpec("x")).update(memory_kind="device"),
    "other dtype": lambda m, s, n: m.make_array_from_callback(
        (8,), n(s.PartitionSpec("x")), lambda i: np.ones(8, np.float32)[i], dtype="int32"
    ),
    "manual axes": lambda m, s, n: (
        s.ManualAxisType(varying={"x"}),
        s.ManualAxisType(varying={"x"}) == s.ManualAxisType(varying=frozenset("x")),
        s.ManualAxisType(varying={"x"}).update(unreduced={"y"}).reduced,
        m.ShapeDtypeStruct((8,), "float32", manual_axis_type=s.ManualAxisType(varying={"x"})),
    ),
    "overlapping axes": lambda m, s, n: s.ManualAxisType(varying={"x"}, unreduced={"x"}),
    "manual types": lambda m, s, n: types_inside(m, s, n),
    "out_info": lambda m, s, n: (
        m.jit(lambda x: x, out_shardings=n(s.PartitionSpec("x"))).lower(np.ones(8)).out_info,
        m.jit(lambda x: x, out_shardings=n(s.PartitionSpec("x"))).eval_shape(np.ones(8)),
    ),
    "described": lambda m, s, n: m.jit(lambda x: x, in_shardings=n(s.PartitionSpec("x"))).lower(
        m.ShapeDtypeStruct((8,), "float32", sharding=n(s.PartitionSpec("y")))
    ),
    "constraint None": lambda m, s, n: m.lax.with_sharding_constraint(np.ones(8), None),
    "donated names": lambda m, s, n: m.jit(lambda x: x, donate_argnames="y"),
    "deleted": lambda m, s, n: [
        x := m.device_put(np.ones(8), n(s.PartitionSpec("x"))),
        x.delete(),
        x + 1,
    ],
}


def types_inside(m: Any, s: Any, n: Any) -> list[Any]:
    found: list[Any] = []

    def body(x: Any) -> Any:
        found.extend([m.typeof(x).manual_axis_type.varying, m.typeof(x).sharding.mesh])
        return x

    split = s.PartitionSpec("x")
    m.jit(m.shard_map(body, mesh=n(split).mesh, in_specs=split, out_specs=split))(np.ones(8))
    return found


def outcomes(run: Any) -> tuple[Any, Any]:
    """Return the text of a result, or the error, in both packages."""
    found: list[Any] = []
    for module in (olympus, jax):
        try:
            found.append(repr(run(module)))
        except Exception as error:
            found.append(error)
    return found[0], found[1]


def check_outcomes(run: Any) -> None:
    mine, oracle = outcomes(run)
    if isinstance(oracle, Exception):
        assert isinstance(mine, type(oracle)), (mine, oracle)
    else:
        assert mine == oracle


@pytest.mark.parametrize("name", SAME)
def test_attributes_and_errors_are_those_of_jax(name: str) -> None:
    def run(module: Any) -> Any:
        shardings = importlib.import_module(f"{module.__name__}.sharding")
        mesh = module.make_mesh((2, 4), ("x", "y"))
        return SAME[name](module, shardings, functools.partial(shardings.NamedSharding, mesh))

    check_outcomes(run)


UTILITIES: dict[str, Any] = {
    "gather": lambda u, mesh, p: u.process_allgather({"a": np.arange(3), "b": 1}),
    "gather tiled": lambda u, mesh, p: u.process_allgather(np.arange(3), tiled=True),
    "broadcast": lambda u, mesh, p: u.broadcast_one_to_all({"a": np.arange(3), "b": 1}),
    "sync": lambda u, mesh, p: u.sync_global_devices("here"),
    "equal": lambda u, mesh, p: u.assert_equal({"a": np.arange(3)}, "they differ"),
    "preempted": lambda u, mesh, p: u.reached_preemption_sync_point(1),
    "global": lambda u, mesh, p: (
        u.host_local_array_to_global_array(np.arange(8.0), mesh, p("x")).sharding
    ),
    "global None": lambda u, mesh, p: u.host_local_array_to_global_array(
        np.arange(8.0), mesh, None
    ),
    "local": lambda u, mesh, p: (
        u.global_array_to_host_local_array(np.arange(8.0), mesh, p("x")).sharding.spec
    ),
}


@pytest.mark.parametrize("name", UTILITIES)
def test_the_utilities_of_processes_are_those_of_jax(name: str) -> None:
    def run(module: Any) -> Any:
        utilities = importlib.import_module(f"{module.__name__}.experimental.multihost_utils")
        return UTILITIES[name](utilities, module.make_mesh((2, 4), ("x", "y")), module.P)

    check_outcomes(run)


def test_topologies_have_devices_that_need_not_be_attached() -> None:
    attached = topologies.get_attached_topology()
    mesh = topologies.make_mesh(attached, (2, 4), ("x", "y"))
    assert mesh.axis_types == (olympus.sharding.AxisType.Auto,) * 2
    assert list(mesh.flat_devices) == attached.devices
    with pytest.raises(ShardingError, match="must equal the product of mesh_shape"):
        topologies.make_mesh(attached, (2, 2), ("x", "y"))
    for name, platform, options in (("a", "cpu", {}), ("8xh200", "gpu", {"topology": "1x8"})):
        with pytest.raises(NotImplementedError):
            topologies.get_topology_desc(name, platform, **options)


@needs_gpu_compiler
def test_a_topology_of_gpus_is_a_target() -> None:
    devices = topologies.get_topology_desc("8xh200", "cuda").devices
    assert devices == list(olympus.sharding.topology_devices(olympus.target("gpu", "8xh200")))
    mesh = topologies.make_mesh(topologies.get_topology_desc("8xh200"), (8,), ("x",))
    assert mesh.size == 8


REFUSED_BY_BOTH: dict[str, Any] = {
    "axis_size": lambda m, s, maps: m.pmap(lambda x: x, axis_size=4)(ROWS),
    "nothing mapped": lambda m, s, maps: m.pmap(lambda: 1.0, axis_size=2)(),
    "scalar": lambda m, s, maps: m.pmap(lambda x: x, in_axes=None)(1.0),
    "too few devices": lambda m, s, maps: m.pmap(lambda x: x)(np.arange(9.0)),
    "absent axis": lambda m, s, maps: maps("z", "x")(ROWS),
    "uneven": lambda m, s, maps: maps("x", "x")(np.arange(7.0)),
    "differs": lambda m, s, maps: maps("x", None)(ROWS),
    "varying": lambda m, s, maps: maps("x", "x", lambda x: m.lax.pcast(x, "x", to="varying"))(ROWS),
    "long result": lambda m, s, maps: maps("x", "x", lambda x: x.sum())(ROWS),
    "other compiled sharding": lambda m, s, maps: (
        m.jit(lambda x: x, in_shardings=s.NamedSharding(maps.keywords["mesh"], m.P("x")))
        .lower(ROWS)
        .compile()(m.device_put(ROWS, s.NamedSharding(maps.keywords["mesh"], m.P("y"))))
    ),
}
ROWS = np.arange(8.0, dtype=np.float32)
#: the terms of JAX's messages that programs may look for
TERMS = {
    "axis_size": "doesn't match received axis_size",
    "nothing mapped": "at least one argument with a mapped axis",
    "scalar": "at least one argument with a mapped axis",
    "uneven": "not evenly divisible by the corresponding mesh axis sizes",
    "differs": "which can't be statically inferred given the mesh",
    "varying": "Unsupported pcast from=varying, to='varying'",
    "long result": "too long to be compatible with the corresponding output",
    "other compiled sharding": "Argument x with shape float32[8]: Passed sharding: ",
}


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_wrong_maps_have_the_errors_of_jax(name: str) -> None:
    def run(module: Any) -> Any:
        shardings = importlib.import_module(f"{module.__name__}.sharding")
        mesh = module.make_mesh((2, 4), ("x", "y"), (shardings.AxisType.Auto,) * 2)

        def maps(ins: Any, outs: Any, body: Any = lambda x: x, *, mesh: Any) -> Any:
            specs = {"in_specs": module.P(ins), "out_specs": module.P(outs) if outs else module.P()}
            return module.shard_map(body, mesh=mesh, **specs)

        return REFUSED_BY_BOTH[name](module, shardings, functools.partial(maps, mesh=mesh))

    mine, oracle = outcomes(run)
    kind = next(c for c in type(oracle).__mro__ if c.__module__ == "builtins")
    assert isinstance(mine, kind), (mine, oracle)
    assert TERMS.get(name, "") in " ".join(str(oracle).split())
    assert TERMS.get(name, "") in " ".join(str(mine).split())


def test_results_keep_the_mesh_of_in_shardings() -> None:
    def run(module: Any) -> Any:
        mesh = module.make_mesh((2, 4), ("x", "y"))
        rows = importlib.import_module(f"{module.__name__}.sharding").NamedSharding(
            mesh, module.P("x")
        )
        return module.jit(lambda x: x * 2, in_shardings=rows)(ROWS).sharding

    check_outcomes(run)


def test_a_spec_none_of_an_argument_is_whole() -> None:
    mesh = both()[0].mesh
    f = olympus.shard_map(lambda x: x, mesh=mesh, in_specs=(None,), out_specs=P())
    assert f(ROWS).sharding.spec == P()
