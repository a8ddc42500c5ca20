"""Arguments that are refused, and the types of linear functions and derivatives."""

from __future__ import annotations

from importlib import import_module

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import TransformError, UsageError


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "vmap"])
def test_what_is_no_function_is_refused_at_once(name):
    with pytest.raises(TypeError):
        getattr(jax, name)(3)
    with pytest.raises(TransformError, match="Expected a callable value, got 3"):
        getattr(olympus, name)(3)


@pytest.mark.parametrize("package", [jax, olympus], ids=lambda p: p.__name__)
def test_options_that_jax_has_removed(package):
    for name in ("grad", "value_and_grad"):
        assert getattr(package, name)(abs, reduce_axes=())(2.0)
        with pytest.raises(NotImplementedError, match="reduce_axes argument to"):
            getattr(package, name)(abs, reduce_axes=("i",))
    with pytest.raises(NotImplementedError, match="reduce_axes argument to vjp is deprecated"):
        package.vjp(abs, 2.0, reduce_axes=("i",))
    with pytest.raises(NotImplementedError, match="reduce_axes argument to transpose"):
        package.linear_transpose(abs, 2.0, reduce_axes=("i",))
    for concrete in (True, False):
        with pytest.raises(NotImplementedError, match="concrete"):
            package.checkpoint(abs, concrete=concrete)


@pytest.mark.parametrize("donated", [{"donate_argnums": 0}, {"donate_argnames": "x"}])
def test_a_static_argument_is_not_donated(donated):
    with pytest.raises(ValueError, match="intersect"):
        jax.jit(lambda x, y: x, static_argnums=0, **donated)
    with pytest.raises(UsageError, match="cannot intersect"):
        olympus.jit(lambda x, y: x, static_argnums=0, **donated)


ROWS = np.arange(3, dtype=np.int32)


@pytest.mark.parametrize(
    ("x", "cotangent"), [(1, 3), (1.0, 3.0), (ROWS, ROWS), (np.float32(1), np.float32(3))], ids=str
)
def test_linear_transpose_keeps_types(x, cotangent):
    (got,) = olympus.linear_transpose(lambda v: 2 * v, x)(cotangent)
    (want,) = jax.linear_transpose(lambda v: 2 * v, x)(cotangent)
    assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_a_part_of_a_linear_function_may_be_of_what_it_closes_over():
    def program(ox):
        np_, c = ox.numpy, ox.numpy.arange(3.0)

        def double(x, c):
            return x * np_.exp(c), c

        return lambda x: (
            x * np_.sin(c) + np_.zeros(3),
            np_.where(np_.arange(3) > 1, x, 0.0),
            np_.concatenate([x, np_.zeros(2)]),
            ox.jit(double)(x, c)[0],
            ox.lax.scan(lambda h, r: (h * np_.cos(r), None), x, c)[0],
        )

    ones = [np.ones(n, np.float32) for n in (3, 3, 5, 3, 3)]
    x = np.ones(3, np.float32)
    (got,), (want,) = (ox.linear_transpose(program(ox), x)(tuple(ones)) for ox in (olympus, jax))
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-6)


@pytest.mark.parametrize("cotangent", [np.arange(3.0, dtype=np.float32), 3], ids=str)
def test_linear_transpose_refuses_cotangents_of_other_types(cotangent):
    for ox in (jax, olympus):
        with pytest.raises(TypeError):
            ox.linear_transpose(lambda v: 2 * v, 1.0)(cotangent)


@pytest.mark.parametrize("x", [2.0, np.float32(2)], ids=["weak", "strong"])
def test_linearized_functions_keep_weakness(x):
    got, want = (ox.linearize(lambda v: v**3, x)[1](x) for ox in (olympus, jax))
    assert (got.dtype, got.weak_type, float(got)) == (want.dtype, want.weak_type, float(want))


def test_tangents_in_another_container_are_refused():
    for module in (jax, olympus):
        with pytest.raises(TypeError, match="same tree structure"):
            module.jvp(lambda x: 2 * x, [1.0], (1.0,))
    assert olympus.jvp(lambda x: 2 * x, [1.0], [1.0]) == (2, 2)


@pytest.mark.parametrize("name", ["mul", "apply"])
def test_scatters_without_derivatives_are_refused_as_in_jax(name):
    def derivative(module):
        numbers = module.lax.ScatterDimensionNumbers((), (0,), (0,))
        rows = module.numpy.asarray([[1], [1]])

        def product(x):
            return module.lax.scatter_mul(module.numpy.ones(4), rows, x, numbers)

        def applied(x):
            return module.lax.scatter_apply(x, rows, module.lax.sin, numbers, update_shape=(2,))

        function = product if name == "mul" else applied
        x = module.numpy.ones(2 if name == "mul" else 4)
        module.jvp(function, (x,), (x,))

    for module in (jax, olympus):
        with pytest.raises(NotImplementedError, match="implemented"):
            derivative(module)


def test_the_policy_of_two_lists_of_names():
    def derivative(module, **lists):
        policy = module.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            offload_src="device",
            offload_dst="pinned_host",
            **lists,
        )
        name = import_module(f"{module.__name__}.ad_checkpoint").checkpoint_name
        f = module.checkpoint(
            lambda x: module.numpy.sin(name(module.numpy.sin(x), "a")), policy=policy
        )
        return module.grad(f)(1.0)

    got, want = (derivative(m, names_which_can_be_offloaded=["b"]) for m in (olympus, jax))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    for module in (jax, olympus):
        with pytest.raises(ValueError, match="should be exclusive"):
            derivative(module, names_which_can_be_offloaded=["a"])
