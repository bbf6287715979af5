"""LACForestClassifier: the paper's Algorithm 1 as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._contract.deployment import Deployment
from lacforest._growing.plan import ForestSeeds, RowSample, StepPlans, TreePlan, TreeShape
from lacforest._growing.steps import (
    Exploration,
    GrownForest,
    PseudoLabels,
    deepen,
)
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.parameters import check_bool, check_gamma
from lacforest._input.training_data import RowTotals
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
from lacforest.ensemble.base import BaseLACForest


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
    known_shares : "auto", "labeled", array or dict, default="auto"
        Shares of the known classes among the known rows of deployment. "labeled" takes those of
        the labelled rows, as the paper does. "auto" does so too unless the unlabelled rows show
        that the shares have moved; then they are estimated together with theta by
        `lacforest.mixture.ShareMixture`. Given shares sum to 1: an array
        in the order of the sorted labels, or a dict by label. Labelled rows are weighted to these
        shares.
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
    max_samples : int, float in (0, 1] or None, default=None
        Rows of a tree: a share of the labelled and of the unlabelled rows, or about so many of both
        together. None takes all. Each tree takes its own rows, by a hash of the row number and the
        tree's seed; see Notes.
    oob_score : bool, default=False
        Whether to predict each labelled row by the trees whose samples left it out, which needs
        `bootstrap` or `max_samples`. Known rows only: how many new rows are found shows elsewhere.
    warm_start : bool, default=False
        Whether a fit keeps the trees of the one before and grows only those that `n_estimators`
        asks for beyond them. See Notes.
    max_bins : "auto", int from 2 to 255 or None, default="auto"
        Most codes of a column. Columns with more distinct values are divided at their quantiles.
        None keeps all values apart, as in the paper; "auto" does so up to 15,000 rows, and has 255
        bins beyond.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
default="from_dtype"
        Columns of categories, which have no order: nodes split them by sets. "from_dtype" takes the
        columns of type category of a frame; otherwise a mask, places or names of columns, which
        hold text or whole numbers from 0 on. None takes all columns as numbers. See Notes.
    pseudo_cap : float or None, default=None
        Most pseudo-labelled rows of a tree, as a multiple of ``n_l * theta / (1 - theta)``, with
        theta its upper end under a moderate overlap (``RankMixture.moderate_upper_``) where there
        is one, or of ``2 * n_l * theta`` if that is more; each tree draws its own. A tree then also
        draws its labelled rows where they are far more than the known rows among the unlabelled
        ones. None takes all, as in the paper. 1.0 keeps known and new rows about in the proportion
        of the unlabelled rows, see `LACExtraTreesClassifier`.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of labelled rows, by known class: what errors cost. Theta and shares
        leave them aside; see `known_shares` for classes that are more or less frequent.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X, of any type (-1, NaN, "unknown"). This is the
        form that works inside a Pipeline, GridSearchCV or cross_validate.
    new_label : "auto" or label, default="auto"
        What to predict for new rows. "auto" is -1 for numbers (the smallest label minus one if -1
        is a known class; the largest free value for uint64, which cannot hold -1) and "<new>" for
        text.
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
    theta_curve_ : ndarray of shape (n_points, 3) or None
        What theta was read from, where it was estimated under labelled shares: shares of labelled
        rows, the ratio curve there, and the fitted one (see `lacforest.mixture.RatioCurveDisplay`).
    known_shares_ : ndarray of shape (n_known_classes,) or None
        Shares of the known classes in deployment that were used, in the order of
        `known_classes_`.
    known_shares_interval_ : ndarray of shape (n_known_classes, 2) or None
        Intervals of estimated shares; None where they are those of labelled rows or given.
    share_shift_ : float or None
        How far shares in deployment lie from those of labelled rows, as a mean squared z-score;
        shares were estimated where it is above 3.5. None where this was not tested.
    fit_findings_ : tuple of Finding
        What the fit found about its assumptions, as `lacforest.mixture.diagnose` tells it; problems
        were warned about. Empty without unlabelled rows.
    column_shift_ : ndarray of shape (n_features, 2) or None
        Chance that an unlabelled row has a larger value than a labelled one, per column (0.5: no
        shift): of all unlabelled rows, and of those without a pseudo-label (NaN if there are none).
        See `lacforest.inspection.column_shift`.
    pseudo_labels_ : ndarray of shape (n_unlabeled,)
        Unlabelled rows that Step I marked as new.
    unlabeled_score_ : ndarray of shape (n_unlabeled,)
        Their average augmented scores (Eqn 7).
    feature_importances_ : ndarray of shape (n_features,)
        Mean over trees of the decrease of augmented Gini (Step I, weighted by shares of unlabelled
        rows) and of Gini (Step II, by shares of labelled and pseudo-labelled rows), normalised.
    oob_score_ : float
        Share of labelled rows, by weight, that get their own label from the trees that did not see
        them. Set by ``oob_score=True``; not kept by `save`.
    oob_decision_function_ : ndarray of shape (n_labeled, n_classes)
        Their probabilities, in the order of the labelled rows (those of weight zero left out), with
        the columns of `classes_`. NaN in rows that every tree has seen.
    estimators_ : sequence of TreeView
        The trees, read-only, with arrays named as in scikit-learn.
    is_categorical_ : ndarray of shape (n_features,) or None
        Which columns hold categories; None where none does.
    categories_ : tuple of ndarray or None
        The categories of each column, sorted; None for columns of numbers.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Weights.* A labelled row of weight w counts as w rows everywhere: in both criteria, in n_l, in
    the constraints by gamma, in ``min_samples_split`` and ``min_samples_leaf``. (Where weights are
    below 1 on average, these two count in units of the mean weight.) With ``bootstrap=False`` an
    integer weight gives the same bits as a repeated row, and zero the same as an absent one.
    Unlabelled rows always weigh 1; entries of `sample_weight` that belong to rows marked by
    ``unlabeled_label`` are not used.

    *Samples.* With `max_samples` a row is in the sample of a tree or not depending on its number
    (counted within labelled or within unlabelled rows), the tree's seed and the share alone. The
    number of rows therefore varies from tree to tree. With `bootstrap` a row is taken as many times
    as a Poisson variable says whose mean is the share. The totals of Definition 1 and of the
    constraints by gamma are those of the table times the share. The sample of a tree must hold a
    labelled and, in Step I, an unlabelled row.

    *Missing values.* NaN needs no imputation. At each split missing rows go to the side that the
    criterion prefers; where a node misses nothing, to the larger child.

    *Categories.* A node orders the categories of its rows by how their classes differ, and tries
    every cut of that order; more than eight categories with fewer than four rows each on average
    are cut off one at a time. A category that a node has not seen goes where missing values go; one
    that is not in the fit is missing. A column may have 65,535 categories.

    *Warm starts.* With ``warm_start=True`` a second fit on the same data with more `n_estimators`
    adds trees, and those of the first stay as they are. Theta and shares are not estimated again.
    Rows are scored by the trees of Step I of both fits, and the added trees are, bit for bit, those
    that one fit of all trees would have there. The first trees have the pseudo-labels of the fit
    that grew them. Without unlabelled rows there are none, and the forest is that of one fit.
    Fewer trees, other rows or other parameters are refused; `n_jobs`, `verbose` and `oob_score` may
    change. What a warm start needs is kept in memory and in pickles, not by `save`.

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
        known_shares: Any = "auto",
        gamma: float = 0.01,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        max_bins: Literal["auto"] | int | None = "auto",
        categorical_features: Any = "from_dtype",
        pseudo_cap: float | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.theta = theta
        self.known_shares = known_shares
        self.gamma = gamma
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.pseudo_cap = pseudo_cap
        self.class_weight = class_weight
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_own_parameters(self) -> None:
        check_gamma(self.gamma)
        check_bool("bootstrap", self.bootstrap)

    def _plan_steps(
        self, totals: RowTotals, deployment: Deployment | None, entropy: NDArray[np.uint32]
    ) -> StepPlans:
        sample = RowSample.of(
            self._rows_of_tree, totals.n_labeled + totals.n_unlabeled, self.bootstrap
        )
        has_samples = self.bootstrap or sample is not None
        seeds = ForestSeeds.of_deepened_trees(entropy, self.n_estimators, has_samples)
        shape = TreeShape.of(self, totals.n_features)
        refine = TreePlan(
            GiniCriterion(), shape, seeds.refine, sample_seeds=seeds.sample, sample=sample
        )
        if deployment is None:
            return StepPlans(None, refine, seeds)
        explore = TreePlan(
            AugmentedGiniCriterion(
                deployment.theta.value, totals.labeled_total, totals.n_unlabeled
            ),
            replace(shape, gamma=float(self.gamma), draws_on=False),
            seeds.explore,
            sample_seeds=seeds.sample,
            sample=sample,
        )
        return StepPlans(explore, refine, seeds)

    def _unexplored_message(self) -> str:
        return (
            "Step I found no feasible split: every tree starts from its root alone, and the "
            f"pseudo-labels are the first rows of X_unlabeled. Either gamma={self.gamma!r} asks "
            "for more rows in each child than the data has (lower it), or all features are "
            "constant."
        )

    def _refine(
        self,
        grower: TreeGrower,
        plans: StepPlans,
        explored: Exploration,
        pseudo: PseudoLabels,
        before: GrownForest | None,
    ) -> GrownForest:
        n_before = 0 if before is None else before.n_trees
        own = explored.after(n_before)
        refined = deepen(grower, plans.refine.take_trees(n_before), own, pseudo)
        return GrownForest(
            refined.arrays,
            None,
            grower.collect(explored.scores),
            grower.collect(pseudo.marked),
            refined.decrease + own.decrease,
            explored,
        )
