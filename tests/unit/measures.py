"""The measures by what they take: predicted labels or novelty scores."""

from lacforest.metrics import (
    accuracy_score,
    fpr_at_tpr,
    known_accuracy_score,
    macro_f1_score,
    new_class_auc,
    new_class_average_precision,
    new_class_precision,
    new_class_recall,
)

OF_LABELS = [accuracy_score, macro_f1_score, known_accuracy_score]
OF_LABELS += [new_class_recall, new_class_precision]
OF_SCORES = [new_class_auc, new_class_average_precision, fpr_at_tpr]
