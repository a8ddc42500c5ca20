"""The death of a worker affects one target only."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.builder.driver import build
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Options
from olympus_cli.builder.reasons import Skipped, Stated
from olympus_cli.faults.failure import Failure
from olympus_cli.spec.project import load_project

Invoke = Callable[..., Result]
Started = Callable[..., subprocess.Popen[bytes]]

PROGRAM = """\
import os
import signal
import sys
import time


def good(x):
    return x + 1


def aborts(x):
    os.write(2, b"F0102 Check failed: the moon is full\\n    @ 0x7f frame\\n")
    os.abort()


def killed(x):
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(x):
    os._exit(3)


def exits(x):
    sys.exit("I had enough")


def sleeps(x):
    with open("pid.tmp", "w") as file:
        file.write(str(os.getpid()))
    os.rename("pid.tmp", "pid")
    time.sleep(600)
"""

NAMES = ("good", "aborts", "killed", "leaves", "sleeps", "exits")


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    table = '[target.{0}]\nentry = "program:{0}"\nargs = ["f32[2]"]\n'
    tables = [table.format(name) for name in NAMES]
    (folder / "olympus.toml").write_text("".join(tables))
    return folder


def run(work: Path, *names: str, **options: float) -> dict[str, Outcome]:
    project = load_project(work)
    specs = {spec.name: spec for spec in project.select(names)}
    outcomes = build(specs, project.build_dir, Options(jobs=2, **options))  # type: ignore[arg-type]
    return {outcome.target: outcome for outcome in outcomes}


def failure(outcome: Outcome) -> Failure:
    assert outcome.status == "failed"
    assert outcome.failure is not None
    return outcome.failure


def test_the_death_of_a_worker_fails_its_own_target_only(work: Path) -> None:
    outcomes = run(work, "aborts", "killed", "leaves", "good")
    assert outcomes["good"].status == "built"
    assert [path.name for path in (work / "build").iterdir()] == ["good"]
    aborted = failure(outcomes["aborts"])
    assert aborted.message == "the process that compiles was ended by SIGABRT (stage: trace)"
    assert aborted.hint == "it printed: F0102 Check failed: the moon is full"
    assert "ended by SIGKILL, most likely because the machine ran out of memory" in (
        failure(outcomes["killed"]).message
    )
    assert "ended with exit code 3" in failure(outcomes["leaves"]).message
    assert {failure(outcomes[n]).kind for n in ("aborts", "killed", "leaves")} == {"CompileError"}


def test_a_target_that_exceeds_the_time_limit_fails(work: Path) -> None:
    failed = failure(run(work, "sleeps", time_limit=0.5)["sleeps"])
    # a slow machine may spend the time before the program sleeps
    assert re.fullmatch(r"the time limit of 0\.5 s has passed \(stage: \w+\)", failed.message)
    assert failed.kind == "CompileError"
    assert not (work / "build").exists()


def test_the_death_of_a_worker_is_an_error_with_exit_code_4(work: Path, invoke: Invoke) -> None:
    result = invoke("build", "aborts", "--json")
    assert result.exit_code == 4
    assert result.stderr.splitlines() == [
        "error: target 'aborts': the process that compiles was ended by SIGABRT (stage: trace)",
        "hint: it printed: F0102 Check failed: the moon is full",
    ]
    (target,) = json.loads(result.stdout)["targets"]
    assert target["error"]["exit_code"] == 4


def test_the_first_failure_ends_a_build_that_fails_fast(work: Path, invoke: Invoke) -> None:
    outcomes = run(work, "sleeps", "leaves", "good", fail_fast=True)  # two at a time
    assert failure(outcomes["leaves"]).message.startswith("the process that compiles ended with")
    assert outcomes["sleeps"] == Outcome("sleeps", "skipped", (Stated.of(Skipped("leaves")),))
    assert {outcome.status for outcome in outcomes.values()} <= {"failed", "skipped", "built"}
    pid = work / "pid"
    assert not pid.exists() or not runs(pid.read_text())
    names = {path.name for path in (work / "build").glob("*")}  # none if nothing was built
    assert names == {name for name, outcome in outcomes.items() if outcome.status == "built"}


def test_skipped_targets_are_reported_and_the_failure_gives_the_exit_code(
    work: Path, invoke: Invoke
) -> None:
    result = invoke("build", "exits", "good", "--jobs", "1", "--fail-fast")
    assert result.exit_code == 3
    assert "skipped good" in result.stdout
    assert "(not built, because 'exits' failed)" in result.stdout
    result = invoke("build", "exits", "good", "--jobs", "1", "--fail-fast", "--json")
    assert [target["status"] for target in json.loads(result.stdout)["targets"]] == [
        "failed",
        "skipped",
    ]
    result = invoke("build", "exits", "good", "--jobs", "1", "--keep-going")
    assert result.exit_code == 3
    assert "built   good" in result.stdout


def test_a_quiet_build_writes_errors_only(work: Path, invoke: Invoke) -> None:
    program = PROGRAM.replace("return x + 1", "print('here'); return x + 1")
    (work / "program.py").write_text(program.replace("sys.exit(", "print('there'); sys.exit("))
    result = invoke("build", "good", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    result = invoke("build", "good", "exits", "-q", "--force", "--output", "json=report.json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("exits printed:\nthere\nerror: target 'exits': exits raised")
    assert len(json.loads((work / "report.json").read_text())["targets"]) == 2
    result = invoke("build", "good", "-q", "--json")
    assert json.loads(result.stdout)["targets"][0]["status"] == "fresh"


def test_a_target_that_exceeds_the_memory_limit_fails(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text("def good(x):\n    return bytearray(10**10) and x\n")
    result = invoke("build", "good", "--memory-limit", "600MB")
    assert result.exit_code == 4
    assert "error: target 'good': the memory limit of 600 MB was exceeded" in result.stderr
    assert not (work / "build" / "good").exists()


def test_a_program_that_calls_exit_fails_and_its_worker_continues(work: Path) -> None:
    project = load_project(work)
    specs = {name: project.targets[name] for name in ("exits", "good")}
    exits, good = build(specs, project.build_dir, Options(jobs=1))
    assert good.status == "built"
    assert failure(exits).message == "exits raised SystemExit while it was traced: I had enough"
    assert failure(exits).error().exit_code == 3
    assert (failure(exits).location or "").endswith("program.py:25")


def test_a_program_does_not_depend_on_programs_built_before(work: Path) -> None:
    for name in ("a", "b"):
        (work / name).mkdir()
        (work / name / "model.py").write_text("from helper import K\ndef f(x): return x * K\n")
        (work / name / "helper.py").write_text(f"K = {'ab'.index(name) + 2}.0\n")
    (work / "counting.py").write_text(
        "N = 0\ndef f(x, k):\n    global N\n    N += 1\n    return x * float(N)\n"
    )
    table = '[target.{0}]\nentry = "{0}/model.py:f"\nargs = ["f32[2]"]\n'
    (work / "olympus.toml").write_text(
        table.format("a") + table.format("b") + '[target.c]\nentry = "counting:f"\n'
        'args = ["f32[2]"]\nmatrix = { k = [1, 2] }\n'
    )
    project = load_project(work)
    build(dict(project.targets), project.build_dir, Options(jobs=1))
    programs = {name: program_of(work / "build" / name) for name in project.targets}
    assert "dense<2.0" in programs["a"]
    assert "dense<3.0" in programs["b"]
    assert "dense<1.0" in programs["c@k=1"]
    assert programs["c@k=2"] == programs["c@k=1"]


def program_of(directory: Path) -> str:
    return (directory / "program.stablehlo.mlir").read_text()


def test_a_worker_that_exits_with_code_0_has_failed(work: Path) -> None:
    (work / "program.py").write_text(PROGRAM.replace("os._exit(3)", "os._exit(0)"))
    outcomes = run(work, "leaves", "good")
    assert "ended with exit code 0 (stage: trace)" in failure(outcomes["leaves"]).message
    assert outcomes["good"].status == "built"


def runs(pid: str) -> bool:
    """Return True if process `pid` runs, and is no zombie."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (
        FileNotFoundError,
        ProcessLookupError,
    ):  # the process may end before the file is opened or read
        return False


def sleeping(work: Path, started: Started) -> subprocess.Popen[bytes]:
    """A build whose program sleeps already; its process id is in the file `pid`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = started([sys.executable, "-m", "olympus_cli", "build", "sleeps"], env=environment)
    while not (work / "pid").exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_an_interrupted_build_leaves_no_process(work: Path, started: Started) -> None:
    process = sleeping(work, started)
    process.send_signal(
        signal.SIGINT
    )  # to this process only, not to the worker as a terminal would
    assert process.wait() == 130
    assert not runs((work / "pid").read_text())


def test_a_killed_build_ends_its_workers_and_the_next_removes_its_remains(
    work: Path, started: Started
) -> None:
    build_process = sleeping(work, started)
    build_process.kill()
    build_process.wait()
    (work / "build" / ".olympus-new-sleeps").mkdir()  # as a build that has started to write
    deadline = time.monotonic() + 120
    while runs((work / "pid").read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert run(work, "good")["good"].status == "built"
    assert [path.name for path in (work / "build").iterdir()] == ["good"]


def test_a_failure_is_converted_to_an_error_of_its_class() -> None:
    from olympus import errors

    original = errors.TraceError("no", hint="try", location="m.py:3")
    copy = Failure.of(original).error()
    assert type(copy) is errors.TraceError
    assert (str(copy), copy.hint, copy.location) == ("no", "try", "m.py:3")
    assert Failure.of(MemoryError()).error().exit_code == 4
    assert Failure.of(ZeroDivisionError("x")).error().exit_code == 70
