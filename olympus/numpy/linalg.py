"""`olympus.numpy.linalg`: norms and products of vectors and matrices."""

from olympus_core.library.numpy.einsum import vecdot as vecdot
from olympus_core.library.numpy.linalg import cross as cross
from olympus_core.library.numpy.linalg import diagonal as diagonal
from olympus_core.library.numpy.linalg import matrix_power as matrix_power
from olympus_core.library.numpy.linalg import multi_dot as multi_dot
from olympus_core.library.numpy.linalg import outer as outer
from olympus_core.library.numpy.linalg import tensordot as tensordot
from olympus_core.library.numpy.linalg import trace as trace
from olympus_core.library.numpy.norms import matrix_norm as matrix_norm
from olympus_core.library.numpy.norms import norm as norm
from olympus_core.library.numpy.norms import vector_norm as vector_norm
from olympus_core.library.numpy.orders import matrix_transpose as matrix_transpose
from olympus_core.library.numpy.products import matmul as matmul
