"""Silence for the runtime's own log, which is set before jaxlib is loaded: import this first.

XLA writes lines of level I and E to stderr, the latter for errors that it also raises.  They are
turned off, unless the user has set `TF_CPP_MIN_LOG_LEVEL`.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
