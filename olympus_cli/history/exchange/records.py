"""Conversion of points to the data of untrusted files and back, with checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from olympus.files import typed
from olympus_cli.history.points import MAX_LETTERS, UNITS, Figure, Point, Run, Spread, utc_text


def point_data(point: Point) -> dict[str, Any]:
    """Return JSON-like data of a point, which `point_of` reads."""
    return asdict(point)


def point_of(data: object, where: str) -> Point:
    """Return the point of `data`, which `point_data` returned.

    Raises:
        ValueError: the data has another form; the message names the place.
    """
    return checked(typed(data, Point, where), where)


def checked(point: Point, where: str) -> Point:
    """Return the point, with times in the form of the history.

    Raises:
        ValueError: a name is empty or too long, a unit is unknown, or a time is not valid.
    """
    check_figure(point.figure, where)
    return replace(point, run=checked_run(point.run, where))


def check_figure(figure: Figure, where: str) -> None:
    """Raise ValueError if a name is empty or too long, or the unit is unknown."""
    if figure.unit not in UNITS:
        raise ValueError(
            f"{where} has the unit {figure.unit!r}, which is none of {', '.join(UNITS)}"
        )
    for name in ("target", "metric"):
        if not getattr(figure, name):
            raise ValueError(f"{where} has no {name}")
    _check_lengths(figure, where)
    if figure.count == 0 or (figure.count or 0) > 2**62:
        raise ValueError(f"{where} has a count of {figure.count}")


def checked_run(run: Run, where: str) -> Run:
    """Return the run, with times in the form of the history.

    Raises:
        ValueError: it has no command, a text is too long, or a time is not valid.
    """
    if not run.command:
        raise ValueError(f"{where} has no command")
    _check_lengths(run, where)
    commit_time = None if run.commit_time is None else read_time(run.commit_time, where)
    return replace(run, time=read_time(run.time, where), commit_time=commit_time)


def _check_lengths(part: Figure | Run, where: str) -> None:
    for name, value in vars(part).items():
        if isinstance(value, str) and len(value) > MAX_LETTERS:
            raise ValueError(f"{where} has a {name} of more than {MAX_LETTERS} letters")


def read_time(text: object, where: str) -> str:
    """Return a time in ISO 8601 as the history writes it; one without a zone is in UTC.

    Raises:
        ValueError: it is not such a time.
    """
    try:
        if not isinstance(text, str):
            raise ValueError
        time = datetime.fromisoformat(text)
        return utc_text(time if time.tzinfo else time.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise ValueError(f"{where} has the time {text!r}, which is not one of ISO 8601") from None


def spread_of(figure: Figure) -> Spread | None:
    """Return the spread of the samples of a figure; a single sample has a spread of 0."""
    if figure.spread is None and figure.count == 1:
        return Spread(figure.value, 0.0, *[figure.value] * 4)
    return figure.spread


def new_point(run: Run, facts: Mapping[str, Any], where: str) -> Point:
    """Return a point of a run and the facts of a figure, with the checks of `point_of`.

    Raises:
        ValueError: a fact is wrong.
    """
    usual = {
        "backend": "", "unit": "s", "low": None, "high": None, "count": None, "program": None,
        "fingerprint": None, "spread": None,
    }  # fmt: skip
    return point_of({"run": asdict(run), "figure": {**usual, **facts}}, where)
