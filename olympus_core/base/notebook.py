"""Stages and costs as HTML for notebooks: tables of figures, and the text of a program.

Names in programs are untrusted, so every text is escaped, and nothing is loaded from elsewhere.
The HTML sets no colours: lines have the colour of the surrounding text, in any theme.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.errors import OlympusError

if TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost
    from olympus_core.analysis.memory.memory import Memory
    from olympus_core.stages.interface import Stage
    from olympus_core.xla import Target

_MAX_ARRAYS = 20
_MAX_ROWS = 10
_MAX_LINES = 200
_MAX_LETTERS = 20_000
_LONGEST = 200  # characters of a cell
#: Control characters, and marks of the writing direction (Unicode, UAX #9)
_HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_CELL = "text-align:left"  # notebooks align cells to the right by default
_PRE = "max-height:32em;overflow:auto;margin:4px 0;padding:0;background:none;color:inherit"


def stage_html(
    stage: Stage,
    facts: Sequence[tuple[str, object]],
    texts: Sequence[tuple[str, Callable[[], str]]],
    cost: Callable[[], Cost] | None = None,
    memory: Callable[[], Memory] | None = None,
) -> str:
    """Return a stage as HTML: `facts` with their names, arrays, cost, memory, and foldable `texts`.

    A part that raises an error is replaced by the error's message.
    """
    s = stage.signature
    parts = [_heading(f"{type(stage).__name__} '{stage.fun_name}'")]
    rows = [*facts]
    rows += _arrays("arguments", s.in_avals)
    rows += _arrays("results", s.out_avals)
    parts.append(_table((), rows))
    parts.append(_signature(stage))
    if cost is not None:
        parts.append(_tried(lambda: _figures(cost())))
    if memory is not None:
        parts.append(_tried(lambda: _memory(memory())))
    parts += [_folded(name, make) for name, make in texts]
    return f"<div>{''.join(parts)}</div>"


def cost_html(cost: Cost) -> str:
    """Return the figures of a cost, and its most expensive lines."""
    rows = [
        (row.key, f"{row.flops:,}", f"{row.share:.1%}", _size(row.bytes), f"{row.operations:,}")
        for row in cost.by("line")[:_MAX_ROWS]
    ]
    more = len(cost.by("line")) - len(rows)
    parts = [_heading("Cost"), _figures(cost)]
    parts.append(_table(("line", "flops", "share", "bytes", "operations"), rows))
    if more > 0:
        parts.append(f'<div>... and {more} more: cost.by("line")</div>')
    parts += [f"<div>{_shown(unknown)}</div>" for unknown in cost.unknown[:_MAX_ROWS]]
    return f"<div>{''.join(parts)}</div>"


def _figures(cost: Cost) -> str:
    least = cost.at_least
    names = ("flops", "transcendentals", "bytes", "io_bytes", "operations")
    rows = []
    for name in names:
        known, figure = getattr(cost, name), getattr(least, name)
        text = _size(figure) if name.endswith("bytes") else f"{figure:,}"
        rows.append((name, text if known is not None else f"at least {text}"))
    return _table((), rows)


def _memory(memory: Memory) -> str:
    names = ("temporaries", "constants", "peak", "allocated")
    suffix = " a device" if memory.devices > 1 else ""
    return _table((), [(f"{name}{suffix}", _size(getattr(memory, name))) for name in names])


def target_text(target: Target) -> str:
    """Return a target as the command line writes it.

    >>> target_text(Target("gpu", "h200"))
    'gpu:h200'
    """
    return target.backend if target.device is None else f"{target.backend}:{target.name}"


def _arrays(name: str, avals: Sequence[Any]) -> list[tuple[str, str]]:
    size = sum(aval.size * aval.dtype.itemsize for aval in avals)
    return [(name, f"{len(avals)} ({_size(size)})")]


def _signature(stage: Stage) -> str:
    s = stage.signature
    rows = [
        (name, aval.long_name(), "donated" if i in s.donated else "")
        for i, (name, aval) in enumerate(zip(s.arg_names[:_MAX_ARRAYS], s.in_avals, strict=False))
    ]
    rows += _more("arguments", len(s.in_avals))
    results = stage.result_names[:_MAX_ARRAYS]
    rows += [
        (name, aval.long_name(), "result") for name, aval in zip(results, s.out_avals, strict=False)
    ]
    rows += _more("results", len(s.out_avals))
    return _table(("array", "type", ""), rows)


def _more(what: str, count: int) -> list[tuple[str, str, str]]:
    return [(f"... and {count - _MAX_ARRAYS} more {what}", "", "")] * (count > _MAX_ARRAYS)


def _folded(name: str, make: Callable[[], str]) -> str:
    """Return a text that unfolds under its name, truncated after many lines with a note."""

    def text() -> str:
        whole = make()
        lines = whole.splitlines()
        head = "\n".join(lines[:_MAX_LINES])[:_MAX_LETTERS]
        shown = f'<pre style="{_PRE}">{_shown(head, cut=False)}</pre>'
        if len(head) < len("\n".join(lines)):
            left = len(lines) - head.count("\n") - 1
            shown += f"<div>... cut: {left:,} more lines of {len(lines):,}</div>"
        return shown

    return f"<details><summary>{_shown(name)}</summary>{_tried(text)}</details>"


def _tried(make: Callable[[], str]) -> str:
    """Return the result of `make`, or the message of its error, so that the rest is shown."""
    try:
        return make()
    except OlympusError as error:
        return f"<div>{_shown(error)}</div>"


def _heading(text: str) -> str:
    return f"<div><b>{_shown(text)}</b></div>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f'<th style="{_CELL}">{_shown(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_shown(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    head = f"<tr>{head}</tr>" if head else ""
    return f'<table style="border:none;margin:4px 0">{head}{body}</table>'


def _shown(value: object, cut: bool = True) -> str:
    """Return a text as HTML, with hidden characters as escapes, and a long one truncated."""
    text = _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", str(value))
    return html.escape(f"{text[:_LONGEST]}..." if cut and len(text) > _LONGEST else text)


def _size(size: float | None) -> str:
    """Return a size in bytes, in units of 1024.

    >>> _size(512), _size(1536), _size(None)
    ('512 B', '1.50 KiB', 'unknown')
    """
    if size is None:
        return "unknown"
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:,.2f} {_UNITS[power]}" if power else f"{size} B"
