"""Blocks are used only where XLA's fusions would grow from layer to layer without them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.blocks.repeats import Thresholds
from tests.blocks.networks import WIDTH, X, found, norm

jnp = ox.numpy
Layer = Callable[[Any, Any], Any]
SMALL = Thresholds(equations=12)  # the layers of these tests are
EVERY = SMALL._replace(again=0)


def rms(x: Any) -> Any:
    """Its gradient ends with a sum of two arrays, which XLA makes once."""
    return x * ox.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def perceptron(normed: Callable[[Any], Any]) -> Layer:
    """A layer of two products."""

    def layer(p: Any, x: Any) -> Any:
        return x + ox.nn.gelu(normed(x) @ p["in"]) @ p["out"]

    return layer


def rectified(p: Any, x: Any) -> Any:
    """Each fusion that reads what a maximum with 0 gives makes it, and the sum in it."""
    h = (x @ p["in"] - p["mean"]) * ox.lax.rsqrt(p["var"] + 1e-5) * p["scale"]
    h = ox.nn.relu(h + p["shift"]) @ p["out"]
    h = (h - p["mean"]) * ox.lax.rsqrt(p["var"] + 1e-5) * p["scale"]
    return ox.nn.relu(x + h + p["shift"])


def params(layers: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    square, row = ("in", "out"), ("mean", "var", "scale", "shift")
    shapes = dict.fromkeys(square, (WIDTH, WIDTH)) | dict.fromkeys(row, (WIDTH,))
    return [
        {name: rng.uniform(0.1, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
        for _ in range(layers)
    ]


def network(layer: Layer) -> Layer:
    def forward(ps: Any, x: Any) -> Any:
        for p in ps:
            x = layer(p, x)
        return x

    return forward


def gradient(layer: Layer) -> Layer:
    forward = network(layer)
    return lambda ps, x: ox.grad(lambda ps: jnp.mean(forward(ps, x) ** 2))(ps)


@pytest.mark.parametrize(
    ("layer", "layers", "has_block"),
    [
        (perceptron(norm), 12, True),
        (perceptron(norm), 6, False),  # fusions have grown little
        (perceptron(rms), 12, False),
        (rectified, 12, True),
    ],
)
def test_a_training_step_has_blocks_where_fusions_would_grow(
    layer: Layer, layers: int, has_block: bool
) -> None:
    assert found(gradient(layer), params(layers), X, thresholds=EVERY)
    assert bool(found(gradient(layer), params(layers), X, thresholds=SMALL)) is has_block


@pytest.mark.parametrize("normed", [norm, rms])
def test_layers_without_derivatives_have_a_block(normed: Callable[[Any], Any]) -> None:
    (block,) = found(network(perceptron(normed)), params(6), X, thresholds=SMALL)
    assert block.occurrences == 6


def test_layers_that_call_functions_have_blocks() -> None:
    called = perceptron(ox.jit(rms))
    assert found(gradient(called), params(6), X, thresholds=SMALL)
    whole = ox.checkpoint(perceptron(rms))
    assert found(gradient(whole), params(6), X, thresholds=SMALL)


def test_networks_that_are_added_have_none() -> None:
    def ensemble(ps: Any, x: Any) -> Any:
        total = jnp.zeros_like(x)
        for p in ps:
            total = total + perceptron(norm)(p, x * p["scale"])
        return total

    assert found(ensemble, params(8), X, thresholds=EVERY)
    assert not found(ensemble, params(8), X, thresholds=SMALL)


@pytest.mark.parametrize(("normed", "grows"), [(norm, True), (rms, False)])
def test_xla_fuses_as_the_rule_assumes(normed: Callable[[Any], Any], grows: bool) -> None:
    """If a version of XLA fuses otherwise, the rule needs a review."""

    def largest(layers: int) -> int:
        step = ox.jit(gradient(perceptron(normed))).trace(params(layers), X)
        text = step.lower(repeats="off").compile().as_text()
        fusions = re.findall(r"\n%fused_computation.*?\n}", text, re.DOTALL)
        return max(fusion.count(" = ") for fusion in fusions)

    few, many = largest(3), largest(7)
    assert (many > 1.5 * few) is grows


def test_operations_between_layers_do_not_hide_the_layers() -> None:
    layer = perceptron(norm)

    def scaled(ps: Any, x: Any) -> Any:
        for i, p in enumerate(ps):
            x = layer(p, x) * (1 + 0.01 * i)
        return x

    (block,) = found(scaled, params(6), X, thresholds=SMALL)
    assert block.occurrences == 6
