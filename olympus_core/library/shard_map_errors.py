"""The errors of `shard_map` for specs that do not match the arguments or the results of a function.

They have the terms of JAX.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base import source, tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ShardingError
from olympus_core.base.source import function_name
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.transforms.flat import names_of


class ArrayPlace(NamedTuple):
    """The place of an array in the tree of the arguments, or of the results, of a function.

    `prefix` is the tree of the specs, and `leaf` the number of the leaf.
    """

    function: Callable[..., Any]
    treedef: tree.PyTreeDef
    prefix: Any
    leaf: int
    is_argument: bool

    @property
    def which(self) -> str:
        return "in" if self.is_argument else "out"

    def spec_name(self) -> str:
        """Return the name of the array's spec: `in_specs[1]`."""
        what = f"{self.which}_specs"
        full = self.treedef.unflatten(range(self.treedef.num_leaves))
        paths, prefix = tree.flatten_with_path(self.prefix, is_leaf=lambda x: x is None)
        names = prefix.unflatten(tree.keystr(path) for path, _ in paths)
        return what + str(tree.prefix_leaves("shard_map", what, names, full)[self.leaf])

    def value_name(self) -> str:
        """Return the name of the array: `args[1]['w']`, or `f(*args)['w']` for a result."""
        path = tree.keystr(self._path())
        return f"args{path}" if self.is_argument else f"{function_name(self.function)}(*args){path}"

    def _path(self) -> tree.KeyPath:
        full = self.treedef.unflatten(range(self.treedef.num_leaves))
        return tree.flatten_with_path(full)[0][self.leaf][0]

    def binding(self) -> str:
        """Return the clause that names the parameter of an argument; "" for a result."""
        if not self.is_argument:
            return ""
        name = names_of(self.function, self.treedef)[self.leaf].removeprefix("argument ")
        parameter = re.split(r"[\[.]", name)[0]
        function, first = function_name(self.function), self._path()[0].idx
        return f", where args[{first}] is bound to {function}'s parameter '{parameter}',"


def too_long(place: ArrayPlace, spec: PartitionSpec, aval: ShapedArray) -> ShardingError:
    """Return the error of a spec with more entries than the array has dimensions."""
    which, name = place.which, function_name(place.function)
    passed = "the passed " if place.is_argument else ""
    return ShardingError(
        f"shard_map applied to the function '{name}' was given an {which}_specs entry which is too "
        f"long to be compatible with the corresponding {which}put value from the function: "
        f"{place.spec_name()} is {spec} which has length {len(spec)}, but "
        f"{passed}{place.value_name()}{place.binding()} has shape {aval.long_name()}, which has "
        f"rank {aval.ndim} (and {aval.ndim} < {len(spec)}){source.current_location().place()}"
    )


def uneven(
    place: ArrayPlace, spec: PartitionSpec, aval: ShapedArray, dimension: int, mesh: AnyMesh
) -> ShardingError:
    """Return the error of a dimension that the axes of a spec do not split evenly."""
    axes, length = spec.axes(dimension), aval.shape[dimension]
    count = math.prod(mesh.shape[name] for name in axes)
    named = f"axis '{axes[0]}' (of" if len(axes) == 1 else f"axes {axes} (of total"
    return ShardingError(
        f"shard_map applied to the function '{function_name(place.function)}' was given argument "
        "arrays with axis sizes that are not evenly divisible by the corresponding mesh axis "
        f"sizes: the passed {place.value_name()} of shape {aval.long_name()}{place.binding()} "
        f"corresponds to {place.spec_name()} of value {spec}, which maps array axis {dimension} "
        f"(of size {length}) to mesh {named} size {count}), but {count} does not evenly divide "
        f"{length}{source.current_location().place()}"
    )


def unreplicated(
    place: ArrayPlace,
    spec: PartitionSpec,
    aval: ShapedArray,
    mesh: AnyMesh,
    unnamed: frozenset[Any],
) -> ShardingError:
    """Return the error of a result that may vary along axes that its spec does not name."""
    named = {n for d in range(len(spec)) for n in spec.axes(d)}
    absent = [n for n in mesh.axis_names if n not in named]
    needed, varied, extra = (
        ",".join(str(n) for n in mesh.axis_names if n in axes)
        for axes in (named, aval.vma, unnamed)
    )
    implied = (
        f"is replicated across mesh axis '{absent[0]}', but could not infer replication over any "
        "axes"
        if len(absent) == 1
        else f"is only varying across mesh axes {{{needed}}} and not {{{extra}}}, but it was "
        f"inferred to be possibly varying over {{{varied}}}"
    )
    return ShardingError(
        f"shard_map applied to the function '{function_name(place.function)}' was given out_specs "
        "which require replication which can't be statically inferred given the mesh: "
        f"{place.spec_name()} is {spec} which implies that the corresponding output value "
        f"{implied}: {place.value_name()} is {aval.long_name()}",
        hint="name the axis in out_specs, reduce along it, as by lax.psum, or pass check_vma=False",
    )
