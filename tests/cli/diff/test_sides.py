"""`olympus diff`: every kind of side, and changes of operations, arguments and results."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Invoke
from tests.cli.diff.project import CHANGED, build, clean, document, edit


@pytest.mark.usefixtures("built")
def test_a_target_is_compared_with_its_last_build(work: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "forward"))
    edit(work, "np.tanh", "np.sin")
    result = invoke("diff", "forward")
    assert result.exit_code == 1
    assert result.stdout == (f"build/forward -> forward\n\n{CHANGED}\n1 operation changed\n")


@pytest.mark.usefixtures("built")
def test_moved_lines_and_renamed_variables_are_no_difference(work: Path, invoke: Invoke) -> None:
    edit(work, "import olympus.numpy as np\n", "import olympus.numpy as np\n\n# moved\n\n")
    edit(work, "y = np", "hidden = np")
    edit(work, '{"y": y * 2.0, "loss": y.sum()}', '{"y": hidden * 2.0, "loss": hidden.sum()}')
    assert clean(invoke("diff", "forward"))


@pytest.mark.usefixtures("built")
def test_one_program_in_two_directories(work: Path, invoke: Invoke, tmp_path: Path) -> None:
    copy = work / "elsewhere" / "deeper"
    copy.mkdir(parents=True)
    for name in ("net.py", "olympus.toml"):
        shutil.copy(work / name, copy)
    result = invoke("build", "--project", str(copy))
    assert result.exit_code == 0, result.output
    for target in ("forward", "loop"):
        build_of_copy = f"elsewhere/deeper/build/{target}"
        assert clean(invoke("diff", f"build/{target}", build_of_copy))
        bundles = (f"{place}/{target}.olympus" for place in (f"build/{target}", build_of_copy))
        assert clean(invoke("diff", *bundles))
        map_of_lines = f"build/{target}/program.sources.json"
        assert (work / map_of_lines).read_bytes() == (copy / map_of_lines).read_bytes()


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
@pytest.mark.usefixtures("built")
def test_the_hash_seed_makes_no_difference(work: Path, invoke: Invoke, seed: str) -> None:
    for target in ("forward", "loop"):
        done = subprocess.run(
            [sys.executable, "-m", "olympus_cli", "diff", target],
            cwd=work,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.usefixtures("built")
def test_every_kind_of_side_is_the_same_program(work: Path, invoke: Invoke) -> None:
    assert invoke("lower", "forward", "-o", "a.mlir").exit_code == 0
    assert invoke("lower", "forward", "--debug-info", "-o", "b.mlir").exit_code == 0
    assert invoke("lower", "forward", "--format", "bytecode", "-o", "c.mlirbc").exit_code == 0
    sides = ["forward", "build/forward", "build/forward/forward.olympus"]
    sides += ["a.mlir", "b.mlir", "c.mlirbc"]
    for first, second in itertools.pairwise([*sides, sides[0]]):
        assert clean(invoke("diff", first, second)), (first, second)


def test_a_target_of_a_file_has_its_own_shapes(work: Path, invoke: Invoke) -> None:
    assert invoke("lower", "forward", "-o", "a.mlir").exit_code == 0
    edit(work, "[target.loop]", '[target.saved]\nentry = "a.mlir"\n\n[target.loop]', "olympus.toml")
    result = invoke("diff", "loop", "saved")
    assert result.exit_code == 1, result.stderr
    assert "added    argument arg0  f32[3,4]" in result.stdout


@pytest.mark.usefixtures("built")
def test_each_kind_of_side_has_its_known_lines(work: Path, invoke: Invoke) -> None:
    assert invoke("lower", "forward", "-o", "old.mlir").exit_code == 0
    assert invoke("lower", "forward", "--format", "bytecode", "-o", "old.mlirbc").exit_code == 0
    edit(work, "np.tanh", "np.sin")

    def change_before(side: str) -> tuple[Any, ...]:
        (change,) = document(invoke("diff", side, "forward", "--json"))["changes"]
        current = change["after"]
        assert (current["file"], current["line"], current["text"]) == (
            "net.py",
            7,
            "y = np.sin(x @ w)",
        )
        return tuple(change["before"][key] for key in ("file", "line", "scope", "text"))

    assert change_before("build/forward") == ("net.py", 7, "layer", "y = np.tanh(x @ w)")
    assert change_before("build/forward/forward.olympus") == ("net.py", 7, "layer", None)
    file, line, _, text = change_before("old.mlir")
    assert (file, text) == ("old.mlir", "%1 = stablehlo.tanh %0 : tensor<8x4xf32>")
    assert line == 4
    assert change_before("old.mlirbc") == (None, None, "", None)


@pytest.mark.usefixtures("built")
def test_the_document_has_every_change(work: Path, invoke: Invoke) -> None:
    edit(work, "y * 2.0", "y * 3.0 + y.sum()")
    edit(work, 'args = ["f32[3,4]"', 'optimize = "fast-build"\nargs = ["f32[3,4]"', "olympus.toml")
    result = invoke("diff", "forward", "--json")
    assert result.exit_code == 1
    comparison = document(result)
    assert comparison["equal"] is False
    assert [side["kind"] for side in comparison["sides"]] == ["build", "target"]
    assert comparison["options"] == [
        {"name": "optimize", "before": "default", "after": "fast-build"}
    ]
    assert comparison["versions"] == []
    kinds = [
        (change["of"], change["kind"], change["after"]["name"]) for change in comparison["changes"]
    ]
    assert ("operation", "changed", "stablehlo.multiply") in kinds
    assert ("operation", "added", "stablehlo.add") in kinds
    figures = {figure["name"]: figure for figure in comparison["figures"]}
    flops = figures["flops"]
    assert flops["after"] > flops["before"] > 0
    assert flops["ratio"] == flops["after"] / flops["before"]
    (line,) = comparison["lines"]
    assert line["before"]["line"] == line["after"]["line"] == "net.py:8"
    assert line["after"]["flops"] - line["before"]["flops"] == flops["after"] - flops["before"]
    assert line["text"] == 'return {"y": y * 3.0 + y.sum(), "loss": y.sum()}'


@pytest.mark.usefixtures("built")
def test_different_options_are_a_difference(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "build/forward", "forward", "--optimize", "fast-build")
    assert result.exit_code == 1
    assert "optimize: default -> fast-build" in result.stdout


@pytest.mark.usefixtures("built")
def test_arguments_and_results(work: Path, invoke: Invoke) -> None:
    edit(work, "def forward(w, x):", "def forward(w, inputs):\n    x = inputs")
    edit(work, '"loss": y.sum()', '"total": y.sum(), "weights": 2.0 * w')
    edit(work, "f32[8,3]", "f32[16,3]", "olympus.toml")
    edit(work, 'entry = "net:forward"', 'entry = "net:forward"\ndonate = ["w"]', "olympus.toml")
    result = invoke("diff", "forward")
    assert result.exit_code == 1
    for part in (
        "changed  argument w  f32[3,4]\n    donated: no -> to result 1",
        "changed  argument x -> inputs  f32[16,3]\n    name: x -> inputs\n"
        "    type: f32[8,3] -> f32[16,3]",
        "changed  result['loss'] -> result['total']  f32[]\n",
        "operations give another type, as the operands do; the first:",
    ):
        assert part in result.stdout


@pytest.mark.usefixtures("built")
def test_a_change_in_a_loop_names_the_loop(work: Path, invoke: Invoke) -> None:
    edit(work, "np.sin(y)", "np.cos(y)")
    result = invoke("diff", "loop")
    assert "in main > while at net.py:12, body\n  changed  sine -> cosine" in result.stdout
    assert result.stdout.endswith("\n1 operation changed\n")


def test_equal_changes_are_counted(work: Path, invoke: Invoke) -> None:
    edit(
        work, "    with olympus", "    for _ in range(3):\n        w = np.exp(w)\n    with olympus"
    )
    build(invoke, "forward")
    edit(work, "np.exp", "np.abs")
    result = invoke("diff", "forward")
    assert "changed  exponential -> abs  f32[3,4]  (3 times)" in result.stdout
    assert result.stdout.count("exponential") == 1


@pytest.mark.usefixtures("built")
def test_the_page_has_both_sides_and_escapes_names(work: Path, invoke: Invoke) -> None:
    edit(work, "y = np.tanh(x @ w)", 'y = np.sin(x @ w)  # <script>alert("1")</script>')
    result = invoke("diff", "forward", "--html", "page.html")
    assert result.exit_code == 1
    page = (work / "page.html").read_text()
    assert "y = np.tanh(x @ w)" in page
    assert "# &lt;script&gt;" in page
    assert page.count("<script") == 1 and "<script>alert" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert len(page) < 40_000
    again = work / "again.html"
    assert invoke("diff", "forward", "--html", str(again)).exit_code == 1
    assert again.read_text() == page


@pytest.mark.usefixtures("built")
def test_a_build_without_its_map_of_lines_is_compared(work: Path, invoke: Invoke) -> None:
    copy = work / "old"
    copy.mkdir()
    shutil.copy(work / "build/forward/program.stablehlo.mlir", copy)
    edit(work, "np.tanh", "np.sin")
    result = invoke("diff", "./old", "forward")
    assert result.exit_code == 1
    assert (
        "    - old/program.stablehlo.mlir:4  %1 = stablehlo.tanh %0 : tensor<8x4xf32>"
        in result.stdout
    )


def test_a_target_has_precedence_over_a_file_of_its_name(work: Path, invoke: Invoke) -> None:
    (work / "forward").write_text("not a program")
    (work / "loop").mkdir()
    assert clean(invoke("diff", "forward", "forward", "--backend", "cpu"))
    build(invoke, "loop")
    assert clean(invoke("diff", "loop"))
    assert invoke("diff", "./forward", "loop").exit_code == 5


def test_an_entry_uses_the_shapes_of_the_other_side(work: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "forward", "net.py:forward"))
    assert clean(invoke("diff", "net:forward", "forward"))
    result = invoke("diff", "net:forward", "loop")
    assert result.exit_code == 2  # one array for two arguments
    edit(work, "def loop(x):", "def other(w, x):\n    return np.sin(x @ w)\n\n\ndef loop(x):")
    result = invoke("diff", "forward", "net:other")
    assert "changed  tanh -> sine" in result.stdout
    without = invoke("diff", "net:forward", "net:other")
    assert without.exit_code == 2


@pytest.mark.usefixtures("built")
def test_a_bundle_is_compared_without_its_native_code(work: Path, invoke: Invoke) -> None:
    bundle = "build/forward/forward.olympus"
    wrong = invoke("diff", bundle, "forward", "--backend", "gpu")
    assert wrong.exit_code == 2
    assert "has no program for gpu, only for cpu" in wrong.stderr
    build_wrong = invoke("diff", "build/forward", "forward", "--backend", "gpu")
    assert build_wrong.exit_code == 2
    assert "is not built for gpu, only for cpu" in build_wrong.stderr
