"""`python -m benchmarks.thresholds`: the size from which outlining a block is profitable.

Programs of layers with one product and elementwise operations, with several numbers of layers and
of equations, are compiled and run with every block outlined and with none, in turns in one process.
It prints Markdown. A cell has two ratios, of the times to compile and of the times to run:
geometric means over widths, with derivatives and without.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import olympus as ox
from olympus_core import xla
from olympus_core.blocks.outline import blocks, outline
from olympus_core.blocks.repeats import Thresholds
from olympus_core.execution import compilation
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering import whole_module as lowering

jnp = ox.numpy
OCCURRENCES = (2, 3, 4, 6, 12)
EQUATIONS = (8, 16, 32, 64)
WIDTHS = (16, 256)
BATCH = 32
ALWAYS = Thresholds(occurrences=2, equations=2, again=0)
TARGET = ox.Target("cpu")


def layers(equations: int) -> Callable[[Any, Any], Any]:
    """Return a network whose layers have about `equations` equations, one of them a product."""

    def layer(w: Any, x: Any) -> Any:
        y = x @ w
        for i in range((equations - 4) // 4):
            y = jnp.tanh(y) * (0.5 + i) + jnp.sin(y)
        return x + y / (1 + jnp.abs(y))

    def network(ws: Any, x: Any) -> Any:
        for w in ws:
            x = layer(w, x)
        return x

    return network


def with_gradient(network: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a step of gradient descent."""

    def step(ws: Any, x: Any) -> Any:
        grads = ox.grad(lambda ws: jnp.mean(network(ws, x) ** 2))(ws)
        return [w - 0.1 * g for w, g in zip(ws, grads, strict=True)]

    return step


def compiled(program: Olympuspr) -> tuple[Any, float]:
    """Compile a program; return the executable and the seconds."""
    start = time.perf_counter()
    entry = compilation.entry_attributes("main", program)
    executable = xla.compile(lowering.lower_module(program, entry), TARGET)
    return executable, time.perf_counter() - start


def per_call(executable: Any, buffers: list[Any]) -> float:
    """Return the seconds of a call, the mean of a batch."""
    calls = 20
    start = time.perf_counter()
    for _ in range(calls):
        outputs = executable.execute(buffers)
    for output in outputs:
        xla.block_until_ready(output)
    return (time.perf_counter() - start) / calls


def ratios(program: Olympuspr, arguments: Sequence[Any], rounds: int) -> tuple[float, float]:
    """Return the least time with blocks over that without, to compile and to run."""
    versions = [outline(program, ALWAYS), program]
    if not blocks(versions[0]):
        return math.nan, math.nan
    buffers = [xla.put(x) for x in arguments]
    compiling: list[list[float]] = [[], []]
    running: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            executable, seconds = compiled(versions[side])
            compiling[side].append(seconds)
            per_call(executable, buffers)
            running[side] += [per_call(executable, buffers) for _ in range(3)]
    return min(compiling[0]) / min(compiling[1]), min(running[0]) / min(running[1])


def cases(equations: int, occurrences: int) -> Iterator[tuple[Olympuspr, list[Any]]]:
    """Yield the programs of a cell, with arguments."""
    rng = np.random.default_rng(0)
    for width, derived in itertools.product(WIDTHS, (False, True)):
        fun = layers(equations)
        ws = [rng.standard_normal((width, width)).astype("f4") / width for _ in range(occurrences)]
        x = rng.standard_normal((BATCH, width)).astype("f4")
        traced = ox.jit(with_gradient(fun) if derived else fun).trace(ws, x)
        yield traced.olympuspr, [*ws, x]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.thresholds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="compilations of each (default: 5)")
    rounds = parser.parse_args(argv).rounds
    print("| equations | " + " | ".join(f"{n} times" for n in OCCURRENCES) + " |")
    print("| ---: |" + " ---: |" * len(OCCURRENCES))
    for equations in EQUATIONS:
        cells = []
        for occurrences in OCCURRENCES:
            pairs = [ratios(*case, rounds) for case in cases(equations, occurrences)]
            with np.errstate(all="ignore"):
                means = np.exp(np.nanmean(np.log(pairs), axis=0))
            cells.append("{:.2f}, {:.2f}".format(*means))
            print(equations, occurrences, np.round(pairs, 2).tolist(), file=sys.stderr)
        print(f"| {equations} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
