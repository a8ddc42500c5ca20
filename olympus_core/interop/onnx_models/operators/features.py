"""Features of classical models: n-grams, columns and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import OnnxNode, checked_size, operator

_ML = "ai.onnx.ml"


@operator("ArrayFeatureExtractor", domain=_ML)
def _array_feature_extractor(node: OnnxNode, x: Any, indices: Any) -> Any:
    result = jnp.take(x, jnp.asarray(indices).reshape((-1,)), axis=-1)
    return result.reshape((1, -1)) if x.ndim == 1 else result


@operator("Binarizer", domain=_ML)
def _binarizer(node: OnnxNode, x: Any) -> Any:
    return (x > np.asarray(node.get("threshold", 0.0), x.dtype)).astype(x.dtype)


@operator("TfIdfVectorizer")
def _tf_idf(node: OnnxNode, x: Any) -> Any:
    counts, pool = node.required("ngram_counts"), node.required("pool_int64s")
    indexes = node.required("ngram_indexes")
    shortest, longest = node.required("min_gram_length"), node.required("max_gram_length")
    skips = node.required("max_skip_count")
    x = jnp.asarray(x)
    rows = x if x.ndim == 2 else x.reshape((1, -1))
    size, length = max(indexes) + 1, rows.shape[1]
    if min(indexes) < 0 or checked_size([size]) > 2**24 or not 0 <= skips <= length + 1:
        raise ArtifactError("an index or the skip count is out of range")
    grams = _grams(counts, pool, len(indexes))
    total = jnp.zeros((rows.shape[0], size), "float32")
    for gram, index in zip(grams, indexes, strict=True):
        if not shortest <= len(gram) <= longest:
            continue
        occurrences: Any = 0
        for skip in range(1 if len(gram) == 1 else skips + 1):
            last = length - (len(gram) - 1) * (skip + 1)
            if last < 1:
                break
            matches: Any = True
            for place, item in enumerate(gram):
                start = place * (skip + 1)
                matches = matches & (rows[:, start : start + last] == np.asarray(item, x.dtype))
            occurrences = occurrences + jnp.sum(matches, axis=1)
        total = total.at[:, index].add(jnp.asarray(occurrences, "float32"))
    return _weighted(node, total, indexes, size).reshape((*x.shape[:-1], size))


def _grams(counts: list[int], pool: list[int], number: int) -> list[list[int]]:
    """Return the n-grams in a pool; `counts[n - 1]` is the start of those of `n` items."""
    grams: list[list[int]] = []
    for n, start in enumerate(counts, 1):
        end = counts[n] if n < len(counts) else len(pool)
        if not 0 <= start <= end <= len(pool) or (end - start) % n:
            raise ArtifactError(f"ngram_counts {counts!r:.80} do not match the pool")
        grams.extend(pool[i : i + n] for i in range(start, end, n))
    if len(grams) != number:
        raise ArtifactError(f"{len(grams)} n-grams have {number} indexes")
    return grams


def _weighted(node: OnnxNode, total: Any, indexes: list[int], size: int) -> Any:
    mode, weights = node.required("mode"), node.get("weights")
    factors = np.ones((size,), "float32")
    if weights:
        factors[indexes] = np.asarray(weights, "float32")
    if mode == "TF":
        return total
    present = (total > 0).astype("float32") if mode == "IDF" else total
    return present * factors
