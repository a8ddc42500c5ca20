"""`olympus sign`: sign a bundle, or make a key to sign with."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Literal

import click

from olympus import artifact
from olympus.artifact import write_whole
from olympus.errors import UsageError
from olympus_cli.options.shared import Command, FilePath, common_options, output_option
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit
from olympus_cli.text.paths import display_path


@click.command("sign", cls=Command)
@click.argument("file", metavar="[FILE.olympus]", required=False, type=FilePath())
@click.option(
    "--key", metavar="KEY", type=FilePath(), help="Sign with the private key in this file."
)
@click.option(
    "--new-key",
    "prefix",
    metavar="PREFIX",
    type=FilePath(),
    help="Create an Ed25519 key pair: PREFIX.key signs and is secret, PREFIX.pub verifies.",
)
@output_option("the signed bundle")
@common_options
def command(
    file: Path | None,
    key: Path | None,
    prefix: Path | None,
    output: Path | Literal["-"] | None,
    as_json: bool,
) -> None:
    """`olympus run --trust` runs a bundle only if one of the given keys signed it. Without
    --output, the signature is added to FILE.olympus itself.

    \b
    Examples:
      olympus sign --new-key team
      olympus sign forward.olympus --key team.key
      olympus run forward.olympus --trust team.pub
    """
    if output == "-" and as_json:
        raise UsageError("`-o -` cannot be combined with --json: both write to stdout")
    if prefix is not None:
        if file or key or output:
            raise UsageError("--new-key cannot be combined with FILE.olympus, --key or --output")
        written = _make_key(prefix)
    elif file is None or key is None:
        raise UsageError("olympus sign needs a FILE.olympus and --key KEY, or --new-key PREFIX")
    elif output == "-":
        content = io.BytesIO()
        artifact.sign(file, key, content)
        emit(content.getvalue(), None)
        return
    else:
        artifact.sign(file, key, output)
        written = [output or file]
    if as_json:
        console.print_json({"written": [str(path) for path in written]})
    else:
        console.message(f"wrote {' and '.join(map(display_path, written))}")


def _make_key(prefix: Path) -> list[Path]:
    """Write a new key's two files; neither may be there."""
    private, public = (prefix.with_name(prefix.name + end) for end in (".key", ".pub"))
    for path in (private, public):
        if os.path.lexists(path):
            raise UsageError(f"{display_path(path)} exists already, and a key is never overwritten")
    pair = artifact.new_key()
    try:
        descriptor = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(pair.private)
    except OSError as error:
        raise UsageError(f"{display_path(private)} cannot be written: {error.strerror}") from error
    write_whole(public, pair.public)
    return [private, public]
