"""Estimates beside measured times. In: the examples, and loops. Out: a row for each on this CPU.

The CPU is calibrated first, in the same process, so that both meet the same machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cells import MILLI, grid, number
from benchmarks.loops import loop_programs
from benchmarks.programs import EXAMPLES

TITLE = "Estimates of one call, and measured times"
SHORT = ("mlp",)
LOOPS = ("kalman", "lstm")  # the examples that are loops over small arrays
CALLS = 15  # after a first one


class Row(NamedTuple):
    """A target: seconds that were estimated and measured, and what bounds the most of them."""

    target: str
    estimated: float
    measured: float
    bound: str


def estimates(
    say: Callable[[str], None], short: bool, only: tuple[str, ...] | None = None
) -> list[Row]:
    """A row for each target of the examples that is built for the CPU, and for each loop.

    `only` are the names of the examples that count; all of them unless given.
    """
    chosen = SHORT if short else only
    import olympus
    from olympus import analysis

    rows = []
    with _own_cache():
        say("calibrating this CPU")
        analysis.keep_peaks(analysis.calibrate())
        for folder in sorted(path.parent for path in EXAMPLES.glob("*/olympus.toml")):
            if chosen is None or folder.name in chosen:
                rows += list(_rows(folder, say))
        for name, (function, *arguments) in loop_programs(short).items():
            say(f"loops: {name}")
            compiled = olympus.jit(function).lower(*arguments).compile()
            rows.append(_row(f"loops: {name}", compiled))
    return rows


@contextmanager
def _own_cache() -> Iterator[None]:
    """A cache folder for the time of the measurement, so that the user's peaks stay as they are."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(prefix="olympus-peaks-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before


def estimates_markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    scale, unit = MILLI
    head = ("target", f"estimate, {unit}", f"measured, {unit}", "ratio", "bound by")
    cells = [
        (
            f"`{row.target}`",
            number(scale * row.estimated),
            number(scale * row.measured),
            number(row.estimated / row.measured),
            row.bound,
        )
        for row in rows
    ]
    return f"\n### {TITLE}\n\n{grid(head, cells)}\n"


def _rows(folder: Path, say: Callable[[str], None]) -> Iterator[Row]:
    import olympus
    from olympus_cli.frontends.python import load_target
    from olympus_cli.spec.project import load_project

    for name, spec in load_project(folder).targets.items():
        if olympus.Target("cpu") not in spec.backends:
            continue
        say(f"{folder.name}: {name}")
        lowered = load_target(spec).trace().lower(repeats=spec.repeats)
        compiled = lowered.compile(spec.compiler_options, optimize=spec.optimize)
        yield _row(f"{folder.name}: {name}", compiled)


def _row(name: str, compiled: Any) -> Row:
    """The estimate and the measured time of a program."""
    made = compiled.estimate()
    times: dict[str, float] = {}
    for kernel in made.kernels:
        times[kernel.bound] = times.get(kernel.bound, 0.0) + kernel.seconds
    bound = max(times, key=times.__getitem__)
    return Row(name, made.seconds, _measured(compiled), bound)


def _measured(compiled: Any) -> float:
    """The seconds that a quarter of the calls stay below, as calibration has it; inputs at hand."""
    import olympus
    from olympus_cli.bench.statistics import summarize

    samples = []
    for _ in range(CALLS + 1):
        arguments = [olympus.device_put(x) for x in _arguments(compiled)]
        args, kwargs = olympus.tree.unflatten(compiled.in_tree, arguments)
        olympus.block_until_ready(arguments)
        start = time.perf_counter()
        olympus.block_until_ready(compiled(*args, **kwargs))
        samples.append(time.perf_counter() - start)
    return summarize(samples[1:]).q1


def _arguments(compiled: Any) -> Iterator[Any]:
    """Floats from 0 to 0.1, and zeros for what else there is."""
    import numpy as np

    drawn = np.random.default_rng(0)
    for aval in compiled.signature.in_avals:
        if aval.dtype.kind in "fV":
            yield (0.1 * drawn.random(aval.shape)).astype(aval.dtype)
        else:
            yield np.zeros(aval.shape, aval.dtype)
