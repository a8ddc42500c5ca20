"""What programs cost and need, what changed between two, and the figures for estimates."""

from olympus_core.analysis.cpu_peaks import Cpu as Cpu
from olympus_core.analysis.cpu_peaks import CpuPeaks as CpuPeaks
from olympus_core.analysis.cpu_peaks import Kept as Kept
from olympus_core.analysis.cpu_peaks import keep_peaks as keep_peaks
from olympus_core.analysis.cpu_peaks import kept_peaks as kept_peaks
from olympus_core.analysis.cpu_peaks import this_cpu as this_cpu
from olympus_core.analysis.difference import Change as Change
from olympus_core.analysis.difference import Detail as Detail
from olympus_core.analysis.difference import Difference as Difference
from olympus_core.analysis.difference import Spot as Spot
from olympus_core.analysis.difference import compare as compare
from olympus_core.analysis.estimate import Bound as Bound
from olympus_core.analysis.estimate import Estimate as Estimate
from olympus_core.analysis.estimate import Fit as Fit
from olympus_core.analysis.estimate import KernelEstimate as KernelEstimate
from olympus_core.analysis.estimate import fits as fits
from olympus_core.analysis.graph import Graph as Graph
from olympus_core.analysis.graph import graph_of as graph_of
from olympus_core.analysis.graph import read_module as read_module
from olympus_core.analysis.locations import Place as Place
from olympus_core.analysis.sources import SourceMap as SourceMap
from olympus_core.analysis.structure import structural_fingerprint as structural_fingerprint
from olympus_core.calibration import calibrate as calibrate
from olympus_core.xla import hlo_cost_analysis as hlo_cost_analysis
