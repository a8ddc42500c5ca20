"""Two sides that ran next to each other, sample by sample, as one summary."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_cli.bench.statistics import Summary, summarize

__all__ = ["paired_ratio"]


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Summary:
    """The summary of ours[i] / theirs[i], where sample i of each side ran next to the other.

    A pair shares the machine's load and clock of its moment, so what drifts over a run cancels.
    Raises ValueError where the two sides have different numbers of samples.

    >>> paired_ratio([1.0, 4.0], [2.0, 8.0]).median
    0.5
    """
    return summarize([a / b for a, b in zip(ours, theirs, strict=True)])
