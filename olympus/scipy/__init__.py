"""`olympus.scipy`: functions of SciPy, one namespace for each subject."""

from olympus.scipy import linalg as linalg
from olympus.scipy import special as special
from olympus.scipy import stats as stats
