"""The equations of a program in the words of JAX: names of primitives, and their parameters.

Most primitives have JAX's name and parameters.  The table has the others: one row for each
primitive whose name differs, or that lacks parameters that JAX has, which have one value here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from olympus_core.base.avals import ShapedArray
from olympus_core.base.source import Source
from olympus_core.ir.olympuspr import UNSPECIFIED, Eqn, JaxProgram, Olympuspr, Var, unconstrained
from olympus_core.ir.primitive import op


class Form(NamedTuple):
    """The form of the equations of a primitive in JAX.

    `name` is its name.  `added` are parameters that only JAX has, with their values, and `more`
    computes others from an equation.  `lacked` are the parameters that JAX lacks.  The printer
    omits the parameters `implied`, and the `optional` ones if they are false; it writes those in
    `first` before the others.
    """

    name: str | None = None
    added: Mapping[str, Any] = MappingProxyType({})
    more: Callable[[Eqn], dict[str, Any]] | None = None
    lacked: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    first: tuple[str, ...] = ()


def _combining(name: str) -> Callable[[Eqn], dict[str, Any]]:
    """The program of two scalars that combines an element of a `scatter` with its update."""

    def more(eqn: Eqn) -> dict[str, Any]:
        x, y, z = (Var(ShapedArray((), eqn.outputs[0].aval.dtype)) for _ in range(3))
        primitive = op.find(name)
        assert primitive is not None
        combine = Eqn(primitive, (x, y), (z,), {}, Source(None, 0, ""))
        return {"update_jaxpr": JaxProgram((x, y), (combine,), (z,)), "update_consts": ()}

    return more


def _dimension_lists(eqn: Eqn) -> dict[str, Any]:
    dims = eqn.params["dimension_numbers"]
    contracting, batch = (tuple(map(list, pair)) for pair in dims)
    kind = eqn.params["preferred_element_type"]
    dtype = eqn.outputs[0].aval.dtype if kind is None else kind
    return {"dimension_numbers": (contracting, batch), "preferred_element_type": dtype}


def _owner(rule: Any) -> Any:
    """Return the function with a derivative rule, whose calls may have been mapped."""
    while rule is not None and not hasattr(rule, "owner"):
        rule = getattr(rule, "rule", None) or getattr(rule, "rules", None)
    return None if rule is None else rule.owner


def _custom_jvp(eqn: Eqn) -> dict[str, Any]:
    owner = _owner(eqn.params["rule"])
    return {"jvp": _function_name(owner, "rule", "jvp"), "symbolic_zeros": _symbolic(owner)}


def _custom_vjp(eqn: Eqn) -> dict[str, Any]:
    owner = _owner(eqn.params["rules"])
    names = {name: _function_name(owner, name, name) for name in ("fwd", "bwd")}
    return names | {"symbolic_zeros": _symbolic(owner)}


def _function_name(owner: Any, field: str, otherwise: str) -> str:
    return str(getattr(getattr(owner, field, None), "__name__", otherwise))


def _symbolic(owner: Any) -> bool:
    return bool(getattr(owner, "symbolic_zeros", False))


def _requested(eqn: Eqn) -> dict[str, Any]:
    """Return the options of a call of a `jit` that were requested."""
    options = ("donated_invars", "in_shardings", "keep_unused", "out_shardings")
    shown = {k: eqn.params.get(k, ()) for k in options}
    none = False, UNSPECIFIED
    shown = {k: v for k, v in shown.items() if v and (v is True or any(x not in none for x in v))}
    mesh = eqn.params.get("ctx_mesh")
    if mesh is not None and mesh.axis_names:
        shown["ctx_mesh"] = mesh
    return {"jaxpr": unconstrained(eqn.params["olympuspr"]), **shown}


def _last_axis(eqn: Eqn) -> dict[str, Any]:
    return {"axis": eqn.inputs[0].aval.ndim - 1}


def _manual_axes(eqn: Eqn) -> dict[str, Any]:
    return {"newly_manual_axes": _Set(eqn.params["manual_axes"])}


def _constraint(eqn: Eqn) -> dict[str, Any]:
    """Return the dimensions of a constraint that the compiler splits; its mesh is its own."""
    spec = getattr(eqn.params["sharding"], "spec", ())
    is_open = [i for i in range(len(spec)) if str(spec[i]) == "UNCONSTRAINED"]
    return {"context_mesh": _Text("Mesh()"), "unconstrained_dims": _Set(is_open)}


class _Text(str):
    """A value that is printed as it is."""

    __slots__ = ()

    __repr__ = str.__str__


class _Set(frozenset[Any]):
    """A frozenset whose text has the elements in order, and braces if it is empty."""

    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(sorted(map(repr, self)))}}})"


def _by_names(names: str, form: Form) -> dict[str, Form]:
    return dict.fromkeys(names.split(), form)


_NOTHING = Form()
_UNSHARDED = {"out_sharding": None}

_FORMS: dict[str, Form] = {
    **_by_names(
        "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh",
        Form(optional=("accuracy",)),
    ),
    **_by_names("reduce_sum conv_general_dilated", Form(added=_UNSHARDED)),
    **_by_names("iota reshape", Form(added={"sharding": None})),
    "jit": Form(more=_requested, first=("name",)),
    "all_to_all": Form(lacked=("axis_size",)),
    "axis_index": Form(lacked=("varies",)),
    "broadcast_in_dim": Form(implied=("shape",), optional=("broadcast_dimensions",)),
    "checkpoint": Form("remat2", lacked=("name",)),
    "custom_jvp_call": Form(
        more=_custom_jvp, lacked=("rule",), optional=("num_consts",), first=("name",)
    ),
    "custom_vjp_call": Form(
        more=_custom_vjp, lacked=("rules",), optional=("num_consts",), first=("name",)
    ),
    "dot_general": Form(more=_dimension_lists, optional=("precision", "preferred_element_type")),
    "eigh": Form(
        added={"algorithm": None, "sort_eigenvalues": True, "subset_by_index": None},
        lacked=("jacobi",),
    ),
    "qr": Form(added={"use_magma": None}),
    "random_seed": Form(added={"impl": "fry"}),
    "reshard": Form(implied=("sharding",)),
    "scatter": Form(added={"update_jaxpr": None, "update_consts": ()}),
    "scatter-add": Form(more=_combining("add")),
    "scatter-max": Form(more=_combining("max")),
    "scatter-min": Form(more=_combining("min")),
    "scatter-mul": Form(more=_combining("mul")),
    "scatter-sub": Form(more=_combining("sub")),
    "shard_map": Form(more=_manual_axes, lacked=("manual_axes",)),
    "sharding_constraint": Form(more=_constraint, added={"layout": None}),
    "svd": Form(added={"algorithm": None, "subset_by_index": None}, lacked=("routine",)),
    "top_k": Form(more=_last_axis),
}


def printed_name(eqn: Eqn) -> str:
    """Return the name of an equation's primitive in JAX."""
    return _FORMS.get(eqn.primitive.name, _NOTHING).name or eqn.primitive.name


def printed_params(eqn: Eqn) -> list[tuple[str, Any]]:
    """Return the names and values of the parameters that JAX prints, in its order.

    >>> printed_params(make_jaxpr(lambda x: x.sum())(zeros(3)).eqns[0])
    [('axes', (0,)), ('out_sharding', None)]
    """
    form = _FORMS.get(eqn.primitive.name, _NOTHING)
    params = {_jax_name(eqn, k): v for k, v in eqn.params.items() if k not in form.lacked}
    params |= form.added
    if form.more is not None:
        params |= form.more(eqn)
    hidden = form.implied + tuple(k for k in form.optional if not params.get(k))
    ordered = [*form.first, *sorted(k for k in params if k not in form.first)]
    return [(k, _in_jax(params[k])) for k in ordered if k in params and k not in hidden]


def _in_jax(value: Any) -> Any:
    """Return a parameter with its programs under JAX's names."""
    if isinstance(value, Olympuspr):
        return value.jaxpr
    if value.__class__ is tuple and any(isinstance(x, Olympuspr) for x in value):
        return tuple(map(_in_jax, value))
    return value


def _jax_name(eqn: Eqn, name: str) -> str:
    """Return JAX's name of a parameter."""
    if not isinstance(eqn.params[name], Olympuspr):
        return name
    if name == "olympuspr" and eqn.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
        return "call_jaxpr"
    return name.replace("olympuspr", "jaxpr")
