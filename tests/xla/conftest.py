"""Small StableHLO programs as text, and a fixture that runs Python in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MULADD = b"""module @jit_f {
  func.func public @main(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.multiply %c, %x : tensor<i32>
    %1 = stablehlo.add %0, %y : tensor<i32>
    return %1 : tensor<i32>
  }
}"""

MATMUL = b"""module @jit_matmul {
  func.func public @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>)
      -> tensor<512x512xbf16> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
    %1 = stablehlo.tanh %0 : tensor<512x512xbf16>
    return %1 : tensor<512x512xbf16>
  }
}"""

SORT = b"""module @jit_sort {
  func.func public @main(%a: tensor<8x1000xf32>) -> tensor<8x1000xf32> {
    %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %c = stablehlo.compare LT, %x, %y, TOTALORDER
          : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }) : (tensor<8x1000xf32>) -> tensor<8x1000xf32>
    return %0 : tensor<8x1000xf32>
  }
}"""

CONV = b"""module @jit_conv {
  func.func public @main(%a: tensor<8x32x32x16xf32>, %k: tensor<3x3x16x32xf32>)
      -> tensor<8x32x32x32xf32> {
    %0 = stablehlo.convolution(%a, %k)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x32x32x32xf32>
    return %0 : tensor<8x32x32x32xf32>
  }
}"""

REDUCE = b"""module @jit_reduce {
  func.func public @main(%a: tensor<1024x1024xf32>) -> tensor<1024xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    return %0 : tensor<1024xf32>
  }
}"""

CHOLESKY = b"""module @jit_cholesky {
  func.func public @main(%a: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>) {
    %b:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {
      backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
      result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>],
      api_version = 4 : i32} : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
    return %b#0, %b#1 : tensor<3x3xf32>, tensor<i32>
  }
}"""

PROGRAMS = {
    "muladd": MULADD,
    "matmul": MATMUL,
    "sort": SORT,
    "conv": CONV,
    "reduce": REDUCE,
    "cholesky": CHOLESKY,
}


@pytest.fixture(scope="session")
def programs() -> dict[str, bytes]:
    """StableHLO text by name."""
    return PROGRAMS


@pytest.fixture(scope="session")
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python source in a new process, with environment variables."""

    def run(source: str, **env: str) -> subprocess.CompletedProcess[str]:
        base = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
        return subprocess.run(
            [sys.executable, "-c", source],
            cwd=ROOT,
            env={**base, **env},
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    return run
