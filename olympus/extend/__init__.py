"""What programs that work on the IR itself use: see `olympus.extend.core`."""

from olympus.extend import core as core
