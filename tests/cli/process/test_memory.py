"""How much memory a process has needed, also where the system does not tell it in a file."""

from __future__ import annotations

import builtins
import io
from typing import Any

import pytest

from olympus_cli.process.memory import peak_memory

MIB = 2**20


def test_it_is_the_most_so_far() -> None:
    before = peak_memory()
    assert before is not None
    content = b"x" * before  # that much again, in use
    del content
    after = peak_memory()
    assert after is not None
    assert after > 1.5 * before


@pytest.mark.parametrize("text", [None, "Name: python\nVmRSS: 7 kB\n"])
def test_the_system_is_asked_where_there_is_no_line_of_it(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(_name: str, **_how: Any) -> io.StringIO:
        if text is None:
            raise FileNotFoundError
        return io.StringIO(text)

    monkeypatch.setattr(builtins, "open", opened)
    most = peak_memory()
    assert most is not None
    assert most > 16 * MIB


def test_a_system_that_does_not_tell_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(builtins, "open", lambda _name, **_how: io.StringIO(""))
    monkeypatch.setattr(resource, "getrusage", lambda _who: type("Usage", (), {"ru_maxrss": 0})())
    assert peak_memory() is None
