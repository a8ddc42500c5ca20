"""The peak memory of a process, also if no file of the system has it."""

from __future__ import annotations

import builtins
import io
import subprocess
import sys
from typing import Any

import pytest

from olympus_cli.process.memory import peak_memory

MIB = 2**20


# in a process of its own, because that of the tests has gigabytes
FREED = """
from olympus_cli.process.memory import peak_memory

first = peak_memory()
content = b"x" * first  # as much memory again
del content
print(peak_memory() > 1.5 * first)
"""


def test_the_peak_includes_freed_memory() -> None:
    ran = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stderr


@pytest.mark.parametrize("text", [None, "Name: python\nVmRSS: 7 kB\n"])
def test_getrusage_is_used_without_the_line_of_the_peak(
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


def test_an_unknown_peak_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(builtins, "open", lambda _name, **_how: io.StringIO(""))
    monkeypatch.setattr(resource, "getrusage", lambda _who: type("Usage", (), {"ru_maxrss": 0})())
    assert peak_memory() is None
