"""Verification of programs for several devices; the reference runs on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import P, lax
from olympus import numpy as jnp
from olympus.verification import runner, verify
from olympus_core.ir.olympuspr import Olympuspr
from tests.devices.test_shard_map import BODIES, OURS, W, X, mapped

AGAINST = ("op-by-op", "float64")


def results(traced: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(x) for x in olympus.tree.leaves(traced.lower().compile()(*inputs))]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_correct_programs_pass(name: str, check: bool) -> None:
    fun = mapped(OURS, *BODIES[name], check_vma=check)
    traced = olympus.jit(lambda x, w: 2 * fun(x, w)).trace(X, W)
    verdict = verify(traced, [X, W], results(traced, [X, W]), against=AGAINST, run=runner())
    assert verdict.passed, verdict
    assert verdict.checked > 0
    assert not verdict.unchecked


def test_the_gradient_of_a_shard_map_passes() -> None:
    fun = mapped(OURS, *BODIES["psum-both"])
    traced = olympus.jit(olympus.grad(lambda x, w: jnp.sum(jnp.cos(fun(x, w))))).trace(X, W)
    assert verify(traced, [X, W], results(traced, [X, W]), against=AGAINST).passed


def test_specs_with_axes_in_another_order_pass() -> None:
    mesh = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    for spec in (P(None, ("y", "x")), P("y", "x"), P(("x", "y"), None), P("y")):
        fun = olympus.shard_map(
            lambda a: a * (4.0 * lax.axis_index("x") + lax.axis_index("y")),
            mesh=mesh, in_specs=spec, out_specs=P(("y", "x")) if spec == P("y") else spec,
            check_vma=False,
        )  # fmt: skip
        traced = olympus.jit(fun).trace(x)
        assert verify(traced, [x], results(traced, [x])).passed


def test_a_shard_map_over_one_axis_passes() -> None:
    mesh = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
    fun = olympus.shard_map(
        lambda a: lax.psum(jnp.sin(a), "x"),
        mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"},
    )  # fmt: skip
    traced = olympus.jit(fun).trace(X)
    assert verify(traced, [X], results(traced, [X]), against=AGAINST).passed


def test_a_wrong_result_of_a_shard_map_is_attributed_to_it() -> None:
    fun = mapped(OURS, *BODIES["psum"])
    traced = olympus.jit(lambda x, w: 2 * fun(jnp.sin(x), w)).trace(X, W)

    def broken(program: Olympuspr, inputs: Sequence[Any]) -> list[Any]:
        """A compiler with a defect: it halves the results of programs with a `shard_map`."""
        verdict = runner()(program, inputs)
        has_shard_map = any(eqn.primitive.name == "shard_map" for eqn in program.eqns)
        return [x / 2 if has_shard_map else x for x in verdict]

    wrong = broken(traced.olympuspr, [X, W])
    verdict = verify(traced, [X, W], wrong, run=broken)
    assert not verdict.passed
    blamed = verdict.checks[0].finding
    assert blamed is not None
    assert blamed.operation.startswith("shard_map")


def test_a_wrong_operation_inside_is_found() -> None:
    fun = mapped(OURS, *BODIES["psum"])
    traced = olympus.jit(lambda x, w: fun(jnp.sin(x), w)).trace(X, W)

    def halved(eqn: Any, operands: Sequence[Any]) -> list[Any]:
        return [eqn.primitive.bind(*operands, **eqn.params) / 2]

    verdict = verify(traced, [X, W], results(traced, [X, W]), evaluators={"dot_general": halved})
    assert not verdict.passed
    (finding,) = verdict.operations
    assert finding.operation.startswith("dot_general")
    assert "shard_map" in finding.path
    assert "test_shard_map.py" in str(finding.location)


def test_nested_shard_maps_pass() -> None:
    mesh = olympus.make_mesh((2, 4), ("x", "y"), olympus.sharding.AxisType.Auto)
    inner = olympus.shard_map(
        lambda a: lax.psum(a, ("x", "y")) + lax.axis_index("x"),
        in_specs=P("y"), out_specs=P(), axis_names={"y"},
    )  # fmt: skip
    fun = olympus.shard_map(
        lambda a: inner(a), mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}
    )
    traced = olympus.jit(fun).trace(X)
    assert verify(traced, [X], results(traced, [X]), against=AGAINST).passed
