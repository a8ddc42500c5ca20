"""Networks of many kinds with layers in a loop, which test the rule for repeated blocks.

`python -m benchmarks.variety` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import olympus as ox
from olympus_core.ir.olympuspr import Olympuspr

jnp, nn, lax = ox.numpy, ox.nn, ox.lax
Layer = Callable[[Any, Any], Any]
Shape = tuple[int, ...]


def layer_norm(x: Any) -> Any:
    """Normalize to mean 0 and variance 1."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def scaled_norm(p: Any, x: Any) -> Any:
    """A layer norm with parameters."""
    return layer_norm(x) * p["scale"] + p["shift"]


def rms_norm(x: Any) -> Any:
    """Normalize to mean square 1."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def attention(norm: Callable[[Any], Any], p: Any, x: Any) -> Any:
    """A layer of a transformer."""
    h = norm(x)
    q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
    x = x + nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 8, axis=-1) @ v
    return x + nn.gelu(norm(x) @ p["in"]) @ p["out"]


def four_heads(x: Any) -> Any:
    """Split (batch, tokens, features) into four heads: (batch, 4, tokens, features / 4)."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, 4, width // 4).transpose(0, 2, 1, 3)


def mixed_heads(p: Any, h: Any, bias: Any = 0.0) -> Any:
    """Causal attention of four heads."""
    q, k, v = (four_heads(h @ p[name]) for name in ("q", "k", "v"))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1]) + bias
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    out = nn.softmax(scores, axis=-1) @ v
    return out.transpose(0, 2, 1, 3).reshape(h.shape) @ p["o"]


def parallel(p: Any, x: Any) -> Any:
    """A layer with attention and a perceptron of the same input."""
    h = scaled_norm(p, x)
    return x + mixed_heads(p, h) + nn.gelu(h @ p["up"]) @ p["down"]


def with_distances(p: Any, x: Any) -> Any:
    """A layer of a transformer with RMS norms and a bias for each distance."""
    at = jnp.arange(x.shape[1])
    bias = p["bias"][:, jnp.clip(at[:, None] - at[None, :] + 8, 0, 15)]
    x = x + mixed_heads(p, rms_norm(x), bias)
    return x + nn.relu(rms_norm(x) @ p["up"]) @ p["down"]


def norm_last(p: Any, x: Any) -> Any:
    """A layer of a transformer with a norm after each sum."""
    x = scaled_norm(p, x + mixed_heads(p, x))
    return scaled_norm(p, x + nn.gelu(x @ p["up"]) @ p["down"])


def perceptron(norm: Callable[[Any], Any], p: Any, x: Any) -> Any:
    """A residual perceptron."""
    return x + nn.gelu(nn.gelu(norm(x) @ p["in"]) @ p["q"]) @ p["out"]


def gated(p: Any, x: Any) -> Any:
    """A unit with two gates."""
    h = layer_norm(x)
    return x + nn.silu(h @ p["in"]) * nn.sigmoid(h @ p["q"]) + jnp.tanh(h @ p["k"]) @ p["out"]


def post_norm(p: Any, x: Any) -> Any:
    """A perceptron with a norm after the sum."""
    return layer_norm(x + nn.gelu(nn.gelu(x @ p["in"]) @ p["q"]) @ p["out"])


def elementwise(p: Any, x: Any) -> Any:
    """A product, and many elementwise operations."""
    y = x @ p["in"]
    for i in range(5):
        y = y + jnp.sin(y) * jnp.exp(-y * y) * (0.1 * i)
        y = y / jnp.sqrt(1 + y * y)
    return x + jnp.log1p(jnp.abs(y))


def leapfrog(p: Any, x: Any) -> Any:
    """A step of an integrator."""
    for _ in range(2):
        force = jnp.tanh((x - jnp.mean(x, axis=-1, keepdims=True)) @ p["in"]) @ p["out"]
        x = jnp.clip(x - 0.1 * force, -3, 3)
        x = x - jnp.mean(x, axis=0)
    return x


def spatial_gate(p: Any, x: Any) -> Any:
    """A perceptron whose gates depend on other tokens."""
    a, b = jnp.split(nn.gelu(scaled_norm(p, x) @ p["up"]), 2, axis=-1)
    return x + (a * (jnp.einsum("st,btd->bsd", p["tokens"], layer_norm(b)) + 1)) @ p["down"]


def affine(p: Any, x: Any) -> Any:
    """A mixer with scales and shifts instead of norms."""
    x = x + p["scale"] * jnp.einsum("st,btd->bsd", p["tokens"], x * p["q"] + p["k"])
    return x + p["shift"] * (nn.gelu((x * p["v"]) @ p["up"]) @ p["down"])


def dilated(p: Any, x: Any) -> Any:
    """A gated convolution over tokens, with a norm after the sum."""
    h = lax.conv_general_dilated(
        x, p["kernel"], (1,), [(4, 0)], rhs_dilation=(2,), dimension_numbers=("NHC", "HIO", "NHC")
    )
    a, b = jnp.split(h, 2, axis=-1)
    return layer_norm(x + (jnp.tanh(a) * nn.sigmoid(b)) @ p["o"])


def squeezed(p: Any, x: Any) -> Any:
    """Two convolutions of an image, scaled by its mean, and a residual."""
    names = ("NHWC", "HWIO", "NHWC")
    h = lax.conv_general_dilated(x, p["a"], (1, 1), "SAME", dimension_numbers=names)
    h = nn.relu(h * p["scale"] + p["shift"])
    h = lax.conv_general_dilated(h, p["b"], (1, 1), "SAME", dimension_numbers=names)
    h = h * nn.sigmoid(nn.relu(jnp.mean(h, axis=(1, 2)) @ p["q"]) @ p["o"])[:, None, None, :]
    centred = h - jnp.mean(h, axis=(1, 2, 3), keepdims=True)
    variance = jnp.mean(centred**2, axis=(1, 2, 3), keepdims=True)
    return nn.relu(x + centred * lax.rsqrt(variance + 1e-5))


def joined(p: Any, x: Any) -> Any:
    """A unit whose input is the concatenation of two other units."""
    h = jnp.concatenate([x, nn.relu(layer_norm(x) @ p["q"])], axis=-1)
    gates = [nn.silu(h @ p["a"]), nn.sigmoid(h @ p["b"])]
    return x + jnp.concatenate(gates, axis=-1) @ p["c"]


def gated_linear(p: Any, x: Any) -> Any:
    """A gated perceptron with a layer norm."""
    h = scaled_norm(p, x)
    return x + p["last"] * ((nn.silu(h @ p["a"]) * (h @ p["b"])) @ p["c"])


def graph(p: Any, x: Any) -> Any:
    """Attention of the nodes of a graph."""
    h = x @ p["q"]
    edges = nn.leaky_relu((h @ p["scale"])[:, None] + (h @ p["shift"])[None, :])
    return nn.elu(nn.softmax(edges, axis=-1) @ h) + layer_norm(x)


def heun(p: Any, x: Any) -> Any:
    """A step of second order of a learned differential equation."""

    def slope(x: Any) -> Any:
        return jnp.tanh(layer_norm(x) @ p["q"]) @ p["o"]

    first = slope(x)
    return x + 0.05 * (first + slope(x + 0.1 * first))


def half_precision(p: Any, x: Any) -> Any:
    """A residual perceptron in bfloat16."""
    h = layer_norm(x).astype("bfloat16")
    h = nn.gelu(h @ p["up"].astype("bfloat16")) @ p["down"].astype("bfloat16")
    return x + h.astype("float32")


#: The parameters of a layer, by name: the axes of each, as multiples of the width.
Axes = Mapping[str, tuple[float, ...]]
PLAIN: Axes = dict.fromkeys(("q", "k", "v", "in", "out"), (1, 1))
NORM: Axes = {"scale": (1,), "shift": (1,)}
FEED: Axes = {"up": (1, 4), "down": (4, 1)}
HEADS: Axes = dict.fromkeys(("q", "k", "v", "o"), (1, 1)) | NORM | FEED
GATES: Axes = {"a": (1, 2), "b": (1, 2), "c": (2, 1), "last": (1,)} | NORM


class Network(NamedTuple):
    """Layers in a loop, or a training step of them; `fixed` are shapes that no width changes."""

    name: str
    layer: Layer
    layers: int
    width: int
    axes: Axes = PLAIN
    step: bool = True
    data: Shape = (4, 32)
    fixed: Mapping[str, Shape] = {}

    def parameters(self) -> list[dict[str, Any]]:
        """Return the parameters of each layer."""
        rng = np.random.default_rng(0)
        shapes = {n: tuple(int(k * self.width) for k in axes) for n, axes in self.axes.items()}

        def drawn(shape: Shape) -> Any:
            return (rng.standard_normal(shape) / self.width).astype("f4")

        return [
            {n: drawn(shape) for n, shape in (shapes | dict(self.fixed)).items()}
            for _ in range(self.layers)
        ]

    def traced(self) -> tuple[Olympuspr, list[Any]]:
        """Return its program and arguments."""
        ps = self.parameters()
        x = np.random.default_rng(1).standard_normal((*self.data, self.width)).astype("f4")

        def forward(ps: Any, x: Any) -> Any:
            for p in ps:
                x = self.layer(p, x)
            return x

        def step(ps: Any, x: Any) -> Any:
            grads = ox.grad(lambda ps: jnp.mean(forward(ps, x) ** 2))(ps)
            return ox.tree.map(lambda p, g: p - 0.1 * g, ps, grads)

        program = ox.jit(step if self.step else forward).trace(ps, x).olympuspr
        return program, ox.tree.leaves((ps, x))


_IMAGES: Mapping[str, Shape] = {"a": (3, 3, 16, 16), "b": (3, 3, 16, 16)}
NETWORKS = (
    Network("transformer, layer norm, step", partial(attention, layer_norm), 4, 64),
    Network("transformer, layer norm, step", partial(attention, layer_norm), 8, 64),
    Network("transformer, layer norm, step", partial(attention, layer_norm), 6, 192),
    Network("transformer, RMS norm, step", partial(attention, rms_norm), 6, 64),
    Network("transformer, RMS norm, step", partial(attention, rms_norm), 12, 64),
    Network("transformer, layer norm, forward", partial(attention, layer_norm), 6, 64, step=False),
    Network("transformer, RMS norm, forward", partial(attention, rms_norm), 12, 64, step=False),
    Network("perceptron, layer norm, step", partial(perceptron, layer_norm), 6, 64),
    Network("perceptron, layer norm, step", partial(perceptron, layer_norm), 16, 64),
    Network("perceptron, RMS norm, step", partial(perceptron, rms_norm), 8, 64),
    Network("perceptron, norm after the sum, step", post_norm, 8, 64),
    Network("gates, layer norm, step", gated, 10, 64),
    Network("elementwise operations, step", elementwise, 6, 64),
    Network("leapfrog, step", leapfrog, 8, 64),
    Network("leapfrog, forward", leapfrog, 16, 64, step=False),
)

#: Networks that were written after the rule; the rule is not derived from them.
TEST_NETWORKS = (
    Network("attention beside perceptron, step", parallel, 6, 96, HEADS),
    Network("attention beside perceptron, step", parallel, 10, 48, HEADS),
    Network("attention beside perceptron, forward", parallel, 8, 64, HEADS, step=False),
    Network("distances, RMS norm, step", with_distances, 6, 64, HEADS, fixed={"bias": (4, 16)}),
    Network(
        "distances, RMS norm, forward",
        with_distances,
        8,
        64,
        HEADS,
        False,
        (2, 32),
        {"bias": (4, 16)},
    ),
    Network("transformer, norm after sums, step", norm_last, 6, 64, HEADS),
    Network("transformer, norm after sums, step", norm_last, 12, 96, HEADS),
    Network("transformer, norm after sums, forward", norm_last, 6, 96, HEADS, step=False),
    Network(
        "gates by other tokens, step",
        spatial_gate,
        6,
        64,
        NORM | {"up": (1, 4), "down": (2, 1)},
        fixed={"tokens": (32, 32)},
    ),
    Network(
        "gates by other tokens, step",
        spatial_gate,
        14,
        32,
        NORM | {"up": (1, 4), "down": (2, 1)},
        fixed={"tokens": (32, 32)},
    ),
    Network(
        "gates by other tokens, forward",
        spatial_gate,
        6,
        64,
        NORM | {"up": (1, 4), "down": (2, 1)},
        False,
        fixed={"tokens": (32, 32)},
    ),
    Network(
        "mixer without norms, step",
        affine,
        8,
        64,
        NORM | FEED | {"q": (1,), "k": (1,), "v": (1,)},
        fixed={"tokens": (32, 32)},
    ),
    Network(
        "dilated convolutions, step", dilated, 8, 32, {"o": (1, 1)}, fixed={"kernel": (3, 32, 64)}
    ),
    Network(
        "convolutions of images, step",
        squeezed,
        5,
        16,
        NORM | {"q": (1, 0.5), "o": (0.5, 1)},
        True,
        (4, 16, 16),
        _IMAGES,
    ),
    Network(
        "joined units, step", joined, 8, 64, {"q": (1, 1), "a": (2, 1), "b": (2, 1), "c": (2, 1)}
    ),
    Network("gated perceptron, step", gated_linear, 8, 64, GATES),
    Network("gated perceptron, step", gated_linear, 20, 128, GATES),
    Network("graph, step", graph, 8, 32, {"q": (1, 1)} | NORM, data=(64,)),
    Network("Heun, step", heun, 8, 64, {"q": (1, 1), "o": (1, 1)}, data=(64,)),
    Network("Heun, forward", heun, 16, 64, {"q": (1, 1), "o": (1, 1)}, False, (64,)),
    Network("perceptron in bfloat16, step", half_precision, 8, 64, FEED),
)
