"""Arguments that a user's function computes: `inputs.params = { from = "model:init" }`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus import tree
from olympus.tree_util import keystr
from olympus_cli.frontends.python import load_target, values_of
from olympus_cli.spec.model import FromEntry, TargetSpec


def entry_arrays(
    entry: str, values: Mapping[str, object], target: TargetSpec, key: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays that the function of `entry` returns, by the names of the parts of `key`.

    The function gets `values` and the target's statics by name.

    Raises:
        EntryError: the function cannot be found or imported.
        TraceError: it failed.
        UsageError: its arguments are not the given ones.
    """
    spec = load_target(target).spec  # with the values of its statics
    found = tree.leaves_with_path(values_of(FromEntry(entry, values), spec))
    return {f"{key}{keystr(path)}": np.asarray(leaf) for path, leaf in found}
