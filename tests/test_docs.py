"""The reference pages agree with the code: names, primitives, options, keys, devices, exit codes.

Sections between `<!-- name -->` and `<!-- /name -->` are made from the code; `--update-golden`
writes them anew.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import olympus
from olympus import errors
from olympus.stages import shipped_devices
from olympus_cli.main import COMMANDS
from olympus_cli.reports.devices import COLUMNS, device_row
from olympus_cli.spec.project import PROJECT_KEYS, TARGET_KEYS
from olympus_core.absent import api
from olympus_core.primitive import op
from tests.documents import ROOT, read

DOCS = ROOT / "docs"
API: dict[str, set[str]] = {
    namespace: set(table["names"].split()) for namespace, table in api().items()
}
_NAME = re.compile(r"`([^`]+)`")
#: A variable of the environment in a source: one of our own, or the name that is asked for.
_VARIABLE = re.compile(r'\b(OLYMPUS_[A-Z0-9_]+)|(?:environ|getenv)[\w.]*[(\[]"([A-Z0-9_]+)"')


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of each line of a Markdown text that is a row of a table."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def section(text: str, heading: str) -> str:
    """What stands under a heading, up to the next of its level."""
    found = re.search(rf"^{re.escape(heading)}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no {heading}"
    return found.group()


def check_made(document: Path, name: str, made: str, update: bool) -> None:
    """The section `name` of a document is `made`, or becomes it."""
    before, opening, rest = read(document).partition(f"<!-- {name} -->\n")
    shown, closing, after = rest.partition(f"<!-- /{name} -->")
    assert opening and closing, f"{document.name} has no section {name}"
    if update:
        document.write_text(before + opening + made + closing + after, encoding="utf-8")
    else:
        assert shown == made, f"{name} in {document.name}: pytest --update-golden renews it"


# --- names of the API ---------------------------------------------------------------------------


def present(namespace: str) -> set[str]:
    """The names of the API that a namespace has."""
    try:
        module = importlib.import_module(namespace)
    except ModuleNotFoundError:
        return set()
    return {name for name in API[namespace] if hasattr(module, name)}


def declined() -> list[tuple[str, set[str], str]]:
    """Namespaces, the names that each leaves out on purpose, and why."""
    return [
        (namespace, set(group["names"].split()), group["why"])
        for namespace, table in api().items()
        for group in table.get("absent", ())
    ]


def test_what_is_absent_on_purpose_is_absent_and_listed(request: pytest.FixtureRequest) -> None:
    rows = ["| namespace | absent | why |\n| --- | --- | --- |\n"]
    for namespace, names, why in declined():
        module = sys.modules.get(namespace)
        there = {name for name in names if hasattr(module, name)}
        assert not there, f"{namespace} has {there}"
        assert not names & API[namespace]
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        rows.append(f"| `{namespace}` | {listed} | {why} |\n")
    update = request.config.getoption("--update-golden")
    check_made(DOCS / "differences.md", "absent", "\n" + "".join(rows) + "\n", update)


def test_every_other_name_is_present_or_listed_as_pending(request: pytest.FixtureRequest) -> None:
    lines = []
    for namespace, names in API.items():
        missing = sorted(names - present(namespace))
        if missing:
            listed = textwrap.fill(", ".join(missing), 100, break_long_words=False)
            lines.append(f"**{namespace}**: {len(missing)}\n\n{listed}\n\n")
    made = "".join(lines) or "Nothing.\n"
    update = request.config.getoption("--update-golden")
    check_made(DOCS / "differences.md", "pending", f"\n{made}", update)


# --- primitives ---------------------------------------------------------------------------------


def families() -> dict[str, tuple[str, list[str]]]:
    """Each module of primitives: what its docstring says that they are, and their names."""
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
    made = f"| module | primitives | what they are |\n| --- | --- | --- |\n{rows}"
    check_made(
        DOCS / "olympuspr.md", "primitives", made, request.config.getoption("--update-golden")
    )


# --- commands, keys, devices, exit codes --------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_described(name: str) -> None:
    text = read(DOCS / "cli.md")
    own = section(text, f"## olympus {name}")
    shared = {
        option: where
        for option, where, _ in table_rows(section(text, "## Options that commands share"))
    }
    command: click.Command = importlib.import_module(f"olympus_cli.commands.{name}").command
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            flag = parameter.opts[-1]
            common = [where for option, where in shared.items() if flag in option]
            assert f"`{flag}" in own or any(applies(where, name) for where in common), flag


def applies(where: str, name: str) -> bool:
    """Whether the second column of the shared options speaks of the command."""
    if where.startswith("all"):
        return name not in where
    return name in re.findall(r"\w+", where)


def test_every_key_of_a_project_is_described() -> None:
    text = read(DOCS / "projects.md")
    for heading, keys in (("## `[project]`", PROJECT_KEYS), ("## `[target.NAME]`", TARGET_KEYS)):
        rows = list(table_rows(section(text, heading)))[1:]
        assert [_NAME.findall(row[0])[0] for row in rows] == list(keys)


def test_every_device_is_listed(request: pytest.FixtureRequest) -> None:
    rows = [(*COLUMNS, "product"), ("---",) * (len(COLUMNS) + 1)]
    for device in shipped_devices().values():
        name, *figures = device_row(device)
        rows.append((f"`{name}`", *figures, device.product))
    made = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    update = request.config.getoption("--update-golden")
    check_made(DOCS / "devices.md", "devices", f"\n{made}\n", update)
    default = olympus.target("gpu").device
    assert f"`{default}` is the default" in " ".join(read(DOCS / "gpu.md").split())


@pytest.mark.parametrize("document", ["README.md", "docs/cli.md"])
def test_every_exit_code_is_described(document: str) -> None:
    rows = table_rows(read(ROOT / document))
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
    check_made(DOCS / "overview.md", "switches", "\n".join([*lines, "", ""]), update)


def test_every_variable_of_the_environment_is_described() -> None:
    rows = table_rows(section(read(DOCS / "overview.md"), "## The environment"))
    described = {name.partition("=")[0] for row in rows for name in _NAME.findall(row[0])}
    sources = [p for name in ("olympus_core", "olympus_cli") for p in (ROOT / name).rglob("*.py")]
    assert sources
    named: set[str] = set().union(*(_VARIABLE.findall(read(path)) for path in sources))
    read_here = {own or other for own, other in named}
    assert read_here <= described
    assert {name for name in described if name.startswith("OLYMPUS_")} <= read_here
