"""The trip counts of loops from the user: `solver.py:41=30`, or a table of olympus.toml."""

from __future__ import annotations

import re
from collections.abc import Iterable

from olympus.errors import UsageError
from olympus_cli.spec.section import Section

_LINE = re.compile(r".+:[0-9]+")
_LINE_FORM = "a source line, such as solver.py:41"
_MAX = 10**15  # trips: a larger number is a mistake


def parse_trips(texts: Iterable[str]) -> dict[str, int]:
    """Return the trip counts by source line in `texts` such as "solver.py:41=30".

    Raises:
        UsageError: a text does not have this form, or a line is given twice.

    >>> parse_trips(["solver.py:41=30"])
    {'solver.py:41': 30}
    """
    trips = {}
    for text in texts:
        line, equals, number = text.rpartition("=")
        if not equals or not _LINE.fullmatch(line.strip()):
            raise UsageError(
                f"--trips {text!r} must be FILE:LINE=N", hint="such as --trips solver.py:41=30"
            )
        if not re.fullmatch(r"[0-9]{1,15}", number.strip()):
            needs = "a whole number of trips, of 15 digits at most"
            raise UsageError(f"--trips {text!r}: {number.strip()!r} is not {needs}")
        if line.strip() in trips:
            raise UsageError(f"--trips: the loop at {line.strip()} is given twice")
        trips[line.strip()] = int(number)
    return trips


def trips_of(section: Section) -> dict[str, int]:
    """Return the table `trips` of a target.

    Raises:
        SpecError: a key is not a source line, or a value is not a number of trips.
    """
    table = section.table("trips")
    for line, number in table.data.items():
        if not _LINE.fullmatch(line):
            section.fail("trips", f"has the key {line!r}, which is not {_LINE_FORM}")
        if type(number) is not int or not 0 <= number <= _MAX:
            section.fail("trips", f"must have a whole number for {line}; got {number!r}")
    return dict(table.data)
