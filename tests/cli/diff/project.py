"""A small project to compare, its edits and its repository."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from click.testing import Result

from tests.cli.conftest import Invoke

PROGRAM = """\
import olympus
import olympus.numpy as np


def forward(w, x):
    with olympus.named_scope("layer"):
        y = np.tanh(x @ w)
    return {"y": y * 2.0, "loss": y.sum()}


def loop(x):
    return olympus.lax.fori_loop(0, 9, lambda i, y: np.sin(y) + x, x)
"""


TOML = """\
[target.forward]
entry = "net:forward"
args = ["f32[3,4]", "f32[8,3]"]

[target.loop]
entry = "net:loop"
args = ["f32[4]"]
"""


TANH = "    - net.py:7  y = np.tanh(x @ w)\n    + net.py:7  y = np.sin(x @ w)\n"


CHANGED = f"in main, scope layer\n  changed  tanh -> sine  f32[8,4]\n{TANH}"


def edit(folder: Path, old: str, new: str, file: str = "net.py") -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def git(folder: Path, *arguments: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**clean, **dict.fromkeys(names, "someone"), "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def build(invoke: Invoke, *targets: str) -> None:
    result = invoke("build", *targets)
    assert result.exit_code == 0, result.output


def document(result: Result) -> Any:
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


def clean(result: Result) -> bool:
    """Return True if the comparison has no change."""
    return (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def left_behind(repository: Path) -> list[str]:
    """The files that a comparison with a revision should have removed."""
    trees = git(repository, "worktree", "list").splitlines()[1:]
    return trees + [name for name in os.listdir(tempfile.gettempdir()) if name.startswith(PREFIX)]


PREFIX = "olympus-diff-"
