"""The history: what commands add to it, what `olympus history` tells, and files that are wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus.analysis import graph_of, read_module, structural_fingerprint
from olympus.errors import ArtifactError, OlympusError, UsageError
from olympus_cli.bench.model import Measured, Metric
from olympus_cli.bench.work import BundleWork, Effort, SamplerWork
from olympus_cli.history import recording, repository, schema, store
from olympus_cli.history.model import Figure, Run, StoredProgram
from olympus_cli.history.recording import record_bench
from olympus_cli.history.store import append, read_points, read_programs
from olympus_cli.program.inputs import InputOptions
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.resolve import Request, open_project

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as np


def f(x):
    return np.tanh(x) * 2.0
"""
TOML = """\
[target.f]
entry = "m:f"
args = ["f32[64]"]

[target.f.budget]
flops = "1 MFLOP"
"""
MACHINE = {"processor": "a"}
MEASURED = Measured(
    target="f",
    entry="m:f",
    backend="cpu",
    metrics={
        "steady_call": Metric("s", "lower", (1.0, 3.0, 2.0)),
        "skipped": Metric("s", "lower", ()),
    },
    machine=MACHINE,
    conditions={},
    versions={"olympus": "1"},
    fingerprint="0" * 64,
)


@pytest.fixture
def work(folder: Path) -> Path:
    """A project in a repository, with a commit."""
    (folder / "m.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    commit(folder, 1)
    return folder


def git(folder: Path, *arguments: str, **environment: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
        cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True,
    )  # fmt: skip


def commit(folder: Path, day: int) -> None:
    date = f"2026-01-{day:02}T12:00:00Z"
    git(folder, "add", "m.py", "olympus.toml")
    dates = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    git(folder, "commit", "--quiet", "--allow-empty", "-m", f"day {day}", **dates)


def run(day: int, **facts: Any) -> Run:
    time = f"2026-01-{day:02}T12:00:00.000000Z"
    usual = {"command": "bench", "commit": f"{day:040x}", "commit_time": time, "host": "h"}
    return Run(time=time, **{**usual, **facts})


def flops(value: float, **facts: Any) -> Figure:
    return Figure(**{"target": "f", "backend": "cpu", "metric": "flops", "unit": "FLOP",
                     "value": value, **facts})  # fmt: skip


def steady(value: float, **facts: Any) -> Figure:
    usual = {"metric": "steady_call", "unit": "s", "count": 20}
    return flops(value, **{**usual, "low": 0.9 * value, "high": 1.1 * value, **facts})


def document(invoke: Invoke, *arguments: str) -> Any:
    result = invoke("history", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def history(work: Path) -> Path:
    return work / "build" / "history.sqlite"


# --- what commands add --------------------------------------------------------------------------


def test_a_build_and_a_check_add_what_they_found_and_a_fresh_build_nothing(
    work: Path, invoke: Invoke
) -> None:
    assert invoke("build").exit_code == 0
    points = read_points(history(work))
    figures = {point.figure.metric: point.figure for point in points}
    report = json.loads((work / "build/f/report.json").read_text())
    assert figures["flops"].value == report["backends"][0]["cost"]["flops"]
    assert figures["build-compile"].value == report["seconds"]["compile"]
    assert figures["build-compile"].count == 1
    assert figures["peak-memory"].value == report["backends"][0]["memory"]["peak"]
    assert figures["estimated-time"].value == report["backends"][0]["estimate"]["seconds"]
    assert figures["bundle-size"].value == (work / "build/f/f.olympus").stat().st_size
    (found,) = {point.run.key: point.run for point in points}.values()
    assert (found.command, found.branch, found.dirty) == ("build", "trunk", False)
    assert found.commit_time == "2026-01-01T12:00:00.000000Z"
    assert found.commit is not None
    assert len(found.commit) == 40
    before = history(work).read_bytes()
    assert invoke("build").stdout.startswith("fresh")
    assert history(work).read_bytes() == before
    assert invoke("check").exit_code == 0
    counted = [p.figure for p in read_points(history(work)) if p.figure.metric == "flops"]
    assert len(counted) == 2
    assert len({(figure.value, figure.program) for figure in counted}) == 1


def test_a_bench_adds_a_summary_of_each_metric(work: Path) -> None:
    project = open_project(None)
    record_bench(project, [(usual(), MEASURED)])
    record_bench(None, [(usual(), MEASURED)])
    (point,) = read_points(history(work))
    assert (point.figure.value, point.figure.count, point.figure.unit) == (2.0, 3, "s")
    assert point.figure.fingerprint == "0" * 64
    assert point.run.host == recording.machine_digest(MACHINE)


def usual(text: str = "f", inputs: InputOptions | None = None, **options: Any) -> SamplerWork:
    """What bench measures of a text, with options."""
    return SamplerWork.of_target(Request(text, **options).spec(), inputs)


def test_what_a_target_is_not_stays_out_of_its_series(work: Path) -> None:
    project = open_project(None)
    bundle = BundleWork(work / "f.olympus", parse_backend("cpu"))
    for other in (
        usual(shapes="f32[256]"),
        usual("m:f", shapes="f32[64]"),
        usual(statics=("n=3",)),
        usual(stages={"optimize": "fast-build"}),
        usual(stages={"repeats": "off"}),
        usual(inputs=InputOptions(seed=1)),
        usual(inputs=InputOptions(file=work / "x.npz")),
        usual(inputs=InputOptions(int_range=(0, 4))),
        SamplerWork.of_bundle("f.olympus", bundle, InputOptions(), Effort()),
    ):
        record_bench(project, [(other, MEASURED)])
    record_bench(project, [(usual(), replace(MEASURED, facts={"stopped_by": "interrupted"}))])
    assert not history(work).exists()
    record_bench(project, [(usual(backend="cpu", stages={"optimize": "default"}), MEASURED)])
    assert read_points(history(work))


def test_it_can_be_turned_off_and_moved(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text("[project]\nhistory = false\n" + TOML)
    record_bench(open_project(None), [(usual(), MEASURED)])
    assert not (work / "build").exists()
    result = invoke("history")
    assert result.exit_code == 2
    assert "says that no history is kept" in result.stderr
    (work / "olympus.toml").write_text('[project]\nhistory = "kept/h.db"\n' + TOML)
    record_bench(open_project(None), [(usual(), MEASURED)])
    assert read_points(work / "kept/h.db")


@pytest.mark.parametrize("value", ["3", '""', "[]"])
def test_the_key_takes_nothing_else(work: Path, invoke: Invoke, value: str) -> None:
    (work / "olympus.toml").write_text(f"[project]\nhistory = {value}\n" + TOML)
    result = invoke("history")
    assert result.exit_code == 2
    assert "project.history must be true, false or the path of a file" in result.stderr


def test_without_git_the_facts_of_it_are_not_known(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = repository.RepositoryState()
    monkeypatch.setattr(repository, "_TIME_LIMIT", 1e-9)
    assert repository.repository_state(work) == nothing
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    assert repository.repository_state(work) == nothing
    monkeypatch.undo()
    shutil.rmtree(work / ".git")
    assert repository.repository_state(work) == nothing


def test_a_repository_without_a_commit_and_one_without_a_branch(work: Path) -> None:
    git(work, "checkout", "--quiet", "--detach")
    found = repository.repository_state(work)
    assert (found.branch, found.dirty) == (None, False)
    assert found.commit is not None
    shutil.rmtree(work / ".git")
    git(work, "init", "--quiet", "--initial-branch=trunk")
    assert repository.repository_state(work) == repository.RepositoryState(branch="trunk")


# --- the file -----------------------------------------------------------------------------------


def test_writers_side_by_side_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from olympus_cli.history.model import Figure, Run\n"
        "from olympus_cli.history.store import append\n"
        "for i in range(15):\n"
        "    run = Run(f'2026-01-01T00:00:{i:02}.000000Z', 'bench', branch=sys.argv[2])\n"
        "    append(Path(sys.argv[1]), [(run, [Figure('f', 'cpu', 'm', 's', 1.0)])])\n"
    )
    path = tmp_path / "history.sqlite"
    every = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number)])
        for number in range(3)
    ]
    assert [each.wait() for each in every] == [0, 0, 0]
    assert len(read_points(path)) == 45


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from olympus_cli.history import store\n"
        "from olympus_cli.history.model import Figure, Run, StoredProgram\n"
        "def killed(connection):\n"
        "    connection.execute('PRAGMA cache_spill = 1')\n"
        "    connection.execute('INSERT INTO program VALUES (1, ?, ?, NULL)',\n"
        "        ('x', os.urandom(8_000_000)))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "store._drop_oldest = killed\n"
        "run = Run('2026-01-02T00:00:00.000000Z', 'bench')\n"
        "store.append(Path(sys.argv[1]), [(run, [Figure('f', 'cpu', 'm', 's', 1.0)])])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.with_name(path.name + "-journal").exists()
    assert [point.figure.value for point in read_points(path)] == [1.0]
    append(path, [(run(3), [flops(2)])])
    assert len(read_points(path)) == 2


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (id INTEGER)")
    connection.close()


def newer(path: Path) -> None:
    changed(path, "PRAGMA user_version = 99")


def with_a_trigger(path: Path) -> None:
    changed(path, "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END")


def changed(path: Path, statement: str) -> None:
    append(path, [(run(1), [flops(1)])])
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def torn(path: Path) -> None:
    append(path, [(run(day), [flops(day)]) for day in range(1, 29)])
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 12288)


WRONG = {
    "no database": (lambda path: path.write_text("hello\n" * 1000), "is damaged"),
    "another's": (foreign, "is not a history of olympus"),
    "newer": (newer, "is a history of a newer olympus: it has version 99"),
    "with a trigger": (with_a_trigger, "does not have the tables of a history"),
    "torn": (torn, "is damaged"),
    "a wrong type": (lambda path: changed(path, "UPDATE figure SET value = 'x'"), "is damaged"),
    "no versions": (lambda path: changed(path, "UPDATE run SET versions = '{'"), "is damaged"),
    "no text": (
        lambda path: changed(path, "UPDATE run SET command = CAST(x'ff' AS TEXT)"),
        "is damaged",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_wrong_is_one_message_and_stays_as_it_is(
    work: Path, invoke: Invoke, name: str
) -> None:
    break_it, message = WRONG[name]
    history(work).parent.mkdir()
    break_it(history(work))
    before = history(work).read_bytes()
    result = invoke("history", "--metric", "flops")
    assert result.exit_code == 5, result.output
    assert message in result.stderr
    assert result.stderr.count("error:") == 1
    assert history(work).read_bytes() == before


def test_a_command_whose_history_is_wrong_warns_and_goes_on(work: Path, invoke: Invoke) -> None:
    history(work).parent.mkdir()
    foreign(history(work))
    before = history(work).read_bytes()
    result = invoke("check")
    assert result.exit_code == 0, result.output
    assert "warning: the figures are not in the history: " in result.stderr
    assert "is not a history of olympus" in result.stderr
    assert history(work).read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "nowhere"])
def test_what_is_not_a_file_is_not_opened(work: Path, invoke: Invoke, kind: str) -> None:
    path = history(work)
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    result = invoke("history")
    assert result.exit_code == 2
    assert ("there is no history yet" if kind == "nowhere" else "it is not a file") in result.stderr


def test_a_place_that_cannot_be_written_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        append(tmp_path / "file" / "history.sqlite", [(run(1), [])])
    for code, message in (
        (sqlite3.SQLITE_READONLY, "cannot be written"),
        (sqlite3.SQLITE_FULL, "cannot be written"),
        (sqlite3.SQLITE_BUSY, "in use by another process"),
    ):
        error = sqlite3.OperationalError("told")
        error.sqlite_errorcode = code
        told = store._told(error, tmp_path / "h", write=True)
        assert isinstance(told, UsageError)
        assert message in str(told)


def test_who_waits_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    monkeypatch.setattr(store, "_PATIENCE", 0.01)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(UsageError, match="has been in use by another process"):
        append(path, [(run(2), [flops(1)])])
    holder.close()


def test_an_older_file_is_brought_to_the_newest_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    append(path, [(run(1), [flops(1)])])
    longer = (*schema.MIGRATIONS, ("CREATE TABLE extra (id INTEGER)",))
    for module in (schema, store):
        monkeypatch.setattr(module, "MIGRATIONS", longer)
    assert len(read_points(path)) == 1
    append(path, [(run(2), [flops(1)])])
    assert len(read_points(path)) == 2
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="newer olympus"):
        read_points(path)


def test_programs_are_kept_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    programs = [StoredProgram.of(os.urandom(1000), None) for _ in range(4)]
    monkeypatch.setattr(store, "_MOST_PROGRAMS", 2500)
    append(path, [], programs)
    digests = [each.digest for each in programs]
    assert [*read_programs(path, digests)] == digests[2:]
    large = StoredProgram.of(os.urandom(1000), os.urandom(5000))
    monkeypatch.setattr(store, "_MOST_STORED", 4000)
    append(path, [], [large])
    assert read_programs(path, [large.digest]) == {}


@pytest.mark.parametrize(
    "content", [b"no zlib", zlib.compress(b"another program"), zlib.compress(b"x")[:-2]]
)
def test_a_stored_program_that_was_changed_is_damage(tmp_path: Path, content: bytes) -> None:
    path, program = tmp_path / "history.sqlite", StoredProgram.of(b"x", None)
    append(path, [], [program])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE program SET stablehlo = ?", (content,))
    connection.commit()
    connection.close()
    with pytest.raises(ArtifactError, match="is damaged"):
        read_programs(path, [program.digest])


# --- what is told -------------------------------------------------------------------------------


def test_the_latest_figures_and_those_before(work: Path, invoke: Invoke) -> None:
    append(
        history(work),
        [
            (run(1), [flops(100), steady(1.0)]),
            (run(2, host="another"), [flops(100), steady(9.0)]),
            (run(3), [flops(120), steady(1.1)]),
        ],
    )
    counted, measured = document(invoke)["figures"]
    assert (counted["value"], counted["before"], counted["ratio"]) == (120, 100, 1.2)
    assert counted["run_before"]["commit"] == f"{2:040x}"
    assert (measured["value"], measured["before"]) == (1.1, 1.0)
    assert measured["run"]["commit"] == f"{3:040x}"
    lines = invoke("history", "f").stdout.splitlines()
    assert lines[0].split()[:4] == ["target", "backend", "metric", "figure"]
    assert lines[1].split()[:8] == ["f", "cpu", "flops", "120", "FLOP", "100", "FLOP", "+20.0%"]


def test_figures_of_builds_are_shown_where_they_are_asked_for(work: Path, invoke: Invoke) -> None:
    figures = [flops(100), flops(2, metric="build-time", unit="s", count=1)]
    append(history(work), [(run(1), figures)])
    found = document(invoke)
    assert ([each["metric"] for each in found["figures"]], found["left_out"]) == (["flops"], 1)
    result = invoke("history")
    assert "build-time" not in result.stdout
    assert "left out: 1 figure of builds; --all shows all" in result.output
    found = document(invoke, "--all")
    assert [each["metric"] for each in found["figures"]] == ["build-time", "flops"]
    assert found["left_out"] == 0
    assert "left out" not in invoke("history", "--all").output
    assert "build-time of f" in invoke("history", "--metric", "build-time").stdout


def test_the_order_is_that_of_the_commits(work: Path, invoke: Invoke) -> None:
    late = replace(run(1), time="2026-03-01T00:00:00.000000Z")
    append(history(work), [(run(2), [flops(2)]), (late, [flops(1)]), (run(3), [flops(3)])])
    (line,) = document(invoke, "--metric", "flops")["series"]
    assert [point["value"] for point in line["points"]] == [1, 2, 3]


def test_measured_figures_of_different_machines_are_apart(work: Path, invoke: Invoke) -> None:
    both = [(run(day, host="a b"[2 * (day % 2)]), [steady(day), flops(7)]) for day in range(1, 7)]
    append(history(work), both)
    found = document(invoke, "--metric", "steady_call", "--metric", "flops")["series"]
    assert [(line["metric"], line["host"], len(line["points"])) for line in found] == [
        ("flops", None, 6),
        ("steady_call", "a", 3),
        ("steady_call", "b", 3),
    ]


def test_a_change_of_level_is_told_once_with_its_commit(work: Path, invoke: Invoke) -> None:
    levels = 1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.3, 1.31, 1.29, 1.3, 1.3, 1.32
    append(history(work), [(run(day), [steady(level)]) for day, level in enumerate(levels, 1)])
    (line,) = document(invoke, "--metric", "steady_call")["series"]
    (change,) = line["changes"]
    assert change["run"]["commit"] == f"{9:040x}"
    assert change["ratio"] == pytest.approx(1.3, rel=0.02)
    assert change["probability"] < 0.01
    assert change["program"] == "unknown"
    shown = invoke("history", "--metric", "steady_call").stdout
    assert "1: +30.0%" in shown
    assert "1  00000000  1.00 s -> 1.30 s  (+30.0%, p = " in shown
    assert "whether the program changed is not known" in shown


def test_what_changed_in_the_program_is_told_with_its_lines(work: Path, invoke: Invoke) -> None:
    invoke("check")
    first = read_points(history(work))[0].figure.program
    (work / "m.py").write_text(PROGRAM.replace("np.tanh(x) * 2.0", "np.sin(x) * 2.0 + x"))
    commit(work, 2)
    invoke("check")
    (line,) = document(invoke, "--metric", "flops")["series"]
    assert [point["run"]["dirty"] for point in line["points"]] == [False, False]
    (change,) = line["changes"]
    assert change["program"] == "changed"
    assert change["run"]["commit_time"] == "2026-01-02T12:00:00.000000Z"
    changes = change["difference"]["changes"]
    assert {each["kind"] for each in changes} == {"added", "changed"}
    assert {each["after"]["text"] for each in changes} == {"return np.sin(x) * 2.0 + x"}
    shown = invoke("history", "f", "--metric", "flops").stdout
    assert "the program changed: 1 operation changed, 1 operation added" in shown
    assert "tanh -> sine" in shown
    assert "- m.py:5  return np.tanh(x) * 2.0" in shown
    # one that is known by its structure alone is found among the stored ones
    stored = read_programs(history(work), [first or ""])[first or ""]
    name = structural_fingerprint(graph_of(read_module(stored.stablehlo, "it")))
    append(
        history(work),
        [
            (run(11), [flops(1, metric="m", program=None, fingerprint=name)]),
            (run(12), [flops(2, metric="m", program=None, fingerprint="0" * 64)]),
            (run(13), [flops(3, metric="m", program=None, fingerprint="0" * 64)]),
        ],
    )
    (line,) = document(invoke, "--metric", "m")["series"]
    assert [change["program"] for change in line["changes"]] == ["changed", "same"]
    assert line["changes"][0]["difference"] is None
    shown = invoke("history", "--metric", "m").stdout
    assert "what in it is not known, as it is not stored" in shown
    assert "the program is the same" in shown


def test_versions_that_differ_are_told(work: Path, invoke: Invoke) -> None:
    one, other = run(1, versions={"jaxlib": "1"}), run(2, versions={"jaxlib": "2", "python": "3"})
    append(history(work), [(one, [flops(1)]), (other, [flops(2)])])
    shown = invoke("history", "--metric", "flops").stdout
    assert "   jaxlib: 1 -> 2\n   python: none -> 3" in shown


def test_a_change_is_held_against_the_run_before_it_also_where_that_is_not_shown(
    work: Path, invoke: Invoke
) -> None:
    """The first run that is shown has another program than the one before, the last one's."""
    one, other = "a" * 64, "b" * 64
    figures = [flops(1, program=one), flops(2, program=other), flops(2, program=other)]
    append(history(work), [(run(day), [each]) for day, each in enumerate(figures, 1)])
    for options in (["--since", "2026-01-02T00:00Z"], ["--limit", "2"], []):
        (line,) = document(invoke, "--metric", "flops", *options)["series"]
        (change,) = line["changes"]
        assert (change["before"], change["after"], change["program"]) == (1, 2, "changed")


def test_since_and_limit(work: Path, invoke: Invoke) -> None:
    append(history(work), [(run(day), [flops(day)]) for day in range(1, 11)])

    def values(*options: str) -> list[int]:
        (line,) = document(invoke, "--metric", "flops", *options)["series"]
        assert all(0 <= change["index"] < len(line["points"]) for change in line["changes"])
        return [point["value"] for point in line["points"]]

    assert values("--since", "2026-01-08T00:00Z") == [8, 9, 10]
    assert values("--limit", "2") == [9, 10]
    for day in (5, 6, 7):
        commit(work, day)
    assert values("--since", "HEAD~1") == [6, 7, 8, 9, 10]
    assert document(invoke, "--since", "2027-01-01")["figures"] == []
    assert (
        invoke("history", "--since", "2027-01-01").stderr
        == "note: the history has no such figures\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "flop"], "the history has no metric 'flop'\nhint: did you mean flops?"),
        (["g"], "the history has no target 'g'\nhint: it has f"),
        (["--since", "perhaps"], "--since perhaps: it is not a date, and git has no such revision"),
        (["--since", "--all"], "--since --all: it is not a date, and git has no such revision"),
        (["--plot", "a.svg"], "--plot needs --metric"),
        (["--plot", "a.png", "--metric", "flops"], "does not say a format"),
        (["--plot", "a.svg", "--metric", "flops", "--metric", "m"], "an SVG holds one plot"),
        (["--format", "csv"], "--format is of --export"),
        (["--export", "a", "--import", "b"], "give one of them"),
        (["--export", "a.csv", "--plot", "a.svg"], "--plot draws what is shown"),
        (["--export", "a.txt"], "does not say a format"),
        (["f", "--import", "a"], "--import takes all that is in a file"),
        (["--import", "nowhere"], "nowhere cannot be read"),
        (["--limit", "0"], "must be at least 1"),
        (["--all", "--metric", "flops"], "--all is of the latest figures"),
        (["--all", "--export", "a.csv"], "--all is of the latest figures"),
    ],
)
def test_a_mistake_is_one_message(
    work: Path, invoke: Invoke, options: list[str], words: str
) -> None:
    append(history(work), [(run(1), [flops(1), flops(2, metric="m")])])
    result = invoke("history", *options)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("error:") == 1
    assert not (work / "a.svg").exists()


def test_plots_go_to_files(work: Path, invoke: Invoke) -> None:
    hostile = "<script>alert(1)</script>"
    figures = [[flops(day // 3, target=hostile), steady(day)] for day in range(1, 7)]
    append(history(work), [(run(day), each) for day, each in enumerate(figures, 1)])
    assert invoke("history", "--metric", "steady_call", "--plot", "a.svg").exit_code == 0
    assert (work / "a.svg").read_text().count("<circle") == 6
    both = ("--metric", "steady_call", "--metric", "flops", "--plot", "a.html")
    assert invoke("history", *both).exit_code == 0
    page = (work / "a.html").read_text()
    assert page.count("<svg") == 2
    assert "script>" not in page
    assert "default-src 'none'" in page
    assert "+100.0%" in page


def test_export_and_import_of_the_whole_history(work: Path, invoke: Invoke) -> None:
    found = [(run(day), [flops(day), steady(0.1 * day)]) for day in range(1, 4)]
    append(history(work), found)
    assert document(invoke, "--export", "a.csv") == {
        "exported": str(work / "a.csv"), "format": "csv", "figures": 6,
    }  # fmt: skip
    assert document(invoke, "--import", "a.csv")["new_figures"] == 0
    before = read_points(history(work))
    history(work).unlink()
    assert document(invoke, "--import", "a.csv")["new_runs"] == 3
    assert read_points(history(work)) == before
    assert document(invoke, "f", "--metric", "flops", "--export", "b.csv")["figures"] == 3
    result = invoke("history", "--import", "m.py")
    assert result.exit_code == 5
    assert "m.py cannot be imported: it has no column 'time'" in result.stderr


def test_every_number_that_is_shown_is_in_the_document(work: Path, invoke: Invoke) -> None:
    append(history(work), [(run(1), [steady(1.5)]), (run(2), [steady(2.5)])])
    (line,) = document(invoke, "--metric", "steady_call")["series"]
    point = line["points"][1]
    assert (point["value"], point["low"], point["high"], point["count"]) == (2.5, 2.25, 2.75, 20)
    row = invoke("history", "--metric", "steady_call").stdout.splitlines()[3]
    assert row.split() == [
        "00000000", "2026-01-02", "12:00", "bench", "2.50", "s", "2.25", "s", "..", "2.75", "s",
        "20",
    ]  # fmt: skip


def test_errors_of_the_store_are_those_of_olympus() -> None:
    for error in (sqlite3.DatabaseError("x"), sqlite3.OperationalError("x")):
        assert isinstance(store._told(error, Path("h"), write=False), OlympusError)
