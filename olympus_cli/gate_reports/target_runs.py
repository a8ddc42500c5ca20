"""Targets that a gate checks one after the other; a failure of one does not stop the others.

Use it as follows:

    target_runs = TargetRuns("check", len(specs))
    for spec in specs:
        with target_runs.of(spec.name):
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
    """The failures of targets: `cases` and `failed` have the targets that could not be checked.

    `gate` is the kind of the cases, and `total` the number of targets.  `seconds` is the time of
    each target.
    """

    def __init__(self, gate: str, total: int) -> None:
        self._gate, self._total = gate, total
        self._errors: list[OlympusError] = []
        self.cases: list[Case] = []
        self.failed: list[FailedTarget] = []
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, target: str, seconds: float = 0.0) -> Iterator[None]:
        """Return a context for the work on a target, which records its failure.

        An exception that is not an OlympusError, such as Ctrl-C, is recorded and raised again.
        `seconds` is the time of the work on the target before the context.
        """
        start = time.monotonic()
        try:
            yield
        except OlympusError as error:
            self._keep(target, Failure.of(error).error())
            self._errors.append(error if self._total == 1 else with_target(target, error))
        except KeyboardInterrupt as error:
            self.interrupted(target, error)
            raise
        except BaseException as error:
            self._keep(target, Failure.of(error).error())
            raise
        finally:
            seconds += time.monotonic() - start
            self.seconds[target] = self.seconds.get(target, 0.0) + seconds

    def _keep(self, target: str, error: OlympusError) -> None:
        self.cases.append(case_of_error(target, self._gate, error))
        self.failed.append(FailedTarget(target, Failure.of(error)))

    def interrupted(self, target: str, error: KeyboardInterrupt) -> None:
        """Record a target that was not judged because of Ctrl-C or SIGTERM."""
        message = OlympusError(interruption_message(error))
        self.cases.append(case_of_error(target, self._gate, message))
        self.failed.append(FailedTarget(target, interruption(error)))

    def add_failure(self, message: str) -> None:
        """Record that a target failed the gate, with a message that names it."""
        self._errors.append(GateError(message))

    def not_judged(self, target: str, error: UsageError, places: tuple[str, ...] = ()) -> None:
        """Record a target that has no rule to check; `error` gives the reason."""
        hint = f"\nhint: {error.hint}" if error.hint else ""
        message = f"{error}{hint}"
        self.cases.append(Case(target, self._gate, "rules", "not judged", message, places))
        self.failed.append(FailedTarget(target, Failure.of(error)))
        self._errors.append(error)

    def raise_failures(self, verbose: bool) -> None:
        """Raise the only recorded error, or report each and raise one for all.

        Raises:
            OlympusError: of the class of the first failure, or GateError.
        """
        raise_all(self._errors, self._total, verbose)
