"""The text of a comparison: the changes by function and scope, with the lines of both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from olympus.analysis import Detail
from olympus_cli.diff.comparison import (
    ComparedChange,
    ComparedSpot,
    Comparison,
    FigureChange,
    LineChange,
    ValueChange,
)
from olympus_cli.diff.figure_changes import figure_text
from olympus_cli.reports.changes import plain_types, short_name
from olympus_cli.reports.shardings import spoken_name, spoken_value
from olympus_cli.text.units import byte_size, count

#: The maximum number of changes that are shown one by one.
MOST = 100
_MAX_LINES = 10  # source lines whose cost changed


def render_comparison(comparison: Comparison) -> str:
    """Return the text of a comparison; empty if it has no differences."""
    lines = [*_changes(comparison.changes)]
    for title, values in (("options", comparison.options), ("versions", comparison.versions)):
        if values:
            lines += ["", title]
            lines += [f"  {value.name}: {_arrow(value)}" for value in values]
    if comparison.figures:
        lines += ["", "figures", *_figures(comparison.figures)]
    if comparison.lines:
        lines += ["", "cost by line", *_costs(comparison.lines)]
    if not lines:
        return ""
    one, other = comparison.sides
    return "\n".join([f"{one.label} -> {other.label}", *lines]) + "\n"


def count_changes(changes: Sequence[ComparedChange]) -> str:
    """Return the number of changes of each kind: "1 operation changed, 2 operations added"."""
    counts = Counter((change.role, change.kind) for change in changes)
    return ", ".join(
        f"{number} {role}{'s' if number > 1 else ''} {kind}"
        for (role, kind), number in counts.items()
    )


def grouped(changes: Sequence[ComparedChange]) -> dict[str, list[ComparedChange]]:
    """Return the changes by heading: the function and regions, and the name scope."""
    by_heading: dict[str, list[ComparedChange]] = {}
    for change in changes:
        scope = f", scope {change.spot.scope}" if change.spot and change.spot.scope else ""
        heading = f"in {change.where}{scope}" if change.where else "arguments and results"
        by_heading.setdefault(heading, []).append(change)
    return by_heading


def _changes(changes: Sequence[ComparedChange]) -> Iterator[str]:
    retyped = [change for change in changes if change.kind == "retyped"]
    listed = [change for change in changes if change.kind != "retyped"]
    shown = 0
    for heading, group in grouped(listed).items():
        counted = Counter(map(change_text, group))  # in order of first occurrence
        lines = [*counted.items()][: MOST - shown]
        shown += len(lines)
        if lines:
            yield ""
            yield heading
        for text, times in lines:
            first, _, rest = text.partition("\n")
            yield first + (f"  ({times} times)" if times > 1 else "")
            if rest:
                yield rest
    if shown == MOST:
        yield f"  ... the first {MOST}; --json shows all"
    if retyped:
        yield ""
        many = f"{len(retyped)} operations give" if len(retyped) > 1 else "1 operation gives"
        yield f"{many} another type, as the operands do; the first:"
        yield from _change_lines(retyped[0])
    if changes:
        yield ""
        yield count_changes(changes)


def change_text(change: ComparedChange) -> str:
    """Return the text of a change with the lines of both sides, also for the cases of a gate."""
    return "\n".join(_change_lines(change))


def _change_lines(change: ComparedChange) -> Iterator[str]:
    spots = [spot for spot in (change.before, change.after) if spot is not None]
    names = list(dict.fromkeys(short_name(spot.name) for spot in spots))
    types = f"  {plain_types(', '.join(spots[-1].types))}" if spots else ""
    inside = spots[-1].operations if spots else 0
    within = f", with {inside - 1} inside it" if inside > 1 and change.kind != "changed" else ""
    what = "the program" if change.role == "program" else " -> ".join(names)
    if change.role in ("argument", "result") and not what.startswith(change.role):
        what = f"{change.role} {what}"
    yield f"  {change.kind:<8} {what}{types}{within}"
    for detail in change.details:
        if detail.what != "operation":
            yield f"    {spoken_name(detail.what)}: {_detail(detail)}"
    yield from _lines(change.before, change.after)


def _lines(before: ComparedSpot | None, after: ComparedSpot | None) -> Iterator[str]:
    """Yield the user's lines on both sides; one line if they are the same."""
    shown = [_line(spot) for spot in (before, after)]
    if shown[0] == shown[1] and shown[0]:
        yield f"      {shown[0]}"
        return
    for sign, line in zip("-+", shown, strict=True):
        if line:
            yield f"    {sign} {line}"


def _line(spot: ComparedSpot | None) -> str:
    if spot is None or spot.file is None:
        return ""
    return f"{spot.file}:{spot.line}" + (f"  {spot.text}" if spot.text else "")


def _arrow(value: ValueChange) -> str:
    return " -> ".join(plain_types(text or "none") for text in (value.before, value.after))


def _detail(detail: Detail) -> str:
    sides = (spoken_value(detail.what, text) for text in (detail.before, detail.after))
    return " -> ".join(map(plain_types, sides))


def _figures(figures: Sequence[FigureChange]) -> Iterator[str]:
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        before, after, change = figure_text(figure)
        ratio = f"  ({change})" if change else ""
        yield f"  {figure.name:<{width}}  {before} -> {after}{ratio}"


def _costs(changes: Sequence[LineChange]) -> Iterator[str]:
    for change in changes[:_MAX_LINES]:
        place, *figures = cost_cells(change)
        yield f"  {place}" + (f"  {change.text}" if change.text else "")
        yield f"    {', '.join(figure for figure in figures if figure)}"
    if len(changes) > _MAX_LINES:
        yield f"  ... and {len(changes) - _MAX_LINES} more; --json shows all"


def cost_cells(change: LineChange) -> tuple[str, str, str]:
    """Return the texts of a line with changed cost: the place on both sides, flops and bytes.

    A figure that is the same on both sides is "".
    """
    sides = change.before, change.after
    places = list(dict.fromkeys(side.line for side in sides if side))
    flops = [side.flops if side else 0 for side in sides]
    sizes = [side.bytes if side else 0 for side in sides]
    return (
        " -> ".join(places),
        "" if flops[0] == flops[1] else f"flops {count(flops[0])} -> {count(flops[1])}",
        "" if sizes[0] == sizes[1] else f"bytes {byte_size(sizes[0])} -> {byte_size(sizes[1])}",
    )
