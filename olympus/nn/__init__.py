"""Neural-network functions: activations, softmax, attention; initializers of weights."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.nn.activations import celu as celu
from olympus_core.library.nn.activations import elu as elu
from olympus_core.library.nn.activations import gelu as gelu
from olympus_core.library.nn.activations import glu as glu
from olympus_core.library.nn.activations import hard_sigmoid as hard_sigmoid
from olympus_core.library.nn.activations import hard_silu as hard_silu
from olympus_core.library.nn.activations import hard_swish as hard_swish
from olympus_core.library.nn.activations import hard_tanh as hard_tanh
from olympus_core.library.nn.activations import identity as identity
from olympus_core.library.nn.activations import leaky_relu as leaky_relu
from olympus_core.library.nn.activations import log1mexp as log1mexp
from olympus_core.library.nn.activations import log_sigmoid as log_sigmoid
from olympus_core.library.nn.activations import mish as mish
from olympus_core.library.nn.activations import relu as relu
from olympus_core.library.nn.activations import relu6 as relu6
from olympus_core.library.nn.activations import selu as selu
from olympus_core.library.nn.activations import sigmoid as sigmoid
from olympus_core.library.nn.activations import silu as silu
from olympus_core.library.nn.activations import soft_sign as soft_sign
from olympus_core.library.nn.activations import softplus as softplus
from olympus_core.library.nn.activations import sparse_plus as sparse_plus
from olympus_core.library.nn.activations import sparse_sigmoid as sparse_sigmoid
from olympus_core.library.nn.activations import squareplus as squareplus
from olympus_core.library.nn.activations import swish as swish
from olympus_core.library.nn.activations import tanh as tanh
from olympus_core.library.nn.attention import dot_product_attention as dot_product_attention
from olympus_core.library.nn.encoding import one_hot as one_hot
from olympus_core.library.nn.encoding import standardize as standardize
from olympus_core.library.softmax import log_softmax as log_softmax
from olympus_core.library.softmax import logmeanexp as logmeanexp
from olympus_core.library.softmax import logsumexp as logsumexp
from olympus_core.library.softmax import softmax as softmax

if _typing.TYPE_CHECKING:
    from olympus.nn import initializers as initializers
    from olympus_core.library.nn.quantization import (
        get_scaled_dot_general_config as get_scaled_dot_general_config,
    )
    from olympus_core.library.nn.scaled import scaled_matmul as scaled_matmul
    from olympus_core.library.nn.scaled_dot import scaled_dot_general as scaled_dot_general
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        "initializers",
        elsewhere={
            "olympus_core.library.nn.quantization": ("get_scaled_dot_general_config",),
            "olympus_core.library.nn.scaled": ("scaled_matmul",),
            "olympus_core.library.nn.scaled_dot": ("scaled_dot_general",),
        },
    )
