"""What a gate found, in one form that every format is written from.

A case is one thing that was judged: a budget's key, a comparison of numbers, a metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from olympus.errors import GateError, OlympusError, TraceError

__all__ = [
    "WORDS",
    "Case",
    "GateReport",
    "Remark",
    "Table",
    "Word",
    "case_of_error",
    "place_in",
    "remark",
    "split_place",
]

#: "failed" is a gate that says no; "error" is a target that could not be judged; "not judged" is
#: one that was to be judged and has no rule to judge it by.
Word = Literal["passed", "failed", "error", "not judged", "inconclusive", "skipped"]

#: All verdicts, what asks for a reader first.
WORDS: tuple[Word, ...] = (
    *("error", "failed", "not judged"),
    *("inconclusive", "skipped", "passed"),
)

#: A title, the names of the columns, and the rows.
Table = tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]

_PLACE = re.compile(r"(?P<file>[^\n]+?):(?P<line>[1-9][0-9]{0,8})(?::[0-9]+)?")
_TRAILING = re.compile(r", at ([^\n]+:[1-9][0-9]{0,8})\Z")
_LEADING = re.compile(r"([^\s:][^\n:]*\.\w+:[1-9][0-9]{0,8}(?::[0-9]+)?)(?::|\s|$)")


@dataclass(frozen=True)
class Case:
    """One thing that a gate judged of a target.

    `gate` is the kind of it ("budget", "golden", "verify", "bench", "diff"), `name` says which one.
    `message` says what is wrong, and is empty if nothing is.  `places` are source lines,
    "path/file.py:41", the most important first: an annotation stands there.  A relative path is
    one of the working directory.
    """

    target: str
    gate: str
    name: str
    verdict: Word
    message: str = ""
    places: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True)
class Remark:
    """A sentence that no verdict hangs on, and the places that it is about, as a case has them."""

    text: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class GateReport:
    """What a command found: its cases, the tables that a person reads, and the JSON document.

    `document` is what `--output json` writes.  `warnings` ask a person to do something, and `notes`
    do not.
    `text` is what a person reads instead of the tables, where it is more than these, and
    `text_in` writes it for a terminal of a number of columns.  `seconds` has the time that each
    target took, where it is known.
    """

    command: str
    cases: tuple[Case, ...]
    tables: tuple[Table, ...]
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    warnings: tuple[Remark, ...] = ()
    text: str | None = None
    text_in: Callable[[int], str] | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


def split_place(place: str) -> tuple[str, int] | None:
    """The file and the line of a "path/file.py:41"; None for what is not a place.

    >>> split_place("model.py:41"), split_place("olympus.toml:3:5"), split_place("unknown")
    (('model.py', 41), ('olympus.toml', 3), None)
    """
    found = _PLACE.fullmatch(place)
    return (found["file"], int(found["line"])) if found else None


def place_in(root: Path, place: str) -> tuple[str, ...]:
    """A place that is told from the folder `root`, as a case has it; nothing if it is not one.

    >>> place_in(Path("/home/me"), "model.py:41"), place_in(Path("/home/me"), "unknown")
    (('/home/me/model.py:41',), ())
    """
    found = split_place(place)
    return (f"{root / found[0]}:{found[1]}",) if found else ()


def remark(target: str, text: str, root: Path) -> Remark:
    """A remark on a target, whose text may end in ", at model.py:12", a place told from `root`.

    >>> remark("mlp", "a loop, at model.py:12", Path("/home/me"))
    Remark(text="target 'mlp': a loop, at model.py:12", places=('/home/me/model.py:12',))
    """
    found = _TRAILING.search(text)
    return Remark(f"target {target!r}: {text}", place_in(root, found[1]) if found else ())


def case_of_error(target: str, gate: str, error: OlympusError) -> Case:
    """The case of a target that could not be judged, or of a gate that says no of it as a whole.

    The place is the user's line that the error has, or the one that its message begins with, as
    those about olympus.toml do.
    """
    return Case(
        target,
        gate,
        "run",
        "failed" if isinstance(error, GateError) else "error",
        f"{error}"
        + (f"\nhint: {error.hint}" if error.hint and error.hint not in str(error) else ""),
        place_in(Path(), source_line(error) or ""),
    )


def source_line(error: OlympusError) -> str | None:
    """The "file:line" of an error: the user's line, or that of olympus.toml in its message."""
    leading = _LEADING.match(str(error))
    location = error.location if isinstance(error, TraceError) else None
    return location or (leading[1] if leading else None)
