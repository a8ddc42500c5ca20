"""What a compiled program may take: estimates of time, and the figures that they are made from."""

from olympus_core.analysis.cpu_peaks import Cpu as Cpu
from olympus_core.analysis.cpu_peaks import CpuPeaks as CpuPeaks
from olympus_core.analysis.cpu_peaks import Kept as Kept
from olympus_core.analysis.cpu_peaks import keep_peaks as keep_peaks
from olympus_core.analysis.cpu_peaks import kept_peaks as kept_peaks
from olympus_core.analysis.cpu_peaks import this_cpu as this_cpu
from olympus_core.analysis.estimate import Bound as Bound
from olympus_core.analysis.estimate import Estimate as Estimate
from olympus_core.analysis.estimate import Fit as Fit
from olympus_core.analysis.estimate import KernelEstimate as KernelEstimate
from olympus_core.analysis.estimate import fits as fits
from olympus_core.calibration import calibrate as calibrate
