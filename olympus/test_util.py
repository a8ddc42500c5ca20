"""Checks of derivatives against finite differences."""

from olympus_core.library.test_util import check_grads as check_grads
from olympus_core.library.test_util import check_jvp as check_jvp
from olympus_core.library.test_util import check_vjp as check_vjp
