"""`olympus build` and `olympus compile` on small projects: the files that they write, and when."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus import Target, artifact
from olympus.errors import TraceError
from olympus.stages import Compiled
from olympus_cli.builder import driver
from olympus_cli.builder.gate_report import build_report
from olympus_cli.builder.key import content_keys
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.output_place import locked
from olympus_cli.builder.outputs import compile_and_write
from olympus_cli.builder.reasons import Stated
from olympus_cli.faults.failure import Failure
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import backend_labels
from olympus_cli.spec.resolve import Request
from olympus_cli.workers import pool
from olympus_cli.workers.executor import Done
from tests.documents.documents import has_gpu_compiler

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
from helper import factor


def scale(x, y):
    return {"out": olympus.numpy.tanh(x * factor()) + y}


def loop(x):
    return olympus.lax.fori_loop(0, 3, lambda i, y: y * 2, x)


def breaks(x):
    raise ValueError("the weather is bad")
"""

TOML = """\
[target.scale]
entry = "program:scale"
args = { x = "f32[8,3]", y = "f32[3]" }
donate = ["y"]

[target.loop]
entry = "program:loop"
args = ["f32[4]"]
"""

FILES = {
    "cpu/executable.bin",
    "cpu/optimized.hlo.txt",
    "olympus-build.json",
    "program.hlo.txt",
    "program.olympuspr",
    "program.sources.json",
    "program.stablehlo.mlir",
    "report.json",
    "scale.olympus",
    "summary.txt",
}


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "helper.py").write_text("def factor():\n    return 2.0\n")
    (folder / "olympus.toml").write_text(TOML)
    return folder


def written(directory: Path) -> set[str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix() for path in files}


def statuses(result: Result, *exit_codes: int) -> dict[str, str]:
    assert result.exit_code in (exit_codes or (0, 3, 4)), result.output
    return {target["target"]: target["status"] for target in json.loads(result.stdout)["targets"]}


def test_a_build_writes_every_file_and_no_other(work: Path, invoke: Invoke) -> None:
    result = invoke("build")
    assert result.exit_code == 0, result.output
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["built", "scale"],
        ["built", "loop"],
    ]
    assert written(work / "build" / "scale") == FILES
    assert sorted(path.name for path in (work / "build").iterdir()) == [
        ".olympus-index.json",
        "history.sqlite",
        "loop",
        "scale",
    ]
    assert "stablehlo.tanh" in (work / "build/scale/program.stablehlo.mlir").read_text()
    assert "HloModule" in (work / "build/scale/cpu/optimized.hlo.txt").read_text()
    assert (work / "build/scale/cpu/executable.bin").stat().st_size > 0


def test_only_changed_targets_are_rebuilt(work: Path, invoke: Invoke) -> None:
    assert statuses(invoke("build", "--json")) == {"scale": "built", "loop": "built"}
    time = (work / "build/scale/report.json").stat().st_mtime_ns
    assert statuses(invoke("build", "--json")) == {"scale": "fresh", "loop": "fresh"}
    assert (work / "build/scale/report.json").stat().st_mtime_ns == time
    (work / "program.py").write_text("# a comment changes no program\n" + PROGRAM)
    assert statuses(invoke("build", "--json")) == {"scale": "fresh", "loop": "fresh"}
    (work / "helper.py").write_text("def factor():\n    return 4.5\n")  # in an imported module
    assert statuses(invoke("build", "--json")) == {"scale": "built", "loop": "fresh"}
    assert statuses(invoke("build", "--json", "--force", "loop")) == {"loop": "built"}


def test_a_damaged_output_is_rebuilt(work: Path, invoke: Invoke) -> None:
    invoke("build", "loop")
    (work / "build/loop/cpu/executable.bin").unlink()
    result = invoke("build", "--json", "loop")
    (target,) = json.loads(result.stdout)["targets"]
    assert target["status"] == "built"
    assert target["reason"] == "cpu/executable.bin is missing or has been changed"
    executable = work / "build/loop/cpu/executable.bin"
    for path in (executable, work / "build/loop/summary.txt"):
        path.write_bytes(path.read_bytes()[:-1] + b"!")  # of the same size
        (target,) = json.loads(invoke("build", "--json", "loop").stdout)["targets"]
        name = path.relative_to(work / "build/loop").as_posix()
        assert target["reason"] == f"{name} is missing or has been changed"
    assert statuses(invoke("build", "--json", "loop")) == {"loop": "fresh"}


def test_frozen_builds_nothing_and_lists_the_stale_targets(work: Path, invoke: Invoke) -> None:
    result = invoke("build", "--frozen", "loop")
    assert result.exit_code == 7
    assert "loop: it has not been built before" in result.stderr
    assert not (work / "build").exists()
    invoke("build", "loop")
    time.sleep(0.1)  # a file that was written just now may be written again at the same time
    assert invoke("build", "loop").exit_code == 0
    written = (work / "build").stat().st_mtime_ns
    assert invoke("build", "loop").exit_code == 0
    assert invoke("build", "--frozen", "loop").exit_code == 0
    assert (work / "build").stat().st_mtime_ns == written  # no file was created in it and removed


def test_a_folder_of_the_user_fails_its_own_target_only(work: Path, invoke: Invoke) -> None:
    (work / "build/scale").mkdir(parents=True)
    (work / "build/scale/thesis.txt").write_text("years")
    assert statuses(result := invoke("build", "--json"), 2) == {"scale": "failed", "loop": "built"}
    assert "target 'scale'" in result.stderr
    (work / "build/scale/thesis.txt").unlink()
    (work / "build/scale").rmdir()
    (work / "build/scale").symlink_to("loop")
    assert statuses(result := invoke("build", "--json"), 2) == {"scale": "built", "loop": "failed"}
    assert "leads to the folder of target 'scale'" in result.stderr


def test_a_failing_target_keeps_its_last_outputs(work: Path, invoke: Invoke) -> None:
    invoke("build")
    (work / "program.py").write_text(PROGRAM.replace("    return {", "    1 / 0\n    return {"))
    result = invoke("build", "--json")
    assert result.exit_code == 3
    assert statuses(result) == {"scale": "failed", "loop": "fresh"}
    assert "target 'scale'" in result.stderr
    assert "Traceback" not in result.stderr
    assert written(work / "build/scale") == FILES
    failed = json.loads(result.stdout)["targets"][0]["error"]
    assert failed["exit_code"] == 3
    assert failed["location"].endswith("program.py:6")


def test_each_of_several_failures_is_reported(work: Path, invoke: Invoke) -> None:
    bad = '[target.{0}]\nentry = "program:breaks"\nargs = ["f32[2]"]\n'
    (work / "olympus.toml").write_text(bad.format("one") + bad.format("two"))
    result = invoke("build")
    assert result.exit_code == 3
    assert "target 'one'" in result.stderr
    assert "target 'two'" in result.stderr
    assert "2 of 2 targets failed" in result.stderr
    assert result.stderr.count("while it was traced: the weather is bad") == 2
    # the index has the targets that failed
    assert [path.name for path in (work / "build").iterdir()] == [".olympus-index.json"]


def test_output_of_a_program_does_not_reach_stdout(work: Path, invoke: Invoke) -> None:
    (work / "helper.py").write_text("print('hello')\ndef factor():\n    return 1.0\n")
    result = invoke("build", "--json", "scale")
    assert statuses(result) == {"scale": "built"}
    assert "hello" in result.stderr


def test_compile_prints_a_summary_and_writes_to_the_output_folder(
    work: Path, invoke: Invoke
) -> None:
    result = invoke("compile", "program:loop", "--shapes", "f32[4]", "-o", "there")
    assert result.exit_code == 0, result.output
    assert "  flops           12\n" in result.stdout
    assert "cpu/executable.bin" in result.stdout
    assert (work / "there" / "loop.olympus").is_file()
    shown = json.loads(invoke("compile", "scale", "--json").stdout)
    assert shown["directory"] == str(work / "build" / "scale")
    assert [argument["name"] for argument in shown["report"]["arguments"]] == ["x", "y"]
    assert [argument["donated"] for argument in shown["report"]["arguments"]] == [False, True]


def test_compile_does_not_replace_a_folder_of_the_user(work: Path, invoke: Invoke) -> None:
    (work / "mine").mkdir()
    (work / "mine" / "thesis.txt").write_text("years")
    result = invoke("compile", "scale", "-o", "mine")
    assert result.exit_code == 2
    assert "will not be replaced" in result.stderr
    assert (work / "mine" / "thesis.txt").read_text() == "years"


def test_compile_writes_to_the_projects_build_folder(work: Path, invoke: Invoke) -> None:
    args = ["compile", "helper:factor", "--json"]
    (work / "olympus.toml").write_text('[project]\nbuild-dir = "made"\n' + TOML)
    assert json.loads(invoke(*args).stdout)["directory"] == str(work / "made" / "factor")
    shown = json.loads(invoke(*args, "--project", str(work)).stdout)
    assert shown["directory"] == str(work / "made" / "factor")
    (work / "olympus.toml").unlink()
    assert json.loads(invoke(*args).stdout)["directory"] == str(work / "build" / "factor")


def test_an_entry_does_not_replace_outputs_of_a_target_or_another_entry(
    work: Path, invoke: Invoke
) -> None:
    assert invoke("build", "loop").exit_code == 0
    report = (work / "build" / "loop" / "report.json").read_bytes()
    args = ("compile", "program:loop", "--shapes", "f32[9]")
    refused = invoke(*args)
    assert refused.exit_code == 2
    assert "build/loop is for the outputs of target 'loop'" in refused.stderr
    assert "hint: 'loop' without a file is the target; -o FOLDER gives" in refused.stderr
    assert (work / "build" / "loop" / "report.json").read_bytes() == report
    assert invoke(*args, "-o", "apart").exit_code == 0
    assert invoke("compile", "helper:factor").exit_code == 0
    (work / "other.py").write_text("from helper import factor\n")
    refused = invoke("compile", "other:factor")
    assert refused.exit_code == 2
    assert "build/factor has the outputs of helper:factor" in refused.stderr


@pytest.mark.parametrize("command", ["compile", "report"])
def test_outputs_for_another_device_do_not_replace_a_build(
    work: Path, invoke: Invoke, command: str
) -> None:
    assert invoke("build", "loop").exit_code == 0
    report = (work / "build" / "loop" / "report.json").read_bytes()
    refused = invoke(command, "loop", "--device", "h200")
    assert refused.exit_code == 2
    message = "build/loop has the build of target 'loop' for cpu, which outputs for gpu:h200 would"
    assert f"error: {message} replace\nhint: -o F" in refused.stderr
    assert (work / "build" / "loop" / "report.json").read_bytes() == report
    assert invoke("build", "loop", "--frozen").exit_code == 0
    assert invoke(command, "loop").exit_code == 0


def test_compile_replaces_outputs_for_a_backend_that_the_target_has_lost(
    work: Path, invoke: Invoke
) -> None:
    assert invoke("build", "loop").exit_code == 0
    build = json.loads((work / "build" / "loop" / "report.json").read_text())
    toml = (work / "olympus.toml").read_text()
    table = "[target.loop]\n"
    assert table in toml and [backend["label"] for backend in build["backends"]] == ["cpu"]
    (work / "olympus.toml").write_text(toml.replace(table, f'{table}backends = ["gpu:h200"]\n'))
    result = invoke("compile", "loop")
    assert result.exit_code == (0 if has_gpu_compiler() else 6), result.stderr


def test_compile_follows_a_link_and_does_not_replace_the_working_directory(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "link").symlink_to("real")
    args = ["compile", "program:loop", "--shapes", "f32[4]", "--project", str(work), "-o"]
    for _ in range(2):
        assert invoke(*args, "link").exit_code == 0
    assert (work / "link").readlink() == Path("real")
    assert (work / "real" / "report.json").is_file()
    (work / "empty").mkdir()
    monkeypatch.chdir(work / "empty")
    result = invoke(*args, ".")
    assert result.exit_code == 2
    assert "the working directory is in it" in result.stderr
    for length in (250, 300):
        result = invoke(*args, "n" * length)
        assert result.exit_code == 2
        assert f"{'n' * length} cannot be used: File name too long" in result.stderr


def test_a_defect_among_several_failures_has_its_exit_code(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = [
        Outcome("scale", "failed", failure=Failure.of(TraceError("no"))),
        Outcome("loop", "failed", failure=Failure.of(ZeroDivisionError("x"))),
    ]
    monkeypatch.setattr("olympus_cli.builder.project_build.build", lambda *_, **__: failed)
    result = invoke("build")
    assert result.exit_code == 3
    assert "error: target 'scale': no\n" in result.stderr
    assert "this is a defect of olympus: target 'loop': Zero" in result.stderr
    assert result.stderr.splitlines()[-1] == "error: 2 of 2 targets failed"


@pytest.mark.parametrize("delay", [0.0, 0.2, 2.0])
@pytest.mark.parametrize(
    ("number", "end"),
    [(signal.SIGINT, (130, "interrupted\n")), (signal.SIGTERM, (143, "terminated\n"))],
)
def test_an_interrupted_build_leaves_no_partial_outputs(
    work: Path,
    delay: float,
    number: int,
    end: tuple[int, str],
    started: Callable[..., subprocess.Popen[str]],
) -> None:
    (work / "tmp").mkdir()
    (work / "program.py").write_text(PROGRAM + "\n\ndef forever(x):\n    while True: pass\n")
    (work / "olympus.toml").write_text(
        TOML + '[target.forever]\nentry = "program:forever"\nargs = ["f32[4]"]\n'
    )
    process = started(
        [sys.executable, "-m", "olympus_cli", "build", "forever"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TMPDIR": str(work / "tmp"),
        },
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (work / "build").exists():
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(delay)
    os.killpg(process.pid, number)  # to all its processes, as a terminal does
    _, talk = process.communicate(timeout=120)
    assert (process.returncode, talk) == end
    assert not (work / "build").exists()
    assert list((work / "tmp").iterdir()) == []


def test_the_default_number_of_jobs_is_the_number_of_processors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested_jobs: list[int] = []

    def run_all(_works: object, jobs: int, **_options: object) -> Iterator[Done]:
        requested_jobs.append(jobs)
        yield from ()

    monkeypatch.setattr(pool, "run_all", run_all)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5}, raising=False)
    driver.build({}, folder)
    monkeypatch.delattr(os, "sched_getaffinity")
    driver.build({}, folder)
    assert requested_jobs == [2, 64]


def test_labels_distinguish_devices_of_one_backend() -> None:
    cpu, h200, a100 = Target("cpu"), Target("gpu", "h200"), Target("gpu", "a100-80")
    assert list(backend_labels([cpu, h200])) == ["cpu", "gpu"]
    assert list(backend_labels([cpu, h200, a100])) == ["cpu", "gpu-h200", "gpu-a100-80"]


def test_compiler_options_are_used_saved_and_part_of_the_key(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "scale").exit_code == 0
    toml = (work / "olympus.toml").read_text()
    option = "compiler-options = { xla_backend_optimization_level = 0 }\n"
    (work / "olympus.toml").write_text(toml.replace("[target.loop]", option + "[target.loop]"))
    assert invoke("build", "scale", "--frozen").exit_code == 7
    assert invoke("build", "scale").exit_code == 0
    stored = artifact.load(work / "build" / "scale" / "scale.olympus").manifest.compiler_options
    assert stored == {"xla_backend_optimization_level": 0}


def test_each_output_is_requested_from_the_compiler_once(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program.of(Request("scale").spec(), until="lower")
    calls: list[str] = []
    for name in ("as_text", "serialize", "cost_analysis", "memory_analysis"):
        usual = getattr(Compiled, name)

        def recorded(self: Compiled, name: str = name, usual: Callable[..., Any] = usual) -> Any:
            calls.append(name)
            return usual(self)

        monkeypatch.setattr(Compiled, name, recorded)
    (work / "out").mkdir()
    with program.clock.part("compare"):
        keys = content_keys(program)
    compile_and_write(program, keys, work / "out", "..", calls.append)
    assert calls == ["serialize", "as_text", "cost_analysis", "memory_analysis", "write"]
    bundle = artifact.load(work / "out" / "scale.olympus")
    executable = (work / "out" / "cpu" / "executable.bin").read_bytes()
    assert bundle.members["executables/cpu.bin"] == executable


WARNS = """\
import warnings

import olympus


def warns(x):
    warnings.warn("the moon is full")
    return olympus.lax.while_loop(lambda c: c[0] < 9, lambda c: c * c, x)
"""


def test_a_build_shows_warnings_and_its_reason(work: Path, invoke: Invoke) -> None:
    (work / "warns.py").write_text(WARNS)
    table = '[target.warns]\nentry = "warns:warns"\nargs = ["f32[4]"]\n'
    (work / "olympus.toml").write_text(TOML + table)
    loop = (
        "flops and bytes are not known, only with one trip of it: while loop at warns.py:8: "
        "how often it runs depends on data "
        "(olympus cost --trips warns.py:8=N, or trips of the target, sets it)"
    )
    moon = "the moon is full, at warns.py:7"
    donated = "Some donated buffers were not usable: float32[3] (y): no result can take them"
    stderr = (
        f"warning: target 'scale': {donated}\nwarning: target 'warns': {moon}\n"
        f"warning: target 'warns': {loop}\n"
    )
    for reason in ("it has not been built before", None):  # fresh targets repeat their warnings
        result = invoke("build")
        assert (result.exit_code, result.stderr) == (0, stderr)
        for line in result.stdout.splitlines():
            assert line.endswith(f"  ({reason})" if reason else line.split()[-1])
            assert line.startswith("built" if reason else "fresh")
    data = {
        target["target"]: target
        for target in json.loads(invoke("build", "--json").stdout)["targets"]
    }
    assert data["warns"]["warnings"] == [moon, loop]
    assert data["scale"]["warnings"] == [donated]
    (work / "helper.py").write_text("def factor():\n    return 3.0\n")
    line = invoke("build", "scale").stdout
    assert "program.py:6: multiply: operand 1: constant 2.000000e+00" in line
    assert "  (requested by --force)\n" in invoke("build", "loop", "--force").stdout


def test_a_build_that_waits_shows_it_and_ends_at_the_limit(work: Path, invoke: Invoke) -> None:
    with locked(work / "build"):
        result = invoke("build", "--time-limit", "0.1")
    folder = work / "build"
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == (
        f"waiting for another build in {folder} to end\n"
        f"error: another build in {folder} did not end within the time limit of 0.1 s\n"
    )


def test_lines_of_a_build_are_aligned() -> None:
    names = ("mlp", "unet_long_name_of_the_network_predict@batch=1")
    outcomes = [Outcome(name, "built", seconds=1.5) for name in names]
    text = build_report(outcomes, Path("build"), Path()).text or ""
    short, long = text.splitlines()
    assert short.index("1.50 s") == long.index("1.50 s")
    assert build_report(outcomes[:1], Path("build"), Path()).text == (
        "built   mlp                        1.50 s  build/mlp\n"
    )


@pytest.mark.parametrize("width", range(40, 201, 4))
def test_lines_of_a_build_have_the_width_of_the_terminal(width: int) -> None:
    names = [f"{'a' * 60}_{end}" for end in ("first", "second")]
    outcomes = [
        Outcome(name, "built", reasons=(Stated("NeverBuilt", "never built"),), seconds=1.5)
        for name in names
    ]
    report = build_report(outcomes, Path("/home/me/build"), Path())
    assert report.text_in is not None
    lines = report.text_in(width).splitlines()
    assert max(map(len, lines)) <= width
    heads = [line.split() for line in lines if line.startswith("built")]
    assert len(heads) == 2 and all(head[2:4] == ["1.50", "s"] for head in heads)
    assert heads[0][1].endswith("_first") and heads[1][1].endswith("_second")
    assert "\n".join(lines).count("(never built)") == 2
    assert report.text_in(300) == report.text


def test_lines_of_a_build_in_a_pipe_are_not_shortened(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a" * 60
    (work / "olympus.toml").write_text(
        f'[target.{name}]\nentry = "program.py:loop"\nargs = ["f32[4]"]\n'
    )
    monkeypatch.delenv("COLUMNS", raising=False)
    assert f"  {work / 'build' / name}  (" in invoke("build").stdout
    monkeypatch.setenv("COLUMNS", "60")
    folder = work / "build.txt"
    assert max(map(len, invoke("build", "--force").stdout.splitlines())) <= 60
    invoke("build", "--output", f"text={folder}")
    assert f"  {work / 'build' / name}\n" in folder.read_text()
