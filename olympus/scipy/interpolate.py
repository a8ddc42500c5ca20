"""`olympus.scipy.interpolate`: values between the points of a regular grid."""

from olympus_core.library.scipy.interpolate import (
    RegularGridInterpolator as RegularGridInterpolator,
)
