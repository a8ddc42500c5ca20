"""The samples of a benchmark, and the peak memory of its process."""

from __future__ import annotations

__all__ = ["Samples", "peak_memory"]

#: The samples of each measure, in seconds, bytes or counts.
Samples = dict[str, list[float]]


def peak_memory() -> float:
    """Return the largest resident set of this process so far, in bytes."""
    from olympus_cli.process.memory import peak_memory as most  # imports no framework

    return float(most() or "nan")
