"""Helpers of works: one process for many, and the failure of one of them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from olympus_cli.workers import pool
from olympus_cli.workers.call import Ended
from olympus_cli.workers.executor import Limits, Work
from olympus_cli.workers.messages import Channel, Data
from olympus_cli.workers.pool import LocalPool
from tests.cli.forking import Spawn


def serve(channel: Channel) -> NoReturn:
    """Answer with the process and the request; "die" and "sleep" end or stop the helper."""
    while True:
        request = channel.request()
        if request == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if isinstance(request, list):  # a file that receives the process before a long wait
            Path(request[0]).write_text(str(os.getpid()))
            time.sleep(600)
        channel.answer([os.getpid(), request])


def query(channel: Channel, request: Data) -> Data:
    channel("query")
    return channel.query(request) if channel.has_helper else "alone"


@pytest.fixture
def own(forked: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let helpers take part, although the process of a test is not a command's own."""
    monkeypatch.setattr(pool, "_are_helped", lambda *_: True)


def ends(requests: list[Data], jobs: int = 1, limits: Limits | None = None) -> dict[str, Ended]:
    works = [Work(f"w{n}", query, (r,), helper=serve) for n, r in enumerate(requests)]
    with closing(LocalPool(jobs).run(works, limits or Limits(), lambda *_: None)) as running:
        return {done.name: done.ended for done in running}


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("own")
def test_one_helper_answers_works_that_run_one_after_the_other() -> None:
    found = [ended.data for ended in ends(["a", b"b" * 10**6, 3]).values()]
    assert [request for _, request in found] == ["a", b"b" * 10**6, 3]
    assert len({process for process, _ in found}) == 1
    assert not is_running(found[0][0])


@pytest.mark.usefixtures("own")
def test_a_helper_that_dies_answers_none_and_another_takes_its_place() -> None:
    first, died, last = (ended.data for ended in ends(["a", "die", "b"]).values())
    assert died is None
    assert first[1] == "a" and last[1] == "b" and first[0] != last[0]


@pytest.mark.usefixtures("own")
def test_the_time_limit_ends_the_helper_of_the_work_too(tmp_path: Path) -> None:
    note = tmp_path / "process"
    found = ends([[str(note)], "b"], limits=Limits(time=3.0))
    failure = found["w0"].failure
    assert failure is not None and "the time limit of 3 s has passed" in failure.message
    assert not is_running(int(note.read_text()))
    assert found["w1"].failure is None and found["w1"].data[1] == "b"


@pytest.mark.usefixtures("own")
def test_works_beside_each_other_have_a_helper_each() -> None:
    found = ends(["a", "b", "c", "d"], jobs=2)
    assert sorted(ended.data[1] for ended in found.values()) == ["a", "b", "c", "d"]
    assert 1 <= len({ended.data[0] for ended in found.values()}) <= 2


def test_few_works_and_works_with_a_memory_limit_have_no_helper(
    forked: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool.own_process, "is_own", lambda: True)
    works = [Work(f"w{n}", query, (n,), helper=serve) for n in range(5)]
    assert pool._are_helped(works, Limits())
    assert not pool._are_helped(works[:4], Limits())
    assert not pool._are_helped(works, Limits(memory=10**10))
