"""The local pool: the start of works beside others, by the memory that they are expected to use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from olympus_cli.workers import pool
from olympus_cli.workers.executor import Executor, Limits, Work
from olympus_cli.workers.messages import Channel
from olympus_cli.workers.pool import LocalPool
from tests.cli.forking import Spawn

_GB = 10**9


def wait_for(channel: Channel, folder: str, name: str, other: str) -> str:
    """Report a stage, and wait for the file `other` if it has a name."""
    channel(f"wait for {other}")
    Path(folder, name).touch()
    while other and not Path(folder, other).exists():
        pass
    return name


def allocate(channel: Channel, amount: int) -> int:
    """Allocate memory in steps, without an end before `amount`."""
    channel("allocate")
    pieces = [bytearray(b"x" * 2**20) for _ in range(amount // 2**20)]
    return len(pieces)


@pytest.fixture
def stages() -> tuple[list[str], Callable[[str, str], None]]:
    seen: list[str] = []
    return seen, lambda name, _stage: seen.append(name)


def test_work_waits_for_memory_and_smaller_work_overtakes_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stages: tuple[list[str], Callable[[str, str], None]],
) -> None:
    monkeypatch.setattr(pool, "available_memory", lambda: 10 * _GB)
    monkeypatch.setattr(pool.Isolated, "used_memory", lambda _process: 1 * _GB)
    # the second does not fit beside the first, which expects 5 GB more than it has; the third does
    works = [
        Work("first", wait_for, (str(tmp_path), "first", "third"), 6 * _GB),
        Work("second", wait_for, (str(tmp_path), "second", ""), 6 * _GB),
        Work("third", wait_for, (str(tmp_path), "third", ""), 5 * _GB),
    ]
    executor: Executor = LocalPool(jobs=2)
    started, on_stage = stages
    with closing(executor.run(works, Limits(), on_stage)) as running:
        ended = {done.name: done.ended.data for done in running}
    assert ended == {name: name for name in ("first", "second", "third")}
    assert started[-1] == "second"


def test_work_that_fits_nowhere_runs_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stages: tuple[list[str], Callable[[str, str], None]],
) -> None:
    monkeypatch.setattr(pool, "available_memory", lambda: 1)
    works = [Work(name, wait_for, (str(tmp_path), name, ""), _GB) for name in "abc"]
    started, on_stage = stages
    with closing(LocalPool(jobs=3).run(works, Limits(), on_stage)) as running:
        assert [done.name for done in running] == ["a", "b", "c"]
    assert started == ["a", "b", "c"]


def test_work_without_a_record_or_a_known_amount_of_memory_does_not_wait(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stages: tuple[list[str], Callable[[str, str], None]],
) -> None:
    for available, memory in ((1, None), (None, _GB)):
        monkeypatch.setattr(pool, "available_memory", lambda available=available: available)
        folder = tmp_path / str(memory)
        folder.mkdir()
        works = [
            Work("a", wait_for, (str(folder), "a", "b"), memory),
            Work("b", wait_for, (str(folder), "b", ""), memory),
        ]
        with closing(LocalPool(jobs=2).run(works, Limits(), stages[1])) as running:
            assert {done.name for done in running} == {"a", "b"}


def test_work_above_the_memory_limit_is_ended(forked: Spawn) -> None:
    works = [Work("large", allocate, (10 * _GB,)), Work("small", allocate, (2**22,))]
    with closing(LocalPool(2).run(works, Limits(memory=700_000_000), lambda *_: None)) as running:
        ended = {done.name: done.ended for done in running}
    failure = ended["large"].failure
    assert failure is not None and failure.kind == "CompileError"
    assert failure.message.startswith(
        "the memory limit of 700 MB was exceeded: the process and its children use "
    )
    assert failure.message.endswith(" MB (stage: allocate)")
    assert ended["small"].failure is None and ended["small"].data == 4
