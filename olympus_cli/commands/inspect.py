"""`olympus inspect`: show the contents of a bundle, a build or a stored result."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from olympus import artifact
from olympus.errors import UsageError
from olympus_cli.builder.inspection.build_contents import BuildContents
from olympus_cli.builder.inspection.entry_contents import EntryContents, is_entry_file
from olympus_cli.builder.inspection.inspection_text import (
    build_lines,
    build_tables,
    entry_lines,
    entry_tables,
)
from olympus_cli.options.shared import Command, FilePath, common_options
from olympus_cli.program.buckets import is_for_several_sizes, is_joined
from olympus_cli.reports.bucket_contents import (
    bucket_document,
    bucket_lines,
    bucket_tables,
    weight_lines,
    weight_tables,
)
from olympus_cli.reports.bundle_contents import BundleContents
from olympus_cli.reports.bundle_text import Table, feature_lines, head_lines, tables
from olympus_cli.reports.symbolic_contents import (
    symbolic_document,
    symbolic_lines,
    symbolic_tables,
)
from olympus_cli.spec.settings import read_settings
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path


@click.command("inspect", cls=Command)
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "--trust",
    metavar="KEY",
    multiple=True,
    type=FilePath(),
    help="Refuse the file unless this public key verifies its signature; may be repeated.",
)
@common_options
def command(path: Path, trust: tuple[Path, ...], as_json: bool) -> None:
    """PATH is a bundle, the folder of a target in the build folder, or a file that `olympus cache
    list` names. It is verified, and none of its code runs. Without --trust, the keys in your
    settings decide which signatures are trusted, and nothing is refused for its signature.

    \b
    Examples:
      olympus inspect forward.olympus
      olympus inspect build/forward
      olympus inspect forward.olympus --json
    """
    if path.is_dir():
        _show_build(path, trust, as_json)
    elif is_entry_file(path):
        entry = EntryContents.read(path, trust)
        _show(entry.to_data(), as_json, entry_lines(entry), entry_tables(entry))
    else:
        _show_bundle(path, trust, as_json)


def _show_build(folder: Path, trust: tuple[Path, ...], as_json: bool) -> None:
    if trust:
        raise UsageError(
            "--trust verifies the signature of a file, and a build folder has none",
            hint=f"olympus inspect {display_path(folder)}/NAME.olympus inspects its bundle",
        )
    build = BuildContents.read(folder)
    _show(build.to_data(), as_json, build_lines(build), build_tables(build))


def _show_bundle(file: Path, trust: tuple[Path, ...], as_json: bool) -> None:
    if is_for_several_sizes(file):
        manifest, size = artifact.buckets_of(file, trust=trust or None), file.stat().st_size
        shown = bucket_lines(manifest, display_path(file), size), bucket_tables(manifest)
        _show(bucket_document(manifest, display_path(file), size), as_json, *shown)
        return
    if artifact.schema_version(file) == artifact.SYMBOLIC_VERSION:
        symbolic, size = artifact.symbolic_of(file, trust=trust or None), file.stat().st_size
        shown = symbolic_lines(symbolic, display_path(file), size), symbolic_tables(symbolic)
        _show(symbolic_document(symbolic, display_path(file), size), as_json, *shown)
        return
    if is_joined(file):
        weights = artifact.weights_of(file, trust=trust or None)
        shown_weights = weight_lines(weights, display_path(file)), weight_tables(weights)
        _show({"file": display_path(file), "manifest": weights.to_data()}, as_json, *shown_weights)
        return
    bundle = artifact.load(file, native=False, trust=trust or None)
    state = bundle.signature_state(trust or read_settings().trust or None)
    contents = BundleContents.of(bundle, display_path(file), file.stat().st_size, state)
    lines = [*head_lines(contents, bundle), *feature_lines(bundle.manifest)]
    _show(contents.to_data(), as_json, lines, tables(contents, bundle))


def _show(
    document: dict[str, Any], as_json: bool, lines: Iterable[str], shown: Iterable[Table]
) -> None:
    """Write a document as JSON, or its lines and tables as text."""
    if as_json:
        console.print_json(document)
        return
    console.prose("\n".join(lines))
    for columns, rows in shown:
        console.data("")
        console.table(columns, rows)
