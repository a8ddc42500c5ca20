"""The names of TPUs and their topologies: v6e, v6e:4x4, 16xv6e (16 chips), v5p:4x4x8_twisted.

The sizes of a topology are the numbers of chips along its axes.  Names and sizes are checked here,
because the library libtpu aborts the process for some invalid names.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from olympus_core.base.errors import UsageError
from olympus_core.xla.messages import nearest
from olympus_core.xla.targets.topologies import MOST_DEVICES, Torus
from olympus_core.xla.targets.tpu_models import TpuModel, shipped_tpus

_SIZES = re.compile(r"([0-9]{1,4}(?:x[0-9]{1,4}){1,2})(_twisted)?", re.ASCII)
_COUNTED = re.compile(r"([0-9]{1,9})x([a-z].*)", re.ASCII)
_TWISTED = "_twisted"


class TpuName(NamedTuple):
    """The parts of a name: a generation, and the number of chips or the sizes, if given."""

    generation: str
    chips: int | None = None
    sizes: str | None = None


def split_name(name: str) -> TpuName:
    """Split the name of a TPU, without checking its parts.

    >>> split_name("v6e:4x4"), split_name("16xv6e").chips
    (TpuName(generation='v6e', chips=None, sizes='4x4'), 16)
    """
    generation, colon, sizes = name.partition(":")
    match = _COUNTED.fullmatch(generation)
    if match:
        return TpuName(match[2], int(match[1]), sizes if colon else None)
    return TpuName(generation, None, sizes if colon else None)


def is_tpu_name(name: str) -> bool:
    """Return True if `name` starts with a known generation, with or without a topology."""
    return split_name(name).generation in shipped_tpus()


def tpu_and_topology(
    name: str, topology: str | None = None, own: Mapping[str, TpuModel] | None = None
) -> tuple[TpuModel, Torus]:
    """Return the model and the topology of a name; a generation alone is its smallest topology.

    `topology` has the sizes, such as "4x4", if they are not in `name`; `own` are the user's TPUs.

    Raises:
      UsageError: the generation is unknown, it has no such topology, or the name and `topology`
        differ.
    """
    models = {**(own or {}), **shipped_tpus()}
    parts = TpuName(name) if name in models else split_name(name)
    if parts.generation not in models:
        raise UsageError(
            f"no device of the backend 'tpu' is named {parts.generation!r:.80}; `olympus devices` "
            "lists them",
            hint=nearest(parts.generation, models) or nearest(parts.generation.lower(), models),
        )
    model = models[parts.generation]
    given = [text for text in (parts.sizes, topology) if text is not None]
    if len(given) > 1 and given[0] != given[1]:
        raise UsageError(
            f"the device is {name}, and the topology {topology}",
            hint=f"write the device as {model.name}, or leave the topology out",
        )
    if parts.chips is not None:
        if given:
            raise UsageError(
                f"{name:.80} has a number of chips, and the topology {given[0]:.80} has another",
                hint=f"write {model.name}:{given[0]:.40} or {parts.chips}x{model.name}",
            )
        return model, most_compact(model, parts.chips)
    return model, parse_torus(model, given[0]) if given else torus(model, model.slices[0])


def parse_torus(model: TpuModel, text: str) -> Torus:
    """Parse the sizes of a topology, such as "4x4", "2x2x4" or "4x4x8_twisted".

    Raises:
      UsageError: `text` is not a topology, or the generation does not have it.
    """
    match = _SIZES.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r:.80} is not a topology of TPUs", hint=_syntax_hint(model))
    sizes = tuple(map(int, match[1].split("x")))
    if sizes not in _sizes_with(model, math.prod(sizes)):
        raise UsageError(f"{model.name} has no topology {text}", hint=_nearest_hint(model, sizes))
    if match[2] and not _may_twist(model, sizes):
        raise UsageError(
            f"{model.name} has no twisted topology of {match[1]}",
            hint="a torus of three dimensions can be twisted if its sizes are n x n x 2n or "
            "n x 2n x 2n",
        )
    return torus(model, sizes, bool(match[2]))


def read_torus(text: str) -> Torus:
    """Parse the sizes of a topology of an unknown TPU, whose wrap-around links are not known.

    Raises:
      UsageError: `text` is not a topology.
    """
    match = _SIZES.fullmatch(text)
    sizes = tuple(map(int, match[1].split("x"))) if match else ()
    if match is None or not 1 <= math.prod(sizes) <= MOST_DEVICES:
        raise UsageError(f"{text!r:.80} is not a topology of TPUs")
    return Torus(sizes, (False,) * len(sizes), 1, bool(match[2]))


def torus(model: TpuModel, sizes: tuple[int, ...], is_twisted: bool = False) -> Torus:
    """Return the topology with these sizes and the wrap-around links that the hardware has."""
    wraps = tuple(size % model.wraps_at == 0 for size in sizes)
    if model.cube:  # whole cubes are tori, smaller topologies are meshes
        wraps = (all(wraps),) * len(sizes)
    return Torus(sizes, wraps, model.devices_per_chip, is_twisted)


def most_compact(model: TpuModel, chips: int) -> Torus:
    """Return the topology with `chips` chips and the smallest difference between its sizes.

    Raises:
      UsageError: the generation has no topology of this number of chips.
    """
    candidates = _sizes_with(model, chips)
    if not candidates:
        counts = ", ".join(map(str, chip_counts(model)))
        raise UsageError(
            f"{model.name} has no topology of {chips} chips", hint=f"it has topologies of {counts}"
        )
    return torus(model, min(candidates, key=lambda sizes: (max(sizes) - min(sizes), sizes)))


def chip_counts(model: TpuModel) -> list[int]:
    """Return the possible numbers of chips, up to `MOST_DEVICES` devices, in ascending order."""
    most = MOST_DEVICES // model.devices_per_chip
    return sorted({math.prod(sizes) for sizes in _all_sizes(model) if math.prod(sizes) <= most})


def topologies(model: TpuModel) -> tuple[Torus, ...]:
    """Return the most compact topology for each number of chips.

    >>> [str(torus) for torus in topologies(shipped_tpus()["v6e"])][:4]
    ['1x1', '2x2', '2x4', '4x4']
    """
    return tuple(most_compact(model, chips) for chips in chip_counts(model))


def _all_sizes(model: TpuModel) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of all topologies of a generation."""
    yield from model.slices
    if model.cube:
        axes = (range(model.cube, most + 1, model.cube) for most in model.most)
        yield from (sizes for sizes in itertools.product(*axes) if list(sizes) == sorted(sizes))


def _sizes_with(model: TpuModel, chips: int) -> list[tuple[int, ...]]:
    """Return the sizes of the topologies with this number of chips."""
    if not 1 <= chips * model.devices_per_chip <= MOST_DEVICES:
        return []
    return [sizes for sizes in _all_sizes(model) if math.prod(sizes) == chips]


def _may_twist(model: TpuModel, sizes: tuple[int, ...]) -> bool:
    """Return True if the topology has a twisted form: n x n x 2n or n x 2n x 2n chips."""
    low, middle, high = (0, *sizes)[-3:]
    return bool(model.cube) and low >= model.cube and high == 2 * low and middle in (low, high)


def _syntax_hint(model: TpuModel) -> str:
    """Return a hint with an example of a topology's name."""
    largest = topologies(model)[-1]
    return f"write the chips along each axis, such as {model.name}:{largest}"


def _nearest_hint(model: TpuModel, sizes: tuple[int, ...]) -> str:
    """Return a hint with the three topologies that are nearest to `sizes`."""
    if len(sizes) != model.dimensions:
        return f"its topologies have {model.dimensions} axes: {_syntax_hint(model)}"
    near = sorted(map(str, topologies(model)), key=lambda t: _distance(t, sizes))[:3]
    return f"the nearest topologies are {', '.join(near)}"


def _distance(text: str, sizes: tuple[int, ...]) -> float:
    """Return the sum, over the axes, of the logarithms of the ratios of two topologies' sizes."""
    other = map(int, text.split("x"))
    return sum(abs(math.log(a / max(b, 0.5))) for a, b in zip(other, sorted(sizes), strict=True))
