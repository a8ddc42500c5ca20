"""The selection of boxes, which is computed while a model is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.table import MAX_FOLDED, OnnxNode, operator


def _corners(boxes: Any, is_center: bool) -> Any:
    """Return boxes as two corners, the lower one first."""
    if is_center:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)
    low = np.minimum(boxes[..., :2], boxes[..., 2:])
    return np.concatenate([low, np.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def _overlaps(box: Any, others: Any) -> Any:
    """Return the intersection over union of a box with others."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.clip(sides, 0, None).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + areas - common
    return np.where(union > 0, common / np.where(union > 0, union, 1), 0)


def _selection(boxes: Any, scores: Any, most: int, overlap: float, least: float | None) -> Any:
    order = np.argsort(-scores, kind="stable")
    candidates = list(order if least is None else order[scores[order] > least])
    chosen: list[int] = []
    while candidates and len(chosen) < most:
        best = candidates.pop(0)
        chosen.append(int(best))
        rest = np.array(candidates, "int64")
        candidates = list(rest[_overlaps(boxes[best], boxes[rest]) <= overlap])
    return chosen


@operator("NonMaxSuppression", static=(0, 1, 2, 3, 4), folds=True)
def _non_max_suppression(
    node: OnnxNode,
    boxes: Any,
    scores: Any,
    most: Any = None,
    overlap: Any = None,
    least: Any = None,
) -> Any:
    values = [node.static(i) for i in range(5)]
    known, marks = values[0], values[1]
    if known.size > MAX_FOLDED or marks.size > MAX_FOLDED or known.shape[-1] != 4:
        raise ArtifactError(f"boxes of the shape {known.shape} are too many, or not boxes")
    corners = _corners(known.astype("float64"), bool(node.get("center_point_box", 0)))
    count = 0 if values[2] is None else int(values[2].reshape(()))
    limit = 0.0 if values[3] is None else float(values[3].reshape(()))
    floor = None if values[4] is None else float(values[4].reshape(()))
    rows = [
        (batch, kind, box)
        for batch in range(marks.shape[0])
        for kind in range(marks.shape[1])
        for box in _selection(corners[batch], marks[batch, kind], count, limit, floor)
    ]
    return np.array(rows, "int64").reshape((-1, 3))
