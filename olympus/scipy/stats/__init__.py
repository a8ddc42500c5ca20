"""`olympus.scipy.stats`: distributions, a namespace each."""

from olympus.scipy.stats import norm as norm
