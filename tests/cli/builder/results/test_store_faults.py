"""Faults of the system: each call fails in turn, power is lost, and processes are killed."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import olympus
from olympus_cli.builder.results.compile_key import compile_key
from olympus_cli.builder.results.compiling import Compiling
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.maintenance import listed_results, over_limits, remove
from olympus_cli.builder.results.new_files import UNFINISHED
from olympus_cli.builder.results.remote import GuardedRemote
from olympus_cli.builder.results.result import CompilationResult
from olympus_cli.program.stages import Program
from olympus_cli.spec.cache import CacheSpec
from olympus_cli.spec.resolve import Request
from tests.cli.builder.results.faulty_system import System
from tests.cli.builder.results.http_server import cache_server
from tests.cli.builder.results.sample_results import entry, key_of, sample

ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE)


def use_store(folder: Path) -> None:
    """Write, read, list and remove results, as builds and `olympus cache gc` do."""
    store = LocalStore(folder)
    for number in (0, 1):
        with store.lock(key_of(number), lambda: None):
            if store.get(key_of(number)) is None:
                store.put(key_of(number), [entry(number)])
        found = store.get(key_of(number))
        assert found in (None, sample(number))
    listed_results(store)
    with contextlib.suppress(OSError):  # the command reports it
        remove(store, over_limits(store, len(entry(0)), None))


def use_folder(folder: Path) -> None:
    """Write and read an entry of a remote store in a folder."""
    for _ in range(2):
        guarded = GuardedRemote(CacheSpec(folder, remote=f"file://{folder}/remote"))
        guarded.put(key_of(0), lambda: entry(0))
        assert guarded.get(key_of(0)) in (None, entry(0))


def check_complete(folder: Path) -> None:
    """A use without faults finds the results or none, and is complete."""
    use_store(folder)
    store = LocalStore(folder)
    for number in (0, 1):
        store.put(key_of(number), [entry(number)])
        assert store.get(key_of(number)) == sample(number)
    assert not store.problems
    remove(store, [])
    names = [path.name for path in (folder / "v1").rglob("*") if path.is_file()]
    assert all(name.endswith(".result") and not name.startswith(UNFINISHED) for name in names)
    use_folder(folder)
    found = GuardedRemote(CacheSpec(folder, remote=f"file://{folder}/remote")).get(key_of(0))
    assert found == entry(0)


def failures(use: Callable[[Path], None], number: int, folder: Path) -> Iterator[Path]:
    """Yield a folder for each call that fails in turn, until none fails."""
    fails_at = 0
    while True:
        fails_at += 1
        place = folder / f"{number}-{fails_at}"
        place.mkdir()
        system = System(fails_at, number)
        with pytest.MonkeyPatch.context() as patch:
            system.install(patch)
            use(place)
        yield place
        if len(system.calls) < fails_at:
            assert fails_at > 8
            return


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("use", [use_store, use_folder])
def test_each_call_fails_in_turn(use: Callable[[Path], None], number: int, tmp_path: Path) -> None:
    for place in failures(use, number, tmp_path):
        check_complete(place)


@pytest.mark.parametrize(
    "number",
    [errno.ENOSPC, *(pytest.param(n, marks=pytest.mark.night) for n in ERRORS[1:])],
    ids=errno.errorcode.__getitem__,
)
def test_a_compilation_succeeds_if_any_call_fails(
    number: int, tmp_path: Path, folder: Path
) -> None:
    (folder / "program.py").write_text("def f(x):\n    return x + 1\n")
    program = Program.of(Request("program:f", "f32[2]").spec(), until="lower")
    (unit,) = program.units

    def use(place: Path) -> None:
        for _ in range(2):
            remote = f"file://{place}/remote"
            settings = Compiling(CacheSpec(place / "local", remote=remote))
            results.append(settings.compile(program, lambda _stage: None)["cpu"].result)

    results: list[CompilationResult] = []
    (tmp_path / "places").mkdir()
    for place in failures(use, number, tmp_path / "places"):
        use(place)
        assert unit.compiled is not None and LocalStore(place / "local").get(
            compile_key(program.spec, unit).digest
        )
    assert len({result.hlo for result in results}) == 1  # a process numbers its executables
    assert any(os.strerror(number) in text for text in program.warnings)


def test_versions_of_olympus_share_a_store(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "program.py").write_text("def f(x):\n    return x + 1\n")
    program = Program.of(Request("program:f", "f32[2]").spec(), until="lower")
    origins = []
    for version in ("1.0", "1.1", "1.0", "1.1"):
        monkeypatch.setattr(olympus, "__version__", version)
        obtained = Compiling(CacheSpec(tmp_path)).compile(program, lambda _stage: None)["cpu"]
        origins.append(obtained.origin.source)
    assert origins == ["compiled", "compiled", "local", "local"]
    assert len([*LocalStore(tmp_path).files()]) == 2


def test_each_request_to_a_server_fails_in_turn(tmp_path: Path) -> None:
    with cache_server() as server:
        spec = CacheSpec(tmp_path, remote=server.url)
        for fault in ("500", "close", "half"):
            for fails_at in range(1, 7):
                server.files.clear()
                server.requests.clear()
                server.fault_at = (fails_at, fault)
                for _ in range(2):
                    guarded = GuardedRemote(spec)
                    guarded.put(key_of(0), lambda: entry(0))
                    assert guarded.get(key_of(0)) in (None, entry(0))
                server.fault_at = (0, "")
                guarded = GuardedRemote(spec)
                assert guarded.put(key_of(0), lambda: entry(0))
                assert guarded.get(key_of(0)) == entry(0)


def states_after_power_loss(calls: list[tuple[object, ...]]) -> Iterator[dict[Path, bytes]]:
    """Yield files that may be on the disk if power is lost after each call.

    Data that was not flushed is there, absent or there in part, and so is the last renaming.
    """
    for end in range(len(calls) + 1):
        for part in (0.0, 0.5, 1.0):
            for last in (True, False):
                yield _state(calls[:end], part, last)


def _state(calls: list[tuple[object, ...]], part: float, last: bool) -> dict[Path, bytes]:
    names: dict[Path, int] = {}
    content: dict[int, bytes] = {}
    flushed: dict[int, int] = {}
    opened: dict[object, int] = {}
    renames = [i for i, call in enumerate(calls) if call[0] in ("rename", "link")]
    for i, call in enumerate(calls):
        name, *args = call
        if name == "open" and int(str(args[1])) & os.O_CREAT:
            inode = len(content)
            names[Path(str(args[0]))], content[inode], flushed[inode] = inode, b"", 0
            opened[args[-1]] = inode
        elif name == "write" and args[0] in opened:
            content[opened[args[0]]] += bytes(args[1])  # type: ignore[call-overload]
        elif name == "fsync" and args[0] in opened:
            flushed[opened[args[0]]] = len(content[opened[args[0]]])
        elif name == "rename" and (last or i != renames[-1]):
            names[Path(str(args[1]))] = names.pop(Path(str(args[0])))
        elif name == "link" and (last or i != renames[-1]):
            names[Path(str(args[1]))] = names[Path(str(args[0]))]
        elif name == "unlink":
            names.pop(Path(str(args[0])), None)
    rest = {i: flushed[i] + int(part * (len(content[i]) - flushed[i])) for i in content}
    return {path: content[inode][: rest[inode]] for path, inode in names.items()}


def test_power_loss_at_any_time_leaves_results_or_none(tmp_path: Path) -> None:
    system = System()
    with pytest.MonkeyPatch.context() as patch:
        system.install(patch)
        store = LocalStore(tmp_path / "store")
        for number in (0, 1, 0):
            with store.lock(key_of(number), lambda: None):
                store.put(key_of(number), [entry(number)])
    seen = set()
    for state in states_after_power_loss(system.calls):
        if (form := tuple(sorted(state.items()))) in seen:
            continue
        seen.add(form)
        place = tmp_path / f"disk-{len(seen)}"
        for path, content in state.items():
            there = place / path.relative_to(tmp_path / "store")
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
        found = LocalStore(place)
        for number in (0, 1):
            assert found.get(key_of(number)) in (None, sample(number))
        # a finished file has its content, because it was flushed before it was renamed
        assert not found.problems
        check_complete(place)
    assert len(seen) > 8


def _work(folder: Path, seed: int) -> None:
    """Write and read results without end."""
    store, numbers = LocalStore(folder), random.Random(seed)
    while True:
        number = numbers.randrange(3)
        with store.lock(key_of(number), lambda: None):
            store.put(key_of(number), [entry(number, 20_000)])
        assert store.get(key_of(number)) in (None, sample(number, 20_000))
        if not numbers.randrange(5):
            remove(store, over_limits(store, 20_000, None))


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.night)])
def test_killed_processes_leave_results_or_none(kills: int, tmp_path: Path) -> None:
    context, delays = multiprocessing.get_context("forkserver"), random.Random(0)
    context.set_forkserver_preload([__name__])
    store = LocalStore(tmp_path)
    for seed in range(kills):
        processes = [context.Process(target=_work, args=(tmp_path, seed + i)) for i in (0, 1000)]
        for process in processes:
            process.start()
        waited = time.monotonic()
        while not [*store.files()] and time.monotonic() - waited < 60:
            time.sleep(0.01)
        time.sleep(delays.random() / 20)
        for process in processes:
            assert process.pid is not None and process.exitcode is None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        for number in range(3):
            assert store.get(key_of(number)) in (None, sample(number, 20_000))
    assert not store.problems
    remove(store, [])
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert not [name for name in left if name.startswith(UNFINISHED) or name.endswith(".lock")]


def test_a_flipped_bit_in_any_file_is_detected(tmp_path: Path) -> None:
    store, numbers = LocalStore(tmp_path), random.Random(0)
    for number in range(8):
        store.put(key_of(number), [entry(number)], "fetched" if number % 2 else "result")
    files = [*store.files()]
    assert len(files) == 8
    for file in files:
        content = bytearray(file.path.read_bytes())
        content[numbers.randrange(len(content))] ^= 1 << numbers.randrange(8)
        file.path.write_bytes(content)
    assert [store.get(key_of(number)) for number in range(8)] == [None] * 8
    assert len(store.problems) == 8 and not [*store.files()]


def _compile_once(folder: Path, log: Path) -> None:
    """Obtain four results as a build does, and log each compilation."""
    store = LocalStore(folder)
    for number in range(4):
        with store.lock(key_of(number), lambda: None) as locked:
            assert locked
            if store.get(key_of(number)) is None:
                with log.open("a") as file:
                    file.write(f"{number}\n")
                time.sleep(0.02)
                store.put(key_of(number), [entry(number)])


def test_eight_processes_make_each_result_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    log = tmp_path / "log"
    processes = [
        context.Process(target=_compile_once, args=(tmp_path / "store", log)) for _ in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
