"""The outcome of a build for each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from olympus_cli.builder.freshness.reads import Reads
from olympus_cli.builder.reasons import Reason, Stated, reasons_text
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
    source lines, with the `reasons`. `log` is the text that the program printed, and `reads` are
    the inputs that it read. A target that is fresh by the index has neither these nor the report.
    With an explanation, `traced_because` are the reasons to trace it, and `unchanged` is the number
    of its inputs by kind if there are none.
    """

    target: str
    status: Status
    reasons: tuple[Stated, ...] = ()
    seconds: float = 0.0
    failure: Failure | None = None
    log: str = ""
    report: Report | None = None
    staged: bool = False
    warnings: tuple[str, ...] = ()
    reads: Reads | None = None
    traced_because: tuple[Stated, ...] = ()
    unchanged: str = ""

    @staticmethod
    def because(target: str, reasons: Sequence[Reason]) -> Outcome:
        """Return the outcome of a target that is stale for these reasons."""
        return Outcome(target, "stale", tuple(map(Stated.of, reasons)))

    @property
    def reason(self) -> str | None:
        """The first reasons as text; None for a target without one."""
        return reasons_text(self.reasons) if self.reasons else None
