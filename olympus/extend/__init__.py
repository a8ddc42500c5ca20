"""Extensions: the IR for programs that transform it (`core`), and marks for users' callers."""

from olympus.extend import core as core
from olympus.extend import linear_util as linear_util
from olympus_core.base.source import mark_caller as mark_caller
