"""Programs of several devices that call Python functions, whose results are those of JAX.

They are as in `device_programs`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.devices.device_programs import Program, mesh, put

__all__ = ["CALLBACK_PROGRAMS"]

CALLBACK_PROGRAMS: list[Program] = []


def row(name: str, run: Callable[[Any], Any], words: str | None = None) -> None:
    CALLBACK_PROGRAMS.append(Program(f"callbacks: {name}", run, words))


def called_back(p: Any, axes: tuple[str, ...], is_printed: bool = False, **options: Any) -> Any:
    """Return the shapes of the arrays of a call in a program, mapped along `axes` if any.

    It is printed too, if `is_printed`.
    """
    shapes: list[Any] = []

    def body(x: Any) -> Any:
        if is_printed:
            p.m.debug.print("{}", x, **options)
        p.m.debug.callback(lambda v: shapes.append((v.shape, float(v.sum()))), x, **options)
        return 2 * x

    run = body
    if axes:
        specs = {"in_specs": p.P("x"), "out_specs": p.P("x"), "axis_names": set(axes)}
        run = p.m.shard_map(body, mesh=mesh(p), **specs)
    result = p.m.jit(run)(put(p, "x"))
    p.m.effects_barrier()
    return sorted(shapes), np.asarray(result)


def called_in_part(p: Any, name: str) -> Any:
    module = (
        p.m if name == "pure_callback" else importlib.import_module(f"{p.m.__name__}.experimental")
    )
    call = getattr(module, name)
    specs = {"in_specs": p.P("x"), "out_specs": p.P("x"), "axis_names": {"x"}}
    body = p.m.shard_map(
        lambda x: call(np.sin, p.m.ShapeDtypeStruct(x.shape, x.dtype), x),
        mesh=mesh(p),
        check_vma=False,
        **specs,
    )
    return p.m.jit(body)(put(p, "x"))


for axes in ((), ("x",), ("x", "y")):
    for partitioned in (False, True):
        row(f"calls along {axes}, {partitioned}", lambda p, axes=axes, partitioned=partitioned:
            called_back(p, axes, partitioned=partitioned))  # type: ignore[misc]  # fmt: skip
row("partitioned prints", lambda p: called_back(p, (), True, partitioned=True))
for name in ("pure_callback", "io_callback"):
    row(f"{name} in part", lambda p, name=name: called_in_part(p, name),  # type: ignore[misc]
        "when all mesh axes are partitioned manually")  # fmt: skip
