"""The expected time of a bench, as its first message."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_cli.bench.compare.against import Other
from olympus_cli.bench.compare.attempts import Against
from olympus_cli.bench.compare.rounds import LEAST_PAIRS, Side
from olympus_cli.bench.compare.verdict import MEASUREMENTS
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.text.units import counted

_STORED_MEASUREMENTS = 2  # at most, with a stored baseline


def expected_time(
    works: Sequence[SamplerWork], others: Sequence[Other | None], against: Against
) -> str:
    """Return a sentence: the seconds of measuring within the time limits, and the additional work.

    The time limit applies to a target, or to each side that runs, in one measurement; an undecided
    comparison is measured again. A comparison in turns takes `LEAST_PAIRS` pairs of samples a
    round, even if their calls take longer than the limit.
    """
    least = most = 0.0
    processes = [0, 0]
    for work, other in zip(works, others, strict=True):
        sides = 2 if isinstance(other, Side) else 1
        times = 1 if other is None else MEASUREMENTS if sides == 2 else _STORED_MEASUREMENTS
        limit = sides * work.effort.time_limit
        least, most = least + limit, most + times * limit
        processes[0] += sides * against.processes
        processes[1] += times * sides * against.processes
    pairs = sum(isinstance(other, Side) for other in others) * against.processes
    least_pairs = (
        f"; each of {counted(pairs, 'round')} of a comparison in turns has at least "
        f"{LEAST_PAIRS} pairs of samples, whatever the time limit"
    )
    again = f", or {most:g} s if it is repeated" if most > least else ""
    more = f" to {processes[1]}" if processes[1] > processes[0] else ""
    return (
        f"the measuring of {counted(len(works), 'program')} takes up to {least:g} s{again}; the "
        f"start, imports, compilation and first call of {processes[0]}{more} "
        f"{'process comes' if processes == [1, 1] else 'processes come'} on top"
        + (least_pairs if pairs else "")
    )
