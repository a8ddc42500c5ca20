"""The version of OLYMPUS."""

__version__ = "0.1.0"
#: the numbers of the version
__version_info__ = (0, 1, 0)
