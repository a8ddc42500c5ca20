"""Click's errors for wrong options and arguments, as a UsageError of OLYMPUS with its hint.

The hint has the nearest option, or the command that shows the help.
"""

from __future__ import annotations

import itertools
import shlex

import click
from click.exceptions import NoSuchOption

from olympus.errors import UsageError
from olympus_cli.options.shared import COMMAND_LINE
from olympus_cli.text.nearest import nearest


def usage_error(error: click.ClickException) -> UsageError:
    """Return click's error as a UsageError, with a message in the style of the others.

    >>> str(usage_error(click.UsageError("Got unexpected extra argument (x).")))
    'got unexpected extra argument (x)'
    """
    context = getattr(error, "ctx", None)
    help_hint = (
        f"{context.command_path} --help lists its arguments and options" if context else None
    )
    if isinstance(error, NoSuchOption):
        name = context.command_path if context else "the command"
        hint = _after_the_command(error.option_name, context)
        hint = hint or _device_in_backend(error.option_name, context)
        return UsageError(
            f"{name} has no option {error.option_name!r}",
            hint=hint or _nearest_option(error.option_name, context) or help_hint,
        )
    message = error.format_message()
    message = message[:1].lower() + message[1:].removesuffix(".")
    return UsageError(message, hint=help_hint)


def _after_the_command(name: str, context: click.Context | None) -> str | None:
    """Return a hint to put the option after the command; None if the command does not take it."""
    if context is None or not isinstance(context.command, click.Group):
        return None
    words: list[str] = context.meta.get(COMMAND_LINE, [])
    command = next((word for word in words if word in context.command.list_commands(context)), None)
    subcommand = command and context.command.get_command(context, command)
    if not subcommand or command is None or name not in _options_of(subcommand, context):
        return None
    before = words[: words.index(command)]
    return "put the option after the command: " + shlex.join(
        [context.command_path, command, *before, *words[len(before) + 1 :]]
    )


def _device_in_backend(name: str, context: click.Context | None) -> str | None:
    """Return the hint for `--device` of a command that takes the device in `--backend`."""
    if name != "--device" or context is None:
        return None
    if "--backend" not in _options_of(context.command, context):
        return None
    words: list[str] = [*context.meta.get(COMMAND_LINE, []), name, "h200"]
    model = next(
        word.removeprefix(f"{name}=") if "=" in word else after
        for word, after in itertools.pairwise(words)
        if word.partition("=")[0] == name
    )
    return (
        f"write --backend gpu:{model}; the key `backends` of a target in olympus.toml has its "
        f'devices: backends = ["gpu:{model}"]'
    )


def _options_of(command: click.Command, context: click.Context) -> list[str]:
    return [
        option
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    ]


def _nearest_option(name: str, context: click.Context | None) -> str | None:
    if context is None:
        return None
    options = [name for name in _options_of(context.command, context) if name.startswith("--")]
    near = nearest(name, options)
    return f"did you mean {' or '.join(near)}?" if near else None
