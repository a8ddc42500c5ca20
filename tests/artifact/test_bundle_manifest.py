"""The parser of manifests and the published schema accept the same manifests."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import olympus_core
from olympus import artifact
from olympus.errors import ArtifactError
from olympus_core.artifact.manifest_schema import manifest_schema
from olympus_core.artifact.reading import StagesReader
from tests.artifact.bundles import change_manifest, members_of

SCHEMA = json.loads((files("olympus_core.artifact") / "bundle.schema.json").read_text())
VALID = jsonschema.Draft202012Validator(SCHEMA).is_valid

Path_ = tuple[Any, ...]
PARAMS = ("signature", "argument_tree", "items", 0, "items", 0)
ARGUMENT = ("signature", "arguments", 0)
TREE = ("signature", "argument_tree")


def put(*path: Any, value: Any) -> Callable[[Any], Any]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any], Any]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


# Manifests that the parser and the schema refuse, and the messages of the parser.
REFUSED = {
    "name": (put("name", value=3), "name must be text, and is 3"),
    "entry": (drop("entry"), "the document has no 'entry'"),
    "more": (put("more", value=3), "the document has an unknown field 'more'"),
    "versions": (put("versions", value=[]), r"versions must be an object, and is \[\]"),
    "option": (put("compiler_options", value={"a": None}), "compiler_options.a must be text or a"),
    "programs": (put("programs", value={}), "programs must be an object with a backend's program"),
    "members": (put("members", value=None), "members must be an object, and is None"),
    "static": (put("signature", "static", value=[]), "signature.static must be an object"),
    "arguments": (put("signature", "arguments", value={}), "signature.arguments must be an array"),
    "argument": (drop(*ARGUMENT, "dtype"), r"arguments\[0\] has no 'dtype'"),
    "dtype": (put(*ARGUMENT, "dtype", value="f32"), "must be the name of a dtype, and is 'f32'"),
    "dtype 3": (put(*ARGUMENT, "dtype", value=3), r"arguments\[0\].dtype must be text, and is 3"),
    "shape": (put(*ARGUMENT, "shape", value=[-1]), r"shape\[0\] must be an integer of 0 or more"),
    "shape true": (put(*ARGUMENT, "shape", value=[True]), r"shape\[0\] must be an integer"),
    "weak": (put(*ARGUMENT, "weak_type", value=0), "weak_type must be true or false, and is 0"),
    "result": (put("signature", "results", 0, "name", value=3), r"results\[0\].name must be text"),
    "tree": (put(*TREE, value={"kind": "set"}), "argument_tree.kind must be one of leaf, none"),
    "node": (put(*TREE, value={}), "argument_tree must be a node of a tree"),
    "node kind": (put(*TREE, "kind", value=["leaf"]), r"argument_tree.kind must be one of"),
    "leaf": (put(*TREE, "items", 1, "items", 0, "items", value=[]), "an unknown field 'items'"),
    "keys": (put(*TREE, "items", 1, "keys", value=[None]), "must be text or an integer"),
    "a key of nothing": (
        put(*TREE, value={"kind": "key", "items": []}),
        "argument_tree.items must be one array of words",
    ),
    "no type": (put(*TREE, value={"kind": "custom", "items": []}), "argument_tree has no 'type'"),
    "backend": (put("executables", 0, "backend", value="fpga"), "no backend is named 'fpga'"),
    "features": (put("executables", 0, "host", "cpu_features", value="avx"), "must be an array"),
    "digest": (put("members", "program.olympuspr", "sha256", value="00"), "64 hexadecimal digits"),
    "size": (put("members", "program.olympuspr", "size", value=1.5), "size must be an integer"),
}
# Manifests that only the parser refuses.
NONSENSE = {
    "device": (
        put("executables", 0, "device", value="h100/x"),
        "the backend 'cpu' takes no device name, and got 'h100/x'",
    ),
    "no member": (put("executables", 0, "member", value="a"), "the name of a member, and is 'a'"),
    "no program": (put("programs", "cpu", value="a"), "the name of a member, and is 'a'"),
    "no dtype": (put(*ARGUMENT, "dtype", value="float31"), "the name of a dtype"),
    "leaves": (put(*PARAMS, "items", 0, "kind", value="none"), "has 3 leaves"),
    "results": (put("signature", "results", value=[]), "result_tree has 3 leaves for 0 arrays"),
    "no pair": (put(*TREE, "kind", value="list"), "must be a pair of a tuple and a dict"),
    "order": (put(*PARAMS, "keys", value=["w", "b"]), "and in order"),
    "mixed": (put(*PARAMS, "keys", value=["w", 1]), "and in order"),
    "one key": (put(*PARAMS, "keys", value=["w"]), "one key for each item"),
    "same key": (put(*PARAMS, "keys", value=["w", "w"]), "one key for each"),
}


def test_the_shipped_schema_is_that_of_the_types(request: pytest.FixtureRequest) -> None:
    path = Path(olympus_core.__file__).parent / "artifact/bundle.schema.json"
    text = f"{artifact.indented(manifest_schema())}\n"
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "pytest --update-golden renews it"


@pytest.mark.parametrize("levels", [98, 400])
def test_a_deep_tree_is_refused(bundle: Path, levels: int) -> None:
    node: Any = {"kind": "leaf"}
    for _ in range(levels):
        node = {"kind": "list", "items": [node]}
    data = json.loads(members_of(bundle)["manifest.json"])
    put(*PARAMS, "items", 0, value=node)(data)
    with pytest.raises(ArtifactError, match="a tree is nested more than 100 deep"):
        _parse(data)


def test_the_error_is_about_the_first_wrong_field(bundle: Path) -> None:
    data = json.loads(members_of(bundle)["manifest.json"])
    data.update(dict.fromkeys(["one", *map(str, range(30))], 1))
    with pytest.raises(ArtifactError, match="has an unknown field 'one'"):
        _parse(data)


@pytest.mark.parametrize("name", [*REFUSED, *NONSENSE])
def test_a_wrong_manifest_is_refused(bundle: Path, name: str) -> None:
    change, message = (REFUSED | NONSENSE)[name]
    change_manifest(bundle, change)
    assert VALID(json.loads(members_of(bundle)["manifest.json"])) == (name in NONSENSE)
    with pytest.raises(ArtifactError, match=message) as caught:
        artifact.load(bundle)
    assert "\n" not in str(caught.value)


def paths(value: Any, path: Path_ = ()) -> list[Path_]:
    """Return the path of every part of a document."""
    parts: Any = ()
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(p for key, part in parts for p in paths(part, (*path, key)))][not path :]


def test_the_schema_accepts_each_manifest_that_the_parser_accepts(bundle: Path) -> None:
    members = members_of(bundle)
    original = json.loads(members["manifest.json"])
    accepted = refused = 0
    for path in paths(original):
        for value in (None, True, -1, 1.5, "text", [], [None], {}, {"a": 1}):
            data = copy.deepcopy(original)
            put(*path, value=value)(data)
            try:
                _parse(data)
                accepted += 1
            except ArtifactError:
                refused += 1
            else:
                assert VALID(data), f"{path} = {value}"
    assert refused > 500 and accepted > 20


def _parse(data: Any) -> None:
    StagesReader().parse(json.dumps(data).encode())
