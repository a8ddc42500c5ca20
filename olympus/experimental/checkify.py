"""Checks of a program: `checkify` returns their failures as values."""

from olympus_core.base.errors import CheckError as _CheckError
from olympus_core.library.checkify.check import check as check
from olympus_core.library.checkify.check import check_error as check_error
from olympus_core.library.checkify.check import debug_check as debug_check
from olympus_core.library.checkify.errors import Error as Error
from olympus_core.library.checkify.errors import ErrorCategory as ErrorCategory
from olympus_core.library.checkify.errors import all_checks as all_checks
from olympus_core.library.checkify.errors import automatic_checks as automatic_checks
from olympus_core.library.checkify.errors import div_checks as div_checks
from olympus_core.library.checkify.errors import float_checks as float_checks
from olympus_core.library.checkify.errors import index_checks as index_checks
from olympus_core.library.checkify.errors import nan_checks as nan_checks
from olympus_core.library.checkify.errors import no_error as _no_error
from olympus_core.library.checkify.errors import user_checks as user_checks
from olympus_core.library.checkify.transform import checkify as checkify

JaxRuntimeError = _CheckError
init_error = _no_error()
