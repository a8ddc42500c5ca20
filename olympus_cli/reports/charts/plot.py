"""Plots of figures: as text for a terminal, and as an SVG that loads no other files.

A library on the page draws the charts of report.html, since a reader zooms and filters them there
(`reports/html/charts.py`). These plots are for places without a page or scripts: a terminal, a file
in a repository, a summary of a CI job. This module draws the text itself because plotext, the
library for it, has its figure in global state and does not support a terminal without Unicode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import escape

from olympus_cli.reports.charts.axis import Axis, axis_of, plain_number
from olympus_cli.text.escaping import one_line

Text = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """A line of a plot: `ys` over `xs`, with intervals from `low` to `high` if they are known.

    All have the same length; a value that is not finite, or has no logarithm on a logarithmic axis,
    is omitted. `names` are the names of the points, for tooltips.
    """

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class PlotMark:
    """A marked place on the x axis, with a label of one or two words."""

    x: float
    label: str


@dataclass(frozen=True)
class _Point:
    x: float
    y: float
    low: float | None
    high: float | None
    name: str


@dataclass(frozen=True)
class _Frame:
    """The drawn data: the points of each series, and the axes that show all of them."""

    x: Axis
    y: Axis
    points: tuple[tuple[_Point, ...], ...]


@dataclass(frozen=True)
class Plot:
    """Series with a title and the names of the axes, `x` and `y`, for either form.

    `x_text` and `y_text` format the values of the axes, which may be logarithmic.

    Example:
      >>> print(Plot([Series("a", [1, 2], [3, 4])], title="t", x="run", y="s").text(height=5))
    """

    series: Sequence[Series]
    title: str
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    marks: Sequence[PlotMark] = ()
    x_text: Text = plain_number
    y_text: Text = plain_number

    def text(self, width: int = 80, height: int = 16, *, only_ascii: bool = False) -> str:
        """Return the plot as text, `width` columns wide, with `height` lines for the points.

        Lines between points consist of Braille dots, or of full stops if `only_ascii`.
        """
        frame = self._framed()
        title, x, y = one_line(self.title), one_line(self.x), one_line(self.y)
        if frame is None:
            return f"{title}\n  no values to plot\n"
        ticks = frame.y.ticks(max(2, height // 3))
        margin = max([len(text) for _, text in ticks], default=0) + 1
        columns = max(width - margin - 1, 10)
        canvas = _Canvas(columns, height, only_ascii)
        _draw(canvas, frame, self.marks)
        rows = {canvas.row(frame.y.place(value)): text for value, text in ticks}
        numbers = "".join(_numbers(frame.x, columns, self.marks))
        lines = [title, f"{y:<{margin + 1}}{numbers}".rstrip()]
        for number, line in enumerate(canvas.lines()):
            label = rows.get(number, "")
            lines.append(f"{label:>{margin}}{'+' if label else '|'}{line}".rstrip())
        lines += _x_lines(frame.x, margin, columns, x)
        lines += _key(self.series, self.marks)
        return "\n".join(lines) + "\n"

    def svg(self, width: int = 760, height: int = 380) -> str:
        """Return the plot as an SVG, which loads no files and has the theme of its viewer or page.

        `width` and `height` are in pixels; the picture is at most as wide as its container, and its
        text is larger on a phone.
        """
        frame, marks, title = self._framed(), self.marks, self.title
        keys = [series.label for series in self.series] if len(self.series) > 1 else []
        bottom = _BOTTOM + _KEY * (len(keys) + len(marks))
        field = _Field(_LEFT, _TOP, width - _RIGHT, height - _BOTTOM)
        total = height - _BOTTOM + bottom
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="olympus-plot" role="img" '
            f'viewBox="0 0 {width} {total}" width="{width}" height="{total}">',
            f"<title>{_words(title)}</title>",
            f"<style>{_style(width, len(title))}</style>",
            f'<rect class="page" width="{width}" height="{total}"/>',
            _label(16, 26, title, "title", "start"),
        ]
        if frame is None:
            nothing = "no values to plot"
            parts.append(_label(width / 2, height / 2, nothing, "dim", "middle"))
        else:
            parts += _axes(frame, field, self.x, self.y)
            parts += _mark_lines(frame, field, marks)
            for number, points in enumerate(frame.points):
                parts += _line(points, frame, field, f"s{number % len(_COLORS)}")
            parts += _svg_key(keys, marks, field)
        return "\n".join([*parts, "</svg>", ""])

    def _framed(self) -> _Frame | None:
        points = tuple(tuple(_points(series, self.log_x, self.log_y)) for series in self.series)
        drawn = [p for series in points for p in series]
        xs = [p.x for p in drawn]
        if drawn:
            xs += [mark.x for mark in self.marks]
        x = axis_of(xs, self.x_text, log=self.log_x)
        ends = (value for p in drawn for value in (p.low, p.y, p.high) if value is not None)
        y = axis_of(ends, self.y_text, log=self.log_y)
        return None if x is None or y is None else _Frame(x, y, points)


_SIGNS = "ox*#@%&="  # the signs of the points of each series


class _Canvas:
    """A field of characters, each with a grid of dots: 2 x 4 in Braille."""

    def __init__(self, columns: int, rows: int, only_ascii: bool) -> None:
        self._across, self._down = (1, 1) if only_ascii else (2, 4)
        self._columns, self._rows = columns, rows
        self._dots: dict[tuple[int, int], int] = {}
        self._signs: dict[tuple[int, int], str] = {}

    def row(self, place: float) -> int:
        """Return the line of characters, from the top, of a place on the y axis."""
        return self._down_to(place) // self._down

    def _down_to(self, place: float) -> int:
        return round((1 - place) * (self._rows * self._down - 1))

    def _right_to(self, place: float) -> int:
        return round(place * (self._columns * self._across - 1))

    def sign(self, x: float, y: float, sign: str) -> None:
        """Write a sign at a place on both axes."""
        self._signs[self.row(y), self._right_to(x) // self._across] = sign

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw dots from one place to another."""
        (x0, y0), (x1, y1) = ((self._right_to(x), self._down_to(y)) for x, y in (start, end))
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for step in range(steps + 1):
            self._dot(x0 + round(step * (x1 - x0) / steps), y0 + round(step * (y1 - y0) / steps))

    def _dot(self, across: int, down: int) -> None:
        column, inner_column = divmod(across, self._across)
        row, inner_row = divmod(down, self._down)
        # Braille dots are numbered 1 2 3 7 and 4 5 6 8, downward (Unicode 15, 21.1)
        bit = ((0, 1, 2, 6), (3, 4, 5, 7))[inner_column][inner_row]
        key = row, column
        self._dots[key] = self._dots.get(key, 0) | 1 << bit

    def lines(self) -> Iterator[str]:
        """Yield the lines of characters, from the top."""
        for row in range(self._rows):
            yield "".join(self._character(row, column) for column in range(self._columns))

    def _character(self, row: int, column: int) -> str:
        if sign := self._signs.get((row, column)):
            return sign
        dots = self._dots.get((row, column))
        if dots is None:
            return " "
        return "." if self._across == 1 else chr(0x2800 + dots)


def _draw(canvas: _Canvas, frame: _Frame, marks: Sequence[PlotMark]) -> None:
    for mark in marks:
        canvas.line((frame.x.place(mark.x), 0.0), (frame.x.place(mark.x), 1.0))
    for points in frame.points:
        places = [(frame.x.place(p.x), frame.y.place(p.y)) for p in points]
        for start, end in pairwise(places):
            canvas.line(start, end)
        for (across, _), p in zip(places, points, strict=True):
            if p.low is not None and p.high is not None:
                canvas.line((across, frame.y.place(p.low)), (across, frame.y.place(p.high)))
    for number, points in enumerate(frame.points):
        for p in points:
            canvas.sign(frame.x.place(p.x), frame.y.place(p.y), _SIGNS[number % len(_SIGNS)])


def _numbers(axis: Axis, columns: int, marks: Sequence[PlotMark]) -> list[str]:
    """Return the line above the field, with the number of each mark over its place."""
    line = [" "] * columns
    for number, mark in enumerate(marks, 1):
        line[round(axis.place(mark.x) * (columns - 1))] = str(number % 10)
    return line


def _x_lines(axis: Axis, margin: int, columns: int, name: str) -> Iterator[str]:
    """Yield the line of the x axis, its labels without overlaps, and its name."""
    line, labels, free = ["-"] * columns, [" "] * columns, 0
    for value, text in axis.ticks(max(2, columns // 12)):
        column = round(axis.place(value) * (columns - 1))
        start = max(0, min(column - len(text) // 2, columns - len(text)))
        if start < free or len(text) > columns:
            continue
        line[column] = "+"
        labels[start : start + len(text)] = text
        free = start + len(text) + 2
    yield f"{'':>{margin}}+{''.join(line)}"
    yield f"{'':>{margin}} {''.join(labels)}".rstrip()
    yield f"{'':>{margin}} {name[:columns]:^{columns}}".rstrip()


def _key(series: Sequence[Series], marks: Sequence[PlotMark]) -> Iterator[str]:
    if len(series) > 1:
        for number, line in enumerate(series):
            yield f"  {_SIGNS[number % len(_SIGNS)]}  {one_line(line.label)}"
    for number, mark in enumerate(marks, 1):
        yield f"  {number % 10}  {one_line(mark.label)}"


def _points(series: Series, log_x: bool, log_y: bool) -> Iterator[_Point]:
    count = len(series.xs)
    lows, highs = series.low or [None] * count, series.high or [None] * count
    names = series.names or [""] * count
    for x, y, low, high, name in zip(series.xs, series.ys, lows, highs, names, strict=True):
        if _is_shown(x, log_x) and _is_shown(y, log_y):
            has_ends = all(end is not None and _is_shown(end, log_y) for end in (low, high))
            yield _Point(x, y, low if has_ends else None, high if has_ends else None, name)


def _is_shown(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


# Colours that are distinct in both themes, and for colour-blind people (Okabe and Ito, Color
# Universal Design, 2008), darker on light and lighter on dark.
_COLORS = (
    ("#0b62a8", "#6cb6f5"),
    ("#b3520a", "#f0a35e"),
    ("#00775a", "#4fd0ab"),
    ("#a03f7f", "#e79ccb"),
    ("#7a6400", "#dcc94c"),
    ("#5b5fc7", "#a9acf5"),
)
_THEME = {
    "page": ("#ffffff", "#1d2024"),
    "text": ("#1c1e21", "#e4e6e9"),
    "dim": ("#62676e", "#9aa1aa"),
    "line": ("#e4e4e0", "#32363c"),
    "mark": ("#b42318", "#f08a7d"),
}
_LEFT, _RIGHT, _TOP, _BOTTOM = 124, 20, 64, 62  # the margins of the field of the points
_LETTER = 0.66  # the width of a bold letter, relative to its size
_KEY = 22  # the height of a line of the key


@dataclass(frozen=True)
class _Field:
    """The rectangle of the points, in pixels from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, place: float) -> float:
        return round(self.left + place * (self.right - self.left), 2)

    def y(self, place: float) -> float:
        return round(self.bottom - place * (self.bottom - self.top), 2)


def _words(text: str) -> str:
    return str(escape(one_line(text)))


def _label(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{_words(text)}</text>'


def _style(width: int, letters: int) -> str:
    """Return the styles: the colours in both themes, or the light one in viewers without themes.

    On a phone the text is larger; a title of `letters` letters, as far as it fits.
    """
    title = min(22, round((width - 32) / (_LETTER * max(letters, 1)), 1))
    colors = {**_THEME, **{f"s{number}": color for number, color in enumerate(_COLORS)}}
    plain = "".join(f"--{name}:{light};" for name, (light, _) in colors.items())
    both = "".join(f"--{name}:light-dark({one},{other});" for name, (one, other) in colors.items())
    lines = "".join(
        f".olympus-plot .s{n}{{stroke:var(--s{n});fill:var(--s{n})}}" for n in range(len(_COLORS))
    )
    return (
        "svg.olympus-plot:root{color-scheme:light dark}"
        f".olympus-plot{{{plain}max-width:100%;height:auto}}"
        f"@supports (color:light-dark(red,red)){{.olympus-plot{{{both}}}}}"
        ".olympus-plot text{font:13px system-ui,'Segoe UI',Roboto,Arial,sans-serif;"
        "fill:var(--text);stroke:none}"
        ".olympus-plot .title{font-size:15px;font-weight:600}"
        ".olympus-plot .dim{fill:var(--dim)}"
        ".olympus-plot .page{fill:var(--page)}"
        ".olympus-plot .grid{stroke:var(--line);stroke-width:1;fill:none}"
        ".olympus-plot .mark{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:4 3}"
        ".olympus-plot text.marked{fill:var(--mark);font-weight:600}"
        ".olympus-plot polyline{fill:none!important;stroke-width:2;stroke-linejoin:round}"
        f"{lines}"
        "@media (max-width:520px){.olympus-plot text{font-size:21px}"
        f".olympus-plot .title{{font-size:{title}px}}.olympus-plot .odd{{display:none}}}}"
    )


def _axes(frame: _Frame, field: _Field, x: str, y: str) -> Iterator[str]:
    for value, text in frame.y.ticks(6):
        at = field.y(frame.y.place(value))
        yield f'<path class="grid" d="M{field.left} {at}H{field.right}"/>'
        yield _label(field.left - 8, at + 4, text, "dim", "end")
    ticks = frame.x.ticks(8)
    for number, (value, text) in enumerate(ticks):
        at, is_odd = field.x(frame.x.place(value)), number % 2 and len(ticks) > 4
        yield f'<path class="grid" d="M{at} {field.bottom}v5"/>'
        yield _label(at, field.bottom + 20, text, "dim odd" if is_odd else "dim", "middle")
    yield f'<path class="grid" d="M{field.left} {field.top}V{field.bottom}H{field.right}"/>'
    yield _label((field.left + field.right) / 2, field.bottom + 44, x, "dim", "middle")
    yield _label(field.left - 8, field.top - 8, y, "dim", "end")


def _mark_lines(frame: _Frame, field: _Field, marks: Sequence[PlotMark]) -> Iterator[str]:
    for number, mark in enumerate(marks, 1):
        at = field.x(frame.x.place(mark.x))
        yield f'<path class="mark" d="M{at} {field.top}V{field.bottom}"/>'
        yield _label(at, field.top - 4, str(number), "marked", "middle")


def _line(points: Sequence[_Point], frame: _Frame, field: _Field, kind: str) -> Iterator[str]:
    places = [(field.x(frame.x.place(p.x)), field.y(frame.y.place(p.y))) for p in points]
    yield f'<polyline class="{kind}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>'
    for (x, y), p in zip(places, points, strict=True):
        if p.low is not None and p.high is not None:
            ends = field.y(frame.y.place(p.low)), field.y(frame.y.place(p.high))
            yield f'<path class="{kind}" d="M{x} {ends[0]}V{ends[1]}" opacity="0.45"/>'
        text = f"{p.name or frame.x.text(p.x)}: {frame.y.text(p.y)}"
        yield f'<circle class="{kind}" cx="{x}" cy="{y}" r="3.5">'
        yield f"<title>{_words(text)}</title></circle>"


def _svg_key(keys: Sequence[str], marks: Sequence[PlotMark], field: _Field) -> Iterator[str]:
    at = field.bottom + _BOTTOM
    for number, label in enumerate(keys):
        kind = f"s{number % len(_COLORS)}"
        yield f'<circle class="{kind}" cx="{field.left + 5}" cy="{at - 4}" r="5"/>'
        yield _label(field.left + 18, at, label, "key", "start")
        at += _KEY
    for number, mark in enumerate(marks, 1):
        yield _label(field.left + 5, at, str(number), "marked", "middle")
        yield _label(field.left + 18, at, mark.label, "key", "start")
        at += _KEY
