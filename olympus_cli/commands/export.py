"""`olympus export`: write a program in a format of another tool."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from olympus import artifact
from olympus.errors import UsageError
from olympus_cli.builder.bucket_bundles import join_groups
from olympus_cli.builder.driver import build
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Options
from olympus_cli.builder.show import building, raise_failures
from olympus_cli.builder.weight_bundles import join_weights
from olympus_cli.export.formats import (
    FORMATS,
    AnyFormat,
    BuildFormat,
    BundleFormat,
    ProgramFormat,
)
from olympus_cli.export.options import ExportOptions
from olympus_cli.options.shared import (
    Command,
    backend_options,
    common_options,
    is_verbose,
    memory_limit_option,
    no_cache_option,
    output_option,
    program_options,
    stage_options,
    time_limit_option,
    whole_number,
)
from olympus_cli.process import interrupts
from olympus_cli.program.buckets import is_for_several_sizes
from olympus_cli.program.stages import Program
from olympus_cli.spec.entries import BUNDLE_SUFFIX, is_bundle, is_onnx, program_file
from olympus_cli.spec.fixed_sizes import symbolic_shapes, with_fixed_sizes
from olympus_cli.spec.model import WEIGHTS_SUFFIX, TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.settings import read_settings
from olympus_cli.terminal import console
from olympus_cli.terminal.output import check_writable, emit, write_file
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits


@click.command("export", cls=Command)
@program_options
@backend_options
@stage_options
@click.option(
    "--format",
    "name",
    metavar="FORMAT",
    type=click.Choice([*FORMATS]),
    required=True,
    help=f"Write {', '.join([*FORMATS][:-1])} or {[*FORMATS][-1]}.",
)
@click.option(
    "--stablehlo-version",
    metavar="VERSION",
    help="Write bytecode for this version of StableHLO, such as 1.9.0.",
)
@click.option(
    "--vjp-order",
    type=whole_number(0, 8),
    metavar="N",
    help="Include derivatives up to this order in a file of jax.export; the default is none.",
)
@click.option("--module", metavar="NAME", help="Name the module of a wheel.")
@click.option("--function", metavar="NAME", help="Name the function of a wheel.")
@click.option(
    "--wheel-version", metavar="VERSION", help="Set the version of a wheel; 1.0 without it."
)
@output_option("the output", or_folder=True)
@no_cache_option
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    name: str,
    stablehlo_version: str | None,
    vjp_order: int | None,
    module: str | None,
    function: str | None,
    wheel_version: str | None,
    output: Path | Literal["-"] | None,
    no_cache: bool,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The program of a file is written unchanged. Without --output, the file has the name of the
    program, in the working directory.

    \b
    Examples:
      olympus export forward --format bytecode --stablehlo-version 1.9.0
      olympus export model:forward --shapes "x=f32[8,3]" --format jax-export
      olympus export forward.olympus --format stablehlo -o forward.mlir
      olympus export forward.olympus --format wheel --module model -o dist
    """
    limits = Limits(time_limit, memory_limit)
    options = ExportOptions(stablehlo_version, vjp_order, module, function, wheel_version)
    form = FORMATS[name]
    _check_options(name, form, options)
    if output == "-" and (as_json or isinstance(form, BundleFormat)):
        both = "--json" if as_json else f"--format {name}, which writes files"
        raise UsageError(f"`-o -` cannot be combined with {both}")
    with_weights = isinstance(form, BundleFormat) and request.text.endswith(WEIGHTS_SUFFIX)
    if with_weights:
        request = replace(request, text=request.text.removesuffix(WEIGHTS_SUFFIX))
    sizes = request.sizes() if isinstance(form, BundleFormat) else {}
    spec = next(iter(sizes.values())) if sizes else _unchanged(request.spec())
    target = spec.name if spec.buckets is None or not sizes else spec.buckets.name
    if with_weights and not spec.data:
        raise UsageError(f"{target} has no weights", hint=_DATA)
    target += WEIGHTS_SUFFIX if with_weights else ""
    spec = _with_sizes(spec, request, form, name)
    if (request.backend, request.device, request.topology) != (None, None, None):
        options = replace(options, target=spec.backends[0])
    place = output or (Path.cwd() if form.suffix is None else Path.cwd() / f"{target}{form.suffix}")
    if place != "-":
        (form.check if isinstance(form, BundleFormat) else check_writable)(place)
    if isinstance(form, ProgramFormat | BuildFormat):
        content: str | bytes
        if isinstance(form, ProgramFormat):
            content = call(
                _content,
                spec,
                name,
                options,
                action="exports",
                time_limit=time_limit,
                memory_limit=memory_limit,
            )
        else:
            content = _description(form, spec, request, limits, no_cache=no_cache)
        if place == "-":
            emit(content, None)
            return
        write_file(place, content, quiet=True)
        written = place
    else:
        assert place != "-"
        with interrupts.interrupts_raised(), tempfile.TemporaryDirectory() as folder:
            specs = sizes or {spec.name: spec}
            bundle = _bundle(target, specs, request, Path(folder), limits, no_cache=no_cache)
            written = form.write(bundle, place, options)
    if as_json:
        document = {"target": target, "entry": spec.entry, "format": name}
        console.print_json({**document, "output": display_path(written)})
    else:
        console.message(f"wrote {display_path(written)}")


_DATA = '`data = "weights.safetensors"` of an argument in olympus.toml names the file with them'


def _check_options(name: str, form: AnyFormat, options: ExportOptions) -> None:
    """Raise UsageError for an option that the format does not have."""
    for option in options.given():
        if option not in form.options:
            owners = " or ".join(x for x, other in FORMATS.items() if option in other.options)
            flag = f"--{option.replace('_', '-')}"
            raise UsageError(f"{flag} is for --format {owners}, and the format is {name}")


def _unchanged(spec: TargetSpec) -> TargetSpec:
    """Return the target so that the program of a file is exported as it is in the file."""
    if program_file(spec.entry) is None or is_onnx(spec.entry):
        return spec
    return replace(spec, as_is=True)


def _with_sizes(spec: TargetSpec, request: Request, form: AnyFormat, name: str) -> TargetSpec:
    """Return the target with the fixed sizes of `--at`; without it, its sizes stay symbolic.

    Raises:
        UsageError: the sizes are symbolic, and the format needs fixed ones.
    """
    if request.at:
        return replace(with_fixed_sizes(spec), general=None)
    symbolic = [size for shape in symbolic_shapes(spec) for size in shape if isinstance(size, str)]
    may_be_symbolic = isinstance(form, BuildFormat) or (
        isinstance(form, ProgramFormat) and form.has_sizes
    )
    if symbolic and not may_be_symbolic:
        shown = ", ".join(dict.fromkeys(symbolic))
        raise UsageError(
            f"--format {name} needs fixed sizes, and {spec.name} has the symbolic sizes {shown}",
            hint="--at NAME=N gives a size a value; the formats stablehlo and bytecode take "
            "symbolic ones",
        )
    return spec


def _content(on_stage: OnStage, spec: TargetSpec, name: str, options: ExportOptions) -> str | bytes:
    """Return the content of the file in a format of programs."""
    form = FORMATS[name]
    assert isinstance(form, ProgramFormat)
    labels = [next(iter(spec.labels))]
    program = Program.of(
        spec, on_stage, until="lower", labels=labels, keeps_sizes=True, self_contained=True
    )
    for warning in program.warnings:
        console.message(f"warning: {warning}")
    return form.content(program, options)


def _description(
    form: BuildFormat,
    spec: TargetSpec,
    request: Request,
    limits: Limits,
    *,
    no_cache: bool,
) -> str:
    """Return the content of a file that describes the build of a target.

    Raises:
        UsageError: the program is a bundle, which is built already.
    """
    if is_bundle(request.text):
        raise UsageError(
            f"{request.text} is built already: its provenance is that of the target",
            hint="name the target or its entry",
        )
    with interrupts.interrupts_raised(), tempfile.TemporaryDirectory() as folder:
        (outcome,) = _built({spec.name: spec}, Path(folder), limits, no_cache=no_cache)
        assert outcome.reads is not None  # it was traced
        bundle = Path(folder) / spec.name / f"{spec.name}{BUNDLE_SUFFIX}"
        return form.content(spec, bundle, outcome.reads)


def _bundle(
    target: str,
    specs: Mapping[str, TargetSpec],
    request: Request,
    folder: Path,
    limits: Limits,
    *,
    no_cache: bool,
) -> Path:
    """Return the bundle of a target: its entry, verified, or one compiled in `folder`.

    `specs` are the target, or those of a bundle for several sizes.

    Raises:
        ArtifactError: the bundle is damaged, or lacks a required signature.
    """
    if is_bundle(request.text):
        path = Path(request.text).absolute()
        trust = read_settings().trust or None
        if artifact.schema_version(path) == artifact.WEIGHTS_VERSION:
            artifact.weights_of(path, trust=trust)
        elif is_for_several_sizes(path):
            artifact.buckets_of(path, trust=trust)
        else:
            artifact.load(path, native=False, trust=trust)
        return path
    _built(specs, folder, limits, no_cache=no_cache)
    return folder / target / f"{target}{BUNDLE_SUFFIX}"


def _built(
    specs: Mapping[str, TargetSpec], folder: Path, limits: Limits, *, no_cache: bool
) -> list[Outcome]:
    """Build targets in a folder, with the bundles that are joined from them; raise the errors."""
    options = Options(
        jobs=1,
        time_limit=limits.time,
        memory_limit=limits.memory,
        force=True,
        page=False,
        use=None if no_cache else "read",
    )
    with building([*specs], jobs=1) as listener:
        outcomes = build(specs, folder, options, listener)
    joined = join_groups(specs, outcomes, folder, frozen=False)
    bound = join_weights(specs, [*outcomes, *joined], folder, frozen=False)
    raise_failures([*outcomes, *joined, *bound], is_verbose())
    return outcomes
