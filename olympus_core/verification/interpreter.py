"""StableHLO's reference interpreter, which evaluates a lowered program by the specification.

It is slow, and lacks some operations. A missing operation ends the process, so these are searched
for first. Reading its complex results ends the process too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import LoweringError
from olympus_core.mlir import bindings as mlir
from olympus_core.stages.stages import Lowered

Array = np.ndarray[Any, Any]

#: operations of StableHLO that the interpreter does not have
_LACKS = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("custom_call", "fft", "rng", "rng_bit_generator", "triangular_solve", "cholesky"),
        *("convolution_dynamic", "dynamic_conv", "uniform_quantize", "uniform_dequantize"),
        *("batch_norm_training", "batch_norm_inference", "batch_norm_grad"),
    )
)


def interpret(lowered: Lowered, inputs: Sequence[Array]) -> list[Array]:
    """Return the interpreter's results of a lowered program on flat arrays.

    Raises LoweringError, with the name of the operation, if it cannot run the program.

    >>> interpret(jit(lambda x: 2 * x).lower(numpy.ones(2)), [np.ones(2, "float32")])
    [array([2., 2.], dtype=float32)]
    """
    avals = lowered.signature.out_avals
    with mlir.context():
        missing = sorted(_missing(lowered.module.operation))
        missing += sorted({f"{a.dtype.name} results" for a in avals if a.dtype.kind not in "biuf"})
        if missing:
            raise LoweringError(
                f"StableHLO's interpreter cannot run '{lowered.fun_name}': it lacks "
                f"{', '.join(missing)}",
                hint="verify against op-by-op or float64",
            )
        outs = mlir.evaluate_module(lowered.module, [np.asarray(x) for x in inputs])
        return [x.reshape(a.shape) for x, a in zip(outs, avals, strict=True)]


def _missing(operation: Any) -> set[str]:
    """Return the names of nested operations that the interpreter lacks."""
    names: set[str] = set()
    for region in operation.regions:
        for block in region.blocks:
            for nested in block.operations:
                name = nested.operation.name
                is_supported_dialect = name.startswith(("stablehlo.", "func.", "builtin."))
                if not is_supported_dialect or name in _LACKS:
                    names.add(name)
                names |= _missing(nested.operation)
    return names
