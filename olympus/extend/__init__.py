"""Extensions: the IR for programs that transform it (`core`), and marks for users' callers."""

from olympus.extend import backend as backend
from olympus.extend import core as core
from olympus.extend import linear_util as linear_util
from olympus.extend import random as random
from olympus.extend import source_info_util as source_info_util
from olympus_core.base.source import mark_caller as mark_caller
