"""The content key of one program for one backend: equal keys mean that nothing has to be built.

The key depends on the StableHLO and not on source files. Tracing and lowering take milliseconds,
compiling takes seconds. A change to a helper in another package, a constant read from a file, a
static value or an environment variable that the program reads changes the key. A comment or a
reordered function does not.

The inspections of a program of several devices are not in the StableHLO, but they change the
executable. They are therefore part of the key.
"""

from __future__ import annotations

import hashlib
import json
import os

import olympus
from olympus.artifact import COMPILERS, Host
from olympus.files import read_regular, to_data
from olympus.stages import device_config, device_model, optimize_options
from olympus_cli.program.stages import Program, Unit
from olympus_cli.program.versions import installed_version
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.pool import default_jobs

# Variables that change the result of a backend's compiler but are not in the program.
_ENVIRONMENT = {
    "cpu": ("XLA_FLAGS",),
    "gpu": ("XLA_FLAGS",),
    "tpu": ("XLA_FLAGS", "LIBTPU_INIT_ARGS"),
}
_MAX_FLAGS = 2**20  # bytes of a file with flags

#: The name of the part of a key that is the digest of the StableHLO.
PROGRAM = "program"
#: The names of the other parts that are digests.
STRUCTURE = "structure of the arguments or results"
_DEVICE, _INSPECTIONS = "description of the device", "inspections of the program"
#: The name of the part that estimates depend on, and the executable does not.
FIGURES = "figures of the device"
DIGESTS = (STRUCTURE, _DEVICE, _INSPECTIONS, FIGURES)


def content_keys(program: Program) -> dict[str, str]:
    """Return the content key of a lowered program for each of its backends, by backend label."""
    spec = program.spec
    signature = [
        spec.entry,
        program.statics,
        [(argument.name, argument.donated) for argument in program.arguments],
        [result.name for result in program.results],
        program.types,
        dict(spec.compiler_options),
        spec.optimize,
        *([dict(spec.trips)] if spec.trips else []),  # the report's figures depend on them
        *_general(program),
    ]
    return {
        unit.label: content_key(
            unit.stablehlo,
            [*signature, *profile_options(spec, unit), *inspections_of(unit)],
            unit.backend,
        )
        for unit in program.units
    }


def _general(program: Program) -> list[object]:
    """Return the parts of a program with symbolic sizes, which its bundle has too."""
    general = program.general
    if general is None:
        return []
    texts = [digest_of(unit.stablehlo) for unit in general.units]
    return [texts, list(general.spec.constraints), dict(program.spec.sizes), general.types]


def profile_options(spec: TargetSpec, unit: Unit) -> list[dict[str, object]]:
    """Return the options of the target's profile, which another version may change."""
    options = optimize_options(spec.optimize, unit.backend)
    return [dict(options)] if options else []


def inspections_of(unit: Unit) -> list[str]:
    """Return the parts of the executable's input that are not in the StableHLO."""
    inspections = unit.lowered.inspections
    return [*([] if inspections is None else [inspections]), *unit.lowered.partitioners]


def content_key(stablehlo: str, signature: object, backend: olympus.Target) -> str:
    """Return the SHA-256 of everything that the outputs of one program for one backend depend on.

    `signature` is JSON-like data: the other contents of the outputs, such as names and statics.

    >>> len(content_key("module {}", [], olympus.Target("cpu")))
    64
    """
    facts = {
        PROGRAM: digest_of(stablehlo),
        "signature": signature,
        "host": to_data(Host.here()),
        **compiler_facts(backend),
    }
    return digest_of(json.dumps(facts, sort_keys=True))


def compiler_facts(backend: olympus.Target) -> dict[str, object]:
    """Return everything but the program and its options that a compiler's result depends on.

    An executable for the CPU runs only on a processor with the features of the host. XLA divides
    its loops among the processors that it finds, and one processor has other kernels for products.

    >>> compiler_facts(olympus.Target("gpu", "h200"))["processors"] is None
    True
    """
    kind, host = backend.backend, Host.here()
    return {
        "backend": backend_text(backend),
        "device": device_config(backend),  # the compiler's description, not only its name
        "olympus": olympus.__version__,
        "compilers": {name: installed_version(name) for name in COMPILERS[kind]},
        "machine": [host.system, host.machine],
        "processor features": host.cpu_features if kind == "cpu" else None,
        "processors": default_jobs() if kind == "cpu" else None,
        "environment": {name: _variable(name) for name in _ENVIRONMENT[kind]},
    }


def _variable(name: str) -> str | None:
    """Return the value of an environment variable, with a digest if it names a file of flags."""
    value = os.environ.get(name)
    if value is None or not value.strip() or value.lstrip().startswith("-"):
        return value
    try:
        content = read_regular(value.strip(), _MAX_FLAGS)
    except OSError:  # the compiler reports it
        return value
    return f"{value} ({hashlib.sha256(content).hexdigest()})"


def device_figures(backend: olympus.Target) -> str:
    """Return the digest of an estimate's assumptions about a backend's device; it is in no key."""
    if backend.backend == "cpu":
        return digest_of(repr((olympus.analysis.kept_peaks(), olympus.analysis.this_cpu())))
    return digest_of(repr(device_model(backend)))


def content_parts(program: Program) -> dict[str, dict[str, str]]:
    """Return the parts of the content key of each backend by name, as text for messages.

    Statics, arguments and results are not included, because a report has them.
    """
    spec = program.spec
    types = json.dumps(program.types, sort_keys=True)
    common = {
        "entry": spec.entry,
        STRUCTURE: digest_of(types),
        "optimize": spec.optimize,
        **{f"compiler option {k}": str(v) for k, v in spec.compiler_options.items()},
        **{f"trips of {place}": str(count) for place, count in spec.trips.items()},
        "package olympus": olympus.__version__,
        **_host_parts(),
    }
    return {unit.label: {**common, **_unit_parts(unit)} for unit in program.units}


def _host_parts() -> dict[str, str]:
    host = Host.here()
    features = {"processor features": " ".join(host.cpu_features)} if host.cpu_features else {}
    return {"machine": f"{host.system} {host.machine}", **features}


def _unit_parts(unit: Unit) -> dict[str, str]:
    kind = unit.backend.backend
    versions = {name: installed_version(name) for name in COMPILERS[kind]}
    return {
        PROGRAM: digest_of(unit.stablehlo),
        "backend": backend_text(unit.backend),
        **({"processors": str(default_jobs())} if kind == "cpu" else {}),
        **{name: text for name in _ENVIRONMENT[kind] if (text := _variable(name)) is not None},
        _DEVICE: digest_of(device_config(unit.backend) or ""),
        FIGURES: device_figures(unit.backend),
        **{f"package {name}": version for name, version in versions.items() if version},
        _INSPECTIONS: digest_of("".join(inspections_of(unit))),
    }


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal.

    >>> digest_of("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()
