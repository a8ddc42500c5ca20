"""`python -m benchmarks.variety`: what blocks bring to networks of many kinds. Out: Markdown.

Each is compiled and run with all its blocks kept and with none, in turns in one process. The table
says which of them OLYMPUS keeps by itself, and has the ratio of the processor time to compile, of
the least, and to run, of the lower third.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.networks import HELD_OUT, NETWORKS
from benchmarks.thresholds import ALWAYS, compiled
from olympus_core import xla
from olympus_core.blocks.outline import blocks, outline
from olympus_core.blocks.repeats import MEASURED
from olympus_core.ir.olympuspr import Olympuspr

ALL = MEASURED._replace(again=ALWAYS.again)
SAMPLES = 30


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
    parser.add_argument(
        "--held-out", action="store_true", help="networks that the rule was not drawn from"
    )
    given = parser.parse_args(argv)
    print("| network | layers, width | kept | compile | run |")
    print("| --- | ---: | --- | ---: | ---: |")
    found: dict[str, list[tuple[float, float]]] = {"yes": [], "no": []}
    for network in HELD_OUT if given.held_out else NETWORKS:
        program, arguments = network.traced()
        kept = "yes" if blocks(outline(program)) else "no"
        pair = ratios(program, arguments, given.rounds)
        found[kept].append(pair)
        size = f"{network.layers}, {network.width}"
        print(f"| {network.name} | {size} | {kept} | {pair[0]:.2f} | {pair[1]:.2f} |", flush=True)
    for kept, pairs in found.items():
        if pairs:
            means, most = np.exp(np.log(pairs).mean(axis=0)), np.max(pairs, axis=0)
            for name, (compiling, running) in (("geometric mean", means), ("most", most)):
                print(f"| {name} of {len(pairs)} | | {kept} | {compiling:.2f} | {running:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
