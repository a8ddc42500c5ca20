"""The output of `olympus history`: text, JSON, plots and pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from olympus.analysis import graph_of, read_module, structural_fingerprint
from olympus_cli.history.store import append, read_points, read_programs
from olympus_cli.text.metrics import UNITS
from tests.cli.conftest import Invoke
from tests.cli.history.runs import PROGRAM, commit, document, flops, history, run, steady


def test_the_latest_figures_and_earlier_ones_are_shown(work: Path, invoke: Invoke) -> None:
    append(
        history(work),
        [
            (run(1), [flops(100), steady(1.0)]),
            (run(2, host="another"), [flops(100), steady(9.0)]),
            (run(3), [flops(120), steady(1.1)]),
        ],
    )
    counted, measured = document(invoke)["figures"]
    assert (counted["value"], counted["before"], counted["ratio"]) == (120, 100, 1.2)
    assert counted["run_before"]["commit"] == f"{2:040x}"
    assert (measured["value"], measured["before"]) == (1.1, 1.0)
    assert measured["run"]["commit"] == f"{3:040x}"
    lines = invoke("history", "f").stdout.splitlines()
    assert lines[0].split()[:4] == ["target", "backend", "metric", "figure"]
    assert lines[1].split()[:8] == ["f", "cpu", "flops", "120", "FLOP", "100", "FLOP", "+20.0%"]


def test_figures_of_builds_are_shown_if_requested(work: Path, invoke: Invoke) -> None:
    figures = [flops(100), flops(2, metric="build-time", unit="s", count=1)]
    append(history(work), [(run(1), figures)])
    report = document(invoke)
    assert [figure["metric"] for figure in report["figures"]] == ["flops"]
    assert report["left_out"] == 1
    result = invoke("history")
    assert "build-time" not in result.stdout
    assert "left out: 1 figure of builds; --all shows all" in result.output
    report = document(invoke, "--all")
    assert [figure["metric"] for figure in report["figures"]] == ["build-time", "flops"]
    assert report["left_out"] == 0
    assert "left out" not in invoke("history", "--all").output
    assert "build-time of f" in invoke("history", "--metric", "build-time").stdout


def test_runs_are_in_the_order_of_commits(work: Path, invoke: Invoke) -> None:
    late = replace(run(1), time="2026-03-01T00:00:00.000000Z")
    append(history(work), [(run(2), [flops(2)]), (late, [flops(1)]), (run(3), [flops(3)])])
    (line,) = document(invoke, "--metric", "flops")["series"]
    assert [point["value"] for point in line["points"]] == [1, 2, 3]


def test_measured_figures_of_different_machines_are_separate(work: Path, invoke: Invoke) -> None:
    runs = [(run(day, host="a b"[2 * (day % 2)]), [steady(day), flops(7)]) for day in range(1, 7)]
    append(history(work), runs)
    series = document(invoke, "--metric", "steady-call", "--metric", "flops")["series"]
    assert [(line["metric"], line["host"], len(line["points"])) for line in series] == [
        ("flops", None, 6),
        ("steady-call", "a", 3),
        ("steady-call", "b", 3),
    ]


def test_a_change_of_level_is_shown_once_with_its_commit(work: Path, invoke: Invoke) -> None:
    levels = 1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.3, 1.31, 1.29, 1.3, 1.3, 1.32
    append(history(work), [(run(day), [steady(level)]) for day, level in enumerate(levels, 1)])
    (line,) = document(invoke, "--metric", "steady-call")["series"]
    (change,) = line["changes"]
    assert change["run"]["commit"] == f"{9:040x}"
    assert change["ratio"] == pytest.approx(1.3, rel=0.02)
    assert change["probability"] < 0.01
    assert change["program"] == "unknown"
    shown = invoke("history", "--metric", "steady-call").stdout
    assert "1: +30.0%" in shown
    assert "1  00000000  1.00 s -> 1.30 s  (+30.0%, p = " in shown
    assert "whether the program changed is not known" in shown


def test_changes_of_the_program_are_shown_with_their_lines(work: Path, invoke: Invoke) -> None:
    invoke("check")
    first = read_points(history(work))[0].figure.program
    (work / "m.py").write_text(PROGRAM.replace("np.tanh(x) * 2.0", "np.sin(x) * 2.0 + x"))
    commit(work, 2)
    invoke("check")
    (line,) = document(invoke, "--metric", "flops")["series"]
    assert [point["run"]["dirty"] for point in line["points"]] == [False, False]
    (change,) = line["changes"]
    assert change["program"] == "changed"
    assert change["run"]["commit_time"] == "2026-01-02T12:00:00.000000Z"
    changes = change["difference"]["changes"]
    assert {change["kind"] for change in changes} == {"added", "changed"}
    assert {change["after"]["text"] for change in changes} == {"return np.sin(x) * 2.0 + x"}
    shown = invoke("history", "f", "--metric", "flops").stdout
    assert "the program changed: 1 operation changed, 1 operation added" in shown
    assert "tanh -> sine" in shown
    assert "- m.py:5  return np.tanh(x) * 2.0" in shown
    # a program with only its structure is found among the stored programs
    stored = read_programs(history(work), [first or ""])[first or ""]
    name = structural_fingerprint(graph_of(read_module(stored.stablehlo, "it")))
    append(
        history(work),
        [
            (run(11), [flops(1, metric="m", program=None, fingerprint=name)]),
            (run(12), [flops(2, metric="m", program=None, fingerprint="0" * 64)]),
            (run(13), [flops(3, metric="m", program=None, fingerprint="0" * 64)]),
        ],
    )
    (line,) = document(invoke, "--metric", "m")["series"]
    assert [change["program"] for change in line["changes"]] == ["changed", "same"]
    assert line["changes"][0]["difference"] is None
    shown = invoke("history", "--metric", "m").stdout
    assert "what in it is not known, as it is not stored" in shown
    assert "the program is the same" in shown


def test_different_versions_are_shown(work: Path, invoke: Invoke) -> None:
    first = run(1, versions={"jaxlib": "1"})
    second = run(2, versions={"jaxlib": "2", "python": "3"})
    append(history(work), [(first, [flops(1)]), (second, [flops(2)])])
    shown = invoke("history", "--metric", "flops").stdout
    assert "   jaxlib: 1 -> 2\n   python: none -> 3" in shown


def test_a_change_is_relative_to_the_previous_run_even_if_hidden(
    work: Path, invoke: Invoke
) -> None:
    """The first run shown has another program than the run before, which has that of the last."""
    first, second = "a" * 64, "b" * 64
    figures = [flops(1, program=first), flops(2, program=second), flops(2, program=second)]
    append(history(work), [(run(day), [figure]) for day, figure in enumerate(figures, 1)])
    for options in (["--since", "2026-01-02T00:00Z"], ["--limit", "2"], []):
        (line,) = document(invoke, "--metric", "flops", *options)["series"]
        (change,) = line["changes"]
        assert (change["before"], change["after"], change["program"]) == (1, 2, "changed")


def test_since_and_limit(work: Path, invoke: Invoke) -> None:
    append(history(work), [(run(day), [flops(day)]) for day in range(1, 11)])

    def values(*options: str) -> list[int]:
        (line,) = document(invoke, "--metric", "flops", *options)["series"]
        assert all(0 <= change["index"] < len(line["points"]) for change in line["changes"])
        return [point["value"] for point in line["points"]]

    assert values("--since", "2026-01-08T00:00Z") == [8, 9, 10]
    assert values("--limit", "2") == [9, 10]
    for day in (5, 6, 7):
        commit(work, day)
    assert values("--since", "HEAD~1") == [6, 7, 8, 9, 10]
    assert document(invoke, "--since", "2027-01-01")["figures"] == []
    assert (
        invoke("history", "--since", "2027-01-01").stderr
        == "note: the history has no such figures\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "flop"], "the history has no metric 'flop'\nhint: did you mean flops?"),
        (["g"], "the history has no target 'g'\nhint: it has f"),
        (["--since", "perhaps"], "--since perhaps: it is not a date, and git has no such revision"),
        (["--since", "--all"], "--since --all: it is not a date, and git has no such revision"),
        (
            ["--plot", "a.svg"],
            "--plot FILE.svg needs --metric M, the metric to draw",
        ),
        (["--plot", "a.png", "--metric", "flops"], "the name must end in .svg or .html"),
        (["--plot", "a.svg", "--metric", "flops", "--metric", "m"], "an SVG has one plot"),
        (["--format", "csv"], "--format needs --export FILE"),
        (["--export", "a", "--import", "b"], "--export cannot be combined with --import"),
        (["--export", "a.csv", "--plot", "a.svg"], "--plot cannot be combined with --export"),
        (["--export", "a.txt"], "is not that of a format"),
        (["f", "--import", "a"], "--import adds all figures of a file"),
        (["--import", "nowhere"], "nowhere cannot be read"),
        (["--limit", "0"], "must be at least 1"),
        (["--all", "--metric", "flops"], "--all cannot be combined with --metric"),
        (["--all", "--export", "a.csv"], "--all cannot be combined with --metric"),
    ],
)
def test_a_mistake_is_one_message(
    work: Path, invoke: Invoke, options: list[str], words: str
) -> None:
    append(history(work), [(run(1), [flops(1), flops(2, metric="m")])])
    result = invoke("history", *options)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stderr.count("error:") == 1
    assert not (work / "a.svg").exists()


def test_plots_are_written_to_files(work: Path, invoke: Invoke) -> None:
    hostile = "<script>alert(1)</script>"
    figures = [[flops(day // 3, target=hostile), steady(day)] for day in range(1, 7)]
    append(history(work), [(run(day), values) for day, values in enumerate(figures, 1)])
    assert invoke("history", "--metric", "steady-call", "--plot", "a.svg").exit_code == 0
    assert (work / "a.svg").read_text().count("<circle") == 6
    options = ("--metric", "steady-call", "--metric", "flops", "--plot", "a.html")
    assert invoke("history", *options).exit_code == 0
    page = (work / "a.html").read_text()
    assert page.count("<svg") == 2
    assert page.count("<script") == 1 and "<script>alert" not in page
    assert "default-src 'none'" in page
    assert "+100.0%" in page


def test_export_and_import_of_the_whole_history(work: Path, invoke: Invoke) -> None:
    runs = [(run(day), [flops(day), steady(0.1 * day)]) for day in range(1, 4)]
    append(history(work), runs)
    assert document(invoke, "--export", "a.csv") == {
        "exported": str(work / "a.csv"), "format": "csv", "figures": 6,
    }  # fmt: skip
    assert document(invoke, "--import", "a.csv")["new_figures"] == 0
    points = read_points(history(work))
    history(work).unlink()
    assert document(invoke, "--import", "a.csv")["new_runs"] == 3
    assert read_points(history(work)) == points
    assert document(invoke, "f", "--metric", "flops", "--export", "b.csv")["figures"] == 3
    result = invoke("history", "--import", "m.py")
    assert result.exit_code == 5
    assert "m.py cannot be imported: it has no column 'time'" in result.stderr


def test_the_document_has_every_number_of_the_text(work: Path, invoke: Invoke) -> None:
    append(history(work), [(run(1), [steady(1.5)]), (run(2), [steady(2.5)])])
    (line,) = document(invoke, "--metric", "steady-call")["series"]
    point = line["points"][1]
    assert (point["value"], point["low"], point["high"], point["count"]) == (2.5, 2.25, 2.75, 20)
    row = invoke("history", "--metric", "steady-call").stdout.splitlines()[3]
    assert row.split() == [
        "00000000", "2026-01-02", "12:00", "bench", "2.50", "s", "2.25", "s", "..", "2.75", "s",
        "20",
    ]  # fmt: skip


def test_a_run_without_a_commit(work: Path, invoke: Invoke) -> None:
    first = run(1, commit=None, commit_time=None)
    append(history(work), [(first, [flops(1)]), (run(2), [flops(1)])])
    rows = invoke("history", "--metric", "flops").stdout.splitlines()[2:4]
    assert [row.split()[:2] for row in rows] == [["-", "2026-01-01"], ["00000000", "2026-01-02"]]
    append(history(work), [(run(3, commit=None, commit_time=None), [flops(1)])])
    (row,) = invoke("history").stdout.splitlines()[1:2]
    assert row.split()[-3:] == ["-", "2026-01-03", "12:00"]


@pytest.mark.parametrize("form", ["github", "markdown"])
def test_a_line_without_a_change_has_no_note(work: Path, invoke: Invoke, form: str) -> None:
    append(history(work), [(run(1), [flops(1), steady(1.0)]), (run(2), [flops(2), steady(1.0)])])
    options = ("--metric", "flops", "--metric", "steady-call")
    result = invoke("history", *options, "--output", form)
    assert result.exit_code == 0
    word = "::notice title=olympus history::" if form == "github" else "- note: "
    notes = [line for line in result.stdout.splitlines() if line.startswith(word)]
    assert len(notes) == 1
    assert notes[0].removeprefix(word).startswith("1  00000000  1 FLOP -")
    assert "note: \n" not in result.stderr


def test_a_page_of_all_figures(work: Path, invoke: Invoke) -> None:
    figures = [steady(1.0), flops(2, metric="build-time", unit="s", count=1)]
    append(history(work), [(run(day), [flops(day), *figures]) for day in (1, 2)])
    result = invoke("history", "--plot", "a.html")
    assert (result.exit_code, "wrote a.html" in result.stderr) == (0, True)
    assert "steady-call" in result.stdout
    page = (work / "a.html").read_text()
    assert (page.count("<section"), "build-time" in page) == (2, False)
    assert "1 FLOP -&gt; 2 FLOP" in page
    assert invoke("history", "--all", "--plot", "a.html").exit_code == 0
    assert (work / "a.html").read_text().count("<section") == 3


def test_rates_are_shown_as_bench_shows_them(work: Path, invoke: Invoke) -> None:
    rates = [flops(2400, metric=name, unit=UNITS[name]) for name in ("throughput", "byte-rate")]
    append(history(work), [(run(1), rates)])
    shown = invoke("history", "--metric", "throughput", "--metric", "byte-rate").stdout
    assert "2.40 kcalls/s" in shown
    assert "2.40 kB/s" in shown
