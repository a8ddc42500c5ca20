"""`pmap`: a function mapped over an axis of its arguments, a device for each index."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from olympus_core import xla
from olympus_core.api.jit import Jit, jit
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import (
    OptionError,
    ShardingError,
    StaticError,
    TransformError,
    UsageError,
)
from olympus_core.base.source import function_name, look_like
from olympus_core.execution.spmd import committed_sharding
from olympus_core.ir import trace
from olympus_core.ir.primitive import op
from olympus_core.jit.options import JitOptions, argument_positions, parameters_of, positional_names
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.shard_map import shard_map
from olympus_core.placement.mesh import Mesh, as_tuple
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding
from olympus_core.stages.stages import Lowered, Traced
from olympus_core.transforms.flat import check_arrays, check_callable, names_of

_P = ParamSpec("_P")
_R = TypeVar("_R")


#: the name of an axis without a name of the user
_UNNAMED = "_internal_pmap_axis_name"
#: the rule for `in_axes`, for messages
_PREFIX = (
    "The 'full pytree' here is the tuple of arguments passed positionally to the pmapped function, "
    "and the value of `in_axes` must be a tree prefix of that tuple."
)
#: the last axis that an array of NumPy may have
_MAX_AXES = 63

#: the programs of a mapped function, by the number of indices, and True for placed arguments
_Programs = dict[tuple[int, bool], tuple[Jit[..., Any], Mesh]]


@functools.lru_cache(maxsize=128)
def _shared_programs(fun: Callable[..., Any], *options: Hashable) -> _Programs:
    """Return the programs of a function, which equal calls of `pmap` share."""
    return {}


def _programs_of(fun: Callable[..., Any], axes: Any, *options: Hashable) -> _Programs:
    if not isinstance(fun, types.FunctionType):
        return {}
    leaves, places = tree.flatten(axes, is_leaf=lambda a: a is None)
    where: Any = places
    return _shared_programs(fun, tuple(leaves), where, *options)


class Pmap(Generic[_P, _R]):
    """The function that `pmap` returns: call it, or take it through the stages."""

    def __init__(
        self,
        fun: Callable[_P, _R],
        axis_name: Hashable,
        axes: tuple[Any, Any],
        static: tuple[int, ...],
        donated: tuple[int, ...],
        devices: tuple[Any, ...] | None,
        backend: str | None,
        axis_size: int | None,
    ) -> None:
        look_like(self, fun)
        self._fun, self._name, self._axes = fun, axis_name, axes
        self._static, self._donated = static, donated
        self._devices, self._backend, self._axis_size = devices, backend, axis_size
        self._programs = _programs_of(
            fun, axes, axis_name, static, donated, self._devices, backend, axis_size
        )

    def __repr__(self) -> str:
        return f"<pmap of {function_name(self._fun)}>"

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        program, mesh = self._program(args, kwargs)
        if trace.at_base():
            args, kwargs = self._on_devices(mesh, args, kwargs)  # type: ignore[assignment]
        result: _R = program(*args, **kwargs)
        return result

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for arguments (arrays, scalars or ShapeDtypeStructs; statics by value)."""
        program, _ = self._program(args, kwargs, is_placed=not kwargs)
        return program.trace(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result with a ShapeDtypeStruct for each array; nothing is computed."""
        return self._program(args, kwargs)[0].eval_shape(*args, **kwargs)

    def _program(
        self, args: Sequence[Any], kwargs: dict[str, Any], is_placed: bool = False
    ) -> tuple[Jit[..., Any], Mesh]:
        """Return the program for as many devices as the mapped axes have indices, and their mesh.

        If `is_placed`, the arguments have shardings, and are not moved from others.
        """
        if any(i >= len(args) for i in self._static):
            raise OptionError(
                f"pmapped function has static_broadcasted_argnums={tuple(self._static)} but was "
                f"called with only {len(args)} positional argument{'s' * (len(args) != 1)}. All "
                "static broadcasted arguments must be passed positionally."
            )
        for i in self._static:
            if not isinstance(args[i], Hashable):
                raise StaticError(
                    "Non-hashable static arguments are not supported, as this can lead to "
                    f"unexpected cache-misses. Static argument (index {i}) of type "
                    f"{type(args[i])} for function {function_name(self._fun)} is non-hashable."
                )
        size, first = self._size(args, kwargs)
        known = self._programs.get((size, is_placed))
        if known is None:
            mesh = Mesh(np.array(self._chosen(size, first), dtype=object), (self._name,))

            @functools.partial(functools.update_wrapper, wrapped=self._fun, assigned=())
            def _fun(*args: Any, **kwargs: Any) -> Any:  # the name of the module in JAX
                return self._run(mesh, *args, **kwargs)

            moving = self._moving_axes()
            ins, outs = (
                tree.map(
                    lambda a: None if a and a < 0 else NamedSharding(mesh, _spec(a, self._name)),
                    axes,
                    is_leaf=lambda a: a is None,
                )
                for axes in (moving if is_placed else None, self._axes[1])
            )
            program = jit(
                _fun,
                in_shardings=ins if is_placed else None,
                out_shardings=outs,
                static_argnums=self._static,
                donate_argnums=self._donated,
            )
            known = self._programs[size, is_placed] = program, mesh
        return known

    def _on_devices(
        self, mesh: Mesh, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the arguments, with arrays on as many other devices moved to the mesh.

        An array on another number of devices stays there, which the program may refuse.
        """
        devices = mesh.flat_devices

        def is_apart(x: Any) -> bool:
            own = committed_sharding(x)
            if own is None or own.devices == devices:
                return False
            return len(own.devices) == len(devices) > 1

        if not any(map(is_apart, tree.leaves((args, kwargs)))):
            return args, kwargs
        leaves, in_tree, axes = self._leaves(args, kwargs)
        specs = [_spec(axis, self._name) for axis in axes]
        moving, kwargs = in_tree.unflatten(
            put_on(x, NamedSharding(mesh, spec)) if is_apart(x) else x
            for x, spec in zip(leaves, specs, strict=True)
        )
        return self._filled(args, moving), kwargs

    def _filled(self, args: Sequence[Any], moving: Iterable[Any]) -> list[Any]:
        """Return all positional arguments: the static ones of `args`, and others in their order."""
        rest = iter(moving)
        return [x if i in self._static else next(rest) for i, x in enumerate(args)]

    def _moving_axes(self) -> Any:
        """Return `in_axes` without the entries of static arguments."""
        axes = self._axes[0]
        if not isinstance(axes, tuple):
            return axes
        return tuple(a for i, a in enumerate(axes) if i not in self._static)

    def _chosen(self, size: int, first: tuple[ShapedArray, int]) -> Sequence[Any]:
        """Return the devices for `size` indices; an error names the first array and its axis."""
        available = self._devices or xla.devices(self._backend, requested=size)
        if size > len(available):
            raise ShardingError(
                f"pmap of '{function_name(self._fun)}' needs {size} devices, one for each index, "
                f"and there {'is' if len(available) == 1 else 'are'} {len(available)}: "
                f"{self._uneven(available, *first)}",
                hint=f"{xla.more_devices(size)}; vmap maps over an axis of any size on one",
            )
        return available[:size]

    def _leaves(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], tree.PyTreeDef, list[int | None]]:
        """Return the arrays among the arguments, their tree, and the mapped axis of each."""
        moving = tuple(x for i, x in enumerate(args) if i not in self._static)
        leaves, in_tree = tree.flatten((moving, kwargs))
        axes = self._axes[0]
        if isinstance(axes, tuple):
            if len(axes) != len(args):
                raise TransformError(
                    "pytree structure error: different lengths of tuple at key path pmap in_axes: "
                    f"in_axes has {len(axes)} entries, and '{function_name(self._fun)}' was called "
                    f"with {len(args)} positional arguments\n{_PREFIX}"
                )
            axes = self._moving_axes()
        named = tree.structure(kwargs).num_leaves
        try:
            mapped = [*tree.prefix_leaves("pmap", "in_axes", axes, moving), *[0] * named]
        except TransformError as e:
            raise TransformError(f"{e}\n{_PREFIX}") from None
        names = names_of(self._fun, in_tree)
        check_arrays("pmap", self._fun, names, leaves)
        if leaves and not any(get_aval(x).ndim for x in leaves) and 0 in mapped:
            raise TransformError(
                "pmap requires at least one argument with a mapped axis: those of "
                f"'{function_name(self._fun)}' are scalars"
            )
        return leaves, in_tree, [
            _canonical("in_axes", a, get_aval(x).ndim) for a, x in zip(mapped, leaves, strict=True)
        ]  # fmt: skip

    def _size(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[int, tuple[ShapedArray, int]]:
        """Return the number of indices, and the first array that is mapped, with its axis."""
        leaves, _, axes = self._leaves(args, kwargs)
        mapped = [(get_aval(x), a) for x, a in zip(leaves, axes, strict=True) if a is not None]
        sizes = {aval.shape[a] for aval, a in mapped}
        if not sizes:
            raise TransformError(
                "pmap requires at least one argument with a mapped axis: "
                f"'{function_name(self._fun)}' has none"
            )
        if self._axis_size is not None and sizes != {self._axis_size}:
            raise TransformError(
                f"Specified axis_size {self._axis_size} doesn't match received axis_size "
                f"{', '.join(map(str, sorted(sizes)))} of pmap of '{function_name(self._fun)}'"
            )
        if len(sizes) != 1:
            arrays = ", ".join(
                f"{get_aval(x).long_name()} along {a}" for x, a in zip(leaves, axes, strict=True)
            )
            aval, axis = mapped[0]
            size = int(aval.shape[axis])
            other, place = next((x, a) for x, a in mapped if x.shape[a] != size)
            raise TransformError(
                "pmap got inconsistent sizes for array axes to be mapped: "
                f"{arrays} of '{function_name(self._fun)}': "
                f"{self._uneven(self._chosen(size, mapped[0]), other, place)}"
            )
        return int(sizes.pop()), mapped[0]

    def _uneven(self, devices: Sequence[Any], aval: ShapedArray, axis: int) -> str:
        """Return JAX's text for an array whose axis has another size than the devices."""
        mesh = Mesh(np.array(devices, dtype=object), (self._name,))
        return NamedSharding(mesh, _spec(axis, self._name)).uneven_text(axis, aval.shape)

    def _run(self, mesh: Mesh, *args: Any, **kwargs: Any) -> Any:
        """Return the result over all devices' values, in the program."""
        leaves, in_tree, axes = self._leaves(args, kwargs)
        places: list[int | None] = []  # the mapped axis of each result

        def body(*parts: Any) -> Any:
            own = [_without(x, a) for x, a in zip(parts, axes, strict=True)]
            moving, named = in_tree.unflatten(own)
            outs, out_tree = tree.flatten(self._fun(*self._filled(args, moving), **named))
            full = out_tree.unflatten(range(len(outs)))
            out_axes = tree.prefix_leaves("pmap", "out_axes", self._axes[1], full)
            places.extend(
                _canonical("out_axes", a, get_aval(x).ndim + 1)
                for a, x in zip(out_axes, outs, strict=True)
            )
            return out_tree.unflatten(
                _with(x, None if a is None else max(a, 0))
                for a, x in zip(out_axes, outs, strict=True)
            )

        body.__name__ = function_name(self._fun)
        mapped = shard_map(
            body,
            mesh=mesh,
            in_specs=tuple(_spec(a, self._name) for a in axes),
            out_specs=tree.map(
                lambda a: _spec(a, self._name), self._axes[1], is_leaf=lambda a: a is None
            ),
            check_vma=False,
        )
        outs, out_tree = tree.flatten(mapped(*leaves))
        first = tree.prefix_leaves("pmap", "out_axes", self._axes[1], out_tree.unflatten(outs))
        return out_tree.unflatten(
            x if a is None or place is None or a >= 0 else moveaxis(x, 0, place)
            for a, place, x in zip(first, places, outs, strict=True)
        )


def _spec(axis: int | None, name: Any) -> PartitionSpec:
    """Return the spec of an axis; one that counts from the end is the first until the end."""
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name)


def _check_axis(what: str, axis: Any) -> None:
    """Raise TransformError unless an axis of `pmap` is an int."""
    if type(axis) is not int:
        raise TransformError(
            f"pmap {what} must be an int, None, or (nested) container with those types as leaves, "
            f"but got {axis!r:.60}"
        )


def _canonical(what: str, axis: Any, ndim: int) -> int | None:
    if axis is None:
        return None
    _check_axis(what, axis)
    if not -ndim <= axis < ndim:
        raise TransformError(
            f"axis {axis} is out of bounds for array of dimension {ndim}: it is in {what} of pmap"
        )
    place: int = axis % ndim
    return place


def _without(x: Any, axis: int | None) -> Any:
    """Return the only value along the mapped axis."""
    if axis is None:
        return x
    return op.squeeze(x, dimensions=(axis,))


def _with(x: Any, axis: int | None) -> Any:
    if axis is None:
        return x
    shape = get_aval(x).shape
    places = tuple(d + (d >= axis) for d in range(len(shape)))
    longer = (*shape[:axis], 1, *shape[axis:])
    return op.broadcast_in_dim(x, shape=longer, broadcast_dimensions=places)


def _outside(fun: Callable[..., Any], nums: Iterable[int]) -> list[int]:
    """Return the positions after the last positional parameter of a function."""
    parameters = parameters_of(fun)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return []
    return [n for n in nums if n >= len(positional_names(parameters)[0])]


def _within(fun: Callable[..., Any], what: str, nums: int | Iterable[int]) -> list[int]:
    """Return the positions among the positional parameters of a function."""
    positions = argument_positions(what, nums)
    outside = _outside(fun, positions)
    return [n for n in positions if n not in outside]


def _check_backend(backend: Any, devices: Sequence[Any] | None) -> None:
    """Raise UsageError unless `backend` is None or a backend's name, that of the devices if any."""
    if backend is None:
        return
    if not isinstance(backend, str):
        raise UsageError(f"pmap: backend is a name or None, and is {backend!r:.60}")
    name = xla.target(backend).backend
    others = [d for d in devices or () if getattr(d, "platform", name) != name]
    if others:
        raise UsageError(f"pmap: backend is {name!r}, and devices has {others[0]!r:.60}")


def pmap(
    fun: Callable[_P, _R],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[xla.Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Pmap[_P, _R]:
    """Map `fun` over an axis of its arguments, each index on a device of its own.

    `in_axes` is an int, None (the same on all devices), or a tuple with a tree prefix for each
    argument; keyword arguments are mapped over axis 0. `out_axes`, ints and None, is a
    tree prefix of the result; for None the result is the first device's value. Collectives in `fun`
    refer to the axis by `axis_name`. The devices are the first ones of `backend` (by default
    "cpu"), or of `devices`. `static_broadcasted_argnums` are fixed while tracing, and results may
    take the buffers of `donate_argnums`. It is `jit` of a `shard_map` over a mesh of one axis;
    `vmap` computes the same on one device.

    Raises TransformError if the mapped axes are missing or differ in size, ShardingError if there
    are fewer devices than indices, UsageError for options naming no argument, and for an unknown
    backend or one that is not that of `devices`. A call raises BackendError if the backend is not
    available.

    >>> pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(numpy.arange(1.0, 5.0))
    Array([0.1, 0.2, 0.3, 0.4], dtype=float32)
    """
    check_callable("pmap", fun)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    for axis in tree.leaves(in_axes):
        _check_axis("in_axes", axis)
    for axis in tree.leaves(out_axes, is_leaf=lambda a: a is None):
        if axis is not None:
            _check_axis("out_axes", axis)
            if not -_MAX_AXES <= axis <= _MAX_AXES:
                raise TransformError(
                    f"pmap: out_axes needs ints of up to {_MAX_AXES} and None, has {axis}"
                )
    if axis_size is not None and (type(axis_size) is not int or axis_size < 1):
        raise TransformError(
            f"pmap: axis_size needs an int of 1 or more, and has {axis_size!r:.60}"
        )
    chosen = None if devices is None else as_tuple(devices, "the devices of pmap")
    if chosen == ():
        raise TransformError("'devices' argument to pmap must be non-empty, or None")
    _check_backend(backend, chosen)
    static = argument_positions("static_broadcasted_argnums", static_broadcasted_argnums)
    outside = _outside(fun, static)  # an error of the call, as in JAX
    options = JitOptions.of(
        fun,
        [n for n in static if n not in outside],
        donate_argnums=_within(fun, "donate_argnums", donate_argnums),  # as in JAX
    )
    return Pmap(
        fun,
        _UNNAMED if axis_name is None else axis_name,
        (in_axes, out_axes),
        (*options.static_argnums, *outside),
        options.donate_argnums,
        chosen,
        backend,
        axis_size,
    )
