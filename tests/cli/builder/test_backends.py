"""A target for several backends: what can be built is built, and the rest is told and completed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus_cli.builder.plan import Options
from olympus_cli.spec.backends import named_backend
from olympus_cli.spec.project import load_project
from tests.documents.documents import has_gpu_compiler

Invoke = Callable[..., Result]

PROGRAM = "def f(x):\n    return x * 2\n"

TOML = """\
[target.both]
entry = "m:f"
args = ["f32[4]"]
backends = ["cpu", "tpu"]

[target.host]
entry = "m:f"
args = ["f32[4]"]
"""


@pytest.fixture
def work(folder: Path) -> Path:
    """A project with a target for the CPU and for what no compiler is here for."""
    (folder / "m.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def targets(result: Result, exit_code: int) -> dict[str, Any]:
    assert result.exit_code == exit_code, result.output
    return {each["target"]: each for each in json.loads(result.stdout)["targets"]}


def labels(folder: Path) -> list[str]:
    report = json.loads((folder / "report.json").read_text())
    return [backend["label"] for backend in report["backends"]]


def test_the_part_that_has_a_compiler_is_built(work: Path, invoke: Invoke) -> None:
    found = targets(result := invoke("build", "--json"), 6)
    assert {name: each["status"] for name, each in found.items()} == {
        "both": "built",
        "host": "built",
    }
    assert found["both"]["error"]["exit_code"] == 6
    assert found["host"]["error"] is None
    assert result.stderr == (
        "error: target 'both': not built for tpu: "
        "this version of OLYMPUS compiles for cpu and gpu\n"
    )
    assert labels(work / "build/both") == ["cpu"]
    before = (work / "build/both/report.json").stat().st_mtime_ns
    assert targets(invoke("build", "--json"), 6)["both"]["status"] == "fresh"
    assert (work / "build/both/report.json").stat().st_mtime_ns == before
    stale = targets(invoke("build", "--json", "--frozen"), 7)["both"]
    assert (stale["status"], stale["reason"]) == ("stale", "it has not been built for tpu before")
    run = invoke("run", "build/both/both.olympus")
    assert run.exit_code == 0, run.output


def test_without_any_compiler_nothing_is_built(work: Path, invoke: Invoke) -> None:
    invoke("build", "--backend", "cpu")
    result = invoke("build", "both", "--backend", "tpu", "--json")
    assert targets(result, 6)["both"]["status"] == "failed"
    assert labels(work / "build/both") == ["cpu"]


def test_a_backend_may_be_chosen(work: Path, invoke: Invoke) -> None:
    assert set(targets(invoke("build", "--json", "--backend", "cpu"), 0)) == {"both", "host"}
    assert labels(work / "build/both") == ["cpu"]
    (only,) = targets(invoke("build", "--json", "--backend", "tpu"), 6)
    assert only == "both"  # the other is not built for it
    result = invoke("build", "host", "--backend", "gpu")
    assert result.exit_code == 2
    assert "none of the targets is built for the backend 'gpu'" in result.stderr


def test_a_backend_without_a_device_stands_for_all_of_them(work: Path) -> None:
    names = '["cpu", "gpu:h200", "gpu:a100-80"]'
    (work / "olympus.toml").write_text(TOML.replace('["cpu", "tpu"]', names))
    spec = load_project(work).targets["both"]
    chosen = {
        text: Options(backend=named_backend(text)).labels(spec)
        for text in ("cpu", "gpu", "gpu:h200", "tpu")
    }
    assert chosen == {
        "cpu": ("cpu",),
        "gpu": ("gpu-h200", "gpu-a100-80"),
        "gpu:h200": ("gpu-h200",),
        "tpu": (),
    }
    assert Options().labels(spec) == ("cpu", "gpu-h200", "gpu-a100-80")


WITHOUT = """\
import importlib.metadata

_version = importlib.metadata.version


def version(name):
    if name == "jax-cuda13-pjrt":
        raise importlib.metadata.PackageNotFoundError(name)
    return _version(name)


importlib.metadata.version = version
"""


def build(work: Path, *paths: Path) -> tuple[int, dict[str, Any], str]:
    """A build whose processes find the modules of `paths` first: code, the target and stderr."""
    places = os.pathsep.join([*map(str, paths), *sys.path])
    command = [sys.executable, "-m", "olympus_cli", "build", "both", "--json"]
    done = subprocess.run(
        command,
        cwd=work,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    (target,) = json.loads(done.stdout)["targets"]
    return done.returncode, target, done.stderr


def test_the_next_build_with_the_compiler_completes_it(work: Path) -> None:
    (work / "olympus.toml").write_text(TOML.replace('"tpu"', '"gpu:h200"'))
    (work / "without").mkdir()
    (work / "without" / "sitecustomize.py").write_text(WITHOUT)
    for status in ("built", "fresh"):
        code, target, said = build(work, work / "without")
        assert (code, target["status"]) == (6, status)
        assert 'pip install "jax-cuda13-pjrt==' in said
        assert labels(work / "build/both") == ["cpu"]
    if not has_gpu_compiler():
        assert build(work)[0] == 6
        return
    code, target, _ = build(work)
    assert (code, target["status"]) == (0, "built")
    assert target["reason"] == "it has not been built for gpu before"
    assert labels(work / "build/both") == ["cpu", "gpu"]
    assert build(work)[1]["status"] == "fresh"
    # without the compiler, what it made before stays as long as the rest is up to date
    code, target, _ = build(work, work / "without")
    assert (code, target["status"]) == (6, "fresh")
    assert labels(work / "build/both") == ["cpu", "gpu"]
    assert build(work)[1]["status"] == "fresh"
    (work / "m.py").write_text(PROGRAM.replace("2", "3"))
    code, target, _ = build(work, work / "without")
    assert (code, target["status"]) == (6, "built")
    assert labels(work / "build/both") == ["cpu"]


def test_a_program_that_does_not_fit_its_device_is_a_warning(folder: Path, invoke: Invoke) -> None:
    (folder / "big.py").write_text("def f(x, y):\n    return (x @ y) * 2\n")
    (folder / "olympus.toml").write_text(
        '[device.small]\nlike = "t4"\nmemory = 16777216\n'
        '[target.big]\nentry = "big:f"\nbackends = ["gpu:small"]\n'
        'args = ["f32[4096,1024]", "f32[1024,4096]"]\n'
    )
    if not has_gpu_compiler():
        assert invoke("build").exit_code == 6
        return
    result = invoke("build")
    assert result.exit_code == 0, result.output
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert "the program does not fit small: it needs " in warning
    assert "64.0 MiB float32[4096,4096]" in warning
    assert "big.py:2" in warning
    told = warning.partition("'big': ")[2]
    shown = invoke("compile", "big").stdout
    assert "fits            small: no" in shown
    assert f"warning: {told}" in shown
