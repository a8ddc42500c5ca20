"""The persistent cache of executables: a folder that processes share."""

from olympus_core.xla import reset_cache as reset_cache
from olympus_core.xla import set_cache_dir as set_cache_dir
