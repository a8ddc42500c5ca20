"""The text of a comparison: the changes by function and scope, with the lines of both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus_cli.diff.figure_changes import figure_text
from olympus_cli.reports.changes import plain_types, short_name
from olympus_cli.reports.shardings import spoken_name, spoken_value
from olympus_cli.text.units import byte_size, count

#: The maximum number of changes that are shown one by one.
MOST = 100
_MAX_LINES = 10  # source lines whose cost changed

Document = Mapping[str, Any]


def render_comparison(document: Document) -> str:
    """Return the text of a comparison; empty if it has no differences."""
    lines = [*_changes(document)]
    for title, kind in (("options", "options"), ("versions", "versions")):
        if document[kind]:
            lines += ["", title]
            lines += [f"  {each['name']}: {_arrow(each)}" for each in document[kind]]
    if document["figures"]:
        lines += ["", "figures", *_figures(document["figures"])]
    if document["lines"]:
        lines += ["", "cost by line", *_costs(document["lines"])]
    if not lines:
        return ""
    one, other = document["sides"]
    return "\n".join([f"{one['label']} -> {other['label']}", *lines]) + "\n"


def count_changes(changes: Sequence[Document]) -> str:
    """Return the number of changes of each kind: "1 operation changed, 2 operations added"."""
    counted = Counter((each["of"], each["kind"]) for each in changes)
    return ", ".join(
        f"{number} {of}{'s' if number > 1 else ''} {kind}" for (of, kind), number in counted.items()
    )


def grouped(changes: Sequence[Document]) -> dict[str, list[Document]]:
    """Return the changes by heading: the function and regions, and the name scope."""
    found: dict[str, list[Document]] = {}
    for each in changes:
        spot = each["after"] or each["before"] or {"scope": ""}
        scope = f", scope {spot['scope']}" if spot["scope"] else ""
        heading = f"in {each['where']}{scope}" if each["where"] else "arguments and results"
        found.setdefault(heading, []).append(each)
    return found


def _changes(document: Document) -> Iterator[str]:
    changes = document["changes"]
    retyped = [each for each in changes if each["kind"] == "retyped"]
    listed = [each for each in changes if each["kind"] != "retyped"]
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


def change_text(change: Document) -> str:
    """Return the text of a change with the lines of both sides, also for the cases of a gate."""
    return "\n".join(_change_lines(change))


def _change_lines(change: Document) -> Iterator[str]:
    before, after = change["before"], change["after"]
    spots = [spot for spot in (before, after) if spot is not None]
    names = list(dict.fromkeys(short_name(spot["name"]) for spot in spots))
    types = f"  {plain_types(', '.join(spots[-1]['types']))}" if spots else ""
    inside = spots[-1]["operations"] if spots else 0
    within = f", with {inside - 1} inside it" if inside > 1 and change["kind"] != "changed" else ""
    what = "the program" if change["of"] == "program" else " -> ".join(names)
    if change["of"] in ("argument", "result") and not what.startswith(change["of"]):
        what = f"{change['of']} {what}"
    yield f"  {change['kind']:<8} {what}{types}{within}"
    for detail in change["details"]:
        if detail["what"] != "operation":
            yield f"    {spoken_name(detail['what'])}: {_detail(detail)}"
    yield from _lines(before, after)


def _lines(before: Document | None, after: Document | None) -> Iterator[str]:
    """Yield the user's lines on both sides; one line if they are the same."""
    shown = [_line(spot) for spot in (before, after)]
    if shown[0] == shown[1] and shown[0]:
        yield f"      {shown[0]}"
        return
    for sign, line in zip("-+", shown, strict=True):
        if line:
            yield f"    {sign} {line}"


def _line(spot: Document | None) -> str:
    if spot is None or spot["file"] is None:
        return ""
    return f"{spot['file']}:{spot['line']}" + (f"  {spot['text']}" if spot["text"] else "")


def _arrow(each: Document) -> str:
    before, after = (plain_types(each[key] or "none") for key in ("before", "after"))
    return f"{before} -> {after}"


def _detail(detail: Document) -> str:
    sides = (spoken_value(detail["what"], detail[key]) for key in ("before", "after"))
    return " -> ".join(map(plain_types, sides))


def _figures(figures: Sequence[Document]) -> Iterator[str]:
    width = max(len(each["name"]) for each in figures)
    for each in figures:
        before, after, change = figure_text(each)
        ratio = f"  ({change})" if change else ""
        yield f"  {each['name']:<{width}}  {before} -> {after}{ratio}"


def _costs(changes: Sequence[Document]) -> Iterator[str]:
    for each in changes[:_MAX_LINES]:
        place, *figures = cost_cells(each)
        yield f"  {place}" + (f"  {each['text']}" if each["text"] else "")
        yield f"    {', '.join(figure for figure in figures if figure)}"
    if len(changes) > _MAX_LINES:
        yield f"  ... and {len(changes) - _MAX_LINES} more; --json shows all"


def cost_cells(change: Document) -> tuple[str, str, str]:
    """Return the texts of a line with changed cost: the place on both sides, flops and bytes.

    A figure that is the same on both sides is "".
    """
    sides = [change[key] for key in ("before", "after")]
    places = list(dict.fromkeys(side["line"] for side in sides if side))
    flops, sizes = ([side[name] if side else 0 for side in sides] for name in ("flops", "bytes"))
    return (
        " -> ".join(places),
        "" if flops[0] == flops[1] else f"flops {count(flops[0])} -> {count(flops[1])}",
        "" if sizes[0] == sizes[1] else f"bytes {byte_size(sizes[0])} -> {byte_size(sizes[1])}",
    )
