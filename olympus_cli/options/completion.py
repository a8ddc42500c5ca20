"""Shell completion: commands, options and their values, and the targets of olympus.toml.

The shell starts a process for each Tab.  Therefore names of commands and targets are found without
importing a command, which imports the compiler.  Options come from click, which imports the
command.  Nothing is written to stderr, because it would appear in the middle of the user's line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from olympus_cli.options.completed_values import (
    device_items,
    metric_items,
    project_of_words,
    revision_items,
    target_items,
)
from olympus_cli.process.streams import stderr_discarded

#: The shells that can complete.
SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_OLYMPUS_COMPLETE"

#: The commands whose arguments are targets; True if a name may mean several.
TARGETS = {
    **dict.fromkeys(("build", "explain", "list", "clean", "check"), True),
    **dict.fromkeys(("verify", "bench", "history"), True),
    "diff": True,
    **dict.fromkeys(("trace", "lower", "cost", "compile", "shard"), False),
    **dict.fromkeys(("report", "run", "profile", "export"), False),
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
        "--explain",
        "--fail-fast",
    ),
    *("--failures-only", "--force", "--frozen", "--json", "--keep-going", "--native"),
    *("--no-cache", "--no-native", "--no-recompile", "--open", "--profile", "--quiet"),
    *("--recompile", "--stale", "--update", "--verbose", "--watch", "-q", "-v"),
)

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
    kinds = _kinds()
    if shell not in kinds or instruction not in ("source", "complete"):
        known = ", ".join(f"{name}_source" for name in kinds)
        sys.stderr.write(f"error: _OLYMPUS_COMPLETE is {variable!r:.80}; it can be {known}\n")
        return 2
    completer = kinds[shell](cli, {"commands": commands}, "olympus", _VARIABLE)
    text = completer.source() if instruction == "source" else _quiet(completer)
    sys.stdout.write(text + "\n" if text else "")
    return 0


def script(shell: str) -> str:
    """Return the text that makes a shell complete the command line: "bash", "zsh" or "fish"."""
    return _kinds()[shell](click.Group("olympus"), {}, "olympus", _VARIABLE).source()


def _kinds() -> dict[str, type[ShellComplete]]:
    return {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


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
    before = args[-1]
    if before == "--project":
        return [CompletionItem(incomplete, type="file")]
    if (items := _values(before, args, incomplete)) is not None:
        return [item for item in items if item.value.startswith(incomplete)]
    if before.startswith("-") and before not in FLAGS and "=" not in before:
        return None
    if command == "devices":
        items = device_items(project_of_words(args), incomplete, with_backend=False)
        return [item for item in items if item.value.startswith(incomplete)]
    if command not in TARGETS:
        return None
    items = target_items(project_of_words(args), TARGETS[command])
    fitting = [item for item in items if item.value.startswith(incomplete)]
    return fitting or [CompletionItem(incomplete, type="file")]


def _values(option: str, args: Sequence[str], incomplete: str) -> list[CompletionItem[str]] | None:
    """Return the values of an option that depend on the project; None for another option."""
    match option:
        case "--device":
            return device_items(project_of_words(args), incomplete, with_backend=False)
        case "--backend":
            return device_items(None, incomplete, with_backend=True)
        case "--metric":
            return metric_items()
        case "--changed-since":
            return revision_items()
    return None
