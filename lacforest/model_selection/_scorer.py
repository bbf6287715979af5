"""A scorer for model selection that needs no labels of the new class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lacforest._input.classifiers import find_classifier
from lacforest._input.parameters import check_known_shares, check_share
from lacforest.metrics import augmented_accuracy_score


@dataclass(frozen=True)
class _AugmentedScorer:
    """What `make_augmented_scorer` returns; an object, so that it can be pickled."""

    theta: float | Literal["fitted"]
    unlabeled_label: Any
    known_shares: Mapping[Any, float] | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        classifier = find_classifier(estimator)
        mark = self.unlabeled_label
        if mark is None:
            mark = getattr(classifier, "unlabeled_label", None)
        if mark is None:
            raise ValueError(
                "it is not known which rows of y are unlabelled: set unlabeled_label of the "
                "classifier, or pass it to make_augmented_scorer"
            )
        return augmented_accuracy_score(
            y,
            estimator.predict(X),
            theta=self._theta_of(classifier),
            new_label=classifier.new_label_,
            unlabeled_label=mark,
            known_shares=self._shares_of(classifier),
        )

    def _shares_of(self, classifier: Any) -> Mapping[Any, float] | None:
        """The given shares, or those that the fitted theta belongs to."""
        if self.known_shares is not None or self.theta != "fitted":
            return self.known_shares
        has_moved = getattr(classifier, "known_shares_interval_", None) is not None
        if not has_moved and isinstance(getattr(classifier, "known_shares", "labeled"), str):
            return None
        shares = classifier.known_shares_.tolist()
        return dict(zip(classifier.known_classes_.tolist(), shares, strict=True))

    def _theta_of(self, classifier: Any) -> float:
        if self.theta != "fitted":
            return self.theta
        if getattr(classifier, "theta_estimator_", None) is None:
            raise ValueError(
                f"theta='fitted' needs a theta that the classifier estimated, but "
                f"{type(classifier).__name__} was given one. Scores of several candidates, each "
                "with its own theta, cannot be compared: pass one number for all, "
                "make_augmented_scorer(theta=...)"
            )
        return float(classifier.theta_)


def make_augmented_scorer(
    theta: float | Literal["fitted"],
    *,
    known_shares: Mapping[Any, float] | None = None,
    unlabeled_label: Any = None,
) -> _AugmentedScorer:
    """Make a scorer that estimates accuracy over known and new rows without labels of new rows.

    It computes `augmented_accuracy_score` on the held-out labelled and unlabelled rows of a fold,
    and can be passed as ``scoring=`` to `GridSearchCV`, `cross_validate` and similar functions.
    Folds must hold out unlabelled rows, as ``AugmentedKFold(unlabeled="split")`` does.

    Parameters
    ----------
    theta : float or "fitted"
        Share of new rows among unlabelled ones. Candidates must be compared by the same theta; see
        Notes. "fitted" uses the ``theta_`` that each fitted classifier estimated.
    known_shares : dict, optional
        Share of every known class among the known rows of deployment, by label. By default those of
        labelled rows; if theta is "fitted", ``known_shares_`` of each classifier where they differ
        from these.
    unlabeled_label : object, default=None
        The label of unlabelled rows in y. None means ``unlabeled_label`` of the classifier.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, where higher is better, for a classifier or a pipeline that
        ends in one.

    Notes
    -----
    *One theta for all candidates.* The score decreases as its theta increases, for any classifier
    that does well on labelled rows. If each candidate were scored by its own theta, the one with
    the lowest theta would win, and classifiers that never predict "new" would look best. Therefore
    pass a number: a known share, or one estimate of `lacforest.mixture.estimate_theta` for all
    rows. Where known classes have other shares in deployment, take theta and ``known_shares`` from
    one `lacforest.mixture.ShareMixture` fitted on all rows. A grid over ``theta`` of the forest is
    then ranked by that number and prefers thetas close to it, so such a search cannot determine
    theta.

    *"fitted"* is meant for `cross_validate` of one classifier, and for searches over parameters
    that do not affect the estimate: with an integer ``random_state``, all parameters of the forest
    except ``theta``. Steps of a pipeline that change the table may change the estimate. A theta
    that was given instead of estimated raises an error, because it may be one of a grid.

    *Chance.* The number of new rows in a fold is random, so the score of a fold has a standard
    error of about ``sqrt(theta * (1 - theta) / n_unlabeled)`` even for a perfect classifier. All
    candidates share the folds, so this part of the error cancels in comparisons.

    *A wrong theta.* An error e in theta adds -e times r to a score, where r is the share of
    labelled rows that are classified correctly minus the share that are called new. A
    theta that is too low therefore favours candidates that rarely predict "new", and the order of
    two candidates changes only if they differ by less than e times the difference of their r.

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
    else:
        theta = check_share(theta)
    if known_shares is not None:
        if not isinstance(known_shares, Mapping):
            raise TypeError(f"known_shares must be a dict of shares by label, got {known_shares!r}")
        check_known_shares(known_shares)
    return _AugmentedScorer(theta, unlabeled_label, known_shares)
