"""The `olympus` command: the list of commands, and the only place where an error is printed.

A command's module is imported when it is invoked. This module has the names and the one-line helps,
so that `olympus --help` imports click and nothing else.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import os
import sys
from typing import Any

import click

from olympus_cli.options.shared import COMMAND_LINE, STDOUT, is_verbose, verbose_option
from olympus_cli.process import shortage, streams
from olympus_cli.process.fast_imports import unhindered
from olympus_cli.process.interrupts import CommandEnd, command_end
from olympus_cli.text.option_values import FORMATS

#: Each command's name and the first line of its help; the module `olympus_cli.commands.<name>` has
#: it as `command`, whose docstring is the rest.
COMMANDS = {
    "init": "Write a commented olympus.toml and an example program.",
    "trace": "Print the Olympuspr of a function for the shapes of its arguments.",
    "lower": "Print a program as StableHLO, HLO, Olympuspr, a graph or bytecode.",
    "cost": "Show the cost of a program by source line, without compiling it.",
    "compile": "Compile a program for a backend, and show its cost.",
    "build": "Build the targets of olympus.toml that are stale.",
    "explain": "Show why targets are stale or fresh, without building them.",
    "list": "List the targets of olympus.toml and the state of their outputs.",
    "clean": "Remove the outputs of targets.",
    "shard": "Try shardings of a program's arguments, and rank them.",
    "report": "Write a page with the cost and memory of a program, for a browser.",
    "run": "Run a program on inputs from a file or a seed.",
    "export": "Write a program for other tools: StableHLO, HLO or JAX.",
    "inspect": "Show the contents of a bundle, a build or a stored result.",
    "sign": "Sign a bundle, or create a key pair.",
    "check": "Check programs against budgets and golden files.",
    "verify": "Verify the numerical results of programs.",
    "bench": "Measure the time of the stages and the calls of programs.",
    "profile": "Measure the time of a call by line, scope, operation or kernel.",
    "diff": "Show the differences between two programs, by operation and line.",
    "history": "Show the figures of targets, commit by commit.",
    "devices": "List devices and their figures, or measure this machine's CPU.",
    "schema": "Print the JSON Schema of olympus.toml, for editors.",
    "completion": "Print the script that completes commands and targets in a shell.",
    "cache": "List, verify or remove the stored results of compilations.",
    "doctor": "Show versions, backends, devices, the cache and missing packages.",
}

_BROKEN_PIPE = 141  # 128 + SIGPIPE


class Commands(click.Group):
    """The commands of `COMMANDS`, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order of a user's first day."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        shortage.check_memory()
        with unhindered():
            module = importlib.import_module(f"olympus_cli.commands.{cmd_name}")
        command: click.Command = copy.copy(module.command)
        command.help = f"{COMMANDS[cmd_name]}\n\n{inspect.cleandoc(command.help or '')}"
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; the words are kept for the hint on a misplaced option."""
        ctx.meta[COMMAND_LINE] = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest names in the error."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from olympus.errors import UsageError
            from olympus_cli.text.nearest import did_you_mean

            hint = did_you_mean(args[0], COMMANDS, "commands are")
            raise UsageError(f"no command is named {args[0]!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line and leave with its exit code, whatever becomes of the streams."""
        streams.DATA.clear()
        arguments = extra.get("args", args[0] if args else None)
        words = sys.argv[1:] if arguments is None else list(arguments)
        try:
            code = self._code(words, args, extra)
        except streams.Unwritable as error:
            code = _unwritable(error)
        sys.exit(code)

    def _code(self, words: list[str], args: tuple[Any, ...], extra: dict[str, Any]) -> int:
        try:
            return super().main(*args, **{**extra, "standalone_mode": False}) or 0
        except click.exceptions.NoArgsIsHelpError as error:
            with streams.message_stream():
                error.show()
            return error.exit_code
        except click.ClickException as error:
            from olympus_cli.options.usage_errors import usage_error

            return _report(usage_error(error), words, verbose=False)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; any error but click's own is printed, and becomes the exit code."""
        words = ctx.meta[COMMAND_LINE]
        try:
            _working_directory()
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, streams.Unwritable):
            raise
        except (KeyboardInterrupt, click.Abort) as error:
            ctx.exit(_ended(command_end(error), words))
        except BaseException as error:  # also a class of the program's own
            ctx.exit(_report(error, words, is_verbose()))


def _unwritable(error: streams.Unwritable) -> int:
    """Print the reason why stdout failed, unless its reader has gone; return the exit code."""
    if isinstance(error.__cause__, BrokenPipeError):
        return _BROKEN_PIPE
    from olympus.errors import UsageError

    return _report(UsageError(f"stdout cannot be written: {error}"), [], verbose=False)


def _report(error: BaseException, words: list[str], verbose: bool) -> int:
    """Print `error`, as a document too if `words` request JSON, and return its exit code."""
    from olympus_cli.terminal import console

    if (message := shortage.words(error)) is not None:
        console.plain_error(message, shortage.HINT)
        _document("CompileError", message, shortage.EXIT_CODE, words, shortage.HINT)
        return shortage.EXIT_CODE
    code = console.report(error, verbose)
    if _lacks_document(words):
        from olympus_cli.gate_reports.failures import error_document

        console.print_json(error_document(error))
    return code


def _ended(end: CommandEnd, words: list[str]) -> int:
    """Print that the user or the system has ended the command; the exit code."""
    with streams.message_stream():
        click.echo(end.message, err=True)
    _document(*end, words)
    return end.exit_code


def _document(
    kind: str, message: str, code: int, words: list[str], hint: str | None = None
) -> None:
    """Write the document of an end that has no class of error, if `words` request JSON."""
    if _lacks_document(words):
        from olympus_cli.terminal import console

        error = {"kind": kind, "message": message, "hint": hint, "location": None}
        console.print_json({"error": {**error, "exit_code": code}})


def _lacks_document(words: list[str]) -> bool:
    """Return True if the command line requests JSON on stdout, and none has been written."""
    options = words[: words.index("--")] if "--" in words else words
    forms = [word.removeprefix("--output=") for word in options if word.startswith("--output=")]
    forms += [form for option, form in itertools.pairwise(options) if option == "--output"]
    parts = [form.partition("=") for form in forms]
    printed = {form for form, _, file in parts if form in FORMATS and file in ("", *STDOUT)}
    wants_json = printed == {"json"} or ("--json" in options and printed <= {"json"})
    return wants_json and not streams.DATA.get("written")


def _working_directory() -> None:
    """Raise UsageError if it is gone: what is looked for, or written, is so relative to it."""
    try:
        os.getcwd()
    except OSError as error:
        from olympus.errors import UsageError

        raise UsageError(
            f"the working directory cannot be used: {error.strerror}",
            hint="it has been removed or replaced: change to a directory that exists",
        ) from error


def _show_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        import olympus

        click.echo(f"olympus {olympus.__version__}")
        ctx.exit()


@click.group("olympus", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@verbose_option
def cli() -> None:
    """Build array programs written in Python ahead of time."""


def main() -> None:
    """Run the command line on `sys.argv`, and leave with its exit code."""
    if (instruction := os.environ.get("_OLYMPUS_COMPLETE")) is not None:
        from olympus_cli.options.completion import answer

        sys.exit(answer(instruction, cli, COMMANDS))
    with streams.data_alone():
        cli(prog_name="olympus")
