"""Meshes and shardings of arguments in `olympus.toml`, and mistakes in them."""

from __future__ import annotations

import pytest

from olympus.errors import SpecError
from olympus_cli.spec.backends import backend_text, parse_backend
from olympus_cli.spec.mesh import sharding_text
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke
from tests.cli.mesh.project import ARGS, written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = { shape = "f32[7,16]", sharding = ["data"] }', "dimension 0, which has 7 elements, "
         "along the axis 'data' of 2: they do not divide into 2 equal parts"),
        ('x = { shape = "f32[8]", sharding = [["data", "model"], ""] }', "has 2 entries, one for"),
        ('x = { shape = "f32[]", sharding = ["data"] }', "has 1 entry, one for each dimension"),
        ('x = { shape = "f32[8]", sharding = ["modle"] }', "names the axis 'modle', which the"),
        ('x = { shape = "f32[8,8]", sharding = ["data", "data"] }', "names the axis 'data' twice"),
        ('x = { shape = "f32[8,8]", sharding = [["data", "data"]] }', "'data' twice"),
        ('x = { shape = "f32[8]", sharding = [1] }', "must be the name of an axis, an array"),
        ('x = { shape = "f32[8]", sharding = [[""]] }', "must be the name of an axis, an array"),
        ('x = { shape = "{ a = f32[8] }", sharding = ["data"] }', "is for one array, and shape"),
        ('x = { from = "layers:init", sharding = "data" }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", sharding = "data" }', "must be an array with an entry"),
        ('x = { from = "layers:init", sharding = ["dat"] }', "names the axis 'dat', which the"),
        ('x = { shape = "f32[8]", shardng = ["data"] }', "has no key 'shardng'"),
        ('x = { shape = "f32[8]", shards = [["data", "model"]] }', "has no key 'shards'"),
        ('x = { sharding = ["data"] }', "has a sharding and no shape"),
        ('x = { shap = "f32[8]", sharding = ["data"] }', "has a sharding and no shape"),
        ('x = { sharding = [] }', "has a sharding and no shape"),
        ('x = { sharding = "data" }', "has a sharding and no shape"),
        ('x = { sharding = { 0 = "data" } }', "has a sharding and no shape"),
        ('x = { shard = ["data"] }', "has 'shard', which no argument has, and no shape"),
        ('x = { shape = "f32[8]", sharding = { 0 = "data" } }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", sharding = 3 }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", shardings = "data" }', "has no key 'shardings'"),
        ('x = { from = "layers:init", shard = ["data"] }', "has no key 'shard'"),
        ('x = { from = "layers:init", shape = "f32[8]" }', "has no key 'shape'"),
    ],
)  # fmt: skip
def test_mistakes_in_shardings_have_their_place(folder, text, message) -> None:
    (folder / "olympus.toml").write_text(f"{ARGS}[target.f.args]\n{text}\n")
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert message in str(caught.value)
    assert "olympus.toml:5: target.f.args.x" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mesh = 8", "mesh must be a table"),
        ("mesh = { data = 0 }", "mesh.data must be a whole number of devices from 1 to 1024"),
        ("mesh = { data = true }", "mesh.data must be a whole number"),
        (
            "mesh = { data = 1024, model = 2 }",
            "mesh has 2048 devices, and at most 1024 are allowed",
        ),
        ('mesh = { "a b" = 2 }', "mesh has the axis 'a b'"),
        (
            'mesh = { data = 16 }\nbackends = ["gpu:8xh200"]',
            "backends has 8xh200 of 8 devices, and",
        ),
        ('backends = ["gpu:0xh200"]', "from 1 to 1024 devices, and '0xh200' has 0"),
        ('out-sharding = ["data"]', "names the axis 'data', and the target has no mesh"),
        ('mesh = { data = 2 }\nout-sharding = { a = ["x"] }', "out-sharding.a names the axis 'x'"),
    ],
)
def test_mistakes_in_meshes_have_their_place(folder, text, message) -> None:
    (folder / "olympus.toml").write_text(f'[target.f]\nentry = "layers:both"\n{text}\n')
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = "f32[8]"', "has a mesh of 8 devices, and no argument or result has a sharding"),
        (
            'x = { from = "layers:init", sharding = ["", "", "data"] }',
            "has 3 entries, one for each",
        ),
    ],
)
def test_mistakes_that_need_the_program(folder, invoke: Invoke, text, message) -> None:
    written(folder, f"{ARGS}[target.f.args]\n{text}\n")
    result = invoke("lower", "f")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("sharding", "hint"), [("data", 'write sharding = ["data"]'), ("", "write sharding = []")]
)
def test_a_hint_adds_missing_brackets(folder, sharding: str, hint: str) -> None:
    argument = f'x = {{ shape = "f32[8]", sharding = "{sharding}" }}'
    (folder / "olympus.toml").write_text(f"{ARGS}[target.f.args]\n{argument}\n")
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert f"got '{sharding}'" in str(caught.value)
    assert caught.value.hint == hint


@pytest.mark.parametrize("key", ['["f32[3]"]', '[["f32[3]"]]', "[]", '[{ a = "f32[]" }]'])
def test_a_dict_with_the_key_shape_is_a_pytree(folder, key: str) -> None:
    text = f'[target.f]\nentry = "layers:both"\nargs = [{{ shape = "f32[2]", b = {key} }}]'
    (folder / "olympus.toml").write_text(text)
    (argument,) = load_project(folder).targets["f"].args
    assert isinstance(argument, dict)


def test_a_dict_with_keys_of_a_table_is_a_pytree(folder) -> None:
    text = '[target.f]\nentry = "layers:both"\nargs = [{ shape = "f32[2]", sharding = ["f32[3]"] }]'
    (folder / "olympus.toml").write_text(text)
    (argument,) = load_project(folder).targets["f"].args
    assert isinstance(argument, dict)
    assert sorted(argument) == ["shape", "sharding"]


@pytest.mark.parametrize("text", ["cpu", "gpu:h200", "gpu:8xh200", "gpu:2x8xa100-80"])
def test_backends_are_read_as_they_are_written(text) -> None:
    assert backend_text(parse_backend(text)) == text


def test_the_text_of_a_sharding() -> None:
    assert sharding_text(()) == "[]"
    assert sharding_text(((), ("a",), ("a", "b"))) == '["", "a", ["a", "b"]]'
