"""The display of a build for the user: progress, result and failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from olympus.errors import FrozenError
from olympus_cli.builder.driver import Listener
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.progress import Progress
from olympus_cli.gate_reports.failures import raise_all, with_target
from olympus_cli.terminal import console
from olympus_cli.terminal.live import live_view


@contextmanager
def building(
    targets: Collection[str],
    jobs: int,
    meanwhile: Callable[[], None] = lambda: None,
    new: Collection[str] = (),
    *,
    quiet: bool = False,
) -> Iterator[Listener]:
    """A listener that shows the progress of a build, and the printed output of the programs.

    `meanwhile` is called while a target is built and this process only waits: when a target in
    `new` is traced, or when the compiler of another target starts. If `quiet`, only the output of
    failed programs is shown.
    """
    state = Progress(targets, jobs, time.monotonic())

    def on_stage(target: str, stage: str) -> None:
        state.enter(target, stage, time.monotonic())
        if stage.startswith("trace" if target in new else "compile"):
            meanwhile()

    def on_outcome(outcome: Outcome) -> None:
        state.end(outcome)
        if outcome.log and not (quiet and outcome.failure is None):
            console.message(f"{outcome.target} printed:\n{outcome.log.rstrip()}")

    def on_wait(root: Path) -> None:
        if not quiet:
            console.message(f"waiting for another build in {root} to end")

    def on_warning(text: str) -> None:
        if not quiet:
            console.message(f"warning: {text}")

    def on_note(text: str) -> None:
        if not quiet:
            console.message(text)

    def picture(columns: int, rows: int) -> Sequence[str]:
        return state.lines(columns, rows, time.monotonic())

    with nullcontext() if quiet else live_view(picture):
        yield Listener(on_wait, state.estimate_by, on_stage, on_outcome, on_warning, on_note)


def raise_failures(outcomes: Sequence[Outcome], verbose: bool) -> None:
    """Raise the error of the only failed target, or one for all after showing each.

    Raises:
        FrozenError: a target had to be built, but `frozen` was set.
        OlympusError: of the class of the first failure.
    """
    errors = [
        with_target(outcome.target, outcome.failure.error())
        for outcome in outcomes
        if outcome.failure is not None
    ]
    raise_all(errors, len(outcomes), verbose)
    stale = [outcome for outcome in outcomes if outcome.status == "stale"]
    if stale:
        reasons = "; ".join(f"{outcome.target}: {outcome.reason}" for outcome in stale)
        raise FrozenError(
            f"{len(stale)} of {len(outcomes)} targets would have to be built: {reasons}"
        )
