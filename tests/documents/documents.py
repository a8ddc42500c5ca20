"""The project's documents as programs: their code blocks are read, run and compared.

Parses the blocks of a Markdown file, runs those with code, and asserts that the output is the
shown one.  The languages of blocks:

    console     lines after "$ " are run, in a copy of examples/; what follows each is its output.
                A line of dots matches any lines, dots in a line for any text, no output for
                any output.  Whoever lacks the compiler sees its install line instead of the output
                of a block marked `console gpu` or `console tpu`
    python      with ">>>", a doctest, one session a document; with a path, an excerpt of that file
    toml, yaml  with a path, an excerpt of that file
    c, rust, go another test runs them
    sh, text    shown only: what would change the machine, and forms
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import olympus

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
)
#: The install line of the compiler that a `console gpu` or `console tpu` block needs.
INSTALLS = {"gpu": 'pip install "jax-cuda13-pjrt==', "tpu": "pip install 'olympus[tpu]'"}
LANGUAGES = {"console", "python", "c", "rust", "go", "toml", "yaml", "sh", "text"}

_FENCE = re.compile(r"^( *)```(\w*) ?(.*?)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_DOTS = re.compile(r"\.{3}")
# The shell sees this interpreter under the two names that a user has; `PRELOADED` is the address
# of the process that runs `olympus`.
_COMMAND = Path(__file__).with_name("command.py")
_SHELL = f"""
olympus() {{
  if [ -n "$PRELOADED" ]; then "$PYTHON" -I -S "{_COMMAND}" "$@"
  else "$PYTHON" -m olympus_cli "$@"; fi
}}
python() {{ "$PYTHON" "$@"; }}
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, its text and its line number."""

    language: str
    note: str
    text: str
    line: int


def read(document: Path) -> str:
    """The text of a file of the repository, whatever the locale."""
    return document.read_text(encoding="utf-8")


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    text = read(document)
    return [
        Block(m[2], m[3], textwrap.dedent(m[4]), text.count("\n", 0, m.start()) + 2)
        for m in _FENCE.finditer(text)
    ]


def workplace(folder: Path) -> Path:
    """A copy of the examples, and of the tutorial's program, for the commands of one document."""
    ignored = shutil.ignore_patterns("build", "__pycache__")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignored)
    shutil.copytree(ROOT / "docs" / "spirals", folder / "spirals", ignore=ignored)
    return folder


def environment() -> dict[str, str]:
    """A user's environment without a terminal, that finds this checkout's packages."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHON": sys.executable, "NO_COLOR": "1"}


def check_console(document: Path, folder: Path, variables: Mapping[str, str]) -> None:
    """Run the commands of a document in a row, and compare what each shows.

    `variables` are those of `preloaded`.
    """
    for block in blocks(document):
        if block.language == "console":
            for command, shown in commands(block):
                folder = _check_command(command, shown, folder, block, variables)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output shown for it.

    A command continues after a backslash, and in lines after "> ", as a shell shows them.
    """
    assert block.text.startswith("$ "), f"line {block.line}: a console block starts with a command"
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command = re.match(r"(.*\\\n)*.*\n(>.*\n)*", part)
        assert command is not None
        yield re.sub(r"^> ?", "", command.group(), flags=re.MULTILINE), part[command.end() :]


def _check_command(
    command: str, shown: str, folder: Path, block: Block, variables: Mapping[str, str]
) -> Path:
    """Run one command in `folder`; the folder of the next leaves."""
    if command.startswith("cd "):
        return (folder / command[3:].strip()).resolve()
    absent = block.note in INSTALLS and not has_compiler(block.note)
    if absent and not command.startswith("olympus "):
        return folder  # it looks at what the commands before it could not make
    ran = subprocess.run(
        ["bash", "-c", _SHELL + command],
        cwd=folder,
        env={**environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    transcript = f"line {block.line}: $ {command}\n{ran.stdout}"
    if absent:
        assert ran.returncode == 6, transcript
        assert INSTALLS[block.note] in ran.stdout, transcript
        return folder
    assert ran.returncode == 0, transcript
    output = "".join(f"{line.rstrip()}\n" for line in ran.stdout.splitlines())
    assert not shown or pattern(shown).fullmatch(output), f"{transcript}\nis not as shown:\n{shown}"
    return folder


def pattern(shown: str) -> re.Pattern[str]:
    """Return a pattern of the output shown in a document; dots match any text or any lines."""
    return re.compile("".join(_line(line) for line in shown.splitlines()))


def _line(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*\n)*?"
    return ".*".join(map(re.escape, _DOTS.split(line.rstrip()))) + r"\n"


def has_compiler(backend: str) -> bool:
    """Return True if programs can be compiled for a backend here."""
    return any(each.name == backend and each.available for each in olympus.backends())


def has_gpu_compiler() -> bool:
    """Return True if programs can be compiled for GPUs here."""
    return has_compiler("gpu")


def check_python(document: Path, folder: Path) -> None:
    """Run the Python sessions of a document as one."""
    session = [b.text for b in blocks(document) if b.language == "python" and ">>> " in b.text]
    if not session:
        return
    (folder / "session.txt").write_text("\n".join(session), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "doctest", "-f", "-o", "ELLIPSIS", "session.txt"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
