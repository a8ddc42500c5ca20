"""User-defined derivatives: the wrappers of functions, and the arguments of their rules."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.control.custom_jvp import custom_jvp as custom_jvp
from olympus_core.control.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from olympus_core.control.custom_rules import SymbolicZero as SymbolicZero
from olympus_core.control.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from olympus_core.control.custom_vjp import custom_vjp as custom_vjp
from olympus_core.control.custom_vjp import custom_vjp_call_p as custom_vjp_call_p
from olympus_core.transforms.closure import closure_convert as closure_convert

if _typing.TYPE_CHECKING:
    from olympus_core.control.custom_gradient import custom_gradient as custom_gradient
    from olympus_core.control.custom_gradient import (
        custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
    )
    from olympus_core.control.custom_gradient import zero_from_primal as zero_from_primal
    from olympus_core.control.linear_call import linear_call as linear_call
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.control.custom_gradient": (
                "custom_gradient",
                "custom_vjp_primal_tree_values",
                "zero_from_primal",
            ),
            "olympus_core.control.linear_call": ("linear_call",),
        },
    )
