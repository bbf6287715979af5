"""Decisions by name: false discovery rate and power, on fresh rows and on rows of the fit.

The same draws also show which score orders the unlabelled rows of a fit best, and how far the
probability of "new" can be believed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from lacforest.calibration import NoveltyCalibrator
from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.experiments._discriminator import DiscriminatorForest
from lacforest.experiments._life import NEW, Measured

DATASETS = "optdigits,satimage,letter"
POINTS = ("theta .3", "theta .05", "theta .01")
LEVELS = (0.05, 0.1, 0.2)
BUDGET = 50
N_LABELED, N_CALIBRATION, N_UNLABELED, N_FRESH = 700, 250, 800, 600
_BINS = 10


class _ScoredDiscriminator(DiscriminatorForest):
    """The rival as `NoveltyCalibrator` needs it."""

    def __init__(self, random_state: int = 0) -> None:
        super().__init__(random_state, None)
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"random_state": self.random_state}

    def novelty_score(self, X: Any) -> NDArray[np.float64]:
        return self.predict_proba(X)[:, self.new_class_index_]


def measure_decisions(
    X: NDArray[np.float64], y: NDArray[Any], point: str, rng: np.random.Generator
) -> Measured:
    """Calibrate both methods and let them judge fresh and fitted rows."""
    theta = float(point.split()[1])
    values = rng.permutation(np.unique(y))
    known = values[: len(values) - len(values) // 2]
    labels = np.where(np.isin(y, known), y, NEW)
    old = rng.permutation(np.flatnonzero(labels != NEW))
    new = rng.permutation(np.flatnonzero(labels == NEW))
    labeled, old = old[:N_LABELED], old[N_LABELED:]
    n_new = round(theta * N_UNLABELED), round(theta * N_FRESH)
    unlabeled = rng.permutation(np.concatenate([old[: N_UNLABELED - n_new[0]], new[: n_new[0]]]))
    old, new = old[N_UNLABELED - n_new[0] :], new[n_new[0] :]
    fresh = rng.permutation(np.concatenate([old[: N_FRESH - n_new[1]], new[: n_new[1]]]))
    seed = int(rng.integers(2**31))
    measured: Measured = {}
    for name, estimator in (
        ("lacextratrees", LACExtraTreesClassifier(random_state=seed)),
        ("discriminator", _ScoredDiscriminator(seed)),
    ):
        calibrator = NoveltyCalibrator(
            estimator, calibration_size=N_CALIBRATION, random_state=seed
        ).fit(X[labeled], labels[labeled], X_unlabeled=X[unlabeled])
        is_new = labels[fresh] == NEW, labels[unlabeled] == NEW
        for level in LEVELS:
            selected = calibrator.select(X[fresh], fdr=level).mask
            measured[f"{name}, fresh, fdr {level:g}"] = _errors(selected, is_new[0])
            selected = calibrator.select_unlabeled(fdr=level).mask
            measured[f"{name}, fitted, fdr {level:g}"] = _errors(selected, is_new[1])
        flagged = calibrator.p_value(X[fresh]) <= calibrator.threshold(0.01)
        measured[f"{name}, fresh, max_fpr 0.01"] = _errors(flagged, is_new[0])
        budget = calibrator.select(X[fresh], n_rows=BUDGET)
        measured[f"{name}, fresh, budget {BUDGET}"] = _errors(budget.mask, is_new[0]) | {
            "estimated": budget.estimated_fdr
        }
        if isinstance(estimator, LACExtraTreesClassifier):
            measured |= _scores(calibrator, X, unlabeled, is_new[1])
            raw = calibrator.estimator_.novelty_score(X[fresh])
            measured["probability, raw"] = _reliability(raw, is_new[0])
            calibrated = calibrator.new_probability(X[fresh])
            measured["probability, calibrated"] = _reliability(calibrated, is_new[0])
    return measured


def _errors(selected: NDArray[np.bool_], is_new: NDArray[np.bool_]) -> dict[str, float]:
    false = int((selected & ~is_new).sum())
    return {
        "fdr": false / max(1, int(selected.sum())),
        "power": float(selected[is_new].mean()) if is_new.any() else np.nan,
        "fpr": false / max(1, int((~is_new).sum())),
        "n_rows": float(selected.sum()),
    }


def _scores(
    calibrator: NoveltyCalibrator,
    X: NDArray[np.float64],
    unlabeled: NDArray[np.intp],
    is_new: NDArray[np.bool_],
) -> Measured:
    """Order of the unlabelled rows of the fit by three scores."""
    forest = calibrator.estimator_
    scores = {
        "in-sample": forest.novelty_score(X[unlabeled]),
        "exploration": forest.unlabeled_score_,
        "two folds": calibrator.unlabeled_scores(),
    }
    found = {}
    for name, score in scores.items():
        first = np.argsort(-score, kind="stable")[: int(is_new.sum())]
        found[f"fitted rows by {name} score"] = {
            "auc": float(roc_auc_score(is_new, score)),
            "precision": float(is_new[first].mean()),
            "ties": float((score == score.max()).sum()),
        }
    return found


def _reliability(probability: NDArray[np.float64], is_new: NDArray[np.bool_]) -> dict[str, float]:
    """Expected calibration error and Brier score, and the share of new rows in each bin."""
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    error, found = 0.0, {}
    for b in range(_BINS):
        inside = bins == b
        if inside.any():
            error += float(abs(probability[inside].mean() - is_new[inside].mean()) * inside.mean())
            found[f"said {b}"] = float(probability[inside].mean())
            found[f"true {b}"] = float(is_new[inside].mean())
    return found | {"ece": error, "brier": float(((probability - is_new) ** 2).mean())}
