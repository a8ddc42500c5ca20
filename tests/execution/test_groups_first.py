"""The pass that stores arrays of grouped products with their groups first: values and copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.execution.channels_last import channels_last
from olympus_core.execution.groups_first import with_groups_first
from olympus_core.ir.check import check
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.transforms.evaluate import evaluate
from tests.execution.test_channels_last import traced, weights

jnp, lax = ox.numpy, ox.lax
Network = Callable[..., Any]
NHWC = ("NHWC", "HWIO", "NHWC")
GROUPS, FEATURES = 4, 32
X = np.random.default_rng(0).standard_normal((2, 12, 10, FEATURES)).astype("float32")
KERNEL = weights(1, 1, FEATURES // GROUPS, FEATURES)
SUMS = weights(3, 3, 1, FEATURES)
SCALE = weights(FEATURES)


def conv(x: Any, kernel: Any, groups: int = GROUPS, stride: int = 1) -> Any:
    return lax.conv_general_dilated(
        x, kernel, (stride,) * 2, "SAME", dimension_numbers=NHWC, feature_group_count=groups
    )


def shuffled(x: Any) -> Any:
    split = x.reshape(*x.shape[:-1], GROUPS, FEATURES // GROUPS)
    return split.swapaxes(-1, -2).reshape(x.shape)


def unit(x: Any) -> Any:
    h = ox.nn.relu(conv(x, KERNEL) * SCALE + 1.0)
    h = conv(shuffled(h), SUMS, FEATURES)
    return ox.nn.relu(x + conv(h, KERNEL) * SCALE)


def units(x: Any) -> Any:
    """Units of a ShuffleNet, a pool and a product."""
    for _ in range(3):
        x = unit(x)
    x = lax.reduce_window(x, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    return x.mean((1, 2)) @ weights(FEATURES, 5)


def mixed(x: Any) -> Any:
    """Readers that need the features in one axis, and other groups."""
    h = conv(x, KERNEL)
    mask = jnp.arange(10.0, dtype="float32")[:, None] > 3
    both = h * jnp.where(mask, h, 0) + x
    other = conv(h, weights(1, 1, 16, FEATURES), groups=2)
    return jnp.concatenate([both, jnp.sin(h), other * h], -1), h


def with_arguments(x: Any, kernel: Any) -> Any:
    return conv(ox.nn.relu(conv(x, kernel)), jnp.flip(kernel, 2)).sum((1, 2))


def along_features(x: Any) -> Any:
    """Windows, a reshape and a reduction that do not keep each feature apart."""
    h = conv(x, KERNEL)
    pooled = lax.reduce_window(h, 0.0, lax.add, (1, 1, 1, 4), (1, 1, 1, 2), "VALID")
    return pooled, h.reshape(*h.shape[:-1], 8, 4).sum(-1), h.max(-1), h.reshape(-1)


def of_positions(x: Any) -> Any:
    """Strides, and a sum over a kernel without padding."""
    h = conv(x, KERNEL, stride=2)
    sums = lax.conv_general_dilated(
        shuffled(conv(h, KERNEL)), SUMS, (1, 1), "VALID", None, (1, 1), NHWC, FEATURES
    )
    return conv(sums, KERNEL)


def derivative(x: Any) -> Any:
    return ox.grad(lambda x: jnp.sum(units(x) ** 2))(x)


#: networks, and their products of groups
NETWORKS: dict[str, tuple[Network, tuple[Any, ...], int]] = {
    "units": (units, (X,), 6),
    "mixed": (mixed, (X,), 2),
    "arguments": (with_arguments, (X, KERNEL), 2),
    "along features": (along_features, (X,), 1),
    "positions": (of_positions, (np.tile(X[:1], (1, 3, 3, 1)),), 2),
    "derivative": (derivative, (X,), 12),
}


def products(program: Olympuspr) -> int:
    """The number of products of several groups."""
    every = [e for e in program.eqns if e.primitive.name == "dot_general"]
    return sum(bool(e.params["dimension_numbers"][1][0]) for e in every)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_the_same_values(name: str) -> None:
    fun, args, count = NETWORKS[name]
    program = traced(fun, *args)
    changed = with_groups_first(program)
    check(changed)
    assert products(changed) == count
    expected = ox.jit(lambda *xs: evaluate(program, xs))(*args)
    found = ox.jit(lambda *xs: evaluate(changed, xs))(*args)
    for a, b in zip(found, expected, strict=True):
        scale = np.abs(np.asarray(b)).max()
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5 * scale)


def test_units_copy_arrays_only_for_the_sums_over_kernels() -> None:
    program = with_groups_first(traced(units, X))
    copies = [
        e for e in program.eqns if e.primitive.is_transpose and e.inputs[0].aval.size >= X.size
    ]
    # of the argument and the last result, and for each shuffle: late groups, the shuffle, and back
    assert len(copies) == 2 + 3 * 3
    pads = [e.outputs[0].aval.shape for e in program.eqns if e.primitive.name == "pad"]
    assert pads == [(2, 14, 12, FEATURES // GROUPS, GROUPS)] * 3
    (pool,) = (e for e in program.eqns if e.primitive.name == "reduce_window_max")
    assert pool.outputs[0].aval.shape == (2, 6, 5, GROUPS, FEATURES // GROUPS)


def test_a_constant_kernel_is_transposed_once() -> None:
    program = with_groups_first(traced(units, X))
    shapes = [np.shape(x) for x in program.consts]
    assert shapes.count((GROUPS, FEATURES // GROUPS, FEATURES // GROUPS)) == 1
    assert KERNEL.shape not in shapes


def test_features_first_follow_the_pass_for_layouts() -> None:
    def network(x: Any) -> Any:
        kernel = KERNEL.transpose(3, 2, 0, 1)
        for _ in range(3):
            x = ox.nn.relu(
                lax.conv_general_dilated(x, kernel, (1, 1), "SAME", feature_group_count=4)
            )
            x = lax.conv_general_dilated(
                x, SUMS.transpose(3, 2, 0, 1), (1, 1), "SAME", feature_group_count=FEATURES
            )
        return x.sum((2, 3))

    image = np.tile(X.transpose(0, 3, 1, 2), (1, 1, 3, 3))
    program = traced(network, image)
    assert with_groups_first(program) is program
    assert products(with_groups_first(channels_last(program))) == 3
    lowered = ox.jit(network).lower(image)
    with ox.disable_jit():
        expected = network(image)
    np.testing.assert_allclose(lowered.compile()(image), expected, rtol=1e-3, atol=1e-3)


def test_a_program_without_products_of_groups_is_unchanged() -> None:
    program = traced(lambda x: conv(x, SUMS, FEATURES), X)
    assert with_groups_first(program) is program
