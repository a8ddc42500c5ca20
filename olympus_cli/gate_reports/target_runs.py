"""Check the targets of a gate in turn, and continue after a target fails.

Example:

    target_runs = TargetRuns("check", len(specs))
    for spec in specs:
        with target_runs.record(spec.name):
            ...
    target_runs.raise_failures(verbose)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from olympus.errors import GateError, OlympusError, UsageError
from olympus_cli.faults.failure import Failure
from olympus_cli.gate_reports.failures import (
    FailedTarget,
    interruption,
    interruption_message,
    raise_all,
    with_target,
)
from olympus_cli.gate_reports.gate_report import Case, case_of_error


class TargetRuns:
    """The times and the failures of a gate's targets.

    `gate` is the kind of gate, as in `Case`, and `total` the number of targets.  For each target
    that could not be checked, `cases` has a row of the gate report, and `failed` the error.
    `seconds` has the time of each target.
    """

    def __init__(self, gate: str, total: int) -> None:
        self._gate, self._total = gate, total
        self._errors: list[OlympusError] = []
        self.cases: list[Case] = []
        self.failed: list[FailedTarget] = []
        self.seconds: dict[str, float] = {}

    @contextmanager
    def record(self, target: str, seconds: float = 0.0) -> Iterator[None]:
        """Return a context that records the time of a target, and its error if one is raised.

        An OlympusError does not leave the context.  Other exceptions, such as Ctrl-C, are recorded
        and raised again.  `seconds` is the time that the target took before the context.
        """
        start = time.monotonic()
        try:
            yield
        except OlympusError as error:
            self._add(target, Failure.of(error).error())
            self._errors.append(error if self._total == 1 else with_target(target, error))
        except KeyboardInterrupt as error:
            self.add_interruption(target, error)
            raise
        except BaseException as error:
            self._add(target, Failure.of(error).error())
            raise
        finally:
            seconds += time.monotonic() - start
            self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def _add(self, target: str, error: OlympusError) -> None:
        self.cases.append(case_of_error(target, self._gate, error))
        self.failed.append(FailedTarget(target, Failure.of(error)))

    def add_interruption(self, target: str, error: KeyboardInterrupt) -> None:
        """Record that Ctrl-C or SIGTERM stopped the check of a target."""
        message = OlympusError(interruption_message(error))
        self.cases.append(case_of_error(target, self._gate, message))
        self.failed.append(FailedTarget(target, interruption(error)))

    def add_failure(self, message: str) -> None:
        """Record that a target failed the gate; `message` names the target."""
        self._errors.append(GateError(message))

    def add_unchecked(self, target: str, error: UsageError, places: tuple[str, ...] = ()) -> None:
        """Record a target without rules to check, as "not judged"; `error` gives the reason.

        `places` are source lines, as in `Case`.
        """
        hint = f"\nhint: {error.hint}" if error.hint else ""
        message = f"{error}{hint}"
        self.cases.append(Case(target, self._gate, "rules", "not judged", message, places))
        self.failed.append(FailedTarget(target, Failure.of(error)))
        self._errors.append(error)

    def raise_failures(self, verbose: bool) -> None:
        """Raise the recorded error; of several, report each and raise one for all.

        Return if no error was recorded.  Errors of targets that could not be checked are reported
        before the targets that failed the gate.

        Raises:
            OlympusError: of the class of the first reported error.
        """
        raise_all(self._errors, self._total, verbose)
