"""The errors OLYMPUS raises on purpose, each with the exit code of the command line.

`why_absent` says why a public namespace does not have a name of the API.
"""

from olympus_core.absent import why_absent as why_absent
from olympus_core.errors import ArgumentError as ArgumentError
from olympus_core.errors import ArtifactError as ArtifactError
from olympus_core.errors import BackendError as BackendError
from olympus_core.errors import CompileError as CompileError
from olympus_core.errors import ConcretizationError as ConcretizationError
from olympus_core.errors import ConfigError as ConfigError
from olympus_core.errors import DeletedArrayError as DeletedArrayError
from olympus_core.errors import DTypeError as DTypeError
from olympus_core.errors import EntryError as EntryError
from olympus_core.errors import FrozenError as FrozenError
from olympus_core.errors import GateError as GateError
from olympus_core.errors import IndexingError as IndexingError
from olympus_core.errors import InternalError as InternalError
from olympus_core.errors import KeyReuseError as KeyReuseError
from olympus_core.errors import LeakedTracerError as LeakedTracerError
from olympus_core.errors import LoweringError as LoweringError
from olympus_core.errors import MachineError as MachineError
from olympus_core.errors import MissingRuleError as MissingRuleError
from olympus_core.errors import NaNError as NaNError
from olympus_core.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from olympus_core.errors import OlympusError as OlympusError
from olympus_core.errors import OlympusWarning as OlympusWarning
from olympus_core.errors import RangeError as RangeError
from olympus_core.errors import ShapeError as ShapeError
from olympus_core.errors import ShardingError as ShardingError
from olympus_core.errors import SignatureError as SignatureError
from olympus_core.errors import SpecError as SpecError
from olympus_core.errors import TraceError as TraceError
from olympus_core.errors import TracerArrayConversionError as TracerArrayConversionError
from olympus_core.errors import TracerBoolConversionError as TracerBoolConversionError
from olympus_core.errors import TracerIntegerConversionError as TracerIntegerConversionError
from olympus_core.errors import TransformError as TransformError
from olympus_core.errors import TreeError as TreeError
from olympus_core.errors import TypePromotionError as TypePromotionError
from olympus_core.errors import UnboundAxisError as UnboundAxisError
from olympus_core.errors import UsageError as UsageError

ConcretizationTypeError = ConcretizationError
JaxRuntimeError = MachineError
UnexpectedTracerError = LeakedTracerError
