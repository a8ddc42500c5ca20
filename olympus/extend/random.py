"""The implementations of random keys, and their hash."""

from olympus_core.library.random.extension import define_prng_impl as define_prng_impl
from olympus_core.library.random.extension import random_seed as random_seed
from olympus_core.library.random.extension import rbg_prng_impl as rbg_prng_impl
from olympus_core.library.random.extension import seed_with_impl as seed_with_impl
from olympus_core.library.random.extension import threefry_2x32 as threefry_2x32
from olympus_core.library.random.extension import threefry_prng_impl as threefry_prng_impl
from olympus_core.library.random.extension import unsafe_rbg_prng_impl as unsafe_rbg_prng_impl
from olympus_core.primitives.threefry import threefry2x32_p as _threefry2x32_p

threefry2x32_p = _threefry2x32_p
