"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_cli.bench.statistics import Summary

MILLI, MICRO, MEGA, ONE = (1e3, "ms"), (1e6, "µs"), (1e-6, "MB"), (1.0, "")


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is aligned to the left, the others to the right."""
    rules = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rules, *rows))


def cell(summary: Summary, unit: str, bold: bool = False) -> str:
    """Return the median with its unit, and the quartiles if they differ from it.

    >>> from olympus_cli.bench.statistics import summarize
    >>> cell(summarize([1.0, 2.0, 3.0]), "ms")
    '2.00 ms (1.50 to 2.50)'
    """
    median = f"{number(summary.median)} {unit}".strip()
    text = f"**{median}**" if bold else median
    q1, q3 = number(summary.q1), number(summary.q3)
    return text if q1 == q3 else f"{text} ({q1} to {q3})"


def number(value: float) -> str:
    """Return a number with three significant digits, or rounded to an integer from 100 on.

    >>> [number(x) for x in (0.4567, 0.9999, 12.345, 2048.4, 12.0)]
    ['0.457', '1.00', '12.3', '2048', '12']
    """
    if value >= 100 or value == 0 or (value >= 10 and value.is_integer()):
        return f"{value:.0f}"
    value = float(f"{value:.3g}")
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"
