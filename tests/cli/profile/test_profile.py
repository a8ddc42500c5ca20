"""`olympus profile`: measured time by line, the page with the flame graph, the trace file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import Result

from olympus.analysis import Estimate, KernelProfile, Profile, Span
from olympus_cli.profile.page import render_profile, time_frames
from olympus_cli.profile.profiled import ProfiledProgram
from olympus_cli.profile.table import notes
from olympus_cli.profile.trace import trace_events
from olympus_cli.reports.flame import drawn

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as np


def dense(x, w):
    with olympus.named_scope("dense"):
        return np.tanh(x @ w)


def loss(w, x):
    return dense(x, w).sum()


def step(w, x):
    return w - olympus.grad(loss)(w, x)


def keyword(*, runs):
    return runs + 1


def fails(x):
    raise ValueError("odd")
"""
SHAPES = "f32[384,384], f32[384,384]"


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    return folder


def profile(invoke: Invoke, *words: str) -> dict[str, Any]:
    result = invoke("profile", "program:step", "--shapes", SHAPES, "--runs", "2", *words, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_the_line_of_the_products_has_the_most_time(work: Path, invoke: Invoke) -> None:
    document = profile(invoke)
    rows = [row for row in document["rows"] if row["kernels"]]
    assert rows[0]["key"] == "program.py:7"
    assert rows[0]["direction"] == "both"
    assert rows[0]["estimated_seconds"] > 0
    assert document["runs"] == 2
    assert 0 < document["coverage"] <= 1
    assert document["kernel_seconds"] <= document["seconds"]
    assert [kernel["name"] for kernel in document["kernels"][-2:]] == [
        "(call)",
        "(between kernels)",
    ]
    assert {"dense"} <= {kernel["scope"] for kernel in document["kernels"]}


def test_the_table_has_bars_and_the_source(work: Path, invoke: Invoke) -> None:
    words = ("profile", "program:step", "--shapes", SHAPES, "--runs", "2")
    text = invoke(*words).stdout
    assert "program:step, cpu" in text
    assert "median of 2 calls" in text
    assert "█" in text
    assert "return np.tanh(x @ w)" in text
    short = invoke(*words, "--by", "kernel", "--rows", "1").stdout
    assert "more, " in short
    assert "(--rows " in short


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_the_trace_is_in_the_format_of_perfetto(work: Path, invoke: Invoke, name: str) -> None:
    report = profile(invoke, "--trace", name)
    assert report["trace"] == name
    content = Path(name).read_bytes()
    assert content.startswith(b"\x1f\x8b") == name.endswith(".gz")
    document = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    events = document["traceEvents"]
    named = {event["name"]: event for event in events if event["ph"] == "M"}
    assert named["process_name"]["args"]["name"] == "step"
    threads = {
        event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"
    }
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) + len([event for event in events if event["ph"] == "M"]) == len(events)
    for event in spans:
        assert event.keys() == {"ph", "pid", "tid", "name", "cat", "ts", "dur", "args"}
        assert event["pid"] == named["process_name"]["pid"]
        assert event["tid"] in threads
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert event["tid"] > 0
    assert [event["ts"] for event in spans] == sorted(event["ts"] for event in spans)
    for thread in threads:
        assert are_nested([event for event in spans if event["tid"] == thread])
    kernels = [event for event in spans if event["cat"] == "kernel"]
    assert {event["name"] for event in kernels} <= {kernel["name"] for kernel in report["kernels"]}
    assert {"program.py:7"} <= {event["args"]["line"] for event in kernels}
    assert any(event["args"]["pass"] == "backward" for event in kernels)


def are_nested(events: list[dict[str, Any]]) -> bool:
    """Return True if each event of a thread is within the open events of the thread.

    Perfetto drops an event that goes beyond the one that it began in.  Times are nanoseconds here.
    """
    ends: list[int] = []
    for event in events:
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and end > ends[-1]:
            return False
        ends.append(end)
    return True


def test_rounded_events_are_nested() -> None:
    """The inner span's start and length are both rounded up, and the outer's length down."""
    spans = (Span(0, "outer", 0.0, 10.4e-9, ""), Span(0, "inner", 0.6e-9, 9.6e-9, ""))
    assert spans[1].start + spans[1].seconds < spans[0].seconds
    timed = SimpleNamespace(kernels=(), threads=("main",), timeline=spans[::-1])
    events = trace_events(cast(Profile, timed), "step")
    assert [event["name"] for event in events if event["ph"] == "X"] == ["outer", "inner"]
    assert are_nested([event for event in events if event["ph"] == "X"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--trace", "t.txt"), "--trace t.txt: the name must end in .json or .json.gz"),
        (("--trace", "t.gz"), "--trace t.gz: the name must end in .json"),
        (("--html", "t.json", "--trace", "./t.json"), "would both be written to t.json"),
    ],
)
def test_files_that_cannot_be_written_are_an_error_before_the_run(
    work: Path, invoke: Invoke, words: tuple[str, ...], message: str
) -> None:
    result = invoke("profile", "program:step", "--shapes", SHAPES, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not list(work.glob("t.*"))


@pytest.mark.parametrize(("undisturbed", "has_note"), [(0.1, True), (0.6, False), (0.0, False)])
def test_a_note_reports_that_the_profiler_takes_most_of_the_time(
    undisturbed: float, has_note: bool
) -> None:
    estimate = Estimate("cpu", 0.1, (), (), ())
    profile = Profile(2, 1.0, undisturbed, 0.1, (), (), estimate, (), ())
    assert any("is the profiler's own" in note for note in notes(profile)) == has_note


def test_the_page_has_the_graph_and_loads_nothing(work: Path, invoke: Invoke) -> None:
    document = profile(invoke, "--html", "profile.html")
    assert document["page"] == "profile.html"
    page = Path("profile.html").read_text(encoding="utf-8")
    assert 'class="frame kernel' in page
    assert "<title>dense, " in page
    assert "return np.tanh(x @ w)" in page
    assert page.count("<script") == 1  # its own script, whose digest is in the policy
    assert "http" not in page.replace("http-equiv", "")


def test_the_report_has_the_graph_if_requested(work: Path, invoke: Invoke) -> None:
    words = ("report", "program:step", "--shapes", SHAPES, "-o", "report.html")
    assert invoke(*words).exit_code == 0
    assert 'class="frame kernel' not in Path("report.html").read_text(encoding="utf-8")
    assert invoke(*words, "--profile").exit_code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<h2>Time, measured</h2>" in page
    assert "median of 10 calls" in page
    assert 'class="frame kernel' in page
    assert "<title>dense, " in page
    refused = invoke(*words, "--profile", "--device", "h200")
    assert refused.exit_code == 6
    assert "only programs for the CPU can be profiled" in refused.stderr


def test_a_bundle_is_profiled(work: Path, invoke: Invoke) -> None:
    words = ("program:dense", "--shapes", "f32[64,64], f32[64,64]", "-o", "out")
    assert invoke("compile", *words).exit_code == 0
    result = invoke("profile", "out/dense.olympus", "--runs", "1", "--by", "op", "--json")
    assert result.exit_code == 0, result.output
    assert "dot_general" in {row["key"] for row in json.loads(result.stdout)["rows"]}


def test_an_argument_may_have_the_name_runs(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(
        '[target.keyword]\nentry = "program:keyword"\nargs = { runs = "f32[4]" }\n'
    )
    assert invoke("profile", "keyword", "--runs", "1").exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("program:fails", "--shapes", "f32[2]"), 3, "odd"),
        (
            ("program:dense", "--shapes", "f32[2,2], f32[2,2]", "--device", "h200"),
            6,
            "only programs for the CPU",
        ),
        (("program:dense", "--shapes", "f32[2,2], f32[2,2]", "--runs", "0"), 2, "at least 1"),
        (("program:dense", "--shapes", "f32[2,2], f32[2,2]", "--by", "dtype"), 2, "dtype"),
        (("program:dense", "--shapes", "f32[2,2], f32[2,2]", "--html", "no/x.html"), 2, "written"),
        (("missing.olympus",), 2, "missing.olympus"),
    ],
)
def test_mistakes_have_a_message(
    work: Path, invoke: Invoke, words: tuple[str, ...], code: int, message: str
) -> None:
    result = invoke("profile", *words)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def kernel(name: str, seconds: float, **figures: Any) -> KernelProfile:
    plain: dict[str, Any] = {
        "operation": "dot",
        "line": "model.py:1",
        "scope": "",
        "backward": False,
        "calls": 1,
        "estimated": None,
        "bound": None,
        "of_seconds": 10 * seconds,
    }
    return KernelProfile(name=name, seconds=seconds, **{**plain, **figures})


def test_frames_are_above_their_callers() -> None:
    frames = drawn(
        time_frames(
            [
                kernel("a", 3.0, scope="outer/inner", backward=True, estimated=1.0),
                kernel("b", 4.0, scope="outer", line="model.py:2", estimated=2.0),
                kernel("c", 2.0, line=None),
                kernel("(call)", 1.0),
                kernel("tiny", 1e-9),
            ]
        )
    )
    names = [(shown.frame.name, shown.depth) for shown in frames]
    assert names == [
        *(("one call", 0), ("outer", 1), ("model.py:2", 2), ("b", 3), ("inner", 2)),
        *(("model.py:1", 3), ("a", 4), ("(unknown)", 1), ("c", 2), ("(call)", 1)),
    ]
    assert [round(shown.left) for shown in frames] == [0, 0, 0, 0, 40, 40, 40, 70, 70, 90]
    assert [round(shown.width) for shown in frames] == [100, 70, 40, 40, 30, 30, 30, 20, 20, 10]
    by_name = {shown.frame.name: shown for shown in frames}
    assert by_name["inner"].direction == "backward"
    assert by_name["outer"].direction == "forward"
    assert by_name["(call)"].direction == ""
    assert by_name["outer"].frame.other == 3.0
    assert by_name["c"].frame.other is None


def profiled(*kernels: KernelProfile) -> ProfiledProgram:
    estimate = Estimate("cpu", 0.5, (), (), ())
    profile = Profile(1, 1.0, 1.0, 0.9, kernels, (), estimate, (), ())
    return ProfiledProgram("step", "m:step", "cpu", "line", profile)


def test_the_depth_of_a_page_is_limited() -> None:
    deep = kernel("a", 1.0, scope="/".join(["s"] * 5000))
    page = render_profile(profiled(deep), Path("/nowhere"))
    assert page.count('class="frame') < 60


def test_hostile_names_are_text() -> None:
    bad = kernel("<script>alert(1)</script>", 1.0, scope="\x1b[31m</svg><b>", line='">:1')
    page = render_profile(profiled(bad), Path("/nowhere"))
    assert page.count("<script") == 1 and "<script>alert" not in page
    assert "</svg><b>" not in page
    assert "\x1b" not in page
