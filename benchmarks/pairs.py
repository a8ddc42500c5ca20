"""The summary of two sides whose samples were measured in pairs."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_cli.bench.statistics import Summary, summarize

__all__ = ["paired_ratio"]


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Summary:
    """Return the summary of ours[i] / theirs[i], where sample i of both sides is one pair.

    A pair has the same load and clock of the machine, so a drift over a run cancels. Raises
    ValueError if the sides have different numbers of samples.

    >>> paired_ratio([1.0, 4.0], [2.0, 8.0]).median
    0.5
    """
    return summarize([a / b for a, b in zip(ours, theirs, strict=True)])
