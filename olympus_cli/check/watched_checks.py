"""The checks of the built targets in `olympus build --watch --check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from olympus.errors import GateError, OlympusError
from olympus_cli.builder.folder_locks import FolderLocks
from olympus_cli.builder.outcome import Outcome
from olympus_cli.check.calling import check_targets
from olympus_cli.check.verdicts import broken_message
from olympus_cli.gate_reports.failures import with_target
from olympus_cli.spec.model import TargetSpec
from olympus_cli.terminal import console
from olympus_cli.workers.executor import Limits


class WatchedChecks:
    """The checks after each build: of the targets that changed, or that failed the last check.

    A target without a budget and a golden program is not checked.
    """

    def __init__(self, jobs: int, limits: Limits) -> None:
        self._jobs, self._limits = jobs, limits
        self._passed: dict[str, TargetSpec] = {}

    def due(self, specs: Mapping[str, TargetSpec], outcomes: Sequence[Outcome]) -> list[TargetSpec]:
        """Return the targets to check after a build with these outcomes."""
        due = []
        for outcome in outcomes:
            spec = specs[outcome.target]
            if outcome.failure is not None or not (spec.budget or spec.golden):
                continue
            if outcome.status != "fresh" or self._passed.get(spec.name) != spec:
                due.append(spec)
        return due

    def check(self, specs: Sequence[TargetSpec], verbose: bool) -> int:
        """Check targets and show the errors; return the number of failed targets."""
        failed = 0
        with (
            console.progress("checking", len(specs)) as bar,
            FolderLocks(lambda _folder: None) as locks,
            closing(
                check_targets(specs, False, self._jobs, self._limits, locks, lambda *_: None)
            ) as ends,
        ):
            by_name = {spec.name: spec for spec in specs}
            for end in ends:
                bar.advance()
                self._passed.pop(end.target, None)
                try:
                    if message := broken_message(end.result()):
                        raise GateError(message)
                    self._passed[end.target] = by_name[end.target]
                except GateError as error:
                    failed += 1
                    console.error(error, verbose)
                except OlympusError as error:
                    failed += 1
                    console.report(with_target(end.target, error), verbose)
        return failed
