"""Commands end a program whose process uses more memory than `--memory-limit`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Invoke

LARGE = """\
LARGE = bytearray(b"x" * 2_000_000_000)


def f(x):
    import time

    time.sleep(60)
    return x
"""
COMMANDS = [
    "trace",
    "lower",
    "cost",
    "compile",
    "run",
    "report",
    "verify",
    "export",
    "bench",
    "shard",
]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_above_the_limit_is_ended(name: str, folder: Path, invoke: Invoke) -> None:
    (folder / "large.py").write_text(LARGE)
    extra = {
        "export": ["--format", "wheel", "-o", str(folder / "out")],
        "report": ["-o", str(folder / "page.html")],
        "shard": ["--mesh", "data=2"],
    }
    result = invoke(
        *(name, "large.py:f", "--shapes", "f32[2]", "--memory-limit", "1.2GB"),
        *extra.get(name, []),
    )
    assert result.exit_code == 4, result.stderr
    assert "the memory limit of 1.2 GB was exceeded" in result.stderr
