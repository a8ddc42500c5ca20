"""Telling the user about a build: while it goes on, when it is done, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from olympus.errors import FrozenError, OlympusError
from olympus_cli import console
from olympus_cli.builder.driver import Listener
from olympus_cli.builder.outcome import Outcome
from olympus_cli.units import duration

__all__ = ["outcome_data", "outcome_line", "raise_failures", "watching"]


@contextmanager
def watching(targets: int) -> Iterator[Listener]:
    """A listener that shows a bar, and passes on what the programs print."""

    def on_outcome(outcome: Outcome) -> None:
        bar.advance()
        if outcome.log:
            console.say(f"{outcome.target} printed:\n{outcome.log.rstrip()}")

    with console.progress("starting", targets) as bar:
        yield Listener(
            on_wait=lambda root: console.say(f"waiting for another build in {root} to end"),
            on_stage=lambda target, stage: bar.describe(f"{target}: {stage}"),
            on_outcome=on_outcome,
        )


def outcome_line(outcome: Outcome, directory: Path) -> str:
    """One target in one line, with its time, where its outputs are, and why it was built."""
    where = "" if outcome.status == "failed" else f"  {directory}"
    time = duration(outcome.seconds) if outcome.seconds else ""
    why = f"  ({outcome.reason})" if outcome.reason and outcome.status == "built" else ""
    return f"{outcome.status:<7} {outcome.target:<24} {time:>8}{where}{why}".rstrip()


def outcome_data(outcome: Outcome, directory: Path) -> dict[str, Any]:
    """One target as JSON-like data."""
    failure = outcome.failure
    return {
        "target": outcome.target,
        "status": outcome.status,
        "reason": outcome.reason,
        "seconds": outcome.seconds,
        "directory": str(directory),
        "warnings": list(outcome.report.warnings) if outcome.report else [],
        "error": failure
        and {
            "kind": failure.kind,
            "message": failure.message,
            "hint": failure.hint,
            "location": failure.location,
            "exit_code": failure.error().exit_code,
        },
    }


def raise_failures(outcomes: Sequence[Outcome], verbose: bool) -> None:
    """Raise the error of the only target that failed, or one for all, each being told of before.

    Raises:
        FrozenError: a target was not to be built, and should have been.
        OlympusError: of the class of the first failure.
    """
    errors = [_error(outcome) for outcome in outcomes if outcome.failure is not None]
    if len(errors) > 1:
        for error in errors:
            console.report(error, verbose)
        kind, total = type(errors[0]), len(outcomes)
        raise kind(f"{len(errors)} of {total} targets failed")
    if errors:
        raise errors[0]
    stale = [outcome for outcome in outcomes if outcome.status == "stale"]
    if stale:
        told = "; ".join(f"{outcome.target}: {outcome.reason}" for outcome in stale)
        raise FrozenError(f"{len(stale)} of {len(outcomes)} targets would have to be built: {told}")


def _error(outcome: Outcome) -> OlympusError:
    """The failure of a target as an error whose message names it."""
    assert outcome.failure is not None
    error = outcome.failure.error()
    error.args = (f"target {outcome.target!r}: {error}", *error.args[1:])
    return error
