"""`olympus.experimental.control_deps`: the order of the operations of a program."""

from olympus_core.library.experimental.hints import control_dep as control_dep
from olympus_core.library.experimental.hints import schedule as schedule
