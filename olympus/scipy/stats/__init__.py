"""`olympus.scipy.stats`: distributions, one namespace for each."""

from olympus.scipy.stats import norm as norm
