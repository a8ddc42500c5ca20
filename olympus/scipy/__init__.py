"""`olympus.scipy`: functions of SciPy, a namespace a subject."""

from olympus.scipy import linalg as linalg
from olympus.scipy import special as special
from olympus.scipy import stats as stats
