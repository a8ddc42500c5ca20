"""Programs as graphs: their structural fingerprints, what changed, and the source of operations."""

from olympus_core.analysis.changes import Change as Change
from olympus_core.analysis.changes import Detail as Detail
from olympus_core.analysis.changes import Difference as Difference
from olympus_core.analysis.changes import Spot as Spot
from olympus_core.analysis.difference import compare as compare
from olympus_core.analysis.graph import Graph as Graph
from olympus_core.analysis.graph import graph_of as graph_of
from olympus_core.analysis.graph import read_module as read_module
from olympus_core.analysis.locations import Place as Place
from olympus_core.analysis.sources import SourceMap as SourceMap
from olympus_core.analysis.structure import structural_fingerprint as structural_fingerprint
from olympus_core.xla import hlo_cost_analysis as hlo_cost_analysis
