"""Programs whose time is estimated, and their kernels."""

from __future__ import annotations

import olympus
import olympus.interop.stablehlo
from olympus_core.xla import shipped_devices

H200 = olympus.target("gpu", "h200")


MODEL = shipped_devices()["h200"]


def shape(*sizes, dtype="float32"):
    return olympus.ShapeDtypeStruct(sizes, dtype)


def compiled(function, *args, target=None, **options):
    return olympus.jit(function, **options).trace(*args).lower(target).compile()


def unchanged(function, *args, target):
    """Return a program whose convolutions are those of the compiler's library."""
    text = olympus.jit(function).trace(*args).lower(lowering_platforms="tpu").as_text()
    return olympus.interop.stablehlo.read(text.encode(), as_is=True).lower(target).compile()


def kernels(program):
    """Return the kernels of a program, without the overhead of a call."""
    return [k for k in program.estimate().kernels if not k.name.startswith("(")]


def total(program, figure):
    return sum(getattr(kernel, figure) * kernel.calls for kernel in kernels(program))
