"""What both forests can do once they are fitted: predict, adapt, look inside, save."""

from __future__ import annotations

import copy
import os
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lacforest._contract.classifier import ProbabilisticClassifierMixin
from lacforest._input.parameters import check_level
from lacforest._input.tables import check_prediction_table
from lacforest._model.arrays import ForestArrays
from lacforest._model.forest_files import load_forest, save_forest
from lacforest._model.frozen import FrozenTrees
from lacforest._model.tree_view import TreeViews
from lacforest._utils.callbacks import CallbackSupport
from lacforest._utils.frames import take_rows
from lacforest._utils.one_state import of_one_state, one_state
from lacforest.adaptation.batch import Adaptation, class_factors, describe_batch
from lacforest.adaptation.shares import estimate_shares
from lacforest.ensemble.categories import CategorySupport


class FittedForest(
    FrozenTrees, ProbabilisticClassifierMixin, CategorySupport, CallbackSupport, BaseEstimator
):
    """Prediction, inspection and files of a forest; `BaseLACForest` adds its fit."""

    # Of a forest that `adapt` returned: the description of the batch, which files do not keep.
    adaptation_: Adaptation | None = None

    # ------------------------------------------------------------------ prediction

    predict = of_one_state(ProbabilisticClassifierMixin.predict)
    predict_proba = of_one_state(ProbabilisticClassifierMixin.predict_proba)
    predict_log_proba = of_one_state(ProbabilisticClassifierMixin.predict_log_proba)

    @of_one_state
    def novelty_score(
        self, X: ArrayLike, stage: Literal["final", "exploration"] = "final"
    ) -> NDArray[np.float64]:
        """How new each row looks, in [0, 1]: higher is newer.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
        stage : {"final", "exploration"}, default="final"
            "final" is the probability of the new class; "exploration" the average augmented score
            of Step I (Eqn 7).

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if stage not in ("final", "exploration"):
            raise ValueError(f'stage must be "final" or "exploration", got {stage!r}')
        if stage == "final":
            return super().novelty_score(X)
        self._check_has_new_class()
        table = check_prediction_table(self, X)
        return self._step_one_arrays.exploration_scores(table, self.n_jobs)

    @of_one_state
    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Leaf of each row in each tree, numbered within the tree.

        Returns
        -------
        ndarray of shape (n_rows, n_estimators)
        """
        check_is_fitted(self)
        return self._forest.leaves(check_prediction_table(self, X), self.n_jobs)

    @of_one_state
    def decision_path(self, X: ArrayLike) -> tuple[Any, NDArray[np.int64]]:
        """Nodes that each row passes, over all trees.

        Returns
        -------
        indicator : CSR array of shape (n_rows, n_nodes)
            One where the row passes the node.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Columns ``n_nodes_ptr[i]:n_nodes_ptr[i + 1]`` belong to tree i.
        """
        leaves = self.apply(X)
        paths = []
        for leaf, tree in zip(leaves.T, self.estimators_, strict=True):
            parent = np.full(tree.node_count, -1)
            inner = np.flatnonzero(tree.children_left >= 0)
            parent[tree.children_left[inner]] = inner
            parent[tree.children_right[inner]] = inner
            row, node = np.arange(len(leaf)), leaf.astype(np.intp)
            rows, nodes = [row], [node]
            while len(row):
                above = parent[node]
                row, node = row[above >= 0], above[above >= 0]
                rows.append(row)
                nodes.append(node)
            every_row, every_node = np.concatenate(rows), np.concatenate(nodes)
            ones = np.ones(len(every_row), dtype=np.int64)
            shape = (len(leaf), tree.node_count)
            paths.append(sparse.csr_array((ones, (every_row, every_node)), shape=shape))
        return sparse.hstack(paths, format="csr"), self._forest.tree_start.copy()

    def _class_probabilities(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._adapted(self._votes(X))

    def _votes(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities by the trees alone, by class code."""
        if not hasattr(self, "_forest"):
            check_is_fitted(self)
        return self._forest.probabilities(check_prediction_table(self, X), self.n_jobs)

    # ------------------------------------------------------------------ another batch

    @of_one_state
    def adapt(self, X_new: ArrayLike, *, groups: Any = None, level: float = 0.9) -> Self:
        """A copy of this forest for a batch with other shares of classes; the trees are the same.

        The shares of all classes in the batch, "new" among them, are found by maximum likelihood
        from squared votes. Probabilities are adapted to these shares, row by row, if a
        likelihood-ratio test finds that they are not those of the fit (p < 0.05); otherwise, and
        for a batch of fewer than ten rows, they stay as they are, and ``adaptation_.is_adapted`` is
        False. This is for batches of some hundred rows, and for alarms; on a thousand rows or more,
        fitting again is more accurate. A new class that the forest has not seen is invisible to it:
        give `groups`.

        Parameters
        ----------
        X_new : array-like, frame or sparse matrix of shape (n_rows, n_features)
            The batch.
        groups : NewClassGroups, optional
            Groups of new rows found so far. Then `adaptation_` also has the share of rows called
            new that belong to none of them.
        level : float, default=0.9
            Of the intervals, which are found by resampling the batch.

        Returns
        -------
        forest
            With `adaptation_`, and with `theta_`, `theta_interval_`, `known_shares_` and
            `known_shares_interval_` of the batch. This forest stays as it is.
        """
        self._check_has_new_class()
        check_level(level)
        votes = self._votes(X_new)
        before = self._class_shares() if self._fitted_shares is None else self._fitted_shares
        found = estimate_shares(votes, before, len(self.unlabeled_score_))
        factors = class_factors(found, before)
        is_far = None
        if groups is not None:
            flagged = np.flatnonzero((votes * factors).argmax(axis=1) == votes.shape[1] - 1)
            rows = take_rows(X_new, flagged)
            is_far = groups.is_far(rows) if len(flagged) else np.zeros(0, dtype=bool)
        batch = describe_batch(found, before, self.known_classes_, level, is_far)
        adapted = copy.copy(self)
        adapted._class_factors, adapted._fitted_shares = factors, before
        adapted.adaptation_ = batch
        adapted.theta_, adapted.theta_interval_ = batch.theta, batch.theta_interval
        adapted.known_shares_ = batch.known_shares
        adapted.known_shares_interval_ = batch.known_shares_interval
        return adapted

    @property
    def _step_one_arrays(self) -> ForestArrays:
        """The trees of Step I: apart from those that predict, or their first parts."""
        return self._forest if self._explored is None else self._explored

    # ------------------------------------------------------------------ inspection

    @property
    def estimators_(self) -> TreeViews:
        """The trees, read-only, with arrays named as in scikit-learn."""
        check_is_fitted(self)
        return one_state(self)._tree_views()

    @of_one_state
    def export_text(self, tree: int = 0) -> str:
        """Text of one tree, each node marked I or II by the step that made it.

        Parameters
        ----------
        tree : int, default=0
            Which tree, counted from 0; -1 is the last one.
        """
        names = getattr(self, "feature_names_in_", None)
        return self.estimators_.one(tree).export_text(
            names, self.classes_.tolist(), self.categories_
        )

    # ------------------------------------------------------------------ files and tags

    @of_one_state
    def save(self, path: str | os.PathLike[str], compress: bool = True) -> None:
        """Write the fitted forest to a file without pickle; an old file is replaced whole.

        Parameters
        ----------
        path : str or path-like
        compress : bool, default=True
            Deflate the arrays, to a third or less. A file that is to be mapped by
            ``load(path, mmap=True)`` must not be compressed.
        """
        check_is_fitted(self)
        save_forest(self, path, bool(compress))

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = False) -> Self:
        """Read a forest written by `save`, after checking all of it.

        Parameters
        ----------
        path : str or path-like
        mmap : bool, default=False
            Map the arrays instead of reading them, so that processes share their memory. Needs a
            file saved with ``compress=False``.
        """
        loaded: Self = load_forest(cls, path, mmap)
        return loaded

    def __setstate__(self, state: dict[str, Any]) -> None:
        for forest in (state.get("_forest"), state.get("_explored")):
            if forest is not None:
                if not isinstance(forest, ForestArrays):
                    raise ValueError("not a valid forest: the pickled trees are of another type")
                forest.validate()
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_forest")
