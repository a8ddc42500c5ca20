"""Log level of XLA's runtime, which must be set before jaxlib is imported: import this first.

XLA writes lines of level I and E to stderr, the latter for errors that it also raises.  This module
disables them, unless the user has set `TF_CPP_MIN_LOG_LEVEL`.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
