"""`python -m benchmarks.variety`: the effect of repeated blocks on networks of many kinds.

Each network is compiled and run with all blocks outlined and with none, in turns in one process.
The Markdown table has the decision of the rule and the ratios of processor times: the least time to
compile, and the lower third of the times to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.networks import NETWORKS, TEST_NETWORKS
from benchmarks.thresholds import ALWAYS, compiled
from olympus_core import xla
from olympus_core.blocks.outline import blocks, outline
from olympus_core.blocks.repeats import MEASURED
from olympus_core.ir.olympuspr import Olympuspr

ALL = MEASURED._replace(again=ALWAYS.again)
SAMPLES = 30


def ratios(program: Olympuspr, arguments: Sequence[Any], rounds: int) -> tuple[float, float]:
    """Return the processor time with all blocks over that with none, to compile and to run."""
    versions = [outline(program, ALL), program]
    buffers = [xla.put(x) for x in arguments]
    compiling: list[list[float]] = [[], []]
    running: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            start = time.process_time()
            executable, _ = compiled(versions[side])
            compiling[side].append(time.process_time() - start)
            run(executable, buffers)
            running[side] += [run(executable, buffers) for _ in range(SAMPLES // rounds)]
    low = [float(np.quantile(samples, 1 / 3)) for samples in running]
    return min(compiling[0]) / min(compiling[1]), low[0] / low[1]


def run(executable: Any, buffers: list[Any]) -> float:
    """Return the processor time of a call, the mean of ten, in seconds."""
    start = time.process_time()
    for _ in range(10):
        outputs = executable.execute(buffers)
    for output in outputs:
        xla.block_until_ready(output)
    return (time.process_time() - start) / 10


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the networks and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.variety", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="compilations of each (default: 3)")
    parser.add_argument(
        "--held-out", action="store_true", help="networks from which the rule was not derived"
    )
    options = parser.parse_args(argv)
    print("| network | layers, width | kept | compile | run |")
    print("| --- | ---: | --- | ---: | ---: |")
    decisions: dict[str, list[tuple[float, float]]] = {"yes": [], "no": []}
    for network in TEST_NETWORKS if options.held_out else NETWORKS:
        program, arguments = network.traced()
        decision = "yes" if blocks(outline(program)) else "no"
        pair = ratios(program, arguments, options.rounds)
        decisions[decision].append(pair)
        cells = network.name, f"{network.layers}, {network.width}", decision
        print(f"| {' | '.join(cells)} | {pair[0]:.2f} | {pair[1]:.2f} |", flush=True)
    for decision, pairs in decisions.items():
        if pairs:
            means, most = np.exp(np.log(pairs).mean(axis=0)), np.max(pairs, axis=0)
            for name, (compiling, running) in (("geometric mean", means), ("most", most)):
                cells = f"{name} of {len(pairs)}", "", decision
                print(f"| {' | '.join(cells)} | {compiling:.2f} | {running:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
