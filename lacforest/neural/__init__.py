"""Deep neural forests that learn with an augmented class, on torch (extra ``[deep]``).

Section 4 and Algorithm 2 of the paper. Nothing else in lacforest imports torch.
"""

try:
    import safetensors as _safetensors  # noqa: F401
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"lacforest.neural needs {error.name}, which is not installed: install lacforest with its "
        "extra [deep], or pip install torch safetensors",
        name=error.name,
    ) from error

from lacforest.neural._classifier import DeepLACForestClassifier
from lacforest.neural._display import TrainingCurveDisplay
from lacforest.neural._encoders import CNNEncoder, MLPEncoder, VGG16Encoder
from lacforest.neural._forest import NeuralForest
from lacforest.neural._hybrid import HybridLACForestClassifier
from lacforest.neural._leaves import LeafStatistics
from lacforest.neural._loss import AugmentedGiniLoss, augmented_gini_loss
from lacforest.neural._memory import LeafMemory
from lacforest.neural._module import DeepForest
from lacforest.neural._training import EpochEnd, TrainingError

__all__ = [
    "AugmentedGiniLoss",
    "CNNEncoder",
    "DeepForest",
    "DeepLACForestClassifier",
    "EpochEnd",
    "HybridLACForestClassifier",
    "LeafMemory",
    "LeafStatistics",
    "MLPEncoder",
    "NeuralForest",
    "TrainingCurveDisplay",
    "TrainingError",
    "VGG16Encoder",
    "augmented_gini_loss",
]
