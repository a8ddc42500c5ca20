"""The outcome of a build for each target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from olympus_cli.faults.failure import Failure
from olympus_cli.reports.build_report import Report

Status = Literal["built", "fresh", "stale", "failed", "skipped"]


@dataclass(frozen=True)
class Outcome:
    """The outcome for one target.

    "stale" is one that was not built because of --frozen, and "skipped" one that was not built
    because another failed and the build ended.

    A target that was built or is fresh has the report on its outputs. It also has a failure if the
    compiler of another of its backends is not installed. `staged` outputs are ready to be
    committed. They are the outputs of a target that was built, or of a fresh one with renewed
    source lines, with the `reason`. `log` is the text that the program printed.
    """

    target: str
    status: Status
    reason: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    log: str = ""
    report: Report | None = None
    staged: bool = False
