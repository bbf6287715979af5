"""Measures of classifiers that predict a known class or "new".

If `y_true` contains the labels of hidden classes, pass `known_classes`: all other labels count as
new. If all new rows have the same label, pass it as `new_label`.
"""

from lacforest.metrics._novelty import (
    fpr_at_tpr,
    new_class_auc,
    new_class_average_precision,
    oscr_curve,
    oscr_score,
)
from lacforest.metrics._predictions import (
    accuracy_score,
    augmented_accuracy_score,
    known_accuracy_score,
    macro_f1_score,
    new_class_precision,
    new_class_recall,
    theta_error,
)
from lacforest.metrics._report import augmented_scores

__all__ = [
    "accuracy_score",
    "augmented_accuracy_score",
    "augmented_scores",
    "fpr_at_tpr",
    "known_accuracy_score",
    "macro_f1_score",
    "new_class_auc",
    "new_class_average_precision",
    "new_class_precision",
    "new_class_recall",
    "oscr_curve",
    "oscr_score",
    "theta_error",
]
