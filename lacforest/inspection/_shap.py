"""Shapley values of the probabilities of a forest, on its compiled trees."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from lacforest._input.classifiers import find_classifier, unwrap
from lacforest._input.tables import check_prediction_table
from lacforest._model.arrays import ForestArrays, split_features
from lacforest._model.tree_view import find_trees
from lacforest._tree.shap import add_shap_values
from lacforest._tree.shap_terms import TERM_NODE, rank_column, split_terms
from lacforest._utils.threads import in_threads, spans, useful_threads, wait_for

# (row, tree) pairs that make a thread worth its start.
_PAIRS_PER_THREAD = 50_000
# Cells of a sparse X that are ranked at a time.
_SPARSE_CELLS = 1 << 22


class ShapValues(NamedTuple):
    """Shapley values of probabilities.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_classes)
        What each value of a row adds to its probability.
    base_values : float or ndarray of shape (n_classes,)
        The probability of a row of which nothing is known. With the sum over a row's features it
        gives the probability of the row.
    """

    values: NDArray[np.float64]
    base_values: float | NDArray[np.float64]


def shap_values(
    estimator: Any, X: ArrayLike, *, output: Literal["new", "all"] = "new"
) -> ShapValues:
    """Shapley values of the probability of the new class, or of all classes.

    They divide the difference between a row's probability and that of an unknown row among the
    features. Features that are not known are averaged over by the training rows of the branches
    (path-dependent TreeSHAP), so no background rows are needed. The values are exact up to rounding
    and equal to those of ``shap.TreeExplainer`` on `lacforest.export.to_sklearn_like`.

    Parameters
    ----------
    estimator : LACForestClassifier or LACExtraTreesClassifier, or a Pipeline or search with one
        Fitted. The values of a pipeline belong to the columns that its last step sees.
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
    output : {"new", "all"}, default="new"
        "new" explains the probability of the new class, "all" those of ``classes_``.

    Returns
    -------
    ShapValues
        ``(values, base_values)``.

    See Also
    --------
    explain : The columns that matter most, as sentences.
    new_versus_known_importances : Of the forest as a whole.

    Notes
    -----
    A missing value is explained like any other: it takes the branch that the split has learnt for
    it. The rows that weigh the branches are those of Step II, so the base value of the new class is
    its share among labelled and pseudo-labelled rows, not theta.

    Sums of eight trees are in single precision, like the leaves of the trees. On six tables, this
    changes the values of forests of 100 trees by less than 1e-7.

    Rows that behave alike in a part of a tree share one evaluation, so the time per row falls with
    the number of rows. "all" takes longer than "new", but not as many times as there are classes:
    only leaves that differ in the explained class cost time.

    Examples
    --------
    The first feature separates two known classes, the second separates both from the new class.

    >>> import numpy as np
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.inspection import shap_values
    >>> toy = make_figure1(500, 1000, random_state=0)
    >>> forest = LACForestClassifier(theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> rows = toy.X_unlabeled
    >>> values, base = shap_values(forest, rows)
    >>> np.allclose(base + values.sum(axis=1), forest.novelty_score(rows), atol=1e-6)
    True
    >>> np.abs(values).mean(axis=0).round(1)
    array([0.1, 0.4])
    """
    if output not in ("new", "all"):
        raise ValueError(f'output must be "new" or "all", got {output!r}')
    forest, table = see_as_forest(estimator, X)
    if output == "new":
        return explain_new_class(forest, table)
    trees = find_trees(forest)
    ranked = RankedForest(trees.arrays)
    parts = [ranked.explain(table, code, forest.n_jobs) for code in trees.column_order]
    return ShapValues(
        np.stack([values for values, _ in parts], axis=2), np.array([base for _, base in parts])
    )


def explain_new_class(forest: Any, table: Any) -> ShapValues:
    """Shapley values of the probability of the new class, for a table that is checked."""
    trees = find_trees(forest)
    code = trees.column_order[find_classifier(forest).new_class_index_]
    return ShapValues(*RankedForest(trees.arrays).explain(table, code, forest.n_jobs))


def see_as_forest(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The forest of a pipeline or search, and X as the forest sees it."""
    forest = unwrap(estimator)
    find_trees(forest)  # before any transformer runs
    while estimator is not forest:
        if isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            estimator = estimator.best_estimator_
    return forest, check_prediction_table(forest, X)


class RankedForest:
    """A forest with the ranks of its thresholds in their columns, to be compared with ranks of X.

    Parameters
    ----------
    arrays : ForestArrays
    """

    def __init__(self, arrays: ForestArrays) -> None:
        inner = arrays.nodes["left"] >= 0
        features = split_features(arrays.nodes["feature"][inner])
        thresholds = arrays.nodes["threshold"][inner]
        self._arrays = arrays
        self._nodes = np.zeros(len(arrays.nodes), dtype=TERM_NODE)
        self._nodes["left"] = arrays.nodes["left"]
        self._nodes["feature"] = arrays.nodes["feature"]
        self._thresholds: dict[int, NDArray[np.float64]] = {}
        ranks = np.zeros(len(features), dtype=np.uint32)
        # Short numbers are sorted by radix, in a tenth of the time.
        short = features.astype(np.min_scalar_type(arrays.n_features))
        by_feature = np.argsort(short, kind="stable")
        used, first = np.unique(features[by_feature], return_index=True)
        is_categorical = None if arrays.sets is None else arrays.sets.is_categorical
        self._categorical: list[int] = []
        for feature, places in zip(used, np.split(by_feature, first)[1:], strict=True):
            if is_categorical is not None and is_categorical[feature]:
                self._categorical.append(int(feature))
                ranks[places] = thresholds[places]
                continue
            own, own_ranks = thresholds[places], np.empty(len(places), dtype=np.uint32)
            self._thresholds[int(feature)] = np.unique(own)
            rank_column(self._thresholds[int(feature)], own, own_ranks)
            ranks[places] = own_ranks
        self._nodes["cut"][inner] = ranks
        most = max(map(len, self._thresholds.values()), default=0)
        self._rank_type = np.uint16 if most < np.iinfo(np.uint16).max else np.uint32

    def explain(self, X: Any, code: int, n_jobs: int | None) -> tuple[NDArray[np.float64], float]:
        """Shapley values of the probability of a class, and its base value.

        Parameters
        ----------
        X : ndarray or CSR matrix
        code : int
            Column of ``leaf_values``.
        n_jobs : int or None
        """
        arrays = self._arrays
        nodes, leaves = self._nodes.view(np.uint8), np.minimum(arrays.nodes["left"], -1)
        means = split_terms(
            nodes,
            arrays.tree_start,
            arrays.leaf_values[~leaves, code].astype(np.float64),
            arrays.nodes["threshold"].astype(np.float64),
        )
        n_most = min(int(self._nodes["depth"].max()), arrays.n_features)
        rules = integration_rules((n_most + 1) // 2)
        n_rows = X.shape[0]
        sums = np.zeros((n_rows, arrays.n_features))
        n_threads = useful_threads(
            effective_n_jobs(n_jobs), n_rows * arrays.n_trees, _PAIRS_PER_THREAD
        )
        ranks = self._rank(X)
        calls = [
            (ranks, nodes, arrays.tree_start, rules, first, end, sums, arrays.sets)
            for first, end in spans(n_rows, n_threads)
        ]
        wait_for(in_threads(add_shap_values, calls, n_threads))
        sums /= arrays.n_trees
        return sums, float(means.mean())

    def _rank(self, X: Any) -> NDArray[Any]:
        """Number of thresholds below each value, by feature; the largest number where missing.

        In columns of categories, which hold codes, the codes.
        """
        ranks = np.zeros((X.shape[1], X.shape[0]), dtype=self._rank_type)
        n_block = X.shape[0]
        if sparse.issparse(X):
            n_block = max(1, _SPARSE_CELLS // X.shape[1])
        for first in range(0, X.shape[0], n_block):
            rows = slice(first, first + n_block)
            block = X[rows].toarray() if sparse.issparse(X) else X
            for feature, thresholds in self._thresholds.items():
                column = block[:, feature].astype(np.float64)
                rank_column(thresholds, column, ranks[feature, rows])
            for feature in self._categorical:
                column = block[:, feature]
                is_missing = np.isnan(column)
                ranks[feature, rows] = np.where(is_missing, 0, column)
                ranks[feature, rows][is_missing] = np.iinfo(self._rank_type).max
        return ranks


def integration_rules(n_points: int) -> NDArray[np.float64]:
    """Gauss-Legendre rules on [0, 1] with up to `n_points` points.

    Returns
    -------
    ndarray of shape (n_points + 1, 3, max(n_points, 1))
        Entry m has m points t, their weights, and 1 / (1 - t).
    """
    rules = np.zeros((n_points + 1, 3, max(n_points, 1)))
    for m in range(1, n_points + 1):
        points, weights = np.polynomial.legendre.leggauss(m)
        rules[m, :, :m] = (1 + points) / 2, weights / 2, 2 / (1 - points)
    return rules
