"""`olympus check`: budgets that pass, that are broken, and that are malformed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from click.testing import Result

import olympus
from olympus.errors import SpecError
from olympus_cli.check.budget import METRICS
from olympus_cli.check.check import Checked, check_in_worker
from olympus_cli.spec.limits import LIMITED, QUANTITIES, parse_limit
from olympus_cli.spec.resolve import open_project
from olympus_cli.workers.messages import Channel

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as np


def dense(x, w):
    y = x @ w
    z = np.tanh(y)
    return z * 2.0 + z.T.sum()


def wide(x):
    return x.astype("float16") @ x.astype("float16")


def search(x):
    return olympus.lax.while_loop(lambda c: c.sum() < 1e3, lambda c: c * 2.0, x)


def ordered(x):
    return np.sort(x)


def update(state, x):
    return state + x, x.sum()
"""

DENSE = """\
[target.dense]
entry = "program:dense"
args = ["f32[8,16]", "f32[16,32]"]
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    return folder


def budget(work: Path, *lines: str, target: str = DENSE) -> None:
    (work / "olympus.toml").write_text(target + "[target.dense.budget]\n" + "\n".join(lines) + "\n")


def test_every_key_that_a_budget_limits_has_a_figure() -> None:
    assert METRICS.keys() == LIMITED.keys()


def test_a_budget_that_passes(work: Path, invoke: Invoke) -> None:
    keys = [f"{key} = {'1.0' if 'time' in key else 10**9}" for key in LIMITED]
    budget(work, *keys, 'fits = "h200"', 'forbid = ["f64", "stablehlo.sort", "host-callback"]')
    result = invoke("check")
    assert (result.exit_code, result.stderr) == (0, "")
    verdicts = {line.split()[2]: line.split()[-1] for line in result.stdout.splitlines()[1:]}
    assert verdicts.keys() == {*LIMITED, "fits", "forbid"}
    assert set(verdicts.values()) == {"kept"}


def test_a_broken_budget_has_the_figure_the_limit_and_the_lines(work: Path, invoke: Invoke) -> None:
    budget(work, 'flops = "8 kFLOP"', 'bytes = "1 MiB"')
    result = invoke("check")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: target 'dense' on cpu: flops is 8.96 k, 12.0% over the limit of 8 kFLOP",
        "  program.py:6  8.19 k",
        "  program.py:8  767",
    ]
    broken = [line for line in result.stdout.splitlines() if line.endswith("broken")]
    assert [line.split()[2] for line in broken] == ["flops"]


#: figures that a program of one device does not have
NONE = {"custom-calls", "collective-bytes", "collectives"}


@pytest.mark.parametrize("key", [key for key in LIMITED if key not in NONE])
def test_every_limit_can_be_broken(work: Path, invoke: Invoke, key: str) -> None:
    budget(work, f"{key} = 0")
    result = invoke("check", "--json")
    assert result.exit_code == 1
    (verdict,) = json.loads(result.stdout)["targets"][0]["verdicts"]
    assert (verdict["key"], verdict["verdict"], verdict["most"]) == (key, "broken", 0)
    assert verdict["value"] > 0
    assert f"{key} is " in verdict["why"]
    assert verdict["lines"]


@pytest.mark.parametrize("limit", ["5e-324", "0", "1e-400"])
def test_a_limit_below_any_figure(work: Path, invoke: Invoke, limit: str) -> None:
    budget(work, f"flops = {limit}")
    result = invoke("check")
    assert result.exit_code == 1
    assert "over the limit" in result.stderr


def test_forbidden_operations_and_dtypes(work: Path, invoke: Invoke) -> None:
    target = '[target.dense]\nentry = "program:wide"\nargs = ["f32[4,4]"]\n'
    budget(work, 'forbid = ["f16", "stablehlo.dot_general", "tanh"]', target=target)
    result = invoke("check")
    assert result.exit_code == 1
    assert "the program has f16, which is forbidden" in result.stderr
    assert "the program has stablehlo.dot_general, which is forbidden" in result.stderr
    assert "tanh, which" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("  ")]
    assert lines == ["  program.py:12  2 operations", "  program.py:12  1 operation"]


@pytest.mark.parametrize(
    ("name", "entry", "line"),
    [("stablehlo.while", "search", 16), ("while", "search", 16), ("sort", "ordered", 20)],
)
def test_control_and_other_operations_can_be_forbidden(
    work: Path, invoke: Invoke, name: str, entry: str, line: int
) -> None:
    target = f'[target.dense]\nentry = "program:{entry}"\nargs = ["f32[4]"]\n'
    budget(work, f'forbid = ["{name}", "stablehlo.case"]', target=target)
    result = invoke("check")
    assert result.exit_code == 1
    assert f"the program has {name}, which is forbidden, 1 times" in result.stderr
    assert f"\n  program.py:{line}  1 operation\n" in result.stderr
    assert "stablehlo.case, which" not in result.stderr


def test_a_program_must_fit_a_device_of_the_user(work: Path, invoke: Invoke) -> None:
    device = '[device.mine]\nlike = "t4"\nmemory = 16777216\n'
    budget(work, 'fits = "mine"', target=device + DENSE)
    assert invoke("check").exit_code == 0
    budget(work, 'fits = "mine"', target=device + DENSE.replace("f32[8,16]", "f32[2000000,16]"))
    result = invoke("check")
    assert result.exit_code == 1
    assert "and mine has 16.0 MiB" in result.stderr


def test_an_unknown_figure_breaks_its_budget_with_the_reason(work: Path, invoke: Invoke) -> None:
    target = '[target.dense]\nentry = "program:search"\nargs = ["f32[4]"]\n'
    budget(work, "flops = 1_000_000", target=target)
    result = invoke("check", "--output", "github")
    assert result.exit_code == 1
    assert "flops is not known: " in result.stderr
    assert result.stderr.splitlines()[-1] == "  program.py:16  while loop"
    assert result.stdout.startswith("::error file=program.py,line=16,title=")
    budget(work, "flops = 1_000", '[target.dense.trips]\n"program.py:16" = 20', target=target)
    assert invoke("check").exit_code == 0


def test_relative_limits_refer_to_saved_figures(work: Path, invoke: Invoke) -> None:
    budget(work, 'flops = "+1%"', 'operations = "-0%"')
    result = invoke("check")
    assert result.exit_code == 1
    message = (
        "target 'dense' on cpu: flops has no saved figure: save one with `olympus check --update`"
    )
    assert message in result.stderr
    report = json.loads(invoke("check", "--json").stdout)
    words = [each["verdict"] for each in report["targets"][0]["verdicts"]]
    assert (words, report["not_judged"]) == (["not judged"] * 2, [])
    result = invoke("check", "--update")
    assert (result.exit_code, result.stderr) == (0, "wrote goldens/dense.figures.json\n")
    assert invoke("check").exit_code == 0
    (work / "program.py").write_text(PROGRAM.replace("y = x @ w", "y = x @ w + x @ w * 2.0"))
    result = invoke("check")
    assert result.exit_code == 1
    assert "over the limit of" in result.stderr
    assert "(+1% of 8.96 k)" in result.stderr


def test_a_golden_program(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(f"{DENSE}golden = true\n")
    result = invoke("check")
    assert result.exit_code == 1
    assert "it has no saved golden program: save one with `olympus check --update`" in result.stderr
    result = invoke("check", "--update")
    assert (result.exit_code, result.stderr) == (0, "wrote goldens/dense.cpu.mlir\n")
    moved = PROGRAM.replace("def dense(x, w):", "\n\ndef dense(a, w):\n    x = a")
    (work / "program.py").write_text(moved)
    assert invoke("check").exit_code == 0
    (work / "program.py").write_text(PROGRAM.replace("np.tanh(y)", "np.sin(y)"))
    result = invoke("check")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: target 'dense' on cpu: the program is not the golden one: 1 change",
        "  program.py:7  tanh -> sine",
        "  olympus diff goldens/dense.cpu.mlir dense --backend cpu shows the difference",
        "  olympus check --update dense saves it if the change is meant",
    ]


def test_a_golden_program_that_differs_on_every_trace(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(f"{DENSE}golden = true\n")
    random = PROGRAM.replace("np.tanh(y)", "np.tanh(y) * random.random()")
    (work / "program.py").write_text(f"import random\n{random}")
    result = invoke("check")
    assert result.exit_code == 1
    assert "the program differs on every trace" in result.stderr
    assert "--update" not in result.stderr
    result = invoke("check", "--update")
    assert result.exit_code == 0
    assert "program.py:8: the program differs on every trace, so that it never" in result.stderr
    result = invoke("check")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == (
        "error: target 'dense' on cpu: the program differs on every trace, so that it never equals "
        "its golden program"
    )
    assert lines[1].startswith("  program.py:8  multiply: operand 1: constant ")
    assert lines[2] == "  pass the value that varies as an argument, or make it constant"


def test_changes_of_a_golden_program_are_counted(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(
        '[target.it]\nentry = "many:it"\nargs.x = "f32[4]"\ngolden = true\n'
    )
    lines = ["    x = np.tanh(np.tanh(np.tanh(x))) + 1"] * 6
    text = "\n".join(["import olympus.numpy as np", "def it(x):", *lines, "    return x", ""])
    (work / "many.py").write_text(text)
    assert invoke("check", "--update").exit_code == 0
    (work / "many.py").write_text(text.replace("tanh", "sin"))
    errors = invoke("check").stderr.splitlines()
    assert errors[0].endswith("the program is not the golden one: 18 changes")
    assert errors[1:5] == [
        *(f"  many.py:{line}  tanh -> sine  (3 times)" for line in (3, 4, 5)),
        "  ... and 9 more changes",
    ]
    assert "shows the difference" in errors[5]
    assert errors[6] == "  olympus check --update it saves it if the change is meant"


@pytest.mark.parametrize("text", ["", "module {", "what?"])
def test_a_damaged_golden_program_is_an_error(work: Path, invoke: Invoke, text: str) -> None:
    (work / "olympus.toml").write_text(f"{DENSE}golden = true\n")
    (work / "goldens").mkdir()
    (work / "goldens" / "dense.cpu.mlir").write_text(text)
    result = invoke("check")
    assert result.exit_code == 5
    assert "the golden program goldens/dense.cpu.mlir of dense" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"schema_version": 1, "target": 3, "figures": {}}',
        '{"schema_version": 1, "target": "other", "figures": {}}',
    ],
)
def test_damaged_saved_figures_are_an_error(work: Path, invoke: Invoke, text: str) -> None:
    budget(work, 'flops = "+1%"')
    (work / "goldens").mkdir()
    (work / "goldens" / "dense.figures.json").write_text(text)
    result = invoke("check")
    assert result.exit_code == 5
    assert "goldens/dense.figures.json" in result.stderr
    hint = " ".join(result.stderr.partition("hint: ")[2].split())
    remedy = "olympus check dense --update saves them again, or git restore"
    assert hint == f"{remedy} goldens/dense.figures.json"
    assert invoke("check", "--update").exit_code == 0
    assert invoke("check").exit_code == 0


def test_donated_memory_must_be_used(work: Path, invoke: Invoke) -> None:
    target = (
        '[target.dense]\nentry = "program:update"\ndonate = ["state", "x"]\n'
        'args = ["f32[4]", "f32[4]"]\n'
    )
    budget(work, 'donation = "all-used"', target=target)
    result = invoke("check")
    assert result.exit_code == 1
    assert "no result takes the memory of x" in result.stderr
    budget(work, 'donation = "all-used"', target=target.replace(', "x"', ""))
    assert invoke("check").exit_code == 0


UPDATE = """\
[target.dense]
entry = "program:update"
args = ["f32[4]", "f32[4]"]
"""
EMPTY = """\
[target.dense]
entry = "program:counted"
args = { state = {}, x = "f32[4]" }
donate = ["state"]
"""


@pytest.mark.parametrize("target", [UPDATE, EMPTY])
def test_a_target_that_must_donate_and_does_not(work: Path, invoke: Invoke, target: str) -> None:
    (work / "program.py").write_text(PROGRAM + "\n\ndef counted(state, x):\n    return state, x\n")
    budget(work, 'donation = "all-used"', target=target)
    result = invoke("check")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split() == [
        *("dense", "cpu", "donation", "none", "donated", "all-used", "broken")
    ]
    assert result.stderr.splitlines() == [
        "error: target 'dense' on cpu: the program donates no array, so that donation = all-used "
        "judges nothing",
        "  donate an argument with the dtype and shape of a result: donate = [...] of the target, "
        "or donate_argnums of olympus.jit",
    ]


def test_a_donation_limit_of_all_targets_applies_to_targets_that_donate(
    work: Path, invoke: Invoke
) -> None:
    donating = UPDATE.replace("dense]", "donating]") + 'donate = ["state"]\n'
    rule = '[budget]\ndonation = "all-used"\n'
    (work / "olympus.toml").write_text(rule + UPDATE + donating)
    result = invoke("check")
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line for line in result.stdout.splitlines()[1:]}
    assert rows["dense"].endswith("not judged") and rows["donating"].endswith("kept")
    result = invoke("check", "dense", "--output", "json", "--output", "junit=out.xml")
    assert result.exit_code == 2
    reason = "it donates no array, and its only rule is donation of [budget]"
    assert f"target 'dense' is not judged: {reason}" in result.stderr
    assert "hint: add donate = [...] to [target.dense]" in result.stderr
    document = json.loads(result.stdout)
    assert document["not_judged"] == [{"target": "dense", "reason": reason}]
    (verdict,) = document["targets"][0]["verdicts"]
    assert (verdict["verdict"], verdict["why"]) == ("not judged", "")
    assert "donation is not judged: none donated" in (work / "out.xml").read_text()
    (work / "olympus.toml").write_text(rule + UPDATE)
    assert invoke("check").exit_code == 2  # no budget applies
    (work / "olympus.toml").write_text(f"{rule}flops = 1_000\n{UPDATE}")
    assert invoke("check", "dense").exit_code == 0
    (work / "olympus.toml").write_text(f"{rule}{UPDATE}budget.donation = 'all-used'\n")
    assert invoke("check").exit_code == 1


@pytest.mark.parametrize(
    ("result", "line"),
    [("x", "argument x  f16"), ("x.astype('float32')", "argument x  f16"), ("1.0", "argument x")],
)
def test_a_dtype_without_operations_can_be_forbidden(
    work: Path, invoke: Invoke, result: str, line: str
) -> None:
    (work / "program.py").write_text(f"def passed(x):\n    return {result}\n")
    target = '[target.dense]\nentry = "program:passed"\nargs = ["f16[4]"]\n'
    budget(work, 'forbid = ["f16"]', target=target)
    refused = invoke("check")
    assert refused.exit_code == 1
    assert "the program has f16, which is forbidden, as a dtype of arguments" in refused.stderr
    assert f"\n  {line}" in refused.stderr
    budget(work, 'forbid = ["f64"]', target=target)
    assert invoke("check").exit_code == 0


def test_a_limit_without_its_compiler_is_broken(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = DENSE + 'backends = ["cpu", "gpu:h200"]\n'
    budget(work, 'peak-memory = "1 GiB"', "flops = 10_000", 'fits = "h200"', target=toml)
    available = olympus.backends()
    absent = [
        backend._replace(available=False, note="no plugin", install="pip install plugin")
        if backend.name == "gpu"
        else backend
        for backend in available
    ]
    monkeypatch.setattr(olympus, "backends", lambda: absent)
    (spec,) = open_project(None).select()
    channel = cast(Channel, lambda _stage: None)
    checked = Checked.from_data(check_in_worker(channel, spec, False, False))
    assert {(verdict.backend, verdict.key): verdict.word for verdict in checked.verdicts} == {
        ("cpu", "peak-memory"): "kept",
        ("cpu", "flops"): "kept",
        ("cpu", "fits"): "kept",
        ("gpu", "peak-memory"): "broken",
        ("gpu", "flops"): "kept",
        ("gpu", "fits"): "broken",
    }
    broken = checked.failures[0]
    assert broken.why == (
        "peak-memory is not known: the program is not compiled for gpu: no plugin"
    )
    assert [str(line) for line in broken.lines] == ["pip install plugin"]


def test_the_budget_of_all_targets(work: Path, invoke: Invoke) -> None:
    toml = '[target.other]\nentry = "program:wide"\nargs = ["f32[4,4]"]\n'
    (work / "olympus.toml").write_text(
        f"[budget]\nflops = 1_000\n{DENSE}[target.dense.budget]\nflops = 10_000\n{toml}"
    )
    verdicts = [
        (target["target"], verdict["limit"])
        for target in json.loads(invoke("check", "--json").stdout)["targets"]
        for verdict in target["verdicts"]
    ]
    assert verdicts == [("dense", "10.0 k"), ("other", "1.00 k")]


def test_a_program_that_does_not_fit(work: Path, invoke: Invoke) -> None:
    target = '[target.dense]\nentry = "program:dense"\nargs = ["f32[65536,65536]"] * 2\n'
    big = '"f32[65536,65536]"'
    budget(work, 'fits = "t4"', target=target.replace(f"[{big}] * 2", f"[{big}, {big}]"))
    result = invoke("check")
    assert result.exit_code == 1
    assert "it needs " in result.stderr
    assert "and t4 has 15.0 GiB" in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('flops = "2 GiB"', "'GiB' is not a unit of flops"),
        ('flops = "2 GB"', "hint: its units are FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP, EFLOP"),
        ('flops = "2 GFLOPS"', "hint: did you mean GFLOP"),
        ('bytes = "2 FLOP"', "hint: its units are B, kB, MB, GB, TB, PB, EB, KiB, MiB"),
        ('operations = "2 things"', "hint: its units are k, M, G, T, P, E"),
        ('peak-memory = "2 GFLOP"', "'GFLOP' is not a unit of bytes"),
        ('estimated-time = "3 MB"', "'MB' is not a unit of seconds"),
        ("flops = -1", "must not be negative"),
        ("flops = true", "must be a number, or a text with a unit"),
        ('flops = "many"', "must be a number with a unit"),
        ('flops = "-101%"', "must be at least -100%"),
        ("flop = 1", "did you mean flops"),
        ('fits = "h2000"', "no device of the backend 'gpu' is named 'h2000'"),
        ('forbid = ["f65"]', "'f65', which is not a dtype or an operation"),
        ('forbid = "f64"', "an array of strings"),
        ('donation = "some"', "must be all-used"),
    ],
)
def test_wrong_budgets_are_an_error(work: Path, invoke: Invoke, line: str, message: str) -> None:
    budget(work, line)
    result = invoke("check")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "olympus.toml" in result.stderr


def test_a_project_without_budgets_is_an_error(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(DENSE)
    result = invoke("check")
    assert result.exit_code == 2
    assert "no target has a budget or is golden" in result.stderr
    assert result.stdout.splitlines()[1].split() == ["dense", "not", "judged"]


def test_a_named_target_without_a_budget_is_not_judged(work: Path, invoke: Invoke) -> None:
    budget(work, "flops = 10_000")
    with (work / "olympus.toml").open("a") as file:
        file.write(DENSE.replace("dense]", "free]"))
    result = invoke("check", "dense", "free", "--output", "text", "--output", "json=free.json")
    assert result.exit_code == 2
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["dense", "free"]
    assert result.stdout.splitlines()[-1].endswith("not judged")
    assert "target 'free' is not judged: it has no budget and is not golden" in result.stderr
    document = json.loads((work / "free.json").read_text())
    assert [target["target"] for target in document["not_judged"]] == ["free"]
    assert [(target["target"], target["error"]["exit_code"]) for target in document["failed"]] == [
        ("free", 2)
    ]
    result = invoke("check")
    assert result.exit_code == 0
    assert "note: not judged, as they have no budget and are not golden: free" in result.stderr
    assert "not judged" not in result.stdout


def test_a_broken_budget_beside_a_target_without_one(work: Path, invoke: Invoke) -> None:
    budget(work, "flops = 1")
    with (work / "olympus.toml").open("a") as file:
        file.write(DENSE.replace("dense]", "free]"))
    result = invoke("check", "dense", "free")
    assert result.exit_code == 2
    assert "flops is 8.96 k" in result.stderr
    assert "2 of 2 targets failed" in result.stderr


def test_other_targets_are_checked_if_one_fails(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(
        f'[budget]\nflops = 10\n{DENSE}[target.gone]\nentry = "program:gone"\nargs = []\n'
    )
    result = invoke("check")
    assert result.exit_code == 2
    assert "target 'gone'" in result.stderr
    assert "broken" in result.stdout


@pytest.mark.parametrize(
    ("text", "quantity", "most"),
    [
        (7, "count", 7.0),
        ("2 GFLOP", "flops", 2e9),
        ("2G", "flops", 2e9),
        ("64 MiB", "bytes", 64 * 2**20),
        ("1.5 kB", "bytes", 1500.0),
        ("3 ms", "seconds", 3e-3),
        ("1e3", "count", 1000.0),
    ],
)
def test_limits_are_parsed(text: object, quantity: str, most: float) -> None:
    assert parse_limit(text, QUANTITIES[quantity]).of(None) == pytest.approx(most)


def test_relative_limits_are_parsed() -> None:
    limit = parse_limit("+1.5 %", QUANTITIES["bytes"])
    assert limit.of(200.0) == pytest.approx(203.0)
    assert limit.of(None) is None
    with pytest.raises(SpecError):
        parse_limit("+1.5 % of it", QUANTITIES["bytes"])


def test_a_limit_of_memory_is_compared_with_the_upper_bound(work: Path, invoke: Invoke) -> None:
    """The compiler does not plan the memory that kernels allocate themselves."""
    (work / "chain.py").write_text(
        "import olympus.numpy as jnp\n"
        "def chain(x):\n    return jnp.tanh(jnp.tanh(x @ x) @ x).sum()\n"
    )
    target = '[target.chain]\nentry = "chain:chain"\nargs = ["f32[512,512]"]\n'
    (work / "olympus.toml").write_text(
        target + '[target.chain.budget]\npeak-memory = "2 MiB"\ntemporary-memory = "1 GiB"\n'
        'argument-memory = "1 MiB"\n'
    )
    result = invoke("check")
    assert result.exit_code == 1
    assert "peak-memory is at most 9.00 MiB" in result.stderr
    assert "the compiler plans 1.00 MiB" in result.stderr
    assert "temporary-memory" not in result.stderr
    shown = invoke("cost", "chain", "--compile").stdout
    assert "peak memory     at least 1.00 MiB, at most 9.00 MiB" in shown
