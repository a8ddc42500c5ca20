"""`olympus.scipy.ndimage`: arrays at coordinates between their elements."""

from olympus_core.library.scipy.ndimage import map_coordinates as map_coordinates
