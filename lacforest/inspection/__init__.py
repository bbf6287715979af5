"""What a fitted forest goes by, in numbers and in pictures."""

from lacforest.inspection._confusion import ConfusionDisplay
from lacforest.inspection._decision_region import DecisionRegionDisplay
from lacforest.inspection._importances import new_versus_known_importances
from lacforest.inspection._novelty_histogram import NoveltyHistogramDisplay
from lacforest.inspection._oscr import OSCRDisplay
from lacforest.inspection._permutation import permutation_importance
from lacforest.inspection._plot_tree import plot_tree
from lacforest.inspection._theta_sensitivity import ThetaSensitivityDisplay

__all__ = [
    "ConfusionDisplay",
    "DecisionRegionDisplay",
    "NoveltyHistogramDisplay",
    "OSCRDisplay",
    "ThetaSensitivityDisplay",
    "new_versus_known_importances",
    "permutation_importance",
    "plot_tree",
]
