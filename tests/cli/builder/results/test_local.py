"""The local store: read, write, lock and remove results."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from olympus.artifact import new_key
from olympus_cli.builder.results import local
from olympus_cli.builder.results.entry import DamagedEntry, signed_entry
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.locks import key_lock
from olympus_cli.builder.results.maintenance import (
    clean_daily,
    listed_results,
    over_limits,
    remove,
    unusable,
)
from tests.cli.builder.results.sample_results import entry, key_of, sample


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def put(store: LocalStore, number: int, size: int = 100) -> Path:
    assert store.put(key_of(number), [entry(number, size)])
    return next(f.path for f in store.files() if f.key == key_of(number))


def test_a_result_is_read_back(store: LocalStore) -> None:
    assert store.get(key_of(0)) is None
    path = put(store, 0)
    assert store.get(key_of(0)) == sample()
    assert store.content(key_of(0)) == entry()
    assert store.get(key_of(1)) is None
    assert not store.problems
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    folders = (path.parent, path.parent.parent, store.folder)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_damaged_result_is_removed_with_a_message(store: LocalStore) -> None:
    path = put(store, 0)
    path.write_bytes(entry()[:-1])
    assert store.get(key_of(0)) is None
    assert not path.exists()
    assert store.problems == [f"the stored result {path} was removed, because it is cut off"]
    assert store.get(key_of(0)) is None


def test_a_result_under_another_key_is_removed(store: LocalStore) -> None:
    path = put(store, 0)
    other = store.folder / "v1" / key_of(1)[:2] / f"{key_of(1)}.result"
    other.parent.mkdir(exist_ok=True)
    path.rename(other)
    assert store.get(key_of(1)) is None
    assert "another key" in store.problems[0]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_regular_file_is_read(store: LocalStore, tmp_path: Path, kind: str) -> None:
    path = put(store, 0)
    path.unlink()
    if kind == "link":
        (tmp_path / "elsewhere").write_bytes(entry())
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert store.get(key_of(0)) is None
    assert len(store.problems) == 1
    assert not [*store.files()]


def test_a_fetched_result_needs_a_trusted_signature_and_an_own_one_does_not(
    store: LocalStore, tmp_path: Path
) -> None:
    own = new_key()
    (tmp_path / "own.key").write_bytes(own.private)
    signed = signed_entry(entry(1), tmp_path / "own.key")
    store.put(key_of(0), [entry(0)], "fetched")
    store.put(key_of(1), [signed], "fetched")
    store.put(key_of(2), [entry(2)])
    assert store.get(key_of(0)) == sample(0)
    trusting = LocalStore(store.folder, [own.public])
    assert trusting.get(key_of(0)) is None
    assert "it is not signed" in trusting.problems[0]
    assert trusting.get(key_of(1)) == sample(1)
    assert trusting.get(key_of(2)) == sample(2)


def test_the_results_used_last_are_retained(store: LocalStore) -> None:
    now = time.time()
    for number in range(4):
        os.utime(put(store, number), (now, now - 1000 * (number + 1)))
    size = len(entry(0))
    assert store.get(key_of(3)) is not None  # the oldest, which is now the latest
    keys = [file.key for file in over_limits(store, 2 * size, None)]
    assert keys == [key_of(2), key_of(1)]
    assert [file.key for file in over_limits(store, None, 2500)] == [key_of(2)]
    assert remove(store, over_limits(store, 2 * size, None)) == 2 * size
    assert {file.key for file in store.files()} == {key_of(0), key_of(3)}
    assert [entry.file.key for entry in listed_results(store)] == [key_of(3), key_of(0)]


def test_a_large_result_used_last_removes_the_older_ones(store: LocalStore) -> None:
    now = time.time()
    for number, size in enumerate((100, 5000, 100)):  # the last used first
        os.utime(put(store, number, size), (now, now - 1000 * number))
    keys = [file.key for file in over_limits(store, 2 * len(entry(0)), None)]
    assert keys == [key_of(2), key_of(1)]  # not the large one alone: the oldest go first


def test_a_file_that_another_process_has_replaced_is_not_removed(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(store, 0)
    path.write_bytes(b"damaged")
    (found,) = unusable(store)
    aside = path.with_name("aside")
    path.rename(aside)  # its inode is not free
    put(store, 0)
    assert remove(store, [found.file]) == 0 and path.exists()

    def replaced(content: bytes, key: str, trust: object) -> None:
        path.unlink()
        put(store, 0)
        raise DamagedEntry("it is cut off")

    aside.replace(path)
    os.link(path, aside)
    monkeypatch.setattr(local, "decoded", replaced)
    assert store.get(key_of(0)) is None
    monkeypatch.undo()
    assert store.get(key_of(0)) == sample(0)


def test_damaged_results_are_found(store: LocalStore) -> None:
    paths = [put(store, number) for number in range(3)]
    content = bytearray(paths[1].read_bytes())
    content[-1] ^= 1
    paths[1].write_bytes(content)
    assert [(found.file.path, found.is_damaged) for found in unusable(store)] == [(paths[1], True)]
    assert all(found.header is not None for found in listed_results(store))
    paths[0].write_bytes(b"")
    assert [found.header is None for found in listed_results(store)].count(True) == 1


def test_old_results_are_removed_once_a_day(store: LocalStore) -> None:
    path = put(store, 0)
    os.utime(path, (0, 0))
    clean_daily(store)
    assert not path.exists()
    os.utime(put(store, 0), (0, 0))
    clean_daily(store)
    assert path.exists()
    os.utime(store.folder / "cleaned", (0, 0))
    clean_daily(store)
    assert not path.exists()


def test_leftovers_of_killed_processes_are_removed(store: LocalStore) -> None:
    path = put(store, 0)
    left = [path.with_name(".new-0123"), path.with_name(f"{key_of(0)}.lock")]
    for file in left:
        file.touch()
    (path.parent / "mine.txt").touch()
    with key_lock(path.with_name(f"{key_of(1)}.lock")) as locked:
        assert locked
        remove(store, [])
        assert path.with_name(f"{key_of(1)}.lock").exists()
    assert {p.name for p in path.parent.iterdir()} == {path.name, "mine.txt"}


def _increment(folder: Path, times: int) -> None:
    """Increment the number in a file, with the lock of a key; without it, updates are lost."""
    number = folder / "number"
    for _ in range(times):
        with key_lock(folder / "a.lock") as locked:
            assert locked
            before = int(number.read_text())
            time.sleep(0.0005)
            number.write_text(str(before + 1))


def test_a_lock_excludes_other_processes_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("0")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_increment, args=(tmp_path, 20)) for _ in range(2)]
    threads = [threading.Thread(target=_increment, args=(tmp_path, 20)) for _ in range(2)]
    for worker in (*processes, *threads):
        worker.start()
    for worker in (*processes, *threads):
        worker.join()
    assert (tmp_path / "number").read_text() == "80"
    assert not (tmp_path / "a.lock").exists()


def test_a_process_stops_to_wait_for_a_lock(tmp_path: Path) -> None:
    waited: list[int] = []
    with key_lock(tmp_path / "a.lock") as locked:
        assert locked
        with key_lock(tmp_path / "a.lock", lambda: waited.append(1), longest=0.05) as second:
            assert not second
    assert waited == [1]
    with key_lock(tmp_path / "missing" / "a.lock") as locked:
        assert not locked
