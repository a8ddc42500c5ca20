"""Node cases of ONNX's backend suite: values, and the refusals of the others."""

from __future__ import annotations

import collections

import pytest

from olympus.errors import OlympusError
from tests.interop.onnx_models.suite import cases, outcome

#: One case of each family, for every change.
SAMPLE = (
    *("add", "matmul_2d", "basic_conv_with_padding", "gemm_all_attributes", "relu"),
    *("softmax_axis_1", "reshape_reordered_all_dims", "maxpool_2d_default", "lstm_defaults"),
    *("quantizelinear_axis", "qlinearconv", "gather_0", "scatter_elements_with_axis", "slice"),
    *("if", "loop11", "scan9_sum", "layer_normalization_2d_axis1", "attention_4d", "cumsum_1d"),
    *("resize_upsample_scales_cubic", "gridsample_bicubic", "dft", "roialign_mode_max", "col2im"),
    *("basic_deform_conv_with_padding", "nonmaxsuppression_identical_boxes", "top_k", "pow"),
    *("tfidfvectorizer_tf_batch_onlybigrams_skip0", "matmulinteger", "einsum_batch_matmul"),
    *("cast_FLOAT_to_BFLOAT16", "dequantizelinear_blocked", "nllloss_NCd1_ii", "gru_batchwise"),
    *("convtranspose_output_shape", "averagepool_2d_ceil", "stft", "tril_neg"),
)
#: The number of all cases by outcome.
COUNTS = {
    "passed": 1760,
    "2-bit integers": 34,
    "strings": 26,
    "sequences": 23,
    "training": 13,
    "optionals": 11,
    "compressed images": 9,
    "random numbers": 6,
    "tree ensembles": 2,
}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_case_has_the_values_of_the_suite(name: str) -> None:
    assert outcome(cases()[f"test_{name}"]) == "passed"


@pytest.mark.night
def test_every_case_passes_or_is_refused_for_a_known_reason() -> None:
    counts: collections.Counter[str] = collections.Counter()
    failures = {}
    for name, case in cases().items():
        try:
            counts[outcome(case)] += 1
        except (AssertionError, OlympusError) as error:
            failures[name] = " ".join(str(error).split())[:300]
    assert not failures, "\n".join(f"{name}: {text}" for name, text in failures.items())
    assert counts == COUNTS
