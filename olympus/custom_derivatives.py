"""User-defined derivatives: the wrappers of functions, and the arguments of their rules."""

from olympus_core.control.custom_jvp import custom_jvp as custom_jvp
from olympus_core.control.custom_rules import SymbolicZero as SymbolicZero
from olympus_core.control.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from olympus_core.control.custom_vjp import custom_vjp as custom_vjp
from olympus_core.transforms.closure import closure_convert as closure_convert
