"""`python -m benchmarks.variety`: what blocks bring to networks of many kinds. Out: Markdown.

Each is compiled and run with all its blocks kept and with none, in turns in one process. The table
says which of them OLYMPUS keeps by itself, and has the ratio of the processor time to compile, of
the least, and to run, of the lower third.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import olympus as ox
from benchmarks.thresholds import ALWAYS, compiled
from olympus_core import xla
from olympus_core.olympuspr import Olympuspr
from olympus_core.outline import blocks, outline
from olympus_core.repeats import MEASURED

jnp, nn = ox.numpy, ox.nn
ALL = MEASURED._replace(again=ALWAYS.again)
SAMPLES = 30
Layer = Callable[[Any, Any], Any]


def layer_norm(x: Any) -> Any:
    """Mean 0 and variance 1."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * ox.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def rms_norm(x: Any) -> Any:
    """Mean square 1."""
    return x * ox.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def attention(norm: Callable[[Any], Any], p: Any, x: Any) -> Any:
    """A layer of a transformer."""
    h = norm(x)
    q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
    x = x + nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 8, axis=-1) @ v
    return x + nn.gelu(norm(x) @ p["in"]) @ p["out"]


def perceptron(norm: Callable[[Any], Any], p: Any, x: Any) -> Any:
    """A residual perceptron."""
    return x + nn.gelu(nn.gelu(norm(x) @ p["in"]) @ p["q"]) @ p["out"]


def gated(p: Any, x: Any) -> Any:
    """A unit with two gates."""
    h = layer_norm(x)
    return x + nn.silu(h @ p["in"]) * nn.sigmoid(h @ p["q"]) + jnp.tanh(h @ p["k"]) @ p["out"]


def post_norm(p: Any, x: Any) -> Any:
    """A perceptron that is normed after the sum."""
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


class Network(NamedTuple):
    """Layers in a loop, or a training step of them."""

    name: str
    layer: Layer
    layers: int
    width: int
    step: bool = True

    def traced(self) -> tuple[Olympuspr, list[Any]]:
        """Its program and arguments."""
        rng = np.random.default_rng(0)
        names = ("q", "k", "v", "in", "out")
        shape = (self.width, self.width)
        ps = [
            {n: (rng.standard_normal(shape) / self.width).astype("f4") for n in names}
            for _ in range(self.layers)
        ]
        x = rng.standard_normal((4, 32, self.width)).astype("f4")

        def forward(ps: Any, x: Any) -> Any:
            for p in ps:
                x = self.layer(p, x)
            return x

        def step(ps: Any, x: Any) -> Any:
            grads = ox.grad(lambda ps: jnp.mean(forward(ps, x) ** 2))(ps)
            return ox.tree.map(lambda p, g: p - 0.1 * g, ps, grads)

        program = ox.jit(step if self.step else forward).trace(ps, x).olympuspr
        return program, ox.tree.leaves((ps, x))


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


def ratios(program: Olympuspr, arguments: Sequence[Any], rounds: int) -> tuple[float, float]:
    """Processor time with all blocks over that with none, to compile and to run."""
    versions = [outline(program, ALL), program]
    buffers = [xla.put(x) for x in arguments]
    took: list[list[float]] = [[], []]
    ran: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            start = time.process_time()
            made, _ = compiled(versions[side])
            took[side].append(time.process_time() - start)
            run(made, buffers)
            ran[side] += [run(made, buffers) for _ in range(SAMPLES // rounds)]
    low = [float(np.quantile(samples, 1 / 3)) for samples in ran]
    return min(took[0]) / min(took[1]), low[0] / low[1]


def run(made: Any, buffers: list[Any]) -> float:
    """Seconds of processor time of a call, of ten."""
    start = time.process_time()
    for _ in range(10):
        outputs = made.execute(buffers)
    for output in outputs:
        xla.block_until_ready(output)
    return (time.process_time() - start) / 10


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.variety", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="compilations of each (default: 3)")
    rounds = parser.parse_args(argv).rounds
    print("| network | layers, width | kept | compile | run |")
    print("| --- | ---: | --- | ---: | ---: |")
    for network in NETWORKS:
        program, arguments = network.traced()
        kept = "yes" if blocks(outline(program)) else "no"
        found = "{:.2f} | {:.2f}".format(*ratios(program, arguments, rounds))
        size = f"{network.layers}, {network.width}"
        print(f"| {network.name} | {size} | {kept} | {found} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
