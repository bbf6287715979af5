"""LACForestClassifier: the paper's Algorithm 1 as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lacforest._forest_arrays import ForestArrays
from lacforest._grow import ForestGrower, GrownForest, GrowthOptions, TrainingRows
from lacforest._labels import Labels
from lacforest._parameters import check_max_features, check_tree_parameters
from lacforest._theta import Theta, check_theta, find_theta, warn_if_undetermined
from lacforest._tree._criterion import AugmentedGiniCriterion
from lacforest._tree_view import TreeViews
from lacforest._validation import check_prediction_table, check_training_rows


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Give the estimator back as it was if the block raises, Ctrl-C included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class LACForestClassifier(ClassifierMixin, BaseEstimator):
    """Forest for learning with an augmented class: predicts a known class, or "new".

    The forest is trained on labelled rows of known classes and on unlabelled rows from deployment,
    a share `theta` of which belongs to classes that nobody labelled. Step I grows shallow trees by
    augmented Gini impurity and gives the ``floor(theta * n_unlabeled)`` rows that look newest a
    pseudo-label; Step II deepens the same trees by Gini impurity on labelled and pseudo-labelled
    rows [1]_.

    Without unlabelled rows this is a plain random forest of the known classes.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees, m in the paper.
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that belong to the new class (Eqn 1): a number, or an estimator of
        :mod:`lacforest.mixture` that finds it. "auto" is ``RankMixture()``, which measured best;
        the paper's own route is ``KernelMeanEmbedding()``. Estimators leave class weights aside
        (but rows of weight zero are no rows).
    gamma : float in [0, 0.5], default=0.01
        In Step I both children of a split keep at least this share of all labelled and of all
        unlabelled rows (Eqns 5 and 6).
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at a node, tau in the paper: ``floor(sqrt(d))``, ``floor(log2(d))``, a
        number, a share of all, or all. Step II draws on until one of them can split the node.
    max_depth : int or None, default=None
        Deepest level of a tree, both steps together.
    min_samples_split : int, default=2
        Rows a node needs to be split. Step I counts labelled and unlabelled rows, Step II labelled
        and pseudo-labelled ones.
    min_samples_leaf : int, default=1
        Rows each child needs, counted in the same way.
    bootstrap : bool, default=False
        Grow each tree on a sample with replacement, drawn from labelled and from unlabelled rows
        apart. The paper does not.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of labelled rows, by known class.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X, of any type (-1, NaN, "unknown"). This is the
        form that works inside a Pipeline, GridSearchCV or cross_validate.
    new_label : "auto" or label, default="auto"
        What to predict for new rows. "auto" is -1 for numbers (the smallest label minus one if -1
        is a known class) and "<new>" for text.
    n_jobs : int or None, default=None
        Threads, as in joblib. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of feature draws and bootstrap samples.
    verbose : int, default=0
        Passed to joblib: progress over trees if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All labels that `predict` may give, sorted, the new one included.
    known_classes_ : ndarray of shape (n_known_classes,)
        The labels of y.
    new_label_ : label or None
        What `predict` says of new rows; None without unlabelled rows.
    new_class_index_ : int or None
        Column of the new class in `predict_proba`.
    theta_ : float or None
        The proportion that was used.
    theta_interval_ : tuple of float or None
        Interval of an estimated theta.
    theta_estimator_ : estimator or None
        The fitted estimator of theta, with its scores. Not kept by `save`.
    pseudo_labels_ : ndarray of shape (n_unlabeled,)
        Unlabelled rows that Step I marked as new.
    unlabeled_score_ : ndarray of shape (n_unlabeled,)
        Their average augmented scores (Eqn 7).
    feature_importances_ : ndarray of shape (n_features,)
        Mean over trees of the decrease of augmented Gini (Step I, weighted by shares of unlabelled
        rows) and of Gini (Step II, by shares of labelled and pseudo-labelled rows), normalised.
    estimators_ : sequence of TreeView
        The trees, read-only, with arrays named as in scikit-learn.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Weights.* A labelled row of weight w counts as w rows everywhere: in both criteria, in n_l, in
    the constraints by gamma, in ``min_samples_split`` and ``min_samples_leaf``. (Where weights are
    below 1 on average, these two count in units of the mean weight.) With ``bootstrap=False`` an
    integer weight gives the same bits as a repeated row, and zero the same as an absent one.
    Unlabelled rows always weigh 1; entries of `sample_weight` that belong to rows marked by
    ``unlabeled_label`` are not used.

    *Missing values.* NaN needs no imputation. At each split missing rows go to the side that the
    criterion prefers; where a node misses nothing, to the larger child.

    *Cross-validation.* scikit-learn cuts any array of the length of X along with X, and so an
    ``X_unlabeled`` that happens to be as long as X. Mark unlabelled rows by ``unlabeled_label`` in
    cross-validation, or pass an ``X_unlabeled`` of another length.

    References
    ----------
    .. [1] F. Xu, W. Chen and W. Gao, "On the Learning with Augmented Class via Forests",
       IJCAI 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest import LACForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> known = np.repeat([[0.0, 0.0], [4.0, 0.0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> label = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([known, [2.0, 6.0] + rng.normal(size=(200, 2))])
    >>> forest = LACForestClassifier(theta=0.5, random_state=0)
    >>> forest.fit(known, label, X_unlabeled=deployed).predict([[0, 0], [4, 0], [2, 6]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        theta: Any = "auto",
        gamma: float = 0.01,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        bootstrap: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.theta = theta
        self.gamma = gamma
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.class_weight = class_weight
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_unlabeled: ArrayLike | None = None,
    ) -> LACForestClassifier:
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
            check_tree_parameters(self)
            theta = check_theta(self.theta)
            rows, labels = check_training_rows(self, X, y, sample_weight, X_unlabeled)
            grower = ForestGrower(rows, self._growth_options(rows))
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

    def _growth_options(self, rows: TrainingRows) -> GrowthOptions:
        random_state = check_random_state(self.random_state)
        return GrowthOptions(
            n_trees=int(self.n_estimators),
            max_features=check_max_features(self.max_features, rows.table.n_features),
            gamma=float(self.gamma),
            max_depth=self.max_depth,
            min_samples_split=int(self.min_samples_split),
            min_samples_leaf=int(self.min_samples_leaf),
            bootstrap=bool(self.bootstrap),
            entropy=random_state.randint(0, 2**32, size=4, dtype=np.uint32),
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
        )

    def _warn_if_unexplored(self, grown: GrownForest) -> None:
        if (grown.arrays.n_explored == 1).all():
            warnings.warn(
                "Step I found no feasible split: every tree starts from its root alone, and the "
                "pseudo-labels are the first rows of X_unlabeled. Either gamma="
                f"{self.gamma!r} asks for more rows in each child than the data has (lower it), or "
                "all features are constant.",
                UserWarning,
                stacklevel=3,
            )

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
        return self._forest.exploration_scores(check_prediction_table(self, X), self.n_jobs)

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
    def load(cls, path: str | os.PathLike[str], mmap: bool = False) -> LACForestClassifier:
        """Read a forest written by `save`, after checking all of it.

        Parameters
        ----------
        path : str or path-like
        mmap : bool, default=False
            Map the arrays instead of reading them, so that processes share their memory. Needs a
            file saved with ``compress=False``.
        """
        from lacforest._persistence import load_forest

        loaded: LACForestClassifier = load_forest(cls, path, mmap)
        return loaded

    def __setstate__(self, state: dict[str, Any]) -> None:
        forest = state.get("_forest")
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
