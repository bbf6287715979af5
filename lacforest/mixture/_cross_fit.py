"""Out-of-fold scores of any scikit-learn classifier for looking unlabelled."""

from __future__ import annotations

import reprlib
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from lacforest._utils.kernel_width import median_gamma
from lacforest._utils.threads import in_threads


def _scores_of(model: Any, X: Any) -> NDArray[np.float64]:
    """Scores that are higher for rows that look unlabelled, which is class 1."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
    else:
        scores = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    return scores.reshape(-1)


def _score_fold(
    scorer: Any, X: Any, is_unlabeled: NDArray[np.int64], train: Any, test: Any, seed: int
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if isinstance(scorer, str):
        from sklearn.svm import SVC  # imported where it is used: it slows every command down

        model = SVC(C=1.0, gamma=median_gamma(X[train], rng))
    else:
        model = clone(scorer)
        states = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        unset = [name for name in states if model.get_params()[name] is None]
        model.set_params(**{name: int(rng.integers(2**31)) for name in unset})
    model.fit(X[train], is_unlabeled[train])
    return _scores_of(model, X[test])


def check_scorer(scorer: Any) -> None:
    """Raise if the scorer cannot compute scores."""
    if isinstance(scorer, str):
        if scorer not in ("forest", "svc"):
            raise ValueError(
                f'scorer must be "forest", "svc" or a scikit-learn classifier, got {scorer!r}'
            )
        return
    if isinstance(scorer, type) or not hasattr(scorer, "fit"):
        raise TypeError(
            f'scorer must be "forest", "svc" or a scikit-learn classifier, got {scorer!r}'
        )
    if not hasattr(scorer, "decision_function") and not hasattr(scorer, "predict_proba"):
        raise TypeError(f"scorer {scorer!r} has neither decision_function nor predict_proba")


def cross_fit_scores(
    scorer: Any, X: Any, n_labeled: int, cv: Any, seed: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """Score each row by a model that is fitted on the other folds.

    Parameters
    ----------
    scorer : "svc" or classifier
        "svc" is an RBF-SVC with C = 1 whose gamma is the reciprocal of the median squared distance
        of its training rows.
    X : array or sparse matrix of shape (n_rows, n_features)
        Labelled rows first.
    n_labeled : int
    cv : int or cross-validation splitter
    seed : int
    n_jobs : int or None

    Returns
    -------
    float64 array of shape (n_rows,)
    """
    from sklearn.model_selection import StratifiedKFold, check_cv

    n_rows = X.shape[0]
    is_unlabeled = (np.arange(n_rows) >= n_labeled).astype(np.int64)
    fold_seed, *seeds = np.random.SeedSequence(seed).generate_state(2).tolist()
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be at least 2, got {cv!r}")
        if min(n_labeled, n_rows - n_labeled) < cv:
            raise ValueError(
                f"cv={cv} folds need at least {cv} labelled and {cv} unlabelled rows, got "
                f"{n_labeled} and {n_rows - n_labeled}: pass a smaller cv, or scorer='forest'"
            )
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=fold_seed)
    if isinstance(scorer, str) and np.isnan(X.data if sparse.issparse(X) else X).any():
        raise ValueError(
            "X or X_unlabeled contains missing values, which an SVC does not accept: use "
            "scorer='forest', or impute them first"
        )
    folds = list(check_cv(cv, is_unlabeled, classifier=True).split(X, is_unlabeled))
    if not folds or any(len(np.unique(is_unlabeled[train])) < 2 for train, _ in folds):
        raise ValueError(
            "cv must give folds with labelled and unlabelled rows among their training rows, but "
            f"{reprlib.repr(cv)} does not"
        )
    tested = np.bincount(np.concatenate([test for _, test in folds]), minlength=n_rows)
    if not (tested == 1).all():
        raise ValueError(
            f"cv must test every row once, but {reprlib.repr(cv)} never tests "
            f"{int((tested == 0).sum())} rows and tests {int((tested > 1).sum())} rows more than "
            "once"
        )
    calls = [
        (scorer, X, is_unlabeled, train, test, seeds[0] + i)
        for i, (train, test) in enumerate(folds)
    ]
    scores = np.empty(n_rows)
    results = in_threads(_score_fold, calls, min(effective_n_jobs(n_jobs), len(calls)))
    for (_, test), fold_scores in zip(folds, results, strict=True):
        scores[test] = fold_scores
    if not np.isfinite(scores).all():
        raise ValueError(f"scorer {scorer!r} returned scores that are not finite")
    return scores
