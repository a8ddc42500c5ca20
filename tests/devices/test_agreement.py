"""A collective that some devices never come to is refused; others run as the oracle's."""

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
    """A value of the type that all devices' are, where the types say so."""
    missing = tuple(n for n in axes if n not in getattr(p.m.typeof(value), "vma", axes))
    return p.lax.pcast(value, missing, to="varying") if missing else value


def first(p: Any, axis: str) -> Any:
    """Whether the device is the first one along the axis."""
    return p.lax.axis_index(axis) == 0


def chosen(collective: Callable[[Any, Any], Any], axis: str = "x") -> Any:
    """A collective in one branch, of which the first devices along `axis` take the other."""

    def body(p: Any, x: Any) -> Any:
        def talk(v: Any) -> Any:
            return v + collective(p, v)

        return p.lax.cond(first(p, axis), talk, lambda v: v, x)

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
    def talk(v: Any) -> Any:
        def step(c: Any, _: None) -> tuple[Any, None]:
            return c + p.m.jit(lambda a: p.lax.pmin(a, "x"))(c), None

        return p.lax.scan(step, v, None, length=2)[0]

    return p.lax.cond(x.sum() > 0, talk, lambda v: v, x)


def in_checkpoint(p: Any, x: Any) -> Any:
    talk = p.m.checkpoint(lambda v: v * p.lax.psum(v, "x"))
    return p.lax.cond(x[0] > 0, talk, lambda v: v, x)


def in_custom_jvp(p: Any, x: Any) -> Any:
    @p.m.custom_jvp
    def talk(v: Any) -> Any:
        return v * p.lax.psum(v, "x")

    talk.defjvp(lambda primals, tangents: (talk(*primals), tangents[0]))
    return p.lax.cond(x[0] > 0, talk, lambda v: v, x)


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


def choice_carried(p: Any, x: Any) -> Any:
    """What is chosen differs as its predicate does, though each branch has one value for all."""
    flag = p.lax.cond(first(p, "x"), lambda: 1.0, lambda: -1.0)
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def carried_round(p: Any, x: Any) -> Any:
    """The carry differs from the second iteration on."""

    def step(carry: Any, _: None) -> tuple[Any, None]:
        flag, v = carry
        v = p.lax.cond(flag > 0, lambda a: a + p.lax.psum(a, "x"), lambda a: a, v)
        return (v.sum(), v), None

    start = varying(p, np.float32(0), "x", "y")
    return p.lax.scan(step, (start, x), None, length=2)[0][1]


def nested(p: Any, x: Any) -> Any:
    """An outer choice, a loop that agrees, and the collective in it."""

    def talk(v: Any) -> Any:
        more = p.lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 0 * p.lax.psum(c[1], "y")), (0, v)
        )
        return more[1]

    return p.lax.cond(first(p, "y"), talk, lambda v: v, x)


def permuted_flag(p: Any, x: Any) -> Any:
    flag = p.lax.ppermute(varying(p, np.float32(1), "x"), "x", [(0, 1)])
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def sorted_by_what_differs(p: Any, x: Any) -> Any:
    flags = p.lax.sort((x, p.np.array([1.0, -1.0], np.float32)), num_keys=1)[1]
    return p.lax.cond(flags[0] > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def branches_of_other_flags(p: Any, x: Any) -> Any:
    """Each branch passes on an operand that is the same everywhere, and not the same one."""
    flag = p.lax.cond(first(p, "x"), lambda a, b: a, lambda a, b: b, np.float32(1), np.float32(-1))
    return p.lax.cond(flag > 0, lambda v: v + p.lax.psum(v, "x"), lambda v: v, x)


def carries_exchanged(p: Any, x: Any) -> Any:
    """A loop of each device's own length passes two carries on, in each other's place."""
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
        choice_carried,
        carried_round,
        nested,
        permuted_flag,
        sorted_by_what_differs,
        branches_of_other_flags,
        carries_exchanged,
    )
}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_collective_that_some_devices_do_not_come_to_is_refused(name: str, check: bool) -> None:
    f = mapped(OURS, PROGRAMS[name], check_vma=check)
    with pytest.raises(ShardingError, match=r"may differ along the axis '[xy]'.*test_agreement"):
        olympus.jit(f).lower(X)


@pytest.mark.parametrize("check", [True, False])
def test_it_is_refused_at_once_too_and_for_devices_that_are_absent(check: bool) -> None:
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
def test_derivatives_and_batches_are_refused_too(name: str, check: bool) -> None:
    f = mapped(OURS, PROGRAMS[name], check_vma=check)
    every = [
        olympus.grad(lambda x: f(x).sum()),
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    ]
    if name in COLLECTIVES:  # the predicate of the others is another for each element of a batch
        every.append(lambda x: olympus.vmap(f)(jnp.stack([x, x])))
    for g in every:
        with pytest.raises(ShardingError, match="wait for them for ever"):
            olympus.jit(g).lower(X)


def test_on_the_cpu_a_permutation_is_of_all_devices_and_waits_for_them() -> None:
    def body(p: Any, x: Any) -> Any:
        talk = lambda v: p.lax.ppermute(v, "y", [(0, 1), (1, 0)])  # noqa: E731
        return p.lax.cond(first(p, "x"), talk, lambda v: v, x)

    with pytest.raises(ShardingError, match="along the axis 'x'"):
        olympus.jit(mapped(OURS, body)).lower(X)
    mesh = AbstractMesh((2, 4), ("x", "y"))
    x = olympus.ShapeDtypeStruct((16,), "float32", sharding=NamedSharding(mesh, PartitionSpec()))
    traced = olympus.jit(mapped(OURS, body, mesh=mesh)).trace(x)
    assert "collective_permute" in traced.lower(olympus.target("gpu", "8xh200")).as_text()


@pytest.mark.parametrize("name", ["psum", "in_switch"])
def test_pmap_refuses_it_too(name: str) -> None:
    def body(x: Any) -> Any:
        i = lax.axis_index("i")
        return lax.cond(i > 1, lambda v: lax.psum(v, "i"), lambda v: v, x)

    with pytest.raises(ShardingError, match="the axis 'i'"):
        olympus.pmap(body, axis_name="i").lower(X.reshape(8, 2))


def flagged(flag: Any, x: Any) -> Any:
    return lax.cond(flag > 0, lambda v: v + lax.psum(v, "i"), lambda v: v, x)


def test_a_flag_that_is_cut_is_told_and_one_that_is_not_decides() -> None:
    x, flags = X.reshape(8, 2), np.ones(8, np.float32)
    with pytest.raises(ShardingError) as error:
        olympus.pmap(flagged, axis_name="i")(flags, x)
    assert "the operand float32[8] with the spec P('i',) decides: " in (error.value.hint or "")
    wanted = jax.pmap(
        lambda f, v: jax.lax.cond(f > 0, lambda v: v + jax.lax.psum(v, "i"), lambda v: v, v),
        axis_name="i",
    )(flags, x)
    agreed = olympus.pmap(lambda f, v: flagged(lax.pmax(f, "i"), v), axis_name="i")
    for mine in (
        olympus.pmap(flagged, axis_name="i", in_axes=(None, 0))(np.float32(1), x),
        agreed(flags, x),
    ):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(wanted))


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
    """The devices along y take one branch together, and the ones along x need not."""

    def talk(v: Any) -> Any:
        v = v + p.lax.psum(v, "y") + p.lax.pmax(v, "y")
        v = v + p.lax.all_gather(v, "y").sum(0)
        return v + p.lax.psum_scatter(p.np.concatenate([v, v]), "y", tiled=True).sum()

    return p.lax.cond(first(p, "x"), talk, lambda v: 2 * v, x)


def exchanged_along_the_other_axis(p: Any, x: Any) -> Any:
    def talk(v: Any) -> Any:
        both = p.np.concatenate([v, v])
        return v + p.lax.all_to_all(both, "y", 0, 0, tiled=True)[:2]

    return p.lax.cond(first(p, "x"), talk, lambda v: 2 * v, x)


def outside_of_the_choice(p: Any, x: Any) -> Any:
    total = p.lax.psum(x, "x")
    total = varying(p, total, "x")
    return p.lax.cond(first(p, "x"), lambda a, b: a + b, lambda a, b: a - b, x, total)


def loop_of_own_length(p: Any, x: Any) -> Any:
    """Each device loops as often as it likes, and none talks."""
    return p.lax.while_loop(lambda v: v.sum() < 40, lambda v: 2 * v + 1, p.np.abs(x) + 1)


def cast_flag(p: Any, x: Any) -> Any:
    """The type says that the flag may differ, and it does not."""
    flag = varying(p, np.bool_(True), "x", "y")
    return p.lax.cond(flag, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x)


def scan_with_flags(p: Any, x: Any) -> Any:
    def step(carry: Any, flag: Any) -> tuple[Any, None]:
        talk = lambda v: v + varying(p, p.lax.pmean(v, "y"), "y")  # noqa: E731
        return p.lax.cond(flag, talk, lambda v: -v, carry), None

    return p.lax.scan(step, x, np.array([True, False, True]))[0]


def batched_from_outside(p: Any, x: Any) -> Any:
    return p.lax.cond(
        x.sum() > 0, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x
    )


def batched_choice(p: Any, x: Any) -> Any:
    """With a predicate for each row both branches run, on all devices."""

    def row(a: Any) -> Any:
        talk = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
        return p.lax.cond(a > 0, talk, lambda v: v, a)

    return p.m.vmap(row)(x)


def flag_behind_a_barrier(p: Any, x: Any) -> Any:
    flag, x = p.lax.optimization_barrier((p.np.float32(1), x))
    return p.lax.cond(flag > 0, lambda v: v + varying(p, p.lax.psum(v, "x"), "x"), lambda v: v, x)


def flag_that_sorts(p: Any, x: Any) -> Any:
    keys, x = p.lax.sort((p.np.array([2.0, 1.0], np.float32), x), num_keys=1)
    talk = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(keys[0] > 0, talk, lambda v: v, x)


def flag_carried_on(p: Any, x: Any) -> Any:
    """The loop is of each device's own length, and its body passes the flag on as it is."""
    flag, x = p.lax.while_loop(
        lambda c: c[1].sum() < 40,
        lambda c: (c[0], c[1] * 2 + 1),
        (varying(p, p.np.float32(1), "x", "y"), abs(x) + 1),
    )
    talk = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, talk, lambda v: v, x)


def flag_of_both_branches(p: Any, x: Any) -> Any:
    flag = varying(p, p.np.float32(1), "x", "y")
    flag, x = p.lax.cond(first(p, "x"), lambda f, v: (f, v), lambda f, v: (f, -v), flag, x)
    talk = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, talk, lambda v: v, x)


def flag_sent_round(p: Any, x: Any) -> Any:
    flag = p.lax.ppermute(varying(p, p.np.float32(1), "x"), "x", [(0, 1), (1, 0)])
    talk = lambda v: v + varying(p, p.lax.psum(v, "x"), "x")  # noqa: E731
    return p.lax.cond(flag > 0, talk, lambda v: v, x)


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
    flag_that_sorts,
    flag_carried_on,
    flag_of_both_branches,
    flag_sent_round,
]


@pytest.mark.parametrize("body", AGREED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("check", [True, False])
def test_devices_that_agree_run_as_the_oracle_s(body: Any, check: bool) -> None:
    if body is agreed_cond or body is agreed_by_gathering:
        body_of = lambda p, x: varying(p, body(p, x), "x", "y")  # noqa: E731
    else:
        body_of = body
    mine, oracle = (p.m.jit(mapped(p, body_of, check_vma=check))(X) for p in (OURS, ORACLE))
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


@pytest.mark.parametrize("check", [True, False])
def test_a_predicate_for_each_row_of_a_batch_outside_is_no_choice(check: bool) -> None:
    mine, oracle = (
        p.m.jit(p.m.vmap(mapped(p, batched_from_outside, check_vma=check)))(np.stack([X, -X]))
        for p in (OURS, ORACLE)
    )
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


def test_a_branch_for_another_platform_is_not_looked_into() -> None:
    def body(x: Any) -> Any:
        return lax.platform_dependent(
            x, cpu=lambda v: v + 1, cuda=lambda v: PROGRAMS["psum"](OURS, v)
        )

    f = olympus.shard_map(
        body, mesh=OURS.mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")
    )
    np.testing.assert_array_equal(np.asarray(f(X)), X + 1)


def test_a_mesh_of_one_device_along_the_axis_has_nobody_to_wait_for() -> None:
    mesh = olympus.make_mesh((1, 8), ("x", "y"))
    out = mapped(OURS, PROGRAMS["psum"], mesh=mesh, check_vma=False)(X)
    np.testing.assert_array_equal(np.asarray(out), 2 * X)


def told_equal(value: Callable[[Any], Any]) -> Any:
    """A `shard_map` that says of a number that all devices have the same."""
    return olympus.shard_map(
        value, mesh=OURS.mesh, in_specs=SPEC, out_specs=PartitionSpec(), check_vma=False
    )


def choosing(flag: Any, x: Any) -> Any:
    """A collective in a `shard_map` that a flag which its spec says to be the same decides on."""

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
        return (told_equal(own_number)(v), choosing(flag, v)), None

    return lax.scan(step, (jnp.int32(1), x), None, length=2)[0][1]


def around_it(x: Any) -> Any:
    """The choice is outside of every shard_map, and the collective inside of one."""
    return lax.cond(
        told_equal(own_number)(x) > 0, lambda v: choosing(jnp.int32(1), v), lambda v: v, x
    )


SPEC = PartitionSpec(("x", "y"))
UNEQUAL = {
    "straight": lambda x: choosing(told_equal(own_number)(x), x),
    "in-jit": lambda x: choosing(olympus.jit(told_equal(own_number))(x) * 2, x),
    "in-a-scan": in_a_scan,
    "around": around_it,
    "batched": lambda x: olympus.vmap(choosing, (None, 0))(
        told_equal(own_number)(x), jnp.stack([x, x])
    ),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_what_a_shard_map_wrongly_calls_equal_decides_on_no_collective(name: str) -> None:
    with pytest.raises(ShardingError, match="wait for them for ever") as error:
        olympus.jit(UNEQUAL[name]).lower(X)
    since = "a result of shard_map differs along 'y', which its spec does not name"
    assert since in str(error.value)
    assert str(error.value).count("test_agreement.py") == 3
    assert "name 'y' in that spec" in (error.value.hint or "")


def test_it_may_decide_on_what_each_device_does_alone() -> None:
    def body(p: Any, v: Any) -> Any:
        return lax.cond(p > 0, lambda v: v + 1, lambda v: v, v)

    specs = PartitionSpec(), SPEC
    f = olympus.shard_map(body, mesh=OURS.mesh, in_specs=specs, out_specs=SPEC, check_vma=False)
    out = olympus.jit(lambda x: f(told_equal(own_number)(x), x))(X)
    np.testing.assert_array_equal(np.asarray(out), X + (np.arange(16) // 2 % 4 > 0))


def test_what_a_shard_map_rightly_calls_equal_decides() -> None:
    total = told_equal(lambda x: lax.psum(x.sum(), ("x", "y")))
    out = olympus.jit(lambda x: choosing(total(x), x))(X)
    np.testing.assert_array_equal(np.asarray(out), X + np.tile(X.reshape(2, 8).sum(0), 2))


def test_an_operand_that_is_not_the_cause_is_not_blamed() -> None:
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
        olympus.jit(lambda x: f(told_equal(own_number)(x), x)).lower(X)
    assert "spec" not in str(error.value)


def test_an_axis_that_is_a_number_is_told_as_one() -> None:
    mesh = olympus.make_mesh((8,), (1,))

    def body(x: Any) -> Any:
        return lax.cond(lax.axis_index(1) > 0, lambda v: lax.psum(v, 1), lambda v: v, x)

    f = olympus.shard_map(
        body, mesh=mesh, in_specs=PartitionSpec(1), out_specs=PartitionSpec(1), check_vma=False
    )
    with pytest.raises(ShardingError, match="along the axis 1, at"):
        olympus.jit(f).lower(X)


@pytest.mark.parametrize("check", [True, False])
def test_a_predicate_that_agrees_still_does_in_the_derivative(check: bool) -> None:
    def value(p: Any, x: Any) -> Any:
        body = lambda v: varying(p, agreed_cond(p, p.np.sin(v)), "x", "y")  # noqa: E731
        return mapped(p, lambda _, v: body(v), check_vma=check)(x).sum()

    def repeated(p: Any, x: Any) -> Any:
        step = lambda c, _: (p.m.grad(lambda v: value(p, v))(c), None)  # noqa: E731
        return p.lax.scan(step, x, None, length=2)[0]

    mine, oracle = (p.m.jit(lambda x, p=p: repeated(p, x))(X) for p in (OURS, ORACLE))
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5)


def test_parts_that_are_cut_otherwise_may_differ() -> None:
    """The number is the same on all devices, and the rows of what they make of it are not."""
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
