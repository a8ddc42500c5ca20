"""`olympus shard`: try shardings of a program's arguments, and rank them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import click

import olympus
from olympus.errors import CompileError, UsageError
from olympus.sharding import MOST_DEVICES
from olympus_cli import console
from olympus_cli.frontends.python import load_target, shapes_of
from olympus_cli.isolated.call import Say, call
from olympus_cli.options import Command, backend_options, common_options, entry_options
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.candidates import (
    Candidate,
    combined,
    placed_target,
    singles,
    toml_text,
    whole,
)
from olympus_cli.spec.model import ArgSpec, FromEntry, ShapeSpec, TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.shapes import parse_arg
from olympus_cli.units import byte_size, duration

__all__ = ["command"]

_COLUMNS = ("rank", "split", "peak memory", "collectives", "time", "fits")
#: What is compared first, second and third, by the value of --by.
_ORDERS = {
    "memory": ("peak", "collective_bytes", "seconds"),
    "collectives": ("collective_bytes", "peak", "seconds"),
    "time": ("seconds", "peak", "collective_bytes"),
}


@dataclass(frozen=True)
class Found:
    """What one candidate needs on each device: bytes and seconds, or why it is not known.

    With `at_least` it is not known how often a loop runs, which counts as run once: the bytes of
    collectives and the time are lower bounds.
    """

    peak: int | None = None
    collective_bytes: int | None = None
    seconds: float | None = None
    fits: bool | None = None
    at_least: bool = False
    error: str | None = None

    def key(self, by: str) -> tuple[float, ...]:
        """What candidates are ordered by, the best first; what is not known comes last."""
        known = (getattr(self, name) for name in _ORDERS[by])
        return (self.fits is False, *(math.inf if each is None else each for each in known))


def _parsed_mesh(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> dict[str, int] | None:
    if text is None:
        return None
    mesh: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = (each.strip() for each in part.partition("="))
        number = int(size) if size.isascii() and size.isdigit() and len(size) < 6 else 0
        if not equals or not name.isidentifier() or name in mesh or number < 1:
            raise click.BadParameter(f"must be axes with sizes, data=2,model=4; got {text!r:.80}")
        mesh[name] = number
    if math.prod(mesh.values()) > MOST_DEVICES:
        raise click.BadParameter(f"has more than {MOST_DEVICES} devices: {text!r:.80}")
    return mesh


@click.command("shard", cls=Command)
@entry_options
@backend_options
@click.option(
    "--mesh",
    metavar="AXIS=N,...",
    callback=_parsed_mesh,
    help="Use a mesh with these axes, such as data=2,model=4; the target's if absent.",
)
@click.option(
    "--by",
    type=click.Choice(tuple(_ORDERS)),
    default="memory",
    show_default=True,
    help="Order by the peak memory of a device, the bytes of collectives, or the time.",
)
@common_options
def command(request: Request, mesh: Mapping[str, int] | None, by: str, as_json: bool) -> None:
    """No device is needed: the program is compiled for each candidate and never run.

    \b
    Examples:
      olympus shard train:step --shapes "x=f32[64,4096]" --mesh data=2,model=4
      olympus shard step --mesh data=16 --topology 2x8 --by time
    """
    spec = _target(request, mesh)
    tried: list[tuple[Candidate, Found]] = []
    order = partial(_order, by)
    with console.progress(f"shardings of {spec.name}") as bar:

        def try_all(candidates: Sequence[Candidate]) -> None:
            for each in candidates:
                bar.describe(f"{spec.name}: {each}")
                tried.append((each, _tried(placed_target(spec, each))))

        first = [whole(spec), *singles(spec)]
        if len(first) == 1:
            raise UsageError(
                f"no axis of the mesh divides a dimension of an argument of {spec.name}"
            )
        try_all(first)
        ranked = [each for each, found in sorted(tried[1:], key=order) if found.error is None]
        try_all(combined(ranked, spec))
    tried.sort(key=order)
    if tried[0][1].error is not None:
        raise CompileError(f"no candidate compiles: {tried[0][1].error}")
    _show(spec, tried, as_json)


def _order(by: str, pair: tuple[Candidate, Found]) -> tuple[float, ...]:
    return pair[1].key(by)


def _target(request: Request, mesh: Mapping[str, int] | None) -> TargetSpec:
    """The target that is asked for, for one backend, its arguments all as shapes."""
    spec = request.spec()
    spec = replace(spec, mesh=mesh or spec.mesh, backends=spec.backends[:1])
    if spec.num_devices < 2:
        raise UsageError(
            f"{spec.name} has no mesh of several devices", hint="give one: --mesh data=2,model=4"
        )
    many = spec.backends[0].topology
    if many is not None and many.num_devices < spec.num_devices:
        raise UsageError(
            f"the mesh needs {spec.num_devices} devices, and {backend_text(spec.backends[0])} has "
            f"{many.num_devices}"
        )
    args, kwargs = call(_expanded, spec, does="loads")
    return replace(
        spec,
        args=tuple(map(_specs, args, spec.args)),
        kwargs={name: _specs(kwargs[name], arg) for name, arg in spec.kwargs.items()},
    )


def _specs(text: object, arg: ArgSpec) -> ArgSpec:
    """The argument whose shapes are known, or as it was where they are no plain tree."""
    if isinstance(text, dict):
        return {key: _specs(each, arg) for key, each in text.items()}
    if isinstance(text, list):
        return [_specs(each, arg) for each in text]
    return parse_arg(text) if isinstance(text, str) else arg


def _expanded(say: Say, spec: TargetSpec) -> tuple[list[Any], dict[str, Any]]:
    """The shapes of a target's arguments, as text in the place of each array; None for no tree."""
    say("import")
    load_target(spec)

    def plain(arg: Any) -> Any:
        if isinstance(arg, FromEntry):
            return plain(shapes_of(arg, spec))
        if isinstance(arg, ShapeSpec):
            return str(replace(arg, sharding=None))
        if isinstance(arg, olympus.ShapeDtypeStruct):
            return str(ShapeSpec(str(arg.dtype), arg.shape))
        if type(arg) is dict and all(isinstance(key, str) for key in arg):
            parts = {key: plain(each) for key, each in arg.items()}
            return None if None in parts.values() else parts
        if type(arg) is list:
            items = [plain(each) for each in arg]
            return None if None in items else items
        return None

    return [plain(a) for a in spec.args], {name: plain(a) for name, a in spec.kwargs.items()}


def _tried(spec: TargetSpec) -> Found:
    """What a candidate needs, found in a process of its own."""
    try:
        return Found(**call(_compiled, spec, does="compiles", quiet=True))
    except CompileError as error:
        return Found(error=str(error))


def _compiled(say: Say, spec: TargetSpec) -> dict[str, Any]:
    """Compile a target for its backend; the fields of a `Found`."""
    say("import")
    program = Program(load_target(spec), say)
    program.trace()
    program.lower()
    program.leave_out_absent()
    program.compile()
    compiled = program.units[0].compiled
    memory, device = compiled.memory(), olympus.stages.device_model(compiled.target)
    needed = memory.peak if memory.allocated is None else memory.allocated
    fits = None
    if device is not None and needed is not None:
        fits = olympus.analysis.fits(needed, device).is_enough
    collectives = compiled.collectives(trips=spec.trips)
    estimate = compiled.estimate(trips=spec.trips)
    return {
        "peak": memory.peak,
        "collective_bytes": sum(each.bytes * each.calls for each in collectives),
        "seconds": estimate.seconds,
        "fits": fits,
        "at_least": bool(estimate.unknown),
    }


def _show(spec: TargetSpec, tried: Sequence[tuple[Candidate, Found]], as_json: bool) -> None:
    """Write the candidates, the best first, and the table of TOML of the best."""
    best = toml_text(placed_target(spec, tried[0][0]))
    if as_json:
        rows = [
            {**asdict(found), "split": str(each), "toml": toml_text(placed_target(spec, each))}
            for each, found in tried
        ]
        backend = backend_text(spec.backends[0])
        document = {"target": spec.name, "entry": spec.entry, "backend": backend}
        console.print_json({**document, "mesh": dict(spec.mesh), "candidates": rows})
        return
    table = [
        (
            rank,
            str(each),
            byte_size(found.peak),
            ("at least " if found.at_least else "") + byte_size(found.collective_bytes),
            found.error or ("at least " if found.at_least else "") + duration(found.seconds),
            {True: "yes", False: "no", None: ""}[found.fits],
        )
        for rank, (each, found) in enumerate(tried, 1)
    ]
    console.table(_COLUMNS, table)
    console.data(f"\n# for each of {spec.num_devices} devices; the best, for olympus.toml:\n{best}")
