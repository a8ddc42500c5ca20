"""The pass that transforms constant kernels of convolutions when a program is lowered.

A convolution by products of tiles (`primitives/conv_tiles.py`) takes a transformed kernel, which
has up to four times the elements.  The pass computes it from a constant once; each call would
compute it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base.avals import shaped
from olympus_core.execution.channels_last import has_convolutions
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.constant import constant_p
from olympus_core.primitives.conv_tiles import tile_for, tiled_convolution_p, transformed


def with_transformed_kernels(program: Olympuspr) -> Olympuspr:
    """Return the program with the constant kernels that its convolutions take, transformed.

    It is the program itself if no convolution is faster in tiles.  Kernels of nested programs, and
    kernels with unknown elements, stay.

    >>> with_transformed_kernels(traced.olympuspr).eqns[0].primitive
    tiled_convolution
    """
    if not has_convolutions(program):
        return program
    simple = simplify(program)
    pairs = zip(simple.constvars, simple.consts, strict=True)
    values: dict[Atom, Any] = {v: x for v, x in pairs if not isinstance(x, Tracer)}
    values |= {e.outputs[0]: e.params["value"].value for e in simple.eqns if _is_constant(e)}
    kernels: dict[Any, tuple[Var, np.ndarray[Any, Any]]] = {}
    eqns = [_tiled(eqn, values, kernels) for eqn in simple.eqns]
    if not kernels:
        return program
    read = {x for eqn in eqns for x in eqn.inputs}.union(simple.outvars)
    pairs = zip(simple.constvars, simple.consts, strict=True)
    constants = {v: x for v, x in pairs if v in read} | dict(kernels.values())
    return simple.replace(eqns=eqns, constvars=constants, consts=constants.values())


def _is_constant(eqn: Eqn) -> bool:
    return eqn.primitive is constant_p


def _tiled(
    eqn: Eqn, values: dict[Atom, Any], kernels: dict[Any, tuple[Var, np.ndarray[Any, Any]]]
) -> Eqn:
    """Return the equation by a transformed kernel, which is added to `kernels`, if it is faster."""
    if not eqn.primitive.is_convolution or eqn.inputs[1] not in values:
        return eqn
    (x, kernel), (out,), params = eqn.inputs, eqn.outputs, eqn.params
    avals, shape = [x.aval, kernel.aval], out.aval.shape
    tile = tile_for(avals, shape, params, is_constant=True)
    if tile is None:
        return eqn
    key = kernel, tile, params["dimension_numbers"].rhs_spec, params["feature_group_count"]
    if key not in kernels:
        array = transformed(array_to_numpy(values[kernel]), tile, params)
        kernels[key] = Var(shaped(array.shape, array.dtype)), array
    tiled = params | {"shape": shape, "tile": tile}
    return Eqn(tiled_convolution_p, (x, kernels[key][0]), (out,), tiled, eqn.source)
