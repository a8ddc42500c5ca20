"""Common parts of `custom_jvp` and `custom_vjp`: functions with derivative rules, and their calls.

A function with a rule is staged as a program, which is a parameter of the `custom_jvp_call` or
`custom_vjp_call` equation.  A function whose Python control flow needs values cannot be staged;
then the function runs eagerly, or its rule does, as the surrounding transformations require.
"""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, ParamSpec, Protocol, Self, TypeVar, overload

from olympus_core.arrays.device_array import as_device_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import (
    ConcretizationTypeError,
    SignatureError,
    TransformError,
    UndefinedRuleError,
    UnexpectedTracerError,
)
from olympus_core.base.source import function_name, look_like, wraps
from olympus_core.control.bodies import Body, stage_body
from olympus_core.control.call import InlineCall
from olympus_core.ir import trace
from olympus_core.ir.primitive import Batched, TangentSplit
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.transforms import data, references
from olympus_core.transforms.batching import BatchTrace, batch_flat, place_axis
from olympus_core.transforms.flat import canonical_argnums, check_positions
from olympus_core.transforms.jvp import JVPTrace
from olympus_core.transforms.linearize import LinearTrace, tangent_aval
from olympus_core.transforms.programs import batch_program
from olympus_core.transforms.staging import StagedTracer, StagingTrace

#: Python's numbers, which have no dtype of their own
SCALARS = (bool, int, float, complex)

_P = ParamSpec("_P")
_R = TypeVar("_R")


_SETTERS = frozenset(["def_partition", "def_vmap", "defjvp", "defjvps", "defvjp"])


class WithSetters:
    """An object that has the methods of the function that it wraps, if they set rules.

    So `custom_vjp(custom_vmap(f)).def_vmap` is that of the `custom_vmap`.
    """

    def __getattr__(self, name: str) -> Any:
        if name in _SETTERS and "fun" in self.__dict__:
            return getattr(self.__dict__["fun"], name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def bind_positions(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], decorator: str
) -> tuple[Any, ...]:
    """Return all arguments by position, with defaults filled in, as rules take them.

    `decorator` is the name of what gives the rules.  Raises SignatureError for arguments that the
    function does not take, or keyword-only ones.
    """
    term = (
        f"The input arguments to the {decorator}-decorated function {function_name(fun)} could not "
        "be resolved to positional-only arguments. Binding failed with the error:\n"
    )
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:
        return args
    except TypeError as e:
        raise SignatureError(f"{term}{e}") from None
    bound.apply_defaults()
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise SignatureError(
            f"{term}The following keyword arguments could not be resolved to positions: {names}"
        )
    return bound.args


def _check_closure(name: str, tangents: Sequence[Any]) -> None:
    """Raise UnexpectedTracerError if a function with a rule closes over a value with a tangent."""
    if any(t is not None for t in tangents):
        raise UnexpectedTracerError(
            f"Encountered an unexpected tracer: '{name}' has a derivative rule of its own, and "
            "closes over a value that is being differentiated",
            hint="pass the value as an argument",
        )


class ResultTypes(NamedTuple):
    """The structure of a function's result, and its types if they are known."""

    name: str
    out_tree: tree.PyTreeDef
    avals: Sequence[ShapedArray] | None

    def check(self, is_jvp: bool, rule: str, out_tree: tree.PyTreeDef, outs: Sequence[Any]) -> None:
        """Raise TransformError unless a rule's first result has the structure and the types."""
        own = [get_aval(x).strip_weak() for x in outs]
        is_same_tree = out_tree == self.out_tree
        if is_same_tree and (
            self.avals is None or own == [aval.strip_weak() for aval in self.avals]
        ):
            return
        function = f"the custom_{'jvp' if is_jvp else 'vjp'}-decorated function {self.name}"
        what = "shapes/dtypes of" if is_same_tree else "container/pytree structure"
        if is_jvp:
            same = "with leaves of the same shape/dtype" if is_same_tree else f"of the same {what}"
            clause = f"(equal in value to the output of {function}, and in particular {same})"
        else:
            clause = (
                f"(equal to the output of {function}) and the second element represents residuals "
                "(i.e. values stored from the forward pass for use on the backward pass)"
            )
        needed = self.out_tree if self.avals is None else _types(self.out_tree, self.avals)
        raise TransformError(
            f"Custom {'JVP' if is_jvp else 'VJP fwd'} rule {rule} for function {self.name} must "
            "produce a pair (list or tuple of length two) where the first element represents the "
            f"primal output {clause}, but instead the {'JVP' if is_jvp else 'fwd'} rule output's "
            f"first element had {what}:\n    {_types(out_tree, own)}\nwhile {function} had output "
            f"{what}:\n    {needed}{'' if is_same_tree else '.'}"
        )


def _types(structure: tree.PyTreeDef, avals: Sequence[ShapedArray]) -> str:
    """Return the text of a tree with the types of its leaves."""
    return str(structure.unflatten([a.long_name() for a in avals])).replace("'", "")


def positions(
    what: str, argnums: Any, fun: Callable[..., Any] | None = None, argnames: Any = ()
) -> tuple[int, ...]:
    """Return `argnums`, an int or a sequence of ints, and the positions of `argnames`, as a tuple.

    Raises TransformError for a name that is not a parameter of `fun`.
    """
    canonical = canonical_argnums(what, argnums)
    numbers = (canonical,) if isinstance(canonical, int) else canonical
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    if fun is None or not names:
        return numbers
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    what = what.replace("argnums", "argnames")
    for name in names:
        if name not in parameters:
            raise TransformError(
                f"{what} has {name!r}, and '{function_name(fun)}' takes "
                f"{', '.join(parameters) or 'no arguments by name'}"
            )
    named = [n for n in map(parameters.index, names) if n not in numbers]
    return (*numbers, *named)


def fix_static_args(
    what: str, fun: Callable[..., Any], args: tuple[Any, ...], static: Sequence[int]
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """Return `fun` of the other arguments, these arguments, and those at positions `static`.

    Raises TransformError for a missing argument; `what` names the positions in the message.
    """
    if not static:
        return fun, args, ()
    check_positions(f"{what} of '{function_name(fun)}'", static, len(args))
    fixed = {i % len(args): args[i] for i in static}

    def partial(*dynamic_args: Any) -> Any:
        values = iter(dynamic_args)
        return fun(*(fixed[i] if i in fixed else next(values) for i in range(len(args))))

    wraps(fun)(partial)
    remaining_args = tuple(x for i, x in enumerate(args) if i not in fixed)
    return partial, remaining_args, tuple(fixed[i] for i in sorted(fixed))


class SymbolicZero:
    """A zero tangent or cotangent, for rules with `symbolic_zeros=True`."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.aval.dtype

    @classmethod
    def from_primal_value(cls, value: Any) -> SymbolicZero:
        """Return the zero tangent of a value.

        >>> SymbolicZero.from_primal_value(ones(2))
        SymbolicZero(f32[2])
        """
        return cls(tangent_aval(get_aval(value)))

    def __repr__(self) -> str:
        return type(self).__name__


class VmapAxes:
    """The vmaps that are active where a function with a rule is called.

    The rule may close over their values.  It runs later, under the transformations that are
    outside of the vmap, where it is mapped over the same axis.
    """

    def __init__(self) -> None:
        self._axes: list[tuple[Batched, object]] = []
        around: Trace | None = trace.current_trace()
        while around is not None:
            if isinstance(around, BatchTrace):
                self._axes.append((around.batched, around.axis))
            around = getattr(around, "parent", None)

    def of(self, batched: Batched) -> object:
        """Return the identity of the axis, or None for the axis of another vmap."""
        return next((axis for mapped, axis in self._axes if mapped is batched), None)


def mapped_in_front(
    function: Callable[..., list[Any]],
    batched: Batched,
    values: Sequence[Any],
    dims: Sequence[int | None],
    axis: object,
    what: str = "vmap",
) -> list[Any]:
    """Map a function on flat lists over an axis, and return results with the axis in front."""
    outs, out_dims = batch_flat(function, batched, values, dims, what, axis)
    return [place_axis(x, d, 0, batched.size) for x, d in zip(outs, out_dims, strict=True)]


class FlatRule(Protocol):
    """A function's derivative on flat lists."""

    axes: VmapAxes

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents; None is a zero tangent."""

    def mapped(self, batched: Batched, dims: Sequence[int | None]) -> FlatRule:
        """Return the rule mapped over axes `dims` of the operands, and axis 0 of the results."""


def _call_unstaged(
    fun: Callable[..., Any], rule: Any, leaves: Sequence[Any], unstaged: ConcretizationTypeError
) -> Any:
    """Return the result of a function with a rule, without staging it.

    Each transformation around the call applies directly: vmap maps function and rule, a derivative
    runs the rule.  If all values are concrete, the function runs as Python.  `rule` is a `FlatRule`
    with the `in_tree` of the arguments; its `out_tree` is set to that of the result.  Raises
    `unstaged` if the call must be staged.
    """

    def flat(*values: Any) -> list[Any]:
        outs, rule.out_tree = data.flatten_data(fun(*rule.in_tree.unflatten(values)))
        return outs

    outs = _call(trace.current_trace(), flat, rule, leaves, unstaged)
    return rule.out_tree.unflatten(outs)


def _call(
    current: Any,
    function: Callable[..., list[Any]],
    rule: FlatRule,
    args: Sequence[Any],
    unstaged: ConcretizationTypeError,
) -> list[Any]:
    if isinstance(current, StagingTrace) and not _passes_on(current, args):
        raise unstaged
    if isinstance(current, JVPTrace):
        primals, tangents = map(list, zip(*map(current.unwrap, args), strict=True))
        if any(t is not None for t in tangents):
            with using_trace(current.parent):
                outs, out_tangents = rule.differentiate(primals, tangents)
            return [current.wrap(x, t) for x, t in zip(outs, out_tangents, strict=True)]
    elif isinstance(current, BatchTrace):
        values, dims = map(list, zip(*map(current.unwrap, args), strict=True))
        if any(d is not None for d in dims):
            function = _mapped(function, current, dims)
            rule = rule.mapped(current.batched, dims)
            with using_trace(current.parent):
                outs = _call(current.parent, function, rule, values, unstaged)
            return [current.wrap(x, 0) for x in outs]
    elif not isinstance(current, LinearTrace) and not any(isinstance(x, Tracer) for x in args):
        return function(*args)
    with using_trace(current.parent):
        return _call(current.parent, function, rule, args, unstaged)


def _passes_on(current: StagingTrace, args: Sequence[Any]) -> bool:
    """Return True if the trace records nothing: it follows tangents, and no value is one."""
    return isinstance(current, LinearTrace) and not any(
        x.__class__ is StagedTracer and x.owner is current for x in args
    )


def _mapped(
    function: Callable[..., list[Any]], around: BatchTrace, dims: Sequence[int | None]
) -> Callable[..., list[Any]]:
    def mapped(*values: Any) -> list[Any]:
        return mapped_in_front(function, around.batched, values, dims, around.axis, around.what)

    return mapped


def with_dtypes(values: Sequence[Any]) -> list[Any]:
    """Return values with Python's numbers as arrays."""
    return [as_device_array(x) if isinstance(x, SCALARS) else x for x in values]


class CustomCall(InlineCall):
    """A call of `olympuspr`, differentiated by a `FlatRule` in the parameter that `rule` names.

    The first `num_consts` operands are the values that the function closes over; they have no
    derivative.
    """

    def __init__(self, name: str, rule: str) -> None:
        super().__init__(name)
        self.rule = rule

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        _check_closure(params["name"], tangents[:n])
        rule: FlatRule = params[self.rule]
        return rule.differentiate(with_dtypes(primals[n:]), with_dtypes(tangents[n:]))

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        everything = (True,) * len(params["olympuspr"].outvars)
        program, out_dims = batch_program(params["olympuspr"], batched, tuple(dims), everything)
        rule: FlatRule = params[self.rule].mapped(batched, dims[params["num_consts"] :])
        return self.bind(*args, **(params | {"olympuspr": program, self.rule: rule})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return None


class RuleCall(NamedTuple):
    """A call of a function with a rule.

    It has all arguments by position, the arguments that are passed to the rule unchanged, and the
    tree and the types of the others.
    """

    args: tuple[Any, ...]
    static: tuple[Any, ...]
    in_tree: tree.PyTreeDef
    in_avals: list[ShapedArray]


class CustomFunction(WithSetters, abc.ABC, Generic[_P, _R]):
    """A function with a derivative that its author wrote: a rule, set after the definition."""

    __name__: str
    __wrapped__: Callable[_P, _R]
    #: the call of the staged function
    _primitive: ClassVar[CustomCall]
    #: the method that sets the rule, and the beginning of the message for a function without one
    _definer: ClassVar[str]
    _missing: ClassVar[str]
    #: the name of the transformation, for errors
    _kind: ClassVar[str]

    def __init__(
        self,
        fun: Callable[_P, _R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        look_like(self, fun)
        self.fun = fun
        self.nondiff_argnums = positions("nondiff_argnums", nondiff_argnums, fun, nondiff_argnames)
        self.symbolic_zeros = False

    @property
    @abc.abstractmethod
    def _defined(self) -> bool:
        """Return True if the rule has been set."""

    def _with_static(self, positional: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, those of `nondiff_argnums` as the rules take them."""
        return positional

    @abc.abstractmethod
    def _flat_rule(self, call: RuleCall, body: Body | None) -> FlatRule:
        """Return the rule of a call, on flat lists; `body` is the staged function, or None."""

    def _call_with_references(
        self, fun: Callable[..., Any], call: RuleCall, leaves: list[Any]
    ) -> tuple[Any] | None:
        """Return the result of a call that writes references, in a tuple; None for another call."""
        return None

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., _R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not self._defined:
            raise UndefinedRuleError(
                f"{self._missing} function {function_name(self.fun)} using {self._definer}."
            )
        positional = self._with_static(bind_positions(self.fun, args, kwargs, self._kind))
        fun, diff, static = fix_static_args(
            "nondiff_argnums", self.fun, positional, self.nondiff_argnums
        )
        if references.exist():
            references.check_arguments(fun, diff, self._kind)
        leaves, in_tree = data.flatten_data(references.static_references(diff, weak=True))
        if trace.is_eager():  # a function and its rules may read the dtype of a scalar
            leaves = with_dtypes(leaves)
        in_avals = [get_aval(x) for x in leaves]
        if trace.at_base():
            eager_result: _R = fun(*in_tree.unflatten(leaves))
            if references.exist():
                references.check_result(function_name(self.fun), eager_result, self._kind)
            return eager_result
        call = RuleCall(positional, static, in_tree, in_avals)
        if references.exist() and (written := self._call_with_references(fun, call, leaves)):
            written_result: _R = written[0]
            return written_result
        try:
            body = stage_body(fun, in_tree, call.in_avals, "a function with a rule of its own")
        except ConcretizationTypeError as error:  # its control flow needs concrete values
            unstaged_result: _R = _call_unstaged(fun, self._flat_rule(call, None), leaves, error)
            return unstaged_result
        outs = self._primitive.bind(
            *body.consts,
            *leaves,
            name=function_name(self.fun),
            num_consts=len(body.consts),
            olympuspr=body.program,
            **{self._primitive.rule: self._flat_rule(call, body)},
        )
        result: _R = body.out_tree.unflatten(outs)
        return result
