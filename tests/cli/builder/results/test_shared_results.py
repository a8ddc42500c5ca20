"""Builds that share compilation results through the local store."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from olympus import artifact
from olympus.artifact import new_key
from olympus_cli.builder.results import uploads
from olympus_cli.history.build_figures import build_figures
from olympus_cli.reports.json import read_report
from tests.cli.builder.results.http_server import CacheServer, cache_server
from tests.marks import needs_gpu_compiler

Invoke = Callable[..., Result]

#: A program that fails to compile if a file `no-compiler` is in the folder above it.
PROGRAM = """\
import pathlib
import olympus
import olympus.numpy as np
import olympus.stages


def refuse(*args, **kwargs):
    raise RuntimeError("it was compiled")


if (pathlib.Path(__file__).parent.parent / "no-compiler").exists():
    olympus.stages.Lowered.compile = refuse


def dense(x, w):
    with olympus.named_scope("layer"):
        y = np.tanh(x @ w)
    return y * 2.0


def scaled(a, b):
    with olympus.named_scope("layer"):
        y = np.tanh(a @ b)
    return y * 3.0


def inspected(x):
    olympus.debug.inspect_array_sharding(x, callback=lambda s: print("inspected"))
    return x + 1
"""
TOML = """\
[target.NAME]
entry = "program:dense"
args = ["f32[8,16]", "f32[16,32]"]
"""


@pytest.fixture(autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty store."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "olympus" / "results"


@pytest.fixture
def invoke(invoke: Invoke) -> Invoke:
    """Run `olympus` and check its exit code, which is `code`."""

    def run(*words: str, code: int = 0) -> Result:
        result = invoke(*words)
        assert result.exit_code == code, result.output
        return result

    return run


def checkout(folder: Path, name: str, program: str = PROGRAM, more: str = "") -> Path:
    """Change to a new project in `folder` with the target `name`."""
    project = folder / name
    project.mkdir()
    (project / "program.py").write_text(program)
    (project / "olympus.toml").write_text(TOML.replace("NAME", name) + more)
    os.chdir(project)
    return project


def origin(project: Path, backend: int = 0) -> str:
    (target,) = (p for p in (project / "build").iterdir() if p.is_dir())
    report = json.loads((target / "report.json").read_text())
    source: str = report["backends"][backend]["result"]["source"]
    return source


def without_times(report: Path) -> Any:
    data = json.loads(report.read_text())
    for key in ("seconds", "peak_memory"):
        del data[key]
    data["outputs"] = [x for x in data["outputs"] if x["path"] != "summary.txt"]
    for backend in data["backends"]:
        for key in ("lower_seconds", "compile_seconds", "xla_seconds", "result"):
            del backend[key]
    return data


def check_equal(stored: Path, compiled: Path) -> None:
    """Compare the outputs of two builds of a target, apart from times."""
    names = {p.relative_to(compiled) for p in compiled.rglob("*") if p.is_file()}
    assert names == {p.relative_to(stored) for p in stored.rglob("*") if p.is_file()}
    for name in sorted(names):
        if name.name not in ("report.json", "summary.txt", "olympus-build.json"):
            assert (stored / name).read_bytes() == (compiled / name).read_bytes(), name
    assert without_times(stored / "report.json") == without_times(compiled / "report.json")


def test_outputs_from_the_store_equal_those_of_a_compilation(folder: Path, invoke: Invoke) -> None:
    checkout(folder, "one")
    other = checkout(folder, "two", "# a comment\n\n" + PROGRAM)
    for attempt in range(4):  # XLA numbers modules in the order of its threads: few builds differ
        invoke("build", "--force", "--project", str(folder / "one"))
        (folder / "no-compiler").touch()
        shutil.rmtree(other / "build", ignore_errors=True)
        assert "(it has not been built before; from the local store)" in invoke("build").stdout
        assert origin(other) == "local"
        stored = folder / f"stored-{attempt}"
        shutil.copytree(other / "build/two", stored)
        (folder / "no-compiler").unlink()
        invoke("build", "--force")
        assert origin(other) == "compiled"
        executable = (other / "build/two/cpu/executable.bin").read_bytes()
        if (stored / "cpu/executable.bin").read_bytes() == executable:
            break
    check_equal(stored, other / "build/two")
    assert "the result is from the local store" in (stored / "summary.txt").read_text()
    names = {figure.metric for figure in build_figures(read_report(stored), {})}
    assert "flops" in names and not [name for name in names if name.startswith("build-")]


@needs_gpu_compiler
def test_a_gpu_program_from_the_store_has_the_figures_of_its_compilation(
    folder: Path, invoke: Invoke
) -> None:
    project = checkout(folder, "one", more='backends = ["gpu:h200", "cpu"]\n')
    invoke("build")
    shutil.copytree(project / "build/one", folder / "compiled")
    shutil.rmtree(project / "build")
    (folder / "no-compiler").touch()
    invoke("build")
    assert origin(project) == origin(project, 1) == "local"
    check_equal(project / "build/one", folder / "compiled")
    (folder / "no-compiler").unlink()
    shutil.rmtree(project / "build")
    invoke("report", "one", "--profile")  # without a GPU, nothing is loaded to run


def test_another_program_is_compiled(folder: Path, invoke: Invoke) -> None:
    checkout(folder, "one")
    invoke("build")
    other = checkout(folder, "two", PROGRAM.replace("* 2.0", "* 2.5"))
    invoke("build")
    assert origin(other) == "compiled"


def test_commands_use_the_store(folder: Path, invoke: Invoke) -> None:
    checkout(folder, "one")
    invoke("build")
    (folder / "no-compiler").touch()
    checkout(folder, "two", more='[target.two.budget]\npeak-memory = "1 GiB"\n')
    shapes = ("--shapes", "f32[8,16], f32[16,32]")
    invoke("cost", "program:dense", *shapes, "--compile")
    invoke("run", "program:dense", *shapes)
    invoke("compile", "program:dense", *shapes)
    invoke("run", "two")
    invoke("check", "two")
    message = "it was compiled"
    assert message in invoke("bench", "program:dense", *shapes, code=3).stderr
    assert message in invoke("compile", "program:dense", *shapes, "--no-cache", code=3).stderr
    assert message in invoke("build", "--force", code=3).stderr


def test_a_run_from_the_store_has_the_results_of_a_compilation(
    folder: Path, invoke: Invoke
) -> None:
    checkout(folder, "one")
    words = ("run", "program:dense", "--shapes", "f32[8,16], f32[16,32]", "-o")
    invoke(*words, "compiled.npz")
    (folder / "no-compiler").touch()
    checkout(folder, "two")
    invoke(*words, "stored.npz")
    with np.load("../one/compiled.npz") as compiled, np.load("stored.npz") as stored:
        assert [*compiled] == [*stored]
        assert all(np.array_equal(compiled[name], stored[name]) for name in stored)


def test_without_a_store_nothing_is_stored(folder: Path, invoke: Invoke, store: Path) -> None:
    checkout(folder, "one")
    invoke("build", "--no-cache")
    checkout(folder, "two", more="[project]\ncache = false\n")
    invoke("build")
    assert not store.exists()


def test_a_program_that_calls_the_user_is_compiled(folder: Path, invoke: Invoke) -> None:
    text = TOML.replace("NAME", "calls").replace("dense", "inspected")
    text = text.replace('["f32[8,16]", "f32[16,32]"]', '["f32[8]"]')
    for name in ("one", "two"):
        checkout(folder, name)
        Path("olympus.toml").write_text(text)
        assert "inspected" in invoke("build").stderr


def test_a_stored_program_for_several_devices_has_its_shardings(
    folder: Path, invoke: Invoke
) -> None:
    """The compiler chooses shardings of its results, which the bundle has."""
    manifests, bundles = [], []
    for name, expected in (("one", "compiled"), ("two", "local")):
        project = checkout(folder, name)
        text = TOML.replace("NAME", "several") + "mesh = { d = 2 }\n"
        sharded = '{ shape = "f32[8,16]", sharding = ["d"] }'
        Path("olympus.toml").write_text(text.replace('"f32[8,16]"', sharded))
        invoke("build")
        assert origin(project) == expected
        path = project / "build/several/several.olympus"
        manifests.append(artifact.load(path).manifest.executables[0].shardings)
        bundles.append(path.read_bytes())
    assert manifests[0] == manifests[1] and manifests[0] is not None
    assert bundles[0] == bundles[1]


def test_a_damaged_result_is_compiled_again(folder: Path, invoke: Invoke, store: Path) -> None:
    checkout(folder, "one")
    invoke("build")
    (entry,) = store.rglob("*.result")
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1])
    other = checkout(folder, "two")
    assert "was removed, because it is cut off" in invoke("build").stderr
    assert origin(other) == "compiled"
    (entry,) = store.rglob("*.result")
    assert len(entry.read_bytes()) == len(whole) or entry.read_bytes() != whole[:-1]


def test_a_build_without_a_home_or_with_a_store_that_cannot_be_written(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(folder, "one")
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert "stored" not in invoke("build").stderr
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", "/dev/null/store")
    assert "the result is not stored: Not a directory" in invoke("build", "--force").stderr
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", "")
    assert "stored" not in invoke("build", "--force").stderr


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CacheServer]:
    """A remote store that this process is configured for."""
    with cache_server() as running:
        monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", running.url)
        yield running


def another_machine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Use another, empty local store."""
    cache = tmp_path_factory.mktemp("machine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "olympus" / "results"


def test_another_machine_reads_from_the_remote_store(
    folder: Path,
    invoke: Invoke,
    server: CacheServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkout(folder, "one")
    assert "remote" not in invoke("build").stderr
    assert sorted(path[1:4] for path in server.files) == ["ac/", "cas"]
    (folder / "no-compiler").touch()
    local = another_machine(tmp_path_factory, monkeypatch)
    other = checkout(folder, "two")
    assert f"before; from {server.url})" in invoke("build").stdout
    assert origin(other) == "remote"
    assert f"the result is from {server.url}" in (other / "build/two/summary.txt").read_text()
    assert len([*local.rglob("*.fetched")]) == 1
    server.requests.clear()
    third = checkout(folder, "three")
    invoke("build")
    assert origin(third) == "local" and not server.requests


def test_a_result_that_is_not_signed_or_wrong_is_compiled(
    folder: Path,
    invoke: Invoke,
    server: CacheServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = new_key()
    settings = tmp_path_factory.mktemp("config")
    (settings / "olympus").mkdir()
    (settings / "team.key").write_bytes(own.private)
    (settings / "olympus" / "team.pub").write_bytes(own.public)
    (settings / "olympus" / "config.toml").write_text('[bundles]\ntrust = ["team.pub"]\n')
    checkout(folder, "one")
    invoke("build")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    another_machine(tmp_path_factory, monkeypatch)
    other = checkout(folder, "two")
    message = invoke("build").stderr
    assert message.count("warning") == 1 and "is not used: it is not signed" in message
    assert origin(other) == "compiled"
    server.files.clear()
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_SIGN_KEY", str(settings / "team.key"))
    another_machine(tmp_path_factory, monkeypatch)
    shutil.rmtree(other / "build")
    invoke("build")
    another_machine(tmp_path_factory, monkeypatch)
    shutil.rmtree(other / "build")
    assert "warning" not in invoke("build").stderr
    assert origin(other) == "remote"


def test_a_faulty_remote_store_is_one_warning(
    folder: Path, invoke: Invoke, server: CacheServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "".join(TOML.replace("NAME", name) for name in ("b", "c", "d"))
    project = checkout(folder, "a", more=more)
    server.fault = "500"
    message = invoke("build", "-j2").stderr
    assert message.count("the remote store") == 1
    assert "was answered with 500" in message
    assert len([*(project / "build").glob("*/report.json")]) == 4
    server.requests.clear()
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_MODE", "read-only")
    server.fault = ""
    server.files.clear()
    shutil.rmtree(project / "build")
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]) / "olympus")
    assert "warning" not in invoke("build").stderr
    assert {method for method, _, _ in server.requests} == {"GET"}
    assert not server.files


def test_a_build_without_a_temporary_folder_has_no_remote_store(
    folder: Path, invoke: Invoke, server: CacheServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(uploads, "TemporaryDirectory", full)
    project = checkout(folder, "one")
    message = invoke("build").stderr
    assert f"the remote store {server.url} was not used: a temporary folder cannot be" in message
    assert message.count("warning") == 1
    assert origin(project) == "compiled" and not server.requests


def test_a_build_does_not_wait_long_for_uploads(
    folder: Path, invoke: Invoke, server: CacheServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "END_LIMIT", 0.25)
    server.fault, server.slow_methods = "slow", ("PUT",)
    checkout(folder, "one")
    message = invoke("build").stderr
    assert f"warning: the remote store {server.url}: 1 result not uploaded in 0.25 s" in message


@pytest.mark.night
def test_eight_builds_compile_each_program_once(folder: Path) -> None:
    names = [f"project{number}" for number in range(8)]
    more = TOML.replace("NAME", "second").replace("dense", "scaled")
    builds = []
    for name in names:
        command = [sys.executable, "-m", "olympus_cli", "build"]
        builds.append(subprocess.Popen(command, cwd=checkout(folder, name, more=more)))
    assert [build.wait() for build in builds] == [0] * 8
    reports = [json.loads(path.read_text()) for path in folder.glob("*/build/*/report.json")]
    sources = [report["backends"][0]["result"]["source"] for report in reports]
    assert sorted(sources) == ["compiled"] * 2 + ["local"] * 14


def test_commands_besides_builds_read_the_remote_store(
    folder: Path,
    invoke: Invoke,
    server: CacheServer,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkout(folder, "one")
    invoke("build")
    (folder / "no-compiler").touch()
    another_machine(tmp_path_factory, monkeypatch)
    invoke("run", "program:dense", "--shapes", "f32[8,16], f32[16,32]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('remote-cache = "cache.example.com"', "olympus.toml:5: project.remote-cache is not a URL"),
        ('remote-cache = "me:pw@example.com/a"', "project.remote-cache is not a URL"),
        ('remote-cache = "https://[::1"', "is a URL with an invalid host or port"),
        ('remote-cache = "https://me:pw@ho℀st/a"', "is a URL with an invalid host or port"),
        ('remote-cache = "https://me:12/pw@example.com"', "with @ after the host"),
        ('remote-cache = "https://me:pw@example.com"', "has credentials, which the environment"),
        ('remote-cache-mode = "write"', "must be read-write or read-only; got 'write'"),
    ],
)
def test_wrong_keys_are_refused(folder: Path, invoke: Invoke, text: str, message: str) -> None:
    checkout(folder, "one", more=f"[project]\n{text}\n")
    result = invoke("build", code=2)
    assert message in result.stderr and "pw" not in result.stderr


def test_wrong_variables_are_refused(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(folder, "one")
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_MODE", "fast")
    assert "must be read-write or read-only; got 'fast'" in invoke("build", code=2).stderr
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", "secret")
    message = invoke("build", code=2).stderr
    assert "OLYMPUS_REMOTE_CACHE is not a URL" in message and "secret" not in message
    for url in ("http://me:s3cr3t@ho℀st/x", "http://me:s3cr3t@host:port/x", "http://me:s3/cr3t@h"):
        monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", url)
        message = invoke("build", code=2).stderr
        assert "OLYMPUS_REMOTE_CACHE is a URL with" in message and "s3" not in message
