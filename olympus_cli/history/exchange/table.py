"""A history as CSV: a row for each figure, with the facts of its run, without loss.

A table of another origin needs only the columns of `NEEDED`.

Spreadsheets interpret a text that begins with = + - @, a tab or a line break as a formula, and a
branch may have the name `=1+1`. Such a text is written with a ' before it, which reading removes.
https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from olympus.files import parse_json
from olympus_cli.history.exchange.records import point_data, point_of
from olympus_cli.history.points import Figure, Point, Run, Spread
from olympus_cli.text.nearest import did_you_mean

_RUN = tuple(field.name for field in fields(Run))
_FIGURE = tuple(field.name for field in fields(Figure) if field.name != "spread")
_SPREAD = tuple(field.name for field in fields(Spread))
COLUMNS = (*_RUN, *_FIGURE, *_SPREAD)
NEEDED = ("time", "target", "metric", "unit", "value")
_NUMBERS = frozenset(["value", "low", "high", *_SPREAD])
_QUOTE = "'"  # spreadsheets read it as the mark of a text
_QUOTED = ("=", "+", "-", "@", "\t", "\r", "\n", _QUOTE)
#: The number of a unit in one of the history's units.
_PARTS = {"ms": (1e3, "s"), "us": (1e6, "s"), "ns": (1e9, "s")}
_TEXTS = {"backend": "", "command": "import"}  # defaults for a table without these columns


def write_table(points: Iterable[Point]) -> str:
    """Return the text of the file; numbers are written so that reading gives equal numbers."""
    written = io.StringIO()
    # quote all cells: Python 3.11 does not quote a carriage return if lines end with \n
    writer = csv.DictWriter(written, COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    for point in points:
        data = point_data(point)
        cells = {**data["run"], **data["figure"], **(data["figure"]["spread"] or {})}
        cells["versions"] = json.dumps(cells["versions"], sort_keys=True)
        writer.writerow({name: _cell(cells.get(name)) for name in COLUMNS})
    return written.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _QUOTE + value if value.startswith(_QUOTED) else value
    return "" if value is None else repr(value)


def read_table(text: str) -> list[Point]:
    """Return the points of a table.

    Raises:
        ValueError: the table has another form; the message names the place.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = reader.fieldnames or ()
        _check_columns(columns)
        return [_point(row, f"line {reader.line_num}") for row in reader]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} is not CSV: {error}") from error


def _check_columns(columns: Iterable[str]) -> None:
    names = list(columns)
    for name in NEEDED:
        if name not in names:
            raise ValueError(f"it has no column {name!r}; {', '.join(NEEDED)} are needed")
    for name in names:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS, "columns are")
            raise ValueError(f"it has the column {name!r}, which is not known: {hint}")
    if len(set(names)) < len(names):
        raise ValueError("it has a column twice")


def _point(row: Mapping[Any, Any], where: str) -> Point:
    if None in row or None in row.values():
        raise ValueError(f"{where} does not have a cell for each column")
    cells = {name: _value(name, row.get(name, ""), where) for name in COLUMNS}
    for name in NEEDED:
        if cells[name] is None:
            raise ValueError(f"{where} has no {name}")
    if cells["unit"] in _PARTS:
        parts, unit = _PARTS[cells["unit"]]
        scaled = {name: cells[name] / parts for name in _NUMBERS if cells[name] is not None}
        cells |= {**scaled, "unit": unit}
    spread = {name: cells[name] for name in _SPREAD}
    figure = {name: cells[name] for name in _FIGURE}
    has_spread = any(value is not None for value in spread.values())
    figure["spread"] = spread if has_spread else None
    return point_of({"run": {name: cells[name] for name in _RUN}, "figure": figure}, where)


def _value(name: str, text: str, where: str) -> Any:
    if name == "versions":
        return _versions(text, where)
    if not text:
        return _TEXTS.get(name)
    if name == "dirty":
        if text not in ("true", "false"):
            raise ValueError(f"{where}: dirty is {text!r}, and must be true or false")
        return text == "true"
    if name in _NUMBERS or name == "count":
        return _number(name, text, where)
    is_quoted = text.startswith(_QUOTE) and text[1:].startswith(_QUOTED)
    return text[1:] if is_quoted else text


def _number(name: str, text: str, where: str) -> float:
    try:
        number = int(text) if name == "count" else float(text)
    except ValueError:
        raise ValueError(f"{where}: {name} is {text!r:.80}, which is not a number") from None
    if not 0 <= number < math.inf:
        raise ValueError(f"{where}: {name} is {text!r:.80}, which is not a number from 0 on")
    return number


def _versions(text: str, where: str) -> Any:
    try:
        return parse_json(text) if text else {}
    except ValueError as error:
        raise ValueError(f"{where}: versions is not JSON: {error}") from error
