"""Extensions: the IR for programs that transform it (`core`), and marks for users' callers."""

import typing as _typing

from olympus.extend import backend as backend
from olympus.extend import core as core
from olympus.extend import linear_util as linear_util
from olympus.extend import random as random
from olympus.extend import source_info_util as source_info_util
from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.base.source import mark_caller as mark_caller

if _typing.TYPE_CHECKING:
    from olympus.extend import lowering as lowering
    from olympus.extend import mlir as mlir
    from olympus.extend import sharding as sharding
    from olympus.extend import xla as xla
else:
    __getattr__, __dir__ = _on_demand(__name__, "lowering", "mlir", "sharding", "xla")
