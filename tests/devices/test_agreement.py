"""A collective that some devices do not reach is refused; others give the results of JAX."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ShardingError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from tests.devices.meshes import both

OURS = types.SimpleNamespace(m=olympus, np=jnp, lax=lax, P=PartitionSpec, mesh=both()[0].mesh)
ORACLE = types.SimpleNamespace(
    m=jax, np=jax.numpy, lax=jax.lax, P=jax.sharding.PartitionSpec, mesh=both()[1].mesh
)
X = np.arange(16, dtype=np.float32) - 3


def mapped(p: Any, body: Callable[[Any, Any], Any], **options: Any) -> Any:
    """`body(p, part)` over the mesh of 2 x 4, on 2 of the 16 elements of a vector."""
    return p.m.shard_map(
        lambda x: body(p, x),
        mesh=options.pop("mesh", p.mesh),
        in_specs=p.P(("x", "y")),
        out_specs=p.P(("x", "y")),
        **options,
    )


def varying(p: Any, value: Any, *axes: str) -> Any:
    """Cast a value to vary along the axes, if it does not yet vary."""
    missing = tuple(n for n in axes if n not in getattr(p.m.typeof(value), "vma", axes))
    return p.lax.pcast(value, missing, to="varying") if missing else value


def first(p: Any, axis: str) -> Any:
    """Return True on the first devices along the axis."""
    return p.lax.axis_index(axis) == 0


def chosen(collective: Callable[[Any, Any], Any], axis: str = "x") -> Any:
    """Return a body with a collective in the branch of the first devices along `axis`."""

    def body(p: Any, x: Any) -> Any:
        def communicate(v: Any) -> Any:
            return v + collective(p, v)

        return p.lax.cond(first(p, axis), communicate, lambda v: v, x)

    return body


COLLECTIVES = {
    "psum": lambda p, x: p.lax.psum(x, "x"),
    "pmax": lambda p, x: p.lax.pmax(x, "x"),
    "pmean": lambda p, x: p.lax.pmean(x, ("x", "y")),
    "all_gather": lambda p, x: p.lax.all_gather(x, "x").sum(0),
    "psum_scatter": lambda p, x: p.lax.psum_scatter(x, "x", tiled=True).sum(),
    "ppermute": lambda p, x: p.lax.ppermute(x, "x", [(0, 1), (1, 0)]),
    "all_to_all": lambda p, x: p.lax.all_to_all(x, "x", 0, 0, tiled=True),
}


def in_switch(p: Any, x: Any) -> Any:
    branches = [lambda v: v, lambda v: v + p.lax.psum(v, "y"), lambda v: 2 * v]
    return p.lax.switch(p.lax.axis_index("y"), branches, x)


def in_jit_and_scan(p: Any, x: Any) -> Any:
    def communicate(v: Any) -> Any:
        def step(c: Any, _: None) -> tuple[Any, None]:
            return c + p.m.jit(lambda a: p.lax.pmin(a, "x"))(c), None

        return p.lax.scan(step, v, None, length=2)[0]

    return p.lax.cond(x.sum() > 0, communicate, lambda v: v, x)


def in_checkpoint(p: Any, x: Any) -> Any:
    communicate = p.m.checkpoint(lambda v: v * p.lax.psum(v, "x"))
    return p.lax.cond(x[0] > 0, communicate, lambda v: v, x)


def in_custom_jvp(p: Any, x: Any) -> Any:
    @p.m.custom_jvp
    def communicate(v: Any) -> Any:
        return v * p.lax.psum(v, "x")

    communicate.defjvp(lambda primals, tangents: (communicate(*primals), tangents[0]))
    return p.lax.cond(x[0] > 0, communicate, lambda v: v, x)


def in_body(p: Any, x: Any) -> Any:
    return p.lax.while_loop(lambda v: v.sum() < 10, lambda v: v + 1 + 0 * p.lax.psum(v, "y"), x)


def in_condition(p: Any, x: Any) -> Any:
    def more(carry: Any) -> Any:
        i, v = carry
        return (p.lax.psum(v, "x").sum() > 0) & (i < p.lax.axis_index("x"))

    start = varying(p, np.int32(0), "x", "y")
    return p.lax.while_loop(more, lambda c: (c[0] + 1, c[1]), (start, x))[1]


def in_loop_of_own_length(p: Any, x: Any) -> Any:
    stop = p.lax.axis_index("x")
    return p.lax.fori_loop(np.int32(0), stop, lambda i, v: v + 0 * p.lax.pmax(v, "x"), x)


def flag_from_a_choice(p: Any, x: Any) -> Any:
    """The result of a `cond` varies with its predicate, though each branch is a constant."""
    flag = p.lax.cond(first(p, "x"), lambda: 1.0, lambda: -1.0)
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def flag_from_the_carry(p: Any, x: Any) -> Any:
    """The carry varies from the second iteration on."""

    def step(carry: Any, _: None) -> tuple[Any, None]:
        flag, v = carry
        v = p.lax.cond(flag > 0, lambda a: a + p.lax.psum(a, "x"), lambda a: a, v)
        return (v.sum(), v), None

    start = varying(p, np.float32(0), "x", "y")
    return p.lax.scan(step, (start, x), None, length=2)[0][1]


def nested(p: Any, x: Any) -> Any:
    """The collective is in a loop of equal length, in a branch."""

    def communicate(v: Any) -> Any:
        more = p.lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 0 * p.lax.psum(c[1], "y")), (0, v)
        )
        return more[1]

    return p.lax.cond(first(p, "y"), communicate, lambda v: v, x)


def permuted_flag(p: Any, x: Any) -> Any:
    flag = p.lax.ppermute(varying(p, np.float32(1), "x"), "x", [(0, 1)])
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def sorted_by_varying_keys(p: Any, x: Any) -> Any:
    flags = p.lax.sort((x, p.np.array([1.0, -1.0], np.float32)), num_keys=1)[1]
    return p.lax.cond(flags[0] > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def branches_of_other_flags(p: Any, x: Any) -> Any:
    """Each branch returns an operand that is equal on all devices, but a different one."""
    flag = p.lax.cond(first(p, "x"), lambda a, b: a, lambda a, b: b, np.float32(1), np.float32(-1))
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def exchanged_carries(p: Any, x: Any) -> Any:
    """A loop whose length varies exchanges two carries."""
    start = [varying(p, np.float32(f), "x", "y") for f in (1, -1)]
    flag, _, x = p.lax.while_loop(
        lambda c: c[2].sum() < 40, lambda c: (c[1], c[0], c[2] * 2 + 1), (*start, abs(x) + 1)
    )
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


PROGRAMS = {name: chosen(c) for name, c in COLLECTIVES.items()} | {
    f.__name__: f
    for f in (
        in_switch,
        in_jit_and_scan,
        in_checkpoint,
        in_custom_jvp,
        in_body,
        in_condition,
        in_loop_of_own_length,
        flag_from_a_choice,
        flag_from_the_carry,
        nested,
        permuted_flag,
        sorted_by_varying_keys,
        branches_of_other_flags,
        exchanged_carries,
    )
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_collective_that_some_devices_do_not_reach_is_refused(name: str, check: bool) -> None:
    f = mapped(OURS, PROGRAMS[name], check_vma=check)
    with pytest.raises(ShardingError, match=r"may differ along the axis '[xy]'.*test_agreement"):
        olympus.jit(f).lower(X)


@pytest.mark.parametrize("check", [True, False])
def test_such_a_collective_is_refused_eagerly_and_for_absent_devices(check: bool) -> None:
    body = PROGRAMS["psum"]
    with pytest.raises(ShardingError, match="wait for them for ever") as error:
        mapped(OURS, body, check_vma=check)(X)
    assert "psum" in str(error.value) and "cond" in str(error.value)
    assert "lax.pmax" in (error.value.hint or "")
    mesh = AbstractMesh((2, 4), ("x", "y"))
    x = olympus.ShapeDtypeStruct((16,), "float32", sharding=NamedSharding(mesh, PartitionSpec()))
    traced = olympus.jit(mapped(OURS, body, mesh=mesh, check_vma=check)).trace(x)
    with pytest.raises(ShardingError, match="wait for them for ever"):
        traced.lower(olympus.target("gpu", "8xh200"))


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", ["psum", "all_gather", "in_jit_and_scan", "in_checkpoint"])
def test_such_a_collective_is_refused_in_derivatives_and_batches(name: str, check: bool) -> None:
    f = mapped(OURS, PROGRAMS[name], check_vma=check)
    programs = [
        olympus.grad(lambda x: f(x).sum()),
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    ]
    if name in COLLECTIVES:  # the predicates of the others vary over a batch
        programs.append(lambda x: olympus.vmap(f)(jnp.stack([x, x])))
    for g in programs:
        with pytest.raises(ShardingError, match="wait for them for ever"):
            olympus.jit(g).lower(X)


def test_a_permutation_on_the_cpu_waits_for_all_devices() -> None:
    def body(p: Any, x: Any) -> Any:
        communicate = lambda v: p.lax.ppermute(v, "y", [(0, 1), (1, 0)])  # noqa: E731
        return p.lax.cond(first(p, "x"), communicate, lambda v: v, x)

    with pytest.raises(ShardingError, match="along the axis 'x'"):
        olympus.jit(mapped(OURS, body)).lower(X)
    mesh = AbstractMesh((2, 4), ("x", "y"))
    x = olympus.ShapeDtypeStruct((16,), "float32", sharding=NamedSharding(mesh, PartitionSpec()))
    traced = olympus.jit(mapped(OURS, body, mesh=mesh)).trace(x)
    assert "collective_permute" in traced.lower(olympus.target("gpu", "8xh200")).as_text()


@pytest.mark.parametrize("name", ["psum", "in_switch"])
def test_pmap_refuses_such_a_collective(name: str) -> None:
    def body(x: Any) -> Any:
        i = lax.axis_index("i")
        return lax.cond(i > 1, lambda v: lax.psum(v, "i"), lambda v: v, x)

    with pytest.raises(ShardingError, match="the axis 'i'"):
        olympus.pmap(body, axis_name="i").lower(X.reshape(8, 2))


def flagged(flag: Any, x: Any) -> Any:
    return lax.cond(flag > 0, lambda v: v + lax.psum(v, "i"), lambda v: v, x)


def test_the_hint_names_a_sharded_flag_and_a_replicated_one_is_accepted() -> None:
    x, flags = X.reshape(8, 2), np.ones(8, np.float32)
    with pytest.raises(ShardingError) as error:
        olympus.pmap(flagged, axis_name="i")(flags, x)
    assert "the operand float32[8] with the spec P('i',) decides: " in (error.value.hint or "")
    expected = jax.pmap(
        lambda f, v: jax.lax.cond(f > 0, lambda v: v + jax.lax.psum(v, "i"), lambda v: v, v),
        axis_name="i",
    )(flags, x)
    agreed = olympus.pmap(lambda f, v: flagged(lax.pmax(f, "i"), v), axis_name="i")
    for mine in (
        olympus.pmap(flagged, axis_name="i", in_axes=(None, 0))(np.float32(1), x),
        agreed(flags, x),
    ):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(expected))


def agreed_while(p: Any, x: Any) -> Any:
    return p.lax.while_loop(
        lambda v: p.lax.pmax(p.lax.psum(v.sum(), "x"), "y") < 200,
        lambda v: v + 1 + 0.125 * p.lax.pmean(v, "y"),
        x,
    )


def agreed_cond(p: Any, x: Any) -> Any:
    total = p.lax.psum(x.sum(), ("x", "y"))
    return p.lax.cond(total > 3, lambda v: v + p.lax.psum(v, "x"), lambda v: -v, x)


def agreed_by_gathering(p: Any, x: Any) -> Any:
    every = p.lax.all_gather(p.lax.all_gather(x, "x"), "y")
    return p.lax.cond(every.max() > 3, lambda v: v + p.lax.psum(v, ("x", "y")), lambda v: -v, x)


def along_the_other_axis(p: Any, x: Any) -> Any:
    """The devices along y take the same branch, those along x may not."""

    def communicate(v: Any) -> Any:
        v = v + p.lax.psum(v, "y") + p.lax.pmax(v, "y")
        v = v + p.lax.all_gather(v, "y").sum(0)
        return v + p.lax.psum_scatter(p.np.concatenate([v, v]), "y", tiled=True).sum()

    return p.lax.cond(first(p, "x"), communicate, lambda v: 2 * v, x)


def exchanged_along_the_other_axis(p: Any, x: Any) -> Any:
    def communicate(v: Any) -> Any:
        doubled = p.np.concatenate([v, v])
        return v + p.lax.all_to_all(doubled, "y", 0, 0, tiled=True)[:2]

    return p.lax.cond(first(p, "x"), communicate, lambda v: 2 * v, x)


def outside_of_the_choice(p: Any, x: Any) -> Any:
    total = p.lax.psum(x, "x")
    total = varying(p, total, "x")
    return p.lax.cond(first(p, "x"), lambda a, b: a + b, lambda a, b: a - b, x, total)


def loop_of_own_length(p: Any, x: Any) -> Any:
    """The length of the loop varies, and the loop has no collective."""
    return p.lax.while_loop(lambda v: v.sum() < 40, lambda v: 2 * v + 1, p.np.abs(x) + 1)


def cast_flag(p: Any, x: Any) -> Any:
    """The flag has a varying type, but equal values."""
    flag = varying(p, np.bool_(True), "x", "y")
    return p.lax.cond(flag, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x)


def scan_with_flags(p: Any, x: Any) -> Any:
    def step(carry: Any, flag: Any) -> tuple[Any, None]:
        communicate = lambda v: v + varying(p, p.lax.pmean(v, "y"), "y")  # noqa: E731
        return p.lax.cond(flag, communicate, lambda v: -v, carry), None

    return p.lax.scan(step, x, np.array([True, False, True]))[0]


def batched_from_outside(p: Any, x: Any) -> Any:
    return p.lax.cond(
        x.sum() > 0, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x
    )


def batched_choice(p: Any, x: Any) -> Any:
    """With a predicate for each row, all devices run both branches."""

    def row(a: Any) -> Any:
        communicate = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
        return p.lax.cond(a > 0, communicate, lambda v: v, a)

    return p.m.vmap(row)(x)


def flag_behind_a_barrier(p: Any, x: Any) -> Any:
    flag, x = p.lax.optimization_barrier((p.np.float32(1), x))
    return p.lax.cond(flag > 0, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x)


def flag_of_a_sort(p: Any, x: Any) -> Any:
    keys, x = p.lax.sort((p.np.array([2.0, 1.0], np.float32), x), num_keys=1)
    communicate = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(keys[0] > 0, communicate, lambda v: v, x)


def flag_in_the_carry(p: Any, x: Any) -> Any:
    """The length of the loop varies, and its body returns the flag unchanged."""
    flag, x = p.lax.while_loop(
        lambda c: c[1].sum() < 40,
        lambda c: (c[0], c[1] * 2 + 1),
        (varying(p, p.np.float32(1), "x", "y"), abs(x) + 1),
    )
    communicate = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, communicate, lambda v: v, x)


def flag_of_both_branches(p: Any, x: Any) -> Any:
    flag = varying(p, p.np.float32(1), "x", "y")
    flag, x = p.lax.cond(first(p, "x"), lambda f, v: (f, v), lambda f, v: (f, -v), flag, x)
    communicate = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, communicate, lambda v: v, x)


def permuted_equal_flag(p: Any, x: Any) -> Any:
    flag = p.lax.ppermute(varying(p, p.np.float32(1), "x"), "x", [(0, 1), (1, 0)])
    communicate = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, communicate, lambda v: v, x)


AGREED = [
    agreed_while,
    agreed_cond,
    agreed_by_gathering,
    along_the_other_axis,
    exchanged_along_the_other_axis,
    outside_of_the_choice,
    loop_of_own_length,
    cast_flag,
    scan_with_flags,
    batched_choice,
    flag_behind_a_barrier,
    flag_of_a_sort,
    flag_in_the_carry,
    flag_of_both_branches,
    permuted_equal_flag,
]


@pytest.mark.parametrize("body", AGREED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("check", [True, False])
def test_programs_with_equal_predicates_give_the_results_of_jax(body: Any, check: bool) -> None:
    if body is agreed_cond or body is agreed_by_gathering:
        body_of = lambda p, x: varying(p, body(p, x), "x", "y")  # noqa: E731
    else:
        body_of = body
    mine, oracle = (p.m.jit(mapped(p, body_of, check_vma=check))(X) for p in (OURS, ORACLE))
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


@pytest.mark.parametrize("check", [True, False])
def test_a_predicate_that_is_batched_outside_of_shard_map_is_accepted(check: bool) -> None:
    mine, oracle = (
        p.m.jit(p.m.vmap(mapped(p, batched_from_outside, check_vma=check)))(np.stack([X, -X]))
        for p in (OURS, ORACLE)
    )
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


def test_a_branch_for_another_platform_is_ignored() -> None:
    def body(x: Any) -> Any:
        return lax.platform_dependent(
            x, cpu=lambda v: v + 1, cuda=lambda v: PROGRAMS["psum"](OURS, v)
        )

    f = olympus.shard_map(
        body, mesh=OURS.mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")
    )
    np.testing.assert_array_equal(np.asarray(f(X)), X + 1)


def test_a_mesh_with_one_device_along_the_axis_is_accepted() -> None:
    mesh = olympus.make_mesh((1, 8), ("x", "y"), olympus.sharding.AxisType.Auto)
    out = mapped(OURS, PROGRAMS["psum"], mesh=mesh, check_vma=False)(X)
    np.testing.assert_array_equal(np.asarray(out), 2 * X)


def declared_equal(value: Callable[[Any], Any]) -> Any:
    """Return a `shard_map` whose spec declares its result equal on all devices."""
    return olympus.shard_map(
        value, mesh=OURS.mesh, in_specs=SPEC, out_specs=PartitionSpec(), check_vma=False
    )


def choosing(flag: Any, x: Any) -> Any:
    """Return a `shard_map` of a collective under a flag that its spec declares equal."""

    def body(p: Any, v: Any) -> Any:
        return lax.cond(p > 0, lambda v: v + lax.psum(v, "x"), lambda v: -v, v)

    return olympus.shard_map(
        body,
        mesh=OURS.mesh,
        in_specs=(PartitionSpec(), SPEC),
        out_specs=SPEC,
        check_vma=False,
    )(flag, x)


def own_number(x: Any) -> Any:
    return lax.axis_index("y")


def in_a_scan(x: Any) -> Any:
    def step(carry: Any, _: None) -> tuple[Any, None]:
        flag, v = carry
        return (declared_equal(own_number)(v), choosing(flag, v)), None

    return lax.scan(step, (jnp.int32(1), x), None, length=2)[0][1]


def around_it(x: Any) -> Any:
    """The `cond` is outside all `shard_map`s, and the collective inside one."""
    return lax.cond(
        declared_equal(own_number)(x) > 0, lambda v: choosing(jnp.int32(1), v), lambda v: v, x
    )


SPEC = PartitionSpec(("x", "y"))
UNEQUAL = {
    "straight": lambda x: choosing(declared_equal(own_number)(x), x),
    "in-jit": lambda x: choosing(olympus.jit(declared_equal(own_number))(x) * 2, x),
    "in-a-scan": in_a_scan,
    "around": around_it,
    "batched": lambda x: olympus.vmap(choosing, (None, 0))(
        declared_equal(own_number)(x), jnp.stack([x, x])
    ),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_a_flag_that_a_shard_map_wrongly_declares_equal_is_refused(name: str) -> None:
    with pytest.raises(ShardingError, match="wait for them for ever") as error:
        olympus.jit(UNEQUAL[name]).lower(X)
    since = "a result of shard_map differs along 'y', which its spec does not name"
    assert since in str(error.value)
    assert str(error.value).count("test_agreement.py") == 3
    assert "name 'y' in that spec" in (error.value.hint or "")


def test_such_a_flag_may_choose_between_branches_without_collectives() -> None:
    def body(p: Any, v: Any) -> Any:
        return lax.cond(p > 0, lambda v: v + 1, lambda v: v, v)

    specs = PartitionSpec(), SPEC
    f = olympus.shard_map(body, mesh=OURS.mesh, in_specs=specs, out_specs=SPEC, check_vma=False)
    out = olympus.jit(lambda x: f(declared_equal(own_number)(x), x))(X)
    np.testing.assert_array_equal(np.asarray(out), X + (np.arange(16) // 2 % 4 > 0))


def test_a_flag_that_a_shard_map_rightly_declares_equal_is_accepted() -> None:
    total = declared_equal(lambda x: lax.psum(x.sum(), ("x", "y")))
    out = olympus.jit(lambda x: choosing(total(x), x))(X)
    np.testing.assert_array_equal(np.asarray(out), X + np.tile(X.reshape(2, 8).sum(0), 2))


def test_the_error_does_not_name_an_operand_that_is_not_the_cause() -> None:
    def body(p: Any, v: Any) -> Any:
        return PROGRAMS["psum"](OURS, v + p)

    f = olympus.shard_map(
        body,
        mesh=OURS.mesh,
        in_specs=(PartitionSpec(), SPEC),
        out_specs=SPEC,
        check_vma=False,
    )
    with pytest.raises(ShardingError) as error:
        olympus.jit(lambda x: f(declared_equal(own_number)(x), x)).lower(X)
    assert "spec" not in str(error.value)


def test_an_axis_with_a_number_as_its_name_is_reported() -> None:
    mesh = olympus.make_mesh((8,), (1,), olympus.sharding.AxisType.Auto)

    def body(x: Any) -> Any:
        return lax.cond(lax.axis_index(1) > 0, lambda v: lax.psum(v, 1), lambda v: v, x)

    f = olympus.shard_map(
        body, mesh=mesh, in_specs=PartitionSpec(1), out_specs=PartitionSpec(1), check_vma=False
    )
    with pytest.raises(ShardingError, match="along the axis 1, at"):
        olympus.jit(f).lower(X)


@pytest.mark.parametrize("check", [True, False])
def test_an_equal_predicate_is_accepted_in_the_derivative(check: bool) -> None:
    def value(p: Any, x: Any) -> Any:
        body = lambda v: varying(p, agreed_cond(p, p.np.sin(v)), "x", "y")  # noqa: E731
        return mapped(p, lambda _, v: body(v), check_vma=check)(x).sum()

    def repeated(p: Any, x: Any) -> Any:
        step = lambda c, _: (p.m.grad(lambda v: value(p, v))(c), None)  # noqa: E731
        return p.lax.scan(step, x, None, length=2)[0]

    mine, oracle = (p.m.jit(lambda x, p=p: repeated(p, x))(X) for p in (OURS, ORACLE))
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


def test_an_operand_with_another_spec_may_vary() -> None:
    """The sum is equal on all devices, but its product with a vector has different rows."""
    row = olympus.shard_map(
        lambda x: lax.psum(x.sum(), ("x", "y")) * jnp.arange(8.0),
        mesh=OURS.mesh,
        in_specs=SPEC,
        out_specs=PartitionSpec("x"),
        check_vma=False,
    )

    def body(p: Any, v: Any) -> Any:
        return lax.cond(p.sum() > 3, lambda v: v + lax.psum(v, "y"), lambda v: -v, v)

    def program(x: Any, spec: Any, change: bool) -> Any:
        f = olympus.shard_map(
            body, mesh=OURS.mesh, in_specs=(spec, SPEC), out_specs=SPEC, check_vma=False
        )
        return f(row(x) * 2 if change else row(x), x)

    olympus.jit(lambda x: program(x, PartitionSpec("x"), False)).lower(X)
    for change in (False, True):
        with pytest.raises(ShardingError, match="the axis 'y'"):
            olympus.jit(lambda x, c=change: program(x, SPEC, c)).lower(X)
