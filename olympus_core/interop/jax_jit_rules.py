"""Rules of the primitive of `jit` in transformations of JAX other than derivatives and batching.

They are the rules of `jax.jit`, and what remains of the equation is JAX's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from olympus_core.interop.jax_modules import ad, jax, jax_jit, jit_p, partial_eval

#: the tables of rules that transformations have in modules that JAX does not import itself
_TABLES = {
    "jax._src.checkify": "error_checks",
    "jax.experimental.jet": "jet_rules",
    "jax.experimental.sparse.transform": "sparse_rules_bcoo",
}


def _identity(x: Any) -> Any:
    return x


def _params(jaxpr: Any, name: str) -> dict[str, Any]:
    """Return the parameters of the equation of `jax.jit` for a closed jaxpr."""
    params = dict(jax.make_jaxpr(jax_jit(_identity))(0).eqns[0].params)  # those of the context
    for keys, count in (
        (("in_shardings", "in_layouts", "donated_invars"), len(jaxpr.in_avals)),
        (("out_shardings", "out_layouts"), len(jaxpr.out_avals)),
    ):
        params.update({key: params[key] * count for key in keys})
    return params | {"jaxpr": jaxpr, "name": name}


def _rule_of_jit(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of `jax.jit` for the parameters of the primitive."""

    def delegated(*args: Any, jaxpr: Any, name: str, options: Any) -> Any:
        return rule(*args, **_params(jaxpr, name))

    return delegated


def _partial_eval(saveable: Any, unknown: Any, instantiated: Any, eqn: Any) -> Any:
    """Return the known and the unknown part of an equation in a function of `jax.checkpoint`."""
    params = _params(eqn.params["jaxpr"], eqn.params["name"])
    own = eqn.replace(primitive=jit_p, params=params)
    rule = partial_eval.partial_eval_jaxpr_custom_rules[jit_p]
    return rule(saveable, unknown, instantiated, own)


def register_rules(primitive: Any) -> None:
    """Register the rules of a primitive with the parameters `jaxpr`, `name` and `options`."""
    for rules in (ad.fancy_transposes, partial_eval.custom_partial_eval_rules):
        rules[primitive] = _rule_of_jit(rules[jit_p])
    partial_eval.partial_eval_jaxpr_custom_rules[primitive] = _partial_eval


def register_rules_of_loaded_modules(primitive: Any) -> None:
    """Register the rules in the tables of transformations that the program has imported."""
    for name, table in _TABLES.items():
        rules = getattr(sys.modules.get(name), table, {primitive: None})
        if primitive not in rules:
            rules[primitive] = _rule_of_jit(rules[jit_p])
