"""`olympus.scipy.cluster.vq`: the nearest codes of observations."""

from olympus_core.library.scipy.vq import vq as vq
