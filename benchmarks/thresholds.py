"""`python -m benchmarks.thresholds`: from which size on a block is worth keeping. Out: Markdown.

Layers of a product and of elementwise operations, the number of layers and of their equations
varied, are compiled and run with every block kept and with none, in turns in one process. A cell
has two ratios, of the time to compile and of the time to run: the geometric mean over widths, with
and without derivatives.
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
from olympus_core.lowering import module as lowering

jnp = ox.numpy
OCCURRENCES = (2, 3, 4, 6, 12)
EQUATIONS = (8, 16, 32, 64)
WIDTHS = (16, 256)
BATCH = 32
ALWAYS = Thresholds(occurrences=2, equations=2, again=0)
TARGET = ox.Target("cpu")


def layers(equations: int) -> Callable[[Any, Any], Any]:
    """A network whose layers have about so many equations, one of them a product."""

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
    """A step of gradient descent."""

    def step(ws: Any, x: Any) -> Any:
        grads = ox.grad(lambda ws: jnp.mean(network(ws, x) ** 2))(ws)
        return [w - 0.1 * g for w, g in zip(ws, grads, strict=True)]

    return step


def compiled(program: Olympuspr) -> tuple[Any, float]:
    """The executable, and the seconds that it took."""
    start = time.perf_counter()
    entry = compilation.entry_attributes("main", program)
    made = xla.compile(lowering.lower_module(program, entry), TARGET)
    return made, time.perf_counter() - start


def per_call(made: Any, buffers: list[Any]) -> float:
    """Seconds a call; the last result of a batch is waited for."""
    calls = 20
    start = time.perf_counter()
    for _ in range(calls):
        outputs = made.execute(buffers)
    for output in outputs:
        xla.block_until_ready(output)
    return (time.perf_counter() - start) / calls


def ratios(program: Olympuspr, arguments: Sequence[Any], rounds: int) -> tuple[float, float]:
    """Time with blocks over time without, to compile and to run: of the least of each."""
    versions = [outline(program, ALWAYS), program]
    if not blocks(versions[0]):
        return math.nan, math.nan
    buffers = [xla.put(x) for x in arguments]
    took: list[list[float]] = [[], []]
    ran: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            made, seconds = compiled(versions[side])
            took[side].append(seconds)
            per_call(made, buffers)
            ran[side] += [per_call(made, buffers) for _ in range(3)]
    return min(took[0]) / min(took[1]), min(ran[0]) / min(ran[1])


def cases(equations: int, occurrences: int) -> Iterator[tuple[Olympuspr, list[Any]]]:
    """The programs of a cell, with arguments."""
    rng = np.random.default_rng(0)
    for width, derived in itertools.product(WIDTHS, (False, True)):
        fun = layers(equations)
        ws = [rng.standard_normal((width, width)).astype("f4") / width for _ in range(occurrences)]
        x = rng.standard_normal((BATCH, width)).astype("f4")
        traced = ox.jit(with_gradient(fun) if derived else fun).trace(ws, x)
        yield traced.olympuspr, [*ws, x]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.thresholds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="compilations of each (default: 5)")
    rounds = parser.parse_args(argv).rounds
    print("| equations | " + " | ".join(f"{n} times" for n in OCCURRENCES) + " |")
    print("| ---: |" + " ---: |" * len(OCCURRENCES))
    for equations in EQUATIONS:
        cells = []
        for occurrences in OCCURRENCES:
            found = [ratios(*case, rounds) for case in cases(equations, occurrences)]
            with np.errstate(all="ignore"):
                both = np.exp(np.nanmean(np.log(found), axis=0))
            cells.append("{:.2f}, {:.2f}".format(*both))
            print(equations, occurrences, np.round(found, 2).tolist(), file=sys.stderr)
        print(f"| {equations} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
