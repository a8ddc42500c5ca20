"""`custom_vjp`: a function with a reverse derivative that its author wrote.

Under differentiation, the function runs its `fwd` instead, and adds one linear equation, whose
transpose is its `bwd`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, ParamSpec, TypeVar

from olympus_core.arrays.device_array import as_device_array
from olympus_core.base import dtypes, source, tree
from olympus_core.base.avals import ShapedArray, get_aval, value_text
from olympus_core.base.context import state, switched
from olympus_core.base.errors import (
    DTypeError,
    TransformError,
    UnexpectedTracerError,
    UnsupportedError,
)
from olympus_core.base.source import function_name
from olympus_core.control.bodies import Body
from olympus_core.control.custom_rules import (
    SCALARS,
    CustomCall,
    CustomFunction,
    ResultTypes,
    RuleCall,
    SymbolicZero,
    VmapAxes,
    fix_static_args,
    mapped_in_front,
    with_dtypes,
)
from olympus_core.ir import trace
from olympus_core.ir.primitive import Batched, Linear, MultipleResults, op
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.transforms import data, references
from olympus_core.transforms.autodiff import differentiable
from olympus_core.transforms.batching import batch_flat, batched_aval, place_axis
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import tangent_aval

_P = ParamSpec("_P")
_R = TypeVar("_R")


_BWD_TERM = (
    "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the "
    "args tuple of the primal function"
)


class CustomVJPPrimal:
    """An argument of an `fwd` with `symbolic_zeros=True`: its value, and `perturbed`, True if a
    derivative in it is needed."""

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


class _Number:
    """A number of Python in a structure."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _rebuild(key: tuple[type, str, Any], _: Any) -> Any:
    value = key[-1]
    return value if isinstance(value, bool) else as_device_array(value)


# equal numbers of two types are different, and so are 0.0 and -0.0
tree.register_node(_Number, lambda x: ((), (x.value.__class__, repr(x.value), x.value)), _rebuild)


def _with_static_parts(residuals: Any) -> Any:
    """Return residuals whose references and numbers of Python are parts of their structure.

    So a backward rule can branch on them, also where it is mapped or staged.
    """
    static = references.static_references
    return tree.map(lambda x: _Number(x) if x.__class__ in SCALARS else static(x), residuals)


class _Forward(NamedTuple):
    """The result of a forward rule: results, and residuals with their tree."""

    outs: list[Any]
    residuals: list[Any]
    residual_tree: tree.PyTreeDef


class _Pair(abc.ABC):
    """A forward and a backward function on flat lists, which define a derivative."""

    name: str
    axes: VmapAxes
    symbolic_zeros: bool

    @abc.abstractmethod
    def forward(self, primals: Sequence[Any], active: Sequence[bool]) -> _Forward:
        """Return the results and the residuals; `active` marks primals that need a derivative."""

    @abc.abstractmethod
    def backward(
        self, residual_tree: tree.PyTreeDef, residuals: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Return a cotangent, or None, for each primal; the results' may be SymbolicZero."""

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents: a linear equation with `backward` as transpose."""
        active = tuple(t is not None for t in tangents)
        outs, residuals, residual_tree = self.forward(primals, active)
        out_avals = tuple(tangent_aval(get_aval(x)) for x in outs)
        nonzero_tangents = [t for t in tangents if t is not None]
        out_tangents = backward_p.bind(
            *residuals,
            *nonzero_tangents,
            active=active,
            name=self.name,
            num_residuals=len(residuals),
            out_avals=out_avals,
            residual_tree=residual_tree,
            rules=self,
        )
        nonzero_out_tangents = [
            t if differentiable(a) else None for t, a in zip(out_tangents, out_avals, strict=True)
        ]
        return outs, nonzero_out_tangents

    def mapped(self, batched: Batched, dims: Sequence[int | None]) -> _MappedRules:
        """Return the pair mapped over an axis."""
        return _MappedRules(self, batched, dims)


class _Rules(_Pair):
    """A user's `fwd` and `bwd` on flat lists.

    `out_tree` and `out_avals` describe the function's result, if it is known yet.
    """

    def __init__(self, owner: custom_vjp[..., Any], call: RuleCall, body: Body | None) -> None:
        assert owner.fwd is not None
        self.owner, self.static = owner, call.static
        self.fwd, _, _ = fix_static_args(
            "nondiff_argnums of the fwd", owner.fwd, call.args, owner.nondiff_argnums
        )
        self.name = function_name(owner.fun)
        self.in_tree, self.in_avals = call.in_tree, call.in_avals
        self.out_tree = None if body is None else body.out_tree
        self.out_avals = None if body is None else body.out_avals
        self.axes = VmapAxes()
        self.symbolic_zeros = owner.symbolic_zeros

    def forward(self, primals: Sequence[Any], active: Sequence[bool]) -> _Forward:
        wrapped_primals: Sequence[Any] = primals
        if self.symbolic_zeros:
            wrapped_primals = [CustomVJPPrimal(x, a) for x, a in zip(primals, active, strict=True)]
        result = source.call_rule(self.fwd, *self.in_tree.unflatten(wrapped_primals))
        name = self.name
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TransformError(
                f"Custom VJP fwd rule {function_name(self.fwd)} for function {name} must "
                "produce a pair (list or tuple of length two) where the first element represents "
                f"the primal output (equal to those of the custom_vjp-decorated function {name}) "
                "and the second element represents residuals (i.e. values stored from the forward "
                "pass for use on the backward pass), but instead of a pair the fwd rule "
                f"{function_name(self.fwd)} produced {value_text(result)}."
            )
        outs, out_tree = data.flatten_data(result[0])
        if self.out_tree is not None:
            expected = ResultTypes(name, self.out_tree, self.out_avals)
            expected.check(False, function_name(self.fwd), out_tree, outs)
        self.out_tree = out_tree
        return _Forward(outs, *data.flatten_data(_with_static_parts(result[1])))

    def backward(
        self, residual_tree: tree.PyTreeDef, residuals: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        assert self.out_tree is not None
        assert self.owner.bwd is not None
        arg_cotangents = source.call_rule(
            self.owner.bwd,
            *self.static,
            residual_tree.unflatten(residuals),
            self.out_tree.unflatten(cotangents),
            backward=True,
        )
        name = self.name
        count = len(self.in_tree.children())
        if not isinstance(arg_cotangents, (tuple, list)) or len(arg_cotangents) != count:
            raise self._structure_error(arg_cotangents)
        leaves: list[Any] = []
        for x, arg_tree in zip(arg_cotangents, self.in_tree.children(), strict=True):
            if x is None or not arg_tree.num_leaves:  # such as a reference
                leaves += [None] * arg_tree.num_leaves
                continue
            try:
                leaves += arg_tree.flatten_up_to(x)
            except ValueError:
                of_keys, structure = data.flatten_tangents(x, arg_tree)
                if structure != arg_tree:
                    raise self._structure_error(arg_cotangents) from None
                leaves += of_keys
        for i, (x, aval) in enumerate(zip(leaves, self.in_avals, strict=True)):
            _check_axes(name, i, x, aval)
        pairs = zip(leaves, self.in_avals, strict=True)
        return [self._checked(i, c, a) for i, (c, a) in enumerate(pairs)]

    def _structure_error(self, cotangents: Any) -> TransformError:
        return TransformError(
            f"{_BWD_TERM}, and in particular must produce a tuple of length equal to the number of "
            "arguments to the primal function, but got bwd output structure "
            f"{tree.structure(cotangents)} for primal input structure {self.in_tree}."
        )

    def _type_term(self, index: int, own: ShapedArray, aval: ShapedArray) -> str:
        place = tree.keystr(data.paths(self.in_tree)[index])
        return (
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            f"the primal function, but at output{place} the bwd rule produced an output of type "
            f"{own.long_name()} corresponding to an input of type {aval.long_name()}"
        )

    def _checked(self, index: int, cotangent: Any, aval: ShapedArray) -> Any:
        if cotangent is None or isinstance(cotangent, SymbolicZero) or not differentiable(aval):
            return None
        try:
            cotangent_aval = get_aval(cotangent)
        except DTypeError as e:
            if not hasattr(cotangent, "dtype"):
                raise TransformError(f"{_BWD_TERM}: the bwd rule returned {e}") from None
            return None  # float0
        narrows = dtypes.kind(cotangent_aval.dtype) == "c" and dtypes.kind(aval.dtype) != "c"
        if cotangent_aval.shape != aval.shape or narrows:
            what = "kinds of dtypes" if cotangent_aval.shape == aval.shape else "shapes"
            raise TransformError(
                f"{self._type_term(index, cotangent_aval, aval)}, so the {what} do not match"
            )
        own, needed = cotangent_aval.explicit, aval.explicit
        if own is None:  # an array of the context's mesh is whole; one of NumPy has no mesh
            has_mesh = state.mesh is not None and isinstance(cotangent, Array)
        else:
            has_mesh = needed is not None and own.mesh == needed.mesh
        if needed is not None and has_mesh and spec_of(cotangent_aval) != spec_of(aval):
            raise TransformError(
                self._type_term(index, cotangent_aval, aval),
                hint="reshard it to the sharding of the argument",
            )
        if cotangent_aval.dtype == aval.dtype:
            return cotangent
        return op.convert_element_type(cotangent, new_dtype=aval.dtype, weak_type=False)


def _check_axes(name: str, index: int, cotangent: Any, aval: ShapedArray) -> None:
    """Raise TransformError for a cotangent that varies along other axes than its argument.

    Along the axes of a checked `shard_map`, the rule itself sums the cotangent of an argument that
    is the same on all devices.
    """
    axes = trace.checked_axes() - state.parted
    if not axes or not isinstance(cotangent, Array) or not differentiable(aval):
        return
    own = get_aval(cotangent)
    if (own.vma ^ aval.vma) & axes:
        raise TransformError(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            f"the primal function, but at output[{index}] the bwd rule of '{name}' produced an "
            f"output of type {own.long_name()} corresponding to an input of type "
            f"{aval.long_name()}, so the manual axis types do not match",
            hint="sum it by lax.psum, or convert it by lax.pcast",
        )


class _MappedRules(_Pair):
    """Rules mapped over an axis; results and residuals have the axis in front."""

    def __init__(self, rules: _Pair, batched: Batched, dims: Sequence[int | None]) -> None:
        self.rules, self.batched, self.dims = rules, batched, tuple(dims)
        self.name = rules.name
        self.axes = rules.axes
        self.symbolic_zeros = rules.symbolic_zeros

    def forward(self, primals: Sequence[Any], active: Sequence[bool]) -> _Forward:
        """Return the results and the residuals, all mapped at axis 0."""
        forwards: list[_Forward] = []

        def flat(*xs: Any) -> list[Any]:
            forwards.append(self.rules.forward(xs, active))
            return [*forwards[0].outs, *forwards[0].residuals]

        axis = self.axes.of(self.batched)
        placed = mapped_in_front(flat, self.batched, primals, self.dims, axis)
        count = len(forwards[0].outs)
        return _Forward(placed[:count], placed[count:], forwards[0].residual_tree)

    def backward(
        self, residual_tree: tree.PyTreeDef, residuals: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Return cotangents of the mapped primals; an unmapped one's is summed over the axis."""
        n = len(residuals)
        has_cotangent: list[bool] = []
        zero = [
            SymbolicZero(batched_aval(c.aval, 0)) if isinstance(c, SymbolicZero) else None
            for c in cotangents
        ]

        def flat(*xs: Any) -> list[Any]:
            values = iter(xs[n:])
            full = [next(values) if z is None else z for z in zero]
            primal_cotangents = self.rules.backward(residual_tree, xs[:n], full)
            has_cotangent.extend(c is not None for c in primal_cotangents)
            return [c for c in primal_cotangents if c is not None]

        values = [*residuals, *(c for c in cotangents if not isinstance(c, SymbolicZero))]
        axis = self.axes.of(self.batched)
        outs, dims = batch_flat(flat, self.batched, values, [0] * len(values), axis=axis)
        mapped_cotangents = iter(zip(outs, dims, strict=True))
        return [
            self._placed(*next(mapped_cotangents), d) if m else None
            for m, d in zip(has_cotangent, self.dims, strict=True)
        ]

    def _placed(self, x: Any, dim: int | None, axis: int | None) -> Any:
        if axis is not None:
            return place_axis(x, dim, axis, self.batched.size)
        return op.reduce_sum(place_axis(x, dim, 0, self.batched.size), axes=(0,))


class CustomBackward(MultipleResults):
    """The derivative of a `custom_vjp` function, defined by its transpose only."""

    types_varying_axes: ClassVar[bool] = True  # its rule sums cotangents over a `shard_map`
    transposes_typed: ClassVar[bool] = True
    higher_order: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        result: tuple[ShapedArray, ...] = params["out_avals"]
        return result

    def _forward(self, name: str) -> TransformError:
        return TransformError(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function: "
            f"'{name}' has no forward derivative for jvp, jacfwd and linearize",
            hint="use vjp, grad or jacrev, or define the function with custom_jvp",
        )

    def lower(self, ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        raise self._forward(params["name"])

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        raise self._forward(params["name"])

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        n = params["num_residuals"]
        symbolic = params["rules"].symbolic_zeros
        full = [
            SymbolicZero(a) if c is None and symbolic else instantiate(c, a)
            for c, a in zip(cotangent, params["out_avals"], strict=True)
        ]
        primal_cotangents = params["rules"].backward(
            params["residual_tree"], with_dtypes(operands[:n]), with_dtypes(full)
        )
        active_cotangents = [
            c for c, a in zip(primal_cotangents, params["active"], strict=True) if a
        ]
        linear = [
            c if isinstance(x, Linear) else None
            for c, x in zip(active_cotangents, operands[n:], strict=True)
        ]
        return [*[None] * n, *linear]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        n = params["num_residuals"]
        rules = _MappedBackward(params["rules"], batched, dims[:n], dims[n:], params["active"])
        out_avals = tuple(a.with_axis(0, batched.size, batched.entry) for a in params["out_avals"])
        outs = self.bind(*args, **(params | {"rules": rules, "out_avals": out_avals}))
        return outs, [0] * len(outs)


class _MappedBackward:
    """The backward rule mapped, for a vmap of the derivative but not of the function."""

    def __init__(
        self,
        rules: Any,
        batched: Batched,
        residual_dims: Sequence[int | None],
        tangent_dims: Sequence[int | None],
        active: Sequence[bool],
    ) -> None:
        self.rules, self.batched = rules, batched
        self.symbolic_zeros: bool = rules.symbolic_zeros
        self.residual_dims = list(residual_dims)
        dims = iter(tangent_dims)
        self.out_dims = [next(dims) if a else None for a in active]

    def backward(
        self, residual_tree: tree.PyTreeDef, residuals: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Like `_MappedRules.backward`, with each residual mapped at its own axis."""
        placed = [
            place_axis(x, d, 0, self.batched.size)
            for x, d in zip(residuals, self.residual_dims, strict=True)
        ]
        mapped = _MappedRules(self.rules, self.batched, self.out_dims)
        return mapped.backward(residual_tree, placed, cotangents)


custom_vjp_call_p = CustomCall("custom_vjp_call", rule="rules")
backward_p = CustomBackward("custom_vjp_backward")


class custom_vjp(CustomFunction[_P, _R]):
    """A function whose reverse derivative is given by `defvjp(fwd, bwd)`.

    `fwd` takes the arguments and returns (result, residuals); `bwd` takes the residuals and the
    result's cotangent (after the `nondiff_argnums` and `nondiff_argnames`, passed unchanged, in the
    order of their positions) and returns a tuple of the arguments' cotangents, None for zero.

    The function and its rules may use Python's control flow on concrete values: in an eager call,
    or under an eager `vjp` or `grad`.

    >>> @custom_vjp
    ... def f(x): return x * x
    >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (2 * x * ct,))
    """

    _primitive: ClassVar[CustomCall] = custom_vjp_call_p
    _definer: ClassVar[str] = "defvjp"
    _kind: ClassVar[str] = "custom_vjp"
    _missing: ClassVar[str] = "No VJP defined for custom_vjp"

    def __init__(
        self,
        fun: Callable[_P, _R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self._is_of_values = False  # True for the function of the values of written references

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules.

        With `symbolic_zeros`, `fwd` gets each argument as a `CustomVJPPrimal`, and `bwd` gets a
        `SymbolicZero` for a cotangent that is zero.  `optimize_remat` requests that a checkpointed
        call recompute `fun` instead of `fwd`, which is always the case.

        Raises UnsupportedError for the two together.
        """
        if symbolic_zeros and optimize_remat:
            raise UnsupportedError(
                "remat optimization for custom_vjp does not support symbolic zeros"
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    @property
    def _defined(self) -> bool:
        """Return True if the rules have been set."""
        return self.fwd is not None and self.bwd is not None

    def _with_static(self, positional: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments; raise UnexpectedTracerError for a tracer in `nondiff_argnums`.

        The rules have no trace that could take it.
        """
        for i in self.nondiff_argnums:
            for leaf in tree.leaves(positional[i]) if i < len(positional) else ():
                if isinstance(leaf, Tracer):
                    raise UnexpectedTracerError(
                        "Found a JAX Tracer object passed as an argument to a custom_vjp function "
                        "in a position indicated by nondiff_argnums as non-differentiable: "
                        f"argument {i} of '{function_name(self.fun)}' is a "
                        f"{get_aval(leaf).long_name()}",
                        hint="leave it out of nondiff_argnums, and return None as its cotangent",
                    )
        return positional

    def _call_with_references(
        self, fun: Callable[..., Any], call: RuleCall, leaves: list[Any]
    ) -> tuple[Any] | None:
        """Return the result, in a tuple, if the function or its fwd writes references.

        The values of these are then arguments and results of the function.
        """
        assert self.fwd is not None
        assert self.bwd is not None
        if self._is_of_values or any(self is other for other in state.searched_rules):
            return None  # its fwd calls the function
        bwd, in_tree, static = self.bwd, call.in_tree, call.static
        fwd, _, _ = fix_static_args("nondiff", self.fwd, call.args, self.nondiff_argnums)
        with switched("searched_rules", (*state.searched_rules, self)):
            used = references.written_by([fun, fwd], leaves, in_tree)
        if not used:
            return None
        primal = references.Threaded(fun, used, "custom_vjp")
        forward = references.Threaded(fwd, used, None)

        def forward_values(values: Any, arrays: Any) -> Any:
            written, (result, residuals) = forward(values, *in_tree.unflatten(arrays))
            return (written, result), residuals

        def backward_values(residuals: Any, cotangents: Any) -> Any:
            arguments = bwd(*static, residuals, cotangents[1])
            rows = zip(arguments, in_tree.children(), strict=True)
            flat = [_leaves_of(x, argument_tree) for x, argument_tree in rows]
            return None, [x for row in flat for x in row]

        wrapped: Any = custom_vjp(lambda values, arrays: primal(values, *in_tree.unflatten(arrays)))
        wrapped.defvjp(forward_values, backward_values)
        wrapped._is_of_values = True
        written, result = wrapped(primal.values, leaves)
        primal.write([op.stop_gradient(x) for x in written])
        return (result,)

    def _flat_rule(self, call: RuleCall, body: Body | None) -> _Rules:
        """Return the rules of a call, on flat lists."""
        return _Rules(self, call, body)


def _leaves_of(cotangent: Any, argument_tree: tree.PyTreeDef) -> list[Any]:
    """Return the leaves of an argument's cotangent; None for each if it has none."""
    if cotangent is None or not argument_tree.num_leaves:
        return [None] * argument_tree.num_leaves
    return argument_tree.flatten_up_to(cotangent)
