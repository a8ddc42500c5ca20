"""`olympus.scipy.special`: special functions, and sums of exponentials."""

import typing as _typing

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.scipy.special.entropy import entr as entr
from olympus_core.library.scipy.special.entropy import kl_div as kl_div
from olympus_core.library.scipy.special.entropy import log_softmax as log_softmax
from olympus_core.library.scipy.special.entropy import rel_entr as rel_entr
from olympus_core.library.scipy.special.entropy import softmax as softmax
from olympus_core.library.scipy.special.entropy import xlog1py as xlog1py
from olympus_core.library.scipy.special.entropy import xlogy as xlogy
from olympus_core.library.scipy.special.gamma import beta as beta
from olympus_core.library.scipy.special.gamma import betaln as betaln
from olympus_core.library.scipy.special.gamma import boxcox as boxcox
from olympus_core.library.scipy.special.gamma import boxcox1p as boxcox1p
from olympus_core.library.scipy.special.gamma import comb as comb
from olympus_core.library.scipy.special.gamma import digamma as digamma
from olympus_core.library.scipy.special.gamma import erf as erf
from olympus_core.library.scipy.special.gamma import erfc as erfc
from olympus_core.library.scipy.special.gamma import erfinv as erfinv
from olympus_core.library.scipy.special.gamma import expit as expit
from olympus_core.library.scipy.special.gamma import factorial as factorial
from olympus_core.library.scipy.special.gamma import gamma as gamma
from olympus_core.library.scipy.special.gamma import gammaln as gammaln
from olympus_core.library.scipy.special.gamma import gammasgn as gammasgn
from olympus_core.library.scipy.special.gamma import i0 as i0
from olympus_core.library.scipy.special.gamma import i0e as i0e
from olympus_core.library.scipy.special.gamma import i1 as i1
from olympus_core.library.scipy.special.gamma import i1e as i1e
from olympus_core.library.scipy.special.gamma import log_ndtr as log_ndtr
from olympus_core.library.scipy.special.gamma import loggamma as loggamma
from olympus_core.library.scipy.special.gamma import logit as logit
from olympus_core.library.scipy.special.gamma import multigammaln as multigammaln
from olympus_core.library.scipy.special.gamma import ndtr as ndtr
from olympus_core.library.scipy.special.gamma import poch as poch
from olympus_core.library.scipy.special.incomplete import betainc as betainc
from olympus_core.library.scipy.special.incomplete import gammainc as gammainc
from olympus_core.library.scipy.special.incomplete import gammaincc as gammaincc
from olympus_core.library.scipy.special.zeta import polygamma as polygamma
from olympus_core.library.scipy.special.zeta import zeta as zeta
from olympus_core.library.scipy.stats.normal import ndtri as ndtri
from olympus_core.library.softmax import logsumexp as logsumexp

if _typing.TYPE_CHECKING:
    from olympus_core.library.scipy.special.faddeeva import bessel_jn as bessel_jn
    from olympus_core.library.scipy.special.faddeeva import erfcx as erfcx
    from olympus_core.library.scipy.special.faddeeva import owens_t as owens_t
    from olympus_core.library.scipy.special.faddeeva import wofz as wofz
    from olympus_core.library.scipy.special.harmonics import sph_harm_y as sph_harm_y
    from olympus_core.library.scipy.special.hypergeometric import hyp1f1 as hyp1f1
    from olympus_core.library.scipy.special.hypergeometric import hyp2f1 as hyp2f1
    from olympus_core.library.scipy.special.integrals import bernoulli as bernoulli
    from olympus_core.library.scipy.special.integrals import dawsn as dawsn
    from olympus_core.library.scipy.special.integrals import exp1 as exp1
    from olympus_core.library.scipy.special.integrals import expi as expi
    from olympus_core.library.scipy.special.integrals import expn as expn
    from olympus_core.library.scipy.special.integrals import fresnel as fresnel
    from olympus_core.library.scipy.special.integrals import sici as sici
    from olympus_core.library.scipy.special.integrals import spence as spence
    from olympus_core.library.scipy.special.inverses import erfcinv as erfcinv
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        elsewhere={
            "olympus_core.library.scipy.special.harmonics": ("sph_harm_y",),
            "olympus_core.library.scipy.special.hypergeometric": ("hyp1f1", "hyp2f1"),
            "olympus_core.library.scipy.special.inverses": ("erfcinv",),
            "olympus_core.library.scipy.special.faddeeva": (
                "bessel_jn",
                "erfcx",
                "owens_t",
                "wofz",
            ),
            "olympus_core.library.scipy.special.integrals": (
                *("bernoulli", "dawsn", "exp1", "expi"),
                *("expn", "fresnel", "sici", "spence"),
            ),
        },
    )
