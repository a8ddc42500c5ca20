"""`olympus.scipy.linalg`: decompositions, equations, and structured matrices."""

from olympus_core.library.scipy.linalg.decompositions import cho_factor as cho_factor
from olympus_core.library.scipy.linalg.decompositions import cholesky as cholesky
from olympus_core.library.scipy.linalg.decompositions import eigh as eigh
from olympus_core.library.scipy.linalg.decompositions import lu as lu
from olympus_core.library.scipy.linalg.decompositions import lu_factor as lu_factor
from olympus_core.library.scipy.linalg.decompositions import polar as polar
from olympus_core.library.scipy.linalg.decompositions import qr as qr
from olympus_core.library.scipy.linalg.decompositions import svd as svd
from olympus_core.library.scipy.linalg.equations import cho_solve as cho_solve
from olympus_core.library.scipy.linalg.equations import det as det
from olympus_core.library.scipy.linalg.equations import inv as inv
from olympus_core.library.scipy.linalg.equations import lu_solve as lu_solve
from olympus_core.library.scipy.linalg.equations import solve as solve
from olympus_core.library.scipy.linalg.equations import solve_triangular as solve_triangular
from olympus_core.library.scipy.linalg.exponential import expm as expm
from olympus_core.library.scipy.linalg.exponential import expm_frechet as expm_frechet
from olympus_core.library.scipy.linalg.forms import funm as funm
from olympus_core.library.scipy.linalg.forms import hessenberg as hessenberg
from olympus_core.library.scipy.linalg.forms import rsf2csf as rsf2csf
from olympus_core.library.scipy.linalg.forms import schur as schur
from olympus_core.library.scipy.linalg.forms import solve_sylvester as solve_sylvester
from olympus_core.library.scipy.linalg.forms import sqrtm as sqrtm
from olympus_core.library.scipy.linalg.more_decompositions import (
    eigh_tridiagonal as eigh_tridiagonal,
)
from olympus_core.library.scipy.linalg.more_decompositions import qr_multiply as qr_multiply
from olympus_core.library.scipy.linalg.structured import block_diag as block_diag
from olympus_core.library.scipy.linalg.structured import circulant as circulant
from olympus_core.library.scipy.linalg.structured import companion as companion
from olympus_core.library.scipy.linalg.structured import convolution_matrix as convolution_matrix
from olympus_core.library.scipy.linalg.structured import dft as dft
from olympus_core.library.scipy.linalg.structured import fiedler as fiedler
from olympus_core.library.scipy.linalg.structured import fiedler_companion as fiedler_companion
from olympus_core.library.scipy.linalg.structured import hadamard as hadamard
from olympus_core.library.scipy.linalg.structured import hankel as hankel
from olympus_core.library.scipy.linalg.structured import helmert as helmert
from olympus_core.library.scipy.linalg.structured import hilbert as hilbert
from olympus_core.library.scipy.linalg.structured import invhilbert as invhilbert
from olympus_core.library.scipy.linalg.structured import invpascal as invpascal
from olympus_core.library.scipy.linalg.structured import leslie as leslie
from olympus_core.library.scipy.linalg.structured import pascal as pascal
from olympus_core.library.scipy.linalg.structured import toeplitz as toeplitz
