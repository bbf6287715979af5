"""Forests for learning with an augmented class."""

from lacforest.ensemble.extra_trees import LACExtraTreesClassifier
from lacforest.ensemble.forest import LACForestClassifier

__all__ = ["LACExtraTreesClassifier", "LACForestClassifier"]
