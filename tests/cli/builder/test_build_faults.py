"""Each call of the system fails in turn during a build; the next build is complete and right."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.builder import failing_build

ROOT = Path(__file__).parents[3]


def calls(folder: Path, error: int, step: int) -> int:
    """Run the builds; return the number of calls that failed in turn."""
    command = [sys.executable, "-m", failing_build.__name__, str(folder), str(error), str(step)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found: int = json.loads(run.stdout)["calls"]
    return found


def test_some_calls_fail(tmp_path: Path) -> None:
    assert calls(tmp_path, errno.ENOSPC, 17) > 20


@pytest.mark.night
@pytest.mark.parametrize("name", ["ENOSPC", "EIO", "EMFILE"])
def test_every_call_fails(name: str, tmp_path: Path) -> None:
    assert calls(tmp_path, getattr(errno, name), 1) > 20
