"""Lines at the end of a terminal that are drawn again and again, below the messages of a command.

The cursor stays visible, so that a command that is killed leaves a usable terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread

from olympus_cli.process import interrupts
from olympus_cli.terminal import console

#: A function from the columns and rows of the terminal to the lines to show.
Picture = Callable[[int, int], Sequence[str]]

_PERIOD = 0.1  # seconds between two drawings
_DELAY = 0.3  # seconds before the first one: shorter work shows nothing
_LAST_WORDS = b"\r\033[J"
_BOLD, _PLAIN = "\033[1m", "\033[0m"


class LiveView:
    """The drawn lines, and the thread that draws them.

    A process that is forked meanwhile does not draw.
    """

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._owner = os.getpid()
        self._lengths: list[int] = []  # of the lines on the terminal
        self._lock, self._end = Lock(), Event()
        self._thread = Thread(target=self._run, name="olympus-live-view", daemon=True)

    def start(self) -> None:
        """Start to draw, after a short time."""
        self._thread.start()

    def stop(self) -> None:
        """Erase the lines; nothing is drawn afterwards."""
        self._end.set()
        self._thread.join()
        with self._lock:
            _write(self._erasure())

    @contextmanager
    def erased(self) -> Iterator[None]:
        """A context for a message, which is written in place of the lines."""
        if os.getpid() != self._owner:
            yield
            return
        with self._lock:
            was_drawn = bool(self._lengths)
            _write(self._erasure())
            yield
            if was_drawn and not self._end.is_set():
                self._draw()

    def _run(self) -> None:
        wait = _DELAY
        while not self._end.wait(wait):
            wait = _PERIOD
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        columns, rows = _size()
        # a full line would leave the cursor on the next one in some terminals
        lines = [line[: columns - 1] for line in self._picture(columns, rows)][: max(rows - 1, 1)]
        shown = [f"{_BOLD}{line}{_PLAIN}" if n == 0 else line for n, line in enumerate(lines)]
        text = "\n".join(lines if os.environ.get("NO_COLOR") else shown)
        erasure = self._erasure()
        self._lengths = [len(line) for line in lines]
        if not _write(erasure + text + "\r"):
            self._end.set()

    def _erasure(self) -> str:
        """Return the text that erases the lines, also if a narrower terminal has folded them."""
        if not self._lengths:
            return ""
        columns, _ = _size()
        folded = [max(1, -(-length // columns)) for length in self._lengths]
        # the cursor is at the start of the last line
        up = sum(folded[:-1])
        self._lengths = []
        return "\r" + (f"\033[{up}A" if up else "") + "\033[J"


def _write(text: str) -> bool:
    """Write to the terminal in one step; return False if it is closed."""
    content = text.encode(sys.stderr.encoding or "utf-8", "replace")
    try:
        while content:
            content = content[os.write(2, content) :]
    except OSError:
        return False
    return True


def _size() -> tuple[int, int]:
    """Return the columns and rows of the terminal; a terminal of unknown size has 80 and 24."""
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


@contextmanager
def live_view(picture: Picture) -> Iterator[None]:
    """A context in which the lines of `picture` are shown, if stderr is a terminal for a person.

    Example: `with live_view(lambda columns, rows: [f"{done} of {total}"]): ...`
    """
    if not console.shows_progress():
        yield
        return
    view = LiveView(picture)
    with interrupts.ending_with(_LAST_WORDS), console.messages_within(view.erased):
        try:
            view.start()
            yield
        finally:
            with interrupts.deferred():
                view.stop()
