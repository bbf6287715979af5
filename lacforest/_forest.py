"""LACForestClassifier: the paper's Algorithm 1 as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from lacforest._base_forest import BaseLACForest
from lacforest._grow import GrownForest
from lacforest._grow_lacforest import LACForestGrower, LACForestOptions
from lacforest._parameters import check_bool, check_gamma, check_tree_parameters
from lacforest._training_rows import TrainingRows


class LACForestClassifier(BaseLACForest):
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

    def _check_parameters(self) -> None:
        check_tree_parameters(self)
        check_gamma(self.gamma)
        check_bool("bootstrap", self.bootstrap)

    def _growth_options(self, rows: TrainingRows) -> LACForestOptions:
        return LACForestOptions(
            **self._shape(rows), gamma=float(self.gamma), bootstrap=bool(self.bootstrap)
        )

    def _make_grower(self, rows: TrainingRows) -> LACForestGrower:
        return LACForestGrower(rows, self._growth_options(rows))

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
