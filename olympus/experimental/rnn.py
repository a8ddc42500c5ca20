"""`olympus.experimental.rnn`: LSTM layers, with weights in the layout of cuDNN."""

from olympus_core.extension.rnn_primitives import lstm as lstm
from olympus_core.extension.rnn_primitives import lstm_bwd as lstm_bwd
from olympus_core.extension.rnn_primitives import lstm_fwd as lstm_fwd
from olympus_core.extension.rnn_primitives import rnn_abstract_eval as rnn_abstract_eval
from olympus_core.extension.rnn_primitives import rnn_bwd_abstract_eval as rnn_bwd_abstract_eval
from olympus_core.extension.rnn_primitives import rnn_bwd_p as rnn_bwd_p
from olympus_core.extension.rnn_primitives import rnn_fwd_p as rnn_fwd_p
from olympus_core.library.experimental.rnn import get_num_params_in_lstm as get_num_params_in_lstm
from olympus_core.library.experimental.rnn import init_lstm_weight as init_lstm_weight
from olympus_core.library.experimental.rnn import lstm_ref as lstm_ref
from olympus_core.library.experimental.rnn import swap_lstm_gates as swap_lstm_gates
from olympus_core.library.experimental.rnn import unpack_lstm_weights as unpack_lstm_weights
from olympus_core.library.nn.activations import sigmoid as _sigmoid
from olympus_core.library.numpy.elementwise.trigonometric import tanh as _tanh

sigmoid = _sigmoid
tanh = _tanh
