"""Works on the workers of a Dask cluster: lost workers, differences, limits, cancellation."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from olympus.errors import BackendError
from olympus_cli.builder.farm import cluster
from olympus_cli.builder.farm.executor import DaskExecutor
from olympus_cli.process.process_tree import children
from olympus_cli.workers.executor import Done, Executor, Limits, Work
from tests.cli.builder.farm.conftest import Farm, kill


def note(channel: Any, folder: str, name: str, seconds: float = 0.0) -> str:
    """Add a line to the file `name`, report a stage, and sleep."""
    with Path(folder, name).open("a") as file:
        file.write(f"{os.getpid()} {os.getppid()}\n")
    channel("noted")
    time.sleep(seconds)
    return name


def abort(_channel: Any) -> None:
    """End this process as a failed check of native code does."""
    os.abort()


def kill_the_worker(channel: Any) -> None:
    """Kill the Dask worker: it is the parent of the supervisor of this process."""
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    worker = int(status.partition("PPid:")[2].split()[0])
    os.kill(worker, 9)
    time.sleep(60)


def executor(farm: Farm, folder: Path, notes: list[str] | None = None) -> Executor:
    seen = [] if notes is None else notes
    return DaskExecutor(farm.executor, None, ["cpu"], folder, [folder], seen.append)


def ends(
    place: Executor, works: list[Work], limits: Limits | None = None
) -> tuple[dict[str, Done], list[tuple[str, str]]]:
    stages: list[tuple[str, str]] = []
    with closing(place.run(works, limits or Limits(), lambda *it: stages.append(it))) as running:
        return {done.name: done for done in running}, stages


def test_works_end_each_with_its_result_or_its_failure(farm: Farm, tmp_path: Path) -> None:
    farm.add(2)
    works = [
        Work("a", note, (str(tmp_path), "a")),
        Work("aborts", abort, ()),
        Work("late", note, (str(tmp_path), "late", 60.0)),
        Work("b", note, (str(tmp_path), "b")),
    ]
    found, stages = ends(executor(farm, tmp_path), works, Limits(time=1.0))
    assert {name: done.ended.data for name, done in found.items()} == {
        "a": "a",
        "b": "b",
        "aborts": None,
        "late": None,
    }
    assert found["aborts"].ended.failure is not None
    assert "SIGABRT" in found["aborts"].ended.failure.message
    assert found["late"].ended.failure is not None
    assert "the time limit of 1 s" in found["late"].ended.failure.message
    assert {("a", "start"), ("a", "noted"), ("late", "noted")} <= set(stages)
    assert list(tmp_path.glob(".olympus*")) == []


def test_the_works_of_a_lost_worker_are_done_by_others(farm: Farm, tmp_path: Path) -> None:
    farm.add(3)
    works = [Work(f"w{n}", note, (str(tmp_path), f"w{n}", 0.2)) for n in range(6)]
    notes: list[str] = []
    found = {}
    place = executor(farm, tmp_path, notes)
    with closing(place.run(works, Limits(), lambda *_: None)) as running:
        for done in running:
            found[done.name] = done.ended.data
            if len(found) == 2:
                kill(farm.workers[0])
    assert found == {f"w{n}": f"w{n}" for n in range(6)}


def test_work_that_kills_three_workers_fails(farm: Farm, tmp_path: Path) -> None:
    farm.add(3)
    notes: list[str] = []
    found, _ = ends(executor(farm, tmp_path, notes), [Work("bad", kill_the_worker, ())])
    failure = found["bad"].ended.failure
    assert failure is not None and "were lost 3 times" in failure.message
    assert sum("was lost: bad is built by another" in text for text in notes) == 2


def test_a_worker_that_differs_is_not_used(farm: Farm, tmp_path: Path) -> None:
    first = min(os.sched_getaffinity(0))
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one processor")
    farm.add(1, [first])
    with pytest.raises(BackendError, match="no worker of the Dask cluster may build") as info:
        ends(executor(farm, tmp_path), [Work("a", note, (str(tmp_path), "a"))])
    assert "processors is 1 there" in str(info.value)
    assert not (tmp_path / "a").exists()


def test_a_closed_run_leaves_no_process(farm: Farm, tmp_path: Path) -> None:
    farm.add(2)
    works = [
        Work("long", note, (str(tmp_path), "long", 600.0)),
        Work("a", note, (str(tmp_path), "a", 1.0)),
    ]
    with closing(executor(farm, tmp_path).run(works, Limits(), lambda *_: None)) as running:
        assert next(running).name == "a"
        deadline = time.monotonic() + 60
        while not (tmp_path / "long").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert any(children(worker.pid) for worker in farm.workers)
    assert [children(worker.pid) for worker in farm.workers] == [[], []]


def test_a_scheduler_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_LIMIT", 0.5)
    place = DaskExecutor("dask://127.0.0.1:1", None, ["cpu"], tmp_path, [tmp_path], print)
    with pytest.raises(BackendError, match="cannot be reached"):
        ends(place, [Work("a", note, (str(tmp_path), "a"))])
    assert ends(place, []) == ({}, [])  # without work there is no connection


@pytest.mark.night
def test_a_thousand_works_survive_the_loss_of_a_worker(farm: Farm, tmp_path: Path) -> None:
    farm.add(3)
    works = [Work(f"w{n}", note, (str(tmp_path), f"w{n}")) for n in range(1000)]
    found: dict[str, Any] = {}
    with closing(executor(farm, tmp_path).run(works, Limits(), lambda *_: None)) as running:
        for done in running:
            assert done.name not in found
            found[done.name] = done.ended.data
            if len(found) == 100:
                kill(farm.workers[0])
    assert found == {f"w{n}": f"w{n}" for n in range(1000)}
