"""The lines that `olympus build` writes for its targets, whole or for a width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from olympus_cli.terminal.tables import LEAST_NAME, are_short, shortened
from olympus_cli.text.units import duration

if TYPE_CHECKING:
    from olympus_cli.builder.reasons import Stated
    from olympus_cli.faults.failure import Failure

_NAME = 24  # columns of a target's name, or more if one is longer
_INDENT = " " * 8  # of a second line, under the name
_BESIDE = 17  # columns of the status and the time, beside the name


class TargetOutcome(Protocol):
    """The attributes of an `Outcome` that are shown; one that is fresh by the index has only these.

    They are read-only.
    """

    @property
    def target(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def reasons(self) -> Sequence[Stated]: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def seconds(self) -> float: ...

    @property
    def failure(self) -> Failure | None: ...

    @property
    def warnings(self) -> Sequence[str]: ...

    @property
    def staged(self) -> bool: ...

    @property
    def traced_because(self) -> Sequence[Stated]: ...

    @property
    def unchanged(self) -> str: ...


Built = Sequence[tuple[TargetOutcome, Path]]


def build_text(built: Built, width: int | None = None) -> str:
    """Return a line for each target: its status, name and time, its folder and the reason.

    If a line is longer than `width`, the names are shortened in the middle; if that is not enough,
    the folder and the reason are on lines of their own.
    """
    names = [outcome.target for outcome, _ in built]
    column = max([_NAME, *map(len, names)])
    lines = _whole(built, names, column)
    longest = max(map(len, lines), default=0)
    if width is not None and longest > width:
        lines = _short(built, names, column - (longest - width)) or _folded(built, names, width)
    return "".join(f"{line}\n" for line in lines)


def _whole(built: Built, names: Sequence[str], column: int) -> list[str]:
    """Return one line for each target, with the names in a column of `column` characters."""
    return [
        "  ".join([_head(outcome, name, column), *_rest(outcome, folder)]).rstrip()
        for (outcome, folder), name in zip(built, names, strict=True)
    ]


def _short(built: Built, names: Sequence[str], column: int) -> list[str]:
    """Return one line for each target with shortened names; none if they would be too short."""
    short = [shortened(name, max(column, LEAST_NAME)) for name in names]
    if column < LEAST_NAME or not are_short(names, short):
        return []
    return _whole(built, short, column)


def _folded(built: Built, names: Sequence[str], width: int) -> list[str]:
    """Return each target's name and time, with its folder and reason on lines below."""
    room = max(width - _BESIDE, LEAST_NAME)
    short = [shortened(name, room) for name in names]
    if not are_short(names, short):
        short = list(names)
    column = min(max(_NAME, *map(len, short)), max(room, *map(len, short)))
    lines = []
    for (outcome, folder), name in zip(built, short, strict=True):
        lines.append(_head(outcome, name, column).rstrip())
        rest = _rest(outcome, folder)
        beside = "  ".join(rest)
        fits = len(_INDENT) + len(beside) <= width
        lines += [line for part in ([beside] if fits else rest) for line in _under(part, width)]
    return lines


def _under(text: str, width: int) -> list[str]:
    """Return a text wrapped and indented under a name; words that are too long are shortened."""
    words = (shortened(word, width - len(_INDENT)) for word in text.split(" "))
    return textwrap.wrap(
        " ".join(words),
        width,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )


def _head(outcome: TargetOutcome, name: str, column: int) -> str:
    time = duration(outcome.seconds) if outcome.seconds else ""
    return f"{outcome.status:<7} {name:<{column}} {time:>8}"


def _rest(outcome: TargetOutcome, folder: Path) -> list[str]:
    """Return the folder of a target, and the reason why it was built."""
    parts = [] if outcome.status in ("failed", "skipped") else [str(folder)]
    if outcome.reason and (outcome.status in ("built", "skipped") or outcome.staged):
        parts.append(f"({'; '.join([outcome.reason, *_origins(outcome)])})")
    return parts


def _origins(outcome: TargetOutcome) -> list[str]:
    """Return the stores of the results that a target was built from, if none was compiled."""
    report = getattr(outcome, "report", None)
    if outcome.status != "built" or report is None:
        return []
    from olympus_cli.reports.text import store_of_result  # not for a build in which all is fresh

    origins = [backend.result for backend in report.backends]
    if any(origin.source == "compiled" for origin in origins):
        return []
    return [f"from {' and '.join(dict.fromkeys(map(store_of_result, origins)))}"]
