"""Collectives in programs: several axes, other transformations around and inside, and errors."""

from __future__ import annotations

import types

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import (
    ArgumentError,
    LoweringError,
    ShapeError,
    TransformError,
    UnboundAxisError,
)

OURS = types.SimpleNamespace(
    lax=lax, np=jnp, vmap=olympus.vmap, grad=olympus.grad, jit=olympus.jit, jvp=olympus.jvp
)
ORACLE = types.SimpleNamespace(
    lax=jax.lax, np=jax.numpy, vmap=jax.vmap, grad=jax.grad, jit=jax.jit, jvp=jax.jvp
)
XS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def close(got, want):
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def distant(m, x):
    """A value for each pair of indices, over two axes together."""
    row = m.lax.all_gather(x, "j")
    return m.lax.psum(x * row, ("i", "j")) + m.lax.axis_index("i") - m.lax.axis_size("j")


TWO_AXES = {
    "inner": lambda m, x: m.lax.psum(x, "j"),
    "outer": lambda m, x: m.lax.psum(x, "i"),
    "both": lambda m, x: m.lax.psum(x, ("i", "j")),
    "both-turned": lambda m, x: m.lax.psum(x, ("j", "i")),
    "one-after-the-other": lambda m, x: m.lax.pmean(m.lax.pmax(x, "j"), "i"),
    "index": lambda m, x: x * m.lax.axis_index("i") + m.lax.axis_index("j"),
    "index-of-both": lambda m, x: x * m.lax.axis_index(("i", "j")),
    "gather": lambda m, x: m.lax.all_gather(x, "i") @ m.lax.all_gather(x, "i"),
    "permute": lambda m, x: m.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]) - x,
    "constant": lambda m, x: x * m.lax.psum(2, ("i", "j")),
    "of-the-outer": lambda m, x: m.lax.psum(m.lax.psum(x, "i"), "j"),
    "distant": distant,
}


@pytest.mark.parametrize("fun", TWO_AXES.values(), ids=TWO_AXES)
@pytest.mark.parametrize("inside", [lambda m, f: f, lambda m, f: m.jit(f)], ids=["plain", "jit"])
def test_two_named_axes_agree_with_the_oracle(fun, inside):
    def run(m):
        inner = m.vmap(inside(m, lambda x: fun(m, x)), axis_name="j")
        return m.vmap(inner, axis_name="i")

    close(run(OURS)(XS), run(ORACLE)(XS))
    close(olympus.jit(run(OURS))(XS), run(ORACLE)(XS))


@pytest.mark.parametrize("fun", [TWO_AXES[k] for k in ("both", "permute", "distant", "index")])
def test_derivatives_inside_and_outside_of_two_axes_agree_with_the_oracle(fun):
    def square(m):
        return lambda x: (fun(m, x) ** 2).sum()

    def inside(m):
        return m.vmap(m.vmap(m.grad(square(m)), axis_name="j"), axis_name="i")

    def outside(m):
        mapped = m.vmap(m.vmap(square(m), axis_name="j"), axis_name="i")
        return m.grad(lambda x: mapped(x).sum())

    for way in (inside, outside):
        close(way(OURS)(XS), way(ORACLE)(XS))
        close(olympus.jit(way(OURS))(XS), way(ORACLE)(XS))


def test_only_a_part_of_the_operands_may_be_mapped():
    def run(m):
        def f(x, y):
            return m.lax.psum({"x": x, "y": y}, "i"), m.lax.pmean((x, y), "i"), m.lax.pmax(y, "i")

        return m.vmap(f, in_axes=(0, None), axis_name="i")

    close(run(OURS)(XS, XS[0]), run(ORACLE)(XS, XS[0]))


def test_constants_are_multiplied_by_the_size_in_python():
    sizes = []

    def f(x):
        sizes.extend([lax.psum(1, "i"), lax.psum(2.5, "i"), lax.axis_size("i")])
        assert lax.psum(True, "i") == 3
        return x + lax.psum(np.float32(2), "i") + lax.psum(jnp.ones(4), "i")

    np.testing.assert_allclose(olympus.vmap(f, axis_name="i")(XS), XS + 9, rtol=1e-6)
    assert sizes == [3, 7.5, 3]
    assert [type(v) for v in sizes] == [int, float, int]


@pytest.mark.parametrize("perm", [[(0, 2)], [(2, 0), (0, 1)], []])
def test_where_nothing_comes_by_a_permutation_there_are_zeros(perm):
    want = np.zeros_like(XS)
    for source, destination in perm:
        want[destination] = XS[source]
    f = olympus.vmap(lambda x: lax.ppermute(x, "i", perm), axis_name="i")
    np.testing.assert_array_equal(f(XS), want)
    same = olympus.vmap(
        lambda x: lax.ppermute(x, "i", perm), in_axes=None, axis_size=3, axis_name="i"
    )
    gets = {d for _, d in perm}
    want = np.stack([XS[0] if i in gets else 0 * XS[0] for i in range(3)])
    np.testing.assert_array_equal(same(XS[0]), want)


def test_gather_and_scatter_over_several_axes_count_in_row_major_order():
    def at(f):
        return olympus.vmap(olympus.vmap(f, axis_name="j"), axis_name="i")

    gathered = at(lambda x: lax.all_gather(x, ("i", "j")))(XS)
    np.testing.assert_array_equal(gathered, np.broadcast_to(XS.reshape(-1), (3, 4, 12)))
    joined = at(lambda x: lax.all_gather(x[None], ("i", "j"), tiled=True))(XS)
    np.testing.assert_array_equal(joined, gathered)
    for tiled in (False, True):
        parts = at(lambda x, t=tiled: lax.psum_scatter(x, ("i", "j"), tiled=t))(
            np.broadcast_to(np.arange(12, dtype=np.float32), (3, 4, 12))
        )
        want = 12 * np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(np.squeeze(parts), want)


def loops(m, x):
    """Collectives in the bodies of control flow, of a value that no operand makes mapped."""
    i = m.lax.axis_index("i")
    counted = m.lax.fori_loop(0, 3, lambda k, v: v + m.lax.axis_index("i"), 0)
    scanned = m.lax.scan(lambda c, v: (c + m.lax.psum(v, "i"), c), 0.0, x)
    waited = m.lax.while_loop(lambda v: v < 4, lambda v: v + m.lax.axis_index("i") + 1, 0)
    chosen = m.lax.cond(
        m.lax.psum(i, "i") > 2, lambda: m.lax.axis_index("i"), lambda: -m.lax.axis_index("i")
    )
    return counted, scanned, waited, chosen


@pytest.mark.parametrize("way", [lambda m, f: f, lambda m, f: m.jit(f)], ids=["plain", "jit"])
def test_collectives_in_control_flow_agree_with_the_oracle(way):
    def run(m):
        return m.vmap(way(m, lambda x: loops(m, x)), axis_name="i")(XS)

    close(run(OURS), run(ORACLE))


def test_collectives_in_functions_with_rules_and_checkpoints():
    @olympus.custom_jvp
    def f(x):
        return lax.psum(x, "i")

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), 10 * lax.psum(tangents[0], "i")

    @olympus.custom_vjp
    def g(x):
        return lax.psum(x, "i")

    g.defvjp(lambda x: (g(x), None), lambda _, ct: (100 * lax.pmean(ct, "i"),))
    grads = olympus.vmap(olympus.grad(lambda x: f(x).sum()), axis_name="i")(XS)
    np.testing.assert_array_equal(grads, np.full_like(XS, 30))
    grads = olympus.vmap(olympus.grad(lambda x: g(x).sum()), axis_name="i")(XS)
    np.testing.assert_array_equal(grads, np.full_like(XS, 100))
    mapped = olympus.vmap(g, axis_name="i")
    grads = olympus.grad(lambda x: mapped(x).sum())(XS)
    np.testing.assert_array_equal(grads, np.full_like(XS, 100))
    checkpointed = olympus.checkpoint(lambda x: jnp.sin(lax.psum(x, "i")).sum())
    plain = olympus.vmap(olympus.grad(lambda x: jnp.sin(lax.psum(x, "i")).sum()), axis_name="i")
    close(olympus.vmap(olympus.grad(checkpointed), axis_name="i")(XS), plain(XS))


def test_a_staged_function_is_traced_anew_for_other_axes():
    traced = []

    @olympus.jit
    def f(x):
        traced.append(lax.axis_size("i"))
        return lax.psum(x, "i")

    for rows in (XS, XS[:2], XS):
        got = olympus.vmap(f, in_axes=None, axis_size=len(rows), axis_name="i")(XS[0])
        np.testing.assert_allclose(got, [XS[0] * len(rows)] * len(rows), rtol=1e-6)
    assert traced == [3, 2]
    with pytest.raises(UnboundAxisError):
        f(XS[0])


def test_an_inner_axis_hides_an_outer_one_of_its_name():
    def f(x):
        return olympus.vmap(lambda v: lax.psum(v, "i"), axis_name="i")(x)

    close(olympus.vmap(f, axis_name="i")(XS), np.broadcast_to(XS.sum(1)[:, None], XS.shape))


def test_axes_end_with_their_vmap_also_after_an_error():
    def fails(x):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        olympus.vmap(fails, axis_name="i")(XS)
    with pytest.raises(UnboundAxisError, match="the axes bound here: none"):
        lax.axis_index("i")


# errors


def test_an_unbound_axis_is_named_with_the_bound_ones_and_the_line():
    def f(x):
        return lax.pmean(x, "k")  # the line

    with pytest.raises(UnboundAxisError) as caught:
        olympus.vmap(olympus.vmap(f, axis_name="j"), axis_name="i")(XS)
    message = str(caught.value)
    assert message.startswith(
        "Found an unbound axis name: k. To fix this, please call psum under `jax.shard_map`: psum "
        "needs the axis 'k', which is not bound here"
    )
    assert f"{__file__}:" in message and 'return lax.pmean(x, "k")  # the line' in message
    assert message.endswith("the axes bound here: 'i' (of size 3), 'j' (of size 4)")
    assert caught.value.location.startswith(__file__)
    assert isinstance(caught.value, (TransformError, NameError))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: lax.psum(x, "k"),
        lambda x: lax.pmax(x, ("i", "k")),
        lambda x: lax.all_gather(x, "k"),
        lambda x: lax.ppermute(x, "k", []),
        lambda x: lax.all_to_all(x, "k", 0, 0),
        lambda x: lax.psum_scatter(x, "k"),
        lambda x: lax.axis_index("k"),
        lambda x: lax.axis_size("k"),
        lambda x: lax.psum(1, "k"),
    ],
)
def test_each_collective_refuses_an_unbound_axis(call):
    for way in (call, olympus.jit(call), olympus.grad(lambda x: call(x).sum())):
        with pytest.raises(UnboundAxisError, match="axis 'k', which is not bound"):
            olympus.vmap(way, axis_name="i")(XS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: lax.ppermute(x, "i", [(0, 3)]),
            ArgumentError,
            "to 2, and got the destination 3",
        ),
        (lambda x: lax.ppermute(x, "i", [(-1, 0)]), ArgumentError, "and got the source -1 in"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ArgumentError, "is a source at most"),
        (lambda x: lax.ppermute(x, ("i", "i"), []), ArgumentError, "needs different axes"),
        (
            lambda x: lax.pshuffle(x, "i", [0, 0, 1]),
            ArgumentError,
            "does not represent a permutation",
        ),
        (lambda x: lax.psum_scatter(x, "i"), ShapeError, "which is 3, and it is 4"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), ShapeError, "a multiple"),
        (lambda x: lax.all_to_all(x, "i", 0, 0), ShapeError, "as long as the mapped axis"),
        (lambda x: lax.all_gather(x, "i", axis=3), ShapeError, "out of bounds"),
        (
            lambda x: lax.all_gather(x, "i", axis_index_groups=[[0], [1, 2]]),
            ArgumentError,
            "lists of one length",
        ),
        (
            lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1], [2]]),
            TransformError,
            "along an axis of devices or replicas",
        ),
        (lambda x: lax.psum(["x"], "i"), TypeError, "psum requires ndarray or scalar"),
    ],
)
def test_arguments_that_do_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        olympus.vmap(call, axis_name="i")(XS)


def test_a_program_without_replicas_cannot_be_lowered():
    def f(x):
        return olympus.jit(lambda v: lax.psum(v, "i")).lower(x[0])

    with pytest.raises(LoweringError, match="has no replicas along it"):
        olympus.vmap(lambda x: (f(XS), x)[1], axis_name="i")(XS)


def test_an_axis_name_is_hashable():
    with pytest.raises(TransformError, match="axis_name must be hashable"):
        olympus.vmap(lambda x: x, axis_name=["i"])(XS)


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("concat", [0, 1, 2])
def test_all_to_all_along_several_axes(split, concat, tiled):
    shape = [2, 3, 4]
    shape[split] = 12 if tiled else 6
    x = np.arange(6 * np.prod(shape), dtype=np.float32).reshape(2, 3, *shape)
    weights = np.sin(np.arange(6 * np.prod(shape), dtype=np.float32))

    def both(ox):
        def exchange(v):
            return ox.lax.all_to_all(v, ("i", "j"), split, concat, tiled=tiled)

        inner = ox.vmap(exchange, axis_name="j")
        mapped = ox.vmap(inner, axis_name="i")
        loss = lambda y: (mapped(y).reshape(-1) * weights).sum()  # noqa: E731
        return ox.jit(lambda x: (mapped(x), ox.grad(loss)(x)))(x)

    for ours, theirs in zip(both(olympus), both(jax), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_all_to_all_in_groups_takes_one_axis():
    with pytest.raises(ArgumentError, match="groups along one axis"):
        olympus.make_olympuspr(
            lambda x: lax.all_to_all(x, ("i", "j"), 0, 0, axis_index_groups=[[0], [1]]),
            axis_env=[("i", 2), ("j", 1)],
        )(np.ones(2, np.float32))
