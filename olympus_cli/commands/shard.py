"""`olympus shard`: try shardings of a program's arguments, and rank them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import click

import olympus
from olympus.errors import CompileError, UsageError
from olympus.sharding import MOST_DEVICES
from olympus_cli.frontends.python import Traceable
from olympus_cli.options.shared import (
    Command,
    backend_options,
    common_options,
    entry_options,
    memory_limit_option,
    time_limit_option,
)
from olympus_cli.program.stages import Program
from olympus_cli.reports.text import between_text
from olympus_cli.shard.candidates import (
    Candidate,
    Path,
    combined,
    placed_target,
    singles,
    toml_text,
    whole,
)
from olympus_cli.shard.result_pairs import ArgumentShapes, paired_results
from olympus_cli.shard.trial import ORDERS, TrialFigures, default_order, parameters, try_out
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.entries import program_file
from olympus_cli.spec.model import ArgSpec, FromEntry, ShapeSpec, TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.shapes import parse_arg
from olympus_cli.terminal import console
from olympus_cli.text.units import byte_size, duration
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits

#: The figure that orders the candidates, in words, by the name of the order.
_MEASURES = {
    "memory": "the peak memory of a device",
    "collectives": "the bytes of collectives",
    "time": "the time",
}
_COLUMNS = ("rank", "split", "peak memory", "collectives", "time", "fits")


def _parsed_mesh(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> dict[str, int] | None:
    if text is None:
        return None
    if not text.strip():
        raise click.BadParameter(
            "a mesh has axes with sizes, such as data=2,model=4, and this text is empty"
        )
    mesh: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = (text_part.strip() for text_part in part.partition("="))
        if not equals or not name.isidentifier():
            raise click.BadParameter(
                f"a mesh has axes with sizes, such as data=2,model=4, and this is {text!r:.80}"
            )
        if name in mesh:
            raise click.BadParameter(f"the mesh has the axis {name!r:.80} twice")
        mesh[name] = _axis_size(name, size)
    if math.prod(mesh.values()) > MOST_DEVICES:
        raise click.BadParameter(f"the mesh {text!r:.80} has more than {MOST_DEVICES} devices")
    return mesh


def _axis_size(name: str, text: str) -> int:
    is_whole = text.isascii() and text.isdigit()
    if not is_whole or not text.strip("0"):
        raise click.BadParameter(
            f"the axis {name!r:.80} has the size {text!r:.80}, which is not a whole number of "
            "devices above 0"
        )
    if len(text.lstrip("0")) > len(str(MOST_DEVICES)) or int(text) > MOST_DEVICES:
        raise click.BadParameter(
            f"the axis {name!r:.80} has the size {text:.80}, and at most {MOST_DEVICES} devices "
            "are allowed"
        )
    return int(text)


@click.command("shard", cls=Command)
@entry_options
@backend_options
@click.option(
    "--mesh",
    metavar="AXIS=N,...",
    callback=_parsed_mesh,
    help="Use a mesh with these axes, such as data=2,model=4; the default is the target's.",
)
@click.option(
    "--by",
    type=click.Choice(tuple(ORDERS)),
    help="Rank by the peak memory of a device, the bytes of collectives, or the time. The default "
    "is time if all shardings fit the memory of the device, and memory otherwise.",
)
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    mesh: Mapping[str, int] | None,
    by: str | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The program is compiled with each sharding and is not run. No device is needed.

    Each sharding splits some of the four largest arrays and of the largest arrays of the
    arguments. One sharding, for comparison, splits no array. A time limit is for each sharding.

    \b
    Examples:
      olympus shard train:step --shapes "x=f32[64,4096]" --mesh data=2,model=4
      olympus shard step --mesh data=16 --topology 2x8 --by time
    """
    limits = Limits(time_limit, memory_limit)
    spec, pairs = _target(request, mesh, limits)
    tried: list[tuple[Candidate, TrialFigures]] = []
    with console.progress(f"shardings of {spec.name}") as bar:

        def try_all(candidates: Sequence[Candidate]) -> None:
            for candidate in candidates:
                bar.describe(f"{spec.name}: {candidate}")
                tried.append((candidate, try_out(placed_target(spec, candidate), pairs, limits)))

        first = [whole(spec), *singles(spec)]
        if len(first) == 1:
            raise UsageError(
                f"no axis of the mesh divides a dimension of an argument of {spec.name}"
            )
        try_all(first)
        order = partial(_order, by or default_order([figures for _, figures in tried]))
        ranked = [
            candidate
            for candidate, figures in sorted(tried[1:], key=order)
            if figures.error is None
        ]
        try_all(combined(ranked, spec))
    by = by or default_order([figures for _, figures in tried])
    tried.sort(key=partial(_order, by))
    if tried[0][1].error is not None:
        raise CompileError(f"no candidate compiles: {tried[0][1].error}")
    _show(spec, tried, by, as_json)


def _order(by: str, pair: tuple[Candidate, TrialFigures]) -> tuple[float, ...]:
    return pair[1].key(by)


def _target(
    request: Request, mesh: Mapping[str, int] | None, limits: Limits
) -> tuple[TargetSpec, dict[Path, Path]]:
    """Return the requested target for one backend, with shapes for all arguments.

    The dict has the results that replace arguments.
    """
    spec = request.spec()
    if program_file(spec.entry) is not None:
        raise UsageError(
            f"shard takes a Python function, and {spec.entry} is a file",
            hint="give the entry of the function that the file was written from",
        )
    spec = replace(spec, mesh=mesh or spec.mesh, backends=spec.backends[:1])
    if spec.num_devices < 2:
        raise UsageError(
            f"{spec.name} has no mesh of several devices", hint="give one: --mesh data=2,model=4"
        )
    most = spec.backends[0].most_devices
    if most is not None and most < spec.num_devices:
        raise UsageError(
            f"the mesh needs {spec.num_devices} devices, and {backend_text(spec.backends[0])} has "
            f"{most}"
        )
    plain, names, result = call(
        _expanded, spec, action="loads", time_limit=limits.time, memory_limit=limits.memory
    )
    args, kwargs = plain[: len(spec.args)], plain[len(spec.args) :]
    paths: list[Path] = [*((i,) for i in range(len(args))), *((name,) for name in spec.kwargs)]
    arguments = [
        ArgumentShapes(path, name, shapes, name in spec.donate)
        for path, name, shapes in zip(paths, names, plain, strict=True)
    ]
    placed = replace(
        spec,
        args=tuple(map(_specs, args, spec.args)),
        kwargs={
            name: _specs(shapes, arg)
            for (name, arg), shapes in zip(spec.kwargs.items(), kwargs, strict=True)
        },
    )
    return placed, paired_results(arguments, result)


def _specs(text: object, arg: ArgSpec) -> ArgSpec:
    """The argument whose shapes are known, or as it was where they are no plain tree."""
    if isinstance(text, dict):
        return {key: _specs(item, arg) for key, item in text.items()}
    if isinstance(text, list):
        return [_specs(item, arg) for item in text]
    return parse_arg(text) if isinstance(text, str) else arg


def _expanded(on_stage: OnStage, spec: TargetSpec) -> tuple[list[Any], list[str], Any]:
    """The shapes of a target's arguments, the names of these, and the shapes of its result.

    Shapes are text in the place of each array; None for what is no tree of dicts and lists.
    """
    program = Program.of(replace(spec, mesh={}, out_sharding=None), on_stage, until="trace")
    for warning in program.warnings:
        console.message(f"warning: {warning}")
    source, result = program.source, program.traced.out_info
    assert isinstance(source, Traceable)  # only a function has a mesh

    def plain(arg: Any) -> Any:
        if isinstance(arg, FromEntry):
            return plain(source.shapes_from(arg))
        if isinstance(arg, ShapeSpec):
            return str(replace(arg, sharding=None))
        if isinstance(arg, olympus.ShapeDtypeStruct):
            return str(ShapeSpec(str(arg.dtype), arg.shape))
        if type(arg) is dict and all(isinstance(key, str) for key in arg):
            parts = {key: plain(item) for key, item in arg.items()}
            return None if None in parts.values() else parts
        if type(arg) is list:
            items = [plain(item) for item in arg]
            return None if None in items else items
        return None

    arguments = [*spec.args, *spec.kwargs.values()]
    return [plain(a) for a in arguments], parameters(source), _items(result, plain)


def _items(result: Any, plain: Callable[[Any], Any]) -> Any:
    """The shapes of a result; where it is a dict or a tuple, those of each of its items."""
    if isinstance(result, tuple | list):
        return [plain(item) for item in result]
    if type(result) is dict and all(isinstance(key, str) for key in result):
        return {key: plain(item) for key, item in result.items()}
    return plain(result)


def _show(
    spec: TargetSpec, tried: Sequence[tuple[Candidate, TrialFigures]], by: str, as_json: bool
) -> None:
    """Write the candidates, the best first, and the table of TOML of the best."""
    if as_json:
        rows = [
            {
                **asdict(replace(figures, spec=None)),
                "split": str(candidate),
                "toml": toml_text(figures.spec or placed_target(spec, candidate)),
            }
            for candidate, figures in tried
        ]
        for row in rows:
            del row["spec"]
        backend = backend_text(spec.backends[0])
        document = {"target": spec.name, "entry": spec.entry, "backend": backend}
        console.print_json({**document, "mesh": dict(spec.mesh), "by": by, "candidates": rows})
        return
    table = [
        (
            rank,
            str(candidate),
            between_text(figures.peak, figures.workspace_bound),
            ("at least " if figures.at_least else "") + byte_size(figures.collective_bytes),
            figures.error or ("at least " if figures.at_least else "") + duration(figures.seconds),
            {True: "yes", False: "no", None: ""}[figures.fits],
        )
        for rank, (candidate, figures) in enumerate(tried, 1)
    ]
    console.table(_COLUMNS, table)
    first, figures = tried[0]
    is_split = any(first.shardings.values())
    note = "" if is_split else f"# no split of an argument reduces {_MEASURES[by]}\n"
    best = toml_text(figures.spec or spec)
    title = f"# figures of one of {spec.num_devices} devices; the best split, for olympus.toml:"
    console.data(f"\nordered by {_MEASURES[by]}\n{note}{title}\n{best}")
