"""The errors that OLYMPUS raises on purpose, each with the exit code of the command line.

`why_absent` returns why a public namespace does not have a name of the API.
`size_remedy` is the hint for a traced array that is used as a size.
`torch_remedy` is the hint for an attribute that PyTorch's tensors have and arrays do not.
"""

from olympus_core.base.errors import ArgumentError as ArgumentError
from olympus_core.base.errors import ArtifactError as ArtifactError
from olympus_core.base.errors import BackendError as BackendError
from olympus_core.base.errors import CallbackError as CallbackError
from olympus_core.base.errors import CheckError as CheckError
from olympus_core.base.errors import CompileError as CompileError
from olympus_core.base.errors import ConcretizationTypeError as ConcretizationTypeError
from olympus_core.base.errors import ConfigError as ConfigError
from olympus_core.base.errors import DeletedArrayError as DeletedArrayError
from olympus_core.base.errors import DeviceMemoryError as DeviceMemoryError
from olympus_core.base.errors import DisabledError as DisabledError
from olympus_core.base.errors import DonationError as DonationError
from olympus_core.base.errors import DTypeError as DTypeError
from olympus_core.base.errors import EntryError as EntryError
from olympus_core.base.errors import ExchangeError as ExchangeError
from olympus_core.base.errors import FrozenError as FrozenError
from olympus_core.base.errors import GateError as GateError
from olympus_core.base.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from olympus_core.base.errors import IndexingError as IndexingError
from olympus_core.base.errors import InternalError as InternalError
from olympus_core.base.errors import KeyReuseError as KeyReuseError
from olympus_core.base.errors import LoweringError as LoweringError
from olympus_core.base.errors import MachineError as MachineError
from olympus_core.base.errors import MissingMeshError as MissingMeshError
from olympus_core.base.errors import MissingRuleError as MissingRuleError
from olympus_core.base.errors import NaNError as NaNError
from olympus_core.base.errors import NoDerivativeError as NoDerivativeError
from olympus_core.base.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from olympus_core.base.errors import OlympusError as OlympusError
from olympus_core.base.errors import OlympusWarning as OlympusWarning
from olympus_core.base.errors import OptionError as OptionError
from olympus_core.base.errors import PaddingError as PaddingError
from olympus_core.base.errors import PaddingNameError as PaddingNameError
from olympus_core.base.errors import RangeError as RangeError
from olympus_core.base.errors import ShapeError as ShapeError
from olympus_core.base.errors import ShardingAssertionError as ShardingAssertionError
from olympus_core.base.errors import ShardingError as ShardingError
from olympus_core.base.errors import ShardingTypeError as ShardingTypeError
from olympus_core.base.errors import SignatureError as SignatureError
from olympus_core.base.errors import SpecError as SpecError
from olympus_core.base.errors import StaticError as StaticError
from olympus_core.base.errors import TraceError as TraceError
from olympus_core.base.errors import TracerArrayConversionError as TracerArrayConversionError
from olympus_core.base.errors import TracerBoolConversionError as TracerBoolConversionError
from olympus_core.base.errors import TracerIntegerConversionError as TracerIntegerConversionError
from olympus_core.base.errors import TransformError as TransformError
from olympus_core.base.errors import TreeError as TreeError
from olympus_core.base.errors import TypePromotionError as TypePromotionError
from olympus_core.base.errors import UnboundAxisError as UnboundAxisError
from olympus_core.base.errors import UndefinedRuleError as UndefinedRuleError
from olympus_core.base.errors import UnexpectedTracerError as UnexpectedTracerError
from olympus_core.base.errors import UnknownNameError as UnknownNameError
from olympus_core.base.errors import UnsupportedError as UnsupportedError
from olympus_core.base.errors import UsageError as UsageError
from olympus_core.base.errors import VmapMethodError as VmapMethodError
from olympus_core.base.lazy_modules import why_absent as why_absent
from olympus_core.base.torch_names import torch_remedy as torch_remedy
from olympus_core.ir.conversions import size_remedy as size_remedy

JAXIndexError = IndexingError
JAXTypeError = TraceError
JaxprTypeError = InternalError
JaxRuntimeError = MachineError
