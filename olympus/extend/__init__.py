"""What programs that work on the IR itself (`olympus.extend.core`), or call users' code, use."""

from olympus.extend import core as core
from olympus_core.source import mark_caller as mark_caller
