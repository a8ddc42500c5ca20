"""The lines of a live view on a terminal: messages above them, narrow terminals, and their end."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from olympus_cli.terminal import console, live
from olympus_cli.terminal.live import LiveView, live_view

_CODE = re.compile(r"\x1b\[(\d*)([AJm])")


class Screen:
    """A terminal that obeys the control sequences of a live view."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        self.size = columns, rows
        self.lines = [""]
        self.row = 0

    def write(self, text: str) -> bool:
        """Show the text, as a terminal would."""
        while text:
            if match := _CODE.match(text):
                self._obey(match.group(2), int(match.group(1) or 1))
                text = text[match.end() :]
                continue
            letter, text = text[0], text[1:]
            if letter == "\n":
                self.row += 1
                self.lines[self.row :] = self.lines[self.row :] or [""]
            elif letter != "\r":
                self.lines[self.row] += letter
                assert len(self.lines[self.row]) <= self.size[0], "the line was folded"
        return True

    def _obey(self, code: str, number: int) -> None:
        if code == "A":
            self.row -= number
            assert self.row >= 0, "the cursor left the terminal"
        elif code == "J":
            self.lines[self.row :] = [""]

    def fold(self, columns: int) -> None:
        """Fold the lines to a narrower terminal; the cursor stays at the start of its line."""
        folded = [
            [line[i : i + columns] for i in range(0, len(line), columns)] or [""]
            for line in self.lines
        ]
        self.row = sum(len(parts) for parts in folded[: self.row])
        self.lines = [part for parts in folded for part in parts]
        self.size = columns, self.size[1]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    shown = Screen(columns=40)
    monkeypatch.setattr(live, "_write", shown.write)
    monkeypatch.setattr(live, "_size", lambda: shown.size)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.delenv("CI", raising=False)
    return shown


@pytest.fixture
def picture() -> Callable[[int, int], Sequence[str]]:
    return lambda columns, rows: ["x" * 100, "second", "third" + "y" * 100][:rows]


def test_a_message_takes_the_place_of_the_lines(
    screen: Screen, picture: Callable[[int, int], Sequence[str]]
) -> None:
    view = LiveView(picture)
    view._draw()
    view._draw()
    assert screen.lines == ["x" * 39, "second", "third" + "y" * 34]
    for text in ("one", "two"):
        with view.erased():
            assert screen.lines[screen.row :] == [""]
            screen.write(f"{text}\n")
    assert screen.lines == ["one", "two", "x" * 39, "second", "third" + "y" * 34]
    view.start()
    view.stop()
    assert screen.lines == ["one", "two", ""]


def test_lines_that_a_narrower_terminal_folds_are_erased(
    screen: Screen, picture: Callable[[int, int], Sequence[str]]
) -> None:
    screen.write("before\n")
    view = LiveView(picture)
    for columns in (30, 7, 100, 6):
        view._draw()
        screen.fold(columns)
    view._draw()
    assert screen.lines == ["befor" + "e", "x" * 5, "secon", "third"]
    screen.size = 40, 2  # only one row is left for the lines
    view._draw()
    assert screen.lines == ["before", "x" * 39]


def test_the_view_ends_with_its_context(
    screen: Screen,
    picture: Callable[[int, int], Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "_DELAY", 0.0)
    with pytest.raises(KeyboardInterrupt), live_view(picture):
        while screen.lines == [""]:
            pass
        raise KeyboardInterrupt
    assert screen.lines == [""]
    assert console._within == []


def test_a_closed_terminal_ends_the_drawing(
    picture: Callable[[int, int], Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_descriptor: int, _content: bytes) -> int:
        raise OSError

    monkeypatch.setattr(os, "write", closed)
    view = LiveView(picture)
    view._draw()
    assert view._end.is_set()


def test_a_forked_process_does_not_draw(
    screen: Screen, picture: Callable[[int, int], Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = LiveView(picture)
    view._draw()
    before = list(screen.lines)
    with view._lock:  # as the thread may have it when the process is forked
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with view.erased():
            assert screen.lines == before


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the threads of views that are started."""
    started: list[str] = []
    monkeypatch.setattr(LiveView, "start", lambda view: started.append(view._thread.name))
    monkeypatch.setattr(LiveView, "stop", lambda _view: None)
    yield started


@pytest.mark.parametrize(
    ("is_terminal", "variables", "shows"),
    [
        (True, {}, True),
        (True, {"CI": "false"}, True),
        (False, {}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"CI": "true"}, False),
        (True, {"CI": "1"}, False),
    ],
)
def test_only_a_terminal_of_a_person_shows_the_lines(
    monkeypatch: pytest.MonkeyPatch,
    drawn: list[str],
    is_terminal: bool,
    variables: dict[str, str],
    shows: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with live_view(lambda _columns, _rows: ["x"]):
        pass
    assert bool(drawn) == shows
