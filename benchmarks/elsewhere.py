"""`python -m benchmarks.elsewhere`: programs of JAX, compiled by `olympus.interop.jax.jit`.

Both `jit` compile and run each program in turns, in one process. The Markdown table has the ratios
OLYMPUS / JAX: of the processor time to trace, lower and compile, and of the time of a run. Each is
the median of the rounds.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import further, recurrences
from benchmarks.deep import MODELS, gpt_program
from benchmarks.pairs import paired_ratio
from benchmarks.programs import PROGRAMS, Program, load, values
from olympus.interop.jax import jit

#: A function that returns a new function object, and its arguments.
Prepared = tuple[Callable[[], Callable[..., Any]], Sequence[Any]]
RUN_SECONDS = 0.3  # of each side in a round
MOST_CALLS = 200


def drawn(*shape: int) -> Any:
    """Return random numbers, the same in each process."""
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), "float32")


def of_example(program: Program) -> Callable[[], Prepared]:
    """Return the program of an example, with JAX in place of OLYMPUS."""
    return lambda: (load(program, "jax")[0], values(program, "jax"))


def of_function(fun: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Prepared]:
    """Return a function below with random arguments."""
    return lambda: (lambda: lambda *args: fun(*args), [drawn(*shape) for shape in shapes])


def adam_step(weights: Any, x: Any, y: Any) -> Any:
    """Return the weights of a perceptron after ten steps of Adam."""

    def loss(weights: Any) -> Any:
        hidden = x
        for w in weights:
            hidden = jax.nn.gelu(hidden @ w)
        return jnp.mean((hidden - y) ** 2)

    def step(state: Any, i: Any) -> Any:
        weights, mean, square = state
        grad = jax.grad(loss)(weights)
        mean = 0.9 * mean + 0.1 * grad
        square = 0.999 * square + 0.001 * grad**2
        weights = weights - 1e-3 * mean / (jnp.sqrt(square) + 1e-8)
        return (weights, mean, square), i

    zeros = jnp.zeros_like(weights)
    return jax.lax.scan(step, (weights, zeros, zeros), jnp.arange(10))[0]


def newton(w: Any, x: Any) -> Any:
    """Return the weights of a logistic regression after five steps of Newton's method."""

    def loss(w: Any) -> Any:
        return jnp.mean(jax.nn.softplus(x @ w)) + 0.1 * jnp.sum(w**2)

    def step(_: Any, w: Any) -> Any:
        return w - jnp.linalg.solve(jax.hessian(loss)(w), jax.grad(loss)(w))

    return jax.lax.fori_loop(0, 5, step, w)


def clusters(points: Any, centres: Any) -> Any:
    """Return the centres of k-means after 20 steps."""

    def step(_: Any, centres: Any) -> Any:
        distances = jnp.sum((points[:, None] - centres) ** 2, -1)
        chosen = jax.nn.one_hot(jnp.argmin(distances, 1), centres.shape[0])
        return chosen.T @ points / (chosen.sum(0)[:, None] + 1)

    return jax.lax.fori_loop(0, 20, step, centres)


def bodies(positions: Any, velocities: Any) -> Any:
    """Return bodies that attract each other, after 20 leapfrog steps."""

    def accelerations(q: Any) -> Any:
        apart = q[None] - q[:, None]
        return jnp.sum(apart / (jnp.sum(apart**2, -1, keepdims=True) + 0.1) ** 1.5, 1)

    def step(state: Any, _: Any) -> Any:
        q, p = state
        p = p + 0.01 * accelerations(q)
        return (q + 0.01 * p, p), jnp.sum(p**2)

    return jax.lax.scan(step, (positions, velocities), None, length=20)


def heat(grid: Any) -> Any:
    """Return the heat of a plate after 100 steps."""

    def step(_: Any, u: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.2 * (around - 4 * u)

    return jax.lax.fori_loop(0, 100, step, grid)


def convolutions(images: Any, kernels: Any) -> Any:
    """Return the features of four convolutions."""
    for kernel in kernels:
        strides, numbers = (1, 1), ("NHWC", "HWIO", "NHWC")
        images = jax.lax.conv_general_dilated(
            images, kernel, strides, "SAME", dimension_numbers=numbers
        )
        images = jax.nn.relu(images - images.mean((1, 2), keepdims=True))
    return images.mean((1, 2))


def products(x: Any, weights: Any) -> Any:
    """Return a chain of products."""
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def ordering(x: Any) -> Any:
    """Return ranks, medians and the largest values of rows."""
    return jnp.argsort(x, -1), jnp.median(x, -1), jax.lax.top_k(x, 8), jnp.cumsum(x, -1)


def spectrum(signal: Any, kernel: Any) -> Any:
    """Return a filtered signal and its power."""
    filtered = jnp.fft.irfft(jnp.fft.rfft(signal) * jnp.fft.rfft(kernel, signal.shape[-1]))
    return filtered, jnp.abs(jnp.fft.rfft(filtered)) ** 2


def paths(price: Any) -> Any:
    """Return the price of an option and its derivative from drawn paths."""

    def value(price: Any) -> Any:
        steps = jax.random.normal(jax.random.key(0), (4096, 64))
        ends = price * jnp.exp(jnp.sum(0.02 * steps - 0.0002, 1))
        return jnp.mean(jnp.maximum(ends - 1.0, 0.0))

    return jax.vmap(jax.value_and_grad(value))(price)


def process(lengths: Any, x: Any) -> Any:
    """Return the marginal likelihood of a Gaussian process and its gradient."""

    def likelihood(lengths: Any) -> Any:
        scaled = x / (1 + lengths**2)
        squares = jnp.sum((scaled[:, None] - scaled) ** 2, -1)
        factor = jnp.linalg.cholesky(jnp.exp(-squares) + 0.1 * jnp.eye(x.shape[0]))
        residual = jax.scipy.linalg.solve_triangular(factor, x[:, 0], lower=True)
        return 0.5 * residual @ residual + jnp.sum(jnp.log(jnp.diag(factor)))

    return jax.value_and_grad(likelihood)(lengths)


def oscillators(state: Any) -> Any:
    """Return Van der Pol oscillators after 50 steps of Runge-Kutta."""

    def slope(s: Any) -> Any:
        return jnp.stack([s[1], (1 - s[0] ** 2) * s[1] - s[0]])

    def step(s: Any, _: Any) -> Any:
        a = slope(s)
        b = slope(s + 0.005 * a)
        c = slope(s + 0.005 * b)
        d = slope(s + 0.01 * c)
        return s + 0.01 / 6 * (a + 2 * b + 2 * c + d), s[0]

    return jax.vmap(lambda s: jax.lax.scan(step, s, None, length=50))(state)


def attention(q: Any, k: Any, v: Any) -> Any:
    """Return the gradient of causal attention, mapped over heads."""

    def head(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T / jnp.sqrt(q.shape[-1])
        mask = jnp.tril(jnp.ones(scores.shape, bool))
        return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ v

    return jax.grad(lambda *args: jnp.sum(jax.vmap(head)(*args) ** 2), (0, 1, 2))(q, k, v)


def embedding(table: Any, x: Any) -> Any:
    """Return the gradient of a bag of words, and the sums of segments."""
    index = jnp.abs(x * 100).astype(int) % table.shape[0]
    grad = jax.grad(lambda t: jnp.sum(jnp.tanh(t[index].sum(1)) ** 2))(table)
    return grad, jax.ops.segment_sum(x.ravel(), index.ravel(), table.shape[0])


def elementwise(x: Any, y: Any) -> Any:
    """Return sums of many elementwise functions, and their gradient."""

    def total(x: Any) -> Any:
        for i in range(12):
            x = jnp.sin(x + i) * y + jax.nn.sigmoid(x) / (1 + x**2)
        return jnp.sum(x)

    return jax.value_and_grad(total)(x)


CASES: dict[str, Callable[[], Prepared]] = {
    "GPT training step, 12 layers": of_example(gpt_program("step", 256, 12)),
    "GPT training step, 4 layers": of_example(gpt_program("step", 128, 4)),
    "GPT forward, 12 layers": of_example(gpt_program("forward", 256, 12)),
    "ResNet training step": of_example(MODELS["resnet"](False)),
    "U-Net training step": of_example(MODELS["unet"](True)),
    "LSTM training step": of_example(MODELS["lstm"](False)),
    "perceptron forward": of_example(PROGRAMS["mlp"]),
    "perceptron, Adam": of_function(adam_step, (8, 128, 128), (256, 128), (256, 128)),
    "logistic regression, Newton": of_function(newton, (64,), (4096, 64)),
    "k-means": of_function(clusters, (4096, 16), (32, 16)),
    "N bodies": of_function(bodies, (256, 3), (256, 3)),
    "heat equation": of_function(heat, (512, 512)),
    "convolutions": of_function(convolutions, (8, 32, 32, 16), (4, 3, 3, 16, 16)),
    "chain of products": of_function(products, (256, 256), (24, 256, 256)),
    "sorts and sums": of_function(ordering, (256, 1024)),
    "Fourier transforms": of_function(spectrum, (64, 8192), (64, 63)),
    "option price": of_function(paths, (4,)),
    "Gaussian process": of_function(process, (4,), (256, 4)),
    "Runge-Kutta": of_function(oscillators, (4096, 2)),
    "attention, gradient": of_function(attention, (8, 256, 64), (8, 256, 64), (8, 256, 64)),
    "embedding, gradient": of_function(embedding, (4096, 64), (512, 32)),
    "elementwise, gradient": of_function(elementwise, (512, 512), (512, 512)),
}
#: programs on which no rule was chosen
FURTHER: dict[str, Callable[[], Prepared]] = {
    "highway, gradient": of_function(further.highway, (64, 128), (10, 2, 128, 128)),
    "MLP-Mixer, Adam": of_function(further.mixer, (4, 64, 64), (6, 64, 64), (6, 64, 256)),
    "GRU, gradient": of_function(further.recurrent, (64, 32, 128), (128, 128), (128, 128)),
    "separable convolutions": of_function(
        further.separable, (8, 32, 32, 32), (4, 3, 3, 1, 32), (4, 32, 32)
    ),
    "eigenvalues, least squares": of_function(further.power, (256, 256)),
    "BFGS": of_function(further.bfgs, (2048, 32), (2048,)),
    "tree search": of_function(further.search, (256, 64), (256, 64)),
    "nearest neighbours": of_function(further.nearest, (4096, 8), (64, 8)),
    "quantiles and counts": of_function(further.histogram, (100_000,)),
    "sparse products": of_function(further.sparse, (20_000,), (4096, 8)),
    "convolutions, gradient": of_function(
        further.vision, (8, 16, 16, 16), (3, 3, 3, 16, 16), (1024, 10)
    ),
    "spectral waves": of_function(further.waves, (128, 128)),
    "dropout, gradient": of_function(further.dropout, (128, 128), (6, 128, 128)),
    "Markov chains": of_function(further.metropolis, (1024, 2)),
}
#: loops over small arrays
RECURRENCES: dict[str, Callable[[], Prepared]] = {
    "Kalman filter": of_function(recurrences.kalman, (500, 2), (4, 4), (4, 4)),
    "hidden Markov model, gradient": of_function(
        recurrences.forward_algorithm, (12, 12), (300, 12)
    ),
    "Viterbi path": of_function(recurrences.viterbi, (12, 12), (300, 12)),
    "recurrent cell": of_function(recurrences.cell, (300, 32), (32, 32), (32, 32)),
    "Lorenz system": of_function(recurrences.attractor, (3, 32)),
    "tridiagonal systems": of_function(recurrences.tridiagonal, *[(500, 16)] * 4),
    "game of life": of_function(recurrences.life, (16, 16)),
    "pendulum, gradient": of_function(recurrences.rollout, (64,), (2,)),
    "Kepler's equation": of_function(recurrences.roots, (128,)),
    "page rank": of_function(recurrences.ranking, (48, 48)),
    "running totals": of_function(recurrences.totals, (1000, 32)),
    "exponential smoothing, gradient": of_function(recurrences.smoothing, (300, 24)),
    "position in space": of_function(recurrences.tracking, (300, 4)),
    "linear regulator": of_function(recurrences.regulator, (4, 4), (4, 2)),
    "random effects, gradient": of_function(recurrences.random_effects, (100, 5, 2), (100, 5)),
    "fit of a curve": of_function(recurrences.curve, (64,), (64,)),
    "rigid body": of_function(recurrences.rigid_body, (3,)),
}


def measured(case: Callable[[], Prepared], rounds: int) -> tuple[list[Any], list[Any], float]:
    """Return the seconds to compile and to run, for both sides, and the largest difference.

    The difference is relative to the largest number in the results of JAX.
    """
    fresh, args = case()
    compiling: list[list[float]] = [[], []]
    running: list[list[float]] = [[], []]
    difference = 0.0
    for number in range(rounds):
        sides: list[Any] = [None, None]
        for side in (0, 1) if number % 2 else (1, 0):
            jax.clear_caches()
            gc.collect()  # the garbage of the previous compilation
            start = time.process_time()
            sides[side] = (jit, jax.jit)[side](fresh()).trace(*args).lower().compile()
            compiling[side].append(time.process_time() - start)
        results = [jax.tree.leaves(jax.block_until_ready(side(*args))) for side in sides]
        largest = max(float(np.max(np.abs(x))) for x in results[1])
        for ours, theirs in zip(*results, strict=True):
            apart = np.max(np.abs(np.asarray(ours, "f8") - np.asarray(theirs, "f8")))
            difference = max(difference, float(apart) / largest)
        calls = max(3, min(MOST_CALLS, int(RUN_SECONDS / seconds(sides[1], args))))
        samples = [[seconds(side, args) for side in sides] for _ in range(calls)]
        for side in (0, 1):
            running[side].append(float(np.median([sample[side] for sample in samples])))
    return compiling, running, difference


def seconds(compiled: Any, args: Sequence[Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    jax.block_until_ready(compiled(*args))
    return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.elsewhere", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="compilations of each (default: 3)")
    parser.add_argument("--only", default="", help="the programs with this text in their names")
    options = parser.parse_args(argv)
    print("| program | JAX, compile, s | compile | JAX, run, ms | run | difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for group in (CASES, FURTHER, RECURRENCES):
        measure({k: case for k, case in group.items() if options.only in k}, options.rounds)
    return 0


def measure(cases: dict[str, Callable[[], Prepared]], rounds: int) -> None:
    """Measure programs, and print their rows, the geometric means and the largest ratios."""
    ratios = []
    for name, case in cases.items():
        compiling, running, difference = measured(case, rounds)
        pair = paired_ratio(*compiling).median, paired_ratio(*running).median
        ratios.append(pair)
        theirs = float(np.median(compiling[1])), float(np.median(running[1])) * 1e3
        print(
            f"| {name} | {theirs[0]:.2f} | {pair[0]:.2f} | {theirs[1]:.2f} | {pair[1]:.2f} "
            f"| {f'{difference:.0e}' if difference else 0} |",
            flush=True,
        )
    if not ratios:
        return
    means, most = np.exp(np.log(ratios).mean(axis=0)), np.max(ratios, axis=0)
    print(f"| geometric mean of {len(ratios)} | | {means[0]:.2f} | | {means[1]:.2f} | |")
    print(f"| most | | {most[0]:.2f} | | {most[1]:.2f} | |")


if __name__ == "__main__":
    sys.exit(main())
