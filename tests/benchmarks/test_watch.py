"""The benchmark of watched builds: that it runs, and that another result is an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import watch


@pytest.mark.parametrize(
    ("line", "message"), [("1 failed in 1 s; waiting for a change", "1 failed"), ("", "2 fresh")]
)
def test_another_result_is_an_error(line: str, message: str) -> None:
    command = [sys.executable, "-c", f"import sys; print({line!r}, file=sys.stderr)"]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        pytest.raises(RuntimeError, match=message),
    ):
        watch.wait_for_build(process, "2 fresh")


@pytest.mark.night
def test_a_short_measurement_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch.main(["--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Measured by `python -m benchmarks.watch --short`, on ")
    assert lines[-1].startswith("| a comment in a file that 2 targets import | ")
    assert lines[-1].endswith(" median of 2 |")
