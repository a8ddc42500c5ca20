"""Node cases of ONNX's backend suite: values, and the refusals of the others."""

from __future__ import annotations

import pytest

from tests.interop.onnx_models.suite import cases, outcome

#: One case of each family, for every change.
SAMPLE = (
    *("add", "matmul_2d", "basic_conv_with_padding", "gemm_all_attributes", "relu"),
    *("softmax_axis_1", "reshape_reordered_all_dims", "maxpool_2d_default", "lstm_defaults"),
    *("quantizelinear_axis", "qlinearconv", "gather_0", "scatter_elements_with_axis", "slice"),
    *("if", "loop11", "scan9_sum", "layer_normalization_2d_axis1", "attention_4d", "cumsum_1d"),
)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_case_has_the_values_of_the_suite(name: str) -> None:
    assert outcome(cases()[f"test_{name}"]) == "passed"
