"""Export of fitted forests to the formats of other tools."""

from lacforest.export._onnx import to_onnx
from lacforest.export._sklearn_like import to_sklearn_like

__all__ = ["to_onnx", "to_sklearn_like"]
