"""The stages of ahead-of-time compilation, with their arguments and memory."""

from olympus_core.analysis.hlo.cpu_peaks import this_cpu as this_cpu
from olympus_core.base import tree as _array_trees
from olympus_core.blocks.outline import Block as Block
from olympus_core.execution.compilation import Linalg as Linalg
from olympus_core.execution.compilation import Repeats as Repeats
from olympus_core.execution.hidden_arguments import MIN_BYTES as _MIN_BYTES
from olympus_core.execution.hidden_arguments import Constants as Constants
from olympus_core.jit.calling import StagedFunction as StagedFunction
from olympus_core.stages.detached import CompiledFiles as CompiledFiles
from olympus_core.stages.detached import CompileRequest as CompileRequest
from olympus_core.stages.detached import compile_files as compile_files
from olympus_core.stages.fixed_sizes import fixed_sizes as fixed_sizes
from olympus_core.stages.fixed_sizes import formula_value as formula_value
from olympus_core.stages.stages import ArgInfo as ArgInfo
from olympus_core.stages.stages import Compiled as Compiled
from olympus_core.stages.stages import Lowered as Lowered
from olympus_core.stages.stages import Traced as Traced
from olympus_core.stages.wrapped import CompilerOptions as CompilerOptions
from olympus_core.stages.wrapped import Wrapped as Wrapped
from olympus_core.xla import MemoryAnalysis as MemoryAnalysis
from olympus_core.xla import Optimize as Optimize
from olympus_core.xla import Rates as Rates
from olympus_core.xla import checked_options as checked_options
from olympus_core.xla import device_config as device_config
from olympus_core.xla import device_model as device_model
from olympus_core.xla import driver_digest as driver_digest
from olympus_core.xla import is_attached as is_attached
from olympus_core.xla import optimize_options as optimize_options
from olympus_core.xla import shipped_devices as shipped_devices
from olympus_core.xla import shipped_tpus as shipped_tpus
from olympus_core.xla import topologies as topologies

#: the least size in bytes of an array that a program closes over and that is stored apart
MIN_CONSTANT_BYTES = _MIN_BYTES
#: trees whose leaves are the arrays of programs: the words of random keys
array_trees = _array_trees
