"""What a gate found, in one form that every format is written from.

A case is one thing that was judged: a budget's key, a comparison of numbers, a metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Case", "GateReport", "Word"]

#: "failed" is a gate that says no; "error" is a target that could not be judged.
Word = Literal["passed", "failed", "error", "inconclusive", "skipped"]


@dataclass(frozen=True)
class Case:
    """One thing that a gate judged of a target.

    `gate` is the kind of it ("budget", "golden", "verify", "bench", "diff"), `name` says which one.
    `message` says what is wrong, and is empty if nothing is.  `places` are source lines,
    "path/file.py:41", the most important first: an annotation stands there.
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
class GateReport:
    """What a command found: its cases, the tables that a person reads, and the JSON document.

    `tables` are (title, columns, rows).  `document` is what `--output json` writes.  `notes` are
    sentences for a person, such as warnings.
    """

    command: str
    cases: tuple[Case, ...]
    tables: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()
