"""The primitives of an Olympuspr, by name: `sin_p`."""

import typing as _typing
from collections.abc import Callable as _Callable

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.control.checkpoint import checkpoint_p as _checkpoint_p
from olympus_core.control.custom_vjp import backward_p as _backward_p
from olympus_core.ir.primitive import Primitive as _Primitive
from olympus_core.ir.primitive import op as _op
from olympus_core.primitives.elementwise.arithmetic import add_any_p as _add_any_p

add_jaxvals_p = _add_any_p
custom_lin_p = _backward_p
remat_p = _checkpoint_p

__all__ = ["add_jaxvals_p", "custom_lin_p", "remat_p"]

if _typing.TYPE_CHECKING:
    __getattr__: _Callable[[str], _Primitive]
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.extension.composed_primitives": (
                "closed_call_p",
                *("approx_top_k_p", "bessel_i0e_p", "eq_to_p", "igamma_grad_a_p"),
                *("igamma_p", "igammac_p", "le_to_p", "linear_solve_p", "log2_p", "lt_to_p"),
                *("one_minus_square_p", "polynomial_p", "regularized_incomplete_beta_p"),
            ),
            "olympus_core.extension.programs.calls": (
                "call_p",
                *("create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules"),
            ),
            "olympus_core.extension.programs.exchanges": ("ragged_all_to_all_p",),
            "olympus_core.extension.reference_access": ("get_p", "swap_p"),
            "olympus_core.extension.sampling": ("random_gamma_p",),
            "olympus_core.extension.selection": ("select_and_scatter_p",),
            "olympus_core.extension.tokens": ("after_all_p", "create_token_p"),
            "olympus_core.extension.unstaged_effects": ("rng_uniform_p",),
        },
        others=_op.by_public_name,
    )
