"""Shell completion: commands, options, and the targets of olympus.toml.

The shell starts a process for each Tab.  Therefore names of commands and targets are found without
importing a command, which imports the compiler.  Options come from click, which imports the
command.  Nothing is written to stderr, because it would appear in the middle of the user's line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from olympus_cli.process.streams import stderr_discarded
from olympus_cli.spec import matrix
from olympus_cli.spec.project_file import FILE, find_project

#: The commands whose arguments are targets; True if the name of a matrix means all its targets.
TARGETS = {
    **dict.fromkeys(("build", "list", "clean", "check", "verify", "bench", "history"), True),
    "diff": True,
    **dict.fromkeys(("trace", "lower", "cost", "compile", "shard"), False),
    **dict.fromkeys(("report", "run", "profile"), False),
}
#: The options without a value: the next word is an argument.
FLAGS = (
    *(
        "--all",
        "--as-is",
        "--calibrate",
        "--check",
        "--compile",
        "--debug-info",
        "--dry-run",
        "--fail-fast",
    ),
    *("--failures-only", "--force", "--frozen", "--json", "--keep-going", "--native"),
    *("--no-cache", "--no-native", "--no-recompile", "--open", "--profile", "--quiet"),
    *("--recompile", "--stale", "--update", "--verbose", "--watch", "-q", "-v"),
)

_NAME = re.compile(r"[\w.+-]+(@[\w.+=,-]+)?")
_ENTRY = re.compile(r"[\w./-]+:[\w.]+")
_MAX = 2000  # the most names from one file

# Bash breaks a word at each character of COMP_WORDBREAKS, which has the @ and = of target names.
# It replaces only the last part, so the parts before it are removed from the answers.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:blank:]]}"
    local before="${word%%"${word##*["$COMP_WORDBREAKS"]}"}"
    response=$(COMP_WORDS="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            COMPREPLY+=("${value#"$before"}")
        fi
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


def answer(variable: str, cli: click.Group, commands: Mapping[str, str]) -> int:
    """Write the answer to `variable` ("bash_complete", "zsh_source", ...); return the exit code."""
    shell, _, instruction = variable.partition("_")
    kinds: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
    if shell not in kinds or instruction not in ("source", "complete"):
        known = ", ".join(f"{name}_source" for name in kinds)
        sys.stderr.write(f"error: _OLYMPUS_COMPLETE is {variable!r:.80}; it can be {known}\n")
        return 2
    completer = kinds[shell](cli, {"commands": commands}, "olympus", "_OLYMPUS_COMPLETE")
    text = completer.source() if instruction == "source" else _quiet(completer)
    sys.stdout.write(text + "\n" if text else "")
    return 0


def _quiet(completer: ShellComplete) -> str:
    """Return the completions, or "" if they cannot be found; stderr is the null device."""
    with stderr_discarded():
        try:
            text = completer.complete()
            text.encode(sys.stdout.encoding)
        except (Exception, SystemExit):  # for example, a module cannot be imported
            return ""
    return text


class _Completion(ShellComplete):
    """Completions that need no command's module; click completes everything else."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        items = _items(args, incomplete, self.ctx_args["commands"])
        if items is not None:
            return items
        self.ctx_args = {}
        return super().get_completions(args, incomplete)


class _Bash(_Completion, BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        begins = not words or line[-1:].isspace()
        return (words, "") if begins else (words[:-1], words[-1])


class _Zsh(_Completion, ZshComplete):
    pass


class _Fish(_Completion, FishComplete):
    pass


def _items(
    args: Sequence[str], incomplete: str, commands: Mapping[str, str]
) -> list[CompletionItem[str]] | None:
    """Return the completions after `args`; None if they depend on the options of a command."""
    command = next((arg for arg in args if not arg.startswith("-")), None)
    if incomplete.startswith("-"):
        return None
    if command is None:
        return [
            CompletionItem(name, help=text)
            for name, text in commands.items()
            if name.startswith(incomplete)
        ]
    if args[-1] == "--project":
        return [CompletionItem(incomplete, type="file")]
    if args[-1].startswith("-") and args[-1] not in FLAGS and "=" not in args[-1]:
        return None
    if command not in TARGETS:
        return None
    items = target_items(_project(args), TARGETS[command])
    fitting = [item for item in items if item.value.startswith(incomplete)]
    return fitting or [CompletionItem(incomplete, type="file")]


def _project(args: Sequence[str]) -> Path | None:
    """Return the path of `--project`, or of the olympus.toml here or in the nearest parent."""
    project = None
    for before, arg in zip(["", *args], args, strict=False):
        if before == "--project":
            project = arg
        elif arg.startswith("--project="):
            project = arg.partition("=")[2]
    if project is None:
        return find_project(Path.cwd())
    place = Path(project).expanduser()
    return place / FILE if place.is_dir() else place


def target_items(file: Path | None, with_bases: bool) -> list[CompletionItem[str]]:
    """Return the names of the targets of an olympus.toml, in its order, with their entries as help.

    A target with a matrix has a name for each combination; with `with_bases`, its own name comes
    before them.  Invalid names are left out.  The list is empty if the file is not TOML.
    """
    import tomli

    if file is None:
        return []
    try:
        targets = tomli.loads(file.read_text("utf-8-sig")).get("target", {})
    except (OSError, ValueError, RecursionError):
        return []
    named = (
        CompletionItem(name, help=_help(target))
        for key, target in targets.items()
        if isinstance(target, dict)
        for name in _names(key, target.get("matrix"), with_bases)
        if _NAME.fullmatch(name)
    )
    return list(islice(named, _MAX))


def _names(key: str, axes: Any, with_bases: bool) -> Iterator[str]:
    if not isinstance(axes, dict) or not all(isinstance(axis, list) for axis in axes.values()):
        yield key
        return
    if with_bases:
        yield key
    for values in matrix.each_combination(axes):
        yield key + matrix.suffix(values)


def _help(target: dict[str, Any]) -> str | None:
    entry = target.get("entry")
    return entry if isinstance(entry, str) and _ENTRY.fullmatch(entry) else None
