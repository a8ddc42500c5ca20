"""`olympus.version`: the version of OLYMPUS."""

from olympus_runtime.version import __version__ as __version__
