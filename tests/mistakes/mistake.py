"""Files that each contain one mistake of a user, and the messages that they expect.

A file ends with comments: the exit code and the message.  `...` in them matches any text of a
line, and a line `# ...` any lines.  There are three kinds of files:

`NAME.py` with a command in its first line
    A program; the command runs in a folder with the program.

        # olympus trace sizes.py:f --shapes "n=i32[]"
        import olympus.numpy as jnp


        def f(n):
            return jnp.zeros(n)


        # exit 3
        # error: ...

`NAME.py` without a command
    A program that uses the Python API.  It raises an error: the last line of the traceback, the
    place that the error names, and the hint are expected.

`NAME.toml`
    An `olympus.toml`, with a command in its first line.

`NAME.sh`
    Commands, each followed by its exit code and message.

The files of the folder `shared` beside a file are in the folder in which its commands run.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import Result

HERE = Path(__file__).parent
FILES = sorted(
    path
    for suffix in ("py", "toml", "sh")
    for path in HERE.glob(f"*/**/*.{suffix}")
    if "shared" not in path.relative_to(HERE).parts
)
Invoke = Callable[..., Result]
#: The first line of what a file expects.
_FIRST = re.compile(r"# (exit \d+|\w+Error: .*)")
#: Internal names, which no message contains.
_INTERNAL = re.compile(r"Traceback|Tracer\b(?! type|\()|\baval\b|primal_|olympus_core")


@dataclass(frozen=True)
class Part:
    """A command or a program, and the lines that it is expected to write."""

    text: str
    expected: tuple[str, ...]

    def written(self, outcome: str) -> str:
        """Return the part with `outcome` as its expectation, unless the old one matches it."""
        lines = self.expected if matches(self.expected, outcome) else outcome.splitlines()
        return self.text + "".join(f"# {line}".rstrip() + "\n" for line in lines)


def parts(path: Path) -> list[Part]:
    """Return the parts of a file: one, or one for each command of a `.sh` file."""
    found: list[Part] = []
    text: list[str] = []
    expected: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        is_expected = line.startswith("#") and (bool(expected) or bool(_FIRST.match(line)))
        if expected and not is_expected:
            found.append(Part("".join(text), tuple(expected)))
            text, expected = [], []
        if is_expected:
            expected.append(line.removeprefix("#").removeprefix(" "))
        else:
            text.append(line + "\n")
    return [*found, Part("".join(text), tuple(expected))]


def matches(expected: tuple[str, ...], outcome: str) -> bool:
    """Return True if an outcome is the expected one, with any text for `...`."""
    pattern = re.escape("\n".join(expected))
    pattern = re.sub(r"(^|\n)(\\\.){3}(?=\n|$)", r"\1(?:.*\n?)*?", pattern.replace("\\\n", "\n"))
    return bool(re.fullmatch(pattern.replace(r"\.\.\.", ".*"), outcome))


def outcomes(path: Path, folder: Path, invoke: Invoke) -> Iterator[str]:
    """Yield what each part of a file gives, in a folder that is the working directory."""
    shared = path.parent / "shared"
    if shared.is_dir():
        shutil.copytree(shared, folder, dirs_exist_ok=True)
    if path.suffix != ".sh":
        name = "olympus.toml" if path.suffix == ".toml" else path.name
        (folder / name).write_text("".join(part.text for part in parts(path)), encoding="utf-8")
    for part in parts(path):
        command = part.text.strip() if path.suffix == ".sh" else part.text.partition("\n")[0]
        command = command.removeprefix("# ")
        if command.startswith("olympus "):
            result = invoke(*shlex.split(command)[1:])
            outcome = f"exit {result.exit_code}\n{result.stderr}".replace(f"{folder}/", ".../")
            lines = outcome.replace(str(folder), "...").splitlines()
            yield "\n".join(map(str.rstrip, lines)).rstrip("\n")
        else:
            yield raised(path)


def raised(path: Path) -> str:
    """Return the error that a program raises, with its place and its hint."""
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
    except Exception as error:
        lines = [f"{type(error).__name__}: {error}"]
        location = getattr(error, "location", None)
        if location and location not in lines[0]:
            lines.append(f"at {location}")
        if hint := getattr(error, "hint", None):
            lines.append(f"hint: {hint}")
        return "\n".join(lines).replace(str(path), path.name)
    return "nothing is raised"


def internal_name(outcome: str) -> str | None:
    """Return an internal name in an outcome, or None."""
    found = _INTERNAL.search(outcome)
    return found[0] if found else None
