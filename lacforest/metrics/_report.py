"""All measures of a fitted classifier at once."""

from __future__ import annotations

import math
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from lacforest.metrics._hidden import read_truth
from lacforest.metrics._novelty import (
    fpr_at_tpr,
    new_class_auc,
    new_class_average_precision,
    oscr_score,
)
from lacforest.metrics._predictions import (
    accuracy_score,
    known_accuracy_score,
    macro_f1_score,
    new_class_precision,
    new_class_recall,
    theta_error,
)


def find_classifier(estimator: Any) -> Any:
    """The fitted classifier in a pipeline or a search, which knows what its new class is."""
    check_is_fitted(estimator)
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator[-1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            break
    if not hasattr(estimator, "new_label_"):
        raise TypeError(
            f"{type(estimator).__name__} has no new_label_: a classifier is needed that predicts a "
            "new class, such as LACForestClassifier"
        )
    if estimator.new_label_ is None:
        raise ValueError(
            f"this {type(estimator).__name__} was fitted without unlabelled rows and knows no new "
            "class: pass X_unlabeled to fit, or mark rows by unlabeled_label"
        )
    return estimator


def augmented_scores(estimator: Any, X: Any, y_true: Any) -> dict[str, float]:
    """All measures of a fitted classifier, by name.

    A function of this form is also what ``scoring=`` of `cross_validate` and `GridSearchCV` takes,
    for folds whose test rows have all their labels.

    Parameters
    ----------
    estimator : LACForestClassifier, or a Pipeline or search that ends in one
        Fitted with unlabelled rows. Any classifier will do that has ``known_classes_``,
        ``new_label_`` and ``predict_proba``.
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        Rows to score.
    y_true : array-like of shape (n_rows,)
        What they are. Labels that the classifier does not know count as new.

    Returns
    -------
    dict of float
        "accuracy", "macro_f1", "known_accuracy", "new_recall", "new_precision", "new_auc",
        "new_average_precision", "new_fpr_at_95_tpr", "oscr", and if the classifier has ``theta_``
        also "theta" and "theta_error", its distance from the share of new rows in `y_true`. NaN
        where `y_true` lacks the rows that a measure needs, known or new ones.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.metrics import augmented_scores
    >>> from lacforest.model_selection import make_augmented_split
    >>> X, y = load_digits(return_X_y=True)
    >>> split = make_augmented_split(X, y, n_labeled=350, n_unlabeled=500, random_state=0)
    >>> forest = LACForestClassifier(theta=0.5, random_state=0)
    >>> forest = forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    >>> scores = augmented_scores(forest, split.X_test, y[split.test])
    >>> scores["accuracy"] > 0.85, scores["new_auc"] > 0.95, scores["theta_error"] < 0.01
    (True, True, True)
    """
    classifier = find_classifier(estimator)
    options = {"known_classes": classifier.known_classes_, "new_label": classifier.new_label_}
    truth = read_truth(y_true, **options)
    predicted, proba = estimator.predict(X), estimator.predict_proba(X)
    has_new, has_known = bool(truth.is_new.any()), not truth.is_new.all()
    measures: list[tuple[str, Any, Any, bool]] = [
        ("accuracy", accuracy_score, predicted, True),
        ("macro_f1", macro_f1_score, predicted, True),
        ("known_accuracy", known_accuracy_score, predicted, has_known),
        ("new_recall", new_class_recall, predicted, has_new),
        ("new_precision", new_class_precision, predicted, True),
        ("new_auc", new_class_auc, proba, has_new and has_known),
        ("new_average_precision", new_class_average_precision, proba, has_new and has_known),
        ("new_fpr_at_95_tpr", fpr_at_tpr, proba, has_new and has_known),
        ("oscr", oscr_score, proba, has_new and has_known),
    ]
    scores = {
        name: measure(truth.y, answer, **options) if is_defined else math.nan
        for name, measure, answer, is_defined in measures
    }
    theta = getattr(classifier, "theta_", None)
    if theta is not None:
        scores |= {"theta": theta, "theta_error": theta_error(truth.y, theta, **options)}
    return scores
