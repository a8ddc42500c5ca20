"""ONNX models as functions of arrays."""

from olympus_core.interop.onnx_models.model import OnnxModel as OnnxModel
from olympus_core.interop.onnx_models.model import TensorInfo as TensorInfo
from olympus_core.interop.onnx_models.model import load as load
