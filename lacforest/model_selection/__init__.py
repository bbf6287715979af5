"""Splits of the paper's protocol, and cross-validation without labels of the new class."""

from lacforest._input.ground_truth import mask_hidden
from lacforest.model_selection._cv import AugmentedKFold
from lacforest.model_selection._scorer import make_augmented_scorer
from lacforest.model_selection._split import (
    AugmentedClassSplit,
    AugmentedSplit,
    make_augmented_split,
)

__all__ = [
    "AugmentedClassSplit",
    "AugmentedKFold",
    "AugmentedSplit",
    "make_augmented_scorer",
    "make_augmented_split",
    "mask_hidden",
]
