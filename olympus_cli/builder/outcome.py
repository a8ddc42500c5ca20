"""What became of each target of a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from olympus_cli.faults.failure import Failure
from olympus_cli.reports.model import Report

__all__ = ["Outcome", "Status"]

Status = Literal["built", "fresh", "stale", "failed"]


@dataclass(frozen=True)
class Outcome:
    """What became of one target; "stale" is one that --frozen kept from being built.

    One that was built, or is fresh, has the report on its outputs.  It has a failure too if the
    compiler of another of its backends is not here.  `staged` outputs are to be put in place: those
    of one that was built, or of a fresh one whose source lines were renewed.
    """

    target: str
    status: Status
    reason: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    log: str = ""
    report: Report | None = None
    staged: bool = False
