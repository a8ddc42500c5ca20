"""The contents of a bundle with symbolic sizes, as the document and the tables of `inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olympus.artifact import CONSTANTS, SymbolicManifest, part_name
from olympus_cli.reports.bundle_text import Table
from olympus_cli.text.units import byte_size


def symbolic_document(manifest: SymbolicManifest, file: str, size: int) -> dict[str, Any]:
    """Return the document of `olympus inspect --json`; `size` is that of the file in bytes."""
    return {
        "file": file,
        "bytes": size,
        "variables": list(manifest.variables),
        "manifest": manifest.to_data(),
    }


def symbolic_lines(manifest: SymbolicManifest, file: str, size: int) -> Iterator[str]:
    """Yield the lines above the tables."""
    yield f"{manifest.name}  ({manifest.entry}, {file}, {byte_size(size)})"
    yield f"  {'function':<17} {manifest.function}"
    yield f"  {'sizes':<17} {', '.join(manifest.variables)}"
    texts = list(dict.fromkeys(constraint.text for constraint in manifest.constraints))
    yield f"  {'constraints':<17} {', '.join(texts) or 'each size is 1 or more'}"
    yield f"  {'programs':<17} {', '.join(manifest.programs)}"
    if (constants := manifest.members.get(CONSTANTS)) is not None:
        yield f"  {'constants':<17} {byte_size(constants.size)} in {CONSTANTS}, for all sizes"


def symbolic_tables(manifest: SymbolicManifest) -> Iterator[Table]:
    """Yield the tables of compiled sizes, arguments and results."""
    compiled: list[tuple[object, ...]] = []
    for sizes in manifest.sizes:
        name = part_name(sizes)
        values = [sizes[variable] for variable in manifest.variables]
        compiled.append((*values, byte_size(manifest.members[name].size), name))
    yield (*manifest.variables, "size", "member"), compiled
    for kind, arrays in (("argument", manifest.arguments), ("result", manifest.results)):
        rows: list[tuple[object, ...]] = [
            (x.name, f"[{', '.join(map(str, x.shape))}]") for x in arrays
        ]
        yield (kind, "shape"), rows
