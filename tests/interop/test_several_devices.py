"""Programs of JAX and files for several devices, with the values and shardings of JAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus
from olympus import analysis, artifact
from olympus.errors import ArtifactError, ShardingError, UsageError
from olympus.interop import bundles, stablehlo
from olympus.interop.jax import trace
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from tests.artifact.bundles import save
from tests.devices.meshes import both, parts_by_device
from tests.devices.test_agreement import AGREED
from tests.devices.test_agreement import PROGRAMS as DEADLOCKS
from tests.devices.test_agreement import mapped as agreed
from tests.devices.test_shard_map import BODIES, ORACLE, W, X, mapped
from tests.raising.test_raising import all_eqns

JP = jax.sharding.PartitionSpec
CONCRETE = both()[1].mesh
ABSTRACT = jax.sharding.AbstractMesh((2, 4), ("x", "y"))
OURS = AbstractMesh((2, 4), ("x", "y"))
Struct = olympus.ShapeDtypeStruct
TYPES = [Struct(X.shape, "float32"), Struct(W.shape, "float32")]


def named(mesh: Any, *spec: Any) -> Any:
    return jax.sharding.NamedSharding(mesh, JP(*spec))


def specs(shardings: Any) -> list[Any]:
    return [getattr(s, "spec", s) for s in olympus.tree.leaves(shardings)]


def layer(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def check_same(mine: Any, oracle: Any) -> None:
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-5, atol=2e-5)
    assert parts_by_device(mine.sharding, mine.shape) == parts_by_device(
        oracle.sharding, oracle.shape
    )


@pytest.mark.parametrize("name", BODIES)
def test_a_shard_map_has_the_values_and_shardings_of_jax(name: str) -> None:
    fun = jax.jit(mapped(ORACLE, *BODIES[name]))
    traced = trace(fun, TYPES)
    assert "opaque" not in {eqn.primitive.name for eqn in all_eqns(traced.olympuspr)}
    check_same(traced.lower().compile()(X, W), fun(X, W))


@pytest.mark.parametrize("name", ["psum", "gather", "scan", "cond"])
def test_a_gradient_through_a_shard_map_has_the_values_of_jax(name: str) -> None:
    fun = mapped(ORACLE, *BODIES[name])
    grad = jax.jit(jax.grad(lambda x, w: jnp.sum(jnp.cos(fun(x, w))), (0, 1)))
    got = trace(grad, TYPES).lower().compile()(X, W)
    for mine, oracle in zip(got, grad(X, W), strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("body", AGREED, ids=lambda f: f.__name__)
def test_collectives_that_all_devices_reach_are_accepted(body: Any) -> None:
    """The axes of the collectives and indices of JAX are known again after raising."""
    fun = jax.jit(agreed(ORACLE, body, check_vma=False))
    x = np.arange(16, dtype=np.float32) - 3
    compiled = trace(fun, [Struct(x.shape, "float32")]).lower().compile()
    np.testing.assert_allclose(compiled(x), fun(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", DEADLOCKS)
def test_collectives_that_some_devices_do_not_reach_are_refused(name: str) -> None:
    fun = jax.jit(agreed(ORACLE, DEADLOCKS[name], check_vma=False))
    with pytest.raises(ShardingError, match="may differ along the axis"):
        trace(fun, [Struct((16,), "float32")]).lower()


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("mesh", [CONCRETE, ABSTRACT], ids=["devices", "abstract"])
def test_the_shardings_of_a_jit_are_those_of_the_program(mesh: Any, as_is: bool) -> None:
    options = {"out_shardings": named(mesh, "x")}
    fun = jax.jit(layer, in_shardings=(named(mesh, "x"), named(mesh, None, "y")), **options)
    traced = trace(fun, TYPES, as_is=as_is)
    assert traced.placement() is not None
    compiled = traced.lower().compile()
    assert compiled.num_devices == 8
    assert specs(compiled.input_shardings) == [PartitionSpec("x"), PartitionSpec(None, "y")]
    want = jax.jit(
        layer,
        in_shardings=(named(CONCRETE, "x"), named(CONCRETE, None, "y")),
        out_shardings=named(CONCRETE, "x"),
    )
    check_same(compiled(X, W), want(X, W))
    assert ("y",) in {row.axes for row in analysis.by_axes(compiled.collectives())}


def test_a_constraint_and_static_and_donated_arguments() -> None:
    def fun(x: Any, w: Any, n: int, *, scale: Any) -> Any:
        for _ in range(n):
            x = jax.lax.with_sharding_constraint(layer(x, w), named(CONCRETE, "x", "y"))
        return x * scale

    jitted = jax.jit(fun, static_argnums=2, in_shardings=None)
    args, kwargs = [*TYPES, 2], {"scale": Struct((), "float32")}
    traced = trace(jitted, args, kwargs, static_argnums=2, donate_argnums=0)
    assert traced.arg_names == ("x", "w", "scale")
    assert traced.donate_argnums == (0,)
    assert "jax.buffer_donor" in traced.lower().as_text()
    got = traced.lower().compile()(X, W, scale=np.float32(2))
    np.testing.assert_allclose(got, fun(X, W, 2, scale=2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("as_is", [False, True])
def test_types_with_shardings_and_the_mesh_of_the_context(as_is: bool) -> None:
    def fun(x: Any, w: Any) -> Any:
        y = jax.lax.with_sharding_constraint(x @ w, JP("x", "y"))
        body = lambda part: part * 2 + jax.lax.axis_index("x")  # noqa: E731
        return jax.shard_map(body, in_specs=JP("x"), out_specs=JP("x"))(y), x.sum()

    placed = NamedSharding(OURS, PartitionSpec("x"))
    types = [Struct(X.shape, "float32", sharding=placed), TYPES[1]]
    traced = trace(fun, types, mesh=OURS, as_is=as_is)
    rows = NamedSharding(OURS, PartitionSpec(None, ("x", "y")))
    compiled = traced.with_out_shardings((rows, None)).lower().compile()
    assert specs(compiled.input_shardings)[0] == PartitionSpec("x")
    assert specs(compiled.output_shardings)[0] == rows.spec
    total, summed = compiled(X, W)
    want = 2 * (X @ W) + np.repeat([0, 1], 4)[:, None]
    np.testing.assert_allclose(total, want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(summed, X.sum(), rtol=1e-5)


def test_a_program_is_compiled_for_gpus_that_are_not_attached() -> None:
    fun = jax.jit(layer, in_shardings=(named(ABSTRACT, "x"), named(ABSTRACT, None, "y")))
    lowered = trace(fun, TYPES).lower(olympus.target("gpu", "8xh200"))
    assert lowered.num_devices == 8
    compiled = lowered.compile()
    assert compiled.memory().arguments == X.nbytes // 2 + W.nbytes // 4


def test_a_sharding_that_cannot_cut_an_argument_is_refused() -> None:
    odd = Struct((7, 8), "float32")
    fun = jax.jit(layer, in_shardings=(named(ABSTRACT, "x"), None))
    with pytest.raises(ValueError, match="partitioned 2 times, but the dimension size is 7"):
        trace(fun, [odd, TYPES[1]])
    traced = trace(layer, [odd, TYPES[1]])
    with pytest.raises(ShardingError, match="its dimension 0 has 7 elements"):
        traced.with_out_shardings(NamedSharding(OURS, PartitionSpec("x")))
    with pytest.raises(ShardingError, match="takes shardings over a mesh"):
        traced.with_out_shardings(olympus.sharding.SingleDeviceSharding(olympus.devices()[0]))


def of_jax(mesh: Any = CONCRETE) -> Any:
    return jax.jit(layer, in_shardings=(named(mesh, "x"), named(mesh, None, "y")))


FORMATS = {
    "text": lambda: of_jax().lower(X, W).as_text().encode(),
    "jax.export": lambda: bytes(jax.export.export(of_jax())(X, W).serialize()),
    "hlo": lambda: of_jax().lower(X, W).as_text(dialect="hlo").encode(),
    "hlo proto": lambda: of_jax().lower(X, W).compiler_ir("hlo").as_serialized_hlo_module_proto(),
}


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_compiled_for_its_mesh(form: str, as_is: bool) -> None:
    traced = stablehlo.read(FORMATS[form](), as_is=as_is)
    compiled = traced.lower().compile()
    check_same(compiled(X, W), of_jax()(X, W))
    assert {x.axes for x in analysis.by_axes(compiled.collectives())} <= {("x",), ("y",)}
    assert traced.lower().cost().flops == 2 * 8**3


HLO_BODIES = {
    **{name: BODIES[name] for name in ("psum-both", "gather", "scatter", "all-to-all", "halo")},
    **{name: BODIES[name] for name in ("index", "jit", "scan", "cond")},
}


@pytest.mark.parametrize("as_is", [False, True])
@pytest.mark.parametrize("name", HLO_BODIES)
def test_a_shard_map_in_hlo_has_the_values_of_jax(name: str, as_is: bool) -> None:
    fun = jax.jit(mapped(ORACLE, *HLO_BODIES[name]))
    traced = stablehlo.read(fun.lower(X, W).as_text(dialect="hlo").encode(), as_is=as_is)
    if not as_is:
        eqns = all_eqns(traced.olympuspr)
        assert "opaque" not in {eqn.primitive.name for eqn in eqns}
        assert "shard_map" in {eqn.primitive.name for eqn in eqns}
    check_same(traced.lower().compile()(X, W), fun(X, W))


@pytest.mark.parametrize("as_is", [False, True])
def test_nested_shard_maps_and_results_in_hlo(as_is: bool) -> None:
    def body(x: Any, w: Any) -> Any:
        inner = jax.shard_map(
            lambda a: (a * 2, jax.lax.psum(a, "y")),
            in_specs=JP(None, "y"), out_specs=(JP(None, "y"), JP()), axis_names={"y"},
        )  # fmt: skip
        double, total = inner(x @ w)
        return double + jax.lax.axis_index("x"), total, double * 0

    specs = {"in_specs": (JP("x"), JP()), "out_specs": (JP("x"), JP("x"), JP("x"))}

    def fun(x: Any, w: Any) -> Any:
        first, second, _ = jax.shard_map(body, mesh=CONCRETE, axis_names={"x"}, **specs)(x, w)
        placed = jax.lax.with_sharding_constraint(first, named(CONCRETE, "y"))
        return placed, second, w + 1

    outs = (named(CONCRETE, "x", "y"), None, named(CONCRETE, None, "x"))
    jitted = jax.jit(fun, in_shardings=(named(CONCRETE, "x"), None), out_shardings=outs)
    text = jitted.lower(X, W).as_text(dialect="hlo")
    traced = stablehlo.read(text.encode(), as_is=as_is)
    for mine, oracle in zip(traced.lower().compile()(X, W), jitted(X, W), strict=True):
        check_same(mine, oracle)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("xla.sdy.LocalToGlobalShape", "Other", "without the custom calls"),
        ('#sdy.sharding_per_value<[<@mesh, [{\\"x\\"}, {}]>', "#sdy.sharding_per_value<[<@m", "@m"),
        ('mesh = #sdy.mesh<["x"=2', 'mesh = #sdy.mesh<["x"=0', "can be read"),
    ],
)
def test_hlo_with_other_attributes_of_shardy_is_an_error(old: str, new: str, reason: str) -> None:
    text = jax.jit(mapped(ORACLE, *BODIES["matmul"])).lower(X, W).as_text(dialect="hlo")
    assert old in text
    with pytest.raises(ArtifactError, match=reason):
        stablehlo.read(text.replace(old, new).encode())


MODULE = """
module {{
  {meshes}
  func.func @main(%arg0: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}})
      -> tensor<8x8xf32> {{
    %0 = {operation} %arg0 : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }}
}}
"""
MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'


def module(
    meshes: str = MESH,
    sharding: str = '[{"x"}, {}]',
    operation: str = "stablehlo.tanh",
    attributes: str = "",
) -> bytes:
    text = MODULE.format(meshes=meshes, sharding=sharding, operation=operation)
    return text.replace("module {", f"module {attributes} {{", 1).encode()


@pytest.mark.parametrize(
    "content",
    [
        module(sharding='[{"y":(1)2}, {}]'),
        module(meshes='sdy.mesh @mesh = <["x"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>'),
    ],
    ids=["a part of an axis", "another order of devices"],
)
def test_a_sharding_that_no_spec_describes_is_compiled_unchanged(content: bytes) -> None:
    traced = stablehlo.read(content)
    with pytest.raises(UsageError, match="compiled unchanged, because"):
        traced.olympuspr  # noqa: B018
    compiled = traced.lower().compile()
    assert compiled.num_devices == 8
    (sharding, *_), _ = compiled.input_shardings
    assert sharding.shard_shape((8, 8)) != (8, 8)
    np.testing.assert_allclose(compiled(X), np.tanh(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (module(attributes="attributes {mhlo.num_partitions = 4 : i32}"), "its mesh has 8"),
        (
            module(meshes=MESH + '\nsdy.mesh @other = <["x"=2]>'),
            "meshes of 2 and of 8 devices",
        ),
        (module(attributes="attributes {mhlo.num_replicas = 2 : i32}"), "for 2 replicas"),
    ],
)
def test_programs_that_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        stablehlo.read(content)


def test_several_partitions_without_a_mesh_are_refused() -> None:
    text = """
    module attributes {mhlo.num_partitions = 8 : i32} {
      func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
        return %arg0 : tensor<8xf32>
      }
    }
    """
    with pytest.raises(UsageError, match="for 8 devices, and it declares no mesh"):
        stablehlo.read(text.encode())


@pytest.mark.parametrize("as_is", [False, True])
def test_a_bundle_is_compiled_again_for_its_mesh(tmp_path: Path, as_is: bool) -> None:
    names = ("x", "my axis")
    mesh = AbstractMesh((2, 4), names)
    rows = NamedSharding(mesh, PartitionSpec("x"))
    columns = NamedSharding(mesh, PartitionSpec(None, "my axis"))
    jitted = olympus.jit(
        lambda x, w: olympus.numpy.tanh(x @ w), in_shardings=(rows, columns), out_shardings=rows
    )
    before = jitted.trace(X, W)
    path = save(tmp_path / "f.olympus", before)
    traced = bundles.trace_bundle(artifact.load(path, native=False), as_is=as_is)
    compiled = traced.lower().compile()
    assert compiled.num_devices == 8
    assert specs(compiled.input_shardings) == [rows.spec, columns.spec]
    got, want = compiled(X, W), before.lower().compile()(X, W)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got.sharding.is_equivalent_to(want.sharding, 2)
    assert traced.lower(olympus.target("gpu", "8xh200")).num_devices == 8
    if not as_is:
        assert traced.lower().as_text() == before.lower().as_text()
