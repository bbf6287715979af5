"""The contract that both forests share: fit, predict, look inside, save."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lacforest._forest_arrays import ForestArrays
from lacforest._grow import ForestGrower, GrownForest
from lacforest._labels import Labels
from lacforest._parameters import check_max_features
from lacforest._theta import Theta, check_theta, find_theta, warn_if_undetermined
from lacforest._training_rows import TrainingRows
from lacforest._tree._criterion import AugmentedGiniCriterion
from lacforest._tree_view import TreeViews
from lacforest._unchanged import unchanged_on_failure
from lacforest._validation import check_prediction_table, check_training_rows


class BaseLACForest(ClassifierMixin, BaseEstimator):
    """What is the same for every forest that learns with an augmented class.

    A forest brings its parameters, checks them, and says how trees are grown.
    """

    n_estimators: int
    theta: Any
    max_features: Any
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    n_jobs: int | None
    random_state: Any
    verbose: int

    # Trees of Step I, where they are not the first part of the ones that predict.
    _explored: ForestArrays | None = None

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make right."""

    @abstractmethod
    def _make_grower(self, rows: TrainingRows) -> ForestGrower:
        """What grows the trees."""

    @abstractmethod
    def _warn_if_unexplored(self, grown: GrownForest) -> None:
        """Warn where Step I could not split anything."""

    def _shape(self, rows: TrainingRows) -> dict[str, Any]:
        """The fields of ``GrowthOptions``."""
        random_state = check_random_state(self.random_state)
        return {
            "n_trees": int(self.n_estimators),
            "max_features": check_max_features(self.max_features, rows.table.n_features),
            "max_depth": self.max_depth,
            "min_samples_split": int(self.min_samples_split),
            "min_samples_leaf": int(self.min_samples_leaf),
            "entropy": random_state.randint(0, 2**32, size=4, dtype=np.uint32),
            "n_jobs": self.n_jobs,
            "verbose": int(self.verbose),
        }

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_unlabeled: ArrayLike | None = None,
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set. NaN is
            missing.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of labelled rows; see Notes of the class.
        X_unlabeled : like X, of shape (n_unlabeled, n_features), optional
            Unlabelled rows from deployment.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            theta = check_theta(self.theta)
            rows, labels = check_training_rows(self, X, y, sample_weight, X_unlabeled)
            grower = self._make_grower(rows)
            if rows.n_unlabeled == 0:
                grown = grower.grow_plain()
                self._remember(rows, labels, None, grown)
            else:
                found = find_theta(theta, rows, grower.columns, grower.options.entropy, self.n_jobs)
                warn_if_undetermined(found, rows.n_unlabeled)
                grown = grower.grow(found.value)
                self._warn_if_unexplored(grown)
                self._remember(rows, labels, found, grown)
        return self

    def _remember(
        self, rows: TrainingRows, labels: Labels, theta: Theta | None, grown: GrownForest
    ) -> None:
        self.classes_ = labels.classes
        self.known_classes_ = labels.known
        self.new_label_ = labels.new_label
        self.new_class_index_ = labels.new_index
        self.theta_ = None if theta is None else theta.value
        self.theta_interval_ = None if theta is None else theta.interval
        self.theta_estimator_ = None if theta is None else theta.estimator
        self.pseudo_labels_ = grown.pseudo_labels
        self.unlabeled_score_ = grown.unlabeled_score
        self.feature_importances_ = grown.feature_importances
        self.n_labeled_ = rows.labeled_total
        self._forest = grown.arrays
        self._explored = grown.explored

    # ------------------------------------------------------------------ prediction

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Known label or `new_label_` of each row: the class with the highest probability.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of `classes_`: the mean over trees of T_{i,k}(x).

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        internal = self._internal_probabilities(X)
        index = self.new_class_index_
        if index is None:
            return internal
        return np.concatenate(
            [internal[:, :index], internal[:, -1:], internal[:, index:-1]], axis=1
        )

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

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
        check_is_fitted(self)
        if stage not in ("final", "exploration"):
            raise ValueError(f'stage must be "final" or "exploration", got {stage!r}')
        if self.new_class_index_ is None:
            raise ValueError(
                "this forest was fitted without unlabelled rows and knows no new class: pass "
                "X_unlabeled to fit, or mark rows by unlabeled_label"
            )
        if stage == "final":
            return self._internal_probabilities(X)[:, -1]
        table = check_prediction_table(self, X)
        return self._step_one_arrays.exploration_scores(table, self.n_jobs)

    def apply(self, X: ArrayLike) -> NDArray[np.int32]:
        """Leaf of each row in each tree, numbered within the tree.

        Returns
        -------
        ndarray of shape (n_rows, n_estimators)
        """
        check_is_fitted(self)
        return self._forest.leaves(check_prediction_table(self, X), self.n_jobs)

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

    def _internal_probabilities(self, X: ArrayLike) -> NDArray[np.float64]:
        """Columns by class code: known classes, then the new one."""
        if not hasattr(self, "_forest"):
            check_is_fitted(self)
        return self._forest.probabilities(check_prediction_table(self, X), self.n_jobs)

    def _column_order(self) -> NDArray[np.intp]:
        return Labels(
            self.known_classes_, self.classes_, self.new_label_, self.new_class_index_
        ).column_order

    @property
    def _step_one_arrays(self) -> ForestArrays:
        """The trees of Step I: apart from those that predict, or their first parts."""
        return self._forest if self._explored is None else self._explored

    # ------------------------------------------------------------------ inspection

    @property
    def estimators_(self) -> TreeViews:
        """The trees, read-only, with arrays named as in scikit-learn."""
        check_is_fitted(self)
        criterion = None
        if self.theta_ is not None:
            criterion = AugmentedGiniCriterion(
                self.theta_, self.n_labeled_, float(len(self.unlabeled_score_))
            )
        return TreeViews(self._forest, criterion, self._column_order())

    def export_text(self, tree: int = 0) -> str:
        """Text of one tree, each node marked I or II by the step that made it.

        Parameters
        ----------
        tree : int, default=0
            Which tree.
        """
        names = getattr(self, "feature_names_in_", None)
        return self.estimators_[tree].export_text(names, self.classes_.tolist())

    # ------------------------------------------------------------------ files and tags

    def save(self, path: str | os.PathLike[str], compress: bool = True) -> None:
        """Write the fitted forest to a file without pickle; an old file is replaced whole.

        Parameters
        ----------
        path : str or path-like
        compress : bool, default=True
            Deflate the arrays, to a third or less. A file that is to be mapped by
            ``load(path, mmap=True)`` must not be compressed.
        """
        from lacforest._persistence import save_forest

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
        from lacforest._persistence import load_forest

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def check_is_forest(forest: Any) -> None:
    """Refuse what is neither of the two forests."""
    if not isinstance(forest, BaseLACForest):
        raise TypeError(
            "forest must be a LACForestClassifier or a LACExtraTreesClassifier, got "
            f"{type(forest).__name__}"
        )
