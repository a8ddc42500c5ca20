"""Random numbers: keys, and samples drawn by them."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.random.binomial import binomial as binomial
from olympus_core.library.random.binomial import multinomial as multinomial
from olympus_core.library.random.continuous import cauchy as cauchy
from olympus_core.library.random.continuous import exponential as exponential
from olympus_core.library.random.continuous import gumbel as gumbel
from olympus_core.library.random.continuous import laplace as laplace
from olympus_core.library.random.continuous import logistic as logistic
from olympus_core.library.random.continuous import pareto as pareto
from olympus_core.library.random.continuous import rayleigh as rayleigh
from olympus_core.library.random.continuous import triangular as triangular
from olympus_core.library.random.continuous import wald as wald
from olympus_core.library.random.continuous import weibull_min as weibull_min
from olympus_core.library.random.discrete import bernoulli as bernoulli
from olympus_core.library.random.discrete import categorical as categorical
from olympus_core.library.random.discrete import geometric as geometric
from olympus_core.library.random.discrete import rademacher as rademacher
from olympus_core.library.random.gamma import ball as ball
from olympus_core.library.random.gamma import beta as beta
from olympus_core.library.random.gamma import chisquare as chisquare
from olympus_core.library.random.gamma import dirichlet as dirichlet
from olympus_core.library.random.gamma import f as f
from olympus_core.library.random.gamma import gamma as gamma
from olympus_core.library.random.gamma import generalized_normal as generalized_normal
from olympus_core.library.random.gamma import loggamma as loggamma
from olympus_core.library.random.gamma import t as t
from olympus_core.library.random.key_functions import PRNGKey as PRNGKey
from olympus_core.library.random.key_functions import clone as clone
from olympus_core.library.random.key_functions import fold_in as fold_in
from olympus_core.library.random.key_functions import key as key
from olympus_core.library.random.key_functions import key_data as key_data
from olympus_core.library.random.key_functions import key_dtype as key_dtype
from olympus_core.library.random.key_functions import key_impl as key_impl
from olympus_core.library.random.key_functions import split as split
from olympus_core.library.random.key_functions import wrap_key_data as wrap_key_data
from olympus_core.library.random.keys import KeyArray as _KeyArray
from olympus_core.library.random.normal import double_sided_maxwell as double_sided_maxwell
from olympus_core.library.random.normal import lognormal as lognormal
from olympus_core.library.random.normal import maxwell as maxwell
from olympus_core.library.random.normal import normal as normal
from olympus_core.library.random.normal import truncated_normal as truncated_normal
from olympus_core.library.random.permutation import choice as choice
from olympus_core.library.random.permutation import permutation as permutation
from olympus_core.library.random.poisson import poisson as poisson
from olympus_core.library.random.uniform import bits as bits
from olympus_core.library.random.uniform import randint as randint
from olympus_core.library.random.uniform import uniform as uniform

Key = _KeyArray

if _typing.TYPE_CHECKING:
    from olympus_core.extension.sampling import random_gamma_p as random_gamma_p
    from olympus_core.library.random.matrices import multivariate_normal as multivariate_normal
    from olympus_core.library.random.matrices import orthogonal as orthogonal
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.extension.sampling": ("random_gamma_p",),
            "olympus_core.library.random.matrices": ("multivariate_normal", "orthogonal"),
        },
    )
