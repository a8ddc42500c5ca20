"""`olympus.example_libraries.optimizers`: methods of descent, as triples of functions."""

from olympus_core.library.example_libraries.optimizers import JoinPoint as JoinPoint
from olympus_core.library.example_libraries.optimizers import Optimizer as Optimizer
from olympus_core.library.example_libraries.optimizers import OptimizerState as OptimizerState
from olympus_core.library.example_libraries.optimizers import adagrad as adagrad
from olympus_core.library.example_libraries.optimizers import adam as adam
from olympus_core.library.example_libraries.optimizers import adamax as adamax
from olympus_core.library.example_libraries.optimizers import clip_grads as clip_grads
from olympus_core.library.example_libraries.optimizers import constant as constant
from olympus_core.library.example_libraries.optimizers import exponential_decay as exponential_decay
from olympus_core.library.example_libraries.optimizers import (
    inverse_time_decay as inverse_time_decay,
)
from olympus_core.library.example_libraries.optimizers import l2_norm as l2_norm
from olympus_core.library.example_libraries.optimizers import make_schedule as make_schedule
from olympus_core.library.example_libraries.optimizers import momentum as momentum
from olympus_core.library.example_libraries.optimizers import nesterov as nesterov
from olympus_core.library.example_libraries.optimizers import optimizer as optimizer
from olympus_core.library.example_libraries.optimizers import (
    pack_optimizer_state as pack_optimizer_state,
)
from olympus_core.library.example_libraries.optimizers import (
    piecewise_constant as piecewise_constant,
)
from olympus_core.library.example_libraries.optimizers import polynomial_decay as polynomial_decay
from olympus_core.library.example_libraries.optimizers import rmsprop as rmsprop
from olympus_core.library.example_libraries.optimizers import rmsprop_momentum as rmsprop_momentum
from olympus_core.library.example_libraries.optimizers import sgd as sgd
from olympus_core.library.example_libraries.optimizers import sm3 as sm3
from olympus_core.library.example_libraries.optimizers import (
    unpack_optimizer_state as unpack_optimizer_state,
)
