"""`compute_on` and `fused`: where XLA computes a function, and as which kernel."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.context import state, switched
from olympus_core.base.errors import ArgumentError, LoweringError, UnsupportedError
from olympus_core.base.source import wraps
from olympus_core.control.annotated_call import compute_on_p, fused_p
from olympus_core.control.bodies import stage_call

_HOST = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}
_STREAM = "gpu_stream:"
_NAMES = ("_xla_compute_type", "_xla_stream_annotation", "inlineable")


def _annotations(compute_type: Any) -> dict[str, str]:
    """Return the attributes for a compute type; raise ArgumentError for an unknown one."""
    if not isinstance(compute_type, str):
        raise ArgumentError("`compute_on`'s compute_type argument must be a string.")
    if compute_type.startswith(_STREAM):
        return {
            "_xla_stream_annotation": compute_type.removeprefix(_STREAM),
            "inlineable": "false",
        }
    if compute_type not in _HOST:
        raise ArgumentError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, "
            "`device`, `tpu_sparsecore`, and `gpu_stream:#`."
        )
    return {"_xla_compute_type": _HOST[compute_type]}


@contextlib.contextmanager
def compute_on(compute_type: str) -> Iterator[None]:
    """Request that XLA computes the operations traced in the context in another place.

    compute_type: "device_host" for the host of the device, "device", "tpu_sparsecore", or
    "gpu_stream:N" for a stream of a GPU. A compiler without such a place ignores it.

    Raises ArgumentError (a ValueError) for another one.

    >>> def f(x):
    ...     with compute_on("device_host"):
    ...         return x * 2
    >>> '_xla_compute_type = "host"' in jit(f).lower(1.0).as_text()
    True
    """
    added = _annotations(compute_type)
    others = {k: v for k, v in state.annotations if k not in _NAMES}
    with switched("annotations", tuple((others | added).items())):
        yield


def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Return `f` as a call that XLA computes in another place, or a decorator without `f`.

    compute_type: as for `compute_on`. out_memory_spaces: the memory of each result, a tree prefix:
    that of the device, the only one of arrays here. compiler_options: options of the computation,
    as the compiler of that place reads them.

    Raises ArgumentError (a ValueError) for another compute type, and for a call in `f` with another
    one; UnsupportedError for another memory.

    >>> double = compute_on2(
    ...     lambda x: x * 2, compute_type="device_host", out_memory_spaces="device"
    ... )
    >>> double(2.0)
    Array(4., dtype=float32, weak_type=True)
    """
    if f is None:
        return functools.partial(
            compute_on2,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    function, added = f, _annotations(compute_type)
    for space in tree.leaves(out_memory_spaces):
        if not str(space).lower().endswith("device"):
            raise UnsupportedError(
                f"the results of compute_on2 are in the memory of the device, and "
                f"out_memory_spaces has {space!r:.80}",
                hint="pass a memory space of the device for each result",
            )
    call = dict(added)
    if compiler_options is not None:
        call["backend_config"] = json.dumps(compiler_options)
    elif compute_type == "device":
        call["inlineable"] = "false"

    @wraps(function)
    def wrapped(*args: Any) -> Any:
        if any(k in _NAMES for k, _ in state.annotations):
            raise LoweringError(
                "Nesting `compute_on` with different compute types is not allowed.",
            )
        with compute_on(compute_type):
            body, leaves = stage_call(function, args, {}, "the function of compute_on2")
        full = body.out_tree.unflatten(range(body.out_tree.num_leaves))
        tree.prefix_leaves("compute_on2", "out_memory_spaces", out_memory_spaces, full)
        outs = compute_on_p.bind(
            *body.consts, *leaves, olympuspr=body.program, annotations=tuple(call.items())
        )
        return body.out_tree.unflatten(outs)

    return wrapped


def fused(*, out_spaces: Sequence[Any]) -> Callable[..., Any]:
    """Return a decorator: XLA compiles the function as one fusion of a GPU.

    out_spaces: the memory of each result, in the order of its arrays. Only a program for a GPU can
    be lowered with it; UnsupportedError is raised elsewhere.

    >>> double = fused(out_spaces=("MemorySpace.Device",))(lambda x: x * 2)
    >>> lowered = jit(double).trace(1.0).lower(lowering_platforms=("cuda",))
    >>> "@fused" in lowered.as_text()
    True
    """
    spaces = tuple(map(str, out_spaces))

    def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def wrapped(*args: Any) -> Any:
            body, leaves = stage_call(f, args, {}, "the function of fused")
            if len(spaces) != len(body.program.outvars):
                raise ArgumentError(
                    f"fused needs a memory space for each of the {len(body.program.outvars)} "
                    f"results, and got {len(spaces)}"
                )
            outs = fused_p.bind(*body.consts, *leaves, olympuspr=body.program, out_spaces=spaces)
            return body.out_tree.unflatten(outs)

        return wrapped

    return wrap
