"""A scorer for model selection that needs no label of the new class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lacforest.metrics import augmented_accuracy_score
from lacforest.metrics._predictions import check_share
from lacforest.metrics._report import find_classifier


@dataclass(frozen=True)
class _AugmentedScorer:
    """What `make_augmented_scorer` returns. An object, so that it can be sent to processes."""

    theta: float | Literal["fitted"]
    unlabeled_label: Any

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        classifier = find_classifier(estimator)
        mark = self.unlabeled_label
        if mark is None:
            mark = getattr(classifier, "unlabeled_label", None)
        if mark is None:
            raise ValueError(
                "what marks unlabelled rows in y? Set unlabeled_label of the classifier, or pass "
                "it to make_augmented_scorer"
            )
        return augmented_accuracy_score(
            y,
            estimator.predict(X),
            theta=self._theta_of(classifier),
            new_label=classifier.new_label_,
            unlabeled_label=mark,
        )

    def _theta_of(self, classifier: Any) -> float:
        if self.theta != "fitted":
            return self.theta
        if getattr(classifier, "theta_estimator_", None) is None:
            raise ValueError(
                f"theta='fitted' takes a theta that the classifier estimated, but "
                f"{type(classifier).__name__} was given one. If it is one of several candidates, "
                "scores by their own thetas cannot be compared: pass one number for all, "
                "make_augmented_scorer(theta=...)"
            )
        return float(classifier.theta_)


def make_augmented_scorer(
    theta: float | Literal["fitted"], *, unlabeled_label: Any = None
) -> _AugmentedScorer:
    """Make a scorer that estimates accuracy over known and new rows without a new label.

    It is `augmented_accuracy_score` on the held-out labelled and unlabelled rows of a fold, for
    ``scoring=`` of `GridSearchCV`, `cross_validate` and the like. Folds must hold out unlabelled
    rows: ``AugmentedKFold(unlabeled="split")`` does.

    Parameters
    ----------
    theta : float or "fitted"
        Share of new rows among unlabelled ones. Candidates can be compared by one theta only; see
        Notes. "fitted" takes the ``theta_`` that each fitted classifier estimated.
    unlabeled_label : object, default=None
        What marks unlabelled rows in y. None takes ``unlabeled_label`` of the classifier.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, higher is better, for a classifier or a pipeline that ends in
        one.

    Notes
    -----
    *One theta for all candidates.* The score falls as its theta rises, for any classifier that
    does well on labelled rows. Were each candidate scored by a theta of its own, the one with the
    lowest theta would win, and classifiers that never say "new" would look best of all. So pass a
    number: what you know, or what `lacforest.mixture.estimate_theta` says once about all rows. A
    grid over ``theta`` of the forest is then ranked by that number, and prefers thetas close to
    it: such a search cannot tell what theta is.

    *"fitted"* is for `cross_validate` of one classifier, and for searches over parameters that
    leave the estimate alone: with an integer ``random_state``, the forest's own parameters but
    ``theta``. Steps of a pipeline that change the table may change the estimate. A theta that
    was given and not estimated is refused, because it may be one of a grid.

    *Chance.* How many new rows a fold holds is random, and so the score of a fold has a standard
    error of about ``sqrt(theta * (1 - theta) / n_unlabeled)`` even for a perfect classifier. All
    candidates share the folds: that part of the error cancels where they are compared.

    *A wrong theta.* An error e in theta adds -e times r to a score, where r is the share of
    labelled rows that are classified right less the share that are called new. So a theta too low
    favours candidates that seldom say "new", and the order of two candidates changes only if they
    are closer than e times the difference of their r.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.mixture import estimate_theta
    >>> from lacforest.model_selection import (
    ...     AugmentedKFold, make_augmented_scorer, make_augmented_split
    ... )
    >>> X, y = load_digits(return_X_y=True)
    >>> split = make_augmented_split(X, y, n_labeled=350, n_unlabeled=500, random_state=0)
    >>> known, deployed = split.X_labeled, split.X_unlabeled
    >>> table = np.vstack([known, deployed])
    >>> labels = np.append(split.y_labeled, np.full(len(deployed), -1))  # -1 is unlabelled
    >>> search = GridSearchCV(
    ...     LACForestClassifier(20, unlabeled_label=-1, random_state=0),
    ...     {"max_depth": [1, None]},
    ...     scoring=make_augmented_scorer(estimate_theta(known, deployed, random_state=0).theta),
    ...     cv=AugmentedKFold(3, unlabeled_label=-1, random_state=0),
    ... )
    >>> search.fit(table, labels).best_params_
    {'max_depth': None}
    """
    if isinstance(theta, str):
        if theta != "fitted":
            raise ValueError(f'theta must be a number in [0, 1] or "fitted", got {theta!r}')
        return _AugmentedScorer("fitted", unlabeled_label)
    return _AugmentedScorer(check_share(theta), unlabeled_label)
