"""Functions with transformations, composed of generators."""

from olympus_core.extension.linear_util import StoreException as StoreException
from olympus_core.extension.linear_util import WrappedFun as WrappedFun
from olympus_core.extension.linear_util import cache as cache
from olympus_core.extension.linear_util import merge_linear_aux as merge_linear_aux
from olympus_core.extension.linear_util import transformation as transformation
from olympus_core.extension.linear_util import transformation2 as transformation2
from olympus_core.extension.linear_util import (
    transformation_with_aux as transformation_with_aux,
)
from olympus_core.extension.linear_util import (
    transformation_with_aux2 as transformation_with_aux2,
)
from olympus_core.extension.linear_util import wrap_init as wrap_init
