"""Output to the user: data to stdout, messages to stderr.

This is the only module that imports rich.  It does so only for colours, tables and progress, so
that `--help` does not load it.

Any output can contain names from bundles and programs.  Therefore all output passes `visible`.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TextIO

from olympus_cli.process import interrupts
from olympus_cli.process.streams import DATA, message_stream
from olympus_cli.terminal.tables import column_widths, fitted, shortened
from olympus_cli.text.escaping import no_commands, one_line, visible
from olympus_cli.text.paths import quoted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from olympus.errors import InternalError, OlympusError

_WIDE = 240  # columns of a table in a file or a pipe: nothing is folded
_SHOW_CURSOR = b"\r\033[2K\033[?25h"  # clears the line of the bar too
_NARROW = 40  # a narrower terminal folds the lines itself, and no column is lost
_DOTS = "\u280b"  # one of the Braille patterns of the spinner
_USUAL = 80  # columns of a terminal of unknown width
_BEGINS = re.compile(r" *(?:\S+(?: \S+)* {2,}|- |\S{15} )?")  # the prefix before a line's text


def data(text: str) -> None:
    """Write `text` to stdout, with a newline if it does not end with one."""
    _write(visible(text))


def prose(text: str) -> None:
    """Write lines to stdout; on a terminal, long lines are folded at words and indented.

    If stdout is not a terminal, the environment variable COLUMNS, if set, is the width.
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
    """Return the indent of the continuation lines of a long line."""
    begins = _BEGINS.match(line)
    return begins.end() if begins is not None and 2 * begins.end() <= width else 2


def folded_title(title: str, width: int) -> str:
    """Return a title folded to `width` columns; long names in it are shortened in the middle."""
    if len(title) <= width:
        return title
    room = width - _indent(title, width)
    words = (shortened(word, room) for word in title.split(" "))
    return _folded(" ".join(words), width)


def commands(text: str) -> None:
    """Write commands for a CI system to stdout; their quotations must have passed `visible`."""
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
    """Return the text of a JSON document.

    Raises ValueError for NaN and infinities, which JSON lacks.
    """
    return visible(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)) + "\n"


def print_json(document: Any) -> None:
    """Write one JSON document to stdout, in the form of `json_text`."""
    text = json_text(document)
    if not can_write(text):  # JSON has its own escapes
        text = json.dumps(document, indent=2, allow_nan=False)
    data(text)


def can_write(text: str, stream: TextIO | None = None) -> bool:
    """Return True if the encoding of `stream`, by default stdout, has every character of `text`.

    Characters beyond ASCII that a command itself draws, such as bars, have an ASCII form for other
    streams.
    """
    try:
        text.encode((stream or sys.stdout).encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def message(text: str) -> None:
    """Write a message line to stderr."""
    _write_message(visible(text))


_within: list[Callable[[], AbstractContextManager[None]]] = []  # see `messages_within`


@contextmanager
def messages_within(context: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """A context in which each message is written within a new `context()`."""
    _within.append(context)
    try:
        yield
    finally:
        _within.pop()


def _write_message(text: str) -> None:
    with message_stream(), _within[-1]() if _within else nullcontext():
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def note(text: str) -> None:
    """Write a note to stderr if that is a terminal; scripts do not need it."""
    if sys.stderr.isatty():
        message(f"note: {text}")


def error(problem: OlympusError, verbose: bool = False) -> None:
    """Write an error to stderr, in the form of `error_text`; with `verbose`, also its traceback."""
    if verbose:
        _frames(problem)
    _write_message(f"{_red('error')}: {visible(error_text(problem))}")


def error_text(problem: OlympusError) -> str:
    """Return the text of an error: the message, the user's own line, the hint."""
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
    """Write an error to stderr without importing any other module."""
    _write_message(f"{_red('error')}: {visible(message)}\nhint: {hint}")


def report(problem: BaseException, verbose: bool = False) -> int:
    """Write any error to stderr, also a defect of OLYMPUS, and return its exit code."""
    from olympus.errors import InternalError
    from olympus_cli.faults.blame import reportable

    reported = reportable(problem)
    if isinstance(reported, InternalError):
        defect(reported, verbose)
    else:
        error(reported, verbose)
    return reported.exit_code


def defect(problem: InternalError, verbose: bool = False) -> None:
    """Write a defect of OLYMPUS to stderr, with the user's line and a hint to report it."""
    from olympus_cli.faults.blame import place_of

    if verbose:
        _frames(problem)
    _write_message(f"{_red('error')}: {visible(f'this is a defect of olympus: {problem}')}")
    if place := place_of(problem, own_alone=True):
        message(quoted(place))
    message("hint: report it in the project's issue tracker, with the output of `olympus doctor`")
    if not verbose:
        message("      and the output of this command with -v")


def _frames(problem: Exception) -> None:
    message("".join(traceback.format_exception(problem)).rstrip())


def _red(word: str) -> str:
    plain = (
        not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )
    return word if plain else f"\033[1;31m{word}\033[0m"


def stdout_width() -> int | None:
    """Return the columns of stdout, or COLUMNS; None for a file or a pipe without COLUMNS."""
    return width() if _has_width(sys.stdout) else None


def width() -> int:
    """Return the width of output to stdout: the terminal's, or a large one for a file or a pipe.

    The environment variable COLUMNS takes precedence over both.
    """
    return max(_columns(sys.stdout), _NARROW) if _has_width(sys.stdout) else _WIDE


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Write a table to stdout: fitted to the width of a terminal, or unfolded for a pipe.

    The environment variable COLUMNS overrides the width of both.  See the module `tables` for the
    forms of a table.
    """
    columns, cells, title = _cells(columns, rows, title)
    console = _console(sys.stdout)
    if not _has_width(sys.stdout):
        _write(_rendered(console, columns, cells, title))
        return
    form = fitted(columns, cells, console.width)
    lines = _title_lines(console, title)
    lines += ["", *form.head] if lines and form.head else form.head
    if form.rows:
        lines += _table_lines(console, form.columns, form.rows)
    _write(no_commands("\n".join(lines)))


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """Return the lines of a table that `table` writes to a terminal of `width`, without colours."""
    columns, cells, _ = _cells(columns, rows, "")
    form = fitted(columns, cells, width)
    console = _console(io.StringIO(), plain=True)
    console.width = width
    lines = [*form.head]
    if form.rows:
        lines += _table_lines(console, form.columns, form.rows)
    return no_commands("\n".join(lines)).splitlines()


def table_text(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> str:
    """Return the text of a table for a file: without colours and unfolded."""
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
    # a line may begin with the middle of a folded cell
    return no_commands("\n".join(lines))


def _title_lines(console: Console, title: str) -> list[str]:
    """Return the lines of a title, folded to the width of the terminal, not of the table."""
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

    rich_table = Table(*map(_escaped, columns), box=None, pad_edge=False)
    widths = column_widths([columns, *cells], console.width)
    for i, column in enumerate(rich_table.columns):
        column.overflow = "fold"
        column.width = widths[i] if widths else None
    for row in cells:
        rich_table.add_row(*map(_escaped, row))
    with console.capture() as captured:
        console.print(rich_table)
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
        height=25,  # no effect, but without it rich uses 80 columns on dumb terminals
        color_system=None if plain else "auto",
        highlight=False,
        emoji=False,
    )


def _has_width(stream: TextIO) -> bool:
    """Return True if output has a width: `stream` is a terminal, or COLUMNS is set."""
    return stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()


def _columns(stream: TextIO) -> int:
    """Return the columns from COLUMNS, or those of the terminal."""
    columns = shutil.get_terminal_size((0, 0)).columns
    try:
        return columns or os.get_terminal_size(stream.fileno()).columns or _USUAL
    except OSError:  # a stream that claims to be a terminal, without a size
        return _USUAL


class Bar:
    """The progress of a command; without a terminal it is not shown."""

    def __init__(self, shown: Progress | None = None, task: TaskID | None = None) -> None:
        self._shown, self._task = shown, task

    def advance(self, steps: float = 1) -> None:
        """Count `steps` as done."""
        if self._shown is not None and self._task is not None:
            self._shown.advance(self._task, steps)

    def describe(self, text: str) -> None:
        """Show the name of the current work."""
        if self._shown is not None and self._task is not None:
            # draw it now: the name of fast work would never be shown otherwise
            self._shown.update(self._task, description=_escaped(one_line(text)), refresh=True)


def shows_progress() -> bool:
    """Return True if stderr is a terminal that a person looks at, which can move its cursor.

    The environment variable CI, which CI systems set, means that nobody looks at it.
    """
    is_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not is_ci


@contextmanager
def progress(text: str, total: float | None = None) -> Iterator[Bar]:
    """A context with a progress bar on stderr; `total` is None for work of unknown length.

    The bar is removed at the end.

    Example: `with progress("building", len(targets)) as bar: bar.advance()`.
    """
    if not shows_progress():
        yield Bar()
        return
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    spinner = "dots" if can_write(_DOTS, sys.stderr) else "line"
    columns = (SpinnerColumn(spinner), *Progress.get_default_columns()[:2], TimeElapsedColumn())
    bar = Progress(*columns, console=_console(sys.stderr), transient=True)
    with interrupts.ending_with(_SHOW_CURSOR), bar as shown:
        yield Bar(shown, shown.add_task(_escaped(one_line(text)), total=total))
