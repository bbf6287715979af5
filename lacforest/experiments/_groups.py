"""Several new classes: how well groups of flagged rows match the hidden classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import KernelPCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import adjusted_rand_score

from lacforest.discovery import NewClassGroups
from lacforest.ensemble import LACExtraTreesClassifier
from lacforest.experiments._life import Measured

DATASETS = "segment,texture,optdigits,pendigits,letter"
POINTS = ("2 hidden", "3 hidden", "5 hidden")
N_LABELED, N_UNLABELED, THETA = 500, 1000, 0.5
_MOST_KNOWN = 13
_PROXIMITY_DIMENSIONS = 12


def measure_groups(
    X: NDArray[np.float64], y: NDArray[Any], point: str, rng: np.random.Generator
) -> Measured:
    """Agreement of groups and classes over truly new rows, the number of groups given or not."""
    n_hidden = int(point.split()[0])
    values = rng.permutation(np.unique(y))
    hidden, known = values[:n_hidden], values[n_hidden : n_hidden + _MOST_KNOWN]
    pool = rng.permutation(np.flatnonzero(np.isin(y, known)))
    new = rng.permutation(np.flatnonzero(np.isin(y, hidden)))[: int(THETA * N_UNLABELED)]
    labeled, rest = pool[:N_LABELED], pool[N_LABELED:]
    deployed = rng.permutation(np.concatenate([rest[: int(len(new) * (1 - THETA) / THETA)], new]))
    seed = int(rng.integers(2**31))
    forest = LACExtraTreesClassifier(random_state=seed)
    forest.fit(X[labeled], y[labeled].astype(str), X_unlabeled=X[deployed])
    scores = forest.novelty_score(X[deployed])
    flagged = forest.predict(X[deployed]) == forest.new_label_
    rows, truth = X[deployed][flagged], y[deployed][flagged]
    is_new = np.isin(truth, hidden)
    known_rows = {"X_labeled": X[labeled], "y_labeled": y[labeled], "score": scores[flagged]}

    def agreement(groups: NDArray[Any]) -> dict[str, float]:
        return {
            "ari": float(adjusted_rand_score(truth[is_new], groups[is_new])),
            "n_groups": float(len(np.unique(groups))),
        }

    automatic = NewClassGroups().fit(rows, **known_rows).labels_
    given = NewClassGroups(n_hidden).fit(rows, **known_rows).labels_
    measured = {
        "NewClassGroups": agreement(given),
        "NewClassGroups, all rows": agreement(
            NewClassGroups(n_hidden).fit(rows, **(known_rows | {"score": None})).labels_
        ),
        "NewClassGroups, auto": agreement(automatic)
        | {"exact": float(len(np.unique(automatic)) == n_hidden)},
    }
    for name, cluster in _rivals(forest, X[labeled], y[labeled], n_hidden, seed).items():
        measured[name] = agreement(cluster(rows))
    return measured


def _rivals(
    forest: Any, X: NDArray[np.float64], y: NDArray[Any], n_groups: int, seed: int
) -> dict[str, Callable[[NDArray[np.float64]], NDArray[Any]]]:
    def k_means(rows: NDArray[np.float64]) -> NDArray[Any]:
        groups: NDArray[Any] = KMeans(n_groups, n_init=4, random_state=seed).fit_predict(rows)
        return groups

    def ward(rows: NDArray[np.float64]) -> NDArray[Any]:
        groups: NDArray[Any] = AgglomerativeClustering(n_groups).fit_predict(rows)
        return groups

    known = ExtraTreesClassifier(200, min_samples_leaf=2, random_state=seed).fit(X, y)
    return {
        "k-means": k_means,
        "Ward": ward,
        "proximity of the forest": lambda rows: k_means(_by_proximity(forest.apply(rows))),
        "proximity of known classes": lambda rows: k_means(_by_proximity(known.apply(rows))),
    }


def _by_proximity(leaves: NDArray[Any]) -> NDArray[np.float64]:
    """Rows in few dimensions, by the share of trees in which two rows have the same leaf."""
    proximity = np.zeros((len(leaves), len(leaves)), dtype=np.float32)
    for leaf in leaves.T:
        proximity += leaf[:, None] == leaf
    mapped: NDArray[np.float64] = KernelPCA(
        min(_PROXIMITY_DIMENSIONS, len(leaves)), kernel="precomputed", eigen_solver="dense"
    ).fit_transform(proximity.astype(np.float64) / leaves.shape[1])
    return mapped
