"""Fits of Dask forests on partitions in memory, by the engine that needs no cluster."""

import warnings
from itertools import pairwise

import numpy as np

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.dask import DaskLACExtraTreesClassifier, DaskLACForestClassifier
from lacforest.dask.engine import InProcessEngine
from lacforest.dask.reading import RowPlace

LOCAL = {
    DaskLACForestClassifier: LACForestClassifier,
    DaskLACExtraTreesClassifier: LACExtraTreesClassifier,
}
FORESTS = tuple(LOCAL)


def blobs(n_rows=300, seed=0):
    """Three known classes, a missing value here and there, and a new class far away."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = rng.normal(size=(n_rows, 4)) + 2.0 * y[:, np.newaxis]
    X[:, 3] = np.round(X[:, 3])
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    return X, y, np.vstack([X[::2] + 0.1, rng.normal(size=(n_rows // 2, 4)) - 5.0])


def cut(rows, cuts):
    """Rows between neighbouring cuts; equal cuts give empty partitions."""
    edges = [0, *sorted(cuts), len(rows)]
    return [rows[first:end] for first, end in pairwise(edges)]


def partition(X, y, U=None, weight=None, cuts=(), unlabeled_cuts=()):
    """Partitions as the fit lists them."""
    weights = [None] * (len(cuts) + 1) if weight is None else cut(weight, cuts)
    parts = [
        (table, labels, own, RowPlace("X", i))
        for i, (table, labels, own) in enumerate(
            zip(cut(X, cuts), cut(y, cuts), weights, strict=True)
        )
    ]
    if U is not None:
        parts += [
            (table, None, None, RowPlace("X_unlabeled", i))
            for i, table in enumerate(cut(U, unlabeled_cuts))
        ]
    return parts


class RecordingEngine(InProcessEngine):
    """Keeps the names of the stages that were run."""

    def __init__(self):
        self.stages = []

    def map(self, function, items, *shared, to):
        self.stages.append(to)
        return super().map(function, items, *shared, to=to)

    def broadcast(self, function, handles, *shared, to):
        self.stages.append(to)
        return super().broadcast(function, handles, *shared, to=to)


def fit_parts(forest, parts, names=None, engine=None):
    """Fit a Dask forest without a cluster."""
    theta = forest._check_distributed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Step I found no feasible split")
        forest._fit_parts(engine or InProcessEngine(), parts, parts[0][0].shape[1], names, theta)
    return forest


def fit_local(kind, n_trees, X, y, U=None, weight=None, *, rows_per_tree, **parameters):
    """The local forest that a Dask forest must equal."""
    local = LOCAL[kind](n_trees, max_samples=rows_per_tree, **parameters)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Step I found no feasible split")
        return local.fit(X, y, X_unlabeled=U, sample_weight=weight)
