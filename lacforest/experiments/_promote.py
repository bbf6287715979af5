"""A confirmed class: how many of its rows the next fit calls by name, after a few are labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.discovery import NewClassGroups
from lacforest.ensemble import LACExtraTreesClassifier, LACForestClassifier
from lacforest.experiments._life import NEW, Measured

DATASETS = "optdigits,pendigits,texture"
POINTS = ("10 rows", "20 rows", "40 rows")
N_LABELED, N_UNLABELED, N_TEST, N_HIDDEN = 400, 800, 600, 2
_PROMOTED = ":promoted"
_METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "lacextratrees": (LACExtraTreesClassifier, {}),
    "lacextratrees:promoted": (LACExtraTreesClassifier, {}),
    "lacextratrees:labeled": (LACExtraTreesClassifier, {"known_shares": "labeled"}),
    "lacforest": (LACForestClassifier, {}),
    "lacforest:promoted": (LACForestClassifier, {}),
    "lacforest:labeled": (LACForestClassifier, {"known_shares": "labeled"}),
}


def measure_promote(
    X: NDArray[np.float64], y: NDArray[Any], point: str, rng: np.random.Generator
) -> Measured:
    """Hide two classes, group the rows called new, promote rows of one class, and fit again.

    All classes have equal shares in deployment. Of the largest group, the rows nearest to its
    centre that belong to its commonest class are the ones that a person verifies.
    """
    n_verified = int(point.split()[0])
    values = rng.permutation(np.unique(y))
    hidden = values[:N_HIDDEN]
    pools = {value: rng.permutation(np.flatnonzero(y == value)) for value in values.tolist()}

    def take(chosen: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
        parts = []
        for value in chosen.tolist():
            count = n_rows // len(chosen)
            parts.append(pools[value][:count])
            pools[value] = pools[value][count:]
        return rng.permutation(np.concatenate(parts))

    labeled, deployed = take(values[N_HIDDEN:], N_LABELED), take(values, N_UNLABELED)
    test = take(values, N_TEST)
    seed = int(rng.integers(2**31))
    first = LACExtraTreesClassifier(random_state=seed)
    first.fit(X[labeled], y[labeled], X_unlabeled=X[deployed])
    flagged = deployed[first.predict(X[deployed]) == first.new_label_]
    groups = NewClassGroups(N_HIDDEN).fit(
        X[flagged],
        X_labeled=X[labeled],
        y_labeled=y[labeled],
        score=first.novelty_score(X[flagged]),
    )
    members = np.flatnonzero(groups.labels_ == 0)
    found, counts = np.unique(y[flagged][members], return_counts=True)
    candidates = np.isin(found, hidden)
    promoted = found[candidates][counts[candidates].argmax()] if candidates.any() else hidden[0]
    distances = np.linalg.norm(X[flagged][members] - X[flagged][members].mean(axis=0), axis=1)
    in_order = members[np.argsort(distances, kind="stable")]
    verified = in_order[y[flagged][in_order] == promoted][:n_verified]
    if len(verified):
        X_more, y_more = groups.promote({groups.group_names_[0]: promoted}, verified)
    else:
        X_more, y_more = X[:0], y[:0]
    X_next = np.concatenate([X[labeled], X_more])
    y_next = np.concatenate([y[labeled], y_more])
    left = np.setdiff1d(deployed, flagged[verified])
    truth = np.where(np.isin(y[test], hidden) & (y[test] != promoted), NEW, y[test])
    measured: Measured = {}
    shares = groups.next_fit(first) if len(verified) else {}
    for name, (make, parameters) in _METHODS.items():
        if name.endswith(_PROMOTED):
            parameters = shares
        model = make(random_state=seed, **parameters)
        predicted = model.fit(X_next, y_next, X_unlabeled=X[left]).predict(X[test])
        own = y[test] == promoted
        measured[name] = {
            "still_new": float((predicted[own] == model.new_label_).mean()),
            "named": float((predicted[own] == promoted).mean()),
            "accuracy": float(
                (np.where(predicted == model.new_label_, NEW, predicted) == truth).mean()
            ),
        }
    return measured
