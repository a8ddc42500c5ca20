"""`olympus.experimental.overlap`: the order of the operations of a program."""

from olympus_core.library.experimental.ordering import program_order as program_order
