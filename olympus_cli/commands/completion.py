"""`olympus completion`: print the script that completes the command line in a shell."""

from __future__ import annotations

import click

from olympus_cli.options.completion import SHELLS, script
from olympus_cli.options.shared import Command, common_options
from olympus_cli.terminal import console


@click.command("completion", cls=Command)
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(SHELLS))
@common_options
def command(shell: str, as_json: bool) -> None:
    """The script completes commands, options, targets, devices, metrics, revisions of
    git and files.

    \b
    Examples:
      olympus completion bash >> ~/.bashrc
      olympus completion zsh >> ~/.zshrc
      olympus completion fish > ~/.config/fish/completions/olympus.fish
    """
    text = script(shell)
    if as_json:
        console.print_json({"shell": shell, "script": text})
    else:
        console.data(text)
