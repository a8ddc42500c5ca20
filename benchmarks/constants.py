"""`python -m benchmarks.constants`: calls with constants in the program, and stored apart.

Each program is compiled in both forms, and called in turns in one process. It prints the rows of a
table in Markdown: the best times of a call, and the sizes of the executables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import olympus as ox

jnp, lax = ox.numpy, ox.lax
_SHORTEST = 0.02  # seconds of a measurement
Array = np.ndarray[Any, Any]


def programs(side: int) -> Iterator[tuple[str, Callable[[Any], Any], Array, int]]:
    """Yield programs with a constant of `side` x `side`: name, function, argument and bytes."""
    random = np.random.default_rng(0)

    def array(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    w, kernel = array(side, side), array(side // 4, side // 4, 3, 3)
    rows = random.integers(0, side, 64).astype(np.int32)
    size = w.nbytes
    yield "`x @ W`", lambda x: x @ w, array(32, side), size
    yield "`x @ W.T`", lambda x: x @ w.T, array(8, side), size
    yield "`tanh(x @ W) @ W.T`", lambda x: jnp.tanh(x @ w) @ w.T, array(8, side), size
    yield "`x * exp(W)`", lambda x: x * jnp.exp(w), array(side, side), size
    yield "`where(W > 0, x, -1)`", lambda x: jnp.where(w > 0, x, -1.0), array(side, side), size
    yield "`take(W, x)`", lambda x: jnp.take(w, x, axis=0), rows, size
    convolution = lambda x: lax.conv(x, kernel, (1, 1), "SAME")  # noqa: E731
    yield "`conv(x, K)`", convolution, array(1, side // 4, 16, 16), kernel.nbytes


def seconds(call: Callable[[Any], Any], x: Any) -> float:
    """Return the time of a call, of as many as last for a measurement."""
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < _SHORTEST:
        result = call(x)
        count += 1
    result.block_until_ready()
    return (time.perf_counter() - start) / count


def main() -> None:
    """Print the rows of the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.constants", description=__doc__)
    parser.add_argument("sides", type=int, nargs="*", default=[128, 1024], metavar="SIDE")
    parser.add_argument("--rounds", type=int, default=30, metavar="N")
    options = parser.parse_args()
    for side in options.sides:
        for name, function, argument, size in programs(side):
            traced, x = ox.jit(function).trace(argument), ox.device_put(argument)
            forms = [traced.lower(constants=c).compile() for c in ("embed", "store")]
            best = [min(seconds(form, x) for _ in range(2)) for form in forms]
            for _ in range(options.rounds):
                best = [min(b, seconds(f, x)) for b, f in zip(best, forms, strict=True)]
            sizes = [f"{len(form.serialize()) // 1024} KiB" for form in forms]
            times = [f"{1e6 * one:.1f}" for one in best]
            print(" | ".join(["", name, f"{size // 1024} KiB", *times, *sizes, ""]).strip())


if __name__ == "__main__":
    main()
