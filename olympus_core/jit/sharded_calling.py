"""The function that `jit` returns for `in_shardings` or `out_shardings`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.arrays.mesh_context import context_mesh, named
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArgumentError, ShardingError, TransformError, UsageError
from olympus_core.control.call import constrained, jit_p
from olympus_core.execution.spmd import committed_sharding
from olympus_core.ir import trace
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Olympuspr, ProgramParams
from olympus_core.jit.calling import Arguments, StagedFunction
from olympus_core.jit.options import JitOptions
from olympus_core.jit.reference_calling import VALUES
from olympus_core.placement.layout import (
    AutoLayout,
    Format,
    Layout,
    array_format,
    as_sharding,
    order_of,
)
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from olympus_core.transforms import data, references
from olympus_core.transforms.data import is_float0

_P = ParamSpec("_P")
_R = TypeVar("_R")
#: A sharding for each array, or None; empty if no array has one.
ArrayShardings = tuple[Sharding | None, ...]


class Shardings(NamedTuple):
    """The shardings of a `jit`: tree prefixes of the arguments and the result, None for none.

    `on_device` is True if they are those of the argument `device` or `backend`.
    """

    ins: Any = None
    outs: Any = None
    on_device: bool = False

    def with_values(self) -> Shardings:
        """Return the shardings of a function that also returns the values of references, first."""
        return self if self.outs is None else self._replace(outs=(None, self.outs))

    @staticmethod
    def of(ins: Any, outs: Any) -> Shardings:
        """Return both, checked; raise ArgumentError for a leaf that is not a sharding or None."""
        ins, outs = (
            tree.map(lambda x, n=name: x if _is_open(x) else as_sharding(x, n), prefix)
            for name, prefix in (("in_shardings of jit", ins), ("out_shardings of jit", outs))
        )
        for what, prefix in (("in_shardings", ins), ("out_shardings", outs)):
            for leaf in tree.leaves(prefix, is_leaf=lambda x: x is None):
                spec = getattr(leaf, "spec", leaf)
                is_spec = isinstance(spec, PartitionSpec)
                if is_spec and PartitionSpec.UNCONSTRAINED in spec.partitions:
                    raise ArgumentError(
                        f"Unconstrained dims are not allowed when passed to {what}: {leaf}",
                        hint="leave the sharding out, or write None",
                    )
                check_no_layout(leaf)
                if leaf is not None and not isinstance(leaf, Sharding | PartitionSpec | Format):
                    raise ArgumentError(
                        f"{what} leaf specifications are expected to be PartitionSpec instances or "
                        f"None, but got {leaf!s:.80}: {what} of jit needs shardings and None",
                        hint="write NamedSharding(mesh, spec)",
                    )
        return Shardings(tuple(ins) if isinstance(ins, list) else ins, outs)


def check_no_layout(x: Any) -> None:
    """Raise ArgumentError for a layout in the place of a sharding or a format."""
    if isinstance(x, Layout | AutoLayout):
        raise ArgumentError(
            "`jax.jit` does not accept device-local layouts directly. Create a `Format` instance "
            f"wrapping this device-local layout and pass that to `jit` instead. Got {x}",
            hint="write Format(layout, sharding)",
        )


def argument_shardings(leaves: Sequence[Any]) -> ArrayShardings:
    """Return the shardings of explicitly placed arrays and of ShapeDtypeStructs that have one."""
    shardings = tuple([committed_sharding(x) or _declared(x) for x in leaves])
    return shardings if any(s is not None for s in shardings) else ()


def _declared(x: Any) -> Sharding | None:
    return x.laid_sharding if isinstance(x, ShapeDtypeStruct) else None


class ShardedFunction(StagedFunction[_P, _R]):
    """A staged function whose arguments and results have shardings."""

    #: the function of the user, for messages
    caller = "jit"

    def __init__(self, fun: Callable[_P, _R], options: JitOptions, shardings: Shardings) -> None:
        super().__init__(fun, options)
        self._requested = shardings

    @property
    def shardings(self) -> Shardings:
        """The shardings of a call in the current context."""
        return self._requested

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if state.disable_jit:
            return self.fun(*args, **kwargs)
        if references.exist():
            program, plain, keywords, passed = self.referenced(args, kwargs)
            if program is not None:
                returned: _R = program.run(program.function, plain, keywords, passed)
                return returned
        arguments = self.arguments(args, kwargs)
        call = self._call_for(arguments)
        program = call.params["olympuspr"]
        ins = self.argument_shardings(arguments)
        outs = self.result_shardings(call.out_tree, program.out_avals, arguments)
        leaves, consts = arguments.leaves, call.consts
        if trace.at_base():
            if call.eager_params.keys().isdisjoint(("keep_unused", "donated")):
                ins = _of_read_arguments(program, len(consts), ins)
            leaves = [*map(_moved, leaves, ins)]
            looks = state.debug_nans or state.debug_infs
            placement = {"in_shardings": (None,) * len(consts) + ins, "out_shardings": outs}
            params = (call.params if looks else call.eager_params) | placement
            try:
                results = self._processed(consts, leaves, params)
            except UsageError as error:
                self._raise_named(error, arguments)
                raise
            except ShardingError as error:
                raise self._placed_apart(error, arguments, len(consts)) from None
            results = [*map(_in_memory, results, outs)]
        else:
            params = ProgramParams.of(call.params)
            params["olympuspr"] = constrained(program, (None,) * len(consts) + ins, outs)
            results = trace.current_trace().process(jit_p, [*consts, *leaves], params)
        result: _R = call.out_tree.unflatten(results)
        return result

    def _with_values(self, fun: Callable[..., Any]) -> StagedFunction[..., Any]:
        return ShardedFunction(fun, self.options, self.shardings.with_values())

    def argument_shardings(self, arguments: Arguments) -> ArrayShardings:
        """Return the sharding of each argument; raise ShardingError if one does not fit.

        Raises ArgumentError for keyword arguments of a function with `in_shardings`.
        """
        if self.shardings.ins is None:
            return (None,) * len(arguments.avals)
        if self.shardings.on_device and context_mesh() is not None:
            raise ArgumentError(
                "Mesh context manager should not be used with jit when backend or device is also "
                "specified as an argument to jit.",
                hint="leave out the mesh or the device",
            )
        places = arguments.in_tree.unflatten(range(len(arguments.avals)))
        keywords = [key for key in places[1] if key != VALUES]
        keywords += [name for name, _ in arguments.static if isinstance(name, str)]
        if keywords:
            raise ArgumentError(
                f"'{self.name}' takes its arguments by position: pjit does not support kwargs when "
                "in_shardings is specified, and it got "
                f"{', '.join(map(repr, keywords))} by keyword"
            )
        check_positional("pjit in_shardings", self.shardings.ins, len(places[0]))
        prefix, leaves = self.shardings.ins, arguments.leaves
        shardings = _named(self.caller, "in_shardings", prefix, places[0], leaves)
        shardings += [None] * (len(arguments.avals) - len(shardings))
        names = self.argument_names(arguments)
        words = data.word_axes(places, arguments.avals)
        words += [0] * (len(arguments.avals) - len(words))
        columns = arguments.leaves, arguments.avals, names, shardings, words
        for x, aval, name, sharding, count in zip(*columns, strict=True):
            if sharding is None:
                continue
            _check_rank(sharding, aval, count, "arguments", name)
            sharding.check_shape(aval.shape, f"the argument {name!r} of '{self.name}'")
            own = committed_sharding(x) or _declared(x)
            _check_layout(x, own, sharding, aval)
            _check_memory(x, aval, sharding)
            if own is not None and not _same_split(own, sharding, aval.ndim):
                raise ShardingError(
                    f"the argument {name!r} of '{self.name}', {aval.long_name()}, has "
                    f"{own.spoken()}, and in_shardings has {sharding.spoken()} for it: Sharding "
                    "passed to jit does not match the sharding on the respective arg. Got jit "
                    f"sharding: {sharding},\narg sharding: {own}",
                    hint="put it there with device_put",
                )
        return tuple(shardings)

    def result_shardings(
        self, out_tree: Any, avals: Sequence[ShapedArray], arguments: Arguments
    ) -> ArrayShardings:
        """Return the sharding of each result; raise ShardingError if one does not fit."""
        if self.shardings.outs is None:
            return (None,) * len(avals)
        full = out_tree.unflatten(range(len(avals)))
        ins = [s for s in tree.leaves(self.shardings.ins) if isinstance(s, Sharding)]
        leaves = arguments.leaves
        prefix, first = self.shardings.outs, ins[:1]
        shardings = _named(self.caller, "out_shardings", prefix, full, leaves, first, avals)
        paths = map(tree.keystr, data.paths(out_tree))
        columns = avals, paths, shardings, data.word_axes(full, avals)
        for aval, path, sharding, count in zip(*columns, strict=True):
            if sharding is not None:
                _check_rank(sharding, aval, count, "outputs", f"result{path}")
                sharding.check_shape(aval.shape, f"result{path} of '{self.name}'")
        return tuple(shardings)


def _check_rank(sharding: Sharding, aval: ShapedArray, words: int, what: str, path: str) -> None:
    """Raise ShardingError for keys of fewer dimensions than a spec; `words` is 0 for others."""
    rank = aval.ndim - words
    if words and isinstance(sharding, NamedSharding) and len(sharding.spec) > rank:
        raise ShardingError(
            f"One of pjit {what} with pytree key path {path} is incompatible with its sharding "
            f"annotation {sharding}: Sharding {sharding} is only valid for values of rank at least "
            f"{len(sharding.spec)}, but was applied to a value of rank {rank}: random keys"
        )


def _check_memory(x: Any, aval: ShapedArray, sharding: Sharding) -> None:
    """Raise ShardingError for an array in another memory than that of `in_shardings`."""
    own = x.sharding.memory_kind if isinstance(x, DeviceArray) else sharding.memory_kind
    if own != sharding.memory_kind:
        raise ShardingError(
            "Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got "
            f"jit memory kind: {sharding.memory_kind}, arg memory kind: {own} for arg type: "
            f"{aval.update(memory_space=aval.spaces[0]).long_name()}",
            hint="move it by device_put with the sharding",
        )


def check_positional(what: str, prefix: Any, count: int) -> None:
    """Raise TransformError unless `prefix` is one sharding, or has one for each of the arguments.

    `what` names the prefix, and `count` is the number of the arguments.
    """
    if isinstance(prefix, Sharding | PartitionSpec | Format | None):
        return
    if isinstance(prefix, tuple) and len(prefix) == count:
        return
    wrong = (
        f"is the wrong length: got a tuple or list of length {len(prefix)} for an args tuple of "
        f"length {count}."
        if isinstance(prefix, tuple)
        else f"is not a tuple: got {type(prefix)} instead."
    )
    raise TransformError(
        f"{what} specification must be a tree prefix of the positional arguments tuple. In "
        f"particular, {what} must either be a Sharding, a PartitionSpec, or a tuple of length "
        f"equal to the number of positional arguments. But {what} {wrong}",
        hint="write a tuple with a sharding, or None, for each argument",
    )


def _named(
    caller: str,
    what: str,
    prefix: Any,
    full: Any,
    arguments: Sequence[Any],
    requested: Sequence[Sharding] = (),
    avals: Sequence[ShapedArray] = (),
) -> list[Sharding | None]:
    """Return a sharding, or None, for each leaf of `full`; specs use the mesh of the context.

    A layout that is open, without a sharding, is on the devices of the first one of the shardings
    `requested` and those of the `arguments`.  `avals` are the types of results.
    """
    leaves = tree.prefix_leaves("jit", what, prefix, full)
    leaves = [s for s, x in zip(leaves, tree.leaves(full), strict=True) if not is_float0(x)]
    if not any(isinstance(s, Format) for s in leaves):
        return [named(caller, s, what) for s in leaves]
    placed = (s for x in arguments if (s := committed_sharding(x) or _declared(x)))
    own = next(itertools.chain(requested, placed), None)
    first = own or SingleDeviceSharding(state.default_device or xla.default_device())
    if what == "out_shardings":
        auto = [_open_like(first, aval.ndim) for aval in avals]
    else:
        places = [committed_sharding(x) or _declared(x) for x in arguments]
        places += [None] * (len(leaves) - len(places))
        auto = [_open_like(first, 0) if s is None else s for s in places[: len(leaves)]]
    return [
        place.with_layout(Layout.AUTO) if isinstance(s, Format) else named(caller, s, what)
        for s, place in zip(leaves, auto, strict=True)
    ]


def _open_like(first: Sharding, ndim: int) -> Sharding:
    """Return the sharding of an array on the same devices; the compiler splits its dimensions."""
    if not isinstance(first, NamedSharding):
        return first.with_layout(None)
    return NamedSharding(first.mesh, PartitionSpec(*[PartitionSpec.UNCONSTRAINED] * ndim))


def _is_open(x: Any) -> bool:
    """Return True for a format that leaves the layout and the sharding to the compiler."""
    return isinstance(x, Format) and x.sharding is None and x.layout is Layout.AUTO


def _check_layout(x: Any, own: Sharding | None, sharding: Sharding, aval: ShapedArray) -> None:
    """Raise ShardingError for an array that was put in another layout than `in_shardings` has."""
    if own is None or sharding.layout in (None, Layout.AUTO):
        return
    is_laid = isinstance(x, DeviceArray) or own.layout is not None
    if is_laid and order_of(aval.ndim, own) != order_of(aval.ndim, sharding):
        raise ShardingError(
            "Layout passed to jit does not match the layout on the respective arg. Got jit layout: "
            f"{sharding.layout},\narg layout: {array_format(aval.ndim, own).layout} for arg type: "
            f"{aval.long_name()}.",
            hint="put it there with device_put and the format",
        )


def _same_split(own: Sharding, other: Sharding, ndim: int) -> bool:
    """Return True if two shardings split an array of `ndim` dimensions in the same way.

    Their devices may be others.
    """
    terms = [s.unreduced if isinstance(s, NamedSharding) else frozenset() for s in (own, other)]
    if terms[0] != terms[1]:
        return False
    is_whole = own.is_fully_replicated and other.is_fully_replicated
    return is_whole or own.tiling(ndim) == other.tiling(ndim)


def _moved(x: Any, sharding: Sharding | None) -> Any:
    """Return an argument on the devices of `in_shardings`, in their order."""
    own = committed_sharding(x)
    if own is None or sharding is None or own.devices == sharding.devices:
        return x
    return put_on(x, sharding.with_layout(None) if len(sharding.devices) == 1 else sharding)


def _of_read_arguments(program: Olympuspr, count: int, ins: ArrayShardings) -> ArrayShardings:
    """Return the shardings with None for arguments that are not read, whose devices have no effect.

    `count` is the number of the constants before the arguments.
    """
    read = restrict(program, (True,) * len(program.outvars))[1]
    if len(read) == count + len(ins):
        return ins
    return tuple([s if count + i in read else None for i, s in enumerate(ins)])


def _in_memory(x: Any, sharding: Sharding | None) -> Any:
    """Return a result in the memory of the host if its `out_shardings` has that."""
    if sharding is None or sharding.memory_kind == x.sharding.memory_kind:
        return x
    return put_on(x, x.sharding.with_memory_kind(sharding.memory_kind))
