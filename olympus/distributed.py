"""`olympus.distributed`: the processes of a program, which is one process."""

from olympus_core.library.processes import initialize as initialize
from olympus_core.library.processes import is_initialized as is_initialized
from olympus_core.library.processes import shutdown as shutdown
