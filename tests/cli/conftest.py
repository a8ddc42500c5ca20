"""A folder to work in with a small program, and the command line to run in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from olympus_cli.main import cli
from olympus_cli.workers import call
from tests.cli.forking import Spawn, forking

MODEL = """\
import olympus.numpy as np


def init(width=4):
    return {"w": np.zeros((3, width)), "b": np.zeros(width)}


def forward(params, x, scale=1, relu=False):
    y = x @ params["w"] + params["b"]
    y = y * scale
    return np.maximum(y, 0) if relu else y


def sized(width):
    return np.zeros((3, width))


def add(x, y, /):
    return x + y


def total(*xs, **named):
    return sum(xs) + sum(named.values())


def fails(x):
    print("on the way")
    raise ValueError("the width is odd")


def branches(x):
    if x > 0:
        return x
    return -x


def mismatched(x, y):
    return x @ y


def leaves(x):
    raise SystemExit(0)


class Net:
    bias = 3

    @staticmethod
    def apply(x):
        return x + Net.bias


net = Net()

import functools

import olympus


def worded(x):
    return {"y": "hello"}


@functools.partial(olympus.jit, static_argnames="n")
def repeated(x, n):
    return x * n


def made(n=2, m=3, /):
    return np.zeros((n, m))


def same(x, m):
    return x


def nowhere(x):
    return olympus.target("nowhere")
"""

TOML = """\
[target.forward]
entry = "model:forward"
donate = ["x"]

[target.forward.args]
params = { from = "model:init" }
x = "f32[{batch},3]"

[target.forward.matrix]
batch = [1, 8]

[target.add]
entry = "model.py:add"
args = ["f32[2]", "f32[2]"]
"""

Invoke = Callable[..., Result]


@pytest.fixture(scope="session")
def forked() -> Iterator[Spawn]:
    """A function that starts workers with all imports done."""
    with forking(call._spawn) as start:
        yield start


@pytest.fixture(autouse=True)
def start(forked: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers by `forked`; a module that tests the start overrides this fixture."""
    monkeypatch.setattr(call, "_spawn", forked)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; modules imported from it are removed afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def project(folder: Path) -> Path:
    """The working directory with `model.py` and `olympus.toml`."""
    (folder / "model.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    return folder


@pytest.fixture
def invoke() -> Invoke:
    """Run `olympus` with some arguments in this process."""
    return lambda *args: CliRunner().invoke(cli, args, prog_name="olympus")
