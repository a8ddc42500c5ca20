"""`olympus.lax`: thin functions on the primitives, and control flow on traced values."""

import typing as _typing
from collections.abc import Callable as _Callable

from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.ir.primitive import Primitive as _Primitive
from olympus_core.ir.primitive import op as _op
from olympus_core.library.lax.annotations import optimization_barrier as optimization_barrier
from olympus_core.library.lax.annotations import stop_gradient as stop_gradient
from olympus_core.library.lax.annotations import (
    with_sharding_constraint as with_sharding_constraint,
)
from olympus_core.library.lax.associative import associative_scan as associative_scan
from olympus_core.library.lax.collective import all_gather as all_gather
from olympus_core.library.lax.collective import pmax as pmax
from olympus_core.library.lax.collective import pmean as pmean
from olympus_core.library.lax.collective import pmin as pmin
from olympus_core.library.lax.collective import psum as psum
from olympus_core.library.lax.collective import psum_scatter as psum_scatter
from olympus_core.library.lax.collective_moves import all_to_all as all_to_all
from olympus_core.library.lax.collective_moves import ppermute as ppermute
from olympus_core.library.lax.collective_moves import pshuffle as pshuffle
from olympus_core.library.lax.collective_moves import pswapaxes as pswapaxes
from olympus_core.library.lax.control import cond as cond
from olympus_core.library.lax.control import fori_loop as fori_loop
from olympus_core.library.lax.control import map as map
from olympus_core.library.lax.control import platform_dependent as platform_dependent
from olympus_core.library.lax.control import scan as scan
from olympus_core.library.lax.control import switch as switch
from olympus_core.library.lax.control import while_loop as while_loop
from olympus_core.library.lax.conv import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from olympus_core.library.lax.conv import conv as conv
from olympus_core.library.lax.conv import conv_dimension_numbers as conv_dimension_numbers
from olympus_core.library.lax.conv import conv_general_dilated as conv_general_dilated
from olympus_core.library.lax.conv import (
    conv_general_dilated_patches as conv_general_dilated_patches,
)
from olympus_core.library.lax.conv import conv_general_permutations as conv_general_permutations
from olympus_core.library.lax.conv import conv_general_shape_tuple as conv_general_shape_tuple
from olympus_core.library.lax.conv import conv_shape_tuple as conv_shape_tuple
from olympus_core.library.lax.conv import conv_transpose as conv_transpose
from olympus_core.library.lax.conv import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from olympus_core.library.lax.conv import conv_with_general_padding as conv_with_general_padding
from olympus_core.library.lax.conversion import bitcast_convert_type as bitcast_convert_type
from olympus_core.library.lax.conversion import convert_element_type as convert_element_type
from olympus_core.library.lax.conversion import reduce_precision as reduce_precision
from olympus_core.library.lax.dot import DotAlgorithm as DotAlgorithm
from olympus_core.library.lax.dot import DotAlgorithmPreset as DotAlgorithmPreset
from olympus_core.library.lax.dot import DotDimensionNumbers as DotDimensionNumbers
from olympus_core.library.lax.dot import Precision as Precision
from olympus_core.library.lax.dot import PrecisionLike as PrecisionLike
from olympus_core.library.lax.dot import batch_matmul as batch_matmul
from olympus_core.library.lax.dot import dot as dot
from olympus_core.library.lax.dot import dot_general as dot_general
from olympus_core.library.lax.elementwise import RoundingMethod as RoundingMethod
from olympus_core.library.lax.elementwise import abs as abs
from olympus_core.library.lax.elementwise import acos as acos
from olympus_core.library.lax.elementwise import acosh as acosh
from olympus_core.library.lax.elementwise import add as add
from olympus_core.library.lax.elementwise import asin as asin
from olympus_core.library.lax.elementwise import asinh as asinh
from olympus_core.library.lax.elementwise import atan as atan
from olympus_core.library.lax.elementwise import atan2 as atan2
from olympus_core.library.lax.elementwise import atanh as atanh
from olympus_core.library.lax.elementwise import bitwise_and as bitwise_and
from olympus_core.library.lax.elementwise import bitwise_not as bitwise_not
from olympus_core.library.lax.elementwise import bitwise_or as bitwise_or
from olympus_core.library.lax.elementwise import bitwise_xor as bitwise_xor
from olympus_core.library.lax.elementwise import cbrt as cbrt
from olympus_core.library.lax.elementwise import ceil as ceil
from olympus_core.library.lax.elementwise import clamp as clamp
from olympus_core.library.lax.elementwise import clz as clz
from olympus_core.library.lax.elementwise import complex as complex
from olympus_core.library.lax.elementwise import conj as conj
from olympus_core.library.lax.elementwise import cos as cos
from olympus_core.library.lax.elementwise import cosh as cosh
from olympus_core.library.lax.elementwise import digamma as digamma
from olympus_core.library.lax.elementwise import div as div
from olympus_core.library.lax.elementwise import eq as eq
from olympus_core.library.lax.elementwise import erf as erf
from olympus_core.library.lax.elementwise import erf_inv as erf_inv
from olympus_core.library.lax.elementwise import erfc as erfc
from olympus_core.library.lax.elementwise import exp as exp
from olympus_core.library.lax.elementwise import exp2 as exp2
from olympus_core.library.lax.elementwise import expm1 as expm1
from olympus_core.library.lax.elementwise import floor as floor
from olympus_core.library.lax.elementwise import ge as ge
from olympus_core.library.lax.elementwise import gt as gt
from olympus_core.library.lax.elementwise import imag as imag
from olympus_core.library.lax.elementwise import integer_pow as integer_pow
from olympus_core.library.lax.elementwise import is_finite as is_finite
from olympus_core.library.lax.elementwise import le as le
from olympus_core.library.lax.elementwise import lgamma as lgamma
from olympus_core.library.lax.elementwise import log as log
from olympus_core.library.lax.elementwise import log1p as log1p
from olympus_core.library.lax.elementwise import logistic as logistic
from olympus_core.library.lax.elementwise import lt as lt
from olympus_core.library.lax.elementwise import max as max
from olympus_core.library.lax.elementwise import min as min
from olympus_core.library.lax.elementwise import mul as mul
from olympus_core.library.lax.elementwise import ne as ne
from olympus_core.library.lax.elementwise import neg as neg
from olympus_core.library.lax.elementwise import nextafter as nextafter
from olympus_core.library.lax.elementwise import polygamma as polygamma
from olympus_core.library.lax.elementwise import population_count as population_count
from olympus_core.library.lax.elementwise import pow as pow
from olympus_core.library.lax.elementwise import real as real
from olympus_core.library.lax.elementwise import reciprocal as reciprocal
from olympus_core.library.lax.elementwise import rem as rem
from olympus_core.library.lax.elementwise import round as round
from olympus_core.library.lax.elementwise import rsqrt as rsqrt
from olympus_core.library.lax.elementwise import select as select
from olympus_core.library.lax.elementwise import select_n as select_n
from olympus_core.library.lax.elementwise import shift_left as shift_left
from olympus_core.library.lax.elementwise import shift_right_arithmetic as shift_right_arithmetic
from olympus_core.library.lax.elementwise import shift_right_logical as shift_right_logical
from olympus_core.library.lax.elementwise import sign as sign
from olympus_core.library.lax.elementwise import sin as sin
from olympus_core.library.lax.elementwise import sinh as sinh
from olympus_core.library.lax.elementwise import sqrt as sqrt
from olympus_core.library.lax.elementwise import square as square
from olympus_core.library.lax.elementwise import sub as sub
from olympus_core.library.lax.elementwise import tan as tan
from olympus_core.library.lax.elementwise import tanh as tanh
from olympus_core.library.lax.elementwise import zeta as zeta
from olympus_core.library.lax.fft import FftType as FftType
from olympus_core.library.lax.fft import fft as fft
from olympus_core.library.lax.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from olympus_core.library.lax.indexing import GatherScatterMode as GatherScatterMode
from olympus_core.library.lax.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from olympus_core.library.lax.indexing import gather as gather
from olympus_core.library.lax.indexing import index_take as index_take
from olympus_core.library.lax.indexing import scatter as scatter
from olympus_core.library.lax.indexing import scatter_add as scatter_add
from olympus_core.library.lax.indexing import scatter_apply as scatter_apply
from olympus_core.library.lax.indexing import scatter_max as scatter_max
from olympus_core.library.lax.indexing import scatter_min as scatter_min
from olympus_core.library.lax.indexing import scatter_mul as scatter_mul
from olympus_core.library.lax.indexing import scatter_sub as scatter_sub
from olympus_core.library.lax.named_axes import axis_index as axis_index
from olympus_core.library.lax.named_axes import axis_size as axis_size
from olympus_core.library.lax.named_axes import pcast as pcast
from olympus_core.library.lax.named_axes import pvary as pvary
from olympus_core.library.lax.random import rng_bit_generator as rng_bit_generator
from olympus_core.library.lax.reduction import argmax as argmax
from olympus_core.library.lax.reduction import argmin as argmin
from olympus_core.library.lax.reduction import cumlogsumexp as cumlogsumexp
from olympus_core.library.lax.reduction import cummax as cummax
from olympus_core.library.lax.reduction import cummin as cummin
from olympus_core.library.lax.reduction import cumprod as cumprod
from olympus_core.library.lax.reduction import cumsum as cumsum
from olympus_core.library.lax.reduction import reduce as reduce
from olympus_core.library.lax.reduction import reduce_and as reduce_and
from olympus_core.library.lax.reduction import reduce_max as reduce_max
from olympus_core.library.lax.reduction import reduce_min as reduce_min
from olympus_core.library.lax.reduction import reduce_or as reduce_or
from olympus_core.library.lax.reduction import reduce_prod as reduce_prod
from olympus_core.library.lax.reduction import reduce_sum as reduce_sum
from olympus_core.library.lax.reduction import reduce_xor as reduce_xor
from olympus_core.library.lax.shape import broadcast as broadcast
from olympus_core.library.lax.shape import broadcast_in_dim as broadcast_in_dim
from olympus_core.library.lax.shape import broadcast_like as broadcast_like
from olympus_core.library.lax.shape import broadcast_shapes as broadcast_shapes
from olympus_core.library.lax.shape import broadcast_to_rank as broadcast_to_rank
from olympus_core.library.lax.shape import broadcasted_iota as broadcasted_iota
from olympus_core.library.lax.shape import collapse as collapse
from olympus_core.library.lax.shape import dtype as dtype
from olympus_core.library.lax.shape import empty as empty
from olympus_core.library.lax.shape import expand_dims as expand_dims
from olympus_core.library.lax.shape import full as full
from olympus_core.library.lax.shape import full_like as full_like
from olympus_core.library.lax.shape import iota as iota
from olympus_core.library.lax.shape import reshape as reshape
from olympus_core.library.lax.shape import rev as rev
from olympus_core.library.lax.shape import shape_as_value as shape_as_value
from olympus_core.library.lax.shape import squeeze as squeeze
from olympus_core.library.lax.shape import stage as stage
from olympus_core.library.lax.shape import tile as tile
from olympus_core.library.lax.shape import transpose as transpose
from olympus_core.library.lax.slicing import concatenate as concatenate
from olympus_core.library.lax.slicing import dynamic_index_in_dim as dynamic_index_in_dim
from olympus_core.library.lax.slicing import dynamic_slice as dynamic_slice
from olympus_core.library.lax.slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from olympus_core.library.lax.slicing import (
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
)
from olympus_core.library.lax.slicing import dynamic_update_slice as dynamic_update_slice
from olympus_core.library.lax.slicing import (
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
)
from olympus_core.library.lax.slicing import index_in_dim as index_in_dim
from olympus_core.library.lax.slicing import pad as pad
from olympus_core.library.lax.slicing import slice as slice
from olympus_core.library.lax.slicing import slice_in_dim as slice_in_dim
from olympus_core.library.lax.slicing import split as split
from olympus_core.library.lax.slicing import stack as stack
from olympus_core.library.lax.slicing import unstack as unstack
from olympus_core.library.lax.sort import approx_max_k as approx_max_k
from olympus_core.library.lax.sort import approx_min_k as approx_min_k
from olympus_core.library.lax.sort import sort as sort
from olympus_core.library.lax.sort import sort_key_val as sort_key_val
from olympus_core.library.lax.sort import top_k as top_k
from olympus_core.library.lax.window import padtype_to_pads as padtype_to_pads
from olympus_core.library.lax.window import reduce_window as reduce_window
from olympus_core.library.lax.window import reduce_window_shape_tuple as reduce_window_shape_tuple
from olympus_core.library.special.lax import bessel_i0e as bessel_i0e
from olympus_core.library.special.lax import bessel_i1e as bessel_i1e
from olympus_core.library.special.lax import betainc as betainc
from olympus_core.library.special.lax import igamma as igamma
from olympus_core.library.special.lax import igamma_grad_a as igamma_grad_a
from olympus_core.library.special.lax import igammac as igammac
from olympus_core.library.special.lax import random_gamma_grad as random_gamma_grad
from olympus_core.primitives.conv import ConvDimensionNumbers as ConvDimensionNumbers
from olympus_core.primitives.precision import AccuracyMode as AccuracyMode
from olympus_core.primitives.precision import AccuracyTolerance as _AccuracyTolerance
from olympus_core.primitives.random import RandomAlgorithm as RandomAlgorithm

Tolerance = _AccuracyTolerance

if _typing.TYPE_CHECKING:
    from olympus.lax import linalg as linalg
    from olympus_core.control.composite import composite as composite
    from olympus_core.control.custom_root import custom_root as custom_root
    from olympus_core.control.linear_solve import custom_linear_solve as custom_linear_solve
    from olympus_core.extension.programs.exchanges import pbroadcast as pbroadcast
    from olympus_core.extension.programs.exchanges import ragged_all_to_all as ragged_all_to_all
    from olympus_core.extension.tokens import after_all as after_all
    from olympus_core.extension.tokens import create_token as create_token
    from olympus_core.extension.unstaged_effects import dce_sink as dce_sink
    from olympus_core.extension.unstaged_effects import rng_uniform as rng_uniform
    from olympus_core.library.lax.conv_local import (
        conv_general_dilated_local as conv_general_dilated_local,
    )
    from olympus_core.library.lax.polynomials import log2 as log2
    from olympus_core.library.lax.polynomials import one_minus_square as one_minus_square
    from olympus_core.library.lax.polynomials import polynomial as polynomial
    from olympus_core.library.lax.ragged import (
        RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    )
    from olympus_core.library.lax.ragged import ragged_dot as ragged_dot
    from olympus_core.library.lax.ragged import ragged_dot_general as ragged_dot_general
    from olympus_core.library.lax.scaled_dot import scaled_dot as scaled_dot
    from olympus_core.library.lax.wide_products import mulhi as mulhi

    __getattr__: _Callable[[str], _Primitive]
else:  # the operations themselves too, under the names that programs on the IR know: sin_p
    __getattr__, __dir__ = _on_demand(
        __name__,
        "linalg",
        elsewhere={
            "olympus_core.control.composite": ("composite",),
            "olympus_core.control.custom_root": ("custom_root",),
            "olympus_core.control.linear_solve": ("custom_linear_solve",),
            "olympus_core.extension.composed_primitives": (
                *("approx_top_k_p", "bessel_i0e_p", "eq_to_p", "igamma_grad_a_p"),
                *("igamma_p", "igammac_p", "le_to_p", "linear_solve_p", "log2_p", "lt_to_p"),
                *("mulhi_p", "one_minus_square_p", "polynomial_p"),
                *("regularized_incomplete_beta_p", "stage_p"),
            ),
            "olympus_core.extension.programs.exchanges": (
                *("pbroadcast", "ragged_all_to_all", "ragged_all_to_all_p"),
            ),
            "olympus_core.extension.selection": ("select_and_scatter_p",),
            "olympus_core.extension.tokens": (
                *("after_all", "after_all_p", "create_token", "create_token_p"),
            ),
            "olympus_core.extension.unstaged_effects": (
                *("dce_sink", "dce_sink_p", "rng_uniform", "rng_uniform_p"),
            ),
            "olympus_core.library.lax.conv_local": ("conv_general_dilated_local",),
            "olympus_core.library.lax.polynomials": ("log2", "one_minus_square", "polynomial"),
            "olympus_core.library.lax.ragged": (
                *("RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"),
            ),
            "olympus_core.library.lax.scaled_dot": ("scaled_dot",),
            "olympus_core.library.lax.wide_products": ("mulhi",),
        },
        others=_op.by_public_name,
    )
