"""The rules of primitives by transformation, under JAX's conventions."""

from olympus.interpreters import ad as ad
from olympus.interpreters import batching as batching
from olympus.interpreters import mlir as mlir
from olympus.interpreters import partial_eval as partial_eval
from olympus.interpreters import xla as xla
