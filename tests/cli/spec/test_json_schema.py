"""The JSON Schema accepts the project files of the repository, and refuses what the parser does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli

from olympus.errors import SpecError
from olympus_cli.commands.init import TEMPLATES
from olympus_cli.spec.json_schema import SCHEMA_FILE, project_schema
from olympus_cli.spec.key_descriptions import key_descriptions
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke
from tests.documents.documents import ROOT, read

VALIDATOR = jsonschema.Draft202012Validator(project_schema())
FILES = sorted(
    path
    for folder in ("examples", "docs")
    for path in (ROOT / folder).rglob("*.toml")
    if path.name == "olympus.toml"
)
T = '[target.t]\nentry = "m:f"\n'

#: Files that are valid but use forms that the examples do not.
RIGHT = (
    'extends = "../base.toml"\n[defaults]\noptimize = "{o}"\n',
    T + 'args = ["f32[2]", { from = "m:f", with = { n = 2 } }, [{ a = "{w=f32[2]}" }]]\n',
    T + 'args.x = { shape = "f32[2]", sharding = ["", ["a", "b"]] }\n',
    T + 'args.x = { type = "m:C", a = "f32[2]", type2 = { type = "m:D" } }\n',
    T + 'as-is = "{flag}"\nmatrix.flag = [true, false]\n',
    T + 'static.c = { from = "m:C" }\nstatic.d = 1979-05-27\n',
    T + "budget.peak_memory = 3\nbudget.flops = '+1%'\n",
    T + "bench = { threshold = 0.1, metrics = ['steady_call'] }\n",
    T + "tolerance.bfloat16.rtol = '2%'\n",
    T + 'inputs.x = { from = "m:f", with = { n = 2 } }\n',
    T + 'out-sharding = { a = ["data"], b = { c = [""] } }\nmesh.data = 2\n',
    '[device.d]\nlike = "v6e"\nmemory = 1\ntensor_tflops.bfloat16 = 1.5\n',
)
#: Files that both the schema and the parser refuse.
WRONG = (
    "extends = 3\n",
    "targets = {}\n",
    "project = 3\n",
    "[project]\nbuild-dir = 3\n",
    "[project]\nbuild_dir = 'b'\n",
    "[project]\ndefault-targets = 'a'\n",
    "[project]\npython-path = [1]\n",
    "[project]\nhistory = ''\n",
    "[defaults]\noptimise = 'default'\n",
    '[target."a b"]\nentry = "m:f"\n',
    "[target]\nt = 3\n",
    "[target.t]\nentry = 'forward'\n",
    "[target.t]\nentry = 3\n",
    T + "optimize = 'fast'\n",
    T + "optimize = 3\n",
    T + "repeats = true\n",
    T + "frontend = 'tensorflow'\n",
    T + "weights = 'none'\n",
    T + "x64 = 'yes'\n",
    T + "as-is = 1\n",
    T + "golden = 'true'\n",
    T + "env = { A = 1 }\n",
    T + "env = { 'A B' = '1' }\n",
    T + "env = ['A=1']\n",
    T + "args = 'f32[2]'\n",
    T + "args.x = 'float'\n",
    T + "args.x = true\n",
    T + "args.x = { from = 3 }\n",
    T + "args.x = { from = 'm:f', wiht = {} }\n",
    T + "static = 3\n",
    T + "donate = 'x'\n",
    T + "backends = []\n",
    T + "backends = ['cuda']\n",
    T + "backends = 'cpu'\n",
    T + "mesh = { data = 0 }\n",
    T + "mesh = { 'a b' = 2 }\n",
    T + "mesh = ['data']\n",
    T + "out-sharding = 'data'\n",
    T + "matrix = { n = [] }\n",
    T + "matrix = { n = 3 }\n",
    T + "matrix = { n = [{}] }\n",
    T + "compiler-options = { a = [] }\n",
    T + "inputs.x = 3\n",
    T + "inputs.x = { range = [0] }\n",
    T + "inputs.x = { range = [0, 1], normal = [0, 1] }\n",
    T + "inputs.x = { file = 'x.npy', with = {}, normal = [0, 1] }\n",
    T + "tolerance.rtol = -1\n",
    T + "tolerance.ulp = 1\n",
    T + "tolerance.allow = ['inf', 'zero']\n",
    T + "tolerance.float32.allow = ['inf']\n",
    T + "trips = { 'model.py' = 3 }\n",
    T + "trips = { 'model.py:3' = -1 }\n",
    T + "budget.flop = 3\n",
    T + "budget.flops = true\n",
    T + "budget.donation = 'some'\n",
    T + "budget.forbid = 'f64'\n",
    "[budget]\nflops = []\n",
    "[bench]\nthreshold = 5\n",
    "[bench]\nmetrics = ['speed']\n",
    "[device.d]\nlike = 3\n",
    "[device.d]\nlike = 'h200'\nmemry = 3\n",
    "[device.d]\nlike = 'h200'\nmemory = 'much'\n",
    "[device.d]\nlike = 'h200'\ntflops = 3\n",
)


def data_of(text: str) -> Any:
    """The data of a TOML text as an editor has it: dates are strings."""
    return json.loads(json.dumps(tomli.loads(text), default=str))


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(project_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_project_of_the_repository_is_valid(path: Path) -> None:
    VALIDATOR.validate(data_of(read(path)))


def test_the_example_and_the_templates_are_valid() -> None:
    assert len(FILES) > 10
    VALIDATOR.validate(data_of(read(ROOT / "olympus.toml.example")))
    for files in TEMPLATES.values():
        VALIDATOR.validate(data_of(files["olympus.toml"]))
        assert files["olympus.toml"].startswith(f"#:schema {SCHEMA_FILE}\n")


def test_the_excerpts_of_the_reference_are_valid() -> None:
    text = read(ROOT / "docs/reference/olympus-toml.md")
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) > 3
    for block in blocks:
        data = data_of(block)
        VALIDATOR.validate(data.get("tool", {}).get("olympus", data))


@pytest.mark.parametrize("text", RIGHT)
def test_a_valid_form(text: str) -> None:
    VALIDATOR.validate(data_of(text))


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_refused_by_the_schema_and_by_the_parser(text: str, folder: Path) -> None:
    assert not VALIDATOR.is_valid(data_of(text)), text
    (folder / "olympus.toml").write_text(text)
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert re.match(r"olympus\.toml:\d+: ", str(caught.value)), caught.value


def test_every_key_has_a_title_and_a_description_without_links() -> None:
    def tables(schema: Any) -> Any:
        if isinstance(schema, dict):
            yield from schema.get("properties", {}).items()
            for part in schema.values():
                yield from tables(part)
        elif isinstance(schema, list):
            for part in schema:
                yield from tables(part)

    described: dict[str, list[Any]] = {}
    for key, schema in tables(project_schema()):
        described.setdefault(key, []).append(schema)
    for table, keys in key_descriptions().items():
        for key in keys:
            texts = [s for s in described[key] if s.get("title") == key and s.get("description")]
            assert texts, (table, key)
            assert not [s for s in texts if "](" in s["description"]]


def test_the_command_prints_and_writes_it(folder: Path, invoke: Invoke) -> None:
    assert json.loads(invoke("schema").stdout) == project_schema()
    assert json.loads(invoke("schema", "--json").stdout) == project_schema()
    result = invoke("schema", "--output", "s.json", "--json")
    assert json.loads(result.stdout) == {"output": "s.json"}
    assert json.loads((folder / "s.json").read_text()) == project_schema()
    assert invoke("init", "--template", "minimal").exit_code == 0
    assert (folder / SCHEMA_FILE).read_text() == (folder / "s.json").read_text()
