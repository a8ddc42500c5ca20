"""`olympus verify`: references, inputs and tolerances of a target, and messages of faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

from olympus.errors import UsageError
from olympus_cli.program.inputs import seeded_inputs
from olympus_cli.spec.inputs import InputSpec
from olympus_cli.spec.project import load_project
from olympus_cli.verify import show
from olympus_cli.verify.goldens import digest, read_golden, write_golden
from olympus_cli.verify.progress import operation_counter
from olympus_core.verification import ranges
from tests.cli.arrays import arg_info

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as jnp


def forward(x, w):
    h = jnp.tanh(x @ w)
    return {"h": h, "n": h.sum().astype("bfloat16"), "k": (h > 0).sum()}


def other(x, w):
    h = jnp.tanh(x @ w)
    return {"h": h * 1.001, "n": h.sum().astype("bfloat16"), "k": (h > 0).sum()}


def logarithm(x):
    y = x * 2
    return jnp.log(y - 100.0)


def lossy(x):
    return jnp.sqrt(x * x + 1) - x


def key():
    return olympus.random.key(0)


def draw(key, x):
    return olympus.random.normal(key, x.shape) + x


def special(x):
    return olympus.scipy.special.erf(x)
"""

TOML = """\
[target.forward]
entry = "program:forward"
args = { x = "f32[4,8]", w = "f32[8,3]" }
inputs = { x = { range = [-1, 1] }, w = { normal = [0, 0.5] } }

[target.logarithm]
entry = "program:logarithm"
args = { x = "f32[4]" }

[target.lossy]
entry = "program:lossy"
args = { x = "f32[4]" }
inputs.x = { range = [20000, 50000] }
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def document(result: Result) -> Any:
    return json.loads(result.stdout)["targets"]


def test_a_target_is_verified(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "forward")
    assert result.exit_code == 0, result.output
    title, header, *rows = result.stdout.splitlines()
    assert title == "forward  (program:forward, cpu)"
    assert header.split() == ["result", "against", "ulps", "error", "differ", "verdict"]
    assert [row.split()[:2] for row in rows] == [
        [f"result['{name}']", "op-by-op"] for name in ("h", "k", "n")
    ]
    assert all(row.endswith("ok") for row in rows)


def test_several_references(work: Path, invoke: Invoke) -> None:
    built = invoke("compile", "forward", "-o", "out")
    assert built.exit_code == 0, built.output
    names = ("op-by-op", "float64", "cpu", "out/forward.olympus")
    against = [part for name in names for part in ("--against", name)]
    result = invoke("verify", "forward", *against, "--json")
    assert result.exit_code == 0, result.output
    (target,) = document(result)
    assert [check["against"] for check in target["checks"]] == [n for n in names for _ in range(3)]
    assert target["passed"] is True
    assert target["checked"] >= 4
    integers = [check for check in target["checks"] if check["result"] == "result['k']"]
    assert {check["error"] for check in integers} == {0.0}


def test_another_program_differs(work: Path, invoke: Invoke) -> None:
    shapes = ("--shapes", "x=f32[4,8], w=f32[8,3]", "-o", "out")
    assert invoke("compile", "program:other", *shapes).exit_code == 0
    result = invoke("verify", "forward", "--against", "out/other.olympus")
    assert result.exit_code == 1
    assert "result['h'] differs from out/other.olympus; element [" in result.stderr
    assert "is expected: off by " in result.stderr
    assert " ulps, " in result.stderr
    assert "result['k']" not in result.stderr


def test_the_interpreter_and_operations_that_it_lacks(work: Path, invoke: Invoke) -> None:
    entry = ("program:logarithm", "--shapes", "x=f32[4]")
    table = '\n[target.wide]\nentry = "program:logarithm"\nargs = ["f32[4]"]\n'
    (work / "olympus.toml").write_text(TOML + table + "inputs.x = { range = [100, 200] }\n")
    result = invoke("verify", "wide", "--against", "interpreter")
    assert result.exit_code == 0, result.output
    lacking = invoke(
        "verify", "program:special", "--shapes", "x=f32[4]", "--against", "interpreter"
    )
    assert lacking.exit_code == 3
    assert "it lacks chlo.erf" in lacking.stderr
    assert invoke("verify", *entry, "--against", "interpreter").exit_code == 1


def test_a_nan_names_its_operation_and_line(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "logarithm", "--json")
    assert result.exit_code == 1
    assert "error: logarithm is not verified (seed 0):" in result.stderr
    assert "result has 4 NaNs" in result.stderr
    assert "'log' made the first NaN" in result.stderr
    assert f"at {work / 'program.py'}:17: return jnp.log(y - 100.0)" in result.stderr
    assert "operand 0: float32[4], min -100." in result.stderr
    (target,) = document(result)
    finding = target["checks"][0]["finding"]
    assert (finding["kind"], finding["operation"]) == ("nan", "log")
    assert finding["result"]["nans"] == 4


def test_a_nan_of_drawn_values_names_the_argument_and_the_remedy(
    work: Path, invoke: Invoke
) -> None:
    (work / "roots.py").write_text(
        "import olympus\nimport olympus.numpy as jnp\n"
        "@olympus.jit\ndef root(p):\n    return jnp.sqrt(p['a'])\n"
        "def f(x, p, n):\n    return root(p) + jnp.exp(x) * n\n"
    )
    table = '[target.roots]\nentry = "roots:f"\nargs.x = "f32[9]"\nargs.n = "i32[]"\n'
    (work / "olympus.toml").write_text(f'{table}args.p = {{ a = "f32[9]" }}\n')
    result = invoke("verify", "roots")
    assert result.exit_code == 1
    key = "p['a']"
    assert f"it depends on {key}, whose values are drawn: float32[9], min -0." in result.stderr
    assert f'[target.roots.inputs]\n    "{key}" = {{ range = [0.1, 1] }}\n' in result.stderr
    assert "depends on x" not in result.stderr and "depends on n" not in result.stderr
    line = f'inputs."{key}" = {{ range = [0.1, 1] }}\n'
    (work / "olympus.toml").write_text(f'{table}args.p = {{ a = "f32[9]" }}\n{line}')
    assert invoke("verify", "roots").exit_code == 0


def test_a_nan_of_a_declared_range_has_no_remedy(work: Path, invoke: Invoke) -> None:
    with (work / "olympus.toml").open("a") as file:
        file.write("\n[target.logarithm.inputs]\nx = { range = [0, 1] }\n")
    result = invoke("verify", "logarithm", "--json")
    assert result.exit_code == 1 and "made the first NaN" in result.stderr
    assert document(result)[0]["drawn"] == []
    assert "whose values are drawn" not in result.stderr


def test_cancellation_is_named(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "lossy")
    assert result.exit_code == 1
    assert "'sub' lost the digits by cancellation" in result.stderr
    assert "return jnp.sqrt(x * x + 1) - x" in result.stderr


def test_one_target_that_fails_does_not_stop_the_others(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "--runs", "2", "--json")
    assert result.exit_code == 1
    targets = document(result)
    assert [(target["target"], target["seed"], target["passed"]) for target in targets] == [
        ("forward", 0, True),
        ("forward", 1, True),
        ("logarithm", 0, False),
        ("logarithm", 1, False),
        ("lossy", 0, False),
        ("lossy", 1, False),
    ]
    assert "4 of 6 targets failed" in result.stderr


def test_tolerances_of_a_target(work: Path, invoke: Invoke) -> None:
    toml = work / "olympus.toml"
    shapes = ("--shapes", "x=f32[4,8], w=f32[8,3]", "-o", "out")
    assert invoke("compile", "program:other", *shapes).exit_code == 0
    against = ("verify", "forward", "--against", "out/other.olympus")
    for line, code in (
        ("rtol = 0.01", 0),
        ("rtol = 1e-6", 1),
        ("float32 = { rtol = 0.01 }", 0),
        ("rtol = 1e-6\nfloat32.ulps = 100000", 0),
        ("float16 = { rtol = 0.01 }", 1),
    ):
        toml.write_text(f"{TOML}\n[target.forward.tolerance]\n{line}\n")
        assert invoke(*against).exit_code == code, line
    toml.write_text(f'{TOML}\n[target.logarithm.tolerance]\nallow = ["nan"]\n')
    assert invoke("verify", "logarithm").exit_code == 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("inputs.x = 3", "forward.inputs.x must be { range = [0, 1] }"),
        ("inputs.x = { range = [1, 1] }", "inputs.x.range is empty: 1 is not below 1"),
        ("inputs.x = { range = [0, nan] }", "must be an array of two numbers"),
        (f"inputs.x = {{ range = [0, {10**400}] }}", "must be an array of two numbers"),
        ("inputs.x = { normal = [0, -1] }", "has the standard deviation -1, which is below 0"),
        ("inputs.x = { uniform = [0, 1] }", "has no key 'uniform'"),
        ("tolerance.rtol = -1", "that is not below 0"),
        ("tolerance.int32 = { rtol = 1 }", "is not the name of a float dtype"),
        ("tolerance.relative = 1", "has no key 'relative'"),
        ('tolerance.allow = ["zero"]', "has 'zero', which is not"),
        ("tolerance.float32 = { allow = [] }", "has no key 'allow'"),
    ],
)
def test_mistakes_in_the_toml_have_a_message(
    work: Path, invoke: Invoke, lines: str, words: str
) -> None:
    text = f'[target.forward]\nentry = "program:forward"\nargs = {{ x = "f32[4]" }}\n{lines}\n'
    (work / "olympus.toml").write_text(text)
    result = invoke("verify", "forward")
    assert result.exit_code == 2
    assert words in result.stderr


def test_mistakes_in_options_are_errors(work: Path, invoke: Invoke) -> None:
    for options, words in (
        (("--against", "numpy"), "no reference is named 'numpy'"),
        (("--against", "golden"), ".npz does not exist"),
        (("--runs", "2", "--inputs", "x.npz"), "--runs cannot be combined with --inputs"),
        (("--against", "none.olympus"), "none.olympus"),
    ):
        result = invoke("verify", "forward", *options)
        assert result.exit_code == 2, result.output
        assert words in result.stderr


def test_golden_outputs_are_compared(work: Path, invoke: Invoke) -> None:
    assert invoke("verify", "forward", "--update").exit_code == 0
    golden = work / "goldens" / "forward.npz"
    first = golden.read_bytes()
    assert invoke("verify", "forward", "--against", "golden").exit_code == 0
    assert invoke("verify", "forward", "--update").exit_code == 0
    assert golden.read_bytes() == first
    (work / "olympus.toml").write_text(TOML.replace("[-1, 1]", "[-2, 1]"))
    result_of_other = invoke("verify", "forward", "--against", "golden")
    assert result_of_other.exit_code == 1
    assert "was computed from other inputs" in result_of_other.stderr
    (work / "olympus.toml").write_text(TOML)
    (work / "program.py").write_text(PROGRAM.replace('{"h": h,', '{"h": h * 1.01,'))
    changed = invoke("verify", "forward", "--against", "golden")
    assert changed.exit_code == 1
    assert "result['h'] differs from golden" in changed.stderr
    golden.write_bytes(first[:-1] + b"x")
    damaged = invoke("verify", "forward", "--against", "golden")
    assert damaged.exit_code == 5
    assert "is damaged" in damaged.stderr


def test_wrong_results_do_not_become_golden(work: Path, invoke: Invoke) -> None:
    assert invoke("verify", "logarithm", "--update").exit_code == 1
    assert not (work / "goldens").exists()


def test_golden_outputs_of_every_dtype(tmp_path: Path) -> None:
    arrays = [np.array([1, 2], dtype) for dtype in (ml_dtypes.bfloat16, "complex64", "bool", "u4")]
    leaves = [arg_info(f"result[{i}]", x.dtype, x.shape) for i, x in enumerate(arrays)]
    path = tmp_path / "goldens" / "x.npz"
    write_golden(path, [], leaves, arrays)
    for x, y in zip(arrays, read_golden(path, [], leaves), strict=True):
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()
    assert digest(arrays) != digest(arrays[::-1])


def test_random_keys_and_unchecked_operations(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "program:draw", "--shapes", "key={from=program:key}, x=f32[4]")
    assert result.exit_code == 0, result.output
    assert "note: no independent reference for bitcast_convert_type:" in result.stderr


def test_a_target_without_a_judged_result(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text(PROGRAM + "\n\ndef nothing(x):\n    return ()\n")
    for shape, entry, reason in (
        ("x=f32[4]", "nothing", "the program returns no results"),
        ("x=f32[0]", "lossy", "the results of the program have no elements"),
    ):
        options = ("verify", f"program:{entry}", "--shapes", shape)
        result = invoke(*options, "--failures-only")
        assert result.exit_code == 2
        assert "not judged" in result.stdout.splitlines()[-1]
        assert f"error: {entry} is not judged: {reason}" in result.stderr
        in_json = invoke(*options, "--json")
        assert in_json.exit_code == 2
        (target,) = document(in_json)
        assert (target["judged"], target["passed"]) == (False, False)
        assert invoke(*options, "--update").exit_code == 2
    assert not (work / "goldens").exists()


def test_a_result_without_finite_elements_is_not_judged(work: Path, invoke: Invoke) -> None:
    (work / "program.py").write_text("def double(x):\n    return {'x': 2 * x, 'n': x > 0}\n")
    table = (
        '[target.double]\nentry = "program:double"\nargs.x = "f32[2]"\ninputs.x.file = "x.npy"\n'
    )
    (work / "olympus.toml").write_text(table)
    np.save("x.npy", np.full(2, np.inf, "f4"))
    result = invoke("verify", "double", "--update")
    assert result.exit_code == 2, result.output
    assert "not judged: no element is finite" in result.stdout
    assert "double is not judged: no element of result['x'] is finite" in result.stderr
    assert 'write tolerance.allow = ["inf"]' in result.stderr
    assert not (work / "goldens").exists()
    (work / "olympus.toml").write_text(table + 'tolerance.allow = ["inf"]\n')
    assert invoke("verify", "double").exit_code == 0
    (work / "olympus.toml").write_text(table)
    np.save("x.npy", np.array([1, np.inf], "f4"))
    assert invoke("verify", "double").exit_code == 0


@pytest.mark.parametrize(
    ("dtype", "spec", "declared"),
    [
        ("float32", InputSpec(normal=(0, 1e300)), "{ normal = [0, 1e+300] }"),
        ("float64", InputSpec(normal=(0, 1.7e308)), "{ normal = [0, 1.7e+308] }"),
        ("float64", InputSpec(range=(-(10**308), 10**308)), "{ range = [-1e+308, 1e+308] }"),
        ("float16", InputSpec(range=(0, 1e6)), "{ range = [0, 1e+06] }"),
        ("float8_e4m3fn", InputSpec(range=(0, 1e6)), "{ range = [0, 1e+06] }"),
        ("complex64", InputSpec(range=(1e39, 1e40)), "{ range = [1e+39, 1e+40] }"),
    ],
)
def test_declared_inputs_that_overflow_the_dtype(
    dtype: str, spec: InputSpec, declared: str
) -> None:
    with pytest.raises(UsageError) as caught:
        seeded_inputs([arg_info("x", dtype, (64,))], specs={"x": spec})
    assert "argument x is " in str(caught.value)
    assert f"{declared} are not finite in {dtype}" in str(caught.value)
    assert "the largest number of the dtype is" in str(caught.value.hint)


def test_declared_inputs_that_overflow_are_a_usage_error(work: Path, invoke: Invoke) -> None:
    table = '[target.lossy]\nentry = "program:lossy"\nargs = { x = "f32[4]" }\n'
    (work / "olympus.toml").write_text(table + "inputs.x = { normal = [0, 1e300] }\n")
    for command in ("verify", "run"):
        result = invoke(command, "lossy")
        assert result.exit_code == 2, result.output
        assert "{ normal = [0, 1e+300] } are not finite in float32" in result.stderr


UNSTABLE = """\
import olympus
import olympus.numpy as jnp


def naive(x):
    e = jnp.exp(x)
    return e / e.sum(-1, keepdims=True)


def sound(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def root(x):
    return olympus.lax.while_loop(
        lambda s: jnp.abs(s * s - x * x - 1).max() > 1e-3,
        lambda s: (s + (x * x + 1) / s) / 2,
        x * x + 2,
    )


def overflows(x):
    return jnp.cos(jnp.minimum(x * x * x * x, 1.0) + 0 * x**12)
"""


def test_inputs_of_other_sizes(work: Path, invoke: Invoke) -> None:
    (work / "unstable.py").write_text(UNSTABLE)
    shapes = ("--shapes", "x=bf16[4,16]")
    result = invoke("verify", "unstable:naive", *shapes)
    assert result.exit_code == 1
    assert "for inputs in [-100, 100], and float64 has none" in result.stdout
    assert (
        "'div' divides two exponentials that are both infinite or both 0 in their dtype"
        in result.stderr
    )
    assert f"at {work / 'unstable.py'}:7: return e / e.sum(-1, keepdims=True)" in result.stderr
    assert invoke("verify", "unstable:naive", *shapes, "--update").exit_code == 1
    assert not (work / "goldens").exists()
    sound = invoke("verify", "unstable:sound", *shapes, "--json")
    assert sound.exit_code == 0, sound.output
    (target,) = document(sound)
    other_inputs = target["other_inputs"]
    assert {draw["pattern"] for draw in other_inputs["draws"]} == {
        *("both signs", "positive", "negative", "mixed sizes")
    }
    assert (other_inputs["notes"], other_inputs["skipped"]) == ([], None)


def test_only_declared_inputs_are_drawn_with_other_sizes(work: Path, invoke: Invoke) -> None:
    (work / "unstable.py").write_text(UNSTABLE)
    table = '[target.naive]\nentry = "unstable:naive"\nargs.x = "bf16[4,16]"\n'
    (work / "olympus.toml").write_text(table + "inputs.x = { range = [-10, 10] }\n")
    declared = invoke("verify", "naive", "--json")
    assert declared.exit_code == 0, declared.output
    assert document(declared)[0]["other_inputs"]["draws"] == []
    (work / "olympus.toml").write_text(table + 'tolerance.allow = ["nan"]\n')
    assert invoke("verify", "naive").exit_code == 0
    (work / "olympus.toml").write_text(table)
    assert invoke("verify", "naive").exit_code == 1
    np.savez("in.npz", x=np.ones((4, 16), "f4"))
    assert invoke("verify", "naive", "--inputs", "in.npz").exit_code == 0


def test_notes_on_inputs_of_other_sizes(work: Path, invoke: Invoke) -> None:
    (work / "unstable.py").write_text(UNSTABLE)
    loop = ("unstable:root", "--shapes", "x=f32[4]")
    (work / "olympus.toml").write_text(
        '[target.root]\nentry = "unstable:root"\nargs.x = "f32[4]"\n'
    )
    result = invoke("verify", *loop)
    assert result.exit_code == 0, result.output
    assert "note: root is not run on other inputs: how often the loop at" in result.stderr
    noted = invoke("verify", "unstable:overflows", "--shapes", "x=f32[4]")
    assert noted.exit_code == 0, noted.output
    assert "NaN" in noted.stderr
    assert "overflowed the dtype of its result, at" in noted.stderr


def test_failures_only(work: Path, invoke: Invoke) -> None:
    result = invoke("verify", "forward", "logarithm", "--failures-only")
    assert result.exit_code == 1
    title, _, *rows = result.stdout.splitlines()
    assert title == "logarithm  (program:logarithm, cpu)"
    assert [row.split()[:2] for row in rows] == [["result", "op-by-op"]]
    assert "note: forward: 3 of 3 comparisons passed" in result.stderr
    everything = invoke("verify", "forward", "logarithm", "--failures-only", "--json")
    assert [len(target["checks"]) for target in document(everything)] == [3, 1]


def test_progress_without_a_terminal(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke("verify", "forward")
    assert result.stderr.splitlines()[0] == "verifying forward"
    monkeypatch.setattr("olympus_cli.verify.progress._APART", 0.0)
    result = invoke("verify", "--runs", "2")
    lines = [line for line in result.stderr.splitlines() if line.startswith("verifying forward")]
    assert lines[0] == "verifying forward (1 of 6)"
    assert "verifying forward (1 of 6): load for cpu" in lines  # the build of the first command
    monkeypatch.setattr("olympus_cli.verify.progress._OFTEN", 0.0)
    messages = list[str]()
    done = operation_counter(messages.append)
    done()
    done()
    assert messages == ["verify, operations so far: 1", "verify, operations so far: 2"]


def test_distributions_of_inputs() -> None:
    leaves = [
        arg_info("x", "float32", (1000,)),
        arg_info("n", "int32", (1000,)),
        arg_info("p['w']", "bfloat16", (1000,)),
        arg_info("p['v'][0]", "complex64", (1000,)),
        arg_info("y", "float32", (10,)),
    ]
    specs = {
        "x": InputSpec(range=(2, 3)),
        "n": InputSpec(range=(-3, 4)),
        "p": InputSpec(normal=(5, 0.5)),
        "p['v']": InputSpec(range=(0, 1)),
    }
    x, n, w, v, y = seeded_inputs(leaves, 1, specs=specs)
    assert x.min() >= 2
    assert x.max() <= 3
    assert set(n.tolist()) == set(range(-3, 4))
    assert abs(w.astype("f4").mean() - 5) < 0.1
    assert v.real.min() >= 0
    assert v.imag.max() <= 1
    assert y.tolist() == seeded_inputs(leaves[-1:], 1)[0].tolist()
    (any_w,) = seeded_inputs(leaves[2:3], specs={"*['w']": InputSpec(range=(7, 8))})
    assert any_w.astype("f4").min() >= 7
    with pytest.raises(UsageError, match="describes the input 'z', and the program has no such"):
        seeded_inputs(leaves, specs={"z": InputSpec(range=(0, 1))})
    with pytest.raises(UsageError, match=r"n is int32\[1000\], and takes a range"):
        seeded_inputs(leaves, specs={"n": InputSpec(normal=(0, 1))})
    with pytest.raises(UsageError, match="has no integer"):
        seeded_inputs(leaves, specs={"n": InputSpec(range=(0.1, 0.9))})


def test_run_and_bench_draw_the_same_inputs(work: Path, invoke: Invoke) -> None:
    np.save("x.npy", np.full((4, 8), 3, "f4"))
    toml = TOML.replace("x = { range = [-1, 1] }", 'x = { file = "x.npy" }')
    toml = toml.replace("normal = [0, 0.5]", "normal = [0, 0]")
    (work / "olympus.toml").write_text(toml)
    (work / "program.py").write_text(PROGRAM.replace("jnp.tanh(x @ w)", "x[:, :3] + w[:4]"))
    ran = invoke("run", "forward", "--json")
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["outputs"][0]["mean"] == 3.0
    assert invoke("bench", "forward", "--time-limit", "0.1").exit_code == 0
    target = load_project(work).targets["forward"]
    assert target.inputs["w"] == InputSpec(normal=(0, 0))


@pytest.mark.parametrize(
    ("program", "remedy"),
    [
        ("jnp.exp(-x * x) / jnp.exp(-x * x).sum()", "'div' divides two exponentials that are both"),
        ("jnp.log(olympus.nn.sigmoid(x))", "directly, for example with logsumexp, log_softmax or"),
        ("jnp.log1p(jnp.exp(x))", "directly, for example with logaddexp or softplus"),
    ],
)
def test_the_remedy_fits_the_operation_that_reverses_an_exponential(
    work: Path, invoke: Invoke, program: str, remedy: str
) -> None:
    source = f"import olympus\nimport olympus.numpy as jnp\ndef f(x):\n    return {program}\n"
    (work / "reverses.py").write_text(source)
    result = invoke("verify", "reverses:f", "--shapes", "f32[4]")
    assert result.exit_code == 1
    assert remedy in result.stderr
    assert ("such as the maximum" in result.stderr) == (" / " in program)


def test_each_operation_that_reverses_an_exponential_has_a_remedy() -> None:
    assert show._REVERSED.keys() == ranges._REVERSED.keys()
