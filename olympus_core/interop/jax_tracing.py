"""Functions of JAX as traced functions of OLYMPUS: JAX's modules of them are raised."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.execution.compilation import Linalg, Repeats
from olympus_core.execution.hidden_arguments import Constants
from olympus_core.execution.spmd import Placement
from olympus_core.interop.jax_callbacks import host_functions
from olympus_core.interop.jax_modules import jax, jax_jit
from olympus_core.interop.jax_shardings import (
    JaxArguments,
    jax_sharding,
    mesh_context,
    option_values,
    user_jit_options,
)
from olympus_core.interop.stablehlo_files import read
from olympus_core.placement.mesh import AbstractMesh
from olympus_core.stages.stages import Lowered, Traced, requested_target


class JaxTraced(Traced):
    """A function of JAX, traced by JAX for given arguments.

    Its Olympuspr is raised from JAX's module for `platform`; `lower` raises JAX's module for its
    target, because JAX lowers some operations to calls of a platform's library. `retrace` traces
    the function once more, and returns JAX's stage.
    """

    def __init__(
        self,
        traced: Any,
        name: str,
        names: Sequence[str],
        trees: tuple[tree.PyTreeDef, tree.PyTreeDef],
        as_is: bool,
        retrace: Callable[..., Any],
        platform: str = "cpu",
    ) -> None:
        self._jax = traced
        self._x64 = bool(jax.config.jax_enable_x64)  # as it was when the function was traced
        self.retrace = retrace
        self._as_is = as_is
        self._name, self._names, self._trees = name, names, trees
        self._by_platform: dict[str, Traced] = {}
        self._platform = platform
        first = self._on(platform)
        self.signature = first.signature

    @property
    def olympuspr(self) -> Any:  # type: ignore[override]
        """The program; raise UsageError if it is compiled as JAX lowers it."""
        return self._on(self._platform).olympuspr

    @property
    def reference_program(self) -> Any:
        """The program whose operations `verify` runs one by one; it may not be the compiled one."""
        return self._on(self._platform).reference_program

    def placement(self) -> Placement | None:
        """Return the devices of the program's meshes; None if it runs on any one device."""
        return self._on(self._platform).placement()

    def with_out_shardings(self, out_shardings: Any) -> Traced:
        """Return the program with the given shardings of its results: see `Traced`."""
        ours = self._result_shardings(out_shardings)
        theirs = [None if x is None else jax_sharding(x) for x in ours]
        structure = jax.tree.structure(self._jax.out_info)
        shardings = jax.tree.unflatten(structure, theirs)
        retrace = functools.partial(self.retrace, out_shardings=shardings)
        more = self._as_is, retrace, self._platform
        return JaxTraced(retrace(), self._name, self._names, self._trees, *more)

    def _on(self, platform: str) -> Traced:
        traced = self._by_platform.get(platform)
        if traced is None:
            with jax.enable_x64(self._x64):
                lowered = self._jax.lower(lowering_platforms=(platform,))
            donated = [i for i, x in enumerate(jax.tree.leaves(lowered.args_info)) if x.donated]
            content = io.BytesIO()
            lowered.compiler_ir().operation.write_bytecode(content)
            traced = read(
                content.getvalue(),
                name=self._name,
                as_is=self._as_is,
                host_functions=host_functions(lowered, self._x64),
            )
            s = traced.signature
            in_tree, out_tree = self._trees
            traced.signature = s._replace(
                name=self._name,
                in_tree=in_tree,
                out_tree=out_tree,
                arg_names=tuple(self._names),
                donated=s.donated.union(donated),
            )
            self._by_platform[platform] = traced
        return traced

    def lower(
        self,
        target: xla.Target | None = None,
        *,
        lowering_platforms: str | Sequence[str] | None = None,
        repeats: Repeats = "auto",
        linalg: Linalg = "auto",
        constants: Constants = "embed",
    ) -> Lowered:
        """Lower to StableHLO for a target, or for the first of `lowering_platforms`."""
        target = requested_target(target, lowering_platforms) or xla.Target("cpu")
        traced = self._on(xla.platform_of(target))
        if traced.signature.donated != self.signature.donated:  # `with_donations` added some
            traced = traced.with_donations(sorted(self.signature.donated))
        return traced.lower(target, repeats=repeats, linalg=linalg, constants=constants)


def trace(
    fun: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    as_is: bool = False,
    mesh: AbstractMesh | None = None,
    platform: str = "cpu",
) -> Traced:
    """Trace a function of JAX for arguments of given types; return a stage of OLYMPUS.

    The leaves of the arguments are arrays or `ShapeDtypeStruct`s, and statics are values. A leaf of
    another type, such as the activation function in a module of Equinox, is a constant of the
    program. `fun` may be the result of `jax.jit`, `flax.nnx.jit` or `equinox.filter_jit`.

    Containers that JAX knows and OLYMPUS does not, such as the classes of Flax and Equinox, are
    flattened by JAX; the traced function then takes flat arrays.  With `as_is`, the program is
    compiled as JAX lowers it.

    A program of several devices has the meshes and shardings of `fun`: those of its `jax.jit`, of
    constraints and of `jax.shard_map`. A mesh of JAX may be abstract. A type of an argument may
    have a sharding too, over an `AbstractMesh`, and `mesh` is the mesh of the context, in which
    `fun` may use a PartitionSpec alone.

    `platform`, "cpu", "cuda" or "tpu", is the one whose program is shown and counted. A program
    with kernels of Pallas for TPUs has a form for "tpu" only.

    Raises the errors of `fun`.

    >>> x = olympus.ShapeDtypeStruct((3,), "float32")
    >>> olympus.interop.jax.trace(jax.numpy.sin, [x]).lower().compile()
    """
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": True,  # arguments that the program does not use are arguments too
    }
    if _has_constants((args, kwargs)):
        fun = _of_marked(fun)
    types: tuple[tuple[Any, ...], dict[str, Any]] = (tuple(args), dict(kwargs or {}))
    types = jax.tree.map(_struct, types)
    statics = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    given = JaxArguments(*types, statics)

    def by_jax(arguments: JaxArguments = given, **more: Any) -> Any:
        with mesh_context(mesh):
            jitted = jax_jit(fun, **{**options, **more})
            return jitted.trace(*arguments.args, **arguments.kwargs)

    traced = by_jax()
    user_options = user_jit_options(traced)
    if user_options is not None:
        more: dict[str, Any] = {}
        if any(user_options.donated):
            for key, chosen in given.donations(user_options.donated).items():
                more[key] = (*option_values(options[key]), *chosen)
        if user_options.has_shardings:
            more["out_shardings"] = user_options.results
        if more:
            by_jax = functools.partial(by_jax, given.with_shardings(user_options.arguments), **more)
            traced = by_jax()
    paths, in_tree = jax.tree_util.tree_flatten_with_path(traced.in_avals)
    name = str(getattr(fun, "__name__", None) or type(fun).__name__)
    names = _names(fun, [path for path, _ in paths])
    count = len(jax.tree.leaves(traced.out_info))
    out = jax.tree.unflatten(jax.tree.structure(traced.out_info), range(count))
    own = jax.tree.unflatten(in_tree, range(len(paths)))
    flat_in: Any = (tuple(range(len(paths))), {})
    flat_out = tuple(range(count))
    trees = _tree(own, flat_in, len(paths)), _tree(out, flat_out, count)
    return JaxTraced(traced, name, names, trees, as_is, by_jax, platform)


def result_types(fun: Callable[..., Any]) -> Any:
    """Return the types of the results of a function of JAX without arguments, in their tree.

    The type of an array is a `ShapeDtypeStruct` of OLYMPUS, and that of an array of typed keys a
    `jax.ShapeDtypeStruct`. A leaf that is neither an array nor a number is in the result as it is.

    >>> olympus.interop.jax.result_types(lambda: jax.numpy.zeros(3))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    return jax.tree.map(_type, jax.eval_shape(lambda: _marked(fun())), is_leaf=_is_constant)


def map_types(fun: Callable[[Any], Any], types: Any) -> Any:
    """Return the tree of `fun` of each type of an array in a tree of `result_types`.

    >>> map_types(lambda x: x.shape, {"w": olympus.ShapeDtypeStruct((2,), "float32")})
    {'w': (2,)}
    """
    return jax.tree.map(
        lambda x: fun(x) if isinstance(x, ShapeDtypeStruct) else x, types, is_leaf=_is_constant
    )


def named_leaves(value: Any) -> list[tuple[str, Any]]:
    """Return the arrays of a container of JAX with their names, as `trace` names arguments.

    Numbers are arrays. Typed keys are arrays of their bits, and leaves of other types are absent.

    >>> named_leaves({"w": jax.numpy.ones(2), "activation": jax.nn.relu})
    [("['w']", Array([1., 1.], dtype=float32))]
    """
    leaves, _ = jax.tree_util.tree_flatten_with_path(_marked(value))
    return [
        (jax.tree_util.keystr(path), jax.random.key_data(x) if _is_key(x) else x)
        for path, x in leaves
    ]


class _Constant:
    """A leaf that is no array, as a container without leaves, which JAX takes and returns."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


jax.tree_util.register_pytree_node(_Constant, lambda x: ((), x), lambda constant, _: constant)


def _is_constant(x: Any) -> bool:
    return isinstance(x, _Constant)


def _is_array(x: Any) -> bool:
    """Return True for arrays, their types and numbers."""
    return hasattr(x, "dtype") or isinstance(x, bool | int | float | complex | np.generic)


def _marked(value: Any) -> Any:
    """Return a tree with its leaves that are no arrays as `_Constant`s."""
    return jax.tree.map(lambda x: x if _is_array(x) else _Constant(x), value)


def _unmarked(value: Any) -> Any:
    return jax.tree.map(lambda x: x.value if _is_constant(x) else x, value, is_leaf=_is_constant)


def _has_constants(value: Any) -> bool:
    leaves = jax.tree.leaves(value, is_leaf=_is_constant)
    return any(map(_is_constant, leaves))


def _of_marked(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes and returns constants as `_Constant`s."""

    @functools.wraps(fun)
    def of_marked(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _unmarked((args, kwargs))
        return _marked(fun(*args, **kwargs))

    return of_marked


def _is_key(x: Any) -> bool:
    """Return True for an array of typed keys, or its type."""
    return hasattr(x, "dtype") and bool(jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key))


def _type(x: Any) -> Any:
    return x if _is_constant(x) or _is_key(x) else ShapeDtypeStruct(x.shape, np.dtype(x.dtype))


def _struct(x: Any) -> Any:
    if not isinstance(x, ShapeDtypeStruct):
        return x
    sharding = None if x.sharding is None else jax_sharding(x.sharding)
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def _tree(container: Any, flat: Any, count: int) -> tree.PyTreeDef:
    """Return the structure of a container of `count` leaves, in order; that of `flat` otherwise."""
    leaves, structure = tree.flatten(container)
    return structure if leaves == list(range(count)) else tree.structure(flat)


def _names(fun: Callable[..., Any], paths: Sequence[Any]) -> list[str]:
    """Return the names of arguments from their paths in (args, kwargs), such as params['w']."""
    import inspect

    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    names = []
    for path in paths:
        kind, place, *rest = path
        if kind.idx == 1:
            first = place.key
        else:
            first = parameters[place.idx] if place.idx < len(parameters) else f"arg{place.idx}"
        names.append(f"{first}{jax.tree_util.keystr(tuple(rest))}")
    return names
