"""Modules for several devices are raised to constraints, shard_map and collectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus
from olympus import lax
from olympus.interop import stablehlo
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.mlir import bindings as mlir
from olympus_core.raising.raising import raise_module
from olympus_core.raising.unraisable import UnraisableError
from tests.devices.test_shard_map import BODIES, OURS, W, X, mapped
from tests.raising.test_laws import canonical
from tests.raising.test_raising import all_eqns, names

P = PartitionSpec
MESH = AbstractMesh((2, 4), ("x", "y"))


def raised(text: str) -> Any:
    return raise_module(mlir.parsed(text))


def constraint(sharding: str, mesh: str = '<["x"=2, "y"=4]>') -> str:
    return f"""
    sdy.mesh @mesh = {mesh}
    func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {{
      %0 = sdy.sharding_constraint %arg0 <@mesh, {sharding}> : tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }}
    """


def manual(body: str, mesh: str = '<["x"=2, "y"=4]>', axes: str = '"x", "y"') -> str:
    """Return a module whose `body` computes `%r` from a part `%p` of 4 x 8 numbers."""
    return f"""
    sdy.mesh @mesh = {mesh}
    func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {{
      %0 = sdy.manual_computation(%arg0)
        in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>]
        manual_axes={{{axes}}} (%p: tensor<4x8xf32>) {{
        {body}
        sdy.return %r : tensor<4x8xf32>
      }} : (tensor<8x8xf32>) -> tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }}
    """


@pytest.mark.parametrize(
    ("sharding", "spec"),
    [
        ('[{"x"}, {}]', P("x")),
        ('[{"y", "x"}, {?}]', P(("y", "x"), P.UNCONSTRAINED)),
        ('[{"x"}, {}], replicated={"y"}', P("x")),
    ],
)
def test_a_constraint_becomes_one(sharding: str, spec: Any) -> None:
    (eqn,) = raised(constraint(sharding)).eqns
    assert eqn.primitive.name == "sharding_constraint"
    assert eqn.params["sharding"] == NamedSharding(MESH, spec)


def test_a_constraint_on_one_device_is_left_out() -> None:
    assert names(raised(constraint('[{"x"}, {}]', '<["x"=1]>'))) == []


@pytest.mark.parametrize(
    ("sharding", "mesh", "reason"),
    [
        ('[{"y":(1)2}, {}]', '<["x"=2, "y"=4]>', "a part of an axis"),
        ('[{"x"}p1, {}]', '<["x"=2, "y"=4]>', "has a priority"),
        ('[{"x", ?}, {}]', '<["x"=2, "y"=4]>', "the compiler may split further"),
        ('[{?}, {}], replicated={"x"}', '<["x"=2, "y"=4]>', "unreduced or replicated axes"),
        ('[{"x"}, {}]', '<["x"=2], device_ids=[1, 0]>', "in another order"),
    ],
)
def test_other_constraints_are_not_raised(sharding: str, mesh: str, reason: str) -> None:
    with pytest.raises(UnraisableError, match=reason):
        raised(constraint(sharding, mesh))


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_lower_raise_lower_gives_the_same_module(name: str, check: bool) -> None:
    traced = olympus.jit(mapped(OURS, *BODIES[name], check_vma=check)).trace(X, W)
    first = traced.lower().module
    program = raise_module(first)
    assert "opaque" not in {eqn.primitive.name for eqn in all_eqns(program)}
    (eqn,) = [eqn for eqn in all_eqns(program) if eqn.primitive.name == "shard_map"]
    assert eqn.params["mesh"] == MESH
    second = olympus.stages.Traced(traced.signature, program).lower().module
    if name != "inner-gradient":  # raising moves a constant
        assert canonical(second) == canonical(first)
    third = olympus.stages.Traced(traced.signature, raise_module(second)).lower().module
    assert canonical(third) == canonical(second)


def test_a_partly_manual_program_is_raised() -> None:
    def body(p: Any, x: Any, w: Any) -> Any:
        return (x @ w) * (1.0 + p.lax.axis_index("x")) + p.lax.psum(p.np.sin(x @ w), "x")

    fun = mapped(OURS, body, [("x",), ()], ("x",), axis_names={"x"})
    traced = olympus.jit(fun).trace(X, W)
    program = raise_module(traced.lower().module)
    indices = [e for e in all_eqns(program) if e.primitive.name == "axis_index"]
    assert [e.params["axis_name"] for e in indices] == ["x"]
    again = olympus.stages.Traced(traced.signature, program).lower().compile()
    np.testing.assert_allclose(again(X, W), traced.lower().compile()(X, W), rtol=1e-5, atol=1e-5)


GROUPS = "dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>"
REDUCE = """
%r = "stablehlo.all_reduce"(%p) <{{{channel}replica_groups = {groups}{ids}}}> ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %s = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %s : tensor<f32>
}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
"""
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, "


def test_groups_along_no_axis_are_opaque_and_correct() -> None:
    """The pairs of neighbours split the axis of four devices."""
    text = manual(REDUCE.format(channel=CHANNEL, groups=GROUPS, ids=", use_global_device_ids"))
    program = raised(text)
    assert [e.params["operation"] for e in all_eqns(program) if e.primitive.name == "opaque"] == [
        "stablehlo.all_reduce"
    ]
    traced = stablehlo.read(text.encode())
    np.testing.assert_allclose(traced.lower().compile()(X), 2 * X, rtol=1e-6)


@pytest.mark.parametrize(("channel", "ids"), [("", ""), (CHANNEL, "")])
def test_a_collective_among_replicas_is_opaque(channel: str, ids: str) -> None:
    groups = "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>"
    program = raised(manual(REDUCE.format(channel=channel, groups=groups, ids=ids)))
    assert "psum" not in {eqn.primitive.name for eqn in all_eqns(program)}


def test_a_number_of_a_device_alone_is_opaque_and_correct() -> None:
    body = """
    %n = stablehlo.partition_id : tensor<ui32>
    %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %r = stablehlo.multiply %b, %p : tensor<4x8xf32>
    """
    text = manual(body, mesh='<["x"=2]>', axes='"x"')
    got = np.asarray(stablehlo.read(text.encode()).lower().compile()(X))
    np.testing.assert_allclose(got, X * np.repeat([0.0, 1.0], 4)[:, None], rtol=1e-6)
    with pytest.raises(UnraisableError, match="partition_id is not an operation without effects"):
        raised(manual(body, axes='"x"'))


def test_groups_that_name_axes_are_those_axes() -> None:
    """JAX names the axes of a mesh from jaxlib 0.12 on."""
    groups = "#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [{}]>"
    axis = '#stablehlo.axis_ref<name = "y">'
    text = manual(
        REDUCE.format(channel=CHANNEL, groups=groups.format(axis), ids=", use_global_device_ids")
    )
    (eqn,) = [e for e in all_eqns(raised(text)) if e.primitive.name == "psum"]
    assert eqn.params["axes"] == ("y",)


def test_a_branch_on_the_device_with_a_collective_is_refused() -> None:
    """The devices of a raised program may deadlock as those of any other."""
    text = manual(
        """
        %n = stablehlo.partition_id : tensor<ui32>
        %one = stablehlo.constant dense<1> : tensor<ui32>
        %c = stablehlo.compare LT, %n, %one, UNSIGNED
          : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %r = "stablehlo.if"(%c) ({
        """
        + REDUCE.format(
            channel=CHANNEL,
            groups="dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>",
            ids=", use_global_device_ids",
        ).replace("%r", "%t")
        + """
          stablehlo.return %t : tensor<4x8xf32>
        }, {
          stablehlo.return %p : tensor<4x8xf32>
        }) : (tensor<i1>) -> tensor<4x8xf32>
        """
    )
    with pytest.raises(olympus.errors.ShardingError, match="may not come to psum"):
        stablehlo.read(text.encode()).lower()


def test_gathers_along_two_axes_are_in_the_order_of_the_groups() -> None:
    def both(x: Any) -> Any:
        return lax.all_gather(x, ("y", "x"), axis=0, tiled=True)

    options = {"mesh": OURS.mesh, "in_specs": P(("y", "x")), "out_specs": P(), "check_vma": False}
    traced = olympus.jit(olympus.shard_map(both, **options)).trace(X)
    program = raise_module(traced.lower().module)
    again = olympus.stages.Traced(traced.signature, program).lower().compile()
    np.testing.assert_array_equal(again(X), X)
