"""Keys of a matrix in braces: every value of a target may use them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from olympus.errors import SpecError
from olympus_cli.spec.project import load_project

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus.numpy as jnp


def total(u):
    return u.sum()


def scaled(u, n=3):
    return u * n


def needs(u, n):
    return u * n


def ones(n=4):
    assert isinstance(n, int)
    return jnp.ones((n,))


def named(name):
    return jnp.full((4,), float(len(name)))
"""

HEAD = '[target.t]\nentry = "m.py:total"\n'


@pytest.fixture
def work(folder: Path) -> Path:
    """The working directory with the program."""
    (folder / "m.py").write_text(PROGRAM)
    return folder


def result_of(work: Path, invoke: Invoke, target: str) -> float:
    done = invoke("run", target, "-o", "out.npz")
    assert done.exit_code == 0, done.stderr
    return float(np.load(work / "out.npz")["result"])


def test_inputs_use_the_values_of_the_matrix(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(
        HEAD + 'args.u = "f32[{n}]"\nmatrix.n = [4, 8]\n'
        'inputs.u = { from = "m.py:ones", with = { n = "{n}" } }\n'
    )
    assert [result_of(work, invoke, f"t@n={n}") for n in (4, 8)] == [4, 8]
    np.save(work / "u4.npy", np.full(4, 5, np.float32))
    (work / "olympus.toml").write_text(
        HEAD + 'args.u = "f32[{n}]"\nmatrix.n = [4]\ninputs.u = { file = "u{n}.npy" }\n'
    )
    assert result_of(work, invoke, "t@n=4") == 20


def test_a_key_used_only_in_inputs_is_no_static(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(
        HEAD + 'args.u = "f32[4]"\nmatrix.case = ["a", "bcd"]\n'
        'inputs.u = { from = "m.py:named", with = { name = "<{case}>" } }\n'
    )
    assert [result_of(work, invoke, f"t@case={case}") for case in ("a", "bcd")] == [12, 20]


def test_the_line_of_the_hint_is_accepted(work: Path, invoke: Invoke) -> None:
    text = HEAD + 'args.u = "f32[{n}]"\nmatrix.n = [8]\ninputs.u = { from = "m.py:ones" }\n'
    (work / "olympus.toml").write_text(text)
    refused = invoke("run", "t")
    assert refused.exit_code == 2
    assert 'with = { n = "{n}" }' in refused.stderr
    (work / "olympus.toml").write_text(text.replace('s" }', 's", with = { n = "{n}" } }'))
    assert result_of(work, invoke, "t") == 8


def test_every_table_of_a_target_uses_the_values(work: Path) -> None:
    (work / "olympus.toml").write_text(
        """\
[target.t]
entry = "m.py:{name}"
args.u = "f32[8]"
static.config = { sizes = ["{n}"], text = "of {n}" }
donate = ["{arg}"]
backends = ["gpu:{n}xh200"]
mesh = { data = "{n}" }
optimize = "{profile}"
compiler-options = { xla_gpu_autotune_level = "{n}" }
inputs.u = { range = [0, "{n}"] }
tolerance = { rtol = "{n}%", float32 = { ulps = "{n}" } }
budget = { flops = "{n} MFLOP", operations = "{n}" }
bench = { threshold = "{n}%" }
golden = "{golden}"
trips = { "m.py:5" = "{n}" }
[target.t.matrix]
name = ["total"]
n = [2]
arg = ["u"]
profile = ["fast-build"]
golden = [true]
"""
    )
    (target,) = load_project(work).targets.values()
    assert target.entry == "m.py:total"
    assert target.static.keys() == {"config"}
    assert vars(target.static["config"])["value"] == {"sizes": [2], "text": "of 2"}
    assert (target.donate, target.optimize, target.golden) == (("u",), "fast-build", True)
    assert (target.mesh, target.num_devices) == ({"data": 2}, 2)
    assert target.compiler_options == {"xla_gpu_autotune_level": 2}
    assert target.inputs["u"].range == (0, 2)
    assert target.tolerance.numbers == {"rtol": 0.02}
    assert target.tolerance.dtypes == {"float32": {"ulps": 2.0}}
    assert target.budget.limits["flops"].most == 2e6
    assert target.budget.limits["operations"].most == 2
    assert target.bench.threshold == 0.02
    assert target.trips == {"m.py:5": 2}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('inputs.u = { from = "m.py:ones", with = { n = "{nope}" } }', "inputs.u.with.n"),
        ('inputs.u = { file = "{nope}.npy" }', "inputs.u.file"),
        ('budget.flops = "{nope}"', "budget.flops"),
        ('trips = { "m.py:5" = "{nope}" }', "trips.m.py:5"),
        ('donate = ["{nope}"]', "donate[0]"),
        ('static.n = ["{nope}"]', "static.n[0]"),
    ],
)
def test_another_name_in_braces_is_an_error(work: Path, line: str, place: str) -> None:
    (work / "olympus.toml").write_text(f'{HEAD}args.u = "f32[4]"\nmatrix.none = [1]\n{line}\n')
    with pytest.raises(SpecError, match="is not a key of the matrix") as caught:
        load_project(work)
    assert f"olympus.toml:5: target.t.{place} has {{nope}}, " in str(caught.value)
    assert caught.value.hint == "did you mean none?"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("scaled", ["olympus.toml:4: target.t.matrix.n: scaled would take n = 3 for every n"]),
        ("needs", ["needs needs argument 'n'"]),
    ],
)
def test_a_key_with_the_name_of_a_default_is_an_error(
    work: Path, invoke: Invoke, function: str, words: list[str]
) -> None:
    head = f'[target.t]\nentry = "m.py:{function}"\nargs.u = "f32[4]"\nmatrix.n = [1, 2]\n'
    text = head + 'budget.flops = "{n} MFLOP"\n'
    (work / "olympus.toml").write_text(text)
    refused = invoke("trace", "t@n=1")
    assert refused.exit_code == 2
    shown = " ".join(refused.stderr.split())
    for fragment in (*words, 'static.n = "{n}" in [target.t]'):
        assert fragment in shown
    (work / "olympus.toml").write_text(text + 'static.n = "{n}"\n')
    (target,) = load_project(work).select(["t@n=2"])
    assert target.static == {"n": 2}
    assert invoke("trace", "t@n=2").exit_code == 0


def test_a_text_as_a_size_is_an_error_at_the_matrix(work: Path) -> None:
    text = HEAD + 'args.u = ["f32[8]", "f32[{n},8]"]\nmatrix.n = [4, "one"]\n'
    (work / "olympus.toml").write_text(text)
    with pytest.raises(SpecError) as caught:
        load_project(work)
    assert "olympus.toml:4: target.t.matrix.n has 'one', and args.u.1 has {n} as a size" in str(
        caught.value
    )
    assert caught.value.hint == "write whole numbers, such as n = [1, 8]"
    (work / "olympus.toml").write_text(text.replace('"one"', '"8"').replace("f32[8", "{n}[8"))
    with pytest.raises(SpecError, match="expected a shape, found '4'"):
        load_project(work)
