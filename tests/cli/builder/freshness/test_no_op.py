"""A build with nothing to do imports and traces nothing; any change of an input is traced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus_cli.builder.freshness.index import INDEX

Invoke = Callable[..., Result]

#: Seconds after a change, so that it is before the trace. A file that changes while it is traced is
#: traced again; `os.utime` cannot make it older, because the time of its status counts as well.
SETTLED = 0.05

MODEL = """\
import os

import numpy

import olympus.numpy as np
from helper import twice

SCALE = float(os.environ.get("NO_OP_SCALE", "1"))


def f(x):
    return np.sin(twice(x)) * SCALE


def weighted(x):
    return x * numpy.load("weights.npy")
"""
HELPER = "def twice(x):\n    return x + x\n"
OTHER = "import olympus.numpy as np\n\n\ndef g(x):\n    return np.cos(x)\n"
CLOCK = "import time\n\n\ndef h(x):\n    time.time()\n    return x * 2\n"
TOML = """\
[target.f]
entry = "model:f"
args = ["f32[4]"]

[target.weighted]
entry = "model:weighted"
args = ["f32[4]"]

[target.g]
entry = "other:g"
args = ["f32[4]"]
"""


@pytest.fixture
def work(folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Path:
    import numpy

    monkeypatch.delenv("NO_OP_SCALE", raising=False)
    for name, text in (("model", MODEL), ("helper", HELPER), ("other", OTHER)):
        (folder / f"{name}.py").write_text(text)
    numpy.save(folder / "weights.npy", numpy.arange(4.0))
    (folder / "olympus.toml").write_text(TOML)
    time.sleep(SETTLED)
    assert invoke("build").exit_code == 0
    return folder


def explained(invoke: Invoke, *names: str) -> dict[str, dict[str, Any]]:
    result = invoke("explain", "--json", *names)
    assert result.exit_code == 0
    return {target["target"]: target for target in json.loads(result.stdout)["targets"]}


def traced(invoke: Invoke) -> dict[str, tuple[str, list[str]]]:
    """Return the status and the reasons to trace of the targets that were traced."""
    return {
        name: (target["status"], [reason["text"] for reason in target["traced_because"]])
        for name, target in explained(invoke).items()
        if target["traced_because"]
    }


def test_nothing_is_traced_without_a_change(work: Path, invoke: Invoke) -> None:
    assert traced(invoke) == {}
    result = invoke("build")
    assert [line.split()[:2] for line in result.stdout.splitlines()] == [
        ["fresh", "f"],
        ["fresh", "weighted"],
        ["fresh", "g"],
    ]
    text = invoke("explain", "g").stdout.splitlines()
    assert text[0] == "fresh   g" and text[1].startswith("        unchanged: ")


def test_a_build_with_nothing_to_do_imports_no_compiler(work: Path) -> None:
    code = (
        "import sys; from olympus_cli.main import cli\n"
        "try:\n    cli(['build'], prog_name='olympus')\n"
        "except SystemExit as end:\n    assert end.code == 0\n"
        "print([m for m in sys.modules if m.partition('.')[0] in "
        "('olympus', 'olympus_core', 'jaxlib', 'numpy', 'model', 'rich')])"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=work, capture_output=True)  # with the search path of the process
    run = subprocess.run(command, cwd=work, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"
    assert run.stdout.count("fresh ") == 3


CHANGES: dict[str, tuple[str, str, str, dict[str, tuple[str, list[str]]]]] = {
    "comment": (
        "helper.py",
        "def",
        "# comment\ndef",
        {"f": ("fresh", ["helper.py changed"]), "weighted": ("fresh", ["helper.py changed"])},
    ),
    "operation": (
        "other.py",
        "np.cos(x)",
        "np.tanh(x)",
        {"g": ("stale", ["other.py changed"])},
    ),
    "setting": (
        "olympus.toml",
        'other:g"\nargs = ["f32[4]"]',
        'other:g"\nargs = ["f32[5]"]',
        {"g": ("stale", ["its settings changed"])},
    ),
    "spelling": ("olympus.toml", "[target.g]", "# a comment\n[target.g]", {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_traced_by_the_targets_that_it_concerns(
    name: str, work: Path, invoke: Invoke
) -> None:
    file, old, new, expected = CHANGES[name]
    path = work / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert traced(invoke) == expected
    time.sleep(SETTLED)
    assert invoke("build").exit_code == 0
    assert traced(invoke) == {}


def test_data_variables_and_new_modules_are_inputs(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy

    numpy.save(work / "weights.npy", numpy.arange(4.0) + 1)
    assert traced(invoke) == {"weighted": ("stale", ["weights.npy changed"])}
    numpy.save(work / "weights.npy", numpy.arange(4.0))
    assert traced(invoke) == {}
    monkeypatch.setenv("NO_OP_SCALE", "2")
    assert traced(invoke)["f"] == ("stale", ["NO_OP_SCALE: none -> 2"])
    monkeypatch.delenv("NO_OP_SCALE")
    (work / "helper").mkdir()
    (work / "helper/__init__.py").write_text("def twice(x):\n    return x * x\n")
    status, reasons = traced(invoke)["f"]
    assert status == "stale" and reasons == ["modules in .: +helper"]


def test_a_checkout_elsewhere_with_a_restored_build_folder_is_fresh(
    work: Path, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "elsewhere/copy"
    shutil.copytree(work, copy, copy_function=shutil.copyfile)
    shutil.rmtree(copy / "__pycache__", ignore_errors=True)
    monkeypatch.chdir(copy)
    assert traced(invoke) == {}
    time.sleep(SETTLED)
    assert invoke("build").exit_code == 0
    rows = json.loads((copy / "build" / INDEX).read_text())["inputs"]
    inode = (copy / "other.py").stat().st_ino
    assert inode in [row[2][3] for row in rows if row[:2] == ["file", "other.py"]]


@pytest.mark.parametrize("damage", ["lost", "damaged", "old"])
def test_a_build_without_a_usable_index_traces_and_compiles_nothing(
    damage: str, work: Path, invoke: Invoke
) -> None:
    path = work / "build" / INDEX
    if damage == "lost":
        path.unlink()
    elif damage == "damaged":
        path.write_bytes(path.read_bytes()[:-10])
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 0}))
    assert traced(invoke)["g"] == ("fresh", ["the inputs of its last trace are not recorded"])
    assert invoke("build").exit_code == 0
    assert traced(invoke) == {}


def test_a_changed_output_is_built_again(work: Path, invoke: Invoke) -> None:
    (work / "build/g/program.olympuspr").write_text("other")
    message = "program.olympuspr is missing or has been changed"
    assert traced(invoke) == {"g": ("stale", [message])}
    assert invoke("build").exit_code == 0
    assert traced(invoke) == {}


def test_a_program_that_reads_the_clock_is_traced_every_time(work: Path, invoke: Invoke) -> None:
    (work / "clock.py").write_text(CLOCK)
    with (work / "olympus.toml").open("a") as file:
        file.write('\n[target.h]\nentry = "clock:h"\nargs = ["f32[4]"]\n')
    time.sleep(SETTLED)
    assert invoke("build").exit_code == 0
    assert invoke("build").exit_code == 0
    text = "clock.py:5: reads the clock, so that it is traced at every build"
    assert traced(invoke) == {"h": ("fresh", [text])}
    assert text in invoke("build", "--explain").stdout


def test_a_file_that_changes_while_it_is_traced_is_traced_again(work: Path, invoke: Invoke) -> None:
    (work / "other.py").write_text("import pathlib\n\npathlib.Path(__file__).touch()\n" + OTHER)
    assert invoke("build", "g").exit_code == 0
    assert set(traced(invoke)) == {"g"}


def test_options_that_change_the_outputs_have_their_own_answer(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "g", "--repeats", "off").exit_code == 0
    assert invoke("build", "--frozen", "g", "--repeats", "off").exit_code == 0
    assert traced(invoke) == {"g": ("fresh", ["its settings changed"])}
    assert invoke("build", "g", "--html").stdout.startswith("built")
    assert invoke("build", "g", "--html").stdout.startswith("fresh")


def test_one_target_and_then_all(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "g").exit_code == 0
    os.environ.pop("NO_OP_SCALE", None)
    assert traced(invoke) == {}
    assert [t["target"] for t in explained(invoke, "f", "g").values()] == ["f", "g"]


def test_a_target_that_is_no_longer_declared_is_forgotten(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML.partition("[target.g]")[0])
    assert invoke("build").exit_code == 0
    assert json.loads((work / "build" / INDEX).read_text())["targets"].keys() == {"f", "weighted"}


def test_a_target_that_was_never_built_has_one_reason(work: Path, invoke: Invoke) -> None:
    shutil.rmtree(work / "build")
    lines = invoke("explain", "g").stdout.splitlines()
    assert lines == ["stale   g", "        it has not been built before"]


def test_a_failure_is_explained_with_its_lines(work: Path, invoke: Invoke) -> None:
    (work / "other.py").write_text("def g(x:\n")
    lines = invoke("explain", "g").stdout.splitlines()
    assert lines[0] == "failed  g" and "other is not Python" in lines[1]
    assert all(line.startswith(" " * 8) for line in lines[1:])


def test_an_unknown_target_is_an_error_as_before(work: Path, invoke: Invoke) -> None:
    for command in ("build", "explain"):
        result = invoke(command, "nothing")
        assert result.exit_code == 2 and "no target is named 'nothing'" in result.stderr


def test_the_script_that_starts_the_command_is_not_the_program(work: Path) -> None:
    script = work / "olympus-script"  # an installed one is a file of no package
    script.write_text("from olympus_cli.__main__ import main\nmain()\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    environment.pop("JAX_PLATFORMS", None)  # without it, OLYMPUS looks for accelerators in /dev
    command = [sys.executable, str(script), "build", "g", "--force"]
    run = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    index = json.loads((work / "build" / INDEX).read_text())
    assert index["targets"]["g"]["always"] == []
