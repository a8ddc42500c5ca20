"""A strict type check of users' code accepts correct code, and reports each mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = ("user_code.py", "mistakes.py")


def found() -> dict[str, dict[int, list[str]]]:
    """For each file, the errors of each line, as mypy prints them where a user runs it."""
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--hide-error-context"]
    options += ["--no-error-summary", "--no-pretty", "--no-color-output"]
    options.append(f"--cache-dir={ROOT / '.mypy_cache' / 'user_code'}")
    command = [sys.executable, "-m", "mypy", *options, *(str(HERE / name) for name in FILES)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    errors: dict[str, dict[int, list[str]]] = {name: {} for name in FILES}
    for line in run.stdout.splitlines():
        match = re.fullmatch(r"(.+?):(\d+): (error|note): (.*)", line)
        assert match, line
        if match[3] == "error":
            errors[Path(match[1]).name].setdefault(int(match[2]), []).append(match[4])
    return errors


def test_a_type_check_finds_each_mistake_and_nothing_else() -> None:
    """A line ends in `# E: CODE` where there is one error, of that code; others have none."""
    errors = found()
    assert errors["user_code.py"] == {}
    text = (HERE / "mistakes.py").read_text(encoding="utf-8")
    marks = [re.search(r"  # E: ([\w-]+)$", line) for line in text.splitlines()]
    wanted = {n: [mark[1]] for n, mark in enumerate(marks, 1) if mark}
    codes = {
        n: [message.rpartition("[")[2].rstrip("]") for message in messages]
        for n, messages in errors["mistakes.py"].items()
    }
    assert codes == wanted
