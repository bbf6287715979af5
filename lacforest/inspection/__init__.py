"""Importances and plots of fitted forests."""

from lacforest.inspection._column_shift import ColumnShift, column_shift
from lacforest.inspection._confusion import ConfusionDisplay
from lacforest.inspection._decision_region import DecisionRegionDisplay
from lacforest.inspection._explain import Explanation, Reason, explain
from lacforest.inspection._history import draw_history
from lacforest.inspection._importances import new_versus_known_importances
from lacforest.inspection._novelty_histogram import NoveltyHistogramDisplay
from lacforest.inspection._oscr import OSCRDisplay
from lacforest.inspection._permutation import permutation_importance
from lacforest.inspection._plot_tree import plot_tree
from lacforest.inspection._shap import ShapValues, shap_values
from lacforest.inspection._theta_sensitivity import ThetaSensitivityDisplay

__all__ = [
    "ColumnShift",
    "ConfusionDisplay",
    "DecisionRegionDisplay",
    "Explanation",
    "NoveltyHistogramDisplay",
    "OSCRDisplay",
    "Reason",
    "ShapValues",
    "ThetaSensitivityDisplay",
    "column_shift",
    "draw_history",
    "explain",
    "new_versus_known_importances",
    "permutation_importance",
    "plot_tree",
    "shap_values",
]
