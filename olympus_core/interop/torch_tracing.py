"""Modules of PyTorch as traced functions of OLYMPUS; PyTorch is imported by a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core.stages.stages import Traced

Array = np.ndarray[Any, Any]


def trace(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    donate_argnames: Sequence[str] = (),
    as_is: bool = False,
) -> Traced:
    """Trace a module of PyTorch for arguments of given types; return a stage of OLYMPUS.

    The leaves of the arguments are `ShapeDtypeStruct`s, arrays or tensors, whose values are not
    used. Numbers, booleans, strings and None are static: they become part of the program. The
    module is traced in evaluation mode. Products of float32 have full precision, unless
    `torch.set_float32_matmul_precision` has set another one.

    The first argument of the traced function, `params`, is a dict with the arrays of the module's
    state dict by name; a tensor with several names has its first one. The second, `buffers`, is a
    dict with the buffers that are not in the state dict. Each is an argument only if it is not
    empty, and `state` returns its values. The arguments of `forward` follow.

    Raises TraceError for an operator that is not supported, UsageError for a dtype that PyTorch
    does not have, and the errors of the module and of `torch.export`.

    >>> x = olympus.ShapeDtypeStruct((8, 3), "float32")
    >>> traced = olympus.interop.torch.trace(model, [x])
    >>> traced.lower().compile()(*olympus.interop.torch.state(model).values(), x_array)
    """
    from olympus_core.interop.torch_programs import traced_module

    return traced_module(module, args, kwargs or {}, donate_argnames, as_is)


def state(module: Any) -> dict[str, dict[str, Array]]:
    """Return the values of the first arguments of a traced module, by name: see `trace`.

    Integers and floats of 64 bits are converted to 32 unless `olympus.enable_x64` is on. Tensors on
    the device "meta" have no values, and are left out.

    >>> olympus.interop.torch.state(torch.nn.Linear(3, 2))["params"]["bias"].shape
    (2,)
    """
    from olympus_core.interop.torch_programs import state_values

    return state_values(module)


def result_types(fun: Callable[..., Any]) -> Any:
    """Return the types of the tensors that a function without arguments returns, in their tree.

    The leaves are `ShapeDtypeStruct`s. Tensors that the function makes are on the device "meta",
    and need no memory.

    >>> olympus.interop.torch.result_types(lambda: torch.zeros(3))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    from olympus_core.interop.torch_programs import tensor_types

    return tensor_types(fun)
