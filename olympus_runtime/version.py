"""The version of OLYMPUS."""

__version__ = "0.1.0"
