"""The execution of a primitive as a program of its own, which its lowering rule emits."""

from __future__ import annotations

import functools
from typing import Any

from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.control.call import jit_p
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Primitive
from olympus_core.transforms.staging import hoist_consts, stage


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Return the results of a primitive, compiled from the operations that it is lowered to.

    >>> double_p.def_impl(functools.partial(apply_primitive, double_p))
    """
    avals = tuple([get_aval(x) for x in args])
    try:
        program = _program(prim, avals, tuple(params.items()))
    except TypeError:  # a parameter is not hashable
        program = _program.__wrapped__(prim, avals, tuple(params.items()))
    outs = jit_p.bind(*args, name=prim.name, olympuspr=program)
    return outs if prim.multiple_results else outs[0]


@functools.lru_cache(maxsize=1024)
def _program(
    prim: Primitive, avals: tuple[ShapedArray, ...], params: tuple[tuple[str, Any], ...]
) -> Olympuspr:
    def flat(*xs: Any) -> list[Any]:
        out = prim.bind(*xs, **dict(params))
        return list(out) if prim.multiple_results else [out]

    return hoist_consts(stage(flat, avals, what=f"'{prim}'"))[0]
