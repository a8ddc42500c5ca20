"""A collective that XLA inserts in a branch that some devices do not take is refused."""

from __future__ import annotations

import faulthandler
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import artifact, lax
from olympus.errors import ShardingError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.xla.hlo.reached_collectives import DIFFERS
from tests.devices.meshes import both
from tests.marks import needs_gpu_compiler

OURS = types.SimpleNamespace(m=olympus, np=jnp, lax=lax, P=PartitionSpec, at=both("x", "y")[0])
ORACLE = types.SimpleNamespace(
    m=jax, np=jax.numpy, lax=jax.lax, P=jax.sharding.PartitionSpec, at=both("x", "y")[1]
)
X = np.arange(64, dtype=np.float32).reshape(8, 8)


def mapped(p: Any, body: Any, mesh: Any = None) -> Any:
    """Map `body(p, part)` over the axis x; along y the compiler splits the 8 columns of X."""
    return p.m.jit(
        p.m.shard_map(
            lambda x: body(p, x),
            mesh=mesh or p.at.mesh,
            in_specs=p.P("x", None),
            out_specs=p.P("x", None),
            axis_names={"x"},
            check_vma=False,
        )
    )


@pytest.fixture(autouse=True)
def _end_after_240_seconds() -> Iterator[None]:
    """End the process if devices wait for each other, so that the tests end."""
    faulthandler.dump_traceback_later(240, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


def run(p: Any, body: Any) -> np.ndarray[Any, Any]:
    return np.asarray(mapped(p, body)(p.m.device_put(X, p.at)))


def first(p: Any) -> Any:
    return p.lax.axis_index("x") == 0


def rolled(p: Any, x: Any) -> Any:
    return p.lax.cond(first(p), lambda v: p.np.roll(v, 1, axis=1), lambda v: -v, x)


def reversed_in_a_switch(p: Any, x: Any) -> Any:
    branches = [lambda v: v, lambda v: v[:, ::-1]]
    return p.lax.switch(p.lax.axis_index("x"), branches, x)


def rolled_in_a_loop(p: Any, x: Any) -> Any:
    return p.lax.while_loop(lambda v: v.sum() < 1000, lambda v: p.np.roll(v, 1, axis=1) + 1, x)


def shifted_in_a_jit_and_a_scan(p: Any, x: Any) -> Any:
    shift = p.m.jit(lambda v: p.np.pad(v[:, :-2], ((0, 0), (2, 0))))

    def communicate(v: Any) -> Any:
        return p.lax.scan(lambda c, _: (shift(c) + 1, None), v, None, length=3)[0]

    return p.lax.cond(x.sum() > 600, communicate, lambda v: -v, x)


def used_twice(p: Any, x: Any) -> Any:
    y = p.lax.cond(first(p), lambda v: p.np.roll(v, 1, axis=1), lambda v: -v, x)
    return y * y.sum() + p.np.sin(y)


def against_a_constant(p: Any, x: Any) -> Any:
    return p.lax.cond(first(p), lambda v: p.np.roll(v, 1, axis=1), p.np.ones_like, x)


def one_of_two_equal_functions(p: Any, x: Any) -> Any:
    """The predicate of the first call is equal on all devices, and that of the second varies."""

    def chosen(flag: Any, v: Any) -> Any:
        return p.m.jit(
            lambda f, v: p.lax.cond(f, lambda v: p.np.roll(v, 1, axis=1), lambda v: -v, v)
        )(flag, v)

    return chosen(first(p), chosen(p.lax.psum(x.sum(), "x") > 0, x))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (rolled, r"the predicate of cond, .* the axis 'x', at .*test_inserted_collectives.*p\.lax"),
        (reversed_in_a_switch, "the collective-permute that the compiler inserts for"),
        (rolled_in_a_loop, "the condition of while_loop may differ along the axis 'x'"),
        (shifted_in_a_jit_and_a_scan, "the predicate of cond.*at .*p.lax.cond"),
        (used_twice, "the predicate of cond"),
        (against_a_constant, "the predicate of cond"),
        (one_of_two_equal_functions, "collective-permute"),
    ],
)
def test_an_inserted_permutation_that_some_devices_do_not_reach_is_refused(
    body: Any, message: str
) -> None:
    lowered = mapped(OURS, body).lower(olympus.device_put(X, OURS.at))
    with pytest.raises(ShardingError, match=message) as error:
        lowered.compile()
    assert "lax.pmax" in (error.value.hint or "")
    assert Path(str(error.value.location).rpartition(":")[0]) == Path(__file__)


def test_it_is_refused_for_arrays_and_for_abstract_meshes() -> None:
    with pytest.raises(ShardingError, match="wait for them for ever"):
        mapped(OURS, rolled).lower(olympus.device_put(X, OURS.at)).compile()
    abstract = AbstractMesh((2, 4), ("x", "y"))
    sharding = NamedSharding(abstract, PartitionSpec("x", "y"))
    x = olympus.ShapeDtypeStruct(X.shape, "float32", sharding=sharding)
    with pytest.raises(ShardingError, match="wait for them for ever"):
        mapped(OURS, rolled, abstract).lower(x).compile()


def summed(p: Any, x: Any) -> Any:
    return p.lax.while_loop(
        lambda v: v.sum() < 1000, lambda v: v + 1 + v.mean(1, keepdims=True), x / 64
    )


def sorted_in_one_branch(p: Any, x: Any) -> Any:
    return p.lax.cond(first(p), lambda v: p.np.sort(-v, axis=1), lambda v: v @ (v.T @ v), x)


def rolled_by_all(p: Any, x: Any) -> Any:
    flag = p.lax.psum(x.sum(), "x") > 0
    x = p.lax.cond(flag, lambda v: p.np.roll(v, 1, axis=1), lambda v: -v, x)
    return p.lax.cond(first(p), lambda v: v + 1, lambda v: -v, x)


def chosen_afterwards(p: Any, x: Any) -> Any:
    return p.np.where(first(p), p.np.roll(x, 1, axis=1), -x)


def chosen_of_what_all_chose(p: Any, x: Any) -> Any:
    """XLA fuses the first `cond` into the operand of the second, with the mark of the second."""
    flag = p.lax.psum(x.sum(), "x") > 0

    def communicate(v: Any) -> Any:
        return p.lax.all_gather(v, "x", axis=0, tiled=True)[1:5], p.np.sin(v)

    operands = p.lax.cond(flag, communicate, lambda v: (v, -v), x)
    return p.lax.cond(first(p), lambda u: u[0] @ u[1].T @ u[1], lambda u: u[0] - u[1], operands)


@pytest.mark.parametrize(
    "body",
    [summed, sorted_in_one_branch, rolled_by_all, chosen_afterwards, chosen_of_what_all_chose],
)
def test_collectives_that_all_devices_reach_give_the_results_of_jax(body: Any) -> None:
    for result in [run(OURS, body) for _ in range(3)]:
        np.testing.assert_allclose(result, run(ORACLE, body), rtol=1e-6)


def test_a_varying_result_with_a_wrong_spec_is_refused_as_a_predicate() -> None:
    flags = olympus.shard_map(
        lambda x: x[0] > 3,
        mesh=OURS.at.mesh,
        in_specs=PartitionSpec(("x", "y")),
        out_specs=PartitionSpec(),
        check_vma=False,
    )

    def f(x: Any) -> Any:
        flag = flags(x[0])
        return lax.cond(flag, lambda v: v @ v.T, lambda v: v, x)

    with pytest.raises(ShardingError, match=r"may differ along the axis '[xy]'"):
        olympus.jit(f).lower(olympus.device_put(X, OURS.at)).compile()


def test_only_a_program_with_a_varying_predicate_has_the_mark() -> None:
    x = olympus.device_put(X, OURS.at)
    assert DIFFERS in mapped(OURS, sorted_in_one_branch).lower(x).as_text()
    assert DIFFERS not in mapped(OURS, chosen_afterwards).lower(x).as_text()


def permuted_along_y(p: Any, x: Any) -> Any:
    communicate = lambda v: p.lax.ppermute(v, "y", [(0, 1), (1, 0)])  # noqa: E731
    return p.lax.cond(first(p), communicate, lambda v: v, x)


def save_for_gpus(path: Path) -> Path:
    """Save a bundle of a program that runs on GPUs and would wait forever on the CPU."""
    mesh = AbstractMesh((2, 4), ("x", "y"))
    spec = PartitionSpec("x", "y")
    f = olympus.shard_map(
        lambda x: permuted_along_y(OURS, x), mesh=mesh, in_specs=spec, out_specs=spec
    )
    x = olympus.ShapeDtypeStruct(X.shape, "float32", sharding=NamedSharding(mesh, spec))
    lowered = olympus.jit(f).trace(x).lower(olympus.target("gpu", "8xh200"))
    text = str(lowered.olympuspr)
    artifact.save(
        path, lowered.compile(), lowered=lowered, olympuspr_text=text, name="f", entry="m:f"
    )
    return path


@needs_gpu_compiler
def test_a_bundle_for_gpus_is_refused_if_the_cpu_would_wait(tmp_path: Path) -> None:
    bundle = artifact.load(save_for_gpus(tmp_path / "f.olympus"))
    with pytest.raises(ShardingError, match="wait for them for ever"):
        bundle.compiled(olympus.target("cpu"))


def test_an_axis_may_have_any_name_in_the_mark() -> None:
    from olympus_core.xla.hlo.reached_collectives import Spread, _axes_of, differs_text

    axes = {"a,b=1:2": Spread(4, 2), "é\n": Spread(1, 4)}
    assert _axes_of(differs_text(axes)) == axes
    for hostile in ("x=0:4", "x=4", "x=1:0,,", "=", "x=-1:2", "x=1:9999999999"):
        assert not _axes_of(hostile)
