"""The figures of measurements, in the form of the history."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from olympus_cli.bench.measurement import Measured
from olympus_cli.bench.statistics import summarize
from olympus_cli.history.points import Figure, Spread


def measured_figures(measured: Measured) -> Iterator[Figure]:
    """Yield a summary of each metric of a measurement."""
    for name, metric in measured.metrics.items():
        if not metric.samples:
            continue
        summary = summarize(metric.samples)
        yield Figure(
            measured.target, measured.backend, name, metric.unit, summary.median, summary.low,
            summary.high, summary.count, fingerprint=measured.fingerprint,
            spread=sample_spread(metric.samples),
        )  # fmt: skip


def sample_spread(samples: Sequence[float]) -> Spread:
    """Return the spread of at least one sample; that of a single one is 0.

    >>> sample_spread([1.0, 2.0, 3.0]).stddev
    1.0
    """
    summary = summarize(samples)
    deviation = statistics.stdev(samples) if len(samples) > 1 else 0.0
    return Spread(
        statistics.fmean(samples), deviation, min(samples), max(samples), summary.q1, summary.q3
    )
