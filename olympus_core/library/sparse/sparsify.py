"""`sparsify`: functions of dense arrays applied to sparse ones, operation by operation.

An operation with a sparse operand has a rule in `sparse_rules_bcoo`, or in `sparse_rules_bcsr` for
an operand of compressed rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import source, tree
from olympus_core.base.errors import UnsupportedError
from olympus_core.base.source import function_name, wraps
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Literal, Olympuspr
from olympus_core.ir.primitive import Primitive, op
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.library.sparse.base import JAXSparse
from olympus_core.library.sparse.compressed import BCSR
from olympus_core.library.sparse.coordinates import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_transpose,
    with_data,
)
from olympus_core.library.sparse.gathering import bcoo_conv_general_dilated, bcoo_gather
from olympus_core.library.sparse.products import bcoo_dot_general
from olympus_core.library.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
)
from olympus_core.library.sparse.sparsify_values import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
    spvalues_to_avals,
)
from olympus_core.transforms.staging import stage

#: a rule: (environment, *values, **params) -> the values of the results
Rule = Callable[..., Sequence[SparsifyValue]]
#: the rules of primitives with an operand of coordinates
sparse_rules_bcoo: dict[Primitive, Rule] = {}
#: the rules of primitives with an operand of compressed rows
sparse_rules_bcsr: dict[Primitive, Rule] = {}

#: operations whose result is 0 for 0: they apply to the elements
_LINEAR = ("neg", "real", "imag", "copy", "reduce_precision")
_OF_ZERO = (
    *("abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "expm1", "floor", "log1p", "round"),
    *("sign", "sin", "sinh", "sqrt", "tan", "tanh", "square"),
)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _coordinates(x: Any) -> Any:
    """Return a sparse array as BCOO; a dense one as it is."""
    if isinstance(x, BCSR):
        return x.to_bcoo()
    if _is_sparse(x) and not isinstance(x, BCOO):
        raise UnsupportedError(f"sparsify supports BCOO and BCSR arrays, not {type(x).__name__}")
    return x


def _of_elements(primitive: Any, inputs: Sequence[Any], params: Any, is_linear: bool) -> Any:
    """Return an operation on each element; equal indices are summed first unless it is linear."""
    (x,) = inputs
    if not (is_linear or x.unique_indices):
        x = bcoo_sum_duplicates(x, nse=x.nse)
    return with_data(x, primitive.bind(x.data, **params))


def _sum(inputs: Sequence[Any], sign: int) -> Any:
    x, y = inputs
    if not _is_sparse(x) or not _is_sparse(y):
        raise UnsupportedError("sparsify does not support the sum of a sparse and a dense array")
    if x.shape != y.shape:
        raise UnsupportedError("Addition between sparse matrices of different shapes.")
    return x + (y if sign > 0 else -y)


def _product(inputs: Sequence[Any]) -> Any:
    x, y = inputs
    return x * y if _is_sparse(x) else y * x


def _quotient(inputs: Sequence[Any]) -> Any:
    x, y = inputs
    if _is_sparse(y):
        raise UnsupportedError("Division by a sparse array.")
    return x / y


_CONV = (
    *("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers"),
    *("feature_group_count", "batch_group_count", "precision", "preferred_element_type"),
)
_RULES: dict[str, Callable[[Sequence[Any], Any], Any]] = {
    "add": lambda inputs, p: _sum(inputs, 1),
    "add_any": lambda inputs, p: _sum(inputs, 1),
    "sub": lambda inputs, p: _sum(inputs, -1),
    "mul": lambda inputs, p: _product(inputs),
    "div": lambda inputs, p: _quotient(inputs),
    "convert_element_type": lambda inputs, p: inputs[0].astype(p["new_dtype"]),
    "dot_general": lambda inputs, p: bcoo_dot_general(
        *inputs,
        dimension_numbers=p["dimension_numbers"],
        preferred_element_type=p["preferred_element_type"],
    ),
    "transpose": lambda inputs, p: bcoo_transpose(inputs[0], permutation=p["permutation"]),
    "reduce_sum": lambda inputs, p: bcoo_reduce_sum(inputs[0], axes=p["axes"]),
    "reshape": lambda inputs, p: bcoo_reshape(
        inputs[0], new_sizes=p["new_sizes"], dimensions=p["dimensions"]
    ),
    "broadcast_in_dim": lambda inputs, p: bcoo_broadcast_in_dim(
        inputs[0], shape=p["shape"], broadcast_dimensions=p["broadcast_dimensions"]
    ),
    "concatenate": lambda inputs, p: bcoo_concatenate(inputs, dimension=p["dimension"]),
    "slice": lambda inputs, p: bcoo_slice(inputs[0], **p),
    "dynamic_slice": lambda inputs, p: bcoo_dynamic_slice(inputs[0], inputs[1:], p["slice_sizes"]),
    "squeeze": lambda inputs, p: bcoo_squeeze(inputs[0], dimensions=p["dimensions"]),
    "gather": lambda inputs, p: bcoo_gather(
        inputs[0], inputs[1], p["dimension_numbers"], p["slice_sizes"], mode=p["mode"]
    ),
    "conv_general_dilated": lambda inputs, p: bcoo_conv_general_dilated(
        *inputs,
        **{name: p[name] for name in _CONV},
    ),
    "rev": lambda inputs, p: bcoo_rev(inputs[0], p["dimensions"]),
}


def _on_arrays(primitive: Primitive, function: Callable[[Sequence[Any], Any], Any]) -> Rule:
    """Return the rule of a primitive from a function of sparse and dense arrays."""

    def rule(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> list[SparsifyValue]:
        operands = [_coordinates(x) for x in spvalues_to_arrays(spenv, list(spvalues))]
        out = function(operands, params)
        outs: list[SparsifyValue] = arrays_to_spvalues(
            spenv, list(out) if primitive.multiple_results else [out]
        )
        return outs

    return rule


def _of_zero(primitive: Primitive, is_linear: bool) -> Callable[[Sequence[Any], Any], Any]:
    return lambda inputs, params: _of_elements(primitive, inputs, params, is_linear)


def _power(primitive: Primitive) -> Callable[[Sequence[Any], Any], Any]:
    def power(inputs: Sequence[Any], params: Any) -> Any:
        if params["y"] <= 0:
            raise UnsupportedError("sparsify supports only positive integer powers")
        return _of_elements(primitive, inputs, params, params["y"] == 1)

    return power


def _call_rule(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> Any:
    program = params["olympuspr"]
    return eval_sparse(program, program.consts, spvalues, spenv)


def _set_rules() -> None:
    functions: dict[str, Callable[[Primitive], Rule]] = {
        name: functools.partial(_on_arrays, function=function) for name, function in _RULES.items()
    }
    for names, is_linear in ((_LINEAR, True), (_OF_ZERO, False)):
        for name in names:
            functions[name] = lambda p, w=is_linear: _on_arrays(p, _of_zero(p, w))  # type: ignore[misc]
    functions["integer_pow"] = lambda p: _on_arrays(p, _power(p))
    functions["jit"] = lambda _: _call_rule
    for name, make in functions.items():
        if (primitive := op.find(name)) is not None:
            rule = make(primitive)
            sparse_rules_bcoo[primitive] = sparse_rules_bcsr[primitive] = rule


def _rule(primitive: Primitive, spvalues: Sequence[SparsifyValue]) -> Rule | None:
    """Return the rule of a primitive; None if no operand is sparse."""
    if not any(v.is_sparse() for v in spvalues):
        return None
    rules = sparse_rules_bcsr if any(v.is_bcsr() for v in spvalues) else sparse_rules_bcoo
    if primitive not in rules:
        raise UnsupportedError(
            f"sparse rule for {primitive.name} is not implemented",
            hint="convert the array with todense before this operation",
        )
    return rules[primitive]


def eval_sparse(
    jaxpr: Olympuspr,
    consts: Sequence[Any],
    spvalues: Sequence[SparsifyValue],
    spenv: SparsifyEnv,
) -> list[SparsifyValue]:
    """Apply a program to values of an environment, of which some are sparse.

    consts: the arrays of the program's constants. Raises UnsupportedError for an operation without
    a rule in `sparse_rules_bcoo` or `sparse_rules_bcsr`.

    >>> env = sparse.transform.SparsifyEnv()
    >>> program = make_olympuspr(lambda x: x * 2)(array([1.0]))
    >>> out = eval_sparse(program, [], [env.dense(array([3.0]))], env)[0]
    >>> env.data(out)
    Array([6.], dtype=float32)
    """
    env: dict[Any, SparsifyValue] = dict(zip(jaxpr.invars, spvalues, strict=True))
    for variable, const in zip(jaxpr.constvars, consts, strict=True):
        env[variable] = spenv.dense(const)

    def read(atom: Any) -> SparsifyValue:
        return spenv.dense(atom.value) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        inputs = [read(atom) for atom in eqn.inputs]
        with source.using_location(eqn.source):
            rule = _rule(eqn.primitive, inputs)
            if rule is not None:
                outs = rule(spenv, *inputs, **eqn.params)
            else:
                out = eqn.primitive.bind(*map(spenv.data, inputs), **eqn.params)
                outs = [spenv.dense(x) for x in (out if eqn.primitive.multiple_results else [out])]
        env.update(zip(eqn.outputs, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


class SparseTracer(Tracer):
    """A value of `sparsify` with `use_tracer`: a dense array, or a sparse one as if it were dense.

    >>> f = sparsify(lambda x: x * 2 if isinstance(x, SparseTracer) else None, use_tracer=True)
    >>> f(array([1.0]))
    Array([2.], dtype=float32)
    """

    __slots__ = ("_spvalue",)
    owner: SparseTrace

    def __init__(self, trace: SparseTrace, *, spvalue: SparsifyValue) -> None:
        self.owner = trace
        self._spvalue = spvalue
        self.aval = spvalues_to_avals(trace.spenv, [spvalue])[0]

    @property
    def spenv(self) -> SparsifyEnv:
        """The environment of its buffers."""
        return self.owner.spenv

    @property
    def spvalue(self) -> SparsifyValue:
        """The positions of its buffers."""
        return self._spvalue

    def full_lower(self) -> SparseTracer:
        """Return the value itself."""
        return self

    def origin(self) -> str:
        """Return the origin of the value."""
        return "a value in sparsify"


class SparseTrace:
    """Applies the rules of `sparse_rules_bcoo` and `sparse_rules_bcsr` as operations are bound.

    `tag` distinguishes the values of one `sparsify` from those of others.
    """

    __slots__ = ("parent", "spenv", "tag")

    def __init__(self, parent_trace: Trace, tag: Any, spenv: SparsifyEnv) -> None:
        self.parent = parent_trace
        self.tag = tag
        self.spenv = spenv

    @property
    def parent_trace(self) -> Trace:
        """The trace around it, in which the operations on buffers are bound."""
        return self.parent

    def to_sparse_tracer(self, val: Any) -> SparseTracer:
        """Return a value of this trace; an array of another one is added to the environment."""
        if isinstance(val, SparseTracer) and val.owner.tag is self.tag:
            return val
        with using_trace(self.parent):
            (spvalue,) = arrays_to_spvalues(self.spenv, [val])
        return SparseTracer(self, spvalue=spvalue)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the rule of a primitive with a sparse operand, or bind it to dense arrays."""
        spvalues = [self.to_sparse_tracer(x).spvalue for x in args]
        with using_trace(self.parent):
            rule = _rule(primitive, spvalues)
            if rule is not None:
                outs = rule(self.spenv, *spvalues, **params)
            else:
                out = primitive.bind(*map(self.spenv.data, spvalues), **params)
                several = out if primitive.multiple_results else [out]
                outs = [self.spenv.dense(x) for x in several]
        tracers = [SparseTracer(self, spvalue=v) for v in outs]
        return tracers if primitive.multiple_results else tracers[0]


def run_sparse(
    fun: Callable[..., Sequence[Any]],
    tag: Any,
    spenv: SparsifyEnv,
    spvalues: Sequence[SparsifyValue],
) -> list[SparsifyValue]:
    """Return the results of a flat function of tracers, as values of the environment."""
    own = SparseTrace(trace.current_trace(), tag, spenv)
    inputs = [SparseTracer(own, spvalue=v) for v in spvalues]
    with using_trace(own):
        outs = fun(*inputs)
    return [own.to_sparse_tracer(x).spvalue for x in outs]


def _flat(f: Callable[..., Any], treedef: tree.PyTreeDef, out_trees: list[Any], kwargs: Any) -> Any:
    def flat(*values: Any) -> list[Any]:
        outs, out_tree = tree.flatten(f(*treedef.unflatten(values), **kwargs))
        out_trees.append(out_tree)
        return outs

    return flat


def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` as a function (environment, *values, **params) -> (values, tree of the results).

    The function raises UnsupportedError for an operation without a rule.

    >>> env = sparse.transform.SparsifyEnv()
    >>> outs, out_tree = sparsify_raw(lambda x: {"y": x * 2})(env, env.dense(array([3.0])))
    >>> env.data(outs[0])
    Array([6.], dtype=float32)
    """

    def wrapped(
        spenv: SparsifyEnv, *spvalues: Any, **params: Any
    ) -> tuple[list[SparsifyValue], tree.PyTreeDef]:
        leaves, treedef = tree.flatten(spvalues, is_leaf=lambda x: isinstance(x, SparsifyValue))
        out_trees: list[Any] = []
        flat = _flat(f, treedef, out_trees, params)
        program = stage(flat, spvalues_to_avals(spenv, leaves), what=f"'{function_name(f)}'")
        return eval_sparse(program, program.consts, leaves, spenv), out_trees[-1]

    return wrapped


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return the function `f` for sparse arguments, written for dense ones.

    The function is staged for dense arrays of the shapes of its arguments, and each operation is
    applied to the sparse ones: products, sums, shapes, slices, and operations of elements whose
    result is 0 for 0. Results that are sparse are BCOO. With `use_tracer`, the operations are
    applied as the function binds them: it is not staged, and its control flow may depend on values.

    The function raises UnsupportedError for another operation on a sparse array.

    >>> from olympus.experimental import sparse
    >>> mat = sparse.BCOO.fromdense(array([[0.0, 1.0], [2.0, 0.0]]))
    >>> sparsify(lambda x, y: sin(x).T @ y)(mat, array([1.0, 2.0]))
    Array([1.8185948 , 0.84147096], dtype=float32)
    """
    raw = sparsify_raw(lambda args, kwargs: f(*args, **kwargs))

    @wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        spenv = SparsifyEnv()
        if use_tracer:
            leaves, treedef = tree.flatten(args, is_leaf=_is_sparse)
            out_trees: list[Any] = []
            flat = _flat(f, treedef, out_trees, kwargs)
            outs = run_sparse(flat, object(), spenv, arrays_to_spvalues(spenv, leaves))
            out_tree = out_trees[-1]
        else:
            outs, out_tree = raw(spenv, *arrays_to_spvalues(spenv, (args, kwargs)))
        return out_tree.unflatten(spvalues_to_arrays(spenv, outs))

    return sparsified


_set_rules()
