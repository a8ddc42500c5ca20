"""`olympus.dlpack`: the exchange of arrays with other libraries."""

from olympus_core.library.dlpack import is_supported_dtype as is_supported_dtype
from olympus_core.library.numpy.creation.array import from_dlpack as from_dlpack
