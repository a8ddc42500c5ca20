"""The model of a history: runs, the figures of each, and programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

#: The units of figures; a "count" has no unit.
UNITS = ("s", "B", "FLOP", "count", "FLOP/s", "B/s", "1/s")

#: The most letters of a name, a time or another text of a figure or a run.
MAX_LETTERS = 1000


def utc_text(time: datetime) -> str:
    """Return a time as the history writes it: in UTC, to the microsecond; texts sort as times.

    >>> utc_text(datetime(2026, 1, 31, 12, 0, tzinfo=UTC))
    '2026-01-31T12:00:00.000000Z'
    """
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


@dataclass(frozen=True)
class Run:
    """One run of a command, and the state of the repository then.

    Times have the form of `utc_text`. `commit`, `commit_time`, `dirty` and `branch` are None if git
    does not report them. `host` is the digest of the kind of machine. `source` is the digest of an
    imported file that has no other identity of its run.
    """

    time: str
    command: str
    commit: str | None = None
    commit_time: str | None = None
    dirty: bool | None = None
    branch: str | None = None
    host: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None

    @property
    def key(self) -> str:
        """The identity of the run, so that the same run is not added again."""
        facts = self.source or json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def moment(self) -> str:
        """The place in the order of the history: the commit's time, or else the run's."""
        return self.commit_time or self.time

    @property
    def label(self) -> str:
        """The label in a plot or of a change: the short commit, or else the day."""
        return self.time[:10] if self.commit is None else self.short_commit

    @property
    def short_commit(self) -> str:
        """The short commit, with "+" for uncommitted changes; "-" without a commit."""
        if self.commit is None:
            return "-"
        return self.commit[:8] + ("+" if self.dirty else "")


@dataclass(frozen=True)
class Spread:
    """The summary of the samples of a figure besides their median, as in files of other tools."""

    mean: float
    stddev: float
    min: float
    max: float
    q1: float
    q3: float


@dataclass(frozen=True)
class Figure:
    """One figure of a target on a backend; for a measured one, the median of `count` samples.

    `count` is None for a counted figure, of which every difference is a change. `low` and `high`
    are the interval of the median. `program` is the digest of the StableHLO, which may be stored,
    and `fingerprint` the structural fingerprint; either may be unknown.
    """

    target: str
    backend: str
    metric: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None
    count: int | None = None
    program: str | None = None
    fingerprint: str | None = None
    spread: Spread | None = None

    @property
    def is_measured(self) -> bool:
        """True for a measurement, which differs from run to run."""
        return self.count is not None


@dataclass(frozen=True)
class Point:
    """A figure and its run."""

    run: Run
    figure: Figure


@dataclass(frozen=True)
class StoredProgram:
    """A program: its StableHLO, and the sources of its operations, as `SourceMap` writes them."""

    digest: str
    stablehlo: bytes
    sources: bytes | None = None

    @staticmethod
    def of(stablehlo: bytes, sources: bytes | None) -> StoredProgram:
        """Return the program of a StableHLO text."""
        return StoredProgram(hashlib.sha256(stablehlo).hexdigest(), stablehlo, sources)
