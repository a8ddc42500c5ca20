"""`olympus.scipy.spatial`: the module `transform`."""

from olympus.scipy.spatial import transform as transform
