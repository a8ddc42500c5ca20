"""`olympus cost`: the figures of a program, by line, without compiling it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.reports.charts.bars import bar, percent

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as np


def dense(x, w):
    y = x @ w
    return np.tanh(y)


def loss(w, x):
    return dense(x, w).sum()


def step(w, x):
    return w - olympus.grad(loss)(w, x)


def scanned(x):
    return olympus.lax.scan(lambda c, _: (c @ c, None), x, None, length=100)[0]


def search(x):
    return olympus.lax.while_loop(
        lambda c: c.sum() < 1e3,
        lambda c: c * 2.0 + 1.0,
        x,
    )
"""

DENSE = ("program:dense", "--shapes", "f32[8,16], f32[16,32]")


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    return folder


def cost(invoke: Invoke, *words: str) -> dict:
    result = invoke("cost", *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_text_has_figures_and_a_table_with_bars(work: Path, invoke: Invoke) -> None:
    result = invoke("cost", *DENSE)
    assert (result.exit_code, result.stderr) == (0, "")
    figures, table = result.stdout.split("\n\n")
    assert figures.splitlines()[0] == "dense  (program:dense, cpu)"
    assert "  flops           8.19 k, in products and convolutions 8.19 k of float32" in figures
    assert "  transcendentals 256" in figures
    head, product, tanh = table.splitlines()
    assert head.split() == ["line", "flops", "share", "bytes", "operations", "pass", "source"]
    assert product.split()[:4] == ["program.py:6", "8.19", "k", "100.0%"]
    assert product.endswith("forward  y = x @ w")
    assert "█" * 12 in product
    assert tanh.startswith("program.py:7")
    assert not (work / "build").exists()


def test_json_has_the_figures_and_the_rows(work: Path, invoke: Invoke) -> None:
    document = cost(invoke, *DENSE)
    assert document["backend"] == "cpu"
    assert document["cost"]["flops"] == 2 * 8 * 16 * 32
    assert document["cost"]["matmul_flops"] == {"float32": 2 * 8 * 16 * 32}
    assert document["cost"]["transcendentals"] == 8 * 32
    assert document["cost"]["io_bytes"] == 4 * (8 * 16 + 16 * 32 + 8 * 32)
    assert document["cost"]["unknown"] == []
    assert [row["key"] for row in document["rows"]] == ["program.py:6", "program.py:7"]
    assert document["compiled"] is None


def test_a_loop_counts_once_per_trip(work: Path, invoke: Invoke) -> None:
    document = cost(invoke, "program:scanned", "--shapes", "f32[64,64]")
    assert document["cost"]["flops"] == 100 * 2 * 64**3


@pytest.mark.parametrize(
    ("by", "key"),
    [
        *(("line", "program.py:6"), ("op", "dot_general"), ("dtype", "float32")),
        ("stack", "program.py:6"),
    ],
)
def test_rows_of_every_kind_add_up(work: Path, invoke: Invoke, by: str, key: str) -> None:
    document = cost(invoke, "program:step", "--shapes", "f32[16,32], f32[8,16]", "--by", by)
    rows = document["rows"]
    assert any(row["key"].endswith(key) for row in rows)
    for figure in ("flops", "bytes", "operations", "transcendentals"):
        assert sum(row[figure] for row in rows) == document["cost"][figure]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert sum(row["backward_flops"] for row in rows) >= 2 * 8 * 16 * 32


HELPER = """\
def product(w, x):
    return x @ w


def attention(w, x):
    q = product(w, x)
    return product(w, q)


def step(w, x):
    return attention(w, x)
"""


def test_stacks_distinguish_the_calls_of_a_helper(work: Path, invoke: Invoke) -> None:
    (work / "helper.py").write_text(HELPER)
    words = ("helper:step", "--shapes", "f32[16,16], f32[8,16]", "--by", "stack")
    document = cost(invoke, *words)
    assert (document["schema_version"], document["by"]) == (1, "stack")
    outer = [{"function": "step", "line": "helper.py:11"}]
    assert [row["frames"] for row in document["rows"]] == [
        [*outer, {"function": "attention", "line": f"helper.py:{line}"},
         {"function": "product", "line": "helper.py:2"}]
        for line in (6, 7)
    ]  # fmt: skip
    assert [row["flops"] for row in document["rows"]] == [2 * 8 * 16 * 16] * 2
    assert {row["key"] for row in document["rows"]} == {"helper.py:2"}
    shown = invoke("cost", *words).stdout.split("\n\n")[1].splitlines()
    assert [line.rstrip().partition("  ")[0].strip() for line in shown] == [
        "call",
        "step (helper.py:11)",
        "",
        "",
    ]
    assert shown[2].startswith("  attention (helper.py:6) > product (helper.py:2)  50.0%")
    assert shown[3].startswith("  attention (helper.py:7) > product (helper.py:2)  50.0%")


def test_calls_beyond_the_rows_are_counted(work: Path, invoke: Invoke) -> None:
    (work / "helper.py").write_text(HELPER)
    words = ("helper:step", "--shapes", "f32[16,16], f32[8,16]", "--by", "stack", "--rows", "1")
    shown = invoke("cost", *words).stdout.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in shown] == ["call", "step", "..."]
    assert shown[-1] == "... and 2 more (--rows 3)"


def test_costs_are_summed_by_scope(work: Path, invoke: Invoke) -> None:
    (work / "scoped.py").write_text(
        "import olympus\ndef f(x):\n    with olympus.named_scope('outer'):\n        return x @ x\n"
    )
    document = cost(invoke, "scoped:f", "--shapes", "f32[8,8]", "--by", "scope")
    assert [row["key"] for row in document["rows"]] == ["outer"]


def test_a_loop_with_unknown_trips_is_a_warning_and_takes_trips(work: Path, invoke: Invoke) -> None:
    words = ("program:search", "--shapes", "f32[8]")
    result = invoke("cost", *words)
    assert result.exit_code == 0, result.output
    assert "flops           at least " in result.stdout
    assert "warning: " in result.stderr
    assert "program.py:23" in result.stderr
    document = cost(invoke, *words)
    assert document["cost"]["flops"] is None
    assert document["cost"]["unknown"][0]["line"] == "program.py:23"
    once = document["cost"]["at_least"]["flops"]
    with_trips = cost(invoke, *words, "--trips", "program.py:23=10")
    assert with_trips["cost"]["flops"] > 5 * once
    assert with_trips["cost"]["unknown"] == with_trips["warnings"] == []


def test_trips_of_a_target_are_used(work: Path, invoke: Invoke) -> None:
    target = '[target.s]\nentry = "program:search"\nargs = ["f32[8]"]\n'
    (work / "olympus.toml").write_text(f'{target}trips = {{ "program.py:23" = 4 }}\n')
    four = cost(invoke, "s")["cost"]["flops"]
    assert cost(invoke, "s", "--trips", "program.py:23=8")["cost"]["flops"] > 1.5 * four
    report = json.loads(invoke("compile", "s", "--json").stdout)["report"]
    assert report["backends"][0]["cost"]["flops"] == four
    assert report["warnings"] == []
    (work / "olympus.toml").write_text(target)
    result = invoke("build", "s")
    assert (result.exit_code, result.stdout.split()[0]) == (0, "built")
    assert "program.py:23" in result.stderr


@pytest.mark.parametrize(
    ("trips", "message"),
    [
        ("program.py:23", "must be FILE:LINE=N"),
        ("23=4", "must be FILE:LINE=N"),
        ("program.py:23=-1", "'-1' is not a whole number of trips"),
        ("program.py:23=many", "'many' is not a whole number of trips"),
        ("program.py:99=4", "program.py:99"),
    ],
)
def test_wrong_trips_are_an_error(work: Path, invoke: Invoke, trips: str, message: str) -> None:
    result = invoke("cost", "program:search", "--shapes", "f32[8]", "--trips", trips)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_line_has_trips_once(work: Path, invoke: Invoke) -> None:
    twice = ("--trips", "program.py:23=4", "--trips", "program.py:23=8")
    result = invoke("cost", "program:search", "--shapes", "f32[8]", *twice)
    assert result.exit_code == 2
    assert "--trips: the loop at program.py:23 is given twice" in result.stderr


@pytest.mark.parametrize("trips", ['{ "program.py" = 4 }', '{ "program.py:23" = -4 }', "3"])
def test_wrong_trips_of_a_target_are_an_error(work: Path, invoke: Invoke, trips: str) -> None:
    (work / "olympus.toml").write_text(
        f'[target.s]\nentry = "program:search"\nargs = ["f32[8]"]\ntrips = {trips}\n'
    )
    result = invoke("cost", "s")
    assert result.exit_code == 2
    assert "olympus.toml" in result.stderr
    assert "trips" in result.stderr


def test_a_compiled_program_has_memory_and_an_estimate(work: Path, invoke: Invoke) -> None:
    document = cost(invoke, *DENSE, "--compile")
    memory = document["compiled"]["memory"]
    assert memory["arguments"] == 4 * (8 * 16 + 16 * 32)
    assert memory["results"] == 4 * 8 * 32
    assert memory["peak"] >= memory["arguments"] + memory["results"]
    assert document["compiled"]["estimate"]["seconds"] > 0
    result = invoke("cost", *DENSE, "--compile")
    assert "peak memory" in result.stdout
    assert "estimated time" in result.stdout
    assert not (work / "build").exists()


def test_the_roofline_of_a_device(work: Path, invoke: Invoke) -> None:
    words = ("program:dense", "--shapes", "f32[1024,1024], f32[1024,1024]", "--device", "t4")
    document = cost(invoke, *words)
    seconds = 3 * 4 * 1024**2 / 320e9
    assert document["roofline"] == {
        "device": "t4",
        "seconds": pytest.approx(max(seconds, 2 * 1024**3 / 8.1e12)),
        "bound": "compute",
    }
    result = invoke("cost", *words)
    assert "roofline        265 us at the peaks of t4, bound by compute" in result.stdout
    assert "fits" not in result.stdout
    huge = ("program:dense", "--shapes", "f32[65536,65536], f32[65536,8]", "--device", "t4")
    assert "fits            no: 16.0 GiB of arguments" in invoke("cost", *huge).stdout


def test_integer_products_use_no_time_of_floats(work: Path, invoke: Invoke) -> None:
    (work / "ints.py").write_text("def f(x, y):\n    return x @ x, y + y\n")
    words = ("ints:f", "--shapes", "i8[512,512], f32[4096,4096]", "--device", "t4")
    document = cost(invoke, *words)
    assert document["cost"]["flops"] == 4096**2
    assert document["roofline"]["seconds"] >= 4096**2 / 8.1e12


def test_an_estimate_has_its_assumptions_and_its_omissions(work: Path, invoke: Invoke) -> None:
    result = invoke("cost", "program:search", "--shapes", "f32[8]", "--compile")
    assert "estimated time  at least " in result.stdout
    assert " on cpu, an estimate" in result.stdout
    notes = result.stdout.partition("the estimate of the time\n")[2]
    assert "program.py:23" in notes
    assert "usual ones are taken" in notes
    with_trips = invoke(
        *("cost", "program:search", "--shapes", "f32[8]", "--compile"),
        *("--trips", "program.py:23=1000"),
    )
    assert "at least" not in with_trips.stdout


def test_a_warning_of_the_program_has_its_line(work: Path, invoke: Invoke) -> None:
    (work / "wide.py").write_text("def f(x):\n    return x.astype('float64')\n")
    text = "Explicitly requested dtype float64 requested in astype is not available"
    result = invoke("cost", "wide:f", "--shapes", "f32[3]")
    assert f"warning: {text}" in result.stderr
    assert "wide.py:2" in result.stderr
    (work / "olympus.toml").write_text('[target.f]\nentry = "wide:f"\nargs = ["f32[3]"]\n')
    result = invoke("build")
    assert f"warning: target 'f': {text}" in result.stderr
    assert "wide.py:2" in result.stderr
    assert "wide.py:2" in invoke("compile", "f").stdout


def test_operations_outside_of_scopes_have_the_key_none(work: Path, invoke: Invoke) -> None:
    table = invoke("cost", *DENSE, "--by", "scope").stdout.split("\n\n")[1]
    assert table.splitlines()[1].startswith("(none)")


def test_a_short_table_has_the_number_of_omitted_rows(work: Path, invoke: Invoke) -> None:
    result = invoke("cost", *DENSE, "--rows", "1")
    assert "program.py:7" not in result.stdout
    assert "... and 1 more, 0.0% of all (--rows 2)" in result.stdout


def test_bars_and_percentages() -> None:
    assert [bar(share) for share in (0.0, 0.5, 1.0, 1 / 24)] == ["", "█" * 6, "█" * 12, "▌"]
    assert [percent(share) for share in (0.0, 0.0004, 0.5)] == ["0.0%", "<0.1%", "50.0%"]
