"""Functions for shardings in the types of arrays: on meshes with axes of the type `Explicit`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar

from olympus_core.arrays.mesh_context import abstract_mesh, concrete_like, using_mesh
from olympus_core.arrays.sharded_array import ShardedArray, put_on
from olympus_core.arrays.types_on_meshes import typed_sharding
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import (
    ArgumentError,
    ShardingError,
    ShardingTypeError,
    SignatureError,
    TransformError,
)
from olympus_core.base.source import wraps
from olympus_core.ir import trace, unreduced_rules
from olympus_core.ir.sharding_rules import entry_axes, spec_of
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.jit.calling import StagedFunction
from olympus_core.jit.options import JitOptions
from olympus_core.jit.sharded_calling import check_positional
from olympus_core.placement.mesh import AbstractMesh, AnyMesh, AxisType
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    in_auto_axes,
)
from olympus_core.primitives.sharding import reshard_p

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
#: the argument `out_sharding` of functions of arrays
OutSharding = NamedSharding | PartitionSpec | None


def explicit_sharding(caller: str, where: Any, *, is_moved: bool = False) -> NamedSharding | None:
    """Return a sharding or a spec as a sharding along explicit axes; None for None.

    A spec is on the mesh of the context.  `is_moved` is True for arrays that move to another mesh.

    Raises ArgumentError for another value, and for a spec without a mesh, ShardingError for an axis
    of another type, and for another mesh than that of the context.
    """
    if where is None or (isinstance(where, NamedSharding) and where.mesh.empty):
        return None
    if not isinstance(where, NamedSharding | PartitionSpec):
        raise ArgumentError(
            f"`out_sharding` argument of {caller} only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {where!r:.80} of type: {type(where)}"
        )
    mesh: AnyMesh = abstract_mesh()
    if isinstance(where, PartitionSpec):
        if mesh.empty:
            raise ArgumentError(
                "Using PartitionSpec when you are not under a mesh context is not allowed. Please "
                "pass a NamedSharding instance or enter into a mesh context via `jax.set_mesh`. "
                f"Got {where}: it is an argument of {caller}",
                hint="pass NamedSharding(mesh, spec), or write `with olympus.set_mesh(mesh):`",
            )
        where = NamedSharding(mesh, where)
    elif not (is_moved or mesh.empty or where.mesh.abstract_mesh == mesh):
        raise ShardingError(
            f"Context mesh {mesh} should match the mesh of sharding "
            f"{where.mesh.abstract_mesh} passed to {caller}"
        )
    check_open(where)
    _check_types(caller, where)
    sharding: NamedSharding = where.update(mesh=concrete_like(where.mesh))
    return sharding


def check_open(where: NamedSharding) -> None:
    """Raise ShardingError for a dimension left to the compiler on a mesh without Auto axes."""
    is_auto = AxisType.Auto in where.mesh.axis_types
    if not is_auto and PartitionSpec.UNCONSTRAINED in where.spec.partitions:
        raise ShardingError(
            f"{where.spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. "
            f"Got mesh axis_types: {where.mesh.axis_types}"
        )


def _check_types(caller: str, where: NamedSharding) -> None:
    types = where.mesh._name_to_type
    spec = where.spec
    for name in [n for d in range(len(spec)) for n in spec.axes(d)]:
        if types[name] is not AxisType.Explicit:
            raise ShardingError(
                f"PartitionSpec passed to {caller} cannot contain axis names that are of type "
                f"Auto or Manual. Got PartitionSpec: {where.spec} with axis name: {name} of type: "
                f"{types[name]}"
            )


def reshard(xs: _T, out_shardings: Any) -> _T:
    """Return a tree of arrays with other shardings along explicit axes.

    `out_shardings` is a sharding, or a PartitionSpec of the mesh of the context, or a tree prefix
    of `xs` of these. The devices exchange the parts of the arrays.

    Raises ArgumentError for another value, ShardingError for an axis that is not explicit, and for
    a sharding that cannot split an array.

    >>> mesh = make_mesh((2,), ("x",))
    >>> typeof(reshard(numpy.arange(8), NamedSharding(mesh, P("x"))))
    ShapedArray(int32[8@x])
    """
    leaves, treedef = tree.flatten(xs)
    full = treedef.unflatten(range(len(leaves)))
    if isinstance(xs, tuple):
        check_positional("reshard out_shardings", out_shardings, len(xs))
    where = tree.prefix_leaves("reshard", "out_shardings", out_shardings, full)
    moved: _T = treedef.unflatten([_resharded(x, s) for x, s in zip(leaves, where, strict=True)])
    return moved


def _resharded(x: Any, where: Any) -> Any:
    sharding = explicit_sharding("reshard", where, is_moved=not trace.manual_axes())
    if sharding is None:
        raise ArgumentError(
            "Reshard should only be used with out_shardings which are non-None and have a "
            f"non-empty mesh. Got sharding {where!s:.80}"
        )
    return as_type(x, sharding)


def as_type(x: Any, sharding: NamedSharding) -> Any:
    """Return an array whose type has a sharding; none if the mesh has no explicit axes."""
    aval = get_aval(x)
    sharding = _without_last(sharding, aval.ndim)
    sharding.tiling_of(aval.shape, f"an array {aval.long_name()}")
    typed = typed_sharding(sharding, aval.ndim)
    if typed is not None:
        typed.check_shape(aval.shape, f"an array {aval.long_name()}")
        sharding = typed.update(mesh=sharding.mesh)
    is_placed = isinstance(x, ShardedArray | Tracer)
    if trace.at_base() and not is_placed and not isinstance(sharding.mesh, AbstractMesh):
        return put_on(x, sharding)
    if aval.explicit is None and typed is None:
        return x
    return reshard_p.bind(x, sharding=sharding)


def _without_last(sharding: NamedSharding, ndim: int) -> NamedSharding:
    """Return a sharding without the last entries of its spec that are None and exceed `ndim`."""
    entries = sharding.spec.partitions
    if len(entries) <= ndim or any(entry is not None for entry in entries[ndim:]):
        return sharding
    return sharding.update(spec=sharding.spec.update(partitions=entries[:ndim]))


def out_sharded(fun: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function of arrays with the keyword `out_sharding`, which `fun` need not read.

    With a sharding, the compiler shards the operations of `fun`, on operands without shardings in
    their types, and the result has the sharding in its type.
    """

    @wraps(fun)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if kwargs.get("out_sharding") is None:
            return fun(*args, **kwargs)
        out_sharding = kwargs.pop("out_sharding")
        run = functools.partial(with_out_sharding, fun.__name__, out_sharding, fun)
        result: _R = run(*args, **kwargs)
        return result

    return wrapped


def with_out_sharding(
    name: str, out_sharding: Any, fun: Callable[..., _R], *args: Any, **kwargs: Any
) -> _R:
    """Return `fun(*args, **kwargs)` with the sharding `out_sharding` in its type: `out_sharded`."""
    sharding = explicit_sharding(name, out_sharding)
    if sharding is None:
        return fun(*args, **kwargs)
    _check_sets(name, sharding, args, kwargs)
    if sharding.spec.reduced and name in (*_PRODUCTS, "dot_general", "reduce_sum"):  # as in JAX
        sharding = sharding.update(spec=sharding.spec.update(reduced=frozenset()))
    auto = in_auto_axes(sharding.update(spec=()))

    def typed(arrays: tuple[Any, ...]) -> _R:
        values = iter(arrays)
        leaves = [next(values) if x is None else x for x in others]
        free_args, free_kwargs = in_tree.unflatten([_free(x, auto) for x in leaves])
        with using_mesh(auto.mesh):
            out = fun(*free_args, **free_kwargs)
        result: _R = tree.map(lambda x: as_type(x, sharding), out)
        return result

    leaves, in_tree = tree.flatten((args, kwargs))
    is_array = [isinstance(x, Array) for x in leaves]
    others = [None if a else x for x, a in zip(leaves, is_array, strict=True)]
    arrays = tuple(x for x, a in zip(leaves, is_array, strict=True) if a)
    if sharding.spec.unreduced and trace.at_base():
        # as one program, because the compiler would sum the result of an operation on its own
        return StagedFunction(typed, JitOptions())(arrays)
    return typed(arrays)


#: the contracted dimensions of the two operands of products, by their ranks
_PRODUCTS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "dot": lambda m, n: (m - 1, max(n - 2, 0)),
    "matmul": lambda m, n: (m - 1, max(n - 2, 0)),
}


def _check_sets(name: str, sharding: NamedSharding, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise an error if an operation cannot have a result with the unreduced or reduced axes."""
    spec = sharding.spec
    if name == "reshape":
        own = spec_sets(get_aval(args[0]))
        for what, axes, wanted in zip(
            ("unreduced", "reduced"), own, (spec.unreduced, spec.reduced), strict=True
        ):
            if axes != wanted:
                raise ShardingError(
                    f"out_sharding passed to reshape must be {what} over the same mesh axes as "
                    f"operand: it cannot contain other {what} axes. Got out_sharding: {spec} and "
                    f"operand type: {get_aval(args[0]).short_name()}"
                )
    if not spec.unreduced or len(args) < 2:
        return
    if name == "reduce_sum":
        own, left = spec_of(get_aval(args[0])), spec_sets(get_aval(args[0]))[0]
        summed = [own[d] for d in args[1] if 0 <= d < len(own)]
        if not spec.unreduced <= {*left, *[n for e in summed for n in entry_axes(e)]}:
            raise ShardingTypeError(
                "out_sharding's unreduced axes should be in operand's specs that were summed over. "
                f"Got operand={get_aval(args[0])}, axes={tuple(args[1])}, unreduced_spec={spec}"
            )
        return
    operands, contracted = _contracted(name, args, kwargs)
    avals = [get_aval(x) for x in operands if isinstance(x, Array)]
    if contracted is None or len(avals) != 2:
        return
    specs = [tuple(spec_of(a)[d] for d in c) for a, c in zip(avals, contracted, strict=True)]
    if any(s != specs[0] for s in specs):
        raise ShardingTypeError(
            "lhs and rhs contracting dims should be sharded identically when out_sharding provided "
            f"to {name} mentions unreduced_axes. Got {', '.join(map(str, specs))}"
        )
    _check_summed(name, spec.unreduced, specs[0] if specs else ())


def _contracted(
    name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], Sequence[Sequence[int]] | None]:
    """Return the operands of a product, and the contracted dimensions of both if it has two."""
    if name == "einsum":
        return args[1:], _summed_letters(args[0]) if len(args) == 3 else None
    operands = args[:2]
    numbers = kwargs.get("dimension_numbers", args[2] if len(args) > 2 else None)
    if numbers is not None and name in (*_PRODUCTS, "dot_general"):
        return operands, numbers[0]
    ranks = [get_aval(x).ndim for x in operands if isinstance(x, Array)]
    if name in _PRODUCTS and len(ranks) == 2 and all(ranks):
        return operands, [(d,) for d in _PRODUCTS[name](ranks[0], ranks[1])]
    return operands, None


def _summed_letters(subscripts: Any) -> Sequence[Sequence[int]] | None:
    """Return the dimensions of two operands that `einsum` contracts, for an explicit result."""
    if not isinstance(subscripts, str) or "..." in subscripts or "->" not in subscripts:
        return None
    ins, out = subscripts.replace(" ", "").split("->")
    terms = ins.split(",")
    summed = [letter for letter in terms[0] if letter in terms[-1] and letter not in out]
    return [[term.index(letter) for letter in summed] for term in terms]


def _check_summed(name: str, unreduced: frozenset[Any], summed: Sequence[Any]) -> None:
    if unreduced != {n for e in summed for n in entry_axes(e)}:
        raise ShardingTypeError(
            f"out_sharding's unreduced axes should be equal to the contracting specs of {name}. "
            f"Got unreduced axes={set(unreduced)} and contracting spec={tuple(summed)}"
        )


def spec_sets(aval: ShapedArray) -> tuple[frozenset[Any], frozenset[Any]]:
    """Return the unreduced and the reduced axes of a type."""
    return unreduced_rules.unchanged("", (aval,))


def _free(x: Any, auto: NamedSharding) -> Any:
    is_typed = isinstance(x, Array) and x.aval.explicit is not None
    return as_type(x, auto) if is_typed else x


class _Change:
    """The mesh of a context, and the same mesh with other types of axes."""

    def __init__(self, axes: Any, axis_type: AxisType, caller: str, shardings: Any = None) -> None:
        self.axis_type = axis_type
        context = abstract_mesh()
        meshes = {
            s.mesh.abstract_mesh: s.mesh
            for s in tree.leaves(shardings)
            if isinstance(s, NamedSharding)
        }
        if len(meshes) > 1 or (meshes and not context.empty and context not in meshes):
            raise ShardingError(
                f"the mesh of the shardings of {caller} must be that of the context, {context}, "
                f"and is {[*meshes]}",
                hint="use olympus.set_mesh(mesh)",
            )
        self.mesh: AnyMesh = context
        if context.empty and meshes:
            self.mesh = next(iter(meshes.values()))
        names = self.mesh.axis_names if axes is None else axes
        self.axes = names if isinstance(names, tuple) else (names,)
        types = self.mesh._name_to_type
        for name in self.axes:
            if name not in types:
                raise ShardingError(
                    f"{caller} got the axis {name!r}, and the mesh has "
                    f"{', '.join(map(repr, types))}"
                )
            if types[name] is AxisType.Manual:
                raise TransformError(
                    f"{caller}: the axis {name!r} is mapped over by a shard_map, and stays Manual"
                )
        changed = tuple([axis_type if n in self.axes else t for n, t in types.items()])
        self.changed = concrete_like(self.mesh.abstract_mesh.update(axis_types=changed))

    def args(self, args: Any, specs: Any) -> Any:
        """Return the arguments typed on the changed mesh.

        Raises ShardingError for a spec of `explicit_axes` with an axis that is not explicit.
        """
        full = tree.map(lambda _: 0, args)
        leaves, treedef = tree.flatten(args)
        specs = tree.prefix_leaves("explicit_axes", "in_sharding", specs, full)
        shardings = [_on_mesh(s, self.changed) for s in specs]
        if self.axis_type is AxisType.Explicit:
            for sharding in shardings:
                _check_types("reshard", sharding)
        return treedef.unflatten([as_type(x, s) for x, s in zip(leaves, shardings, strict=True)])


def _on_mesh(where: Any, mesh: AnyMesh) -> NamedSharding:
    spec = where.spec if isinstance(where, NamedSharding) else where
    return NamedSharding(mesh, spec)


def _own_spec(x: Any) -> PartitionSpec:
    spec: PartitionSpec = get_aval(x).sharding.spec
    return spec


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Hashable | tuple[Hashable, ...] | None = None,
    out_sharding: Any = None,
) -> Callable[..., Any]:
    """Return `f` with axes of the mesh of the type `Auto`: the compiler shards its operations.

    `axes` are names, by default all axes of the mesh of the context. The results get the sharding
    `out_sharding`, a tree prefix of them, which a call may pass by keyword instead. Without `f` the
    result is a decorator.

    Raises SignatureError if `out_sharding` is missing, and the errors of `reshard`.

    >>> with set_mesh(mesh):
    ...     product = auto_axes(lambda x, y: x @ y, out_sharding=P("x", None))(x, y)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    function = f

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        outs = _keyword(out_sharding, kwargs, "out_sharding")
        change = _Change(axes, AxisType.Auto, "auto_axes", outs)
        if change.mesh.empty or set(change.mesh.auto_axes) == set(change.axes):
            return function(*args, **kwargs)
        with using_mesh(change.changed):
            results = function(*change.args(args, tree.map(_own_spec, args)), **kwargs)
        return reshard(results, outs)

    return wrapped


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Hashable | tuple[Hashable, ...] | None = None,
    in_sharding: Any = None,
) -> Callable[..., Any]:
    """Return `f` with axes of the mesh of the context of the type `Explicit`.

    The arguments get the sharding `in_sharding`, a tree prefix of them, which a call may pass by
    keyword instead. Without `f` the result is a decorator.

    Raises SignatureError if `in_sharding` is missing, and ArgumentError without a mesh.

    >>> with set_mesh(mesh):
    ...     explicit_axes(lambda x: 2 * x, in_sharding=P("x"))(numpy.arange(8))
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    function = f

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        ins = _keyword(in_sharding, kwargs, "in_sharding")
        change = _Change(axes, AxisType.Explicit, "explicit_axes")
        if change.mesh.empty:
            raise ArgumentError(
                "Context mesh cannot be empty: explicit_axes needs the mesh of a context",
                hint="write `with olympus.set_mesh(mesh):`",
            )
        with using_mesh(change.changed):
            results = function(*change.args(args, ins), **kwargs)
        own = concrete_like(change.mesh)
        return tree.map(lambda x: as_type(x, NamedSharding(own, _own_spec(x))), results)

    return wrapped


def _keyword(value: Any, kwargs: dict[str, Any], name: str) -> Any:
    if value is not None:
        return value
    if name not in kwargs:
        raise SignatureError(f"Missing required keyword argument: {name!r}")
    return kwargs.pop(name)
