"""The names of metrics: the units, and the spellings of earlier versions.

A metric has one name in every table, document, file and option: lower-case words with hyphens.
Earlier versions wrote the metrics of `olympus bench` with underscores, and called the memory of the
process `peak_memory`.  Readers of files and options accept these spellings; nothing writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olympus_cli.text.nearest import spelled

#: The metrics of a program, which `build` and `check` determine, with their units.
PROGRAM: Mapping[str, str] = {
    "flops": "FLOP",
    "matmul-flops": "FLOP",
    "transcendentals": "count",
    "bytes": "B",
    "operations": "count",
    "collective-bytes": "B",
    "collectives": "count",
    "peak-memory": "B",
    "argument-memory": "B",
    "result-memory": "B",
    "temporary-memory": "B",
    "fusions": "count",
    "custom-calls": "count",
    "executable-size": "B",
    "bundle-size": "B",
    "estimated-time": "s",
}
#: The metrics of a build: the seconds of its stages and of all of them, and its peak memory.
BUILD: Mapping[str, str] = {
    "build-load": "s",
    "build-trace": "s",
    "build-lower": "s",
    "build-compare": "s",
    "build-compile": "s",
    "build-inspect": "s",
    "build-serialize": "s",
    "build-write": "s",
    "build-time": "s",
    "build-memory": "B",
}
#: The metrics that `bench` measures, in the order of its table.
BENCH: Mapping[str, str] = {
    "import": "s",
    "import-program": "s",
    "load": "s",
    "trace": "s",
    "lower": "s",
    "compile": "s",
    "first-call": "s",
    "steady-call": "s",
    "steady-cpu": "s",
    "throughput": "1/s",
    "flop-rate": "FLOP/s",
    "byte-rate": "B/s",
    "process-memory": "B",
}
#: The unit of every metric.
UNITS: Mapping[str, str] = {**PROGRAM, **BUILD, **BENCH}

#: The names of version 1 of baselines and histories, with the current ones.
OLD_NAMES: Mapping[str, str] = {
    "import_program": "import-program",
    "first_call": "first-call",
    "steady_call": "steady-call",
    "steady_cpu": "steady-cpu",
    "flop_rate": "flop-rate",
    "byte_rate": "byte-rate",
    "peak_memory": "process-memory",
}


def current_name(name: str) -> str:
    """Return the current name of the metric that a file calls `name`.

    >>> current_name("peak_memory"), current_name("peak-memory")
    ('process-memory', 'peak-memory')
    """
    return OLD_NAMES.get(name, name)


def metric_named(name: str, known: Iterable[str]) -> str:
    """Return the metric of `known` that a user calls `name`; `name` itself if there is none.

    An exact match comes first, then the current name of an old one, then a match up to `-` and `_`.

    >>> metric_named("steady_call", BENCH), metric_named("peak_memory", ["peak-memory"])
    ('steady-call', 'peak-memory')
    """
    choices = list(known)
    current = name if name in choices else current_name(name)
    return current if current in choices else spelled(name, choices)
