"""What the user sees: data to stdout, talk to stderr.  The only importer of rich, and only when
something is coloured, tabled or in progress, so that `--help` never pays for it.

Names out of bundles and programs are in all that is shown, so everything passes `visible`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from olympus_cli.process import interrupts
from olympus_cli.process.streams import DATA, talk
from olympus_cli.terminal.tables import column_widths, fitted, shortened
from olympus_cli.text.places import quoted
from olympus_cli.text.visible import no_commands, one_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from olympus.errors import InternalError, OlympusError

__all__ = [
    "Bar",
    "can_write",
    "commands",
    "data",
    "defect",
    "error",
    "error_text",
    "folded_title",
    "json_text",
    "note",
    "plain_error",
    "print_json",
    "progress",
    "prose",
    "raw",
    "report",
    "say",
    "stdout_width",
    "table",
    "table_lines",
    "table_text",
    "width",
]

_WIDE = 240  # columns of a table that goes to a file or a pipe: nothing is folded
_SHOW_CURSOR = b"\r\033[2K\033[?25h"  # over the line of the bar
_NARROW = 40  # a terminal narrower than this folds the lines itself, and no column is lost
_DOTS = "\u280b"  # one of the Braille patterns of the spinner
_USUAL = 80  # where a terminal does not say
_BEGINS = re.compile(r" *(?:\S+(?: \S+)* {2,}|- |\S{15} )?")  # where a line's text does


def data(text: str) -> None:
    """Write `text`, and a newline if it ends in none, to stdout."""
    _write(visible(text))


def prose(text: str) -> None:
    """Write lines to stdout; a terminal gets longer ones folded at words, beneath their text.

    COLUMNS of the environment is the width where it is no terminal.
    """
    text = visible(text)
    if _has_width(sys.stdout):
        columns = width()
        text = no_commands("\n".join(_folded(line, columns) for line in text.splitlines()))
    _write(text)


def _folded(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    indent = _indent(line, width)
    lines = textwrap.wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)
    return "\n".join(lines)


def _indent(line: str, width: int) -> int:
    """The indent of the lines that a long line continues in."""
    begins = _BEGINS.match(line)
    return begins.end() if begins is not None and 2 * begins.end() <= width else 2


def folded_title(title: str, width: int) -> str:
    """A title in lines of `width` columns: long names in it are shortened in the middle."""
    if len(title) <= width:
        return title
    room = width - _indent(title, width)
    words = (shortened(word, room) for word in title.split(" "))
    return _folded(" ".join(words), width)


def commands(text: str) -> None:
    """Write lines to stdout that a CI system obeys; what they quote has passed `visible`."""
    _write(text)


def _write(text: str) -> None:
    DATA["written"] = True
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def raw(content: bytes) -> None:
    """Write bytes to stdout."""
    DATA["written"] = True
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def json_text(document: Any) -> str:
    """A JSON document as it is shown; NaN and infinities, which JSON lacks, are refused."""
    return visible(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"


def print_json(document: Any) -> None:
    """Write one JSON document to stdout, as `json_text` has it."""
    text = json_text(document)
    if not can_write(text):  # JSON has escapes of its own
        text = json.dumps(document, indent=2, allow_nan=False)
    data(text)


def can_write(text: str, stream: TextIO | None = None) -> bool:
    """Whether the encoding of `stream`, stdout if absent, has every character of `text`.

    Characters beyond ASCII that a command draws itself, such as those of bars, have an ASCII form
    for a stream without them.
    """
    try:
        text.encode((stream or sys.stdout).encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def say(text: str) -> None:
    """Write a line of talk to stderr."""
    _say(visible(text))


def _say(text: str) -> None:
    with talk():
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def note(text: str) -> None:
    """Write a line of talk to stderr if that is a terminal: what a script need not be told."""
    if sys.stderr.isatty():
        say(f"note: {text}")


def error(problem: OlympusError, verbose: bool = False) -> None:
    """Write an error to stderr, as `error_text` has it; `-v` adds frames."""
    if verbose:
        _frames(problem)
    _say(f"{_red('error')}: {visible(error_text(problem))}")


def error_text(problem: OlympusError) -> str:
    """An error as it is told: the message, the user's own line, the hint."""
    from olympus.errors import TraceError

    message = str(problem)
    lines = [message]
    location = problem.location if isinstance(problem, TraceError) else None
    if location is not None and location not in message:
        lines.append(quoted(location))
    if problem.hint and problem.hint not in message:
        lines.append(f"hint: {problem.hint}")
    return "\n".join(lines)


def plain_error(message: str, hint: str) -> None:
    """Write an error to stderr for which nothing more can be imported."""
    _say(f"{_red('error')}: {visible(message)}\nhint: {hint}")


def report(problem: BaseException, verbose: bool = False) -> int:
    """Write any error to stderr, one of ours on purpose or a defect, and give its exit code."""
    from olympus.errors import InternalError
    from olympus_cli.faults.blame import as_told

    told = as_told(problem)
    if isinstance(told, InternalError):
        defect(told, verbose)
    else:
        error(told, verbose)
    return told.exit_code


def defect(problem: InternalError, verbose: bool = False) -> None:
    """Write to stderr that OLYMPUS itself is wrong, where the user called it, how to report it."""
    from olympus_cli.faults.blame import place_of

    if verbose:
        _frames(problem)
    _say(f"{_red('error')}: {visible(f'this is a defect of olympus: {problem}')}")
    if place := place_of(problem, own_alone=True):
        say(quoted(place))
    say("hint: please report it in the project's issue tracker, with what `olympus doctor` prints")
    if not verbose:
        say("      and the same command's output with -v")


def _frames(problem: Exception) -> None:
    say("".join(traceback.format_exception(problem)).rstrip())


def _red(word: str) -> str:
    plain = (
        not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )
    return word if plain else f"\033[1;31m{word}\033[0m"


def stdout_width() -> int | None:
    """The columns of stdout or COLUMNS; None for a file or a pipe without COLUMNS."""
    return width() if _has_width(sys.stdout) else None


def width() -> int:
    """The columns of what is written to stdout: the terminal's, or many for a file or a pipe.

    COLUMNS of the environment goes before both.
    """
    return max(_columns(sys.stdout), _NARROW) if _has_width(sys.stdout) else _WIDE


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Write a table to stdout; a pipe gets it as wide as it is, a terminal fitted to its width.

    COLUMNS of the environment is the width of either.  `tables.fitted` describes the forms.
    """
    columns, cells, title = _cells(columns, rows, title)
    console = _console(sys.stdout)
    if not _has_width(sys.stdout):
        _write(_rendered(console, columns, cells, title))
        return
    made = fitted(columns, cells, console.width)
    lines = _title_lines(console, title)
    lines += ["", *made.head] if lines and made.head else made.head
    if made.rows:
        lines += _table_lines(console, made.columns, made.rows)
    _write(no_commands("\n".join(lines)))


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """A table of text as `table` writes it to a terminal of a width, without colours."""
    columns, cells, _ = _cells(columns, rows, "")
    made = fitted(columns, cells, width)
    console = _console(io.StringIO(), plain=True)
    console.width = width
    lines = [*made.head]
    if made.rows:
        lines += _table_lines(console, made.columns, made.rows)
    return no_commands("\n".join(lines)).splitlines()


def table_text(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> str:
    """A table as a file has it: without colours, and as wide as it is."""
    return _rendered(_console(io.StringIO(), plain=True), *_cells(columns, rows, title)) + "\n"


def _cells(
    columns: Sequence[str], rows: Sequence[Sequence[object]], title: str
) -> tuple[list[str], list[list[str]], str]:
    cells = [["" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
    return [one_line(column) for column in columns], cells, one_line(title)


def _rendered(
    console: Console, columns: Sequence[str], cells: Sequence[Sequence[str]], title: str
) -> str:
    lines = [*_title_lines(console, title), *_table_lines(console, columns, cells)]
    # a folded cell may begin a line with what is in its middle
    return no_commands("\n".join(lines))


def _title_lines(console: Console, title: str) -> list[str]:
    """The lines of a title: as wide as the terminal, not as the table."""
    if not title:
        return []
    with console.capture() as captured:
        folded = title if console.width == _WIDE else folded_title(title, console.width)
        console.print(_escaped(folded), style="table.title", soft_wrap=True)
    return captured.get().splitlines()


def _table_lines(
    console: Console, columns: Sequence[str], cells: Sequence[Sequence[str]]
) -> list[str]:
    from rich.table import Table

    made = Table(*map(_escaped, columns), box=None, pad_edge=False)
    widths = column_widths([columns, *cells], console.width)
    for i, column in enumerate(made.columns):
        column.overflow = "fold"
        column.width = widths[i] if widths else None
    for row in cells:
        made.add_row(*map(_escaped, row))
    with console.capture() as captured:
        console.print(made)
    return [line.rstrip() for line in captured.get().splitlines()]


def _escaped(cell: str) -> str:
    from rich.markup import escape

    return escape(cell)


def _console(stream: TextIO, plain: bool = False) -> Console:
    from rich.console import Console

    columns = _columns(stream) if _has_width(stream) and not plain else _WIDE
    plain = plain or "NO_COLOR" in os.environ
    return Console(
        file=stream,
        width=max(columns, _NARROW),
        height=25,  # of no effect, but without it rich takes dumb terminals for 80 columns wide
        color_system=None if plain else "auto",
        highlight=False,
        emoji=False,
    )


def _has_width(stream: TextIO) -> bool:
    """Whether what is written there has a width: it is a terminal, or the environment says one."""
    return stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()


def _columns(stream: TextIO) -> int:
    """Those that the environment asks for, or those of the terminal."""
    asked = shutil.get_terminal_size((0, 0)).columns
    try:
        return asked or os.get_terminal_size(stream.fileno()).columns or _USUAL
    except OSError:  # it says of itself that it is one, and has no size
        return _USUAL


class Bar:
    """Progress as a command reports it; without a terminal it does nothing."""

    def __init__(self, shown: Progress | None = None, task: TaskID | None = None) -> None:
        self._shown, self._task = shown, task

    def advance(self, steps: float = 1) -> None:
        """Count `steps` as done."""
        if self._shown is not None and self._task is not None:
            self._shown.advance(self._task, steps)

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        if self._shown is not None and self._task is not None:
            # at once: what is done faster than the bar is drawn would never be named
            self._shown.update(self._task, description=_escaped(one_line(text)), refresh=True)


@contextmanager
def progress(text: str, total: float | None = None) -> Iterator[Bar]:
    """A bar on stderr, gone when done; `total` None for work of unknown length.

    Example: `with progress("building", len(targets)) as bar: bar.advance()`.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Bar()
        return
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    spinner = "dots" if can_write(_DOTS, sys.stderr) else "line"
    columns = (SpinnerColumn(spinner), *Progress.get_default_columns()[:2], TimeElapsedColumn())
    bar = Progress(*columns, console=_console(sys.stderr), transient=True)
    with interrupts.ending_with(_SHOW_CURSOR), bar as shown:
        yield Bar(shown, shown.add_task(_escaped(one_line(text)), total=total))
