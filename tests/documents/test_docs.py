"""The reference pages agree with the code: names, primitives, options, keys, devices, exit codes.

Sections between `<!-- name -->` and `<!-- /name -->` are generated from the code; `--update-golden`
writes them anew.
"""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

import olympus
from olympus import errors
from olympus.stages import shipped_devices, shipped_tpus
from olympus_cli.reports.devices import COLUMNS, TPU_COLUMNS, device_row, tpu_row
from olympus_cli.spec.bench import GATED, THRESHOLD, parse_threshold
from olympus_cli.spec.key_descriptions import key_descriptions
from olympus_cli.spec.limits import LIMITED
from olympus_cli.spec.project import PROJECT_KEYS, TARGET_KEYS, load_project
from olympus_cli.spec.project_source import TABLES
from olympus_core.base.lazy_modules import absences, api, api_versions
from olympus_core.ir.primitive import op
from tests.documents.documents import ROOT, read
from tools.site import api as api_pages
from tools.site import commands, keys
from tools.site import errors as error_classes

DOCS = ROOT / "docs"
_NAME = re.compile(r"`([^`]+)`")
#: A variable of the environment in a source: one of our own, or a name that is read.
_VARIABLE = re.compile(r'\b(OLYMPUS_[A-Z0-9_]+)|(?:environ|getenv)[\w.]*[(\[]"([A-Z0-9_]+)"')


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of each line of a Markdown text that is a row of a table."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def section(text: str, heading: str) -> str:
    """Return the text under a heading, up to the next of its level."""
    found = re.search(rf"^{re.escape(heading)}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"heading {heading} is missing"
    return found.group()


def check_generated(document: Path, name: str, generated: str, update: bool) -> None:
    """Check that the section `name` of a document is `generated`, or update it."""
    before, opening, rest = read(document).partition(f"<!-- {name} -->\n")
    shown, closing, after = rest.partition(f"<!-- /{name} -->")
    assert opening and closing, f"{document.name} has no section {name}"
    if update:
        document.write_text(before + opening + generated + closing + after, encoding="utf-8")
    else:
        assert shown == generated, f"{name} in {document.name}: pytest --update-golden renews it"


# --- names of the API ---------------------------------------------------------------------------


def share_of_names() -> str:
    """A sentence with the number of public names, and the share of absent ones."""
    total = sum(map(len, api().values()))
    absent = sum(len(group.names) for group in absences())
    return (
        f"JAX {' and '.join(api_versions())} have {total} public names in {len(api())} modules, "
        f"without the packages in the first table. Of these names, {absent} "
        f"({absent / total:.1%}) are absent.\n"
    )


def test_absent_names_are_listed_with_reasons(request: pytest.FixtureRequest) -> None:
    packages = ["| packages | why |\n| --- | --- |\n"]
    rows = ["| namespace | absent | why |\n| --- | --- | --- |\n"]
    for why, names, former, whole in absences():
        if whole:
            packages.append(f"| {', '.join(f'`{x}`' for x in whole)} | {why} |\n")
        by_namespace = itertools.groupby([*former, *names], lambda name: name.rpartition(".")[0])
        for namespace, group in by_namespace:
            listed = ", ".join(f"`{name.rpartition('.')[2]}`" for name in group)
            rows.append(f"| `{namespace}` | {listed} | {why} |\n")
    text = "\n".join([share_of_names(), "".join(packages), "".join(rows)])
    update = request.config.getoption("--update-golden")
    check_generated(DOCS / "explanation/differences.md", "absent", f"\n{text}\n", update)


# --- primitives ---------------------------------------------------------------------------------


def families() -> dict[str, tuple[str, list[str]]]:
    """Each module of primitives: their description from its docstring, and their names."""
    names: dict[str, list[str]] = {}
    for primitive in op.every():
        if primitive.module.startswith("olympus_core."):
            names.setdefault(primitive.module, []).append(primitive.name)
    found = {}
    for module in sorted(names):
        text = importlib.import_module(module).__doc__ or ""
        sentence = text.partition("\n\n")[0].replace("\n", " ")
        found[module.removeprefix("olympus_core.")] = sentence, names[module]
    return found


def test_the_primitives_are_listed(request: pytest.FixtureRequest) -> None:
    rows = "".join(
        f"| `{family}` | {', '.join(f'`{name}`' for name in sorted(names))} | {sentence} |\n"
        for family, (sentence, names) in families().items()
    )
    generated = f"| module | primitives | what they are |\n| --- | --- | --- |\n{rows}"
    update = request.config.getoption("--update-golden")
    check_generated(DOCS / "explanation/olympuspr.md", "primitives", generated, update)


# --- commands, keys, devices, exit codes --------------------------------------------------------


def test_the_commands_of_the_page_are_those_of_the_command_line() -> None:
    shown = re.findall(r"^## olympus (\w+)", read(DOCS / "reference/cli.md"), re.MULTILINE)
    assert sorted(shown) == sorted(commands.names())


@pytest.mark.parametrize("name", commands.names())
def test_every_option_of_a_command_is_listed(name: str, request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    page = DOCS / "reference/cli.md"
    check_generated(page, f"options {name}", f"\n{commands.option_table(name)}\n", update)
    own = section(read(page), f"## olympus {name}")
    for flag in commands.flags(name):
        assert f"`{flag}" in own or flag in commands.COMMON


def test_the_common_options_are_listed(request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    generated = f"\n{commands.common_table()}\n"
    check_generated(DOCS / "reference/cli.md", "options common", generated, update)
    assert all(f"`{flag}`" in generated for flag in commands.COMMON)


@pytest.mark.parametrize("table", key_descriptions())
def test_every_key_of_a_table_is_listed(table: str, request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    generated = f"\n{keys.key_table(table)}\n"
    check_generated(DOCS / "reference/olympus-toml.md", f"keys {table}", generated, update)


def hinted_keys(text: str, folder: Path) -> set[str]:
    """The keys that the error for an unknown key names; `text` has the key `none`."""
    (folder / "olympus.toml").write_text(text, encoding="utf-8")
    with pytest.raises(errors.SpecError) as caught:
        load_project(folder)
    assert caught.value.hint is not None
    return set(caught.value.hint.removeprefix("its keys are ").split(", "))


_TARGET = '[target.t]\nentry = "m:f"\n'


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("bench", f"{_TARGET}bench.none = 1"),
        ("tolerance", f"{_TARGET}tolerance.none = 1"),
        ("inputs", f"{_TARGET}inputs.x.none = 1"),
        ("device", "[device.d]\nnone = 1"),
        ("tpu", '[device.d]\nlike = "v6e"\nnone = 1'),
    ],
)
def test_the_keys_are_those_that_a_project_may_have(table: str, text: str, tmp_path: Path) -> None:
    assert {*key_descriptions()[table]} == hinted_keys(text, tmp_path)


def test_the_keys_of_projects_targets_and_budgets_are_those_that_are_read() -> None:
    described = key_descriptions()
    assert set(described["file"]) == {"extends", *TABLES}
    assert list(described["project"]) == list(PROJECT_KEYS)
    assert list(described["target"]) == list(TARGET_KEYS)
    assert {*described["budget"]} == {*LIMITED, "fits", "forbid", "donation"}


def test_the_defaults_of_keys_are_those_of_a_project_without_them(tmp_path: Path) -> None:
    def default(table: str, key: str) -> Any:
        text = key_descriptions()[table][key]["default"]
        return tomli.loads(f"x = {text.strip('`')}")["x"]

    (tmp_path / "olympus.toml").write_text(_TARGET, encoding="utf-8")
    project = load_project(tmp_path)
    target = project.targets["t"]
    assert project.build_dir.name == default("project", "build-dir")
    assert (project.history is not None) == default("project", "history")
    assert [each.backend for each in target.backends] == default("target", "backends")
    assert target.optimize == default("target", "optimize")
    assert target.repeats == default("target", "repeats")
    assert target.linalg == default("target", "linalg")
    assert target.golden == default("target", "golden")
    assert parse_threshold(default("bench", "threshold")) == THRESHOLD
    assert tuple(default("bench", "metrics")) == GATED


def test_every_error_is_listed_and_shown(request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    page = DOCS / "reference/errors.md"
    check_generated(page, "errors", f"\n{error_classes.error_table()}\n", update)
    text = read(page)
    examples = text.partition("\n## Examples\n")[2]
    assert [each for each in error_classes.names() if each not in examples] == []
    assert [name for name in vars(errors) if name.endswith("Error") and name not in text] == []


def test_every_package_is_listed(request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    page = DOCS / "reference/python.md"
    check_generated(page, "packages", f"\n{api_pages.index_table()}\n", update)


def test_every_device_is_listed(request: pytest.FixtureRequest) -> None:
    rows = [(*COLUMNS, "product"), ("---",) * (len(COLUMNS) + 1)]
    for device in shipped_devices().values():
        name, *figures = device_row(device)
        rows.append((f"`{name}`", *figures, device.product))
    generated = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    update = request.config.getoption("--update-golden")
    check_generated(DOCS / "reference/devices.md", "devices", f"\n{generated}\n", update)
    tpus = [TPU_COLUMNS, ("---",) * len(TPU_COLUMNS)]
    for tpu in shipped_tpus().values():
        name, *figures = tpu_row(tpu)
        tpus.append((f"`{name}`", *figures))
    generated = "".join(f"| {' | '.join(row)} |\n" for row in tpus)
    check_generated(DOCS / "reference/devices.md", "tpus", f"\n{generated}\n", update)
    default = olympus.target("gpu").device
    assert f"or `{default}` without one" in " ".join(read(DOCS / "how-to/gpu.md").split())


def test_every_exit_code_is_described() -> None:
    rows = table_rows(read(DOCS / "reference/errors.md"))
    codes = {int(row[0]) for row in rows if row[0].isdigit()}
    kinds = [x for x in vars(errors).values() if isinstance(x, type)]
    classes = [x for x in kinds if issubclass(x, errors.OlympusError)]
    assert {each.exit_code for each in classes} | {0, 130} <= codes


def test_every_switch_is_described(request: pytest.FixtureRequest) -> None:
    lines = ["", "| switch | at first | its context |", "| --- | --- | --- |"]
    for name, value in olympus.config.values.items():
        context = getattr(olympus, name.removeprefix("jax_"))
        sentence = " ".join((context.__doc__ or "").partition("\n\n")[0].split())
        lines.append(f"| `{name}` | `{value!r}` | {sentence} |")
    update = request.config.getoption("--update-golden")
    check_generated(
        DOCS / "reference/environment.md", "switches", "\n".join([*lines, "", ""]), update
    )


def test_every_variable_of_the_environment_is_described() -> None:
    rows = table_rows(read(DOCS / "reference/environment.md"))
    described = {name.partition("=")[0] for row in rows for name in _NAME.findall(row[0])}
    sources = [p for name in ("olympus_core", "olympus_cli") for p in (ROOT / name).rglob("*.py")]
    assert sources
    named: set[str] = set().union(*(_VARIABLE.findall(read(path)) for path in sources))
    read_here = {own or other for own, other in named}
    assert read_here <= described
    assert {name for name in described if name.startswith("OLYMPUS_")} <= read_here
