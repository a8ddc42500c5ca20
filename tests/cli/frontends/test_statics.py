"""Statics from module attributes, functions and TOML tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus.errors import SpecError
from olympus_cli.frontends.statics import static_text
from olympus_cli.spec.statics import parse_statics
from tests.documents.documents import ROOT, blocks

Invoke = Callable[..., Result]

CONFIG = """\
from __future__ import annotations

import dataclasses
import enum
from typing import Literal, NamedTuple

import olympus.numpy as np


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


class Span(NamedTuple):
    low: float
    high: float = 1.0


@dataclasses.dataclass(frozen=True)
class Layer:
    width: int
    act: Act = Act.RELU


@dataclasses.dataclass(frozen=True)
class Config:
    layer: Layer
    sizes: tuple[int, ...] = ()
    span: Span = Span(0.0)
    mode: Literal["fast", "slow"] = "fast"
    rate: float | None = None
    names: frozenset = frozenset()

    def __post_init__(self):
        if self.layer.width < 0:
            raise ValueError("the width is below 0")


@dataclasses.dataclass
class Loose:
    width: int


class Opaque:
    pass


CONFIG = Config(Layer(3), names=frozenset({"a", "b", "c", "d"}))
OPAQUE = Opaque()
LOOSE = Loose(3)


def config():
    return Config(Layer(5))


def sized(width):
    return Config(Layer(width))


def broken():
    raise ValueError("no config today")


def forward(x, config: Config, act: Act = Act.RELU):
    assert isinstance(config, Config) and isinstance(act, Act), (config, act)
    assert isinstance(config.layer, Layer) and isinstance(config.span, Span)
    return np.tanh(x) * config.layer.width + sum(config.sizes)


def loose(x, config: Loose):
    return x * config.width


def plain(x, config):
    return x
"""


@pytest.fixture
def work(project: Path) -> Path:
    (project / "configured.py").write_text(CONFIG)
    return project


def write(work: Path, static: str, entry: str = "configured:forward") -> None:
    (work / "olympus.toml").write_text(
        f'[target.it]\nentry = "{entry}"\nargs.x = "f32[4]"\n[target.it.static]\n{static}\n'
    )


@pytest.mark.parametrize(
    ("static", "text"),
    [
        ('config = { from = "configured:CONFIG" }', "names=frozenset({'a', 'b', 'c', 'd'})"),
        ('config = { from = "configured:config" }', "layer=Layer(width=5, act=<Act.RELU"),
        ("config = { layer = { width = 7 } }", "layer=Layer(width=7, act=<Act.RELU"),
        ('config.layer = { width = 7, act = "TANH" }', "act=<Act.TANH"),
        ("config = { layer = { width = 7 }, sizes = [1, 2], rate = 3 }", "sizes=(1, 2)"),
        ("config = { layer = { width = 7 }, span = { low = 2 } }", "Span(low=2.0, high=1.0)"),
        ('config = { from = "configured:CONFIG" }\nact = "tanh"', "'act': \"<Act.TANH"),
    ],
)
def test_a_static_is_converted(static: str, text: str, work: Path, invoke: Invoke) -> None:
    write(work, static)
    result = invoke("build", "it")
    assert result.exit_code == 0, result.stderr
    report = json.loads((work / "build" / "it" / "report.json").read_text())
    assert text in str(report["statics"])
    assert invoke("build", "it", "--frozen").exit_code == 0, "the key is the same in each process"


def test_the_key_of_a_build_has_the_value(work: Path, invoke: Invoke) -> None:
    write(work, 'config = { layer = { width = 7 }, mode = "fast" }')
    assert invoke("build", "it").exit_code == 0
    write(work, 'config = { layer = { width = 7 }, mode = "slow" }')
    assert invoke("build", "it", "--frozen").exit_code == 7


def test_the_command_line_accepts_tables(work: Path, invoke: Invoke) -> None:
    call = ("trace", "configured:forward", "--shapes", "x=f32[2]", "--static")
    assert invoke(*call, "config={layer={width=2}}").exit_code == 0
    assert invoke(*call, 'config={from="configured:config"}').exit_code == 0
    result = invoke(*call, "config={layer={widht=2}}")
    assert result.exit_code == 2
    assert "--static config.layer.widht is not a field of Layer" in result.stderr
    assert "did you mean width?" in result.stderr


def test_a_table_needs_an_annotation_and_a_hashable_class(work: Path, invoke: Invoke) -> None:
    write(work, "config = { width = 3 }", "configured:plain")
    result = invoke("build", "it")
    assert result.exit_code == 2 and "no annotation" in result.stderr
    assert "olympus.toml:5: target.it.static.config is a table" in result.stderr
    write(work, "config = [1, 2]", "configured:plain")
    assert "is an array [1, 2]" in invoke("build", "it").stderr
    write(work, "config = { width = 3 }", "configured:loose")
    result = invoke("build", "it")
    assert result.exit_code == 2 and "olympus.toml:5" in result.stderr
    assert "frozen=True" in result.stderr


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("config={from=m:CFG}", 'config={from="m:CFG"}'),
        (
            "config={ act = RELU, on = True, rate = 1e3 }",
            'config={ act = "RELU", on = true, rate = 1e3 }',
        ),
        ("names=[a, b/c.py:d]", 'names=["a", "b/c.py:d"]'),
        ("config={from", 'config={n = 3, name = "text"}'),
    ],
)
def test_the_hint_for_a_table_quotes_its_strings(text: str, written: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_statics([text])
    assert (raised.value.hint or "").endswith(f"--static '{written}'")


def test_a_failure_of_a_function_is_the_users_mistake(work: Path, invoke: Invoke) -> None:
    write(work, 'config = { from = "configured:broken" }')
    result = invoke("build", "it")
    assert result.exit_code == 3 and "no config today" in result.stderr
    assert "configured.py:" in result.stderr


def test_the_text_of_a_static_is_the_same_in_each_process() -> None:
    code = (
        "from olympus_cli.frontends.statics import static_text\n"
        "print(static_text(((frozenset('abcdefgh'),), 1)))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert static_text(("x",)) == "('x',)" and static_text(1.5) == "1.5"


def test_the_example_of_the_document_works(work: Path, invoke: Invoke) -> None:
    document = ROOT / "docs" / "reference" / "olympus-toml.md"
    (program,) = [b.text for b in blocks(document) if "def step(params, x, config" in b.text]
    (table,) = [b.text for b in blocks(document) if "sizes = [3, 3]" in b.text]
    assert "\ndef step(params, x, config: Config): ...\n" in program
    (work / "documented.py").write_text(
        "import enum\nfrom dataclasses import dataclass\n\n"
        "class Act(enum.Enum):\n    RELU = 1\n\n"
        "@dataclass(frozen=True)\nclass Head:\n    classes: int\n\n"
        + program.replace(": ...\n", ":\n    return x * config.width + config.head.classes\n")
    )
    head = '[target.train]\nentry = "documented:step"\nargs = { params = "f32[]", x = "f32[2]" }\n'
    (work / "olympus.toml").write_text(head + table)
    result = invoke("build", "train")
    assert result.exit_code == 0, result.stderr
