"""The runtime of a platform."""

from olympus_core.extension.backend import backend_xla_version as backend_xla_version
from olympus_core.extension.backend import backends as backends
from olympus_core.extension.backend import clear_backends as clear_backends
from olympus_core.extension.backend import (
    clear_in_memory_compilation_cache as clear_in_memory_compilation_cache,
)
from olympus_core.extension.backend import get_backend as get_backend
from olympus_core.extension.backend import get_default_device as get_default_device
from olympus_core.extension.compiling.options import get_compile_options as get_compile_options
from olympus_core.extension.compiling.options import (
    register_backend_cache as register_backend_cache,
)
