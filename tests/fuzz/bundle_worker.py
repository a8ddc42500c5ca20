"""A process that loads and calls the bundles on its stdin; a bundle may crash or hang it.

A line of JSON, `{"path": ..., "expected": [...]}`, enters on stdin for each bundle; a line with
what became of it leaves on stdout.
"""

from __future__ import annotations

import difflib  # noqa: F401  (what an error's hint needs)
import json
import os
import resource
import sys
from typing import Any

import numpy as np

import olympus  # noqa: F401  (what it loads is loaded before the first bundle)
from olympus import artifact, tree
from olympus.errors import ArtifactError, CompileError
from olympus.stages import ArgInfo
from olympus_cli.program.inputs import seeded_inputs


def answers(path: str) -> list[Any]:
    """Return the results of a bundle's program on seeded inputs, called as `olympus run` does."""
    bundle = artifact.load(path)
    compiled = bundle.compiled()
    assert isinstance(bundle.olympuspr, str)
    arguments = bundle.manifest.signature.arguments
    leaves = [ArgInfo(a.shape, a.dtype, name=str(i)) for i, a in enumerate(arguments)]
    args, kwargs = tree.unflatten(compiled.in_tree, seeded_inputs(leaves))
    results = tree.leaves(compiled(*args, **kwargs))
    return [[str(x.dtype), list(x.shape), np.asarray(x).tolist()] for x in results]


def equal(found: list[Any], expected: list[Any]) -> bool:
    """Return True if the answers are equal up to rounding."""
    if [x[:2] for x in found] != [x[:2] for x in expected]:
        return False
    pairs = zip(found, expected, strict=True)
    return all(np.allclose(x[2], y[2], 1e-4, 1e-5, equal_nan=True) for x, y in pairs)


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    modules = set(sys.modules)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        found = answers(case["path"])
        what = "right" if equal(found, case["expected"]) else "another answer"
    except ArtifactError as error:
        what = "refused" if "\n" not in str(error) else f"an error of several lines: {error}"
    except CompileError:
        what = "CompileError"
    except Exception as error:  # whatever it is, it is what the fuzzer looks for
        what = f"{type(error).__name__}: {error}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    imported = sorted(set(sys.modules) - modules)
    return {"what": what, "grown": grown * 1024, "imported": imported}


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a compiler prints is no answer
    for line in sys.stdin:
        case = json.loads(line)
        if case["expected"] is None:  # the bundle as it is: the answer that is right
            print(json.dumps({"what": answers(case["path"])}), file=out, flush=True)
        else:
            print(json.dumps(outcome(case)), file=out, flush=True)


if __name__ == "__main__":
    main()
