"""`olympus.scipy.cluster`: the module `vq`."""

from olympus.scipy.cluster import vq as vq
