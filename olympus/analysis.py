"""Costs and resources of programs, differences between two, and figures for estimates.

The modules that count, compare and measure programs are imported at first use: a command that reads
a report needs only its records.
"""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand

if _typing.TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost as Cost
    from olympus_core.analysis.cost.cost import CostStack as CostStack
    from olympus_core.analysis.cost.cost import Kind as Kind
    from olympus_core.analysis.cost.cost import cost_of_module as cost_of_module
    from olympus_core.analysis.diff.changes import Change as Change
    from olympus_core.analysis.diff.changes import Detail as Detail
    from olympus_core.analysis.diff.changes import Difference as Difference
    from olympus_core.analysis.diff.changes import Spot as Spot
    from olympus_core.analysis.diff.difference import compare as compare
    from olympus_core.analysis.diff.graph import Graph as Graph
    from olympus_core.analysis.diff.graph import graph_of as graph_of
    from olympus_core.analysis.diff.graph import read_module as read_module
    from olympus_core.analysis.diff.structure import (
        structural_fingerprint as structural_fingerprint,
    )
    from olympus_core.analysis.hlo.collectives import by_axes as by_axes
    from olympus_core.analysis.hlo.cpu_peaks import Calibrated as Calibrated
    from olympus_core.analysis.hlo.cpu_peaks import Cpu as Cpu
    from olympus_core.analysis.hlo.cpu_peaks import CpuPeaks as CpuPeaks
    from olympus_core.analysis.hlo.cpu_peaks import Kept as Kept
    from olympus_core.analysis.hlo.cpu_peaks import cache_file as cache_file
    from olympus_core.analysis.hlo.cpu_peaks import keep_peaks as keep_peaks
    from olympus_core.analysis.hlo.cpu_peaks import kept_peaks as kept_peaks
    from olympus_core.analysis.hlo.cpu_peaks import known_peaks as known_peaks
    from olympus_core.analysis.hlo.cpu_peaks import this_cpu as this_cpu
    from olympus_core.analysis.hlo.device_cost import DeviceCost as DeviceCost
    from olympus_core.analysis.hlo.estimate import Fit as Fit
    from olympus_core.analysis.hlo.estimate import Roofline as Roofline
    from olympus_core.analysis.hlo.estimate import fits as fits
    from olympus_core.analysis.hlo.estimate import product_seconds as product_seconds
    from olympus_core.analysis.hlo.estimate import roofline as roofline
    from olympus_core.analysis.memory.memory import Memory as Memory
    from olympus_core.analysis.memory.memory import Moment as Moment
    from olympus_core.analysis.operations.table import OPERATIONS as OPERATIONS
    from olympus_core.analysis.profile import KernelProfile as KernelProfile
    from olympus_core.analysis.profile import Profile as Profile
    from olympus_core.analysis.profile import ProfileKind as ProfileKind
    from olympus_core.analysis.profile import ProfileRow as ProfileRow
    from olympus_core.analysis.profile import Span as Span
    from olympus_core.analysis.profiling import profile as profile
    from olympus_core.analysis.records import AxisTraffic as AxisTraffic
    from olympus_core.analysis.records import Bound as Bound
    from olympus_core.analysis.records import Collective as Collective
    from olympus_core.analysis.records import CostFigures as CostFigures
    from olympus_core.analysis.records import CostRow as CostRow
    from olympus_core.analysis.records import DeviceWork as DeviceWork
    from olympus_core.analysis.records import Direction as Direction
    from olympus_core.analysis.records import Estimate as Estimate
    from olympus_core.analysis.records import KernelEstimate as KernelEstimate
    from olympus_core.analysis.records import LineBytes as LineBytes
    from olympus_core.analysis.records import LiveBuffer as LiveBuffer
    from olympus_core.analysis.records import MemorySizes as MemorySizes
    from olympus_core.analysis.records import MemoryTotal as MemoryTotal
    from olympus_core.analysis.records import Unknown as Unknown
    from olympus_core.analysis.sources.places import Frame as Frame
    from olympus_core.analysis.sources.places import Place as Place
    from olympus_core.analysis.sources.places import read_name as read_name
    from olympus_core.analysis.sources.relocation import Relocation as Relocation
    from olympus_core.analysis.sources.sources import SourceMap as SourceMap
    from olympus_core.api.calibration import calibrate as calibrate
    from olympus_core.xla import hlo_cost_analysis as hlo_cost_analysis
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.analysis.cost.cost": (
                "Cost",
                "CostStack",
                "Kind",
                "cost_of_module",
            ),
            "olympus_core.analysis.operations.table": ("OPERATIONS",),
            "olympus_core.analysis.diff.changes": (
                "Change",
                "Detail",
                "Difference",
                "Spot",
            ),
            "olympus_core.analysis.diff.difference": ("compare",),
            "olympus_core.analysis.diff.graph": (
                "Graph",
                "graph_of",
                "read_module",
            ),
            "olympus_core.analysis.diff.structure": ("structural_fingerprint",),
            "olympus_core.analysis.hlo.collectives": ("by_axes",),
            "olympus_core.analysis.hlo.cpu_peaks": (
                "Calibrated",
                "Cpu",
                "CpuPeaks",
                "Kept",
                "cache_file",
                "keep_peaks",
                "kept_peaks",
                "known_peaks",
                "this_cpu",
            ),
            "olympus_core.analysis.hlo.device_cost": ("DeviceCost",),
            "olympus_core.analysis.hlo.estimate": (
                "Fit",
                "Roofline",
                "fits",
                "product_seconds",
                "roofline",
            ),
            "olympus_core.analysis.memory.memory": (
                "Memory",
                "Moment",
            ),
            "olympus_core.analysis.profile": (
                "KernelProfile",
                "Profile",
                "ProfileKind",
                "ProfileRow",
                "Span",
            ),
            "olympus_core.analysis.profiling": ("profile",),
            "olympus_core.analysis.records": (
                "AxisTraffic",
                "Bound",
                "Collective",
                "CostFigures",
                "CostRow",
                "DeviceWork",
                "Direction",
                "Estimate",
                "KernelEstimate",
                "LineBytes",
                "LiveBuffer",
                "MemorySizes",
                "MemoryTotal",
                "Unknown",
            ),
            "olympus_core.analysis.sources.places": (
                "Frame",
                "Place",
                "read_name",
            ),
            "olympus_core.analysis.sources.relocation": ("Relocation",),
            "olympus_core.analysis.sources.sources": ("SourceMap",),
            "olympus_core.api.calibration": ("calibrate",),
            "olympus_core.xla": ("hlo_cost_analysis",),
        },
    )
