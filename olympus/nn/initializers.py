"""Initializers of weights: functions of a key, a shape and a dtype."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.nn.initializers import Initializer as Initializer
from olympus_core.library.nn.initializers import constant as constant
from olympus_core.library.nn.initializers import glorot_normal as glorot_normal
from olympus_core.library.nn.initializers import glorot_uniform as glorot_uniform
from olympus_core.library.nn.initializers import he_normal as he_normal
from olympus_core.library.nn.initializers import he_uniform as he_uniform
from olympus_core.library.nn.initializers import kaiming_normal as kaiming_normal
from olympus_core.library.nn.initializers import kaiming_uniform as kaiming_uniform
from olympus_core.library.nn.initializers import lecun_normal as lecun_normal
from olympus_core.library.nn.initializers import lecun_uniform as lecun_uniform
from olympus_core.library.nn.initializers import normal as normal
from olympus_core.library.nn.initializers import ones as ones
from olympus_core.library.nn.initializers import truncated_normal as truncated_normal
from olympus_core.library.nn.initializers import uniform as uniform
from olympus_core.library.nn.initializers import variance_scaling as variance_scaling
from olympus_core.library.nn.initializers import xavier_normal as xavier_normal
from olympus_core.library.nn.initializers import xavier_uniform as xavier_uniform
from olympus_core.library.nn.initializers import zeros as zeros

if _typing.TYPE_CHECKING:
    from olympus_core.library.nn.orthogonal import delta_orthogonal as delta_orthogonal
    from olympus_core.library.nn.orthogonal import orthogonal as orthogonal
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={"olympus_core.library.nn.orthogonal": ("delta_orthogonal", "orthogonal")},
    )
