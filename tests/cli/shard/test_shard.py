"""Shardings are tried and ranked; the output is a target that builds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from olympus_cli.shard.candidates import (
    Candidate,
    argument_name,
    combined,
    singles,
    toml_text,
    whole,
)
from olympus_cli.shard.result_pairs import ArgumentShapes, Plain, paired_results, results_like
from olympus_cli.shard.trial import TrialFigures, default_order
from olympus_cli.spec.model import ShapeSpec
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke
from tests.marks import needs_gpu_compiler

MODEL = """\
import olympus.numpy as np


def forward(params, x):
    return np.tanh(x @ params["w"])


def init():
    return {"w": np.zeros((16, 64))}


def odd(x):
    return x + 1


def total(x):
    return x.sum()
"""

TOML = """\
[target.forward]
entry = "dense:forward"

[target.forward.args]
params = { from = "dense:init" }
x = "f32[8,16]"
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "dense.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def test_candidates_are_ranked_and_the_best_is_valid_toml(work: Path, invoke: Invoke) -> None:
    result = invoke("shard", "forward", "--mesh", "data=2", "--by", "memory", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    rows = document["candidates"]
    assert document["mesh"] == {"data": 2}
    keys = [(row["peak"], row["collective_bytes"], row["seconds"]) for row in rows]
    assert keys == sorted(keys)
    splits = {row["split"] for row in rows}
    assert {'x ["data"]', 'params.w ["", "data"]', "nothing split"} <= splits
    replicated = next(row for row in rows if row["split"] == "nothing split")
    assert rows[0]["peak"] < replicated["peak"]
    (work / "olympus.toml").write_text(
        f'[target.forward]\nentry = "dense:forward"\n{rows[0]["toml"]}'
    )
    assert load_project(work).targets["forward"].mesh == {"data": 2}
    result = invoke("compile", "forward", "--json")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    assert (backend["devices"], backend["memory"]["peak"]) == (2, rows[0]["peak"])


TURNED = """\
def turned(w):
    return w.T @ w.T, w.sum()
"""


def test_results_of_a_step_have_the_shardings_of_its_arguments(
    folder: Path, invoke: Invoke
) -> None:
    """Also if the compiler would choose another sharding for the product."""
    (folder / "turning.py").write_text(TURNED)
    options = ("--shapes", "w=f32[32,32]", "--mesh", "data=2", "--by", "collectives", "--json")
    result = invoke("shard", "turning:turned", *options)
    assert result.exit_code == 0, result.stderr
    rows = {row["split"]: row for row in json.loads(result.stdout)["candidates"]}
    row = rows['w ["", "data"]']
    assert row["toml"].endswith('sharding = ["", "data"] }\nout-sharding = { 0 = ["", "data"] }')
    (folder / "olympus.toml").write_text(f'[target.f]\nentry = "turning:turned"\n{row["toml"]}')
    result = invoke("compile", "f", "--json", "--output", "out")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    sent = sum(row["bytes"] * row["calls"] for row in backend["collectives"])
    assert (backend["memory"]["peak"], sent) == (row["peak"], row["collective_bytes"])


OF_JAX = """\
import dataclasses

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: jax.Array


def init():
    return State(jnp.zeros((16, 64)))


@jax.jit
def forward(state, x):
    return jnp.tanh(x @ state.w)
"""


def test_an_argument_may_be_a_container_of_jax(folder: Path, invoke: Invoke) -> None:
    (folder / "of_jax.py").write_text(OF_JAX)
    (folder / "olympus.toml").write_text(
        '[target.f]\nentry = "of_jax:forward"\n'
        'args = { state = { from = "of_jax:init" }, x = "f32[8,16]" }\n'
    )
    result = invoke("shard", "f", "--mesh", "data=2", "--json")
    assert result.exit_code == 0, result.stderr
    rows = {row["split"]: row["toml"] for row in json.loads(result.stdout)["candidates"]}
    assert 'args.state = { from = "of_jax:init" }' in rows['x ["data"]']


def test_results_replace_the_arguments_of_their_type() -> None:
    w, x, lr = "f32[8]", "f32[4]", "f32[]"
    tree = {"a": w, "b": [x, lr]}

    def arguments(*shapes: Plain, donated: str = "") -> list[ArgumentShapes]:
        names = "wxyz"
        return [
            ArgumentShapes((n,), n, s, n in donated) for n, s in zip(names, shapes, strict=False)
        ]

    assert paired_results(arguments(w, x), w) == {(): ("w",)}
    assert paired_results(arguments(tree, x), [tree, lr]) == {(0,): ("w",)}
    assert paired_results(arguments(w, w, x), [w, w, lr]) == {(0,): ("w",), (1,): ("x",)}
    assert paired_results(arguments(w, w), [w, lr]) == {}  # ambiguous
    assert paired_results(arguments(w, w, donated="x"), [w, lr]) == {(0,): ("x",)}
    assert paired_results(arguments(w, w), {"x": w, "loss": lr}) == {("x",): ("x",)}
    assert paired_results(arguments(w, w), {"z": w, "x": w}) == {("z",): ("w",), ("x",): ("x",)}
    assert paired_results(arguments(w, None), [None, lr]) == {}
    assert paired_results([], None) == {}
    pairs = {(0,): ("w",)}
    shardings = {("w", "a"): (("data",),), ("w", "b", 1): (), ("x",): ()}
    assert results_like(pairs, shardings) == {"0": {"a": (("data",),), "b": {"1": ()}}}
    assert results_like({(): ("x",)}, shardings) == ()
    assert results_like({}, shardings) is None


@needs_gpu_compiler
def test_a_search_for_missing_gpus(work: Path, invoke: Invoke) -> None:
    options = ("--shapes", "f32[64]", "--mesh", "data=4", "--device", "4xh200", "--by", "time")
    result = invoke("shard", "dense:odd", *options)
    assert result.exit_code == 0, result.stderr
    assert (
        "# figures of one of 4 devices; the best split, for olympus.toml:\nmesh = { data = 4 }"
        in result.stdout
    )
    assert 'argument 1 ["data"]' in result.stdout
    assert "yes" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "has no mesh of several devices"),
        (("--mesh", "data=1"), "has no mesh of several devices"),
        (("--mesh", "data=3"), "no axis of the mesh divides a dimension"),
        (("--mesh", "data"), "a mesh has axes with sizes, such as data=2,model=4, and this is"),
        (("--mesh", "data=2,"), "a mesh has axes with sizes"),
        (("--mesh", "data=0"), "the axis 'data' has the size '0', which is not a whole number of"),
        (("--mesh", "data=-2"), "the axis 'data' has the size '-2', which is not a whole number"),
        (("--mesh", "data=2.5"), "the axis 'data' has the size '2.5', which is not a whole number"),
        (("--mesh", "data="), "the axis 'data' has the size '', which is not a whole number"),
        (("--mesh", "data=2,data=4"), "the mesh has the axis 'data' twice"),
        (
            ("--mesh", "data=1000000"),
            "'data' has the size 1000000, and at most 1024 devices are allowed",
        ),
        (("--mesh", f"data={'9' * 5000}"), "and at most 1024 devices are allowed"),
        (("--mesh", ""), "data=2,model=4, and this text is empty"),
        (("--mesh", "a=1024,b=2"), "more than 1024 devices"),
        (("--mesh", "data=8", "--device", "4xh200"), "needs 8 devices, and gpu:4xh200 has 4"),
    ],
)
def test_mistakes_are_errors(work: Path, invoke: Invoke, options, message) -> None:
    result = invoke("shard", "dense:odd", "--shapes", "f32[8]", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


SPEC = """\
[target.f]
entry = "dense:forward"
mesh = { data = 2, model = 4 }
args = ["f32[8,12]", { "a b" = "bf16[6,64]", w = { from = "dense:init", with = { n = 3 } } }]
"""


def test_the_candidates_of_a_target(work: Path) -> None:
    (work / "olympus.toml").write_text(SPEC)
    spec = load_project(work).targets["f"]
    candidates = singles(spec)
    a, b = (0,), (1, "a b")
    assert [dict(candidate.shardings) for candidate in candidates] == [
        {b: (("data",),)},
        {b: ((), ("data",))},
        {a: (("data",),)},
        {a: ((), ("data",))},
        {b: ((), ("model",))},
        {a: (("model",),)},
        {a: ((), ("model",))},
    ]
    assert whole(spec).shardings == {a: (), b: ()}
    assert Candidate({a: (("data",),), b: ((), ("model",))}) in combined(candidates, spec)
    assert all(candidate not in candidates for candidate in combined(candidates, spec))
    assert candidates[3].merged(candidates[6], spec) is None  # 12 is not divisible by 8
    assert candidates[2].merged(candidates[3], spec) is None  # one axis twice
    assert candidates[2].merged(candidates[5], spec) == Candidate({a: (("data", "model"),)})
    assert argument_name(b) == "argument 2.a b"


def test_the_batch_is_tried_beside_large_parameters(work: Path) -> None:
    layers = {f"w{i}": ShapeSpec("float32", (64, 64)) for i in range(6)}
    tokens, rate = ShapeSpec("int32", (16, 33)), ShapeSpec("float32", ())
    (work / "olympus.toml").write_text(SPEC)
    spec = replace(load_project(work).targets["f"], args=(layers, tokens, rate))
    candidates = singles(spec)
    assert len(candidates) == 4 * 2 * 2 + 2
    assert candidates[-2:] == [Candidate({(1,): (("data",),)}), Candidate({(1,): (("model",),)})]
    assert Candidate({(0, "w0"): (("model",),), (1,): (("data",),)}) in combined(candidates, spec)
    with_many_inputs = replace(spec, args=(layers, *[tokens] * 30))
    assert len(singles(with_many_inputs)) == 4 * 2 * 2 + 8
    assert {
        next(iter(candidate.shardings.values())) for candidate in singles(with_many_inputs)[-8:]
    } == {(("data",),)}


def test_a_comment_reports_that_no_split_reduces_the_bytes(work: Path, invoke: Invoke) -> None:
    options = ("--shapes", "f32[8]", "--mesh", "data=2")
    comment = "# no split of an argument reduces the bytes of collectives\n"
    result = invoke("shard", "dense:total", *options, "--by", "collectives")
    assert result.exit_code == 0, result.stderr
    assert comment in result.stdout
    result = invoke("shard", "dense:odd", *options)
    assert "brings nothing" not in result.stdout


def test_the_printed_toml_has_the_keys_of_the_target(work: Path) -> None:
    (work / "olympus.toml").write_text(SPEC)
    spec = load_project(work).targets["f"]
    (work / "olympus.toml").write_text(f'[target.f]\nentry = "dense:forward"\n{toml_text(spec)}')
    again = load_project(work).targets["f"]
    assert (again.mesh, again.args) == (spec.mesh, spec.args)


SMOOTHER = """\
import olympus.numpy as jnp
from olympus import lax


def init():
    return {"F": jnp.eye(4), "Q": 0.01 * jnp.eye(4), "H": jnp.eye(2, 4), "R": 0.1 * jnp.eye(2)}


def smooth(model, ys):
    F, Q, H, R = model["F"], model["Q"], model["H"], model["R"]

    def forward(carry, y):
        m, P = carry
        ahead, spread = F @ m, F @ P @ F.T + Q
        S = H @ spread @ H.T + R
        K = jnp.linalg.solve(S, H @ spread).T
        new = ahead + K @ (y - H @ ahead), spread - K @ S @ K.T
        return new, (*new, ahead, spread)

    def backward(carry, each):
        later, covariance = carry
        m, P, ahead, spread = each
        G = jnp.linalg.solve(spread, F @ P).T
        new = m + G @ (later - ahead), P + G @ (covariance - spread) @ G.T
        return new, new

    last, (ms, Ps, aheads, spreads) = lax.scan(forward, (jnp.zeros(4), jnp.eye(4)), ys)
    each = ms[:-1], Ps[:-1], aheads[1:], spreads[1:]
    return lax.scan(backward, last, each, reverse=True)[1]
"""

SMOOTHER_TOML = """\
[target.kf]
entry = "kalman:smooth"
matrix = { steps = [64] }

[target.kf.args]
model = { from = "kalman:init" }
ys = "f32[{steps},2]"
"""


@pytest.mark.night
def test_the_order_is_by_time_if_every_candidate_fits(folder: Path, invoke: Invoke) -> None:
    """Splitting a 4x4 matrix of a Kalman smoother saves almost no memory."""
    (folder / "kalman.py").write_text(SMOOTHER)
    (folder / "olympus.toml").write_text(SMOOTHER_TOML)
    result = invoke("shard", "kf", "--mesh", "data=4", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["by"] == "time"
    seconds = [row["seconds"] for row in document["candidates"]]
    assert seconds == sorted(seconds)
    assert "model" not in document["candidates"][0]["split"]
    rows = {row["split"]: row["toml"].splitlines() for row in document["candidates"]}
    assert rows['ys ["data"]'] == [
        "mesh = { data = 4 }",
        'args.model = { from = "kalman:init" }',
        'args.ys = { shape = "f32[{steps},2]", sharding = ["data"] }',
    ]
    assert rows["nothing split"][1:] == [
        'args.model = { from = "kalman:init", sharding = [] }',
        'args.ys = { shape = "f32[{steps},2]", sharding = [] }',
    ]
    assert rows['model.F ["data"]'][2] == 'args.ys = "f32[{steps},2]"'
    for lines in rows.values():
        text = SMOOTHER_TOML.partition("\n\n")[0] + "\n" + "\n".join(lines)
        (folder / "olympus.toml").write_text(text)
        assert load_project(folder).targets["kf@steps=64"].mesh == {"data": 4}


def test_the_order_is_by_memory_if_a_candidate_does_not_fit() -> None:
    fitting, large = (
        TrialFigures(peak=1, seconds=2.0, fits=True),
        TrialFigures(peak=9, seconds=1.0, fits=False),
    )
    assert default_order([fitting, replace(fitting, fits=None)]) == "time"
    assert default_order([fitting, large]) == "memory"
