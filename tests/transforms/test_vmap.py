"""vmap: axes in and out, trees, names, sizes; values as the oracle's."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus

A = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def both(build, *args, **kwargs):
    got, want = build(olympus)(*args, **kwargs), build(jax)(*args, **kwargs)
    for a, b in zip(olympus.tree.leaves(got), jax.tree.leaves(want), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("in_axes", [0, 1, 2, -1, (0,), [1]])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_axes(in_axes, out_axes):
    both(lambda ox: ox.vmap(lambda x: ox.numpy.sin(x).T, in_axes, out_axes), A)


def test_prefixes_of_trees():
    tree = {"a": A, "b": (A[0], np.float32(2.0))}
    axes = ({"a": 1, "b": (0, None)},)

    def build(ox):
        def f(t):
            return {"s": t["a"].sum(), "p": (t["b"][0] * t["b"][1], t["a"][0])}

        return ox.vmap(f, axes, {"s": 0, "p": (0, 1)})

    both(build, tree)


def test_keyword_arguments_are_mapped_over_the_first_axis():
    both(lambda ox: ox.vmap(lambda x, y: x * y, in_axes=(None,)), np.float32(2), y=A)


def test_results_that_are_not_mapped():
    both(lambda ox: ox.vmap(lambda x: (x, 3.0), out_axes=(0, None)), A)
    both(lambda ox: ox.vmap(lambda x: (x, 3.0)), A)
    both(lambda ox: ox.vmap(lambda x: x + 1, in_axes=None, axis_size=3), A)


@pytest.mark.parametrize("out_axes", [None, (None, 0)], ids=str)
def test_results_that_are_summed_over_the_mapped_axis(out_axes):
    def sums(package):
        def two(x):
            return x * 2, x[0] if out_axes is None else x

        return package.vmap(two, out_axes=out_axes, sum_match=True)(np.arange(6.0).reshape(3, 2))

    for got, want in zip(sums(olympus), sums(jax), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_nested():
    both(lambda ox: ox.vmap(ox.vmap(lambda x, y: x @ y, (0, None)), (1, 0)), A, A[0])


def test_control_flow_on_mapped_values():
    def build(ox):
        def f(n, x):
            def step(c):
                return c[0] - 1, ox.numpy.sin(c[1]) + c[0]

            y = ox.lax.while_loop(lambda c: c[0] > 0, step, (n, x))[1]
            z = ox.lax.cond(n > 2, lambda v: v * 2, lambda v: v - 1, y)
            return ox.lax.switch(n, [ox.numpy.cos, ox.numpy.sin, ox.numpy.exp], z)

        return ox.vmap(f)

    both(build, np.array([0, 3, 1, 5], np.int32), A[0, 0])


def test_random_keys_are_mapped():
    def build(ox):
        keys = ox.random.split(ox.random.PRNGKey(3), 4)
        return lambda: ox.vmap(lambda k: ox.random.normal(k, (2,)))(keys)

    both(build)


@pytest.mark.parametrize(("in_axis", "out_axis"), [(0, 0), (1, 0), (-1, 1), (-2, -1), (0, -2)])
def test_axes_of_keys_do_not_include_their_words(in_axis, out_axis):
    def words(package):
        keys = package.random.split(package.random.key(3), (2, 3))
        mapped = package.vmap(lambda k: (k, k.shape[0]), in_axes=in_axis, out_axes=(out_axis, None))
        result, length = mapped(keys)
        return length, package.random.key_data(result)

    (length, got), (other_length, want) = words(olympus), words(jax)
    assert length == other_length
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("package", [jax, olympus], ids=lambda p: p.__name__)
def test_axes_that_keys_do_not_have(package):
    key, keys = package.random.key(3), package.random.split(package.random.key(3), (2, 3))
    with pytest.raises(ValueError, match=r"map its argument along axis 0.* is only 0"):
        package.vmap(lambda k: k)(key)
    with pytest.raises(ValueError, match=r"map its argument along axis -3.* is only 2"):
        package.vmap(lambda k: k, in_axes=-3)(keys)
    with pytest.raises(ValueError, match="axis 2 is out of bounds for array of dimension 2"):
        package.vmap(lambda k: k, out_axes=2)(keys)
    with pytest.raises((ValueError, IndexError)):  # JAX's message names no axis
        package.lax.scan(lambda c, k: (c, k), 0, key)
    with pytest.raises(TypeError, match="equal"):
        _ = key == 1


class Scale:
    factor = 2.0


UNMAPPED = {
    "a function": (lambda x, g: g(x), (0, None), abs),
    "an object": (lambda x, o: x * o.factor, (0, None), Scale()),
    "text": (lambda x, mode: x if mode == "up" else -x, (0, None), "down"),
    "an array of objects": (lambda x, o: x * o[0], (0, None), np.array([3, None], object)),
    "a leaf": (lambda x, t: t[t["of"]] * x, (0, {"of": None, "w": 1}), {"of": "w", "w": A[0].T}),
}


@pytest.mark.parametrize(("fun", "in_axes", "other"), UNMAPPED.values(), ids=UNMAPPED)
def test_what_is_not_mapped_is_passed_as_it_is(fun, in_axes, other):
    x = A[0]
    both(lambda ox: ox.vmap(fun, in_axes), x, other)
    both(lambda ox: lambda: ox.jit(lambda x: ox.vmap(fun, in_axes)(x, other))(x))
    both(lambda ox: lambda: ox.grad(lambda x: ox.vmap(fun, in_axes)(x, other).sum())(x))
    nested = tuple(None if i else 0 for i, _ in enumerate(in_axes))
    both(lambda ox: ox.vmap(ox.vmap(fun, in_axes), nested), A, other)


@pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
def test_what_is_no_array_is_neither_mapped_nor_returned(ox):
    with pytest.raises(TypeError) as caught:
        ox.vmap(lambda x, g: g(x))(A, abs)
    assert ox is jax or caught.value.hint.startswith("pass None for it in in_axes")
    with pytest.raises(TypeError):
        ox.vmap(lambda x, g: g, in_axes=(0, None), out_axes=None)(A, abs)
