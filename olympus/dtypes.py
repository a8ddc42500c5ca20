"""Queries of dtypes: limits, promotion and categories, also of random keys."""

from ml_dtypes import bfloat16 as bfloat16

from olympus_core.base.dtypes import canonicalize_dtype as canonicalize_dtype
from olympus_core.base.dtypes import extended as extended
from olympus_core.base.dtypes import finfo as finfo
from olympus_core.base.dtypes import float0 as float0
from olympus_core.base.dtypes import iinfo as iinfo
from olympus_core.base.dtypes import is_sub_dtype as _is_sub_dtype
from olympus_core.base.dtypes import itemsize_bits as itemsize_bits
from olympus_core.base.dtypes import prng_key as prng_key
from olympus_core.base.dtypes import scalar_type_of as scalar_type_of
from olympus_core.base.errors import TypePromotionError as TypePromotionError
from olympus_core.library.numpy.dtypes.queries import result_type as result_type

issubdtype = _is_sub_dtype
