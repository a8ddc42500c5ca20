"""`olympus inspect`: show the contents of a bundle without running it."""

from __future__ import annotations

from pathlib import Path

import click

from olympus import artifact
from olympus_cli.options.shared import Command, FilePath, common_options
from olympus_cli.reports.bundle_contents import BundleContents
from olympus_cli.reports.bundle_text import feature_lines, head_lines, tables
from olympus_cli.spec.settings import read_settings
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path


@click.command("inspect", cls=Command)
@click.argument("file", metavar="FILE.olympus", type=click.Path(path_type=Path))
@click.option(
    "--trust",
    metavar="KEY",
    multiple=True,
    type=FilePath(),
    help="Refuse the bundle unless this public key verifies its signature; may be repeated.",
)
@common_options
def command(file: Path, trust: tuple[Path, ...], as_json: bool) -> None:
    """The bundle is verified, and none of its code runs. Without --trust, the keys in your settings
    decide which signatures are trusted, and no bundle is refused for its signature.

    \b
    Examples:
      olympus inspect forward.olympus
      olympus inspect forward.olympus --json
    """
    bundle = artifact.load(file, native=False, trust=trust or None)
    state = bundle.signature_state(trust or read_settings().trust or None)
    contents = BundleContents.of(bundle, display_path(file), file.stat().st_size, state)
    if as_json:
        console.print_json(contents.to_data())
        return
    lines = [*head_lines(contents, bundle), *feature_lines(bundle.manifest)]
    console.prose("\n".join(lines))
    for columns, rows in tables(contents, bundle):
        console.data("")
        console.table(columns, rows)
