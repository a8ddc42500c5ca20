"""`olympus schema`: print the JSON Schema of olympus.toml."""

from __future__ import annotations

from pathlib import Path

import click

from olympus_cli.options.shared import Command, common_options, output_option
from olympus_cli.spec.json_schema import schema_text
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit
from olympus_cli.text.paths import display_path


@click.command("schema", cls=Command)
@output_option("the schema", printed=True)
@common_options
def command(output: Path | None, as_json: bool) -> None:
    """Editors such as those with Taplo read it if the first line of an olympus.toml
    is "#:schema olympus.schema.json", which `olympus init` writes.

    \b
    Examples:
      olympus schema
      olympus schema --output olympus.schema.json
    """
    emit(schema_text(), output)
    if as_json and output is not None:
        console.print_json({"output": display_path(output)})
