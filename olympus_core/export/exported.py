"""`export`: a function traced and lowered to an `Exported`, which can be stored and called."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from olympus_core import xla
from olympus_core.api.jit import Jit, jit
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dimensions.scope import SymbolicScope
from olympus_core.base.dimensions.shapes import symbolic_shape
from olympus_core.base.dimensions.solving import (
    Solution,
    argument_name,
    bound_variables,
    evaluated,
    solved,
)
from olympus_core.base.errors import (
    ArgumentError,
    ArtifactError,
    LoweringError,
    ShapeError,
    UnsupportedError,
    UsageError,
)
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.export import container
from olympus_core.export.checks import DisabledSafetyCheck, check_calls
from olympus_core.export.trees import tree_data, tree_of
from olympus_core.ir.effects import calls_python, is_partitioned_by_python
from olympus_core.ir.primitive import Avals
from olympus_core.library.device import default_backend
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.sharding import NamedSharding
from olympus_core.primitives.exported_call import call_exported_p
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.raising.meshes import Meshes
from olympus_core.stages.stages import Lowered, Traced
from olympus_core.transforms import autodiff
from olympus_core.transforms.autodiff import differentiable
from olympus_core.transforms.data import flatten_data
from olympus_core.transforms.evaluate import evaluate
from olympus_core.xla.runtime.program_formats import main_function, refined

#: The versions of the calling convention of a module that can be read. In 10 the dimension
#: variables are computed in `main`, from the shapes of the arguments, which all are passed.
minimum_supported_calling_convention_version = 10
maximum_supported_calling_convention_version = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Exported:
    """A function lowered to StableHLO, without its Python code.

    `in_avals` and `out_avals` are the flat types of arguments and results; their shapes may have
    dimension variables. `in_tree` is the structure of (args, kwargs), and `out_tree` that of the
    result. The platforms in `platforms` share one module, or have one each.

    >>> exported = export(jit(numpy.sin))(ShapeDtypeStruct(symbolic_shape("b"), "float32"))
    >>> exported.call(numpy.ones(3)).shape
    (3,)
    """

    fun_name: str
    in_tree: tree.PyTreeDef
    in_avals: Avals
    out_tree: tree.PyTreeDef
    out_avals: Avals
    platforms: tuple[str, ...]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    #: the portable artifact of each platform; equal modules are one object
    modules: tuple[bytes, ...]
    nr_devices: int = 1
    calling_convention_version: int = maximum_supported_calling_convention_version
    _get_vjp: Callable[[Exported], Exported] | None = None

    @property
    def mlir_module_serialized(self) -> bytes:
        """The module of the first platform, as a portable StableHLO artifact."""
        return self.modules[0]

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """The indices of the arguments that the module has: all of them."""
        return tuple(range(len(self.in_avals)))

    @property
    def uses_global_constants(self) -> bool:
        """True if the shapes are refined before the module is compiled."""
        return any(a.is_symbolic for a in (*self.in_avals, *self.out_avals))

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """None for each argument: shardings refer to meshes, see `in_shardings_jax`."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """None for each result: shardings refer to meshes, see `out_shardings_jax`."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: AnyMesh) -> tuple[NamedSharding | None, ...]:
        """Return the sharding of each argument on a mesh; None where the program has none.

        Raises ArgumentError (a ValueError) for a mesh without the axes of the program's.
        """
        return self._shardings_on(mesh, self.in_avals, "arg_attrs")

    def out_shardings_jax(self, mesh: AnyMesh) -> tuple[NamedSharding | None, ...]:
        """Return the sharding of each result on a mesh, as `in_shardings_jax`."""
        return self._shardings_on(mesh, self.out_avals, "res_attrs")

    def _shardings_on(
        self, mesh: AnyMesh, avals: Avals, attributes: str
    ) -> tuple[NamedSharding | None, ...]:
        """Return the shardings in an attribute of the function `main`, on another mesh."""
        module = self.mlir_module(serialized=False)
        meshes, main = Meshes(module), main_function(module)
        rows = list(main.attributes.get(attributes) or [])
        own = [meshes.named(row["sdy.sharding"]) if "sdy.sharding" in row else None for row in rows]
        shardings = own or [None] * len(avals)
        return tuple([s if s is None else NamedSharding(mesh, s.spec) for s in shardings])

    @property
    def ordered_effects(self) -> tuple[Any, ...]:
        """The effects of the program whose order matters: none, since a module has no effects."""
        return ()

    @property
    def unordered_effects(self) -> tuple[Any, ...]:
        """The other effects of the program: none."""
        return ()

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    __repr__ = __str__

    def mlir_module(self, serialized: bool = True) -> Any:
        """Return the module of the first platform as text; as an object if `serialized` is False.

        >>> print(exported.mlir_module())
        module @jit_f { ... }
        """
        module = mlir.parsed(self.mlir_module_serialized, f"the program of '{self.fun_name}'")
        return str(module) if serialized else module

    def has_vjp(self) -> bool:
        """Return True if the program can be differentiated: see `vjp`."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """Return the exported vector-Jacobian product.

        It takes the flat arguments, and then a cotangent for each result, and returns a cotangent
        for each argument.

        Raises ArgumentError (a ValueError) if the program was serialized without it.

        >>> exported.vjp().call(x, cotangent)
        """
        if self._get_vjp is None:
            raise ArgumentError(
                f"No VJP is available for the exported function '{self.fun_name}'",
                hint="serialize it with vjp_order=1, or more for higher derivatives",
            )
        return self._get_vjp(self)

    @functools.cached_property
    def _flat_call(self) -> Callable[..., Any]:
        """The function of flat arguments that calls the program, with its derivative."""
        return _differentiable_call(self)

    @functools.cached_property
    def argument_names(self) -> tuple[str, ...]:
        """The place of each array in the arguments, such as `args[0]` or `kwargs['mask']`."""
        numbered = self.in_tree.unflatten(range(len(self.in_avals)))
        paths, _ = tree.flatten_with_path(numbered)
        return tuple([("args", "kwargs")[path[0].idx] + tree.keystr(path[1:]) for path, _ in paths])

    @functools.cached_property
    def solution(self) -> Solution:
        """The solution for the dimension variables."""
        return solved(self.in_avals, self.argument_names)

    def result_types(self, avals: Avals) -> Avals:
        """Return the types of the results of a call.

        Raises ShapeError (a ValueError) if the arguments do not have the types of the program.
        """
        names = self.argument_names
        for i, (want, have) in enumerate(zip(self.in_avals, avals, strict=True)):
            self._check_argument(argument_name(names, i), want, have)
        values = bound_variables(self.solution, [a.shape for a in avals], names)
        return tuple([a.update(shape=_evaluated_shape(a, values)) for a in self.out_avals])

    def _check_argument(self, name: str, want: ShapedArray, have: ShapedArray) -> None:
        if len(want.shape) != len(have.shape):
            raise ShapeError(
                f"Rank mismatch for {name}: expected {want.shape} and called with {have.shape}"
            )
        if want.dtype != have.dtype:
            raise ShapeError(
                f"Dtype mismatch for {name}: expected {want.dtype} and called with {have.dtype}"
            )
        for axis, (n, m) in enumerate(zip(want.shape, have.shape, strict=True)):
            if not is_symbolic_dim(n) and n != m:
                raise ShapeError(
                    f"Shape mismatch for {name}.shape[{axis}] (expected same constant): "
                    f"expected {want.shape} and called with {have.shape}"
                )

    def module_for(self, platform: str, avals: Avals) -> Any:
        """Return a module for a platform; with static shapes, if those of the call are.

        Raises ArgumentError (a ValueError) for a platform that the program was not exported for.
        """
        place = self.platforms.index(platform) if platform in self.platforms else None
        if place is None:
            if DisabledSafetyCheck.platform() not in self.disabled_safety_checks:
                raise ArgumentError(
                    f"Function '{self.fun_name}' was exported for platforms "
                    f"'{self.platforms}' but it is used on '{(platform,)}'",
                    hint="export it for more platforms: export(f, platforms=[...])",
                )
            place = 0
        name = f"the program of '{self.fun_name}'"
        module = mlir.parsed(self.modules[place], name)
        if any(a.is_symbolic for a in avals):
            return module
        types = {i: avals[i] for i, a in enumerate(self.in_avals) if a.is_symbolic}
        return refined(module, types, name) if types else module

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """Return the program as bytes, for `deserialize`, with `vjp_order` derivatives.

        Raises ArgumentError (a ValueError) for a container in the arguments or the result that is
        not registered, and for a derivative that the program does not have.

        >>> deserialize(exported.serialize(vjp_order=1)).has_vjp()
        True
        """
        return container.parts_to_bytes(self._parts(vjp_order))

    def _parts(self, vjp_order: int) -> container.StoredParts:
        """Return the header and the modules of the stored form."""
        if vjp_order < 0 or int(vjp_order) != vjp_order:
            raise ArgumentError(f"vjp_order is an int of 0 or more, and got {vjp_order!r}")
        scope = self.solution.scope
        header = {
            "fun_name": self.fun_name,
            "in_tree": tree_data(self.in_tree),
            "out_tree": tree_data(self.out_tree),
            "in_avals": list(map(_aval_data, self.in_avals)),
            "out_avals": list(map(_aval_data, self.out_avals)),
            "constraints": [] if scope is None else list(scope.texts),
            "platforms": list(self.platforms),
            "disabled_safety_checks": [str(check) for check in self.disabled_safety_checks],
            "nr_devices": self.nr_devices,
            "calling_convention_version": self.calling_convention_version,
            "vjp": vjp_order > 0,
        }
        distinct = list(dict.fromkeys(self.modules))
        header["modules"] = [distinct.index(m) for m in self.modules]
        vjp = [bytes(self.vjp().serialize(vjp_order - 1))] if vjp_order else []
        return container.StoredParts(header, (*distinct, *vjp))

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program, also in a function that is traced or differentiated.

        A program of several devices is called in a program of as many devices, such as a function
        under `jit` with `in_shardings`.

        Raises ArgumentError (a ValueError) for arguments of another structure and for another
        number of devices, and ShapeError (a ValueError) for other types, or sizes that do not match
        the symbolic shapes.

        >>> exported.call(x)
        """
        leaves, in_tree = flatten_data((args, kwargs))
        if in_tree != self.in_tree:
            leaves, in_tree = flatten_data(tree.map(_without_float0, (args, kwargs)))
        if in_tree != self.in_tree:
            raise _other_structure(self, in_tree)
        return self.out_tree.unflatten(self._flat_call(*leaves))


def _without_float0(x: Any) -> Any:
    """Return an array of float0, the cotangent of integers, as the bools that a program takes."""
    is_float0 = getattr(x, "dtype", None) == dtypes.float0
    return np.zeros(shape_of(x), bool) if is_float0 else x


def _evaluated_shape(aval: ShapedArray, values: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([evaluated(n, values) for n in aval.shape])


def _other_structure(exported: Exported, in_tree: tree.PyTreeDef) -> ArgumentError:
    return ArgumentError(
        "The invocation args and kwargs must have the same pytree structure as when the function "
        f"'{exported.fun_name}' was exported, but they have the following structural differences:"
        f"\n  exported: {exported.in_tree}\n  called:   {in_tree}"
    )


def _differentiable_call(exported: Exported) -> Callable[..., Any]:
    """Return the function of flat arguments that calls a program, with its derivative."""

    def call(*xs: Any) -> Any:
        return tuple(call_exported_p.bind(*xs, exported=exported))

    def forward(*xs: Any) -> Any:
        return function(*xs), xs  # which is differentiated again for a higher derivative

    def backward(xs: Any, cotangents: Any) -> Any:
        pairs = zip(cotangents, exported.out_avals, strict=True)
        given = [c if differentiable(a) else _no_cotangent(c) for c, a in pairs]
        results = exported.vjp().call(*xs, *given)
        return tuple(
            [
                c if differentiable(a) else np.zeros(shape_of(x), dtypes.float0)
                for x, c, a in zip(xs, results, exported.in_avals, strict=True)
            ]
        )

    call.__name__ = exported.fun_name
    function = custom_vjp(call)
    function.defvjp(forward, backward)
    return function


def default_export_platform() -> str:
    """Return the platform that `export` lowers for by default, that of the default device.

    >>> default_export_platform()
    'cpu'
    """
    return xla.platform_of(xla.target_on(default_backend()))


def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Return a function that exports `fun_jit`, a result of `jit`, for the types of arguments.

    A function of the library needs no `jit`. The arguments are arrays and ShapeDtypeStructs, whose
    shapes may be symbolic. `platforms` are "cpu", "cuda" and "tpu"; by default that of the default
    device.

    Raises ArgumentError (a ValueError) for another function, UsageError for an unknown platform,
    ShapeError if a dimension variable cannot be solved from the shapes of the arguments, and
    LoweringError for a program with no form on a platform.

    >>> export(jit(numpy.sin), platforms=["cpu", "cuda"])(ShapeDtypeStruct((3,), "float32"))
    Exported(fun_name=sin, ...)
    """
    if not isinstance(fun_jit, Jit) and _is_of_the_library(fun_jit):
        fun_jit = jit(fun_jit)
    if not isinstance(fun_jit, Jit):
        raise ArgumentError(
            f"Function to be exported must be the result of `jit` but is: {fun_jit}"
        )
    if platforms is not None and (isinstance(platforms, str) or not platforms):
        raise ArgumentError(f"export needs a sequence of platforms, and got {platforms!r}")
    names = tuple(_platform(p) for p in platforms or [default_export_platform()])
    checks = tuple(disabled_checks)

    @functools.wraps(fun_jit)
    def do_export(*args: Any, **kwargs: Any) -> Exported:
        _check_scopes(fun_jit, args, kwargs)
        return _exported(fun_jit.trace(*args, **kwargs), names, checks)

    return do_export


def _check_scopes(function: Any, args: Any, kwargs: Any) -> None:
    """Raise ShapeError if the symbolic sizes of the arguments belong to several scopes."""
    first: tuple[SymbolicScope, str] | None = None
    for path, leaf in tree.flatten_with_path((args, kwargs))[0]:
        place = ("args", "kwargs")[path[0].idx] + tree.keystr(path[1:])
        for n in filter(is_symbolic_dim, getattr(leaf, "shape", None) or ()):
            scope, own = first = first or (n.scope, place)
            scope.check_same(n, f"when exporting {function.__name__}", (own, place))


def _is_of_the_library(function: Any) -> bool:
    """Return True for a function such as `numpy.sin`, which needs no `jit`."""
    module = str(getattr(function, "__module__", ""))
    return callable(function) and module.startswith(("olympus.", "olympus_core."))


def _platform(name: str) -> str:
    return xla.platform_of(xla.target_on(name))


def _exported(
    traced: Traced, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...]
) -> Exported:
    """Return the exported program; lower it once for all platforms, or else for each."""
    s = traced.signature
    types = tuple(s.in_avals)
    bare = Exported(
        s.name, s.in_tree, types, s.out_tree, s.out_avals, platforms, checks, (), 1, 10, None
    )
    assert bare.solution is not None  # it raises an error for a variable that cannot be solved
    lowered = list(_lowered(traced, platforms))
    if lowered[0].num_devices > 1 and is_partitioned_by_python(traced.olympuspr):
        raise UnsupportedError(
            f"'{traced.fun_name}' has operations that Python functions partition, by "
            "custom_partitioning, and serialization of host_callbacks is not yet implemented: an "
            "exported program is compiled without them",
            hint="export it for one device, or call the function without custom_partitioning",
        )
    for one in lowered:
        check_calls(one.module, checks)
    modules = {str(one.module): one.bytecode() for one in lowered}
    return dataclasses.replace(
        bare,
        modules=tuple([modules[str(one.module)] for one in lowered]),
        nr_devices=lowered[0].num_devices,
        _get_vjp=functools.partial(_exported_vjp, traced),
    )


def _lowered(traced: Traced, platforms: tuple[str, ...]) -> Iterator[Lowered]:
    """Yield the program of each platform; one program for all of them if it is the same."""
    if calls_python(traced.olympuspr):
        raise UnsupportedError(
            f"'{traced.fun_name}' calls Python functions, and serialization of host_callbacks is "
            "not implemented: an exported program runs without them",
            hint="leave debug.print and the callbacks out of the program",
        )
    if len(platforms) > 1:
        try:
            common = traced.lower(lowering_platforms=platforms, repeats="off")
        except (LoweringError, UsageError):
            pass
        else:
            yield from [common] * len(platforms)
            return
    for name in platforms:
        yield traced.lower(lowering_platforms=(name,), repeats="off")


def _exported_vjp(traced: Traced, exported: Exported) -> Exported:
    """Return the exported vector-Jacobian product of a traced function.

    Integers have no derivative: their cotangents are arrays of False.
    """
    program, count = traced.olympuspr, len(exported.in_avals)
    is_smooth = [differentiable(a) for a in exported.out_avals]

    def vjp(*xs: Any) -> tuple[Any, ...]:
        primals, cotangents = xs[:count], xs[count:]
        smooth = [x for x in primals if differentiable(get_aval(x))]

        def flat(*varied: Any) -> tuple[Any, ...]:
            rest = iter(varied)
            every = [next(rest) if differentiable(get_aval(x)) else x for x in primals]
            results = zip(evaluate(program, every), is_smooth, strict=True)
            return tuple([y for y, smooth_result in results if smooth_result])

        _, pull_back = autodiff.vjp(flat, *smooth)
        pairs = zip(cotangents, is_smooth, strict=True)
        pulled = iter(pull_back(tuple([c for c, smooth_result in pairs if smooth_result])))
        return tuple(
            [next(pulled) if differentiable(get_aval(x)) else _no_cotangent(x) for x in primals]
        )

    vjp.__name__ = vjp.__qualname__ = f"{exported.fun_name}_vjp"
    specs = [*map(_struct, exported.in_avals), *map(_cotangent, exported.out_avals)]
    platforms, checks = exported.platforms, exported.disabled_safety_checks
    staged = jit(vjp, **_vjp_shardings(traced, exported))
    return export(staged, platforms=platforms, disabled_checks=checks)(*specs)


def _vjp_shardings(traced: Traced, exported: Exported) -> dict[str, Any]:
    """Return the shardings of the vector-Jacobian product, as options of `jit`.

    A cotangent has the sharding of its value.
    """
    if exported.nr_devices == 1:
        return {}
    ins, outs = traced.signature.in_shardings, traced.signature.out_shardings
    ins = tuple(ins) or (None,) * len(exported.in_avals)
    outs = tuple(outs) or (None,) * len(exported.out_avals)
    return {"in_shardings": (*ins, *outs), "out_shardings": ins}


def _struct(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype)


def _cotangent(aval: ShapedArray) -> ShapeDtypeStruct:
    """Return the type of a cotangent of a result."""
    return ShapeDtypeStruct(aval.shape, aval.dtype if differentiable(aval) else np.dtype(bool))


def _no_cotangent(x: Any) -> Any:
    """Return the cotangent of an integer array: False for each element."""
    return broadcast_in_dim_p.bind(np.False_, shape=shape_of(x), broadcast_dimensions=())


def _aval_data(aval: ShapedArray) -> dict[str, Any]:
    shape = ", ".join(map(str, aval.shape))
    return {"shape": shape, "dtype": dtypes.long_name(aval.dtype), "weak_type": aval.weak_type}


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported program of the bytes that `Exported.serialize` returned.

    Raises ArtifactError for other bytes, and for another version of the format.

    >>> deserialize(exported.serialize()).call(x)
    """
    header, contents = container.parts_of_bytes(bytes(blob))
    try:
        fields = _stored_fields(header)
        modules = tuple([contents[i] for i in header["modules"]])
        derivative = contents[max(header["modules"]) + 1] if header["vjp"] else None
        in_data, out_data = header["in_tree"], header["out_tree"]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ArtifactError(f"the exported program has an invalid header: {error}") from None
    version = fields["calling_convention_version"]
    if version != maximum_supported_calling_convention_version:
        raise ArtifactError(
            f"the exported program has the calling convention {version}, and "
            f"{maximum_supported_calling_convention_version} is supported"
        )
    result = Exported(
        in_tree=tree_of(in_data),
        out_tree=tree_of(out_data),
        modules=modules,
        _get_vjp=None if derivative is None else lambda _: deserialize(derivative),
        **fields,
    )
    trees = (result.in_tree, result.in_avals), (result.out_tree, result.out_avals)
    is_call = len(result.in_tree.children()) == 2  # of args and kwargs
    if not is_call or any(structure.num_leaves != len(avals) for structure, avals in trees):
        raise ArtifactError("the exported program has other arguments or results than its trees")
    return result


def _stored_fields(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an exported program that are in its header."""
    scope, names = SymbolicScope(header["constraints"]), header["disabled_safety_checks"]
    return {
        "fun_name": str(header["fun_name"]),
        "in_avals": tuple([_stored_aval(a, scope) for a in header["in_avals"]]),
        "out_avals": tuple([_stored_aval(a, scope) for a in header["out_avals"]]),
        "platforms": tuple(map(str, header["platforms"])),
        "disabled_safety_checks": tuple(map(DisabledSafetyCheck, names)),
        "nr_devices": int(header["nr_devices"]),
        "calling_convention_version": int(header["calling_convention_version"]),
    }


def _stored_aval(data: Any, scope: SymbolicScope) -> ShapedArray:
    shape: Any = symbolic_shape(data["shape"], scope=scope)
    return shaped(shape, dtypes.dtype(data["dtype"]), bool(data["weak_type"]))
