"""Work in workers: their deaths, the processes and files they leave behind, and signals."""

from __future__ import annotations

import atexit
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
import typing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.faults.failure import Failure
from olympus_cli.process import own_process
from olympus_cli.process.own_process import safe_path
from olympus_cli.workers import program_exit
from olympus_cli.workers.call import Isolated, call, wait
from olympus_cli.workers.messages import Channel
from olympus_cli.workers.module_changes import Snapshot
from tests.cli.forking import Spawn

Invoke = Callable[..., Result]
ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "olympus_cli"]

PROGRAM = """\
import ctypes, os, subprocess, sys, time


def good(x):
    return x + 1


def faults(x):
    ctypes.string_at(0)


def forks(x):
    os.fork()
    return x * 2


def scribbles(x):
    for number in range(3, 256):
        try:
            os.write(number, b"\\0\\0\\0\\x7f" * 100)
        except OSError:
            pass
    return x * 3


def leaves_a_daemon(x):
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with open("daemon", "w") as file:
        file.write(str(daemon.pid))
    return x * 4


def waits_with_a_daemon(x):
    leaves_a_daemon(x)
    os.rename("daemon", "ready")
    time.sleep(600)


def descriptors(x):
    print(sorted(map(int, os.listdir("/proc/self/fd"))))
    return x


class Odd(BaseException):
    pass


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")


def odd(x):
    raise Odd("of its own")


def mute(x):
    raise Mute


def stopped(x):
    raise KeyboardInterrupt


def closed(x):
    raise GeneratorExit


def defective(x):
    import olympus
    raise olympus.errors.OlympusError("mine")


def patches(x):
    sys.path.clear()
    return x


def runs_python(x):
    here = "import sys, sibling; print(sibling.N, sys.flags.safe_path)"
    print(subprocess.run([sys.executable, "-c", here], capture_output=True, text=True).stdout)
    return x
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def olympus(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process."""
    return subprocess.run(
        [*COMMAND, *args],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def start() -> None:
    """Start workers as the command does, which these tests cover."""


@pytest.fixture
def forks(forked: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork workers instead, for tests of a program after its start."""
    monkeypatch.setattr("olympus_cli.workers.call._spawn", forked)


forked_processes = pytest.mark.usefixtures("forks")


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    names = [line[4:-4] for line in PROGRAM.splitlines() if line.startswith("def ")]
    table = '[target.{0}]\nentry = "program:{0}"\nargs = ["f32[2]"]\n'
    (folder / "olympus.toml").write_text("".join(map(table.format, names)))
    return folder


def runs(process: str) -> bool:
    """Return True if a process runs, and is no zombie."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# The working directory is not on the path of OLYMPUS's modules.

PLANTED = (
    *("pickle", "socket", "multiprocessing", "struct", "select", "signal", "subprocess", "ctypes"),
    *("olympus", "numpy", "jaxlib", "rich", "click", "tomli", "__future__", "contextlib"),
)


@pytest.mark.parametrize("flags", [{}, {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}])
@pytest.mark.parametrize("command", ["build", "run", "bench", "trace"])
def test_modules_of_the_working_directory_are_not_run(
    work: Path, tmp_path_factory: pytest.TempPathFactory, command: str, flags: dict[str, str]
) -> None:
    folder_of_user = tmp_path_factory.mktemp("here")
    for name in PLANTED:
        (folder_of_user / f"{name}.py").write_text(
            f"open('planted', 'a').write('{name} ')\n1 / 0\n"
        )
    os.chdir(folder_of_user)
    # as the script `olympus`, whose own folder is on the path
    start = [sys.executable, "-P", "-c", "from olympus_cli.__main__ import main; main()"]
    done = subprocess.run(
        [*start, command, "good", "--project", str(work), *BRIEFLY.get(command, ())],
        env=environment(**flags),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder_of_user.iterdir()) == sorted(
        f"{n}.py" for n in PLANTED
    )


BRIEFLY = {"bench": ("--time-limit", "0.1"), "build": ("--force",)}


def test_python_m_does_not_run_modules_of_the_working_directory(work: Path) -> None:
    # beside the entry, whose folder is added to the path
    for name in ("pickle", "socket", "struct", "select", "signal", "multiprocessing", "numpy"):
        (work / f"{name}.py").write_text("open('planted', 'a').write('x')\n1 / 0\n")
    done = olympus("build", "good")
    assert done.returncode == 0, done.stderr
    assert not (work / "planted").exists()


def test_a_worker_of_another_process_does_not_run_them(work: Path, invoke: Invoke) -> None:
    for name in PLANTED:
        (work / f"{name}.py").write_text("open('planted', 'a').write('x')\n1 / 0\n")
    assert invoke("build", "good").exit_code == 0
    assert not (work / "planted").exists()


def test_a_program_starts_processes_with_its_own_path(work: Path) -> None:
    (work / "sibling.py").write_text("N = 3\n")
    done = olympus("trace", "runs_python")
    assert (done.returncode, done.stderr.strip()) == (0, "3 False")


def test_the_working_directory_is_the_last_on_the_path(folder: Path) -> None:
    assert safe_path(["", "/a", str(folder), "/b"]) == ["/a", "/b", "", str(folder)]


# One program does not affect others.


@pytest.mark.parametrize("hostile", ["forks", "scribbles", "leaves_a_daemon"])
def test_processes_and_writes_of_a_program_affect_no_other(work: Path, hostile: str) -> None:
    done = olympus("build", hostile, "good", "-j1", "--json")
    assert done.returncode == 0, done.stderr
    targets = json.loads(done.stdout)["targets"]
    assert [(target["target"], target["status"]) for target in targets] == [
        (hostile, "built"),
        ("good", "built"),
    ]
    if (work / "daemon").exists():
        assert not runs((work / "daemon").read_text())


def test_a_daemon_does_not_outlive_a_killed_command(
    work: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    process = started([*COMMAND, "build", "waits_with_a_daemon"], env=environment())
    while not (work / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    daemon = (work / "ready").read_text()
    assert runs(daemon)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 120
    while runs(daemon):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_has_its_streams_and_one_descriptor(work: Path) -> None:
    done = olympus("trace", "descriptors")
    assert done.returncode == 0, done.stderr
    descriptors = json.loads(done.stderr)
    assert descriptors[:3] == [0, 1, 2]
    assert (
        len(descriptors) == 6
    )  # those for messages and for a fatal signal, and the one of the listing


# Deaths.


@pytest.mark.parametrize(("command", "does"), [("trace", "traces"), ("lower", "lowers")])
def test_a_native_crash_is_a_line(work: Path, command: str, does: str) -> None:
    done = olympus(command, "faults")
    assert done.returncode == 4
    stage = "(stage: trace)"
    first, *place = done.stderr.splitlines()
    assert first.startswith(f"error: the process that {does} was ended by SIGSEGV {stage}; ")
    assert place == ["  program.py:9", "    ctypes.string_at(0)"]


def test_bench_continues_after_a_native_crash(work: Path) -> None:
    done = olympus("bench", "faults", "good", "odd", "--time-limit", "0.1", "--json")
    assert done.returncode == 4
    assert [target["target"] for target in json.loads(done.stdout)["targets"]] == ["good"]
    assert "target 'faults': the process that measures was ended by SIGSEGV" in done.stderr
    assert "target 'odd': odd raised Odd while it was traced: of its own" in done.stderr
    assert "error: 2 of 3 targets failed" in done.stderr


@forked_processes
@pytest.mark.parametrize(("command", "does"), [("run", "runs"), ("bench", "measures")])
def test_a_bundle_that_crashes_is_a_line_and_damaged(
    work: Path, invoke: Invoke, command: str, does: str
) -> None:
    assert invoke("build", "good").exit_code == 0
    bundle = str(work / "build" / "good" / "good.olympus")
    crash = (
        "import os, sys, olympus.artifact; olympus.artifact.load = lambda *_, **__: os.abort(); "
        "from olympus_cli.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", crash, command, bundle],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    line = f"error: the process that {does} {bundle} was ended by SIGABRT (stage: load)"
    lines = [
        text for text in done.stderr.splitlines() if not text.startswith("note: the measuring")
    ]
    assert (done.returncode, done.stdout, lines) == (5, "", [line])


@forked_processes
@pytest.mark.parametrize("command", ["trace", "lower", "cost", "build", "verify", "bench", "run"])
def test_a_module_that_aborts_is_an_error_of_its_import(
    folder: Path, invoke: Invoke, command: str
) -> None:
    (folder / "aborts.py").write_text("import os\nos.abort()\n")
    (folder / "olympus.toml").write_text('[target.t]\nentry = "aborts:f"\nargs = ["f32[4]"]\n')
    result = invoke(command, "t")
    assert result.exit_code == 4
    assert "ended by SIGABRT (stage: import)" in result.stderr


@pytest.mark.parametrize("function", [os.abort, os._exit])
def test_a_death_is_an_error_in_a_process_with_threads(function: Callable[..., object]) -> None:
    process = Isolated(_do, function, action="tests", quiet=True)
    while (ended := process.look()) is None:
        wait([process])
    assert ended.failure is not None
    assert ended.failure.message.startswith("the process that tests ")


def test_the_wait_for_another_process_is_not_limited() -> None:
    stages: list[str] = []
    process = Isolated(
        _enters_stages, action="tests", quiet=True, time_limit=600, on_stage=stages.append
    )
    deadlines = []
    for stage in ("lower", "wait for another build", "compile"):
        process.send(stage)
        while stage not in stages:
            wait([process])
            assert process.look() is None
        deadlines.append(process.deadline)
    process.close()
    first, during, after = deadlines
    assert during is None
    assert first is not None and after is not None and after > first


def _enters_stages(report: Channel) -> None:
    while True:
        report(report.request())


def _do(_report: object, function: Callable[..., object]) -> object:
    return function() if function is os.abort else function(3)


def _leaves_open(_report: object, folder: str) -> str:
    late = threading.Timer(0.2, (Path(folder) / "late").write_text, ["written"])
    late.start()
    opened = open(Path(folder) / "text", "w")  # noqa: SIM115
    opened.write("never flushed")
    packed = gzip.GzipFile(Path(folder) / "packed", "wb")
    packed.write(b"never closed")
    in_pool = ThreadPoolExecutor(1).submit((Path(folder) / "pool").write_text, "written")
    references.extend([opened, packed, in_pool])
    atexit.register(opened.write, " or registered")
    return "done"


references: list[object] = []


def test_files_and_threads_that_a_program_leaves_open_are_finished(tmp_path: Path) -> None:
    assert call(_leaves_open, str(tmp_path), action="tests") == "done"
    assert (tmp_path / "text").read_text() == "never flushed or registered"
    assert gzip.decompress((tmp_path / "packed").read_bytes()) == b"never closed"
    assert [(tmp_path / name).read_text() for name in ("late", "pool")] == ["written"] * 2


def _cannot_be_finished(_report: object, resource: str) -> str:
    if resource == "thread":
        threading.Thread(target=threading.Event().wait, name="mine").start()
    elif resource == "pipe":
        _, end = os.pipe()
        os.set_blocking(end, False)
        with suppress(BlockingIOError):
            while os.write(end, bytes(1 << 12)):
                pass
        os.set_blocking(end, True)
        references.append(os.fdopen(end, "wb"))
        references[-1].write(b"nobody reads")  # type: ignore[attr-defined]
    else:
        references.append(open("/dev/full", "w"))  # noqa: SIM115
        references[-1].write("x")  # type: ignore[attr-defined]
    return "done"


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("thread", "threads of the program did not end and were stopped: mine\n"),
        (
            "file",
            "a file of the program could not be written: [Errno 28] No space left on device\n",
        ),
        ("pipe", "files of the program could not be closed\n"),
    ],
)
def test_files_and_threads_that_cannot_be_finished_are_reported(
    monkeypatch: pytest.MonkeyPatch, resource: str, words: str
) -> None:
    monkeypatch.setattr(program_exit, "_LONGEST_WAIT", 0.1)
    monkeypatch.setattr(
        own_process, "_claimed", True
    )  # so that the worker is a fork of this process
    process = Isolated(_cannot_be_finished, resource, action="tests", quiet=True)
    while (ended := process.look()) is None:
        wait([process])
    assert (ended.failure, ended.data, ended.output) == (None, "done", words)


# Exceptions of a program.


@forked_processes
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("odd", "odd raised Odd while it was traced: of its own"),
        ("mute", "mute raised Mute while it was traced: (its __str__ raised ValueError)"),
        ("stopped", "stopped raised KeyboardInterrupt while it was traced\n"),
        ("closed", "closed raised GeneratorExit while it was traced\n"),
        ("defective", "defective raised OlympusError while it was traced: mine"),
    ],
)
def test_every_exception_of_a_program_is_its_error(
    work: Path, invoke: Invoke, name: str, words: str
) -> None:
    done = invoke("trace", name)
    assert done.exit_code == 3
    assert words in done.stderr
    assert "program.py:" in done.stderr
    assert invoke("build", name).exit_code == 3


@forked_processes
@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit", "Odd('x')", "Mute"])
def test_every_exception_of_a_module_is_its_error(work: Path, invoke: Invoke, name: str) -> None:
    (work / "fails.py").write_text(f"from program import Mute, Odd\nraise {name}\n")
    done = invoke("trace", "fails:f")
    assert done.exit_code == 2
    assert f"fails raises {name.partition('(')[0]} while it is imported" in done.stderr


def test_changes_of_python_by_a_program_are_no_defect_of_olympus(work: Path) -> None:
    done = olympus("build", "patches")  # alone: workers of several targets import less
    assert done.returncode == 3
    assert "the program has changed sys.path, which olympus uses" in done.stderr
    assert olympus("build", "good").returncode == 0
    broken = Failure("InternalError", "KeyError: 'x'")
    assert Snapshot.take().blamed(broken) is broken


@pytest.mark.parametrize(("by", "kind"), [("program", "TraceError"), ("typing_extensions", None)])
def test_a_package_that_patches_typing_is_not_blamed(
    monkeypatch: pytest.MonkeyPatch, by: str, kind: str | None
) -> None:
    snapshot, broken = Snapshot.take(), Failure("InternalError", "KeyError: 'x'")

    def changed() -> None: ...

    changed.__module__ = by
    monkeypatch.setattr(typing, "get_type_hints", changed)
    assert snapshot.blamed(broken).kind == (kind or broken.kind)


# Limits of the system.

WITHOUT = """\
import errno, os, sys, _thread
{change}
from olympus_cli.__main__ import main
sys.argv = ["olympus", "build", "good"]
main()
"""


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("import tempfile\ntempfile._candidate_tempdir_list = lambda: []", 0, ""),
        (
            "def fork(): raise BlockingIOError(errno.EAGAIN, 'Resource temporarily unavailable')\n"
            "os.fork = fork",
            4,
            "a process cannot be started: Resource temporarily unavailable",
        ),
        (
            'def start(*_): raise RuntimeError("can\'t start new thread")\n'
            "_thread.start_new_thread = start",
            4,
            "the system is out of resources: can't start new thread",
        ),
    ],
)
def test_resources_that_the_system_refuses(work: Path, change: str, code: int, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(change=change)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr and "defect" not in done.stderr


@pytest.mark.parametrize("limit", ["-n 6", "-n 8", "-v 100000", "-v 300000", "-v 700000"])
def test_limits_of_the_shell(work: Path, limit: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"ulimit {limit}; exec {' '.join(COMMAND)} build good"],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("error: ")
    assert all(word not in done.stderr for word in ("Traceback", "defect", "NoneType"))
    assert done.stderr.count("the system is out of resources") <= 1


# Signals.

IGNORING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
TESTS = "tests/cli/process/test_process.py::test_an_interrupt_of_an_import_is_a_short_line"


@pytest.mark.night
def test_the_suite_passes_if_sigint_is_ignored() -> None:
    ignoring = IGNORING + "os.execv(sys.executable, sys.argv[1:])"
    pytest_in_the_background = ["-m", "pytest", "-n0", "-p", "no:cacheprovider", TESTS]
    done = subprocess.run(
        [sys.executable, "-c", ignoring, sys.executable, *pytest_in_the_background],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_command_may_be_terminated(
    work: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    process = started(
        [*COMMAND, "trace", "waits_with_a_daemon"],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (work / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert (process.communicate(timeout=120)[1], process.returncode) == ("terminated\n", 143)
    assert not runs((work / "ready").read_text())
