"""The function that `jit` returns: it is traced once for each kind of arguments.

`StagedFunction` caches each program, for every `jit` of the same function with equal options, and
binds it as one `jit` equation, which the current trace runs, records or transforms.
"""

from __future__ import annotations

import functools
import logging
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, Self, TypeVar, overload

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.arrays.mesh_context import NO_MESH, abstract_mesh, context_mesh
from olympus_core.arrays.types_on_meshes import argument_mesh, on_argument_mesh
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state, surroundings
from olympus_core.base.errors import (
    DTypeError,
    OptionError,
    RangeError,
    ShardingError,
    SignatureError,
    StaticError,
    UsageError,
)
from olympus_core.base.permissions import check_tracing
from olympus_core.base.source import current_location, function_name, look_like
from olympus_core.control.call import jit_p
from olympus_core.execution.argument_errors import (
    container_hint,
    named_error,
    with_argument_names,
)
from olympus_core.execution.spmd import argument_place, committed_sharding
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Olympuspr, ProgramParams, Var, exact
from olympus_core.ir.sharding_rules import check_context
from olympus_core.ir.tracer import Tracer
from olympus_core.jit.inlining import Inline, call_in_trace
from olympus_core.jit.options import JitOptions, from_start, parameters_of, positional_names
from olympus_core.jit.reference_calling import ReferenceProgram, with_values_of
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.sharding import Sharding
from olympus_core.transforms import data, references
from olympus_core.transforms.staging import freeze, hoist_consts, stage

_logger = logging.getLogger("olympus")
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Arguments(NamedTuple):
    """The arguments of one call: array leaves with their avals, tree and names, and statics."""

    leaves: list[Any]
    avals: tuple[ShapedArray, ...]
    in_tree: tree.PyTreeDef
    static: tuple[tuple[int | str, Any], ...]


class Program(NamedTuple):
    """A traced function: program, tree of the results, names of the inputs, which are donated."""

    olympuspr: Olympuspr
    out_tree: tree.PyTreeDef
    arg_names: tuple[str, ...]
    donated: frozenset[int]


def _of_its_type(constant: Any, var: Var) -> Any:
    """Return a constant as an array on the device if a call would narrow it to 32 bits.

    It is a NumPy array of 64 bits, from a part of the function that enables x64.
    """
    if not isinstance(constant, np.ndarray):
        return constant
    narrowed = dtypes.canonicalize(constant.dtype) != var.aval.dtype
    return put_array(constant, var.aval) if narrowed else constant


class StagedCall(NamedTuple):
    """A call of a traced function: its closed-over values, the parameters, the tree of its results.

    For an eager call, the parameters include the donated arguments and the compiler options.
    `placements` are the shardings of the arguments of eager calls so far; for movable ones, True if
    it is an array on a device.
    """

    consts: tuple[Any, ...]
    params: dict[str, Any]
    eager_params: dict[str, Any]
    out_tree: tree.PyTreeDef
    placements: set[tuple[Sharding | bool, ...]]
    program: Program


_staged: weakref.WeakSet[StagedFunction[..., Any]] = weakref.WeakSet()


#: the programs of each Python function, by the options: equal calls of `jit` share them
_shared: weakref.WeakKeyDictionary[Callable[..., Any], dict[JitOptions, dict[Any, StagedCall]]]
_shared = weakref.WeakKeyDictionary()


def clear_programs() -> None:
    """Forget the programs of every staged function of the process."""
    _shared.clear()
    for staged in list(_staged):
        staged.clear_cache()


def _programs_of(fun: Callable[..., Any], options: JitOptions) -> dict[Any, StagedCall]:
    """Return the programs of a Python function with these options; none yet of other callables."""
    if not isinstance(fun, types.FunctionType):
        return {}
    try:
        return _shared.setdefault(fun, {}).setdefault(options, {})
    except TypeError:  # an option of the compiler that is not hashable
        return {}


class StagedFunction(Generic[_P, _R]):
    """A function that runs as a program, traced once for each kind of arguments."""

    __name__: str
    __wrapped__: Callable[_P, _R]

    def __init__(self, fun: Callable[_P, _R], options: JitOptions) -> None:
        look_like(self, fun)
        self.fun = fun
        self.options = options
        self.name = function_name(fun)
        self._calls = _programs_of(fun, options)
        self._traced: dict[Any, Program] = {}  # the programs of stages that no call has used
        self._referenced: dict[Any, ReferenceProgram | None] = {}
        self._freed: dict[Olympuspr, list[Any]] = {}  # constants without devices, by program
        _staged.add(self)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., _R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<PjitFunction of {self.fun!r}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # as a function

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if state.disable_jit:
            return self.fun(*args, **kwargs)
        if references.exist():
            program, plain, keywords, passed = self.referenced(args, kwargs)
            if program is not None:
                result: _R = program.run(program.function, plain, keywords, passed)
                return result
        arguments = self.arguments(args, kwargs)
        return self._run(arguments, self._call_for(arguments))

    def _run(self, arguments: Arguments, call: StagedCall) -> _R:
        if self.options.inline is not Inline.AUTO and not trace.at_base():
            operands = [*call.consts, *arguments.leaves]
            outs = call_in_trace(self.options.inline, call.params, operands)
            inlined: _R = call.out_tree.unflatten(outs)
            return inlined
        # within a transformation the values are not ours to donate, and a search for the operation
        # that produces a NaN runs the program again
        looks = state.debug_nans or state.debug_infs
        keeps = looks or not trace.at_base()
        params = call.params if keeps else call.eager_params
        try:
            outs = self._processed(call.consts, arguments.leaves, params)
        except UsageError as error:
            self._raise_named(error, arguments)
            raise
        except ShardingError as error:
            raise self._placed_apart(error, arguments, len(call.consts)) from None
        except RangeError as error:
            raise self._out_of_range(error, arguments) from None
        result: _R = call.out_tree.unflatten(outs)
        return result

    def _processed(self, consts: Sequence[Any], leaves: Sequence[Any], params: Any) -> Any:
        """Return the results of a call, with constants on the devices of the arguments."""
        process, program = state.trace.process, params["olympuspr"]
        if consts and program in self._freed:
            return process(jit_p, [*self._freed[program], *leaves], params)
        try:
            return process(jit_p, [*consts, *leaves], params)
        except ShardingError:
            if all(committed_sharding(x) is None for x in consts):
                raise
        freed = [x if committed_sharding(x) is None else x.numpy() for x in consts]
        results = process(jit_p, [*freed, *leaves], params)
        self._freed[program] = freed
        return results

    def referenced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[
        ReferenceProgram | None, tuple[Any, ...], dict[str, Any], dict[int, references.Reference]
    ]:
        """Return the program to call instead of this function in a call that uses references.

        Also return the arguments with the values of references, and these references by leaf.  The
        program is None for a call without references.
        """
        args, kwargs, passed = references.unboxed(args, kwargs, self.fun)
        arguments = self.arguments(args, kwargs)
        program_key = self._key(arguments)
        if not passed and program_key in self._calls:
            return None, args, kwargs, passed
        key = program_key, tuple(passed)
        if key not in self._referenced:
            self._referenced[key] = self._reference_program(arguments, passed)
        program = self._referenced[key]
        if program is not None and program.used is not None:
            in_tree, used = tree.structure((args, kwargs)), program.used.references
            references.check_closure(self.fun, in_tree, passed, used)
        return program, args, kwargs, passed

    def _reference_program(
        self, arguments: Arguments, passed: dict[int, references.Reference]
    ) -> ReferenceProgram | None:
        places = tuple(passed)
        boxed = references.Boxed(self.fun, places)
        plain = self._with_values(with_values_of(boxed, None, self.fun)) if passed else self
        programs: list[Program] = []
        used = references.used_in(lambda: programs.append(plain.trace_program(arguments)))
        if not used:
            plain._keep(plain._key(arguments), programs[0])  # the next call does not trace it again
            return ReferenceProgram(plain, self.name, places, None) if passed else None
        threaded = references.Threaded(boxed, used)
        function = self._with_values(with_values_of(boxed, threaded, self.fun))
        return ReferenceProgram(function, self.name, places, threaded)

    def _with_values(self, fun: Callable[..., Any]) -> StagedFunction[..., Any]:
        """Return a function of the values of references, staged with the options of this one."""
        return StagedFunction(fun, self.options)

    def _placed_apart(
        self, error: ShardingError, arguments: Arguments, num_consts: int
    ) -> ShardingError:
        """Return the error with the names of the arguments that are on different devices."""
        names = self.argument_names(arguments)
        return with_argument_names(error, self.name, ["a constant"] * num_consts + [*names])

    def _raise_named(self, error: UsageError, arguments: Arguments) -> None:
        """Raise `error` with the names of the arguments it is about; return for other errors."""
        names, donated = self.argument_names(arguments), self._donated(arguments)
        named = named_error(error, self.name, arguments.leaves, names, donated)
        if named is not error:
            raise named from None

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Sort the arguments of a call into leaves and statics.

        Raises SignatureError for an argument that is neither an array nor marked static, or a
        static one that cannot be hashed.
        """
        static: list[tuple[int | str, Any]] = []
        options = self.options
        if options.static_argnums or options.static_argnames:
            static_argnums = from_start(options.static_argnums, len(args))
            static = [(i, args[i]) for i in static_argnums if 0 <= i < len(args)]
            static += [(n, kwargs[n]) for n in options.static_argnames if n in kwargs]
            args = tuple(x for i, x in enumerate(args) if i not in static_argnums)
            kwargs = {n: x for n, x in kwargs.items() if n not in options.static_argnames}
        leaves, in_tree = data.flatten_data((args, kwargs))
        try:
            avals = tuple([get_aval(x) for x in leaves])
        except DTypeError:
            raise self._not_an_array(args, kwargs) from None
        return Arguments(leaves, avals, in_tree, tuple(static))

    def trace_program(self, arguments: Arguments) -> Program:
        """Trace the function for a kind of arguments, without the cache."""
        check_tracing(self.name)
        out_tree: tree.PyTreeDef | None = None
        names = self.argument_names(arguments)
        context = abstract_mesh()
        if context.has_explicit_axes:
            check_context(self.name, arguments.avals, context)

        def flat(*leaves: Any) -> list[Any]:
            nonlocal out_tree
            args, kwargs = arguments.in_tree.unflatten(leaves)
            args, kwargs = self._with_static(args, kwargs, arguments.static)
            outs, out_tree = data.flatten_data(self.fun(*args, **kwargs))
            self._check_results(outs, out_tree)
            return outs

        with on_argument_mesh(arguments.leaves):
            program = freeze(stage(flat, arguments.avals, names=names, what=f"'{self.name}'"))
        assert out_tree is not None
        return Program(program, out_tree, names, self._donated(arguments))

    def _key(self, arguments: Arguments) -> Any:
        """Return the key of the program; raise SignatureError for a static without a hash."""
        try:
            static = exact(arguments.static) if arguments.static else ()
        except TypeError:
            raise self._unhashable(arguments.static) from None
        mesh = argument_mesh(arguments.leaves) if trace.at_base() else state.argument_mesh
        return arguments.in_tree, arguments.avals, static, (mesh, *surroundings())

    def _call_for(self, arguments: Arguments) -> StagedCall:
        if self.options.compiler_options and not trace.is_eager():
            raise OptionError(
                "`compiler_options` can only be passed to top-level `jax.jit`. Got "
                f"compiler_options={dict(self.options.compiler_options)} specified on a nested jit "
                f"with name: {self.name}{current_location().place()}",
                hint="pass them to the outermost jit, whose program the compiler gets",
            )
        key = self._key(arguments)
        try:
            call = self._calls.get(key)
        except Exception as error:
            raise self._incomparable(arguments.static, error) from error
        if call is None:
            if state.explain_cache_misses:
                from olympus_core.jit import cache_misses  # it is rarely needed

                names = self.argument_names(arguments)
                _logger.warning(cache_misses.message(self.fun, names, key, list(self._calls)))
            program = self._traced.pop(key, None) or self._traced_elsewhere(key, arguments)
            call = self._keep(key, program or self.trace_program(arguments))
        if trace.at_base():
            call.placements.add(tuple(map(argument_place, arguments.leaves)))
        return call

    def _traced_elsewhere(self, key: Any, arguments: Arguments) -> Program | None:
        """Return the program that a `jit` of the function with other options has traced.

        The key has the static arguments; no other option changes the program.
        """
        others = _shared.get(self.fun, {}) if isinstance(self.fun, types.FunctionType) else {}
        try:
            found = [calls[key] for calls in [*others.values()] if key in calls]  # threads add more
        except Exception as error:
            raise self._incomparable(arguments.static, error) from error
        return found[0].program._replace(donated=self._donated(arguments)) if found else None

    def _keep(self, key: Any, program: Program) -> StagedCall:
        """Return the call of a program, which is cached unless it has constants of one trace."""
        call = self._call_of(program)
        if not any(isinstance(c, Tracer) for c in call.consts):
            self._calls[key] = call
        return call

    def _call_of(self, program: Program) -> StagedCall:
        closed, consts = hoist_consts(program.olympuspr)
        consts = tuple(map(_of_its_type, consts, closed.invars))
        params = eager_params = ProgramParams(name=self.name, olympuspr=closed)
        donated = frozenset(len(consts) + i for i in program.donated)
        mesh = context_mesh()
        params.requested = {
            "donated": donated,
            "keep_unused": self.options.keep_unused,
            "ctx_mesh": mesh if isinstance(mesh, Mesh) else NO_MESH,
        }
        if donated:
            eager_params = params | {"donated": donated}
        if self.options.keep_unused:
            eager_params = eager_params | {"keep_unused": True}
        if self.options.compiler_options:
            eager_params = eager_params | {"compiler_options": self.options.compiler_options}
        return StagedCall(consts, params, eager_params, program.out_tree, set(), program)

    def clear_cache(self) -> None:
        """Forget the programs traced so far."""
        self._calls.clear()
        self._traced.clear()
        self._referenced.clear()
        self._freed.clear()

    def _cache_size(self) -> int:
        """Return the number of kinds of arguments of eager calls: of types and shardings."""
        return sum(len(call.placements) for call in self._calls.values())

    _clear_cache = clear_cache

    def _with_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Sequence[tuple[Any, Any]]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not static:
            return args, kwargs
        merged = list(args)
        for where, value in static:
            if isinstance(where, int):
                merged.insert(where, value)
        return tuple(merged), kwargs | {w: v for w, v in static if isinstance(w, str)}

    def argument_names(self, arguments: Arguments) -> tuple[str, ...]:
        """Return the name of each leaf by the function's signature, such as `params['w']`."""
        free, rest = positional_names(parameters_of(self.fun))
        count = len(free)
        static = [w for w, _ in arguments.static if isinstance(w, int)]
        positions = len(arguments.in_tree.children()[0].children()) + len(static)
        free += [f"{rest}[{i}]" for i in range(positions - count)]
        free = [name for i, name in enumerate(free) if i not in static]
        names = []
        for path in data.paths(arguments.in_tree):
            kind, top, below = path[0].idx, path[1], path[2:]
            name = str(top.key) if kind == 1 else free[top.idx]
            names.append(name + tree.keystr(below))
        return tuple(names)

    def _donated(self, arguments: Arguments) -> frozenset[int]:
        options = self.options
        if not options.donate_argnums and not options.donate_argnames:
            return frozenset()
        static = {w for w, _ in arguments.static}
        positions = len(arguments.in_tree.children()[0].children()) + len(static)
        dynamic = [i for i in range(positions) if i not in static]
        donate_argnums = from_start(options.donate_argnums, positions)
        donated = set()
        for leaf, path in enumerate(data.paths(arguments.in_tree)):
            by_keyword, top = path[0].idx == 1, path[1]
            names, place = options.donate_argnames, None if by_keyword else dynamic[top.idx]
            if (by_keyword and top.key in names) or place in donate_argnums:
                donated.add(leaf)
        return frozenset(donated)

    def _check_results(self, outs: list[Any], out_tree: tree.PyTreeDef) -> None:
        for i, x in enumerate(outs):
            try:
                get_aval(x)
            except DTypeError:
                references.check_result(self.name, out_tree.unflatten(outs))
                path = data.paths(out_tree)[i]
                where = f" at output component {tree.keystr(path)}" if path else ""
                raise SignatureError(
                    f"function '{self.name}' traced for jit returned a value of type "
                    f"{type(x)}{where}, which is not a valid JAX type: a staged function "
                    "returns arrays, scalars and containers of these",
                    hint=container_hint(x),
                ) from None

    def _not_an_array(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SignatureError:
        for path, x in tree.flatten_with_path((args, kwargs))[0]:
            try:
                get_aval(x)
            except DTypeError:
                where = self._path_name(path)
                return SignatureError(
                    f"Error interpreting argument to '{self.name}' as an abstract array. The "
                    f"problematic value is of type {type(x)} and was passed to the function at "
                    f"path {where}: {x!r:.80}",
                    hint=container_hint(x)
                    or "pass an array or a scalar, or mark the argument with static_argnames",
                )
        raise AssertionError("every argument is an array")

    def _incomparable(self, static: Sequence[tuple[Any, Any]], error: Exception) -> Exception:
        """Return the error for statics whose comparison failed; other errors as they are."""
        if not static:
            return error
        types = ", ".join(str(type(value)) for _, value in static)
        return StaticError(
            "static arguments should be comparable using __eq__. An error was raised when "
            f"comparing two objects of types {types} of '{self.name}': {type(error).__name__}: "
            f"{error}"
        )

    def _out_of_range(self, error: RangeError, arguments: Arguments) -> RangeError:
        """Return the error with the name of the first argument that does not fit its dtype."""
        names = self.argument_names(arguments)
        for x, name in zip(arguments.leaves, names, strict=True):
            if isinstance(x, int) and not -(2**31) <= x < 2**31:
                return RangeError(
                    "An overflow was encountered while parsing an argument to a jitted "
                    f"computation, whose argument path is {name}: {error}",
                    hint=error.hint,
                    location=error.location,
                )
        return error

    def _path_name(self, path: tree.KeyPath) -> str:
        """Return the name of a leaf of (args, kwargs) of a call, such as `params['w']`."""
        if path[0].idx == 1:
            return f"{path[1].key}{tree.keystr(path[2:])}"
        positional, rest = positional_names(parameters_of(self.fun))
        static = self.options.static_argnums
        free = [name for i, name in enumerate(positional) if i not in static]
        i = path[1].idx
        name = free[i] if i < len(free) else f"{rest}[{i - len(free)}]"
        return name + tree.keystr(path[2:])

    def _unhashable(self, static: Sequence[tuple[Any, Any]]) -> SignatureError:
        for where, value in static:
            try:
                hash(value)
            except TypeError as error:
                return StaticError(
                    "Non-hashable static arguments are not supported. An error occurred while "
                    f"trying to hash an object of type {type(value)}, {value!s:.80}: it is the "
                    f"static argument {where!r} of '{self.name}' ({error})",
                    hint="pass a tuple for a list, or a frozen dataclass for a dict",
                )
        raise AssertionError("every static argument is hashable")
