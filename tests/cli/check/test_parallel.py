"""`olympus check` checks targets in parallel, each in one process that traces it once."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from olympus_cli.builder.folder_locks import FolderLocks
from olympus_cli.builder.output_place import locked
from olympus_cli.check.calling import CheckEnd
from olympus_cli.commands import check
from olympus_cli.process.interrupts import Terminated
from olympus_cli.workers import pool
from olympus_cli.workers.call import Ended, Isolated
from tests.cli.conftest import Invoke

PROGRAM = """\
import olympus.numpy as np


def f(x):
    with open("traced", "a") as file:
        file.write("f")
    print("traced", x.shape)
    return np.sin(x)
"""

TARGETS = "".join(
    f"""\
[target.t{i}]
entry = "program.py:f"
args = ["f32[{i + 2}]"]
[target.t{i}.budget]
peak-memory = "1 GiB"
"""
    for i in range(3)
)


class Counted:
    """The numbers of workers: `started` in total, `most` at a time, and `quiet` of each."""

    def __init__(self) -> None:
        self.started = self.running = self.most = 0
        self.quiet: list[bool] = []


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()

    class Worker(Isolated):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            counted.quiet.append(named["quiet"])
            counted.started += 1
            counted.running += 1
            counted.most = max(counted.most, counted.running)

        def look(self) -> Ended | None:
            ended = super().look()
            counted.running -= ended is not None
            return ended

    monkeypatch.setattr(pool, "Isolated", Worker)
    return counted


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TARGETS)
    return folder


def bundles(folder: Path) -> dict[str, int]:
    """The write times of the bundles."""
    paths = (folder / "build").glob("*/*.olympus")
    return {path.stem: path.stat().st_mtime_ns for path in paths}


def traces(folder: Path) -> int:
    """The number of traces since the last call."""
    file = folder / "traced"
    count = len(file.read_text()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return count


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_stale_or_fresh_target_is_traced_once(
    work: Path, invoke: Invoke, workers: Counted, jobs: int
) -> None:
    result = invoke("check", "-j", str(jobs))
    assert result.exit_code == 0, result.output
    assert (workers.started, workers.most, traces(work)) == (3, jobs, 3)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["t0", "t1", "t2"]
    built = bundles(work)
    assert built.keys() == {"t0", "t1", "t2"}
    assert not list((work / "build").glob(".olympus-*"))
    assert invoke("check", "-j", str(jobs)).exit_code == 0
    assert (workers.started, traces(work)) == (6, 3)
    assert bundles(work) == built  # all are fresh


def test_the_default_number_of_jobs_is_as_for_a_build(
    work: Path, invoke: Invoke, workers: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {3, 5}, raising=False)
    assert invoke("check").exit_code == 0
    assert workers.most == 2


def test_output_of_several_programs_is_not_mixed(
    work: Path, invoke: Invoke, workers: Counted
) -> None:
    stderr = invoke("check").stderr
    assert "t0 printed:\ntraced (2,)\nt1 printed:\ntraced (3,)\nt2 printed:\n" in stderr
    invoke("check", "t1")
    # the output of a single program goes to the terminal
    assert workers.quiet == [True, True, True, False]


def test_checks_of_other_targets_run_if_one_fails(
    work: Path, invoke: Invoke, workers: Counted
) -> None:
    text = TARGETS.replace("program.py:f", "program.py:missing", 1)
    (work / "olympus.toml").write_text(text)
    result = invoke("check")
    assert result.exit_code == 2, result.output
    assert result.stderr.count("missing") == 1, result.stderr
    assert (workers.started, traces(work)) == (3, 2)
    assert bundles(work).keys() == {"t1", "t2"}


def test_figures_are_saved_in_the_order_of_the_targets(work: Path, invoke: Invoke) -> None:
    result = invoke("check", "--update")
    assert result.exit_code == 0, result.output
    wrote = [line for line in result.stderr.splitlines() if line.startswith("wrote")]
    assert wrote == [f"wrote goldens/t{i}.figures.json" for i in range(3)]


@pytest.mark.parametrize(
    ("error", "kind", "message", "code"),
    [
        (KeyboardInterrupt(), "Interrupted", "it was interrupted", 130),
        (Terminated(), "Terminated", "it was terminated", 143),
    ],
)
def test_an_interrupted_check_reports_the_finished_targets(
    work: Path,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    error: KeyboardInterrupt,
    kind: str,
    message: str,
    code: int,
) -> None:
    check_targets = check.check_targets

    def interrupted(specs: Any, *arguments: Any) -> Generator[CheckEnd, None, None]:
        yield from check_targets([specs[1]], *arguments)
        raise error

    monkeypatch.setattr(check, "check_targets", interrupted)
    result = invoke("check", "--json")
    assert result.exit_code == code, result.output
    document = json.loads(result.stdout)
    assert [target["target"] for target in document["targets"]] == ["t1"]
    expected = {"kind": kind, "message": message, "hint": None, "location": None}
    assert document["failed"] == [
        {"target": name, "error": {**expected, "exit_code": code}} for name in ("t0", "t2")
    ]


def test_all_workers_share_the_lock_of_a_folder(tmp_path: Path) -> None:
    waits: list[Path] = []
    with FolderLocks(waits.append) as locks:
        assert locks.answer("a", [str(tmp_path / "a"), None]) is None
        assert locks.answer("b", [str(tmp_path / "b"), 0]) is None
        refused = locks.answer("c", [str(tmp_path / "a"), None])
        assert (refused["kind"], "is the folder of target 'a'" in refused["message"]) == (
            "UsageError",
            True,
        )
        with pytest.raises(Exception, match="another build"), locked(tmp_path, time_limit=0):
            pass
    with locked(tmp_path, time_limit=0), FolderLocks(waits.append) as locks:
        assert locks.answer("a", [str(tmp_path / "a"), 0])["kind"] == "CompileError"
    assert waits == [tmp_path]


def test_two_targets_with_one_folder_are_both_checked(work: Path, invoke: Invoke) -> None:
    (work / "build").mkdir()
    (work / "build/t1").symlink_to("t0")
    result = invoke("check", "-j", "2")
    assert result.exit_code == 0, result.output
    assert len(bundles(work).keys() & {"t0", "t1"}) == 1
