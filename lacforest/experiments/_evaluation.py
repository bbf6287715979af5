"""The measures of the paper for a fitted method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.metrics import accuracy_score, macro_f1_score, new_class_auc


def evaluate(model: Any, X: Any, y: NDArray[Any], new_label: Any) -> dict[str, float]:
    """Accuracy, macro-F1 and AUC of the new class on test rows.

    Parameters
    ----------
    model : classifier
        Fitted, with the contract of `LACForestClassifier`.
    X : array
    y : ndarray of shape (n_rows,)
        Known labels, and `new_label` for rows of hidden classes.
    new_label : object
    """
    predicted, novelty = _predict(model, X)
    return {
        "accuracy": float(accuracy_score(y, predicted)),
        "macro_f1": float(macro_f1_score(y, predicted)),
        "auc": float(new_class_auc(y, novelty, new_label=new_label)),
    }


def _predict(model: Any, X: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Labels and novelty scores, from a single prediction if the method has probabilities.

    By the contract of the classifiers, the label is then the class of the highest probability, and
    the novelty score the probability of the new class.
    """
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        labels = model.classes_[probabilities.argmax(axis=1)]
        return labels, probabilities[:, model.new_class_index_]
    return model.predict(X), model.novelty_score(X)
