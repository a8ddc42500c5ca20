"""The order in which targets are built, and the memory that they are expected to use.

The targets whose last build took longest are first, so that no long one is left for the end, when
the other workers have nothing to do. A target without a record may take longest of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olympus.files import read_regular
from olympus_cli.reports.json import REPORT

_MAX_BYTES = 2**26  # of a report


@dataclass(frozen=True)
class LastBuild:
    """The time of a target's last build in seconds, and its memory in bytes; None if unknown."""

    seconds: float | None = None
    memory: int | None = None


def last_build(folder: Path) -> LastBuild | None:
    """Return the figures of the build in a folder, from its report; None if it has none.

    Only the two figures are read and checked, because a build reads the reports of all targets.
    """
    try:
        report: Any = json.loads(read_regular(folder / REPORT, _MAX_BYTES))
        seconds = sum(map(float, report["seconds"].values()))
        memory = report["peak_memory"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return LastBuild(_amount(seconds), None if memory is None else _whole(memory))


def _amount(number: object) -> float | None:
    if isinstance(number, int | float) and 0 <= number < math.inf:
        return float(number)
    return None


def _whole(number: object) -> int | None:
    amount = _amount(number)
    return None if amount is None else int(amount)


def longest_first(
    names: Iterable[str], builds: Mapping[str, LastBuild], limit: int | None = None
) -> dict[str, int | None]:
    """Return the names in the order to start, each with the memory to expect, in bytes.

    `builds` are the last builds of the targets that have a record. The others are first, in their
    order, and are expected to use the mean of the known ones. `limit` is the memory limit of each
    target, beyond which it is ended.

    >>> longest_first("abc", {"a": LastBuild(1.0, 10), "b": LastBuild(2.0, 30)})
    {'c': 20, 'b': 30, 'a': 10}
    """
    known = [build.memory for build in builds.values() if build.memory is not None]
    usual = sum(known) // len(known) if known else None
    nothing = LastBuild()

    def duration(name: str) -> float:
        seconds = builds.get(name, nothing).seconds
        return math.inf if seconds is None else seconds

    def memory(name: str) -> int | None:
        last = builds.get(name, nothing).memory
        expected = usual if last is None else last
        return expected if expected is None or limit is None else min(expected, limit)

    return {name: memory(name) for name in sorted(names, key=duration, reverse=True)}
