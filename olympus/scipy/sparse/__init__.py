"""`olympus.scipy.sparse`: the module `linalg`."""

from olympus.scipy.sparse import linalg as linalg
