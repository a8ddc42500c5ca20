"""Commands use the up-to-date build of a target, and renew its source lines, without compiling."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import olympus
from olympus.analysis import SourceMap, keep_peaks, known_peaks
from olympus_cli.builder.output_place import locked
from olympus_cli.history.store import read_programs
from tests.marks import needs_gpu_compiler

Invoke = Callable[..., Result]

#: A program that fails to compile if a file `no-compiler` is beside it.
PROGRAM = """\
import pathlib
import olympus
import olympus.numpy as np
import olympus.stages


def refuse(*args, **kwargs):
    raise RuntimeError("it was compiled")


if (pathlib.Path(__file__).parent / "no-compiler").exists():
    olympus.stages.Lowered.compile = refuse


def dense(x, w):
    with olympus.named_scope("layer"):
        y = np.tanh(x @ w)
    return y * 2.0


def keyed():
    return {1.5: np.zeros(3)}


def of_keyed(x):
    return x[1.5] + 1
"""

TOML = """\
[target.dense]
entry = "program:dense"
args = ["f32[8,16]", "f32[16,32]"]

[target.dense.budget]
peak-memory = "1 GiB"
executable-size = "1 GiB"
bundle-size = "1 GiB"

[target.keyed]
entry = "program:of_keyed"
args = [{ from = "program:keyed" }]
"""


@pytest.fixture
def invoke(invoke: Invoke) -> Invoke:
    """Run `olympus` and check its exit code, which is `code`."""

    def run(*words: str, code: int = 0) -> Result:
        result = invoke(*words)
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


@pytest.fixture
def built(work: Path, invoke: Invoke) -> Path:
    """The folder with `dense` built, in which later compilations fail."""
    invoke("build", "dense")
    (work / "no-compiler").touch()
    return work


USES = [
    ("check", "dense"),
    ("run", "dense"),
    ("run", "dense", "--backend", "cpu"),
    ("verify", "dense", "--against", "op-by-op"),
    ("profile", "dense", "--runs", "1"),
    ("cost", "dense", "--compile"),
    ("report", "dense"),
    ("report", "dense", "--profile"),
    ("build", "dense", "--html"),
]


@pytest.mark.parametrize("words", USES, ids=" ".join)
def test_a_fresh_build_is_used(words: tuple[str, ...], built: Path, invoke: Invoke) -> None:
    invoke(*words)


@pytest.mark.parametrize("words", USES[:7], ids=" ".join)
def test_a_stale_build_is_compiled_once_and_saved(
    words: tuple[str, ...], work: Path, invoke: Invoke
) -> None:
    invoke(*words)
    (work / "no-compiler").touch()
    assert invoke("build", "dense").stdout.startswith("fresh")


def test_a_build_has_the_figures_of_a_compilation(work: Path, invoke: Invoke) -> None:
    compiled = json.loads(
        invoke(
            "cost", "program:dense", "--shapes", "f32[8,16], f32[16,32]", "--compile", "--json"
        ).stdout
    )
    invoke("build", "dense")
    (work / "no-compiler").touch()
    used = json.loads(invoke("cost", "dense", "--compile", "--json").stdout)
    for key in ("memory", "fits", "devices"):
        assert used["compiled"][key] == compiled["compiled"][key]
    names = [kernel["name"] for kernel in used["compiled"]["estimate"]["kernels"]]
    assert names == [kernel["name"] for kernel in compiled["compiled"]["estimate"]["kernels"]]


def test_an_entry_and_a_changed_target_do_not_change_the_build(built: Path, invoke: Invoke) -> None:
    report = (built / "build/dense/report.json").read_bytes()
    for words in (
        ("program:dense", "--shapes", "f32[8,16], f32[16,32]"),
        ("dense", "--shapes", "f32[4,16], f32[16,32]"),
        ("dense", "--optimize", "fast-build"),
    ):
        assert "it was compiled" in invoke("run", *words, code=3).stderr
    assert (built / "build/dense/report.json").read_bytes() == report


def test_a_program_that_no_bundle_can_store_runs(work: Path, invoke: Invoke) -> None:
    assert "[3]" in invoke("run", "keyed").stdout
    assert not (work / "build/keyed").exists()


def test_a_program_runs_if_its_build_cannot_be_written(work: Path, invoke: Invoke) -> None:
    (work / "build").mkdir()
    (work / "build/dense").write_text("mine")
    invoke("run", "dense")
    invoke("check", "dense")
    assert (work / "build/dense").read_text() == "mine"


def test_a_changed_executable_is_not_loaded(built: Path, invoke: Invoke) -> None:
    (built / "no-compiler").unlink()
    (built / "build/dense/cpu/executable.bin").write_bytes(b"something else")
    invoke("run", "dense")
    assert (built / "build/dense/cpu/executable.bin").read_bytes() != b"something else"


# A comment above the function.


@pytest.fixture
def moved(built: Path) -> Path:
    text = (built / "program.py").read_text()
    (built / "program.py").write_text("# a comment\n# and another\n" + text)
    return built


def lines_in(text: str) -> set[str]:
    return set(re.findall(r"program\.py:\d+", text))


TWO = 'backends = ["cpu", "gpu:h200"]\n[target.dense.budget]'
OLD, NEW = {"program.py:17", "program.py:18"}, {"program.py:19", "program.py:20"}


def test_the_source_lines_of_the_program() -> None:
    lines = [
        i for i, line in enumerate(PROGRAM.splitlines(), 1) if "x @ w" in line or "* 2" in line
    ]
    assert {f"program.py:{i}" for i in lines} == OLD


def test_moved_source_lines_are_renewed(moved: Path, invoke: Invoke) -> None:
    outputs = moved / "build/dense"
    assert lines_in((outputs / "report.json").read_text()) == OLD
    output = invoke("build", "dense").stdout
    assert re.search(r"^fresh +dense .*its source lines were renewed", output, re.M)
    assert lines_in((outputs / "report.json").read_text()) == NEW
    assert lines_in((outputs / "summary.txt").read_text()) <= NEW
    assert "renewed" not in invoke("build", "dense").stdout


@pytest.mark.parametrize("words", USES[:7], ids=" ".join)
def test_commands_renew_moved_source_lines(
    words: tuple[str, ...], moved: Path, invoke: Invoke
) -> None:
    output = invoke(*words).stdout
    assert lines_in(output) <= NEW
    assert lines_in((moved / "build/dense/report.json").read_text()) == NEW


def test_the_page_is_renewed(built: Path, invoke: Invoke) -> None:
    invoke("build", "dense", "--html")
    assert lines_in((built / "build/dense/report.html").read_text()) == OLD
    text = (built / "program.py").read_text()
    (built / "program.py").write_text("# a comment\n# and another\n" + text)
    invoke("build", "dense")
    assert lines_in((built / "build/dense/report.html").read_text()) == NEW


def test_the_compilers_files_are_renewed(moved: Path, invoke: Invoke) -> None:
    outputs = moved / "build/dense"
    invoke("build", "dense")
    places = [
        json.loads((outputs / "program.sources.json").read_text())["places"],
        re.findall(
            r"file_name_id=\d+ .* line=(\d+)", (outputs / "cpu/optimized.hlo.txt").read_text()
        ),
    ]
    assert {line for _, line, _ in places[0]} - {0} == {19, 20}
    assert {*places[1]} == {"19", "20"}
    bundle = olympus.artifact.load(outputs / "dense.olympus")
    sources = bundle.sources()
    assert sources is not None
    assert {place.line for place in sources.places} - {0} == {19, 20}
    (executable,) = bundle.executables
    assert bundle.members[executable.member] == (outputs / "cpu/executable.bin").read_bytes()
    document = invoke("profile", str(outputs / "dense.olympus"), "--runs", "1", "--json").stdout
    assert lines_in(document) <= NEW
    assert lines_in(document)


def test_renewed_outputs_equal_the_outputs_of_a_build(moved: Path, invoke: Invoke) -> None:
    outputs = moved / "build/dense"
    invoke("build", "dense")
    renewed = {name: (outputs / name).read_text() for name in TEXTS}
    (moved / "no-compiler").unlink()
    invoke("build", "dense", "--force")
    assert renewed == {name: (outputs / name).read_text() for name in TEXTS}


TEXTS = (
    "program.olympuspr",
    "program.stablehlo.mlir",
    "program.sources.json",
    "cpu/optimized.hlo.txt",
)


def test_frozen_writes_nothing(moved: Path, invoke: Invoke) -> None:
    invoke("build", "--frozen", "dense")
    assert lines_in((moved / "build/dense/report.json").read_text()) == OLD


def test_outputs_in_another_folder_are_equal(
    built: Path, invoke: Invoke, tmp_path_factory: Any
) -> None:
    copy = tmp_path_factory.mktemp("other") / "project"
    os.rename(built, copy)
    os.mkdir(built)  # the working directory of the test
    invoke("build", "dense", "--project", str(copy))
    sources = SourceMap.parse((copy / "build/dense/program.sources.json").read_bytes())
    assert {place.file for place in sources.places} == {"", "program.py"}


@needs_gpu_compiler
def test_a_build_for_several_backends_is_renewed_for_each(work: Path, invoke: Invoke) -> None:
    toml = TOML.replace(
        "[target.dense.budget]", 'backends = ["cpu", "gpu:h200"]\n[target.dense.budget]'
    )
    (work / "olympus.toml").write_text(toml.replace('args = ["f32[8', 'args = ["f32[8', 1))
    invoke("build", "dense")
    (work / "no-compiler").touch()
    text = (work / "program.py").read_text()
    (work / "program.py").write_text("# a comment\n# and another\n" + text)
    invoke("run", "dense")  # for the CPU only
    report = json.loads((work / "build/dense/report.json").read_text())
    assert [backend["label"] for backend in report["backends"]] == ["cpu", "gpu"]
    assert lines_in(json.dumps(report)) == NEW
    invoke("check", "dense")
    invoke("report", "dense")
    assert lines_in((work / "build/dense/report.html").read_text()) == NEW


@needs_gpu_compiler
def test_a_stale_backend_does_not_replace_a_fresh_one(work: Path, invoke: Invoke) -> None:
    two = TOML.replace(
        "[target.dense.budget]", 'backends = ["cpu", "gpu:h200"]\n[target.dense.budget]'
    )
    (work / "olympus.toml").write_text(two)
    invoke("build", "dense", "--backend", "gpu")
    report = (work / "build/dense/report.json").read_bytes()
    invoke("run", "dense")
    assert (work / "build/dense/report.json").read_bytes() == report


def test_a_missing_device_is_an_error_before_tracing(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text("raise RuntimeError('it was imported')\n")
    for words in (
        ("run", "--backend", "gpu"),
        ("verify", "--backend", "gpu"),
        ("bench", "--backend", "gpu", "--save-baseline", "main"),
    ):
        result = invoke(words[0], "dense", *words[1:], code=6)
        assert "it was imported" not in result.stderr
        assert "gpu" in result.stderr


def test_the_history_has_the_renewed_lines(moved: Path, invoke: Invoke) -> None:
    runs = json.loads(invoke("history", "--json").stdout)
    invoke("build", "dense")
    history = moved / "build/history.sqlite"
    program = (moved / "build/dense/program.stablehlo.mlir").read_bytes()
    digest = hashlib.sha256(program).hexdigest()
    sources = read_programs(history, [digest])[digest].sources
    assert sources is not None
    assert {place.line for place in SourceMap.parse(sources).places} - {0} == {19, 20}
    assert json.loads(invoke("history", "--json").stdout) == runs  # no run was added


def test_estimates_are_renewed_after_a_calibration(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    (built / "no-compiler").unlink()
    invoke("build", "dense", "--force")
    (built / "no-compiler").touch()
    report = built / "build/dense/report.json"
    assert "were not measured" in report.read_text()
    keep_peaks(known_peaks())
    assert "figures of a device have changed" in invoke("build", "dense").stdout
    assert "were not measured" not in report.read_text()
    assert "changed" not in invoke("build", "dense").stdout


def test_a_renewed_page_has_the_same_stacks(built: Path, invoke: Invoke) -> None:
    invoke("build", "dense", "--html")
    page = (built / "build/dense/report.html").read_text()
    text = (built / "program.py").read_text()
    (built / "program.py").write_text("# a comment\n# and another\n" + text)
    invoke("run", "dense")
    renewed = (built / "build/dense/report.html").read_text()
    assert renewed.count("dense program.py:20") == page.count("dense program.py:18") > 0


def test_an_estimate_uses_the_current_figures_of_a_device(work: Path, invoke: Invoke) -> None:
    device = '[device.mine]\nlike = "h200"\ntflops = {{ float32 = {} }}\n'
    toml = TOML.replace("[target.dense.budget]", TWO).replace('"cpu", "gpu:h200"', '"gpu:mine"')

    def seconds() -> float:
        document = json.loads(invoke("cost", "dense", "--compile", "--json").stdout)
        estimate: float = document["compiled"]["estimate"]["seconds"]
        return estimate

    (work / "olympus.toml").write_text(toml + device.format(60.0))
    first = seconds()
    (work / "no-compiler").touch()
    (work / "olympus.toml").write_text(toml + device.format(0.000001))
    assert seconds() > 2 * first


def test_split_source_lines_are_compiled_again(built: Path, invoke: Invoke) -> None:
    (built / "no-compiler").unlink()
    text = (built / "program.py").read_text()
    split = text.replace("y = np.tanh(x @ w)", "y = np.tanh(\n            x @ w\n        )")
    (built / "program.py").write_text(split)
    assert "operations of one source line" in invoke("build", "dense").stdout
    hlo = (built / "build/dense/cpu/optimized.hlo.txt").read_text()
    assert {*re.findall(r"file_name_id=\d+ .* line=(\d+)", hlo)} == {"17", "18", "20"}


def test_a_renamed_scope_is_compiled_again(built: Path, invoke: Invoke) -> None:
    (built / "no-compiler").unlink()
    text = (built / "program.py").read_text()
    (built / "program.py").write_text(text.replace('named_scope("layer")', 'named_scope("other")'))
    invoke("build", "dense")
    hlo = (built / "build/dense/cpu/optimized.hlo.txt").read_text()
    assert "/other/" in hlo and "/layer/" not in hlo


def test_a_changed_file_that_is_not_needed_is_not_replaced(built: Path, invoke: Invoke) -> None:
    """For example, a bundle that was signed in place."""
    bundle = built / "build/dense/dense.olympus"
    bundle.write_bytes(b"signed")
    for words in USES[:6]:
        invoke(*words)
    assert bundle.read_bytes() == b"signed"


@needs_gpu_compiler
def test_a_damaged_file_does_not_rebuild_another_backend(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML.replace("[target.dense.budget]", TWO))
    invoke("build", "dense")
    executable = (work / "build/dense/gpu/executable.bin").read_bytes()
    for name in ("summary.txt", "cpu/executable.bin"):
        (work / "build/dense" / name).write_bytes(b"damaged")
        invoke("run", "dense")
        assert (work / "build/dense/gpu/executable.bin").read_bytes() == executable


def test_a_lock_does_not_delay_a_fresh_program(moved: Path, invoke: Invoke) -> None:
    with locked(moved / "build"):
        for words in (("run", "dense"), ("profile", "dense", "--runs", "1")):
            output = invoke(*words).stdout
            assert lines_in(output) <= NEW
    assert lines_in((moved / "build/dense/report.json").read_text()) == OLD


def test_a_copy_of_a_project_has_its_own_source_lines(
    built: Path, invoke: Invoke, tmp_path_factory: Any
) -> None:
    copy = tmp_path_factory.mktemp("other") / "project"
    shutil.copytree(built, copy)
    output = invoke("profile", "dense", "--project", str(copy), "--runs", "1").stdout
    assert lines_in(output) and str(built) not in output


def test_a_file_with_flags_is_part_of_the_key(
    built: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (built / "no-compiler").unlink()
    flags = built / "flags.txt"
    flags.write_text("--xla_cpu_prefer_vector_width=256")
    monkeypatch.setenv("XLA_FLAGS", str(flags))
    invoke("build", "dense")
    flags.write_text("--xla_cpu_prefer_vector_width=128")
    assert "XLA_FLAGS" in invoke("build", "dense").stdout
    assert invoke("build", "dense").stdout.startswith("fresh")


def test_an_interrupted_command_leaves_no_partial_outputs(work: Path, invoke: Invoke) -> None:
    invoke("build", "dense")
    partial = work / "build/.olympus-new-dense"
    (work / "program.py").write_text(
        PROGRAM.replace("def dense(x, w):", "def dense(x, w):\n    partial.mkdir()\n    os.abort()")
        + f"\nimport os\npartial = pathlib.Path({str(partial)!r})\n"
    )
    for words in USES[:5]:
        invoke(*words, code=4)
        assert not partial.exists(), words
