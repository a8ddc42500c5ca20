"""The processes below a process, and their memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olympus_cli.process import process_tree
from olympus_cli.process.process_tree import (
    children,
    descendants,
    has_process_files,
    proportional_memory,
    resident_memory,
)

_CHILD = """\
import subprocess, sys
content = bytearray(50_000_000)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=sys.stdin)
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(not has_process_files(), reason="reads /proc")
def test_the_memory_of_a_process_and_of_its_children() -> None:
    command = [sys.executable, "-c", _CHILD]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        grandchild = int(process.stdout.readline())
        assert process.pid in children(os.getpid())
        assert grandchild not in children(os.getpid())
        assert descendants(process.pid) == [grandchild]
        assert {process.pid, grandchild} <= set(descendants(os.getpid()))
        own, both = resident_memory([process.pid]), resident_memory([process.pid, grandchild])
        assert 50_000_000 < own < both
        shared_once = proportional_memory([process.pid, grandchild])
        assert shared_once is None or 50_000_000 < shared_once <= both
        process.stdin.close()
    assert resident_memory([process.pid, grandchild]) == 0
    assert proportional_memory([process.pid]) in (0, None)


def test_a_system_that_reports_no_shared_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: object, **_options: object) -> object:
        raise PermissionError

    monkeypatch.setattr(process_tree, "open", refused, raising=False)
    assert proportional_memory([os.getpid()]) is None
    assert resident_memory([os.getpid()]) == 0


def test_the_name_of_a_program_with_parentheses(tmp_path: Path) -> None:
    script = tmp_path / "a) S 1 (b"
    script.write_text("#!/bin/sh\nread line\n")
    script.chmod(0o755)
    with subprocess.Popen([script], stdin=subprocess.PIPE) as process:
        assert process.pid in children(os.getpid())
        assert process.stdin is not None
        process.stdin.close()
