"""Targets with a Python function as entry: load one, and trace the call that it describes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

import olympus
from olympus.errors import UsageError
from olympus.sharding import expect_devices
from olympus.stages import array_trees as tree
from olympus_cli.faults.blame import blaming, defined_at
from olympus_cli.frontends.binding import Binding, Static, bind
from olympus_cli.frontends.containers import ArgumentPart, container, container_class
from olympus_cli.frontends.importing import (
    load_entry,
    load_value,
    visiting,
    without_plugin_messages,
)
from olympus_cli.frontends.placing import (
    check_placement,
    placed,
    results_placed,
)
from olympus_cli.frontends.relocating import check_entry, check_imports
from olympus_cli.frontends.statics import annotation, with_statics
from olympus_cli.spec.mesh import ShardingSpec
from olympus_cli.spec.model import ArgSpec, FromEntry, OfClass, ShapeSpec, TargetSpec
from olympus_cli.spec.target_table import at_key, fitting_hints, form_of, with_line
from olympus_cli.text.nearest import did_you_mean

if TYPE_CHECKING:
    from olympus.export import SymbolicScope

#: A pytree whose leaves are `olympus.ShapeDtypeStruct`.
Tree: TypeAlias = Any

_MAX_BYTES = 2**63 - 1  # the compiler aborts beyond

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ANYTHING = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)


@dataclass(frozen=True)
class Traceable:
    """A function, and the call of it that its target describes."""

    spec: TargetSpec
    function: Callable[..., Any]
    signature: inspect.Signature
    binding: Binding

    @property
    def name(self) -> str:
        """The name of the function for the user."""
        return _name(self.function)

    @property
    def reads(self) -> str | None:
        """None: a program in Python is imported."""
        return None

    @property
    def definition(self) -> str | None:
        """The place `file:line` where the function begins; None if it is not known."""
        return defined_at(self.function)

    def prepare(self) -> None:
        """Compute the shapes that come from functions; raise as `example_args` does."""
        self._given  # noqa: B018  (it is cached)

    def example_args(self) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
        """Return the arrays' shapes, by position and by name, as a compiled program takes them.

        Raises:
            TraceError: a `{ from = ... }` function failed.
            UsageError: the arguments of a `{ from = ... }` function are missing or unknown.
        """
        args, kwargs = self._given
        return (
            tuple(value for value in args if not isinstance(value, Static)),
            {name: value for name, value in kwargs.items() if not isinstance(value, Static)},
        )

    def trace(self) -> olympus.stages.Traced:
        """Return the traced program, with its statics fixed and its donations marked.

        Raises:
            TraceError: the function raised, or cannot be traced; with its own line.
            UsageError: the target's mesh or `out-sharding` does not fit the program.
        """
        args, kwargs = self._given
        statics = [i for i, value in enumerate(args) if isinstance(value, Static)]
        jitted = olympus.jit(
            self.function,
            static_argnums=tuple(statics),
            static_argnames=tuple(k for k, v in kwargs.items() if isinstance(v, Static)),
            donate_argnums=tuple(
                i for i, name in enumerate(self.binding.names) if name in self.spec.donate
            ),
            donate_argnames=tuple(name for name in kwargs if name in self.spec.donate),
        )
        blamed = blaming(self.name, defined_at(self.function))
        with without_plugin_messages(), fitting_hints(self.spec), blamed:
            keywords = {name: plain_value(value) for name, value in kwargs.items()}
            traced: olympus.stages.Traced = jitted.trace(*map(plain_value, args), **keywords)
        traced = results_placed(traced, self.spec)
        check_placement(traced, self.spec)
        return traced

    def default_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return an empty dict: a function has no values for its arguments."""
        return {}

    def check_imports(self) -> None:
        """Check that the program of a revision has imported no module of the working tree.

        It is also called after `trace`, because a function may import a module when it is called.

        Raises:
            UsageError: a module of the project is not from the checkout of the revision.
        """
        if self.spec.checkout is not None:
            check_imports(self.spec.checkout)
            check_entry(self.spec.checkout, self.spec.entry, self.spec.root)

    def values_from(self, source: FromEntry) -> list[tuple[str, Any]]:
        """Return the arrays of the result of a function, with their paths in it."""
        return named_leaves(values_of(source, self.spec))

    @cached_property
    def _given(self) -> tuple[list[Any], dict[str, Any]]:
        """The call with a tree for every shape; statics are still marked."""
        return (
            [
                self._argument(name, value)
                for name, value in zip(self.binding.names, self.binding.args, strict=True)
            ],
            {name: self._argument(name, value) for name, value in self.binding.kwargs.items()},
        )

    @cached_property
    def _scope(self) -> SymbolicScope:
        """The scope of the symbolic sizes of the arguments."""
        from olympus.export import SymbolicScope  # few programs have symbolic sizes

        return SymbolicScope(self.spec.constraints)

    def shapes_from(self, source: FromEntry) -> Tree:
        """Return the shapes of the result of a function, in the containers of the frontend."""
        return shapes_of(source, self.spec)

    def _placed(self, types: Tree, declared: ShardingSpec | None) -> Tree:
        """Return the types of the arrays of an argument with the declared sharding."""
        return placed(types, declared, self.spec)

    def _is_leaf(self, value: Any) -> bool:
        """Return True for an object that is not a container of arrays."""
        leaves = tree.leaves(value)
        return len(leaves) == 1 and leaves[0] is value

    def _argument(self, name: str, value: Static | ArgSpec) -> Any:
        kind = annotation(name.partition("[")[0], self.function, self.signature)
        with at_key(self.spec, "args", name):
            return self._tree(value, ArgumentPart(self.spec, (name,), kind))

    def _tree(self, arg: Static | ArgSpec, part: ArgumentPart) -> Any:
        match arg:
            case ShapeSpec():
                return self._placed(_struct(arg, self._scope), arg.sharding)
            case FromEntry():
                with visiting():
                    return self._placed(self.shapes_from(arg), arg.sharding)
            case OfClass():
                return container(
                    self._class_of(arg, part), arg.parts, part, self._tree, self._is_leaf
                )
            case dict():
                annotated = container_class(part.kind)
                if annotated is not None:
                    return container(annotated, arg, part, self._tree, self._is_leaf)
                return {key: self._tree(x, part.item(key)) for key, x in arg.items()}
            case list():
                return [self._tree(x, part.item(i)) for i, x in enumerate(arg)]
        return arg

    def _class_of(self, arg: OfClass, part: ArgumentPart) -> type:
        """Return the class that a table names; it is the one that the program imports."""
        spec = self.spec
        with visiting():
            value = load_value(arg.entry, spec.root, spec.python_path, spec.checkout)
        if not isinstance(value, type):
            part.fail(f"has type = {arg.entry!r}, which is not a class", key="type")
        return value


def load_function(spec: TargetSpec) -> Traceable:
    """Return the function of a target: import its entry, and bind its arguments to the signature.

    Raises:
        EntryError: the entry cannot be found or imported.
        UsageError: see `bound_function`.

    Example: `load_function(target).trace().lower()`.
    """
    return bound_function(entry_function(spec), spec)


def entry_function(spec: TargetSpec) -> Callable[..., Any]:
    """Return the function that the entry of a target names; raise EntryError as `load_entry`."""
    expect_devices(spec.num_devices)
    with at_key(spec, "entry"):
        return load_entry(spec.entry, spec.root, spec.python_path, spec.checkout)


def bound_function(function: Callable[..., Any], spec: TargetSpec) -> Traceable:
    """Return the function of a target's entry with its arguments bound to its signature.

    Raises:
        UsageError: the arguments do not fit the function's signature, or the program of a revision
            imports a module of the project that is not from its checkout.

    Example: `bound_function(function, target).trace().lower()`.
    """
    signature = _signature(function)
    spec = with_statics(function, signature, spec)
    binding = bind(_name(function), signature, spec)
    _check_statics(function, binding, spec)
    source = Traceable(spec, function, signature, binding)
    source.check_imports()
    return source


def _check_statics(function: Callable[..., Any], binding: Binding, spec: TargetSpec) -> None:
    """Raise UsageError for a shape of an argument that the user's own `jit` made static."""
    if not isinstance(function, olympus.stages.StagedFunction):
        return
    static = function.options.static_argnames
    arguments = {**dict(zip(binding.names, binding.args, strict=True)), **binding.kwargs}
    for name, value in arguments.items():
        if name in static and not isinstance(value, Static):
            error = UsageError(
                f"argument {name!r} of {_name(function)} is static, and has no shape",
                hint=f"give its value: {form_of(spec, 'static', name, '3')}",
            )
            raise with_line(error, spec, "args", name)


def _struct(spec: ShapeSpec, scope: SymbolicScope) -> olympus.ShapeDtypeStruct:
    """Return `spec` as a struct of the core; raise UsageError if its dtype would be narrowed."""
    fixed = [size for size in spec.shape if isinstance(size, int)]
    shape: Any = fixed
    if len(fixed) < len(spec.shape):
        from olympus.export import symbolic_shape  # few programs have symbolic sizes

        shape = symbolic_shape(", ".join(map(str, spec.shape)), scope=scope)
    struct = olympus.ShapeDtypeStruct(shape, np.dtype(spec.dtype))
    counted = math.prod(max(size, 1) for size in fixed)  # NumPy and XLA count 0 as 1
    if counted * struct.dtype.itemsize > _MAX_BYTES:
        raise UsageError(f"{spec} is too large: its size in bytes does not fit in 64 bits")
    if olympus.dtypes.canonicalize_dtype(struct.dtype) != struct.dtype:
        raise UsageError(
            f"{spec}: 64-bit dtypes are off",
            hint="write x64 = true in the target, or set OLYMPUS_ENABLE_X64=1 in the environment",
        )
    return struct


def plain_value(value: Any) -> Any:
    """Return the value of a static, and any other argument as it is."""
    return value.value if isinstance(value, Static) else value


def refuse_placement(source: Traceable, owner: str) -> None:
    """Raise UsageError for a target with a mesh, whose function is one of another library."""
    spec = source.spec
    for key, value in (("mesh", spec.mesh), ("out-sharding", spec.out_sharding)):
        if value:
            error = UsageError(f"{key} is for a function of OLYMPUS; {source.name} is {owner}")
            raise with_line(error, spec, key)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # a built-in without a signature
        return _ANYTHING


def shapes_of(source: FromEntry, spec: TargetSpec) -> Tree:
    """Return the shapes of a function's result, by abstract evaluation.

    The function gets its `with` values and the target's statics. A `ShapeDtypeStruct` of the result
    keeps its sharding.

    Raises:
        UsageError: it has no argument of a name in `with`, lacks a value for a required one, or
            would take the default of one that the matrix varies.
    """
    call = entry_call(source, spec)
    own: list[Tree] = []

    def evaluated() -> Tree:
        own[:] = [call()]
        return own[0]

    with blaming(_name(call.func), defined_at(call.func)):
        shapes = olympus.eval_shape(evaluated)
    return tree.map(_with_sharding, shapes, own[0])


def _with_sharding(shape: olympus.ShapeDtypeStruct, own: Any) -> olympus.ShapeDtypeStruct:
    """Return the type of an array with the sharding that the function's own type has."""
    if not isinstance(own, olympus.ShapeDtypeStruct) or own.sharding is None:
        return shape
    return olympus.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=own.sharding)


def values_of(source: FromEntry, spec: TargetSpec) -> Tree:
    """Return the result of a function, called as by `shapes_of`; raises the same errors.

    Example: `values_of(FromEntry("model:init"), load_function(spec).spec)`.
    """
    with visiting():
        call = entry_call(source, spec)
        with blaming(_name(call.func), defined_at(call.func), "it made inputs"):
            return call()


def named_leaves(value: Tree) -> list[tuple[str, Any]]:
    """Return the leaves of a tree with their paths.

    >>> named_leaves([{"w": 1}])
    [("[0]['w']", 1)]
    """
    leaves, _ = tree.flatten_with_path(value)
    return [(olympus.tree_util.keystr(path), leaf) for path, leaf in leaves]


def entry_call(source: FromEntry, spec: TargetSpec) -> partial[Any]:
    """Return the call of the function of `{ from = ... }`; raise as `shapes_of` does."""
    function = load_entry(source.entry, spec.root, spec.python_path, spec.checkout)
    signature = _signature(function)
    parameters = signature.parameters
    what = f'{{ from = "{source.entry}" }}: {_name(function)}'
    variadic = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for name in source.values:
        if name not in parameters and not variadic:
            hint = did_you_mean(name, parameters, "its arguments are") or "it takes none"
            raise UsageError(f"{what} has no argument {name!r}", hint=hint)
    statics = {name: spec.static[name] for name in parameters if name in spec.static}
    values = {**statics, **source.values}
    for name, parameter in parameters.items():
        if name in values or parameter.kind in _VARIADIC:
            continue
        if parameter.default is inspect.Parameter.empty:
            raise UsageError(
                f"{what} needs argument {name!r}",
                hint=f"give it: with = {{ {name} = ... }}, or a static of the target",
            )
        if name in spec.matrix:
            raise UsageError(
                f"{what} would take {name} = {parameter.default!r} for every {name} of the matrix",
                hint=f'give it: with = {{ {name} = "{{{name}}}" }}, or a value that does not vary',
            )
    bound = signature.bind_partial()
    bound.arguments.update({name: values[name] for name in parameters if name in values})
    bound.apply_defaults()
    more = {name: value for name, value in source.values.items() if name not in parameters}
    return partial(function, *bound.args, **bound.kwargs, **more)
