"""Supervisors that do one job after the other for a pool."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from olympus_cli.process import own_process
from olympus_cli.workers.executor import Limits, Work
from olympus_cli.workers.messages import Channel
from olympus_cli.workers.pool import run_all
from tests.cli.forking import Spawn

#: A command of its own: the test runner has threads, and may not be forked.
COMMAND = """
from olympus_cli.process import own_process
own_process.claim()
from tests.cli.workers import test_slots
test_slots.main({name!r}, {jobs})
"""


def parent(_channel: Channel) -> int:
    return os.getppid()


def killed(_channel: Channel) -> int:
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
    return 0


def left(_channel: Channel) -> int:
    """Start a process with its own session, and leave it."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    return process.pid


def printed(_channel: Channel, text: str) -> str:
    sys.stdout.write(f"{text}\n")
    return text


def exhausted(_channel: Channel) -> int:
    """Close every descriptor of this process except for the streams."""
    os.closerange(3, 100)
    return 0


def works(name: str) -> list[Work]:
    return {
        "same": [Work(n, parent, ()) for n in "abcd"],
        "killed": [Work("a", parent, ()), Work("b", killed, ()), Work("c", parent, ())],
        "left": [Work("a", left, ()), Work("b", parent, ())],
        "prints": [Work(n, printed, (n * 3,)) for n in "abc"],
        "closes": [Work("a", exhausted, ()), Work("b", parent, ())],
        "large": [Work("a", printed, ("x" * 10**7,)), Work("b", parent, ())],
    }[name]


def main(name: str, jobs: int) -> None:
    """Run the works, and print a line for each."""
    with closing(run_all(works(name), jobs, action="works", limits=Limits())) as running:
        for done in running:
            ended, failure = done.ended, done.ended.failure
            text = failure.message if failure is not None else str(ended.data)[:20]
            sys.stdout.write(f"{done.name} {text!r} {ended.output[:20]!r}\n")
    with pytest.raises(ChildProcessError):  # no process is left
        os.waitpid(-1, os.WNOHANG)


def lines(name: str, jobs: int = 1) -> dict[str, list[str]]:
    code = textwrap.dedent(COMMAND).format(name=name, jobs=jobs)
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=120)
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: line.split(" ", 1)[1:] for line in done.stdout.splitlines()}


def test_one_supervisor_does_the_jobs_of_a_slot() -> None:
    assert len({text for (text,) in lines("same").values()}) == 1
    assert len({text for (text,) in lines("same", jobs=2).values()}) == 2


def test_a_killed_supervisor_fails_its_job_and_another_takes_its_place() -> None:
    (first,), (lost,), (last,) = lines("killed").values()
    assert "the process that works was lost: its supervisor was killed" in lost
    assert first != last


def test_a_process_that_a_job_leaves_ends_with_the_job() -> None:
    (pid,), _ = lines("left").values()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.split()[0].strip("'")), 0)


def test_each_job_has_its_own_output_and_descriptors() -> None:
    for name, (text,) in lines("prints").items():
        assert text == f"'{name * 3}' '{name * 3}\\n'"
    (closed,), (after,) = lines("closes").values()
    assert "the process that works ended with exit code 1" in closed
    assert after.split()[0].strip("'").isdigit()


def test_a_job_may_be_large() -> None:
    (text,), (after,) = lines("large").values()
    assert text.startswith("'xxxx")
    assert after.split()[0].strip("'").isdigit()


def test_a_pool_in_a_process_with_threads_has_no_slots(forked: Spawn) -> None:
    assert not own_process.is_own()
    with closing(run_all(works("same"), 1, action="works")) as running:
        assert len({done.ended.data for done in running}) == 4
