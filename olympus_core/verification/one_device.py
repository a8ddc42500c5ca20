"""A `shard_map` as a program of one device: the reference for the result of several devices.

Each mapped mesh axis becomes a mapped axis of `vmap`. Messages between devices become a sum, a
gather or a permutation of elements.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import op
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.primitives.elementwise.base import reshape
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.programs import staged
from olympus_core.transforms.vmapping import vmap

#: the names and sizes of the axes that are mapped over, in the order of the mesh
_Axes = tuple[tuple[Any, int], ...]


def one_device_program(params: dict[str, Any]) -> Olympuspr:
    """Return the program of whole arrays that is equivalent to the `shard_map` of these parameters.

    >>> one_device_program(eqn.params)  # of an equation whose primitive is shard_map_p
    """
    mesh: AnyMesh = params["mesh"]
    axes = tuple(pair for pair in mesh.shape_tuple if pair[0] in params["manual_axes"])
    return _program(params["olympuspr"], axes, params["in_specs"], params["out_specs"])


@functools.lru_cache(maxsize=64)
def _program(
    body: Olympuspr,
    axes: _Axes,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
) -> Olympuspr:
    sizes = dict(axes)

    def run_body(*parts: Any) -> list[Any]:
        return evaluate(body, parts)

    run: Any = run_body
    for name, size in reversed(axes):
        dims = tuple([0 if name in _named(spec) else None for spec in in_specs])
        run = vmap(run, in_axes=dims, axis_name=name, axis_size=size)

    def run_whole(*args: Any) -> list[Any]:
        mapped_args = [_cut(x, spec, axes) for x, spec in zip(args, in_specs, strict=True)]
        return [
            _joined(x, spec, axes) for x, spec in zip(run(*mapped_args), out_specs, strict=True)
        ]

    avals = [
        a.update(shape=_whole_shape(a.shape, spec, sizes), vma=frozenset())
        for a, spec in zip(body.in_avals, in_specs, strict=True)
    ]
    return staged(run_whole, avals)


def _named(spec: PartitionSpec) -> list[Any]:
    """Return the axes of a spec, dimension by dimension."""
    return [name for d in range(len(spec)) for name in spec.axes(d)]


def _whole_shape(
    shape: Sequence[int], spec: PartitionSpec, sizes: dict[Any, int]
) -> tuple[int, ...]:
    return tuple([n * math.prod(sizes[a] for a in spec.axes(d)) for d, n in enumerate(shape)])


def _cut(x: Any, spec: PartitionSpec, axes: _Axes) -> Any:
    """Return the parts of an array, with a leading dimension for each axis of the spec.

    These dimensions are in the order of the mesh.
    """
    sizes = dict(axes)
    shape: list[int] = []
    place: dict[Any, int] = {}
    element_dims: list[int] = []
    for d, n in enumerate(get_aval(x).shape):
        for name in spec.axes(d):
            place[name] = len(shape)
            shape.append(sizes[name])
        element_dims.append(len(shape))
        shape.append(n // math.prod(sizes[name] for name in spec.axes(d)))
    order = [place[name] for name, _ in axes if name in place]
    return _transposed(reshape(x, tuple(shape)), (*order, *element_dims))


def _joined(x: Any, spec: PartitionSpec, axes: _Axes) -> Any:
    """Return the array of parts that have a leading dimension for each axis.

    Along an axis that is not in the spec all parts are equal, and the first is used.
    """
    sizes = dict(axes)
    named = _named(spec)
    shape = get_aval(x).shape
    limits = [size if name in named else 1 for name, size in axes] + [*shape[len(axes) :]]
    x = op.slice(x, start_indices=(0,) * len(shape), limit_indices=tuple(limits), strides=None)
    part_shape = shape[len(axes) :]
    place = {name: i for i, (name, _) in enumerate(axes)}
    order = [place[name] for name, _ in axes if name not in named]
    for d in range(len(part_shape)):
        order += [*(place[name] for name in spec.axes(d)), len(axes) + d]
    return reshape(_transposed(x, tuple(order)), _whole_shape(part_shape, spec, sizes))


def _transposed(x: Any, order: tuple[int, ...]) -> Any:
    return x if order == tuple(range(len(order))) else op.transpose(x, permutation=order)
