"""`olympus.experimental.serialize_executable`: a compiled program as the bytes of a bundle.

The trees of arguments and results, which may have classes of the user, are no part of the bytes.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from olympus_core import xla
from olympus_core.artifact.bundle import load
from olympus_core.artifact.saving import save
from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError
from olympus_core.stages import stages

_S = TypeVar("_S", stages.Compiled, stages.Lowered)
_FILE = "program.olympus"


def _flat(stage: _S) -> _S:
    """Return a stage of the same program, of positional arguments and a list of results."""
    signature = stage.signature
    ins, outs = len(signature.in_avals), len(signature.out_avals)
    flat = copy.copy(stage)
    flat.signature = signature._replace(
        in_tree=tree.structure(((0,) * ins, {})),
        out_tree=tree.structure([0] * outs),
        result_names=stage.result_names,
    )
    return flat


def serialize(compiled: stages.Compiled) -> tuple[bytes, tree.PyTreeDef, tree.PyTreeDef]:
    """Return a compiled program as bytes, and the trees of its arguments and of its results.

    The bytes are a bundle, with the executable and the StableHLO of the program. The trees are not
    in it, and `deserialize_and_load` needs them.

    Raises ArgumentError (a ValueError) for a program that was itself loaded from bytes, and
    UsageError for one that calls Python functions.

    >>> compiled = jit(lambda x: x * 2).lower(1.0).compile()
    >>> content, in_tree, out_tree = serialize(compiled)
    >>> deserialize_and_load(content, in_tree, out_tree)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    lowered = compiled._lowered
    if lowered is None:
        raise ArgumentError(
            "Compilation does not support serialization: the program was loaded, and its StableHLO "
            "is not known",
            hint="keep the bytes that it was loaded from",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        save(
            path,
            _flat(compiled),
            lowered=_flat(lowered),
            olympuspr_text=str(lowered.olympuspr),
            name=compiled.fun_name,
            entry="serialize_executable:serialize",
        )
        return path.read_bytes(), compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    backend: Any = None,
    execution_devices: Sequence[xla.Device] | None = None,
) -> stages.Compiled:
    """Return a compiled program from the results of `serialize`.

    The bytes have native code, which a call runs: do not load bytes that you do not trust. On a
    machine with another jaxlib or another processor, the program is compiled again. `backend` is a
    platform, such as "cpu", by default that of the program; `execution_devices` are the devices of
    a program of several, by default the first ones.

    Raises ArgumentError (a ValueError) for devices of another backend, or trees of another number
    of arrays, and ArtifactError for damaged bytes.

    >>> content, *trees = serialize(jit(lambda x: {"y": x + 1}).lower(1.0).compile())
    >>> deserialize_and_load(content, *trees, backend="cpu")(1.0)
    {'y': Array(2., dtype=float32, weak_type=True)}
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE
        path.write_bytes(serialized)
        bundle = load(path)
        target = bundle.executables[0].target
        wanted = getattr(backend, "platform", backend)
        if wanted is not None and wanted != target.backend:
            target = xla.target(wanted)
        for device in execution_devices or ():
            if device.platform != target.backend:
                raise ArgumentError(
                    "Execution devices belong to a client other than `backend`. Got backend client:"
                    f" {target.backend} and execution devices client: {device.platform}"
                )
        several = bundle.num_devices > 1
        loaded = bundle.compiled(target, devices=execution_devices if several else None)
    signature = loaded.signature
    counts = (
        (in_tree.num_leaves, len(signature.in_avals)),
        (
            out_tree.num_leaves,
            len(signature.out_avals),
        ),
    )
    if any(given != needed for given, needed in counts):
        raise ArgumentError(
            f"the trees must have {counts[0][1]} arguments and {counts[1][1]} results, and have "
            f"{counts[0][0]} and {counts[1][0]}"
        )
    signature = signature._replace(in_tree=in_tree, out_tree=out_tree)
    if isinstance(loaded, stages.ShardedCompiled):
        return stages.ShardedCompiled(signature, loaded._program, loaded.target)
    return stages.Compiled(signature, loaded.executable, loaded.target)
