"""`olympus build --watch`: what each change builds and shows, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from olympus_cli.builder.watch import project_watch
from olympus_cli.builder.watch.changes import Changed
from olympus_cli.builder.watch.watched_files import WatchedFiles
from olympus_cli.process.interrupts import Terminated
from tests.cli.conftest import Invoke

WAITING = "waiting for a change"
Step = Callable[[], object]


class Script:
    """The changes of a test: each step edits files, and the last one ends the loop."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.files: list[WatchedFiles] = []
        self.during_build = False
        self.end: BaseException = KeyboardInterrupt()

    def __call__(self, files: WatchedFiles) -> nullcontext[Script]:
        """Return the changes for the first files."""
        self.files.append(files)
        self._steps = iter(self.steps)
        return nullcontext(self)

    def watch(self, files: WatchedFiles) -> None:
        """Record the files to watch."""
        self.files.append(files)

    def wait(self, _build_end: float) -> Changed:
        """Do the next step."""
        step = next(self._steps, None)
        if step is None:
            raise self.end
        step()
        changed = (Path("model.py").absolute(),)
        return Changed(changed, ()) if self.during_build else Changed((), changed)


@pytest.fixture
def script(project: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    changes = Script()
    monkeypatch.setattr(project_watch, "WatchedChanges", changes)
    return changes


def replaced(path: str, old: str, new: str) -> Step:
    """Return a step that replaces a text in a file."""

    def step() -> None:
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new))

    return step


def test_each_change_builds_what_it_affects(script: Script, project: Path, invoke: Invoke) -> None:
    bundle = project / "build" / "add" / "add.olympus"
    contents: list[bytes] = []
    script.steps = [
        replaced("model.py", "return x + y", "return x - y"),
        lambda: contents.append(bundle.read_bytes()),
        replaced("model.py", "return x - y", "return x -"),
        replaced("model.py", "return x -", "return x - y"),
        lambda: contents.append(bundle.read_bytes()),
    ]
    result = invoke("build", "--watch")
    assert result.exit_code == 0, result.stderr
    lines = [" ".join(line.split()[:2]) for line in result.stdout.splitlines()]
    names = ["forward@batch=1", "forward@batch=8", "add"]
    assert lines == [
        *(f"built {name}" for name in names),
        "built add",
        *(f"failed {name}" for name in names),
    ]
    ends = [line.partition(" in ")[0] for line in result.stderr.splitlines() if WAITING in line]
    assert ends == ["3 built", "1 built, 2 fresh", "3 fresh", "3 failed", "3 fresh", "3 fresh"]
    assert "model is not Python: invalid syntax" in result.stderr
    assert "error: 3 of 3 targets failed" in result.stderr
    assert contents[0] == contents[1], "the last good outputs stay"
    assert result.stderr.endswith("stopped watching\n")
    assert script.files[-1] == script.files[0]
    assert script.files[0].ignored == (project / "build",)


def test_an_invalid_project_is_watched_until_it_is_valid(
    script: Script, project: Path, invoke: Invoke
) -> None:
    toml = project / "olympus.toml"
    valid = toml.read_text()
    toml.write_text("[target.add")
    script.steps = [
        lambda: toml.write_text(valid + "[project]\nbuild-dir = 'out'\n"),
        lambda: toml.write_text("entry = 1"),
        toml.unlink,
        lambda: toml.write_text(valid),
    ]
    result = invoke("build", "add", "--watch")
    assert result.exit_code == 0
    assert result.stderr.count("error: olympus.toml:1") == 2
    assert "error: " in result.stderr and "1 built in" in result.stderr
    assert script.files[0].ignored == (project / "build",)
    assert (project / "out") in script.files[1].ignored


def test_the_targets_are_checked_after_each_build(
    script: Script, project: Path, invoke: Invoke
) -> None:
    toml = project / "olympus.toml"
    toml.write_text(toml.read_text() + "[target.add.budget]\nflops = 1\n")
    script.steps = [
        lambda: None,
        replaced("olympus.toml", "flops = 1", "flops = 2"),
        lambda: None,
        replaced("model.py", "return x + y", "return x + y + x"),
        replaced("model.py", "return x + y + x", "return x + y"),
    ]
    result = invoke("build", "--watch", "--check")
    assert result.exit_code == 0
    shown = [line.partition(": ")[2] for line in result.stderr.splitlines() if "checked 1" in line]
    assert shown == ["1 failed", "1 failed", "passed", "1 failed", "passed"]
    assert "error: target 'add' on cpu: flops is 2, 100.0% over the limit of 1" in result.stderr


def test_a_check_that_fails_does_not_end_the_loop(
    script: Script, project: Path, invoke: Invoke
) -> None:
    toml = project / "olympus.toml"
    toml.write_text(toml.read_text() + "[target.add.budget]\nflops = '+1%'\n")
    (project / "goldens").mkdir()
    (project / "goldens" / "add.figures.json").write_text("{")
    script.steps = [lambda: (project / "goldens" / "add.figures.json").unlink()]
    result = invoke("build", "add", "--watch", "--check")
    assert result.exit_code == 0
    assert "goldens/add.figures.json" in result.stderr
    assert result.stderr.count("checked 1 target: 1 failed") == 2


def test_the_report_is_of_the_last_build_and_force_is_for_the_first(
    script: Script, project: Path, invoke: Invoke
) -> None:
    script.steps = [replaced("model.py", "return x + y", "return x - y")]
    result = invoke("build", "--watch", "--quiet", "--force", "--output", "json=last.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "stopped watching\n")
    targets = json.loads((project / "last.json").read_text())["targets"]
    assert [target["status"] for target in targets] == ["fresh", "fresh", "built"]
    assert project / "last.json" in script.files[-1].ignored


def test_a_file_that_the_program_writes_does_not_start_builds_without_end(
    script: Script, invoke: Invoke
) -> None:
    script.during_build = True
    script.steps = [lambda: None] * 10
    result = invoke("build", "add", "--watch")
    assert result.stderr.count(WAITING) == 3
    assert result.stderr.count("note: model.py changes during each build") == 1


def test_sigterm_has_its_exit_code(script: Script, invoke: Invoke) -> None:
    script.end = Terminated()
    result = invoke("build", "add", "--watch")
    assert result.exit_code == 143
    assert result.stderr.endswith("terminated\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--watch", "--frozen"], "--watch builds, and --frozen builds nothing"),
        (["--watch", "--json"], "stdout takes one document"),
        (["--watch", "--output", "junit"], "stdout takes one document"),
        (["--check"], "--check needs --watch"),
        (["--watch", "--project", "absent"], "absent"),
        (["--watch", "m:f"], "'m:f' is an entry"),
    ],
)
def test_contradictory_options(
    script: Script, invoke: Invoke, arguments: list[str], message: str
) -> None:
    result = invoke("build", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert script.files == []


@pytest.mark.parametrize(
    "arguments", [["absent"], ["--backend", "abacus"], ["--changed-since", "absent"]]
)
def test_a_mistake_on_the_command_line_ends_the_command(
    script: Script, invoke: Invoke, arguments: list[str]
) -> None:
    result = invoke("build", "--watch", *arguments)
    assert result.exit_code == 2
    assert len(script.files) == 1 and "stopped watching" not in result.stderr


@pytest.fixture
def watching(
    project: Path, started: Callable[..., subprocess.Popen[str]]
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "olympus_cli", "build", "add", "--watch"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    yield started(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_saved_file_is_built_until_ctrl_c(project: Path, watching: subprocess.Popen[str]) -> None:
    def until_it_waits() -> str:
        lines = []
        for line in watching.stderr or ():
            lines.append(line)
            if WAITING in line:
                break
        return "".join(lines)

    assert "1 built in" in until_it_waits()
    (project / "new.py").write_text((project / "model.py").read_text().replace("x + y", "x - y"))
    os.rename(project / "new.py", project / "model.py")
    assert "1 built in" in until_it_waits()
    assert "subtract" in (project / "build" / "add" / "program.stablehlo.mlir").read_text()
    watching.send_signal(signal.SIGINT)
    _, talk = watching.communicate(timeout=120)
    assert (watching.returncode, talk) == (0, "stopped watching\n")
