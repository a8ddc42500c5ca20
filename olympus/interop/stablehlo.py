"""Programs of other tools, read from StableHLO or HLO."""

from olympus_core.interop.stablehlo_files import read as read
