"""The programs of an archive of StableHLO's testdata, run unchanged, raised, and outlined.

`python -m tests.raising.testdata ARCHIVE` runs all, and prints the counts of the programs that pass
and of the operations that no primitive recognizes. `docs/how-to/stablehlo.md` has the figures.

For each program NAME the archive has NAME.mlir, NAME.inputs.npz (arg0, arg1, ...) and
NAME.expected.npz (out0, out1, ...), where KEY.dtype is the dtype of an array that is saved as
unsigned integers. NAME.checks.json has the checks: [kind, tolerance, index of the result,
["data", index of the expected array]].
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from olympus.errors import OlympusError
from olympus.interop import stablehlo
from olympus.verification import ulps
from olympus_core.base import dtypes
from olympus_core.blocks.outline import outline
from olympus_core.blocks.repeats import Thresholds
from olympus_core.ir.olympuspr import Olympuspr, sub_programs
from olympus_core.stages.stages import Traced

Array = np.ndarray[Any, Any]
#: every repeated block becomes a function
ALL_BLOCKS = Thresholds(occurrences=2, equations=1, again=0)


class Case(NamedTuple):
    """A program with its inputs, the expected results and the checks of them."""

    name: str
    module: bytes
    inputs: list[Array]
    expected: list[Array]
    checks: list[tuple[str, float, int, int]]


def cases(archive: Path, part: str = "") -> Iterator[Case]:
    """Yield the programs of an archive whose names contain `part`."""
    with zipfile.ZipFile(archive) as content:
        for member in sorted(content.namelist()):
            name = member.removesuffix(".mlir")
            if name == member or part not in name:
                continue
            checks = json.loads(content.read(f"{name}.checks.json"))
            yield Case(
                name,
                content.read(member),
                _arrays(content.read(f"{name}.inputs.npz"), "arg"),
                _arrays(content.read(f"{name}.expected.npz"), "out"),
                [(kind, limit, result, source[1]) for kind, limit, result, source in checks],
            )


def _arrays(content: bytes, prefix: str) -> list[Array]:
    with np.load(io.BytesIO(content)) as stored:
        count = sum(key.startswith(prefix) and "." not in key for key in stored)
        arrays = []
        for key in (f"{prefix}{i}" for i in range(count)):
            array = stored[key]
            if f"{key}.dtype" in stored:
                array = array.view(dtypes.dtype(str(stored[f"{key}.dtype"])))
            arrays.append(array)
        return arrays


def fits(kind: str, limit: float, actual: Array, expected: Array) -> bool:
    """Return True if a result passes a check: "eq", "close" (ulps) or "almost_eq" (distance)."""
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return False
    if kind == "close":
        return bool((ulps(actual, expected) <= limit).all())
    if dtypes.kind(actual.dtype) == "f":
        actual, expected = actual.astype("float64"), expected.astype("float64")
    is_equal = (actual == expected) | ((actual != actual) & (expected != expected))
    if kind == "eq":
        return bool(is_equal.all())
    with np.errstate(invalid="ignore"):  # of equal infinities
        return bool((is_equal | (np.abs(actual - expected) <= limit)).all())


def unchanged(traced: Traced, module: bytes) -> Any:
    """Return the executable of a module as it is."""
    return stablehlo.read(module, as_is=True).lower().compile()


def raised(traced: Traced, module: bytes) -> Any:
    """Return the executable of a raised program without blocks."""
    return traced.lower(repeats="off").compile()


def outlined(traced: Traced, module: bytes) -> Any:
    """Return the executable of a raised program in which all repeated blocks are functions."""
    program = outline(traced.olympuspr, ALL_BLOCKS)
    return Traced(traced.signature, program).lower(repeats="off").compile()


WAYS: Sequence[Callable[[Traced, bytes], Any]] = (unchanged, raised, outlined)


def outcome(way: Callable[[Traced, bytes], Any], traced: Traced, case: Case) -> str:
    """Return "passed", "failed" or the class of the error of a program."""
    try:
        results = way(traced, case.module)(*case.inputs)
    except OlympusError as error:
        return type(error).__name__
    arrays = [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]
    passed = all(fits(kind, t, arrays[i], case.expected[j]) for kind, t, i, j in case.checks)
    return "passed" if passed else "failed"


def opaque_operations(program: Olympuspr) -> Counter[str]:
    """Return the numbers of the operations that no primitive recognizes, by name."""
    counts: Counter[str] = Counter()
    for eqn in program.eqns:
        if eqn.primitive.name == "opaque":
            counts[eqn.params["operation"]] += 1
        for nested in sub_programs(eqn) if eqn.primitive.has_programs else ():
            counts += opaque_operations(nested)
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the programs, print the tables, and return 1 if raising changed an outcome."""
    parser = argparse.ArgumentParser("python -m tests.raising.testdata")
    parser.add_argument("archive", type=Path, help="the archive of programs")
    parser.add_argument("--only", default="", help="the programs with this text in their names")
    options = parser.parse_args(argv)
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    opaque: dict[str, list[int]] = defaultdict(list)
    changed = 0
    for case in cases(options.archive, options.only):
        traced = stablehlo.read(case.module, name=case.name)
        try:
            operations = opaque_operations(traced.olympuspr)
        except OlympusError as error:
            operations = Counter({f"(compiled unchanged: {error})": 1})
        for name, count in operations.items():
            opaque[name].append(count)
        row = [outcome(way, traced, case) for way in WAYS]
        for way, result in zip(WAYS, row, strict=True):
            outcomes[way.__name__][result] += 1
        if set(row) != {"passed"}:
            sys.stdout.write(f"{case.name}: {', '.join(row)}\n")
        changed += len(set(row)) > 1
    _print_tables(outcomes, opaque)
    return int(changed > 0)


def _print_tables(outcomes: dict[str, Counter[str]], opaque: dict[str, list[int]]) -> None:
    sys.stdout.write("\n| form | programs | passed |\n| --- | ---: | ---: |\n")
    for name, counts in outcomes.items():
        sys.stdout.write(f"| {name} | {counts.total()} | {counts['passed']} |\n")
    sys.stdout.write("\n| opaque operation | programs | operations |\n| --- | ---: | ---: |\n")
    for name, numbers in sorted(opaque.items(), key=lambda item: (-len(item[1]), item[0])):
        sys.stdout.write(f"| `{name}` | {len(numbers)} | {sum(numbers)} |\n")


if __name__ == "__main__":
    sys.exit(main())
