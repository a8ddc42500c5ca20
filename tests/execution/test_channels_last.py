"""The pass that stores arrays with their features last: values, copies, lines, and its rule."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.execution import compilation
from olympus_core.execution.channels_last import Reordering, channels_last
from olympus_core.ir.axis_orders import inverse
from olympus_core.ir.check import check
from olympus_core.ir.olympuspr import Eqn, Olympuspr, sub_programs
from olympus_core.ir.primitive import Primitive, op
from olympus_core.transforms.evaluate import evaluate
from tests.primitives.case import Case, as_plain
from tests.primitives.cases import CASES

jnp, lax = ox.numpy, ox.lax
Network = Callable[..., Any]


def weights(*shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype("float32")


def conv(x: Any, kernel: Any, stride: int = 1, groups: int = 1) -> Any:
    return lax.conv_general_dilated(x, kernel, (stride,) * 2, "SAME", feature_group_count=groups)


def normalized(x: Any) -> Any:
    mean = jnp.mean(x, (0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, axis=(0, 2, 3), keepdims=True) + 1e-5)


def pooled(x: Any, stride: int = 2) -> Any:
    window = (1, 1, 3, 3)
    return lax.reduce_window(x, -np.inf, lax.max, window, (1, 1, stride, stride), "SAME")


def residual(x: Any) -> Any:
    """Blocks with normalization, shortcuts, a pool, a concatenation, and a product at the end."""
    h = ox.nn.relu(conv(x, weights(16, 3, 3, 3)) + weights(16).reshape(1, -1, 1, 1))
    for _ in range(3):
        h = ox.nn.relu(normalized(conv(h, weights(16, 16, 3, 3))) + h)
    h = jnp.concatenate([pooled(h), conv(h, weights(8, 16, 1, 1), 2)], 1)
    h = jnp.pad(h, ((0, 0), (0, 0), (1, 0), (0, 1)))[:, 2:, 1:, ::-1]
    return h.mean((2, 3)) @ weights(22, 5)


def shuffled(x: Any) -> Any:
    """Convolutions of groups, and a shuffle of the features between them."""
    h = conv(x, weights(24, 3, 3, 3))
    for _ in range(3):
        h = ox.nn.relu(conv(h, weights(24, 6, 1, 1), groups=4))
        h = h.reshape(h.shape[0], 4, 6, *h.shape[2:]).transpose(0, 2, 1, 3, 4).reshape(h.shape)
        h = h + conv(h, weights(24, 24, 3, 3))
    return h.reshape(h.shape[0], -1) @ weights(24 * 32 * 32, 3)


def inverted(x: Any) -> Any:
    """Depthwise convolutions between pointwise ones."""
    h = conv(x, weights(24, 3, 1, 1))
    for _ in range(2):
        h = h + conv(ox.nn.relu(conv(h, weights(24, 1, 3, 3), groups=24)), weights(24, 24, 1, 1))
    return h


def nested(x: Any) -> Any:
    """Convolutions in a jitted function, in a loop and in a branch."""
    kernel = weights(8, 8, 3, 3)
    layer = ox.jit(lambda h: ox.nn.relu(conv(h, kernel)))
    h = layer(layer(conv(x, weights(8, 3, 3, 3))))
    h = lax.fori_loop(0, 3, lambda i, h: jnp.tanh(conv(conv(h, kernel), kernel)) + h, h)
    return lax.cond(h.sum() > 0, lambda h: conv(layer(h), kernel), lambda h: h, h)


def derivative(x: Any) -> Any:
    return ox.grad(lambda x: jnp.sum(residual(x) ** 2))(x)


#: networks, and the large transposes that remain: of the image and of the result, of each shuffle,
#: and around the scatter of a pool's derivative
NETWORKS: dict[str, tuple[Network, int]] = {
    "residual": (residual, 1),
    "shuffled": (shuffled, 1 + 3 + 1),
    "inverted": (inverted, 1 + 1),
    "nested": (nested, 1 + 1),
    "derivative": (derivative, 1 + 3 + 1),
}
X = np.random.default_rng(0).standard_normal((2, 3, 32, 32)).astype("float32")


def traced(fun: Network, *args: Any) -> Olympuspr:
    return ox.jit(fun).trace(*args).olympuspr


def forced(program: Olympuspr) -> Olympuspr:
    """Return the reordered program, whether it is a gain or not."""
    own = (None,) * len(program.invars), (None,) * len(program.outvars)
    return Reordering().program(program, *own)


def equations(program: Olympuspr) -> Iterator[Eqn]:
    for eqn in program.eqns:
        yield eqn
        for inner in sub_programs(eqn):
            yield from equations(inner)


def large_transposes(program: Olympuspr) -> int:
    """The number of transposes of arrays as large as images."""
    transposes = [e for e in program.eqns if e.primitive.is_transpose]
    return sum(e.inputs[0].aval.size >= X.size for e in transposes)


def layouts(program: Olympuspr) -> set[tuple[int, ...]]:
    """The layouts of the arrays of convolutions."""
    every = [e for e in equations(program) if e.primitive.is_convolution]
    return {e.params["dimension_numbers"].lhs_spec for e in every}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_reordered_network_has_the_same_values(name: str) -> None:
    program = traced(NETWORKS[name][0], X)
    reordered = forced(program)
    check(reordered)
    expected = ox.jit(lambda x: evaluate(program, [x]))(X)
    found = ox.jit(lambda x: evaluate(reordered, [x]))(X)
    for a, b in zip(found, expected, strict=True):
        scale = np.abs(np.asarray(b)).max()
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("name", NETWORKS)
def test_only_the_ends_of_a_network_are_transposed(name: str) -> None:
    fun, most = NETWORKS[name]
    reordered = forced(traced(fun, X))
    assert large_transposes(reordered) == most
    if name != "derivative":  # which has the convolutions of gradients of kernels too
        assert layouts(reordered) == {(0, 3, 1, 2)}


def test_constants_are_transposed_by_the_pass() -> None:
    program = channels_last(traced(residual, X))
    shapes = {np.shape(value) for value in program.consts}
    assert (3, 3, 16, 16) in shapes
    assert (16, 16, 3, 3) not in shapes


def test_sums_over_constant_kernels_have_features_last() -> None:
    image = X[:1]
    program = channels_last(traced(inverted, image))
    assert layouts(program) == {(0, 3, 1, 2)}
    assert (3, 3, 1, 24) in {np.shape(value) for value in program.consts}

    def with_arguments(x: Any, kernel: Any) -> Any:
        for _ in range(3):
            x = ox.nn.relu(conv(x, kernel, groups=3))
        return x

    program = traced(with_arguments, np.tile(image, (1, 1, 2, 2)), weights(3, 1, 3, 3))
    assert channels_last(program) is program


def test_transposes_of_the_program_are_copies() -> None:
    def network(x: Any) -> Any:
        h = conv(x, weights(24, 3, 1, 1))
        for _ in range(6):
            h = ox.nn.relu(conv(h, weights(24, 6, 1, 1), groups=4))
            h = h.reshape(1, 4, 6, 32, 32).transpose(0, 2, 1, 3, 4).reshape(h.shape)
            h = conv(h, weights(24, 1, 3, 3), groups=24)
        return h

    program = channels_last(traced(network, X[:1]))
    assert layouts(program) == {(0, 3, 1, 2)}


def test_grouped_products_read_kernels_with_outputs_first() -> None:
    def network(x: Any) -> Any:
        for _ in range(3):
            x = conv(x, weights(128, 32, 1, 1), groups=4)
            x = jnp.tanh(conv(x, weights(128, 1, 3, 3), groups=128))
        return x

    image = np.tile(X[:1, :1], (1, 128, 1, 1))
    program = channels_last(traced(network, image))
    assert layouts(program) == {(0, 3, 1, 2)}
    shapes = {np.shape(value) for value in program.consts}
    assert shapes == {(128, 32, 1, 1), (3, 3, 1, 128)}


def test_each_equation_keeps_its_line() -> None:
    program = traced(residual, X)
    reordered = channels_last(program)
    assert reordered is not program
    lines = {str(e.source.position()) for e in equations(program)}
    assert {str(e.source.position()) for e in equations(reordered)} <= lines
    convolutions = [
        [str(e.source.position()) for e in equations(p) if e.primitive.is_convolution]
        for p in (program, reordered)
    ]
    assert convolutions[0] == convolutions[1]


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: conv(x, weights(32, 3, 3, 3)),
        lambda x: conv(ox.nn.relu(conv(x, weights(6, 3, 3, 3))), weights(3, 6, 3, 3)),
        lambda x: residual(x[:, :, :8, :8]),
        lambda x: jnp.tanh(x) @ x,
    ],
    ids=["one", "two", "small", "none"],
)
def test_a_program_that_does_not_gain_is_unchanged(fun: Network) -> None:
    program = traced(fun, X)
    assert channels_last(program) is program


def test_features_that_are_last_stay() -> None:
    def network(x: Any) -> Any:
        for _ in range(4):
            x = jnp.tanh(
                lax.conv_general_dilated(
                    x,
                    weights(3, 3, 3, 3),
                    (1, 1),
                    "SAME",
                    dimension_numbers=("NHWC", "HWIO", "NHWC"),
                )
            )
        return x

    program = traced(network, np.moveaxis(np.tile(X, (8, 1, 1, 1)), 1, -1))
    assert channels_last(program) is program


def test_the_program_is_reordered_for_the_cpu_alone() -> None:
    traced_network = ox.jit(residual).trace(X)
    assert layouts(traced_network.lower().olympuspr) == {(0, 3, 1, 2)}
    assert layouts(traced_network.lower(ox.Target("gpu", "h200")).olympuspr) == {(0, 1, 2, 3)}


def test_the_cost_is_that_of_the_users_program(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = ox.jit(residual).lower(X).cost()
    monkeypatch.setattr(compilation, "channels_last", lambda program: program)
    unchanged = ox.jit(residual).lower(X).cost()
    assert (cost.flops, cost.bytes) == (unchanged.flops, unchanged.bytes)
    assert cost.by("line") == unchanged.by("line")


def _rules() -> list[Any]:
    """The rows of the primitives with a rule of their own, and of some elementwise ones."""
    rows = []
    for case in CASES:
        primitive = op.find(case.primitive.replace("-", "_"))
        assert primitive is not None, case.primitive
        has_own = type(primitive).reordered is not Primitive.reordered
        is_chosen = has_own or case.primitive in (
            "add",
            "select_n",
            "clamp",
            "convert_element_type",
        )
        if is_chosen and max([len(a.shape) for a in case.args], default=0) > 1:
            rows.append(pytest.param(case, id=case.id))
    return rows


@pytest.mark.parametrize("case", _rules())
def test_an_operation_on_reordered_operands_has_the_same_values(case: Case) -> None:
    """Operands are transposes, which the pass gives to the operation in their memory order."""
    xs = case.arrays(case.dtypes[0])
    rng = np.random.default_rng(zlib.crc32(case.id.encode()))
    orders = [tuple(int(i) for i in rng.permutation(x.ndim)) for x in xs]
    stored = [np.transpose(x, order) for x, order in zip(xs, orders, strict=True)]

    def logical(*arrays: Any) -> Any:
        pairs = zip(arrays, orders, strict=True)
        return case.call(lax, *(lax.transpose(x, inverse(o)) for x, o in pairs))

    program = traced(logical, *stored)
    reordered = forced(program)
    check(reordered)
    found = evaluate(reordered, stored)
    expected = evaluate(program, stored)
    exact = functools.partial(np.testing.assert_allclose, rtol=case.rtol, atol=case.atol)
    for a, b in zip(found, expected, strict=True):
        exact(as_plain(np.asarray(a)), as_plain(np.asarray(b)))
