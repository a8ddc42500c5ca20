"""Stored baselines: files, their names, and baselines that are refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from olympus.errors import ArtifactError, UsageError
from olympus_cli.bench.baselines import (
    baseline_path,
    check_comparable,
    check_host,
    differences,
    read_baseline,
    stored_path,
    write_baseline,
)
from olympus_cli.bench.compare.comparing import compare
from olympus_cli.bench.show import compared_notes
from olympus_cli.spec.bench import BenchSpec
from tests.cli.bench.measurements import MACHINE, measured, target
from tests.cli.conftest import Invoke


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = baseline_path(tmp_path, "main")
    rounds = [measured(), measured(factor=1.1, compile=0.25)]
    write_baseline(path, {"f": rounds})
    assert read_baseline(path).of("f") == tuple(rounds)
    write_baseline(path, {"g": [measured("g")]})
    read = read_baseline(path)
    assert read.of("f") == tuple(rounds), "other targets are not removed"
    assert read.of("g") == (measured("g"),)
    with pytest.raises(UsageError, match="does not have target 'h'") as caught:
        read.of("h")
    assert caught.value.hint == "it has f, g"


def test_a_missing_baseline_is_an_error(tmp_path: Path) -> None:
    write_baseline(baseline_path(tmp_path, "main"), {"f": [measured()]})
    with pytest.raises(UsageError, match="does not exist") as caught:
        read_baseline(baseline_path(tmp_path, "mian"))
    assert caught.value.hint == "did you mean main?"
    with pytest.raises(UsageError) as caught:
        read_baseline(tmp_path / "none" / "x.json")
    assert caught.value.hint == "olympus bench --save-baseline NAME saves one"


def test_a_missing_file_with_the_name_of_a_baseline_has_a_hint(tmp_path: Path) -> None:
    saved = baseline_path(tmp_path, "main")
    write_baseline(saved, {"f": [measured()]})
    assert stored_path(tmp_path, "main") == stored_path(tmp_path, str(saved)) == saved
    for text, hint in (("main.json", "--baseline main is "), ("mian.json", "did you mean main?")):
        with pytest.raises(UsageError, match="does not exist") as caught:
            stored_path(tmp_path, text)
        assert caught.value.hint is not None and caught.value.hint.startswith(hint)
    with pytest.raises(UsageError) as caught:
        stored_path(tmp_path / "none", "main.json")
    assert caught.value.hint == "olympus bench --save-baseline NAME saves one"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "10%"], "--threshold needs --baseline"),
        (["--threshold", "5", "--baseline", "main"], "must be a percentage above 0"),
        (["--rounds", "101"], "must be at most 100; got 101"),
        (["--rounds", "0"], "must be at least 1"),
        (["--save-baseline", "zz", "--rounds", "1"], "needs at least 3 rounds; got --rounds 1"),
        (["--save-baseline", "zz", "--rounds", "2"], "write --rounds 3 or more; the default is 5"),
        (["--precision", "0%"], "must be above 0"),
        (["--precision", "much%"], "must be a number"),
        (
            ["--baseline", "main", "--threshold", "0.1"],
            "baseline baselines/main.json does not exist",
        ),
        (["--baseline", "main.json", "--precision", "5%"], "baseline main.json does not exist"),
    ],
)
def test_a_wrong_option_is_an_error_before_measuring(
    work: Path, invoke: Invoke, options: list[str], message: str
) -> None:
    result = invoke("bench", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a\nb", "x" * 101, "ä"])
def test_the_name_of_a_baseline_must_be_a_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a baseline"):
        baseline_path(tmp_path, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema_version=3), "of a newer olympus"),
        (lambda d: d.pop("schema_version"), "has no schema version"),
        (lambda d: d.pop("targets"), "lacks the key 'targets'"),
        (lambda d: d.update(other=1), "has the unknown key 'other'"),
        (lambda d: d.update(targets=[]), "targets is not an object"),
        (lambda d: d["targets"].update(f=[]), "targets.f is not an array of rounds"),
        (lambda d: d["targets"].update(f=[3]), r"targets.f\[0\]: the document is not an object"),
        (lambda d: d["targets"].update(g=d["targets"]["f"]), r"targets.g\[0\] has target 'f'"),
        (lambda d: metric(d).update(samples=[]), "has no sample"),
        (lambda d: metric(d).update(samples=[-1.0]), "out of range"),
        (lambda d: metric(d).update(samples=["1"]), "is not a number"),
        (lambda d: metric(d).update(better="sideways"), "is not one of lower, higher, neither"),
    ],
)
def test_a_damaged_baseline_is_an_error(
    tmp_path: Path, change: Callable[[dict], object], message: str
) -> None:
    path = baseline_path(tmp_path, "main")
    write_baseline(path, {"f": [measured()]})
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(ArtifactError, match=message):
        read_baseline(path)
    content = path.read_text()
    with pytest.raises(ArtifactError):
        write_baseline(path, {"h": [measured("h")]})
    assert path.read_text() == content, "an unreadable file is not overwritten"


def test_concurrent_writers_lose_no_target(tmp_path: Path) -> None:
    path = baseline_path(tmp_path, "main")
    names = [f"f{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:  # opens the folder again, as another process does
        list(pool.map(lambda name: write_baseline(path, {name: [measured(name)]}), names))
    assert sorted(read_baseline(path).targets) == sorted(names)
    assert [entry.name for entry in path.parent.iterdir()] == ["main.json"]


def metric(data: dict) -> dict:
    return data["targets"]["f"][0]["metrics"]["steady-call"]


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "link"):
        with pytest.raises(ArtifactError, match="cannot be read"):
            read_baseline(tmp_path / f"{name}.json")


def test_figures_of_another_machine_or_backend_are_an_error() -> None:
    ours, theirs = measured(), replace(measured(), machine={**MACHINE, "cpu": "another"})
    words = f"cpu was another and is {re.escape(MACHINE['cpu'])}"
    with pytest.raises(UsageError, match=words) as caught:
        check_comparable(ours, [measured(), theirs], "main")
    assert caught.value.hint is not None and "git:REV" in caught.value.hint
    with pytest.raises(UsageError, match="on gpu:h200, and it is measured on cpu"):
        check_comparable(ours, [replace(measured(), backend="gpu:h200")], "main")
    theirs = replace(measured(), machine={**MACHINE, "device": "another"})
    with pytest.raises(UsageError, match="device was another and is cpu"):
        check_comparable(ours, [theirs], "main")
    check_host(
        "f", [measured(), theirs], "main", {"cpu"}
    )  # the device is unknown before a measurement


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"machine": {**MACHINE, "threads": "999"}},
            "was measured on another machine and cannot be compared",
        ),
        ({"machine": {**MACHINE, "os": "amiga"}}, "os was amiga and is"),
        ({"backend": "gpu:h200"}, "has target 'f' on gpu:h200, and it is measured on cpu"),
    ],
)
def test_figures_that_cannot_be_compared_are_an_error_before_measuring(
    work: Path,
    invoke: Invoke,
    no_measuring: list[str],
    change: dict[str, object],
    message: str,
) -> None:
    (work / "olympus.toml").write_text(target("g", "forward") + target("f", "forward"))
    theirs = replace(measured(), **change)  # type: ignore[arg-type]
    write_baseline(baseline_path(work, "main"), {"f": [theirs], "g": [measured("g")]})
    result = invoke("bench", "--baseline", "main")
    assert (result.exit_code, result.stdout, no_measuring) == (2, "", [])
    assert message in result.stderr


def test_different_versions_and_programs_are_notes() -> None:
    theirs = replace(measured(), versions={"olympus": "0"}, fingerprint="def")
    versions, program = differences(measured(), theirs)
    assert versions == "the two sides have different versions: olympus was 0 and is 1"
    assert "olympus diff" in program
    assert differences(measured(), measured()) == []


@pytest.mark.parametrize("fingerprint", [None, ""])
def test_a_side_without_a_fingerprint_has_a_note(fingerprint: str | None) -> None:
    (note,) = differences(measured(), replace(measured(), fingerprint=fingerprint))
    assert "the other side has no fingerprint" in note


def test_a_baseline_without_gates_is_an_error_before_measuring(work: Path, invoke: Invoke) -> None:
    metrics = {"compile": measured(compile=0.1).metrics["compile"]}
    write_baseline(baseline_path(work, "main"), {"f": [replace(measured(), metrics=metrics)] * 3})
    result = invoke("bench", "f", "--baseline", "main")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot judge target 'f': it needs steady-call or steady-cpu, and has compile" in (
        result.stderr
    )
    assert "olympus bench f --save-baseline NAME measures them" in result.stderr


def test_a_gate_that_a_baseline_lacks_is_inconclusive() -> None:
    cpu = {"steady-cpu": measured().metrics["steady-call"]}
    ours = [replace(round_, metrics={**round_.metrics, **cpu}) for round_ in (measured(),) * 3]
    comparison = compare(
        "main",
        lambda rounds: (ours[:rounds], [measured()] * rounds),
        paired=False,
        spec=BenchSpec(),
        gates=2,
        rounds=3,
    )
    (lacking,) = (judged for judged in comparison.judged if judged.metric == "steady-cpu")
    assert (lacking.verdict.word, lacking.gate) == ("inconclusive", True)
    assert lacking.verdict.reason == "not measured on main"
    assert "steady-cpu is inconclusive: not measured on main" in [*compared_notes(comparison)]


def test_a_baseline_that_cannot_be_saved_is_an_error_before_measuring(
    work: Path, invoke: Invoke, no_measuring: list[str]
) -> None:
    (work / "baselines").write_text("")
    result = invoke("bench", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (2, [])
    assert "baselines/main.json cannot be written" in result.stderr
    (work / "baselines").unlink()
    (work / "baselines").mkdir()
    (work / "baselines" / "main.json").write_text("{}")
    result = invoke("bench", "--save-baseline", "main")
    assert (result.exit_code, no_measuring) == (5, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("main", "baseline baselines/main.json does not exist"),
        ("x.json", "baseline x.json does not exist"),
        ("a/b", "cannot be the name of a baseline"),
        ("git:", "names no revision"),
    ],
)
def test_a_wrong_baseline_is_an_error_before_measuring(
    work: Path, invoke: Invoke, text: str, message: str
) -> None:
    result = invoke("bench", "--baseline", text)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('threshold = "5"', "must be a percentage above 0, or a number between 0 and 1"),
        ("threshold = 5", "must be a percentage above 0"),
        ("threshold = true", "must be a percentage above 0"),
        ('threshold = "0%"', "must be a percentage above 0"),
        ("threshold = nan", "must be a percentage above 0"),
        ('metrics = ["steady"]', "has 'steady', which is not a metric that can fail"),
        ("metrics = 3", "must be an array of strings"),
        ("percent = 3", "has no key 'percent'"),
    ],
)
@pytest.mark.parametrize("table", ["bench", "target.f.bench"])
def test_a_wrong_table_is_an_error(
    work: Path, invoke: Invoke, lines: str, message: str, table: str
) -> None:
    (work / "olympus.toml").write_text(f"{target('f', 'forward')}[{table}]\n{lines}\n")
    result = invoke("bench")
    assert result.exit_code == 2
    assert message in result.stderr
    assert f"olympus.toml:{5}" in result.stderr


def test_a_wrong_threshold_option_is_an_error(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "--threshold", "5", "--baseline", "main")
    assert result.exit_code == 2
    assert "must be a percentage above 0" in result.stderr
