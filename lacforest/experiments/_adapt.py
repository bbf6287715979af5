"""Another batch, same trees: accuracy and error of theta where shares of classes have moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.experiments._life import NEW, Measured, take_by_class
from lacforest.mixture import estimate_theta

DATASETS = "optdigits,pendigits,texture,letter"
# Share of new rows in the batch, and known classes as in the fit or every other one four times as
# frequent. "like the fit" is drawn in the same way as the fit.
POINTS = (
    "like the fit",
    "theta .1",
    "theta .2",
    "theta .8",
    "theta .2 and 4:1",
    "theta .5 and 4:1",
    "theta .8 and 4:1",
)
N_LABELED, N_UNLABELED, N_BATCH, THETA = 500, 600, 600, 0.5


def _proportions(
    known: NDArray[Any], hidden: NDArray[Any], theta: float, *, moved: bool
) -> dict[Any, float]:
    weights = np.ones(len(known))
    if moved:
        weights[::2] = 4.0
    weights *= (1 - theta) / weights.sum()
    shares = dict(zip(known.tolist(), weights.tolist(), strict=True))
    return shares | dict.fromkeys(hidden.tolist(), theta / len(hidden))


def measure_adapt(
    X: NDArray[np.float64], y: NDArray[Any], point: str, rng: np.random.Generator
) -> Measured:
    """Accuracy on rows drawn like the batch, and the error of theta on the batch."""
    values = rng.permutation(np.unique(y))
    n_known = len(values) - len(values) // 2
    known, hidden = values[:n_known], values[n_known:]
    pools: list[dict[Any, NDArray[np.intp]]] = [{}, {}, {}]
    for value in values.tolist():
        rows = rng.permutation(np.flatnonzero(y == value))
        cuts = len(rows) * 4 // 10, len(rows) * 7 // 10
        for pool, part in zip(pools, np.split(rows, cuts), strict=True):
            pool[value] = part
    labeled = take_by_class(rng, pools[0], dict.fromkeys(known.tolist(), 1.0), N_LABELED)
    fit_shares = _proportions(known, hidden, THETA, moved=False)
    unlabeled = take_by_class(rng, pools[0], fit_shares, N_UNLABELED)
    theta = THETA if point == "like the fit" else float(point.split()[1])
    batch_shares = _proportions(known, hidden, theta, moved="4:1" in point)
    batch = take_by_class(rng, pools[1], batch_shares, N_BATCH)
    test = take_by_class(rng, pools[2], batch_shares, N_BATCH)

    codes = {value: code for code, value in enumerate(known.tolist())}
    labels = np.array([codes.get(value, NEW) for value in y.tolist()])
    seed = int(rng.integers(2**31))
    forest = LACExtraTreesClassifier(random_state=seed)
    forest.fit(X[labeled], labels[labeled], X_unlabeled=X[unlabeled])
    adapted = forest.adapt(X[batch])
    refit = LACExtraTreesClassifier(random_state=seed)
    refit.fit(X[labeled], labels[labeled], X_unlabeled=X[batch])
    true_theta = float((labels[batch] == NEW).mean())
    found = adapted.adaptation_
    assert found is not None

    def judged(model: Any, theta_found: float) -> dict[str, float]:
        return {
            "accuracy": float((model.predict(X[test]) == labels[test]).mean()),
            "theta_error": abs(theta_found - true_theta),
        }

    low, high = adapted.theta_interval_  # type: ignore[misc]
    return {
        "frozen": judged(forest, float(forest.theta_ or 0.0)),
        "adapt": judged(adapted, float(adapted.theta_ or 0.0))
        | {
            "alarm": float(bool(found.alarms)),
            "adapted": float(found.is_adapted),
            "covered": float(low <= true_theta <= high),
        },
        "refit": judged(refit, float(refit.theta_ or 0.0)),
        "estimate_theta": {
            "theta_error": abs(
                estimate_theta(X[labeled], X[batch], random_state=seed)[0] - true_theta
            )
        },
    }
