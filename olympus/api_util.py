"""Helpers of functions of trees."""

from olympus_core.extension.api_util import argnums_partial as argnums_partial
from olympus_core.extension.api_util import debug_info as debug_info
from olympus_core.extension.api_util import donation_vector as donation_vector
from olympus_core.extension.api_util import flatten_axes as flatten_axes
from olympus_core.extension.api_util import flatten_fun as flatten_fun
from olympus_core.extension.api_util import flatten_fun_nokwargs as flatten_fun_nokwargs
from olympus_core.extension.api_util import rebase_donate_argnums as rebase_donate_argnums
from olympus_core.extension.api_util import safe_map as safe_map
from olympus_core.extension.api_util import shaped_abstractify as shaped_abstractify
