"""olympus.example_libraries against JAX: layers and optimizers, with the same keys."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import check, row

PACKAGE = {ox.numpy: ox, jax.numpy: jax}
X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
IMAGE = np.linspace(-1, 1, 2 * 6 * 5 * 3, dtype=np.float32).reshape(2, 6, 5, 3)


def library(n: Any, name: str) -> Any:
    return importlib.import_module(f"{PACKAGE[n].__name__}.example_libraries.{name}")


LAYERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "dense": (lambda s: s.serial(s.Dense(5), s.Relu, s.Dense(2), s.LogSoftmax), X),
    "conv": (lambda s: s.serial(s.Conv(4, (3, 3), (2, 1), "SAME"), s.Tanh, s.Flatten), IMAGE),
    "transposed": (lambda s: s.ConvTranspose(4, (3, 3), (2, 2)), IMAGE),
    "line": (lambda s: s.Conv1DTranspose(4, (3,)), IMAGE[0]),
    "batch": (lambda s: s.serial(s.BatchNorm(), s.BatchNorm(axis=(0,), center=False)), IMAGE),
    "max": (lambda s: s.MaxPool((2, 3), (2, 1), "SAME"), IMAGE),
    "sum": (lambda s: s.SumPool((2, 2)), IMAGE),
    "mean": (lambda s: s.AvgPool((2, 2), padding="SAME"), IMAGE),
    "spec": (lambda s: s.MaxPool((2, 2), spec="NCHW"), IMAGE),
    "fans": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(4), s.Identity), s.FanInSum), X),
    "join": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Exp, s.Gelu), s.FanInConcat(0)), X),
    "dropout": (lambda s: s.serial(s.Dropout(0.7), s.Elu, s.Selu, s.Sigmoid), X),
    "test": (lambda s: s.serial(s.Dropout(0.7, mode="test"), s.Softplus, s.LeakyRelu), X),
    "shape": (lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1] + 1)), X),
    "softmax": (lambda s: s.Softmax, X),
}


def test_layers() -> None:
    def of(name: str) -> Any:
        def call(n: Any, x: Any) -> Any:
            key = PACKAGE[n].random.PRNGKey(3)
            init, apply = LAYERS[name][0](library(n, "stax"))
            shape, params = init(key, x.shape)
            return [tuple(shape), *PACKAGE[n].tree.leaves(params), apply(params, x, rng=key)]

        return row(name, call, LAYERS[name][1], rtol=1e-4, atol=1e-5)

    check([of(name) for name in LAYERS], weak=False)
    with pytest.raises(ValueError, match="Dropout layer requires"):
        ox.example_libraries.stax.Dropout(0.5)[1]((), X)


METHODS = ("sgd", "momentum", "nesterov", "adagrad", "rmsprop", "rmsprop_momentum", "adam",
           "adamax", "sm3")  # fmt: skip


def test_optimizers() -> None:
    def of(name: str) -> Any:
        def call(n: Any, x: Any) -> Any:
            o = library(n, "optimizers")
            extra = (0.9,) if name in ("momentum", "nesterov") else ()
            init, update, params = getattr(o, name)(o.exponential_decay(0.1, 2, 0.5), *extra)
            state = init({"a": x, "b": (x[0], 2 * x[1])})
            for i in range(3):
                state = update(i, PACKAGE[n].tree.map(lambda v: v - 1, params(state)), state)
            packed = o.pack_optimizer_state(o.unpack_optimizer_state(state))
            return [*PACKAGE[n].tree.leaves(params(packed)), *PACKAGE[n].tree.leaves(packed)]

        return row(name, call, X, rtol=1e-5, atol=1e-6)

    check([of(name) for name in METHODS], weak=False)


def test_schedules_and_norms() -> None:
    def call(n: Any, x: Any) -> Any:
        o = library(n, "optimizers")
        schedules = [
            o.constant(0.5), o.exponential_decay(1.0, 3, 0.5), o.inverse_time_decay(1.0, 3, 0.5),
            o.inverse_time_decay(1.0, 3, 0.5, staircase=True), o.polynomial_decay(1.0, 4, 0.1, 2.0),
            o.piecewise_constant([2, 5], [1.0, 0.5, 0.25]), o.make_schedule(0.3),
        ]  # fmt: skip
        steps = [n.asarray(s(n.asarray(i))) for s in schedules for i in (0, 2, 3, 9)]
        return [*steps, o.l2_norm([x, x[0]]), *o.clip_grads([x, x[0]], 1.0)]

    check([row("schedules", call, X)], weak=False)


def test_errors() -> None:
    o = ox.example_libraries.optimizers
    init, update, _ = o.sgd(0.1)
    with pytest.raises(TypeError, match="did not match the parameter tree"):
        update(0, [X], init(X))
    with pytest.raises(ValueError, match="one shorter"):
        o.piecewise_constant([1], [1.0])
    with pytest.raises(TypeError, match="a step size"):
        o.make_schedule(X)
    changing = o.optimizer(lambda: ((lambda x: x), (lambda i, g, x: (x, x)), (lambda x: x)))()
    with pytest.raises(TypeError, match="output structure"):
        changing.update_fn(0, X, changing.init_fn(X))


def test_stax_has_the_functions_that_its_layers_use() -> None:
    stax = ox.example_libraries.stax
    for name in ("elu", "gelu", "leaky_relu", "log_softmax", "relu", "selu", "sigmoid", "softmax"):
        assert getattr(stax, name) is getattr(ox.nn, name)
    assert (stax.softplus, stax.standardize) == (ox.nn.softplus, ox.nn.standardize)
    assert stax.logsoftmax is ox.nn.log_softmax
    for name in ("glorot_normal", "normal", "ones", "zeros"):
        assert getattr(stax, name) is getattr(ox.nn.initializers, name)
    assert (stax.glorot, stax.randn) == (stax.glorot_normal, stax.normal)
