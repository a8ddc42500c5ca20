"""A page to test: a small program with a loop and a gradient, and fixed figures."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import olympus
from olympus.analysis import AxisTraffic, Collective, Estimate, KernelEstimate
from olympus.stages import MemoryAnalysis
from olympus_cli.reports.build_report import (
    BackendReport,
    BlockReport,
    OutputFile,
    Report,
    ResultOrigin,
    Seconds,
    XlaCost,
    XlaReport,
)
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.html.listing import hlo_listing, olympuspr_listing, stablehlo_listing
from olympus_cli.reports.html.page import BackendPage, Page, Roof
from olympus_cli.reports.program_figures import (
    DeviceCostReport,
    MemoryReport,
    TotalReport,
    cost_report,
)
from tests.cli.arrays import arg_info

__all__ = ["MODEL", "meshed", "page", "page_with", "stages"]

MODEL = '''\
"""A model with a loop, and a loss."""

import olympus
import olympus.numpy as np
from olympus import lax


def unused(a):
    """Nothing here costs anything."""
    b = a
    c = b
    return c


def layer(w, x):
    return np.tanh(x @ w)


def loss(w, x):
    def body(carry, _):
        return layer(w, carry), None

    y, _ = lax.scan(body, x, None, length=5)
    return np.sum(y * y)


def step(w, x):
    return w - 0.1 * olympus.grad(loss)(w, x)
'''
ROOT = Path("/project")


@functools.cache
def stages() -> tuple[Any, Any]:
    """The program, lowered and compiled, from a file that does not exist."""
    code = compile(MODEL, str(ROOT / "model.py"), "exec")
    names: dict[str, Any] = {"__name__": "model"}
    exec(code, names)
    w, x = (olympus.ShapeDtypeStruct(s, "float32") for s in ((16, 16), (4, 16)))
    lowered = olympus.jit(names["step"]).trace(w, x).lower()
    return lowered, lowered.compile()


def _estimate() -> Estimate:
    kernels = (
        KernelEstimate(
            "dot.1", "step/dot_general", "model.py:16", 2048, 3072, "float32", 5, "compute", 4e-6
        ),
        KernelEstimate(
            "fusion.2", "step/tanh", "model.py:16", 64, 512, "float32", 5, "memory", 2e-6
        ),
        KernelEstimate("copy.3", "", None, 0, 512, None, 1, "launch", 1e-6),
    )
    return Estimate("h200", 7e-6, kernels, ("A launch takes 1 us.",), ("while loop",))


def _backend(label: str, estimate: Estimate | None) -> BackendReport:
    lowered, compiled = stages()
    memory = compiled.memory()
    sizes = [name for name in MemoryReport.__dataclass_fields__ if name != "largest"]
    name, _, device = label.partition("-")
    return BackendReport(
        memory=MemoryReport(**{n: getattr(memory, n) for n in sizes}, largest=memory.largest(5)),
        estimate=estimate,
        fits=True if estimate else None,
        label=label,
        name=name,
        device=device or None,
        key="0123456789abcdef" * 4,
        cost=cost_report(lowered.cost(), ROOT),
        xla=XlaReport(XlaCost(3e9, None, 1.5e6), MemoryAnalysis(31361, 16, 2048, 0, None, None)),
        lower_seconds=0.002,
        compile_seconds=1.5,
        xla_seconds=1.25,
        ops=instruction_counts(compiled.as_text()),
        blocks=(BlockReport("block_1", 107, 11, ("model.py:16", "model.py:24")),),
        result=ResultOrigin("compiled", None, None),
    )


@functools.cache
def page(backends: int = 1) -> Page:
    """A page with one backend, or with two."""
    lowered, compiled = stages()
    reports = [_backend("gpu-h200", _estimate()), _backend("cpu", None)][:backends]
    peaks = {"float32": 67e12, "bfloat16, tensor cores": 989e12}
    report = Report(
        target="step",
        entry="model:step",
        versions={"olympus": "1", "jaxlib": "2", "python": "3"},
        statics={"train": "False"},
        arguments=(arg_info("w", "float32", (16, 16), True), arg_info("x", "float32", (4, 16))),
        results=(arg_info("result", "float32", (16, 16)),),
        optimize="default",
        seconds=Seconds(0.002, 0.0123, 0.002, 0.001, 1.5, 0.03, 0.02, 0.01),
        peak_memory=300 * 2**20,
        ops=operation_counts(lowered.as_text()),
        backends=tuple(reports),
        outputs=(OutputFile("program.olympuspr", 120, "0" * 64),),
        warnings=("float64 is not enabled",),
    )
    text = lowered.olympuspr.pretty_print(source_info=True)
    stablehlo = stablehlo_listing(lowered.as_text(debug_info=True), "program.stablehlo.mlir")
    return Page(
        report=report,
        backends=tuple(
            BackendPage(
                report,
                compiled.memory().timeline(),
                Roof("h200", 4.8e12, peaks, 141 * 10**9) if report.device else None,
                stablehlo,
                hlo_listing(compiled.as_text(), f"{report.label}/optimized.hlo.txt"),
            )
            for report in reports
        ),
        olympuspr=olympuspr_listing(text, "program.olympuspr"),
        sources={"model.py": MODEL},
        root=str(ROOT),
    )


def page_with(**changes: Any) -> Page:
    """The page with other fields in its report."""
    return replace(page(), report=replace(page().report, **changes))


def meshed(axis: str = "model", kind: str = "all-reduce") -> Page:
    """The page of a program of 8 devices, with collectives of `kind` along `axis`."""
    collectives = [
        Collective(kind, (axis,), 4, 2**20 - i, 3 * 2**19, 12, "model.py:16", "psum", 4e-6)
        for i in range(20)
    ]
    collectives.append(Collective("all-gather", None, 2, 4096, 2048, 1, None, "", 1e-6))
    backend = replace(
        page().report.backends[0],
        devices=8,
        collectives=tuple(collectives),
        axes=(AxisTraffic((axis, "data"), 240, 20 * 2**20, 30 * 2**20, 8e-5),
              AxisTraffic(None, 1, 4096, 2048, 1e-6)),
        each_device=DeviceCostReport(
            10**9, {"float32": 10**9}, 64, 2**22, 2**21, 2**20, 1.25, ("a loop at model.py:16",)
        ),
        total=TotalReport(
            8 * 10**9, 512, 2**25, 2**24, 2**23, 2**20, 2**21, None, 0, 2**22, 2**23
        ),
    )  # fmt: skip
    html = page_with(backends=(backend,))
    return replace(html, backends=(replace(html.backends[0], report=backend),))
