"""`python -m benchmarks.watch`: the time from a saved file to the end of its watched build.

A project has two small targets, which import a file. `olympus build --watch` builds them and waits.
In each round a comment in the file is changed: both targets are traced, and are fresh. The time
ends at the line that the command prints after the build. It prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.freshness import SHARED, build, prepare, shown
from benchmarks.measure import environment

TARGETS, FILES, ROUNDS = 2, 1, 15
SHORT = 2  # rounds
_PAUSE = 0.2  # seconds before a file is saved: a change at the build's end may count as part of it
_WAITING = "waiting for a change"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the builds and print the table; the exit code is 0."""
    argv = sys.argv[1:] if argv is None else argv
    rounds = SHORT if parser().parse_args(argv).short else ROUNDS
    with TemporaryDirectory(prefix="olympus-watch-") as name:
        folder = Path(name)
        prepare(folder, TARGETS, FILES)
        times = measured(folder, rounds)
    command = shlex.join(["python", "-m", "benchmarks.watch", *argv])
    print(
        f"Measured by `{command}`, on {os.cpu_count()} processors:\n\n"
        "| change | from the saved file to the end of the build |\n| --- | --- |\n"
        f"| a comment in a file that {TARGETS} targets import | {shown(times)}, "
        f"median of {len(times)} |\n",
        end="",
    )
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser("python -m benchmarks.watch", description=__doc__)
    result.add_argument("--short", action="store_true", help=f"{SHORT} rounds")
    return result


def measured(folder: Path, rounds: int) -> list[float]:
    """Return the time of each round in a project, in seconds."""
    times = []
    with subprocess.Popen(
        [*build(), "--watch"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for_build(process, f"{TARGETS} built")
            for number in range(rounds):
                time.sleep(_PAUSE)
                (folder / "new").write_text(f"# comment {number}\n{SHARED}")
                start = time.perf_counter()
                os.replace(folder / "new", folder / "shared.py")
                wait_for_build(process, f"{TARGETS} fresh")
                times.append(time.perf_counter() - start)
        finally:
            process.send_signal(signal.SIGINT)
    return times


def wait_for_build(process: subprocess.Popen[str], result: str) -> None:
    """Wait for the end of a build.

    Raises:
        RuntimeError: the build had another result, or the command ended.
    """
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if _WAITING in line:
            break
    if not lines or not lines[-1].startswith(result):
        raise RuntimeError(f"the build had another result than {result!r}:\n{''.join(lines)}")


if __name__ == "__main__":
    sys.exit(main())
