"""The folder of a target is damaged or crafted: a build continues and opens no file outside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus.errors import ArtifactError
from olympus_cli.builder.manifest import MANIFEST, Manifest, intact, output_file
from olympus_cli.builder.record import read_record
from olympus_cli.reports.build_report import SCHEMA_VERSION, OutputFile
from olympus_cli.reports.json import read_report, render_json
from olympus_cli.reports.versioned_json import NewerSchema, read_json
from tests.cli.reports.test_report import REPORT

Invoke = Callable[..., Result]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A folder with a report, a list of files and one output, all valid."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "report.json").write_text(render_json(REPORT))
    files = (output_file(tmp_path, tmp_path / name) for name in ("a", "report.json"))
    Manifest("..", "t", tuple(files)).write(tmp_path)
    return tmp_path


def changed(path: Path, *keys: str | int, to: object) -> None:
    """Set the value at `keys` of a JSON file."""
    data: Any = json.loads(path.read_text())
    place = data
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    path.write_text(json.dumps(data))


def test_valid_outputs_are_read(target: Path) -> None:
    record = read_record(target)
    assert record is not None
    assert (record.damaged, record.trouble) == ((), None)
    assert record.keys == {"gpu-h200": "0123456789abcdef" * 4}
    assert record.report is not None and record.report.warnings == ("a loop",)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("schema_version",), "2"),
        (("schema_version",), True),
        (("schema_version",), -(10**4000)),
        (("target",), 7),
        (("target",), None),
        (("versions",), []),
        (("versions", "olympus"), 1),
        (("arguments",), {}),
        (("arguments", 0, "shape"), [-1]),
        (("arguments", 0, "shape"), [True]),
        (("arguments", 0, "bytes"), 10**4000),
        (("arguments", 0, "donated"), 1),
        (("seconds",), 1.5),
        (("seconds", "trace"), 10**400),
        (("seconds", "trace"), "1"),
        (("seconds", "lunch"), 1.0),
        (("peak_memory",), -1),
        (("backends", 0), "cpu"),
        (("backends", 0, "cost"), None),
        (("backends", 0, "cost", "flops"), -1),
        (("backends", 0, "cost", "lines", 0, "direction"), None),
        (("backends", 0, "cost", "at_least"), None),
        (("backends", 0, "memory", "peak"), 1.5),
        (("backends", 0, "memory", "largest", 0, "shape"), [-1]),
        (("backends", 0, "estimate", "seconds"), "1"),
        (("backends", 0, "fits"), 1),
        (("backends", 0, "xla", "cost"), None),
        (("backends", 0, "xla", "memory", "peak"), 1.5),
        (("outputs", 0, "path"), 7),
        (("outputs", 0, "path"), "/dev/zero"),
        (("outputs", 0, "path"), "../x"),
        (("outputs", 0, "path"), "cpu/../../x"),
        (("outputs", 0, "path"), "cpu//x"),
        (("outputs", 0, "path"), "a\0b"),
        (("outputs", 0, "path"), ""),
        (("more",), 1),
    ],
)
def test_a_report_with_other_types_or_paths_is_an_error(
    target: Path, keys: tuple[str, ...], value: object
) -> None:
    changed(target / "report.json", *keys, to=value)
    with pytest.raises(ArtifactError, match=r"report\.json"):
        read_report(target)
    record = read_record(target)
    assert record is not None
    assert "report.json" in str(record.trouble)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a":' * 100_000, "is not JSON"),
        ('{"schema_version": 2, "x": NaN}', "is not JSON"),
        (f'{{"schema_version": {"9" * 5000}}}', "is not JSON"),
        ("\udcff", "is not JSON"),
        ("[]", "has no schema version"),
        ("3", "has no schema version"),
        ('{"schema_version": 1}', "has schema 1, of an older olympus; this one reads 2"),
        ('{"schema_version": 3}', "has schema 3, of a newer olympus; this one reads 2"),
    ],
)
def test_a_report_that_is_no_json_document_is_an_error(
    target: Path, text: str, reason: str
) -> None:
    for name in ("report.json", MANIFEST):
        (target / name).write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(ArtifactError, match=reason):
            read_json(target / name, 2)
    with pytest.raises(ArtifactError):
        Manifest.read(target)


@pytest.mark.parametrize("kind", ["fifo", "device", "link", "folder", "large"])
def test_only_regular_files_are_read(target: Path, kind: str) -> None:
    for name in ("report.json", MANIFEST, "a"):
        path = target / name
        content = path.read_bytes()
        path.unlink()
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "link":
            (target.parent / f"{target.name}-{name}").write_bytes(content)
            path.symlink_to(target.parent / f"{target.name}-{name}")
        elif kind == "folder":
            path.mkdir()
        else:
            with path.open("wb") as file:
                file.truncate(10**10)
        record = read_record(target)
        assert record is not None
        if name == "a":
            assert record.damaged == ("a",)
        else:
            assert name in str(record.trouble)
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_bytes(content)
    assert read_record(target) == read_record(target)


def test_a_link_out_of_the_folder_is_not_followed(target: Path) -> None:
    listed = output_file(target, target / "a")
    assert intact(target, listed)
    (target / "cpu").symlink_to(target)
    for path in ("cpu/a", "../x", "/dev/zero", "a\0", "\ud800", "n" * 300):
        assert not intact(target, OutputFile(path, listed.bytes, listed.sha256))
    assert not intact(target, OutputFile("a", 1, "0" * 64))


def test_a_newer_schema_is_its_own_error(target: Path) -> None:
    changed(target / "report.json", "schema_version", to=SCHEMA_VERSION + 1)
    with pytest.raises(NewerSchema):
        read_report(target)


PROGRAM = "def f(x):\n    return x + 1\n"
TOML = '[target.f]\nentry = "m:f"\nargs = ["f32[2]"]\n'


@pytest.fixture
def built(folder: Path, invoke: Invoke) -> Path:
    (folder / "m.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    assert invoke("build").exit_code == 0
    return folder


def reason(result: Result) -> str:
    (target,) = json.loads(result.stdout)["targets"]
    assert target["status"] == "built", result.output
    return str(target["reason"])


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_target_without_its_report_or_list_is_rebuilt(
    built: Path, invoke: Invoke, force: tuple[str, ...]
) -> None:
    target = built / "build" / "f"
    names = {path.name for path in target.iterdir()}
    for lost in (("report.json",), (MANIFEST,), ("report.json", MANIFEST)):
        for name in lost:
            (target / name).write_bytes((target / name).read_bytes()[:40] * (len(lost) == 1))
        text = reason(invoke("build", "--json", *force))
        assert force or lost[0] in text
        assert {path.name for path in target.iterdir()} == names
    for name in ("report.json", MANIFEST):
        (target / name).unlink()
        assert force or f"{name} is missing" in reason(invoke("build", "--json"))
        if force:
            assert invoke("build", "--force").exit_code == 0
    assert invoke("build", "--frozen").exit_code == 0


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_newer_report_is_replaced_with_the_reason(
    built: Path, invoke: Invoke, force: tuple[str, ...]
) -> None:
    changed(built / "build/f/report.json", "schema_version", to=SCHEMA_VERSION + 1)
    text = reason(invoke("build", "--json", *force))
    newer = f"schema {SCHEMA_VERSION + 1}, of a newer olympus; this one reads {SCHEMA_VERSION}"
    assert force or newer in text


@pytest.mark.parametrize("files", [[], [{"path": "\ud800", "bytes": 1, "sha256": "0" * 64}]])
def test_a_list_without_files_of_the_build(
    built: Path, invoke: Invoke, files: list[object]
) -> None:
    changed(built / "build/f" / MANIFEST, "files", to=files)
    (built / "m.py").write_text(PROGRAM.replace("1", "2"))
    assert invoke("build").exit_code == 0
    changed(built / "build/f" / MANIFEST, "files", to=files)
    assert invoke("build", "--force").exit_code == 0
    (built / "build/f/mine.txt").write_text("mine")
    assert invoke("build", "--force").exit_code == 2
    assert (built / "build/f/mine.txt").read_text() == "mine"


def test_the_crafted_path_of_a_device_or_a_pipe_does_not_hang(built: Path, invoke: Invoke) -> None:
    for path, exit_code in (
        ("/dev/zero", 2),
        ("pipe", 0),
    ):  # with 2, the list does not contain the pipe
        os.mkfifo(built / "build/f/pipe")
        changed(built / "build/f/report.json", "outputs", 0, "path", to=path)
        changed(built / f"build/f/{MANIFEST}", "files", 0, "path", to=path)
        assert invoke("build", "--frozen", "--time-limit", "60").exit_code == 7
        assert invoke("build").exit_code == exit_code
        (built / "build/f/pipe").unlink(missing_ok=True)
        result = invoke("build", "--force", "--time-limit", "60")
        assert result.exit_code == 0, result.output


def test_two_projects_with_one_build_folder_are_an_error(folder: Path, invoke: Invoke) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "m.py").write_text(PROGRAM)
        (folder / name / "olympus.toml").write_text(f'[project]\nbuild-dir = "../b"\n{TOML}')
    assert invoke("build", "--project", "one").exit_code == 0
    refused = invoke("build", "--project", "two")
    assert refused.exit_code == 2
    assert f"target 'f' of another project, {folder / 'one'}" in refused.stderr
    assert "give one of the two projects another build-dir" in refused.stderr
    assert invoke("build", "--project", "one").stdout.startswith("fresh")
    assert invoke("build", "--project", "two", "--force").exit_code == 0
    assert invoke("build", "--project", "one").exit_code == 2


def test_a_build_removes_the_remains_of_killed_builds(built: Path, invoke: Invoke) -> None:
    temporary = built / "tmp"
    temporary.mkdir()
    (built / "m.py").write_text(
        "import time\ndef f(x):\n    open('begun', 'w').close()\n    time.sleep(600)\n"
    )
    (built / "build" / ".olympus-new-f").mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TMPDIR": str(temporary),
    }
    command = [sys.executable, "-m", "olympus_cli", "build"]
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        while not (built / "begun").exists():
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
    (built / "m.py").write_text(PROGRAM)
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(temporary.iterdir()) == []
    names = sorted(path.name for path in (built / "build").iterdir())
    assert names == [".olympus-index.json", "f", "history.sqlite"]
