"""The compared methods of the paper's Table 2, with the contract of DeepLACForestClassifier."""

from lacforest.neural.baselines._arpl import ARPLClassifier
from lacforest.neural.baselines._deep_eulac import DeepEULACClassifier
from lacforest.neural.baselines._deep_glac import DeepGLACClassifier
from lacforest.neural.baselines._gopenmax import GOpenMaxClassifier
from lacforest.neural.baselines._openmax import OpenMaxClassifier
from lacforest.neural.baselines._osrci import OSRCIClassifier
from lacforest.neural.baselines._softmax_threshold import SoftmaxThresholdClassifier

__all__ = [
    "ARPLClassifier",
    "DeepEULACClassifier",
    "DeepGLACClassifier",
    "GOpenMaxClassifier",
    "OSRCIClassifier",
    "OpenMaxClassifier",
    "SoftmaxThresholdClassifier",
]
