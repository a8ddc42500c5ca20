"""`python -m benchmarks.random_loops`: random loops of JAX, compiled by `olympus.interop.jax.jit`.

Each line is a loop: the ratios OLYMPUS / JAX of a run and of the compilation, and the largest
difference of a number, relative to the largest one. The last line has the geometric means and the
largest ratios of the loops that became functions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from olympus.interop.jax import jit

SIZES = (4, 8, 16, 32, 64, 128, 256)
STEPS = (20, 100, 300)
MOST_CALLS, RUN_SECONDS = 30, 0.1
FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    jnp.tanh,
    jnp.sin,
    jnp.exp,
    lambda x: jnp.log1p(x * x),
    jax.nn.sigmoid,
    jnp.abs,
    lambda x: jnp.sqrt(jnp.abs(x) + 0.1),
    jax.scipy.special.erf,
    jnp.floor,
    lambda x: x**3,
    jnp.arctan,
)

#: (function, state, row, index) -> state
Step = Callable[[Callable[[Any], Any], Any, Any, Any], Any]


def _product(f: Callable[[Any], Any], h: Any, v: Any, i: Any) -> Any:
    size = h.shape[-1]
    if size > 128:
        return h
    weights = np.random.default_rng(size).standard_normal((size, size)) / size**0.5
    return jnp.tanh(h @ jnp.asarray(weights, "float32"))


STEP_KINDS: tuple[Step, ...] = (
    lambda f, h, v, i: f(h) * 0.5 + h * 0.3,
    lambda f, h, v, i: f(h) * 0.5 - h * 0.1,
    lambda f, h, v, i: h - h.mean(),
    lambda f, h, v, i: h * jax.nn.softmax(h, -1),
    lambda f, h, v, i: h + jnp.max(h, axis=0) * 0.1,
    lambda f, h, v, i: jnp.roll(h, 1, -1),
    _product,
    lambda f, h, v, i: jnp.where(h > f(h), h, -h),
    lambda f, h, v, i: h + v,
    lambda f, h, v, i: lax.cond(h.ravel()[0] > 0, f, lambda x: x * 0.9, h),
    lambda f, h, v, i: jnp.concatenate([h[1:], h[:1] * 0.5]),
    lambda f, h, v, i: h * 0.9 + lax.dynamic_index_in_dim(h, i % h.shape[0], 0) * 0.01,
    lambda f, h, v, i: h.at[i % h.shape[0]].add(1.0),
    lambda f, h, v, i: lax.fori_loop(0, 3, lambda _, x: f(x) * 0.5 + x * 0.1, h),
)


def drawn(seed: int) -> tuple[Callable[..., Any], Sequence[Any]]:
    """Return a random loop of a seed, and its arguments."""
    random = np.random.default_rng(seed)
    size = int(random.choice(SIZES))
    rows = max(1, size >> int(random.integers(0, 6)))
    shape = (size,) if random.integers(2) else (rows, size // rows)
    count, steps, kind = int(random.integers(1, 9)), int(random.choice(STEPS)), random.integers(4)
    parts = [
        (STEP_KINDS[i], FUNCTIONS[j])
        for i, j in zip(
            random.integers(0, len(STEP_KINDS), count),
            random.integers(0, len(FUNCTIONS), count),
            strict=True,
        )
    ]

    def body(h: Any, v: Any, i: Any) -> Any:
        for step, function in parts:
            h = step(function, h, v, i)
        return jnp.clip(h, -3, 3)

    def scanned(x: Any, xs: Any) -> Any:
        def step(carry: Any, v: Any) -> Any:
            return (body(carry[0], v, carry[1]), carry[1] + 1), carry[0]

        return lax.scan(step, (x, 0), xs)

    def looped(x: Any, xs: Any) -> Any:
        return lax.fori_loop(0, steps, lambda i, h: body(h, x, i), x)

    def gradient(x: Any, xs: Any) -> Any:
        return jax.grad(lambda x: scanned(x, xs)[1].sum())(x)

    fun = (looped, scanned, lambda x, xs: scanned(x, xs)[0], gradient)[kind]
    arrays = (random.standard_normal(shape), random.standard_normal((steps, *shape)))
    return fun, [jnp.asarray(x, "float32") for x in arrays]


def measured(seed: int) -> tuple[float, float, float] | None:
    """Return the ratios of a run and of the compilation, and the difference; None if it stays."""
    fun, args = drawn(seed)
    sides = []
    for compiles in (jit, jax.jit):
        lowered = compiles(lambda *xs: fun(*xs)).lower(*args)
        if compiles is jit and "xla_cpu_small_call" not in lowered.as_text():
            return None
        start = time.process_time()
        compiled = lowered.compile()
        sides.append((compiled, time.process_time() - start))
    (ours, our_seconds), (theirs, their_seconds) = sides
    start = time.perf_counter()
    results = [jax.tree.leaves(jax.block_until_ready(side(*args))) for side in (ours, theirs)]
    calls = int(2 * RUN_SECONDS / (time.perf_counter() - start))
    samples: tuple[list[float], list[float]] = [], []
    for number in range(max(5, min(MOST_CALLS, calls))):
        for side in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            jax.block_until_ready((ours, theirs)[side](*args))
            samples[side].append(time.perf_counter() - start)
    run = float(np.median(samples[0]) / np.median(samples[1]))
    largest = max(float(np.max(np.abs(x), initial=0)) for x in results[1]) or 1.0
    apart = max(
        float(np.max(np.abs(np.asarray(x, "f8") - np.asarray(y, "f8")), initial=0))
        for x, y in zip(*results, strict=True)
    )
    return run, our_seconds / their_seconds, apart / largest


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the loops, and print a line of each."""
    parser = argparse.ArgumentParser("python -m benchmarks.random_loops", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first loop")
    parser.add_argument("--count", type=int, default=100, help="the number of loops (default: 100)")
    options = parser.parse_args(argv)
    rows = []
    for seed in range(options.first, options.first + options.count):
        row = measured(seed)
        if row is not None:
            rows.append(row)
            print(f"{seed}: run {row[0]:.2f}, compile {row[1]:.2f}, difference {row[2]:.0e}")
    if not rows:
        return
    ratios = np.array(rows)[:, :2]
    means, most = np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0)
    print(
        f"{len(rows)} of {options.count} loops are functions: run {means[0]:.2f} (at most "
        f"{most[0]:.2f}), compile {means[1]:.2f} (at most {most[1]:.2f})"
    )


if __name__ == "__main__":
    main()
