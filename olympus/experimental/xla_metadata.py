"""`olympus.experimental.xla_metadata`: attributes of operations for the compiler."""

from olympus_core.library.experimental.metadata import fuse_limit as fuse_limit
from olympus_core.library.experimental.metadata import must_fuse_call as must_fuse_call
from olympus_core.library.experimental.metadata import set_xla_metadata as set_xla_metadata
from olympus_core.library.experimental.metadata import xla_metadata_call as xla_metadata_call
from olympus_core.library.experimental.metadata import xla_metadata_call2 as xla_metadata_call2
