"""Shardings of results in `olympus.toml`: by keys, for parts, and unspecified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus.errors import UsageError
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke
from tests.cli.mesh.project import ARGS, OWN, OWN_TARGET, written


def test_results_of_a_dict_have_their_own_shardings(folder, invoke: Invoke) -> None:
    text = f'{ARGS}out-sharding = {{ a = ["model"], b = [] }}\n[target.f.args]\nx = "f32[8]"\n'
    written(folder, text)
    result = invoke("lower", "f")
    assert result.exit_code == 0, result.stderr
    assert '<@mesh, [{"model"}]>' in result.stdout


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        ('["", "data"]', "out-sharding of f has 2 entries, one for each dimension, and "
         "result['a'] (float32[7]) has 1"),
        ('{ b = ["data"] }', "out-sharding.b of f has 1 entry, one for each dimension, and "
         "result['b'] (float32[]) has 0 hint: write [] for a scalar"),
        ('{ a = ["data"] }', "out-sharding.a of f splits dimension 0 of result['a'] (float32[7]), "
         "which has 7 elements, along the axis 'data' of 2: they do not divide into 2 equal"),
        ('{ c = ["data"] }', "out-sharding of f has the key 'c', which the result does not have "
         "hint: its keys are a, b"),
        ('{ b = { x = [] } }', "out-sharding.b of f is a table, with a sharding for each key of a "
         "dict or position in a tuple, and result['b'] is an array hint: write b = [\"data\"]"),
    ],
)  # fmt: skip
def test_out_shardings_that_do_not_match_are_errors_with_their_key(
    folder, invoke: Invoke, sharding, message
) -> None:
    """The message names the key of the file, and no line of the function, which is correct."""
    written(folder, f'{ARGS}out-sharding = {sharding}\n[target.f.args]\nx = "f32[7]"\n')
    result = invoke("lower", "f")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "layers.py" not in result.stderr
    assert "PyTreeDef" not in result.stderr


SEVERAL = """\
from collections import OrderedDict
from typing import NamedTuple

import olympus


class Two(NamedTuple):
    a: object
    b: object


def pair(x):
    return x + 1, [x * 2, x.sum()]


def named(x):
    return Two(x + 1, (x * 2, x.sum()))


def ordered(x):
    return OrderedDict(b=x + 1, a=(x * 2, x.sum()))


def numbered(x):
    return {"0": x + 1, "1": [x * 2, x.sum()]}


class State(dict):
    pass


def rebuilt(keys, parts):
    return State(zip(keys, parts, strict=True))


olympus.tree_util.register_pytree_with_keys(
    State,
    lambda s: ([(olympus.tree_util.DictKey(k), v) for k, v in s.items()], tuple(s)),
    rebuilt,
)


def custom(x):
    return State(b=x + 1, a=[x * 2, x.sum(), None])
"""


@pytest.mark.parametrize(
    ("name", "key"), [("named", 1), ("ordered", "a"), ("numbered", 1), ("custom", "a")]
)
def test_parts_of_results_have_their_own_shardings(folder, name: str, key: Any) -> None:
    traced = traced_with(folder, name, f'{{ {key} = {{ 0 = ["data"] }} }}')
    first, second, third, *_ = olympus.tree.leaves(traced.output_shardings, lambda s: s is None)
    assert (first, second.spec, third) == (None, olympus.P("data"), None)


ENTRIES = "has 1 entry, one for each dimension, and result"


@pytest.mark.parametrize(
    ("name", "sharding", "message"),
    [
        ("pair", "{ 2 = [] }", "has the key '2', which the result does not have"),
        ("pair", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}[1][1]"),
        ("numbered", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}['1'][1]"),
        ("named", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}.b[1]"),
    ],
)
def test_messages_name_parts_of_results_by_their_path(
    folder, name: str, sharding: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        traced_with(folder, name, sharding)
    assert f"of f {message}" in str(caught.value)


def traced_with(folder: Path, name: str, sharding: str) -> Any:
    """A function of `several.py`, traced for a target with `out-sharding` set to `sharding`."""
    (folder / "several.py").write_text(SEVERAL)
    text = f'entry = "several:{name}"\nmesh = {{ data = 2 }}\nargs.x = "f32[8]"\n'
    (folder / "olympus.toml").write_text(f"[target.f]\n{text}out-sharding = {sharding}")
    return load_target(load_project(folder).targets["f"]).trace()


def test_an_empty_table_of_results_has_no_effect(folder, invoke: Invoke) -> None:
    (folder / "own.py").write_text(OWN)
    (folder / "olympus.toml").write_text(f"{OWN_TARGET}out-sharding = {{}}\n")
    result = invoke("lower", "turned")
    assert result.exit_code == 0, result.stderr
    assert "sdy.sharding" in result.stdout


def test_the_compiler_chooses_the_shardings_of_unspecified_results(folder, invoke: Invoke) -> None:
    text = f'{ARGS}out-sharding = {{ a = ["model"] }}\n[target.f.args]\nx = "f32[8]"\n'
    written(folder, text)
    result = invoke("lower", "f")
    assert result.exit_code == 0, result.stderr
    assert '<@mesh, [{"model"}]>' in result.stdout
    (results,) = (line.partition("->")[2] for line in result.stdout.splitlines() if "@main" in line)
    assert results.count("#sdy.sharding<") == 1
