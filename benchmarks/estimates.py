"""Estimates compared with measured times: the examples, and loops, on this CPU.

The CPU is calibrated first, in the same process, so that both refer to the same machine.
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
    """A target: its estimated and measured seconds, and the bound of most of the estimate."""

    target: str
    estimated: float
    measured: float
    bound: str


def estimates(
    log: Callable[[str], None], short: bool, only: tuple[str, ...] | None = None
) -> list[Row]:
    """Measure each target of the examples for the CPU, and each loop.

    `only` are the names of the measured examples; None is all of them.
    """
    chosen = SHORT if short else only
    import olympus
    from olympus import analysis

    rows = []
    with _own_cache():
        log("calibrating this CPU")
        analysis.keep_peaks(analysis.calibrate())
        for folder in sorted(path.parent for path in EXAMPLES.glob("*/olympus.toml")):
            if chosen is None or folder.name in chosen:
                rows += list(_rows(folder, log))
        for name, (function, *arguments) in loop_programs(short).items():
            log(f"loops: {name}")
            compiled = olympus.jit(function).lower(*arguments).compile()
            rows.append(_row(f"loops: {name}", compiled))
    return rows


@contextmanager
def _own_cache() -> Iterator[None]:
    """Use a temporary cache folder, so that the user's calibration is not replaced."""
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
    """Return the rows as a table."""
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


def _rows(folder: Path, log: Callable[[str], None]) -> Iterator[Row]:
    import olympus
    from olympus_cli.frontends.loading import load_target
    from olympus_cli.spec.project import load_project

    for name, spec in load_project(folder).targets.items():
        if olympus.Target("cpu") not in spec.backends:
            continue
        log(f"{folder.name}: {name}")
        lowered = load_target(spec).trace().lower(repeats=spec.repeats)
        compiled = lowered.compile(spec.compiler_options, optimize=spec.optimize)
        yield _row(f"{folder.name}: {name}", compiled)


def _row(name: str, compiled: Any) -> Row:
    """Return the estimate and the measured time of a program."""
    estimate = compiled.estimate()
    times: dict[str, float] = {}
    for kernel in estimate.kernels:
        times[kernel.bound] = times.get(kernel.bound, 0.0) + kernel.seconds
    bound = max(times, key=times.__getitem__)
    return Row(name, estimate.seconds, _measured(compiled), bound)


def _measured(compiled: Any) -> float:
    """Return the lower quartile of the seconds of a call, as the calibration uses it."""
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
    """Yield arguments: floats from 0 to 0.1, and zeros of other dtypes."""
    import numpy as np

    drawn = np.random.default_rng(0)
    for aval in compiled.signature.in_avals:
        if aval.dtype.kind in "fV":
            yield (0.1 * drawn.random(aval.shape)).astype(aval.dtype)
        else:
            yield np.zeros(aval.shape, aval.dtype)
