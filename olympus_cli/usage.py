"""Mistakes in the options and arguments of a command, told as every other error is.

The hint has the nearest name, or the command that shows the help.
"""

from __future__ import annotations

import click
from click.exceptions import NoSuchOption

from olympus.errors import UsageError
from olympus_cli.nearest import nearest

__all__ = ["usage_error"]


def usage_error(error: click.ClickException) -> UsageError:
    """The error in our words.

    >>> str(usage_error(click.UsageError("Got unexpected extra argument (x).")))
    'got unexpected extra argument (x)'
    """
    context = getattr(error, "ctx", None)
    help_hint = f"{context.command_path} --help shows what it takes" if context else None
    if isinstance(error, NoSuchOption):
        name = context.command_path if context else "the command"
        return UsageError(
            f"{name} has no option {error.option_name!r}",
            hint=_nearest_option(error.option_name, context) or help_hint,
        )
    message = error.format_message()
    message = message[:1].lower() + message[1:].removesuffix(".")
    return UsageError(message, hint=help_hint)


def _nearest_option(name: str, context: click.Context | None) -> str | None:
    if context is None:
        return None
    options = [
        option
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    ]
    near = nearest(name, options)
    return f"did you mean {' or '.join(near)}?" if near else None
