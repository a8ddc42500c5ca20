"""`olympus.version`: the version of OLYMPUS."""

from olympus_runtime.version import __version__ as __version__
from olympus_runtime.version import __version_info__ as __version_info__
