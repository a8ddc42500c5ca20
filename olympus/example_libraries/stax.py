"""`olympus.example_libraries.stax`: layers of networks, as pairs of functions."""

from olympus_core.library.example_libraries.stax import AvgPool as AvgPool
from olympus_core.library.example_libraries.stax import BatchNorm as BatchNorm
from olympus_core.library.example_libraries.stax import Conv as Conv
from olympus_core.library.example_libraries.stax import Conv1DTranspose as Conv1DTranspose
from olympus_core.library.example_libraries.stax import ConvTranspose as ConvTranspose
from olympus_core.library.example_libraries.stax import Dense as Dense
from olympus_core.library.example_libraries.stax import Dropout as Dropout
from olympus_core.library.example_libraries.stax import Elu as Elu
from olympus_core.library.example_libraries.stax import Exp as Exp
from olympus_core.library.example_libraries.stax import FanInConcat as FanInConcat
from olympus_core.library.example_libraries.stax import FanInSum as FanInSum
from olympus_core.library.example_libraries.stax import FanOut as FanOut
from olympus_core.library.example_libraries.stax import Flatten as Flatten
from olympus_core.library.example_libraries.stax import Gelu as Gelu
from olympus_core.library.example_libraries.stax import GeneralConv as GeneralConv
from olympus_core.library.example_libraries.stax import GeneralConvTranspose as GeneralConvTranspose
from olympus_core.library.example_libraries.stax import Identity as Identity
from olympus_core.library.example_libraries.stax import LeakyRelu as LeakyRelu
from olympus_core.library.example_libraries.stax import LogSoftmax as LogSoftmax
from olympus_core.library.example_libraries.stax import MaxPool as MaxPool
from olympus_core.library.example_libraries.stax import Relu as Relu
from olympus_core.library.example_libraries.stax import Selu as Selu
from olympus_core.library.example_libraries.stax import Sigmoid as Sigmoid
from olympus_core.library.example_libraries.stax import Softmax as Softmax
from olympus_core.library.example_libraries.stax import Softplus as Softplus
from olympus_core.library.example_libraries.stax import SumPool as SumPool
from olympus_core.library.example_libraries.stax import Tanh as Tanh
from olympus_core.library.example_libraries.stax import elementwise as elementwise
from olympus_core.library.example_libraries.stax import parallel as parallel
from olympus_core.library.example_libraries.stax import serial as serial
from olympus_core.library.example_libraries.stax import shape_dependent as shape_dependent
from olympus_core.library.nn.activations import elu as elu
from olympus_core.library.nn.activations import gelu as gelu
from olympus_core.library.nn.activations import leaky_relu as leaky_relu
from olympus_core.library.nn.activations import relu as relu
from olympus_core.library.nn.activations import selu as selu
from olympus_core.library.nn.activations import sigmoid as sigmoid
from olympus_core.library.nn.activations import softplus as softplus
from olympus_core.library.nn.encoding import standardize as standardize
from olympus_core.library.nn.initializers import glorot_normal as glorot_normal
from olympus_core.library.nn.initializers import normal as normal
from olympus_core.library.nn.initializers import ones as ones
from olympus_core.library.nn.initializers import zeros as zeros
from olympus_core.library.softmax import log_softmax as log_softmax
from olympus_core.library.softmax import softmax as softmax

glorot = glorot_normal
logsoftmax = log_softmax
randn = normal
