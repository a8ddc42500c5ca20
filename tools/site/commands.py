"""The options of the command line as Markdown, from click's commands."""

from __future__ import annotations

from typing import Any

import click

from olympus_cli.main import cli

__all__ = ["COMMON", "command", "common_table", "flags", "names", "option_table"]

#: The options of every command, which the page lists once.
COMMON = ("--json", "--verbose", "--help")


def names() -> list[str]:
    """The names of the commands, in the order of `olympus --help`."""
    return cli.list_commands(click.Context(cli))


def command(name: str) -> click.Command:
    """The click command of a name."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, name
    return found


def flags(name: str) -> list[str]:
    """The long form of each option of a command."""
    return [option.opts[-1] for option in _options(name)]


def option_table(name: str) -> str:
    """A row for each option of a command that not every command has."""
    options = [each for each in _options(name) if each.opts[-1] not in COMMON]
    return _table(options) if options else "It has the [common options](#common-options) only.\n"


def common_table() -> str:
    """A row for each option of every command."""
    return _table([each for each in _options("trace") if each.opts[-1] in COMMON])


def _options(name: str) -> list[click.Option]:
    found = command(name)
    parameters = found.get_params(click.Context(found, click.Context(cli, **cli.context_settings)))
    return [each for each in parameters if isinstance(each, click.Option)]


def _table(options: list[click.Option]) -> str:
    rows = [f"| {_spelling(each)} | {_meaning(each)} |\n" for each in options]
    return "| option | meaning |\n| --- | --- |\n" + "".join(rows)


def _spelling(option: click.Option) -> str:
    names = [*option.opts, *option.secondary_opts]
    if not option.is_flag:
        words = [str(choice) for choice in getattr(option.type, "choices", ())]
        names[-1] += f" {option.metavar or '|'.join(words)}"
    return _cell(", ".join(f"`{name}`" for name in names))


def _meaning(option: click.Option) -> str:
    parts = [(option.help or "").removesuffix(".") + "."]
    default: Any = option.default
    if option.show_default and not option.is_flag:
        shown = ", ".join(map(str, default)) if option.multiple else default
        parts.append(f"Default: `{shown}`.")
    if option.multiple and "repeated" not in parts[0]:
        parts.append("May be repeated.")
    return _cell(" ".join(parts))


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
