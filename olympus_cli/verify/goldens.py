"""Golden outputs: the saved results of a target on its inputs, beside its olympus.toml."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from olympus.artifact import write_whole
from olympus.errors import ArtifactError, GateError, UsageError
from olympus.files import parse_json, read_regular, to_data, typed
from olympus.stages import ArgInfo
from olympus_cli.program.input_files import file_inputs, npz_bytes
from olympus_cli.terminal.output import check_writable
from olympus_cli.text.paths import display_path

_MAX_BYTES = 2**40  # of a file with results
_MAX_FACTS = 64 * 2**20  # of the digests beside it

Array = np.ndarray[Any, Any]


def golden_file(root: Path, target: str, seed: int) -> Path:
    """Return the file of the golden outputs of a target: each seed other than 0 has its own."""
    suffix = f"-seed{seed}" if seed else ""
    return root / "goldens" / f"{target}{suffix}.npz"


class _Digests(NamedTuple):
    """The digests of the inputs and of the file of golden results."""

    inputs: str
    file: str


def digest(arrays: Sequence[Array]) -> str:
    """Return the SHA-256 of the dtypes, shapes and elements of arrays."""
    total = hashlib.sha256()
    for x in arrays:
        total.update(f"{x.dtype.name}{x.shape};".encode())
        total.update(np.ascontiguousarray(x).tobytes())
    return total.hexdigest()


def write_golden(
    path: Path, inputs: Sequence[Array], leaves: Sequence[ArgInfo], results: Sequence[Array]
) -> None:
    """Write the results as a .npz file, and a .json file with the digests beside it.

    Raises:
        UsageError: two results have the same name, or the folder cannot be written.
    """
    content = npz_bytes([(leaf.name, x) for leaf, x in zip(leaves, results, strict=True)])
    digests = _Digests(digest(inputs), hashlib.sha256(content).hexdigest())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in (path, path.with_suffix(".json")):
            check_writable(file)
        write_whole(path, content)
        write_whole(
            path.with_suffix(".json"), (json.dumps(to_data(digests), indent=2) + "\n").encode()
        )
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be written: {error.strerror}") from error


def read_golden(path: Path, inputs: Sequence[Array], leaves: Sequence[ArgInfo]) -> list[Array]:
    """Return the saved results for these inputs.

    Raises:
        UsageError: there are none, or they have other types.
        GateError: they were computed from other inputs.
        ArtifactError: the file cannot be read, or differs from the one that was written.
    """
    hint = "olympus verify --update writes it anew"
    try:
        document = parse_json(read_regular(path.with_suffix(".json"), _MAX_FACTS))
        digests: _Digests = typed(document, _Digests)
        content = read_regular(path, _MAX_BYTES)
    except FileNotFoundError as error:
        raise UsageError(
            f"the golden output {display_path(path)} does not exist", hint=hint
        ) from error
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{display_path(path)} cannot be read: {error}", hint=hint) from error
    if hashlib.sha256(content).hexdigest() != digests.file:
        raise ArtifactError(f"{display_path(path)} is damaged: its digest is another", hint=hint)
    if digest(inputs) != digests.inputs:
        raise GateError(f"{display_path(path)} was computed from other inputs", hint=hint)
    return file_inputs(path, leaves)
