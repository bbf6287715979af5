"""The classifier inside a pipeline or a search."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def unwrap(estimator: Any) -> Any:
    """The last step of a fitted pipeline, the best estimator of a search; others as they are."""
    check_is_fitted(estimator)
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return estimator


def find_classifier(estimator: Any) -> Any:
    """The fitted classifier in a pipeline or a search; it must have a new class."""
    classifier = unwrap(estimator)
    if not hasattr(classifier, "new_label_"):
        raise TypeError(
            f"{type(classifier).__name__} has no new_label_: a classifier is needed that predicts "
            "a new class, such as LACForestClassifier"
        )
    if classifier.new_label_ is None:
        raise ValueError(
            f"this {type(classifier).__name__} was fitted without unlabelled rows and has no new "
            "class: pass X_unlabeled to fit, or mark rows by unlabeled_label"
        )
    return classifier
