"""Importances by permutation, with scores that include the new class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import inspection

from lacforest._input.classifiers import find_classifier
from lacforest._input.labels import as_labels, find_sentinel
from lacforest.metrics import accuracy_score, new_class_auc
from lacforest.model_selection import make_augmented_scorer


def new_class_scores(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Probability of the new class by a classifier, or by a pipeline that ends in one."""
    classifier = find_classifier(estimator)
    is_new = classifier.classes_ == classifier.new_label_
    scores: NDArray[np.float64] = estimator.predict_proba(X)[:, is_new][:, 0]
    return scores


# Objects instead of nested functions, so that they can be pickled.
@dataclass(frozen=True)
class _Accuracy:
    """Accuracy, if all rows are labelled."""

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        classifier = find_classifier(estimator)
        return accuracy_score(
            y,
            estimator.predict(X),
            known_classes=classifier.known_classes_,
            new_label=classifier.new_label_,
        )


@dataclass(frozen=True)
class _NewClassAUC:
    """AUC of the new class, if all rows are labelled."""

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        classifier = find_classifier(estimator)
        return new_class_auc(
            y,
            new_class_scores(estimator, X),
            known_classes=classifier.known_classes_,
            new_label=classifier.new_label_,
        )


@dataclass(frozen=True)
class _LabelFreeAUC:
    """AUC of the new class, estimated from labelled and unlabelled rows.

    A share theta of the unlabelled rows is new, and the others rank like labelled ones. The AUC of
    unlabelled against labelled rows is therefore ``theta * auc + (1 - theta) / 2``.
    """

    theta: float
    unlabeled_label: Any

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        is_unlabeled = find_sentinel(as_labels(y), self.unlabeled_label)
        of_unlabeled = new_class_auc(is_unlabeled, new_class_scores(estimator, X), new_label=True)
        return (of_unlabeled - (1 - self.theta) / 2) / self.theta


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Literal["accuracy", "new_class_auc"] = "accuracy",
    unlabeled_label: Any = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Decrease of a score when the values of a feature are shuffled.

    This is `sklearn.inspection.permutation_importance` with scores that count "new" as right for
    every class that was hidden in the fit. If `y` marks unlabelled rows, scores are estimated
    without labels of the new class.

    Parameters
    ----------
    estimator : LACForestClassifier, or a Pipeline or search that ends in one
        Fitted with unlabelled rows.
    X : array-like or frame of shape (n_rows, n_features)
        Rows that were not used in the fit; on training rows the scores are too high.
    y : array-like of shape (n_rows,)
        True labels, where those outside of the known classes count as new; or known labels, and
        the mark of unlabelled rows.
    scoring : {"accuracy", "new_class_auc"}, default="accuracy"
        "accuracy" over known and new rows shows which features the forest uses at all;
        "new_class_auc", which of them separate new rows from known ones.
    unlabeled_label : object, default=None
        The label of unlabelled rows in `y`. None means ``unlabeled_label`` of the forest, if it
        occurs in `y`.
    n_repeats : int, default=5
        Number of shuffles per feature.
    n_jobs : int or None, default=None
        As in joblib.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Bunch
        ``importances_mean``, ``importances_std`` and ``importances``, as in scikit-learn.

    See Also
    --------
    new_versus_known_importances : Needs no rows.

    Notes
    -----
    Features with the same information replace each other, so shuffling one of them changes the
    score little.

    If unlabelled rows are marked, scores depend on the theta of the forest. "accuracy" is then
    `lacforest.metrics.augmented_accuracy_score`. The AUC of unlabelled against labelled rows is
    ``theta * auc + (1 - theta) / 2``, where ``auc`` is the AUC of the new class, and
    "new_class_auc" is computed from this equation. Both are unbiased if theta is right, and their
    errors mostly cancel in a difference.

    Examples
    --------
    The first feature separates two known classes, the second both from the new class.

    >>> import numpy as np
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.inspection import permutation_importance
    >>> toy = make_figure1(500, 1000, random_state=0)
    >>> forest = LACForestClassifier(theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> fresh = make_figure1(500, 1000, random_state=1)
    >>> X = np.vstack([fresh.X_labeled, fresh.X_unlabeled])
    >>> y = np.append(fresh.y_labeled, np.full(1000, -9))  # -9 is unlabelled
    >>> for scoring in ("accuracy", "new_class_auc"):
    ...     drop = permutation_importance(
    ...         forest, X, y, scoring=scoring, unlabeled_label=-9, random_state=0
    ...     )
    ...     print(scoring, drop.importances_mean.round(1))
    accuracy [0.2 0.4]
    new_class_auc [0.  0.4]
    """
    scorer = _make_scorer(find_classifier(estimator), as_labels(y), scoring, unlabeled_label)
    return inspection.permutation_importance(
        estimator,
        X,
        y,
        scoring=scorer,
        n_repeats=n_repeats,
        n_jobs=n_jobs,
        random_state=random_state,
    )


def _make_scorer(classifier: Any, y: NDArray[Any], scoring: Any, unlabeled_label: Any) -> Any:
    if scoring not in ("accuracy", "new_class_auc"):
        raise ValueError(f'scoring must be "accuracy" or "new_class_auc", got {scoring!r}')
    mark = unlabeled_label
    if mark is None:
        mark = getattr(classifier, "unlabeled_label", None)
    is_unlabeled = find_sentinel(y, mark) if mark is not None else np.zeros(len(y), dtype=bool)
    if not is_unlabeled.any():
        if unlabeled_label is not None:
            raise ValueError(
                f"no row of y is marked by unlabeled_label={unlabeled_label!r}: leave it out if "
                "all rows of y are labelled"
            )
        return _Accuracy() if scoring == "accuracy" else _NewClassAUC()
    if is_unlabeled.all():
        raise ValueError(
            "all rows of y are marked as unlabelled: the scores also need labelled rows of known "
            "classes"
        )
    if scoring == "accuracy":
        return make_augmented_scorer(float(classifier.theta_), unlabeled_label=mark)
    if classifier.theta_ == 0:
        raise ValueError(
            "theta of the forest is 0: without new rows the AUC of the new class is undefined"
        )
    return _LabelFreeAUC(float(classifier.theta_), mark)
