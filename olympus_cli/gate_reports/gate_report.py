"""The results of a gate, in the form that every format is rendered from.

A case is one checked thing: a budget's key, a comparison of numbers, a metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from olympus.errors import OlympusError

#: The verdict of a case. "failed" is a failed check; "error" is a target that could not be checked;
#: "not judged" is a target without a rule to check.
Word = Literal["passed", "failed", "error", "not judged", "inconclusive", "skipped"]

#: All verdicts, the most urgent first.
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
    """One thing that a gate checked on a target.

    `gate` is its kind ("budget", "golden", "verify", "bench", "diff"), and `name` its name.
    `message` describes the problem, and is empty without one.  `places` are source lines,
    "path/file.py:41", the most important first, for annotations.  A relative path is relative to
    the working directory.
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
    """A sentence that does not affect a verdict, and its places, as in a case."""

    text: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class GateReport:
    """The results of a command: its cases, tables for people, and the JSON document.

    `document` is the output of `--output json`.  `warnings` need an action of the user; `notes` do
    not. `text`, if given, is shown to people instead of the tables, and `text_in` renders it for a
    terminal with a number of columns.  `seconds` has the time of each target, if known.
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
    """Return the file and the line of a "path/file.py:41"; None for other text.

    >>> split_place("model.py:41"), split_place("olympus.toml:3:5"), split_place("unknown")
    (('model.py', 41), ('olympus.toml', 3), None)
    """
    match = _PLACE.fullmatch(place)
    return (match["file"], int(match["line"])) if match else None


def place_in(root: Path, place: str) -> tuple[str, ...]:
    """Return a place relative to the folder `root` in the form of a case; () for other text.

    >>> place_in(Path("/home/me"), "model.py:41"), place_in(Path("/home/me"), "unknown")
    (('/home/me/model.py:41',), ())
    """
    parts = split_place(place)
    return (f"{root / parts[0]}:{parts[1]}",) if parts else ()


def remark(target: str, text: str, root: Path) -> Remark:
    """Return a remark on a target; `text` may end in ", at model.py:12", relative to `root`.

    >>> remark("mlp", "a loop, at model.py:12", Path("/home/me"))
    Remark(text="target 'mlp': a loop, at model.py:12", places=('/home/me/model.py:12',))
    """
    match = _TRAILING.search(text)
    return Remark(f"target {target!r}: {text}", place_in(root, match[1]) if match else ())


def case_of_error(target: str, gate: str, error: OlympusError) -> Case:
    """Return the case of a target that could not be checked, or that failed a gate as a whole.

    The place is the user's line in the error, or the one at the beginning of its message, as in
    errors about olympus.toml.
    """
    from olympus.errors import GateError  # imports the compiler: only for an error

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
    """Return the "file:line" of an error: the user's line, or the one in its message."""
    from olympus.errors import TraceError  # imports the compiler: only for an error

    leading = _LEADING.match(str(error))
    location = error.location if isinstance(error, TraceError) else None
    return location or (leading[1] if leading else None)
