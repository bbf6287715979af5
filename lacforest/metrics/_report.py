"""All measures of a fitted classifier at once."""

from __future__ import annotations

import math
from typing import Any

from lacforest._input.classifiers import find_classifier
from lacforest._input.ground_truth import read_truth
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


def augmented_scores(estimator: Any, X: Any, y_true: Any) -> dict[str, float]:
    """All measures of a fitted classifier, by name.

    The function can be passed as ``scoring=`` to `cross_validate` and `GridSearchCV`, if the test
    rows of all folds are labelled.

    Parameters
    ----------
    estimator : LACForestClassifier, or a Pipeline or search that ends in one
        Fitted with unlabelled rows. Any classifier with ``known_classes_``, ``new_label_`` and
        ``predict_proba`` is accepted.
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        Rows to score.
    y_true : array-like of shape (n_rows,)
        True labels. Labels outside of ``known_classes_`` count as new.

    Returns
    -------
    dict of float
        "accuracy", "macro_f1", "known_accuracy", "new_recall", "new_precision", "new_auc",
        "new_average_precision", "new_fpr_at_95_tpr" and "oscr"; if the classifier has ``theta_``,
        also "theta" and "theta_error", its distance from the share of new rows in `y_true`. A
        measure is NaN if `y_true` lacks the known or new rows that it needs.

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
