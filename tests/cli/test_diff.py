"""`olympus diff`: every kind of side, what is told of them, and what cannot be compared."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from olympus_cli.comparison.figures import figure_changes, figure_text
from olympus_cli.comparison.lines import line_changes
from olympus_cli.comparison.revision import Checkouts
from olympus_cli.comparison.sides import both_sides
from olympus_cli.spec.resolve import Request

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as np


def forward(w, x):
    with olympus.named_scope("layer"):
        y = np.tanh(x @ w)
    return {"y": y * 2.0, "loss": y.sum()}


def loop(x):
    return olympus.lax.fori_loop(0, 9, lambda i, y: np.sin(y) + x, x)
"""

TOML = """\
[target.forward]
entry = "net:forward"
args = ["f32[3,4]", "f32[8,3]"]

[target.loop]
entry = "net:loop"
args = ["f32[4]"]
"""

TANH = "    - net.py:7  y = np.tanh(x @ w)\n    + net.py:7  y = np.sin(x @ w)\n"
CHANGED = f"in main, scope layer\n  changed  tanh -> sine  f32[8,4]\n{TANH}"


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "net.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def edit(folder: Path, old: str, new: str, file: str = "net.py") -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def git(folder: Path, *arguments: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**clean, **dict.fromkeys(names, "someone"), "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build folder of the project as it is in `work`, built once."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "net.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    subprocess.run([sys.executable, "-m", "olympus_cli", "build"], cwd=folder, check=True)
    return folder / "build"


@pytest.fixture
def built(work: Path, once: Path) -> None:
    """Give `work` a build of all its targets."""
    shutil.copytree(once, work / "build")


@pytest.fixture
def repository(work: Path) -> Path:
    git(work, "init", "-q")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "one")
    return work


def build(invoke: Invoke, *targets: str) -> None:
    result = invoke("build", *targets)
    assert result.exit_code == 0, result.output


def document(result: Result) -> Any:
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


def clean(result: Result) -> bool:
    """Whether the comparison was empty."""
    return (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def left_behind(repository: Path) -> list[str]:
    """What a comparison with a revision should have removed."""
    trees = git(repository, "worktree", "list").splitlines()[1:]
    return trees + [name for name in os.listdir(tempfile.gettempdir()) if name.startswith(PREFIX)]


PREFIX = "olympus-diff-"


@pytest.fixture
def private_tmp(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that no other test writes to."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.usefixtures("built")
def test_a_target_is_compared_with_its_last_build(work: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "forward"))
    edit(work, "np.tanh", "np.sin")
    result = invoke("diff", "forward")
    assert result.exit_code == 1
    assert result.stdout == (f"build/forward -> forward\n\n{CHANGED}\n1 operation changed\n")


@pytest.mark.usefixtures("built")
def test_lines_moved_and_variables_renamed_are_no_difference(work: Path, invoke: Invoke) -> None:
    edit(work, "import olympus.numpy as np\n", "import olympus.numpy as np\n\n# moved\n\n")
    edit(work, "y = np", "hidden = np")
    edit(work, '{"y": y * 2.0, "loss": y.sum()}', '{"y": hidden * 2.0, "loss": hidden.sum()}')
    assert clean(invoke("diff", "forward"))


@pytest.mark.usefixtures("built")
def test_one_program_in_two_directories(work: Path, invoke: Invoke, tmp_path: Path) -> None:
    other = work / "elsewhere" / "deeper"
    other.mkdir(parents=True)
    for name in ("net.py", "olympus.toml"):
        shutil.copy(work / name, other)
    result = invoke("build", "--project", str(other))
    assert result.exit_code == 0, result.output
    for target in ("forward", "loop"):
        there = f"elsewhere/deeper/build/{target}"
        assert clean(invoke("diff", f"build/{target}", there))
        bundles = (f"{place}/{target}.olympus" for place in (f"build/{target}", there))
        assert clean(invoke("diff", *bundles))
        same = f"build/{target}/program.sources.json"
        assert (work / same).read_bytes() == (other / same).read_bytes()


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
@pytest.mark.usefixtures("built")
def test_hash_seeds_are_no_difference(work: Path, invoke: Invoke, seed: str) -> None:
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
    for one, other in itertools.pairwise([*sides, sides[0]]):
        assert clean(invoke("diff", one, other)), (one, other)


@pytest.mark.usefixtures("built")
def test_each_kind_of_side_says_what_it_knows_of_lines(work: Path, invoke: Invoke) -> None:
    assert invoke("lower", "forward", "-o", "old.mlir").exit_code == 0
    assert invoke("lower", "forward", "--format", "bytecode", "-o", "old.mlirbc").exit_code == 0
    edit(work, "np.tanh", "np.sin")

    def before(side: str) -> tuple[Any, ...]:
        (change,) = document(invoke("diff", side, "forward", "--json"))["changes"]
        after = change["after"]
        assert (after["file"], after["line"], after["text"]) == ("net.py", 7, "y = np.sin(x @ w)")
        return tuple(change["before"][key] for key in ("file", "line", "scope", "text"))

    assert before("build/forward") == ("net.py", 7, "layer", "y = np.tanh(x @ w)")
    assert before("build/forward/forward.olympus") == ("net.py", 7, "layer", None)
    file, line, _, text = before("old.mlir")
    assert (file, text) == ("old.mlir", "%1 = stablehlo.tanh %0 : tensor<8x4xf32>")
    assert line == 4
    assert before("old.mlirbc") == (None, None, "", None)


@pytest.mark.usefixtures("built")
def test_the_document_says_all(work: Path, invoke: Invoke) -> None:
    edit(work, "y * 2.0", "y * 3.0 + y.sum()")
    edit(work, 'args = ["f32[3,4]"', 'optimize = "fast-build"\nargs = ["f32[3,4]"', "olympus.toml")
    result = invoke("diff", "forward", "--json")
    assert result.exit_code == 1
    found = document(result)
    assert found["equal"] is False
    assert [side["kind"] for side in found["sides"]] == ["build", "target"]
    assert found["options"] == [{"name": "optimize", "before": "default", "after": "fast-build"}]
    assert found["versions"] == []
    kinds = [(each["of"], each["kind"], each["after"]["name"]) for each in found["changes"]]
    assert ("operation", "changed", "stablehlo.multiply") in kinds
    assert ("operation", "added", "stablehlo.add") in kinds
    figures = {each["name"]: each for each in found["figures"]}
    flops = figures["flops"]
    assert flops["after"] > flops["before"] > 0
    assert flops["ratio"] == flops["after"] / flops["before"]
    (line,) = found["lines"]
    assert line["before"]["line"] == line["after"]["line"] == "net.py:8"
    assert line["after"]["flops"] - line["before"]["flops"] == flops["after"] - flops["before"]
    assert line["text"] == 'return {"y": y * 3.0 + y.sum(), "loss": y.sum()}'


@pytest.mark.usefixtures("built")
def test_options_alone_differ(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "build/forward", "forward", "--optimize", "fast-build")
    assert result.exit_code == 1
    assert "optimize: default -> fast-build" in result.stdout


@pytest.mark.usefixtures("built")
def test_versions_alone_are_told_and_are_no_difference(work: Path, invoke: Invoke) -> None:
    build_folder = work / "build" / "forward"
    report = json.loads((build_folder / "report.json").read_text())
    report["versions"]["jaxlib"] = "0.0.1"
    (build_folder / "report.json").write_text(json.dumps(report))
    result = invoke("diff", "forward")
    assert result.exit_code == 0
    assert "  jaxlib: 0.0.1 -> " in result.stdout


@pytest.mark.usefixtures("built")
def test_builds_are_compared_by_the_figures_of_their_reports(work: Path, invoke: Invoke) -> None:
    shutil.copytree(work / "build", work / "old")
    edit(work, "y.sum()", "(y @ y.T).sum()")
    build(invoke, "forward")
    result = invoke("diff", "old/forward", "build/forward", "--json")
    names = {each["name"] for each in document(result)["figures"]}
    assert "flops" in names
    assert "estimated time" in names
    text = invoke("diff", "old/forward", "build/forward").stdout
    assert "\nfigures\n" in text and "%)" in text


@pytest.mark.usefixtures("built")
def test_lines_that_moved_are_matched_and_the_costlier_told(work: Path, invoke: Invoke) -> None:
    shutil.copytree(work / "build", work / "old")
    edit(work, "    return {", "\n    z = y @ y.T\n    y = y + z.sum()\n    return {")
    for second in ("forward", "build/forward"):
        if "/" in second:
            build(invoke, "forward")
        result = invoke("diff", "old/forward", second, "--json", "--html", "page.html")
        product, addition = document(result)["lines"]
        assert (product["before"], product["after"]["line"]) == (None, "net.py:9")
        assert product["after"]["flops"] == 2 * 8 * 8 * 4
        assert (addition["before"], addition["after"]["line"]) == (None, "net.py:10")
        text = invoke("diff", "old/forward", second).stdout
        assert "cost by line\n  net.py:9  z = y @ y.T\n    flops 0 -> 512, bytes 0 B -> " in text
        page = (work / "page.html").read_text()
        assert "Cost by line" in page and "z = y @ y.T" in page
        assert "net.py:11" not in text


def test_lines_without_texts_are_matched_by_their_numbers() -> None:
    def row(key: str, flops: int) -> dict[str, Any]:
        return {"key": key, "flops": flops, "bytes": 4}

    one = [row("m.py:3", 8), row("m.py:4", 8), row("(unknown)", 5)]
    two = [row("m.py:3", 9), row("m.py:5", 80), row("(unknown)", 5)]
    found = line_changes(one, two, ({("m.py", 4): "a"}, {("m.py", 5): "a"}))
    assert [(c["before"]["line"], c["after"]["line"], c["text"]) for c in found] == [
        ("m.py:4", "m.py:5", "a"),
        ("m.py:3", "m.py:3", None),
    ]


def test_figures_are_those_that_both_reports_have() -> None:
    one = {
        "cost": {"flops": 1000, "bytes": 2048, "matmul_flops": {"float32": 800}},
        "memory": {"peak": 4096, "temporaries": None},
        "estimate": {"seconds": 0.002},
    }
    two = {
        "cost": {"flops": 1000, "bytes": 1024},
        "memory": {"peak": 2**20, "temporaries": 512},
        "estimate": None,
    }
    found = figure_changes(one, two)
    assert [(each["name"], each["ratio"]) for each in found] == [
        ("bytes", 0.5),
        ("temporary memory", None),
        ("peak memory", 256.0),
        ("estimated time", None),
    ]
    assert [figure_text(each) for each in found] == [
        ("2.00 KiB", "1.00 KiB", "-50.0%"),
        ("unknown", "512 B", ""),
        ("4.00 KiB", "1.00 MiB", "256 times"),
        ("2.00 ms", "unknown", ""),
    ]


def test_figures_that_are_lower_bounds_have_no_ratio() -> None:
    def side(calls: int, loops: list[str], seconds: float) -> dict[str, Any]:
        row = {"axes": ["data"], "calls": calls, "bytes": 64 * calls, "loops": loops}
        return {
            "axes": [row],
            "estimate": {"seconds": seconds, "unknown": [f"the loop at {line}" for line in loops]},
        }

    found = figure_changes(side(2, [], 1.0), side(1, ["m.py:3"], 0.5))
    assert [(each["name"], *figure_text(each)) for each in found] == [
        ("estimated time", "1.00 s", "at least 500 ms", ""),
        ("collectives along data", "2", "at least 1", ""),
        ("bytes along data", "128 B", "at least 64 B", ""),
    ]
    assert {tuple(each["at_least"]) for each in found} == {("after",)}
    told = figure_changes(side(2, [], 1.0), side(4, [], 1.0))
    assert figure_text(told[0]) == ("2", "4", "+100.0%")


@pytest.mark.usefixtures("built")
def test_arguments_and_results(work: Path, invoke: Invoke) -> None:
    edit(work, "def forward(w, x):", "def forward(w, inputs):\n    x = inputs")
    edit(work, '"loss": y.sum()', '"total": y.sum()')
    edit(work, "f32[8,3]", "f32[16,3]", "olympus.toml")
    edit(work, 'entry = "net:forward"', 'entry = "net:forward"\ndonate = ["w"]', "olympus.toml")
    result = invoke("diff", "forward")
    assert result.exit_code == 1
    for part in (
        "changed  argument w  f32[3,4]\n    donated: no -> yes",
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


def test_changes_that_read_alike_are_counted(work: Path, invoke: Invoke) -> None:
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
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert len(page) < 20_000
    again = work / "again.html"
    assert invoke("diff", "forward", "--html", str(again)).exit_code == 1
    assert again.read_text() == page


# --- revisions --------------------------------------------------------------------------------


@pytest.mark.usefixtures("private_tmp")
def test_a_revision(repository: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "git:HEAD", "forward"))
    edit(repository, "np.tanh", "np.sin")
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 1, result.output
    assert result.stdout == (f"git:HEAD:forward -> forward\n\n{CHANGED}\n1 operation changed\n")
    with Checkouts() as checkouts:
        same = [
            both_sides(*sides, Request(""), checkouts)
            for sides in (("git:HEAD", "forward"), ("git:HEAD:forward", None))
        ]
        assert (
            same[0] == same[1] == both_sides("git:HEAD:forward", "forward", Request(""), checkouts)
        )
        assert [side.label for side in same[0]] == ["git:HEAD:forward", "forward"]
    git(repository, "commit", "-qam", "two")
    result = invoke("diff", "git:HEAD~1:forward", "git:HEAD")
    assert (result.exit_code, "tanh -> sine" in result.stdout) == (1, True)
    assert clean(invoke("diff", "git:HEAD", "forward"))
    assert left_behind(repository) == []
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.usefixtures("private_tmp")
def test_all_targets_against_a_revision(repository: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "git:HEAD"))
    edit(repository, "np.tanh", "np.sin")
    text = TOML.replace("[target.loop]", "[target.again]")
    (repository / "olympus.toml").write_text(text + '[target.gone]\nentry = "net:gone"\n')
    result = invoke("diff", "git:HEAD", "--output", "json=out.json", "--output", "text")
    assert result.exit_code == 1
    assert result.stdout == f"git:HEAD:forward -> forward\n\n{CHANGED}\n1 operation changed\n"
    assert result.stderr.splitlines() == [
        "note: target 'again' is new: git:HEAD does not have it",
        "note: target 'gone' is new: git:HEAD does not have it",
        "note: target 'loop' of git:HEAD is not there any more",
        "wrote out.json",
    ]
    found = json.loads((repository / "out.json").read_text())
    assert [found[name] for name in ("added", "removed", "failed", "equal")] == [
        *(["again", "gone"], ["loop"], [], False)
    ]
    assert [(each["target"], each["equal"]) for each in found["targets"]] == [("forward", False)]
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_one_target_that_cannot_be_compared_does_not_keep_the_others(
    repository: Path, invoke: Invoke
) -> None:
    edit(repository, "np.sin(y)", "np.sin(y, nothing)")
    edit(repository, "np.tanh", "np.cos")
    result = invoke("diff", "git:HEAD", "--output", "github")
    assert result.exit_code == 3
    assert result.stdout.count("::error file=net.py,line=7,title=olympus diff") == 1
    assert result.stdout.count("::error file=net.py,line=12,title=olympus diff%3A loop") == 1
    assert "target 'loop': " in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_all_targets_are_new_where_the_project_is(
    repository: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = repository / "below"
    below.mkdir()
    for name in ("net.py", "olympus.toml"):
        shutil.copy(repository / name, below)
    monkeypatch.chdir(below)
    result = invoke("diff", "git:HEAD")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "target 'forward' is new" in result.stderr
    (repository / "olympus.toml").write_text("[target")
    git(repository, "commit", "-qam", "broken")
    monkeypatch.chdir(repository)
    (repository / "olympus.toml").write_text(TOML)
    result = invoke("diff", "git:HEAD")
    assert result.exit_code == 2
    assert "revision 'HEAD' cannot be compared: HEAD:olympus.toml:1" in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_an_entry_at_a_revision(repository: Path, invoke: Invoke) -> None:
    edit(repository, "np.sin(y)", "np.cos(y)")
    for side in ("git:HEAD:net:loop", "git:HEAD"):
        result = invoke("diff", side, "net.py:loop", "--shapes", "f32[4]")
        assert result.exit_code == 1, result.output
        assert "sine -> cosine" in result.stdout
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_a_revision_in_a_project_below_the_repository(
    repository: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = repository / "below"
    below.mkdir()
    for name in ("net.py", "olympus.toml"):
        git(repository, "mv", name, f"below/{name}")
    git(repository, "commit", "-qm", "moved")
    monkeypatch.chdir(below)
    edit(below, "np.tanh", "np.sin")
    result = invoke("diff", "git:HEAD", "forward")
    assert "tanh -> sine" in result.stdout
    older = invoke("diff", "git:HEAD~1", "forward")
    assert older.exit_code == 2
    assert "revision 'HEAD~1' cannot be compared: the revision has no folder below" in older.stderr
    monkeypatch.chdir(repository)
    assert "tanh -> sine" in invoke("diff", "git:HEAD", "forward", "--project", "below").stdout
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
def test_a_revision_that_does_not_build_is_one_message(repository: Path, invoke: Invoke) -> None:
    edit(repository, "np.tanh(x @ w)", "np.tanh(x @ w, nothing)")
    git(repository, "commit", "-qam", "broken")
    edit(repository, "np.tanh(x @ w, nothing)", "np.tanh(x @ w)")
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr.startswith("error: revision 'HEAD' cannot be compared: forward raised")
    assert "HEAD:net.py:7" in result.stderr
    assert PREFIX not in result.stderr
    assert left_behind(repository) == []
    (repository / "net.py").write_text("import nothing_of_that_name\n")
    git(repository, "commit", "-qam", "worse")
    (repository / "net.py").write_text(PROGRAM)
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 2
    assert "revision 'HEAD' cannot be compared" in result.stderr
    assert left_behind(repository) == []


@pytest.mark.usefixtures("private_tmp")
@pytest.mark.parametrize(
    ("sides", "words"),
    [
        (("git:nowhere", "forward"), "has no revision 'nowhere'"),
        (("git:--help", "forward"), "has no revision '--help'"),
        (("git:", "forward"), "names no revision"),
        (("git:nowhere",), "has no revision 'nowhere'"),
        (("git:",), "names no revision"),
        (("git:HEAD", "--html", "page.html"), "--html is of one comparison"),
        (("git:HEAD", "git:HEAD"), "does not say which target"),
        (("git:HEAD", "net.py"), "does not say which target"),
        (("git:HEAD:forwards", "forward"), "there is no target 'forwards'"),
    ],
)
def test_a_revision_that_is_not_there(
    repository: Path, invoke: Invoke, sides: tuple[str, ...], words: str
) -> None:
    result = invoke("diff", *sides)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert left_behind(repository) == []


def test_there_is_no_repository(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "git:HEAD", "forward")
    assert result.exit_code == 2
    assert "there is no git repository here" in result.stderr


@pytest.mark.usefixtures("private_tmp")
def test_the_hooks_of_the_repository_do_not_run(repository: Path, invoke: Invoke) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch '{repository}/ran'\n")
    hook.chmod(0o755)
    assert clean(invoke("diff", "git:HEAD", "forward"))
    assert not (repository / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_worktree_is_removed_after_an_interrupt(
    repository: Path, private_tmp: Path, started: Any, number: int
) -> None:
    edit(repository, "def forward(w, x):", "def forward(w, x):\n    import time; time.sleep(600)")
    git(repository, "commit", "-qam", "slow")
    command = [sys.executable, "-m", "olympus_cli", "diff", "git:HEAD", "forward"]
    process = started(command, cwd=repository, stderr=subprocess.PIPE, text=True)
    while not any(private_tmp.glob(f"{PREFIX}*/*/net.py")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert left_behind(repository) == []


# --- what cannot be compared ------------------------------------------------------------------


def test_a_target_that_was_not_built(work: Path, invoke: Invoke) -> None:
    result = invoke("diff", "forward")
    assert result.exit_code == 2
    assert "forward has not been built" in result.stderr
    assert "olympus build forward builds it" in result.stderr


@pytest.mark.parametrize(
    ("sides", "exit_code", "words"),
    [
        (("forwards", "forward"), 2, "there is no target 'forwards'"),
        (("none.mlir", "forward"), 2, "none.mlir cannot be read"),
        (("none.olympus", "forward"), 2, "cannot be read"),
        (("./empty", "forward"), 2, "is not a build's folder"),
        (("text.mlir", "forward"), 5, "text.mlir is not StableHLO"),
        (("bytes.mlirbc", "forward"), 5, "bytes.mlirbc is not StableHLO"),
        (("cut.mlirbc", "forward"), 5, "cut.mlirbc is not StableHLO"),
        (("zero.mlir", "forward"), 5, "no function"),
        (("text.olympus", "forward"), 5, "not an .olympus bundle"),
        (("text.mlir",), 2, "is one program, and two are compared"),
        (("/dev/null", "forward"), 2, "it is not a file"),
        (("forward", "forward", "--backend", "nowhere"), 2, "there is no backend"),
    ],
)
def test_what_cannot_be_compared(
    work: Path, invoke: Invoke, sides: tuple[str, ...], exit_code: int, words: str
) -> None:
    (work / "empty").mkdir()
    (work / "zero.mlir").write_bytes(b"")
    for name in ("text.mlir", "text.olympus"):
        (work / name).write_text("this is \x1b[31mnot\x1b[0m a program")
    (work / "bytes.mlirbc").write_bytes(b"\xff\xfe\x00\x01" * 100)
    if "cut.mlirbc" in sides:
        assert invoke("lower", "forward", "--format", "bytecode", "-o", "whole").exit_code == 0
        content = (work / "whole").read_bytes()
        (work / "cut.mlirbc").write_bytes(content[: len(content) // 2])
    result = invoke("diff", *sides)
    assert result.exit_code == exit_code, result.output
    assert words in result.stderr
    assert result.stdout == ""
    assert "\x1b" not in result.stderr


def test_a_file_that_is_too_large_is_not_read(work: Path, invoke: Invoke) -> None:
    with (work / "huge.mlir").open("wb") as file:
        file.truncate(2**31 + 1)  # a file with a hole: no disk is used
    result = invoke("diff", "huge.mlir", "forward")
    assert result.exit_code == 2
    assert "huge.mlir is too large for a program" in result.stderr


@pytest.mark.parametrize("name", ["program.stablehlo.mlir", "program.sources.json"])
@pytest.mark.usefixtures("built")
def test_a_build_that_was_changed_is_damaged(work: Path, invoke: Invoke, name: str) -> None:
    with (work / "build" / "forward" / name).open("a") as file:
        file.write(" ")
    result = invoke("diff", "forward")
    assert result.exit_code == 5
    assert f"build/forward/{name} is missing or has been changed" in result.stderr


@pytest.mark.usefixtures("built")
def test_a_damaged_report(work: Path, invoke: Invoke) -> None:
    (work / "build" / "forward" / "report.json").write_text("{")
    result = invoke("diff", "forward")
    assert result.exit_code == 5
    assert "report.json" in result.stderr


@pytest.mark.usefixtures("built")
def test_a_report_of_an_older_olympus_leaves_its_figures_out(work: Path, invoke: Invoke) -> None:
    (work / "build" / "forward" / "report.json").write_text('{"schema_version": 3, "x": []}')
    same = invoke("diff", "forward")
    assert (same.exit_code, same.stdout) == (0, "")
    assert "has schema 3, of an older olympus" in same.stderr
    assert "memory and time are not compared" in same.stderr
    edit(work, "y * 2.0", "(y + 1.0) * 2.0")
    result = invoke("diff", "forward", "--json")
    assert result.exit_code == 1
    found = document(result)
    assert "flops" in {each["name"] for each in found["figures"]}
    assert len(found["notes"]) == 1


@pytest.mark.usefixtures("built")
def test_a_build_without_its_map_of_lines_is_compared(work: Path, invoke: Invoke) -> None:
    old = work / "old"
    old.mkdir()
    shutil.copy(work / "build/forward/program.stablehlo.mlir", old)
    edit(work, "np.tanh", "np.sin")
    result = invoke("diff", "./old", "forward")
    assert result.exit_code == 1
    assert (
        "    - old/program.stablehlo.mlir:4  %1 = stablehlo.tanh %0 : tensor<8x4xf32>"
        in result.stdout
    )


def test_names_of_a_program_are_shown_and_not_obeyed(work: Path, invoke: Invoke) -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32> {{jax.result_info = "a\\1B[31m<b>"}}) {{
      %0 = stablehlo.{} %x : tensor<2xf32> loc("m\\1B[2J<i>.py":3:1)
      return %0 : tensor<2xf32>
    }}"""
    (work / "a.mlir").write_text(text.format("tanh"))
    (work / "b.mlir").write_text(text.format("sine").replace("<b>", "<em>"))
    result = invoke("diff", "a.mlir", "b.mlir", "--html", "page.html")
    assert result.exit_code == 1
    assert "m\\u001b[2J<i>.py:3" in result.stdout
    page = (work / "page.html").read_text()
    assert "&lt;i&gt;.py:3" in page
    for shown in (result.stdout, result.stderr, page):
        assert "\x1b" not in shown
    assert "<i>" not in page and "<em>" not in page


def test_a_target_comes_before_a_file_of_its_name(work: Path, invoke: Invoke) -> None:
    (work / "forward").write_text("not a program")
    (work / "loop").mkdir()
    assert clean(invoke("diff", "forward", "forward", "--backend", "cpu"))
    build(invoke, "loop")
    assert clean(invoke("diff", "loop"))
    assert invoke("diff", "./forward", "loop").exit_code == 5


def test_an_entry_takes_the_shapes_of_the_target_beside_it(work: Path, invoke: Invoke) -> None:
    assert clean(invoke("diff", "forward", "net.py:forward"))
    assert clean(invoke("diff", "net:forward", "forward"))
    other = invoke("diff", "net:forward", "loop")
    assert other.exit_code == 2  # one array for two arguments
    edit(work, "def loop(x):", "def other(w, x):\n    return np.sin(x @ w)\n\n\ndef loop(x):")
    result = invoke("diff", "forward", "net:other")
    assert "changed  tanh -> sine" in result.stdout
    without = invoke("diff", "net:forward", "net:other")
    assert without.exit_code == 2


def test_a_program_that_is_nested_without_end_is_refused(work: Path, invoke: Invoke) -> None:
    head, tail = '"stablehlo.case"(%i) ({', "}) : (tensor<i32>) -> ()"
    for depth in (150, 20_000):
        text = f"{head * depth} stablehlo.return {tail + ' stablehlo.return ' + tail}"
        body = head * depth + " stablehlo.return " + (tail + " stablehlo.return ") * depth
        text = (
            f"func.func @main(%i: tensor<i32>) {{ {body.removesuffix('stablehlo.return ')}return }}"
        )
        (work / "deep.mlir").write_text(text)
        result = invoke("diff", "deep.mlir", "forward")
        assert result.exit_code == 5, result.output
        assert len(result.stderr.splitlines()) <= 3


@pytest.mark.usefixtures("built")
def test_a_bundle_is_compared_without_its_native_code(work: Path, invoke: Invoke) -> None:
    bundle = "build/forward/forward.olympus"
    wrong = invoke("diff", bundle, "forward", "--backend", "gpu")
    assert wrong.exit_code == 2
    assert "has no program for gpu, only for cpu" in wrong.stderr
    build_wrong = invoke("diff", "build/forward", "forward", "--backend", "gpu")
    assert build_wrong.exit_code == 2
    assert "is not built for gpu, only for cpu" in build_wrong.stderr
